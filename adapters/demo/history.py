"""What was said, kept on disk, so that a killed demo agent can take up its session again."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import msgspec

_ID = re.compile(r"[a-z0-9]{8,64}")


def default_folder() -> Path:
    """Where state belongs on this machine."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "beambot-demo"


class History:
    """One file a session: a line for where it is, then a line for each thing said."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def create(self, session: str, cwd: str, said: list[dict[str, Any]] | None = None) -> None:
        """A new session, perhaps with what another one said."""
        self._folder.mkdir(parents=True, exist_ok=True)
        lines = [{"cwd": cwd, "at": time.time()}, *(said or [])]
        self._path(session).write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))

    def append(self, session: str, role: str, text: str) -> None:
        """One more thing was said."""
        with self._path(session).open("ab") as file:
            file.write(msgspec.json.encode({"role": role, "text": text}) + b"\n")

    def read(self, session: str) -> list[dict[str, Any]] | None:
        """All that was said, or None if there is no such session. A line cut short by a kill is left out."""
        if not _ID.fullmatch(session) or not self._path(session).is_file():
            return None
        return [line for line in self._lines(self._path(session))[1:] if "role" in line]

    def known(self, cwd: str) -> list[dict[str, Any]]:
        """The sessions of a folder, newest first."""
        found = []
        for path in self._folder.glob("*.jsonl") if self._folder.is_dir() else ():
            lines = self._lines(path)
            if lines and lines[0].get("cwd") == cwd:
                title = next((line["text"] for line in lines if line.get("role") == "user"), "")
                at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(path.stat().st_mtime))
                found.append({"sessionId": path.stem, "cwd": cwd, "title": title[:80], "updatedAt": at})
        return sorted(found, key=lambda one: one["updatedAt"], reverse=True)

    def _path(self, session: str) -> Path:
        return self._folder / f"{session}.jsonl"

    def _lines(self, path: Path) -> list[dict[str, Any]]:
        found = []
        for line in path.read_bytes().splitlines():
            try:
                found.append(msgspec.json.decode(line, type=dict[str, Any]))
            except ValueError:
                continue
        return found
