"""The state file: what a running beambot says about itself to `ps` and `doctor`. It holds no secret."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct


class RunState(Struct, frozen=True, kw_only=True):
    """One run of beambot."""

    pid: int
    started_at: float
    platforms: tuple[str, ...] = ()
    version: str = ""


def state_path(store: Path) -> Path:
    """Beside the store."""
    return store.with_name(store.name + ".state.json")


def write_state(store: Path, state: RunState) -> None:
    """Whole or not at all; for its owner's eyes only."""
    path = state_path(store)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.fchmod(fd, 0o600)
        os.write(fd, msgspec.json.encode(state))
    finally:
        os.close(fd)
    os.replace(draft, path)


def read_state(store: Path) -> RunState | None:
    """None when there is none, or when it cannot be read."""
    try:
        with state_path(store).open("rb") as file:
            return msgspec.json.decode(file.read(65536), type=RunState)
    except (OSError, msgspec.MsgspecError):
        return None


def remove_state(store: Path) -> None:
    """At a clean exit. What a crash leaves behind is recognised by the lock that nobody holds."""
    state_path(store).unlink(missing_ok=True)
