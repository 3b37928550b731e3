"""Changes of files: as a tool is about to make them, and as it made them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from beambot.api import bodies

Diffs = tuple[bodies.Diff, ...]


def count_lines(old: str | None, new: str | None) -> tuple[int, int]:
    """Lines added and removed, in linear time: a line that only moved counts as neither."""
    before, after = Counter((old or "").splitlines()), Counter((new or "").splitlines())
    return (after - before).total(), (before - after).total()


def planned(name: str, given: dict[str, Any], tool: str) -> Diffs:
    """What a tool would change, as far as its input tells. A file that is written whole is shown as new."""
    path = given.get("notebook_path" if name == "NotebookEdit" else "file_path")
    if not isinstance(path, str) or not path:
        return ()
    match name:
        case "Edit":
            return _replaced(path, [given], tool)
        case "MultiEdit":
            edits = given.get("edits")
            return _replaced(path, edits if isinstance(edits, list) else [], tool)
        case "Write":
            return _written(path, None, given.get("content"), tool)
        case "NotebookEdit" if given.get("edit_mode") != "delete":
            return _written(path, None, given.get("new_source"), tool)
    return ()


def made(name: str, given: dict[str, Any], found: Any, tool: str) -> Diffs:
    """What a tool changed, as its result tells; else what its input said (a subagent's result tells nothing)."""
    if name == "Bash":
        return tuple(_of_shell(found, tool))
    if isinstance(found, dict) and isinstance(path := found.get("filePath"), str) and path:
        if patch := unified(found.get("structuredPatch")):
            added, removed = _count(patch)
            return (bodies.Diff(path, None, None, tool, patch, added, removed),)
        if found.get("originalFile") is None and isinstance(found.get("content"), str):
            return _written(path, None, found["content"], tool)
        if found.get("originalFile") == found.get("content"):
            return ()
    return planned(name, given, tool)


def unified(hunks: Any) -> str:
    """A patch in pieces as one text; nothing where a piece has an unexpected form."""
    lines: list[str] = []
    for hunk in hunks if isinstance(hunks, list) else ():
        if not isinstance(hunk, dict) or not isinstance(hunk.get("lines"), list):
            return ""
        old, new = (f"{hunk.get(f'{side}Start', 0)},{hunk.get(f'{side}Lines', 0)}" for side in ("old", "new"))
        lines.append(f"@@ -{old} +{new} @@")
        lines += [line for line in hunk["lines"] if isinstance(line, str)]
    return "\n".join(lines)


def _count(patch: str) -> tuple[int, int]:
    lines = patch.split("\n")
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)


def _replaced(path: str, edits: Iterable[Any], tool: str) -> Diffs:
    found = []
    for edit in edits:
        if not isinstance(edit, dict):
            continue
        old, new = edit.get("old_string"), edit.get("new_string")
        if isinstance(old, str) and isinstance(new, str) and old != new:
            found.append(bodies.Diff(path, old, new, tool, "", *count_lines(old, new)))
    return tuple(found)


def _written(path: str, old: str | None, new: Any, tool: str) -> Diffs:
    if not isinstance(new, str):
        return ()
    return (bodies.Diff(path, old, new, tool, "", *count_lines(old, new)),)


def _of_shell(found: Any, tool: str) -> Iterable[bodies.Diff]:
    """Newer versions tell which files a command changed."""
    edits = found.get("bashEditDiff") if isinstance(found, dict) else None
    files = edits.get("files") if isinstance(edits, dict) else None
    for file in files if isinstance(files, list) else ():
        path = file.get("filePath") if isinstance(file, dict) else None
        if isinstance(path, str) and (patch := unified(file.get("hunks"))):
            added, removed = _count(patch)
            yield bodies.Diff(path, None, None, tool, patch, added, removed)
