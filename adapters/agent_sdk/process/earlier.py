"""Earlier conversations: those that the vendor's package finds on disk, and those that go on under another id.

The package looks where this process's environment points; the agent's may point elsewhere. So it is asked in a
process with the agent's environment: `python -m adapters.agent_sdk.process.earlier list FOLDER` or `… where ID`.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import anyio
import msgspec
from msgspec import Struct

from beambot.api import Resumable
from beambot.wire.process import Child

_MOST = 50
_TITLE_LENGTH = 80
_SECONDS = 20.0


class Kept(Struct):
    """One conversation, as the package tells it."""

    id: str
    title: str
    folder: str
    at: float


async def sessions_of(folder: Path, env: dict[str, str]) -> list[Resumable]:
    """What was begun in this folder, newest first."""
    found = await _ask(("list", str(folder)), env)
    return [Resumable(agent_session=one.id, title=_short(one.title), folder=one.folder, at=one.at) for one in found]


async def begun_in(session: str, env: dict[str, str]) -> str:
    """The folder in which a conversation was begun, wherever that is."""
    found = await _ask(("where", session), env)
    return found[0].folder if found else ""


async def _ask(words: tuple[str, ...], env: dict[str, str]) -> list[Kept]:
    argv = [sys.executable, "-P", "-m", "adapters.agent_sdk.process.earlier", *words]
    child = await Child.start(argv, cwd=Path.home(), env={**env, "PYTHONPATH": _places()}, stdin=False)
    said = b""
    try:
        with anyio.move_on_after(_SECONDS):
            while data := await child.read():
                said += data
    finally:
        await child.stop()
    try:
        return msgspec.json.decode(said, type=list[Kept])
    except ValueError:
        return []


def _places() -> str:
    """Where this process finds its modules; its own working folder is not one of them."""
    return ":".join(place for place in sys.path if place)


def _short(title: str) -> str:
    words = " ".join(title.split())
    return words if len(words) <= _TITLE_LENGTH else f"{words[: _TITLE_LENGTH - 1]}…"


class Memory:
    """What the program does not keep: ids that changed on the way, and conversations in which nothing was said."""

    def __init__(self, home: Path) -> None:
        self._file = home / "moved.json"
        self._moved: dict[str, str] | None = None
        self._blank: set[str] = set()

    def newest(self, session: str) -> str:
        """Where a conversation goes on."""
        seen = {session}
        while (following := self._known().get(session)) and following not in seen:
            session = following
            seen.add(session)
        return session

    def blank(self, session: str) -> bool:
        """Nothing was said in it yet: the program has nothing to resume."""
        return session in self._blank

    def opened(self, session: str) -> None:
        """A new conversation."""
        self._blank.add(session)

    def spoken(self, session: str) -> None:
        """Something was said in it."""
        self._blank.discard(session)

    def moved(self, old: str, new: str) -> None:
        """Kept on disk, so that it survives a restart; the newest thousand."""
        if old == new:
            return
        self._blank.add(new)
        known = self._known()
        known.pop(old, None)
        known[old] = new
        for stale in list(known)[:-1000]:
            del known[stale]
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            part = self._file.with_suffix(".part")
            part.write_bytes(msgspec.json.encode(known))
            part.replace(self._file)

    def _known(self) -> dict[str, str]:
        if self._moved is None:
            try:
                self._moved = msgspec.json.decode(self._file.read_bytes(), type=dict[str, str])
            except (OSError, ValueError):
                self._moved = {}
        return self._moved


def main(words: list[str]) -> None:
    """Asks the package and writes what it found as one line of JSON."""
    from claude_agent_sdk import get_session_info, list_sessions

    what, which = words
    if what == "list":
        found = list_sessions(which, limit=_MOST, include_worktrees=False)
    else:
        one = get_session_info(which)
        found = [one] if one else []
    kept = [Kept(one.session_id, one.summary, one.cwd or "", one.last_modified / 1000) for one in found]
    sys.stdout.buffer.write(msgspec.json.encode(kept))


if __name__ == "__main__":
    main(sys.argv[1:])
