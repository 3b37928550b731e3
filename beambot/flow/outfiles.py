"""Files that leave the machine: only from inside a project, only on request, never a secret."""

from __future__ import annotations

import os
import re
from pathlib import Path

import anyio

from beambot.errors import FileRefused
from beambot.log import redact
from beambot.model.outbound import Attached
from beambot.model.ports import IdSource

_PRIVATE = re.compile(
    r"\.env(\..*)?|\.?(netrc|npmrc|pypirc|pgpass|htpasswd|git-credentials|dockercfg)|id_(rsa|dsa|ecdsa|ed25519)\w*"
    r"|.*\.(pem|key|p12|pfx|kdbx|keystore|jks|ppk|asc|gpg)|(aws_?)?credentials(\..*)?|secrets?\.\w+|.*_history",
    re.IGNORECASE,
)
_PRIVATE_FOLDERS = frozenset({".git", ".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".config"})
_NAMES = 20


async def from_project(folder: Path, wanted: str, upload_bytes: int) -> bytes:
    """A file of the project, read once and checked as read. Raises `FileRefused` with what to do instead."""
    return await anyio.to_thread.run_sync(_read, folder, wanted.strip(), upload_bytes)


def _read(folder: Path, wanted: str, upload_bytes: int) -> bytes:
    if not wanted:
        raise FileRefused("Write the path behind the command: /file src/app.py")
    try:
        home = folder.resolve(strict=True)
        path = (home / wanted).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise FileRefused(f"There is no file {wanted[:200]!r} in the project.") from None
    if not path.is_relative_to(home):
        raise FileRefused("That leads out of the project's folder. Only files inside of it can be sent.")
    inside = path.relative_to(home)
    if is_private(Path(wanted)) or is_private(inside):
        raise FileRefused(f"{inside} may hold secrets: it stays on the machine.")
    if path.is_dir():
        raise FileRefused(f"{inside} is a folder. In it: {_listed(path)}")
    if not path.is_file():
        raise FileRefused(f"{inside} is not a file that can be sent.")
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > upload_bytes:
                raise FileRefused(f"{inside} is larger than the {upload_bytes // 1_000_000} MB this chat takes.")
            data = file.read(upload_bytes + 1)
    except OSError as error:
        raise FileRefused(f"{inside} cannot be read: {error.strerror}.") from None
    text = data.decode("utf-8", "replace")
    if redact(text) != text:
        raise FileRefused(f"Something in {inside} looks like a key or a token: it stays on the machine.")
    return data


def is_private(path: Path) -> bool:
    """Whether a path by its name alone may hold secrets."""
    if any(part.casefold() in _PRIVATE_FOLDERS for part in path.parts[:-1]):
        return True
    return _PRIVATE.fullmatch(path.name) is not None or path.name.casefold() in _PRIVATE_FOLDERS


def _listed(folder: Path) -> str:
    names = sorted(entry.name + "/" * entry.is_dir() for entry in folder.iterdir())
    shown = [name for name in names if not is_private(Path(name.rstrip("/")))]
    more = f" … {len(shown) - _NAMES} more" if len(shown) > _NAMES else ""
    return (", ".join(shown[:_NAMES]) or "nothing that can be sent") + more


async def attached(folder: Path, ids: IdSource, name: str, data: bytes) -> Attached:
    """Keep bytes until they are sent: a restart in between loses nothing."""
    place = anyio.Path(folder) / "out"
    await place.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = place / ids.new()
    await path.write_bytes(data)
    await path.chmod(0o600)
    return Attached(str(path), Path(name).name or "file", temporary=True)
