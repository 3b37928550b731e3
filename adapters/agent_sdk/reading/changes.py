"""Changes of files: as a tool is about to make them, and as it made them. Pure."""

from __future__ import annotations

from collections import Counter
from typing import Any

from beambot.api import bodies

Diffs = tuple[bodies.Diff, ...]


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
            return _written(path, given.get("content"), tool)
        case "NotebookEdit" if given.get("edit_mode") != "delete":
            return _written(path, given.get("new_source"), tool)
    return ()


def made(name: str, given: dict[str, Any], found: Any, tool: str) -> Diffs:
    """What a tool changed, as its result tells; else what its input said (a subagent's result tells nothing)."""
    if not isinstance(found, dict):
        return () if name == "Bash" else planned(name, given, tool)
    if name == "Bash":
        told = found.get("bashEditDiff")
        files = told.get("files") if isinstance(told, dict) else None
        each = (_patched(one, "hunks", tool) for one in files or () if isinstance(one, dict))
        return tuple(one for one in each if one is not None)
    if (patch := _patched(found, "structuredPatch", tool)) is not None:
        return (patch,)
    path, content = found.get("filePath"), found.get("content")
    if isinstance(path, str) and path and isinstance(content, str):
        if found.get("originalFile") is None:
            return _written(path, content, tool)
        if found["originalFile"] == content:
            return ()
    return planned(name, given, tool)


def _patched(found: dict[str, Any], key: str, tool: str) -> bodies.Diff | None:
    """A patch that was told in pieces."""
    path, hunks = found.get("filePath"), found.get(key)
    if not isinstance(path, str) or not path or not isinstance(hunks, list):
        return None
    lines: list[str] = []
    for hunk in hunks:
        if not isinstance(hunk, dict) or not isinstance(hunk.get("lines"), list):
            return None
        old, new = (f"{hunk.get(f'{side}Start', 0)},{hunk.get(f'{side}Lines', 0)}" for side in ("old", "new"))
        lines.append(f"@@ -{old} +{new} @@")
        lines += [line for line in hunk["lines"] if isinstance(line, str)]
    if not lines:
        return None
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    return bodies.Diff(path, None, None, tool, "\n".join(lines), added, removed)


def _replaced(path: str, edits: list[Any], tool: str) -> Diffs:
    found = []
    for edit in edits:
        old, new = (edit.get("old_string"), edit.get("new_string")) if isinstance(edit, dict) else (None, None)
        if isinstance(old, str) and isinstance(new, str) and old != new:
            found.append(bodies.Diff(path, old, new, tool, "", *_count(old, new)))
    return tuple(found)


def _written(path: str, new: Any, tool: str) -> Diffs:
    return (bodies.Diff(path, None, new, tool, "", *_count("", new)),) if isinstance(new, str) else ()


def _count(old: str, new: str) -> tuple[int, int]:
    """Lines added and removed, in linear time: a line that only moved counts as neither."""
    before, after = Counter(old.splitlines()), Counter(new.splitlines())
    return (after - before).total(), (before - after).total()
