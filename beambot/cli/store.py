"""`beambot ps` and `beambot backup`: they only look at the store, also while beambot runs."""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from beambot.cli.setting import store_path
from beambot.clock import SystemClock
from beambot.control.lock import Owner, owner_of
from beambot.control.state import RunState, read_state
from beambot.log import redact
from beambot.store import Store

_COLUMNS = ("session", "state", "project", "adapter", "used", "threads", "title")


def run_ps(args: argparse.Namespace) -> int:
    """Sessions, newest first."""
    path = store_path(args.config)
    owner, state = owner_of(path), read_state(path)
    sessions = anyio.run(_sessions, path) if path.exists() else []
    if args.json:
        running = None if owner is None else {"pid": owner.pid, "started_at": owner.started_at}
        print(redact(json.dumps({"store": str(path), "running": running, "sessions": sessions}, indent=2)))
        return 0
    print(_headline(path, owner, state))
    if sessions:
        print(redact(_table([_line(session) for session in sessions])))
    else:
        print("no sessions")
    return 0


def run_backup(args: argparse.Namespace) -> int:
    """A consistent copy."""
    path = store_path(args.config)
    target = Path(args.file).expanduser().absolute()
    anyio.run(partial(_backup, path, target))
    print(f"wrote {target} ({target.stat().st_size / 1e6:.1f} MB)")
    return 0


async def _backup(path: Path, target: Path) -> None:
    async with await Store.open(path, SystemClock(), create=False) as store:
        await store.backup(target)


async def _sessions(path: Path) -> list[dict[str, Any]]:
    async with await Store.open(path, SystemClock(), create=False) as store:
        found: list[dict[str, Any]] = []
        for row in await store.sessions.recent():
            threads = [thread.ref for thread in await store.threads.of_session(row.id)]
            found.append(
                {
                    "id": row.id,
                    "state": row.state,
                    "project": row.project,
                    "adapter": row.adapter,
                    "title": row.title,
                    "folder": row.folder,
                    "created_at": row.created_at,
                    "used_at": row.used_at,
                    "platforms": sorted({ref.platform for ref in threads}),
                    "threads": len(threads),
                }
            )
        return found


def _headline(path: Path, owner: Owner | None, state: RunState | None) -> str:
    if owner is None:
        return f"beambot is not running on {path}"
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(owner.started_at))
    chats = f" on {', '.join(state.platforms)}" if state is not None and state.pid == owner.pid else ""
    return f"beambot runs as process {owner.pid} since {since}{chats}"


def _line(session: dict[str, Any]) -> tuple[str, ...]:
    used = time.strftime("%m-%d %H:%M", time.localtime(session["used_at"] or session["created_at"]))
    where = ", ".join(session["platforms"]) or "-"
    # A title comes from a prompt: no control characters reach the terminal.
    title = "".join(char for char in session["title"] if char.isprintable())[:60]
    columns = (session["id"], session["state"], session["project"], session["adapter"], used, where, title)
    return tuple(str(column) for column in columns)


def _table(rows: list[tuple[str, ...]]) -> str:
    lines = [_COLUMNS, *rows]
    widths = [max(len(line[index]) for line in lines) for index in range(len(_COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
