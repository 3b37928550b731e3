"""Earlier conversations: those on disk, begun in the terminal or here, and those that go on under another id."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from beambot.api import Resumable

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_EDGE = 64 * 1024
_MOST = 50
ENOUGH = 1024 * 1024
_TITLES = (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary"))
_TITLE_LENGTH = 80
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def projects_folder(env: Mapping[str, str]) -> Path:
    """Where the program keeps its conversations."""
    own = env.get("CLAUDE_CONFIG_DIR")
    home = Path(env["HOME"]) if env.get("HOME") else Path.home()
    return (Path(own) if own else home / ".claude") / "projects"


def room_for(projects: Path) -> int:
    """How many bytes still fit there; a program that finds no room works on and keeps nothing."""
    place = projects
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        found = os.statvfs(place)
    except OSError:
        return ENOUGH
    return found.f_bavail * found.f_frsize


def slug(folder: Path) -> str:
    """The name of a folder's own folder there."""
    return re.sub(r"[^A-Za-z0-9]", "-", str(folder))


def sessions_of(folder: Path, projects: Path) -> list[Resumable]:
    """What was begun in this folder, newest first; a conversation without a prompt is none."""
    real = folder.resolve()
    names = {slug(real), slug(folder)}
    files = [path for name in names for path in _transcripts(projects / name)]
    # Very long names are cut and marked by the program; such a folder is found by its beginning.
    if not files and len(slug(real)) > 200:
        files = [path for there in projects.glob(f"{slug(real)[:200]}*") for path in _transcripts(there)]
    found: list[Resumable] = []
    for path, at in sorted(((path, _age(path)) for path in files), key=lambda one: -one[1])[:_MOST]:
        with suppress(OSError):
            session = _read(path, at)
            if session is not None and session.folder in ("", str(real), str(folder)):
                found.append(session)
    return found


def begun_in(session: str, projects: Path) -> str:
    """The folder in which a conversation was begun, wherever that is."""
    if not _UUID.fullmatch(session):
        return ""
    for path in projects.glob(f"*/{session}.jsonl"):
        with suppress(OSError):
            found = _read(path, 0.0)
            return found.folder if found else ""
    return ""


def _transcripts(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.jsonl") if _UUID.fullmatch(path.stem)]


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _read(path: Path, at: float) -> Resumable | None:
    """Its beginning tells where and about what; its end may hold a better title."""
    titles: dict[str, str] = {}
    first = folder = ""
    for line in _edges(path):
        if line.get("isSidechain"):
            continue
        folder = folder or str(line.get("cwd") or "")
        for kind, key in _TITLES:
            if line.get("type") == kind and line.get(key):
                titles[kind] = str(line[key])
        if not first and line.get("type") == "user" and not line.get("isMeta"):
            first = _prompt(line.get("message"))
    title = next((titles[kind] for kind, _ in _TITLES if kind in titles), first)
    if not title:
        return None
    short = " ".join(title.split())
    short = short if len(short) <= _TITLE_LENGTH else f"{short[: _TITLE_LENGTH - 1]}…"
    return Resumable(agent_session=path.stem, title=short, folder=folder, at=at)


def _edges(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        head = file.read(_EDGE)
        rest = file.seek(0, 2) - len(head)
        file.seek(max(len(head), len(head) + rest - _EDGE))
        end = file.read(_EDGE)
    for line in (head + (b"\n" if rest > _EDGE else b"") + end).split(b"\n"):
        with suppress(msgspec.DecodeError):
            yield _decode(line)


def _prompt(message: Any) -> str:
    """What a person wrote; not a command, its output, or a note of the program."""
    content = message.get("content") if isinstance(message, dict) else None
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in blocks if isinstance(blocks, list) else ():
        text = block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str) and text.strip() and not text.lstrip().startswith("<"):
            return text
    return ""


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
