"""The client's side of fs/*: text files, and only inside the project's folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import anyio.to_thread

from adapters.acp import schema
from beambot.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, RpcError

NOT_FOUND = -32002
READ_LIMIT = 16 * 1024 * 1024


def confine(root: Path, path: str) -> Path:
    """The real path, links and `..` followed, if it is inside the folder."""
    found = (root / path).resolve()
    if not found.is_relative_to(root.resolve()):
        raise RpcError(INVALID_PARAMS, f"{path} is outside the project folder; only files inside it are allowed")
    return found


async def read_text(root: Path, asked: schema.ReadFile) -> dict[str, Any]:
    """fs/read_text_file"""
    return {"content": await anyio.to_thread.run_sync(_read, root, asked)}


async def write_text(root: Path, asked: schema.WriteFile) -> None:
    """fs/write_text_file"""
    await anyio.to_thread.run_sync(_write, root, asked)


def _read(root: Path, asked: schema.ReadFile) -> str:
    path = confine(root, asked.path)
    try:
        # Not following a link that was put there since, and not waiting at a named pipe.
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise RpcError(INVALID_PARAMS, f"{asked.path} is not a file")
            if about.st_size > READ_LIMIT:
                raise RpcError(INVALID_PARAMS, f"{asked.path} is larger than {READ_LIMIT >> 20} MiB")
            text = file.read(READ_LIMIT).decode()
    except FileNotFoundError as error:
        raise RpcError(NOT_FOUND, f"{asked.path} is not there") from error
    except UnicodeDecodeError as error:
        raise RpcError(INVALID_PARAMS, f"{asked.path} is not a text file") from error
    except OSError as error:
        raise RpcError(INTERNAL_ERROR, f"{asked.path} cannot be read: {error.strerror}") from error
    if asked.line is None and asked.limit is None:
        return text
    first = max((asked.line or 1) - 1, 0)
    lines = text.splitlines(keepends=True)
    return "".join(lines[first:] if asked.limit is None else lines[first : first + max(asked.limit, 0)])


def _write(root: Path, asked: schema.WriteFile) -> None:
    path = confine(root, asked.path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
        with open(os.open(path, flags, 0o666), "w", encoding="utf-8", newline="") as file:
            file.write(asked.content)
    except OSError as error:
        raise RpcError(INTERNAL_ERROR, f"{asked.path} cannot be written: {error.strerror}") from error
