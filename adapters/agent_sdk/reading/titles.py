"""What a tool does, in words that fit a phone: its kind, a verb and its object. Pure."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

from beambot.api import bodies

LONGEST = 1000
Input = dict[str, Any]
_PATHS = ("file_path", "notebook_path", "path")
# Name: kind, verb, the field that is its object, and what is said without one.
_TOOLS: dict[str, tuple[bodies.ToolKind, str, str, str]] = {
    "Bash": ("execute", "Run a command", "command", ""),
    "BashOutput": ("read", "Look at the output of", "bash_id", "Look at the output of a command"),
    "KillShell": ("execute", "Stop", "shell_id", "Stop a command"),
    "Read": ("read", "Read", "file_path", ""),
    "Edit": ("edit", "Edit", "file_path", ""),
    "MultiEdit": ("edit", "Edit", "file_path", ""),
    "Write": ("edit", "Write", "file_path", ""),
    "NotebookEdit": ("edit", "Edit", "notebook_path", ""),
    "LS": ("read", "List", "path", ""),
    "Glob": ("search", "Find", "pattern", "Find files"),
    "Grep": ("search", "Search for", "pattern", "Search the files"),
    "WebFetch": ("fetch", "Fetch", "url", ""),
    "WebSearch": ("fetch", "Search the web for", "query", "Search the web"),
    "ToolSearch": ("search", "Look for a tool:", "query", "Look for a tool"),
    "Task": ("think", "Delegate:", "description", "Delegate"),
    "Agent": ("think", "Delegate:", "description", "Delegate"),
    "TaskOutput": ("read", "Look at the task", "task_id", "Look at a task"),
    "TaskStop": ("execute", "Stop the task", "task_id", "Stop a task"),
    "Skill": ("think", "Use the skill", "skill", "Use a skill"),
    "TodoWrite": ("think", "Update the checklist", "", ""),
    "AskUserQuestion": ("think", "Ask a question", "", ""),
    "EnterPlanMode": ("mode", "Plan first", "", ""),
    "ExitPlanMode": ("mode", "Show the plan", "", ""),
    "StructuredOutput": ("think", "Give the answer in its form", "", ""),
    "TeamCreate": ("think", "Create the team", "team_name", "Create a team"),
    "TeamDelete": ("think", "Dissolve the team", "", ""),
    "TaskCreate": ("think", "Add the task", "subject", "Add a task"),
    "TaskUpdate": ("think", "Update task", "taskId", "Update a task"),
    "TaskGet": ("think", "Look at task", "taskId", "Look at a task"),
    "TaskList": ("think", "List the tasks", "", ""),
    "SendMessage": ("think", "Write to", "to", "Write a message"),
}
_SERVER = re.compile(r"mcp__(.+?)__(.+)")
_SEAMS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-\s]+")


def kind_of(name: str) -> bodies.ToolKind:
    """What sort of thing it does."""
    return _TOOLS[name][0] if name in _TOOLS else "other"


def object_of(name: str) -> str:
    """The field of its input that a title names; nothing where it has none."""
    return _TOOLS[name][2] if name in _TOOLS else ""


def verb_of(name: str) -> str:
    """What it does, without an object; one that is not known is called by its own name, as words."""
    if name in _TOOLS:
        return _TOOLS[name][1]
    server = _SERVER.fullmatch(name)
    return f"{_words(server[2])} ({server[1]})" if server else _words(name)


def title(name: str, given: Input, folder: str) -> str:
    """What it does, with its object where that is known."""
    field = object_of(name)
    what = given.get(field) if field else None
    if name == "SendMessage":
        what = "everyone" if what == "*" else what or given.get("recipient")
    if not isinstance(what, str) or not what.strip():
        return (_TOOLS[name][3] if name in _TOOLS else "") or verb_of(name)
    if name == "Bash":
        return short(what.strip())
    if field in _PATHS:
        what = within(what, folder)
    words = f"{verb_of(name)} {what.strip()}"
    place = given.get("path")
    if kind_of(name) == "search" and isinstance(place, str) and place and within(place, folder) != ".":
        words += f" in {within(place, folder)}"
    return short(words)


def paths(given: Input) -> tuple[str, ...]:
    """The files it is about."""
    return tuple(dict.fromkeys(path for key in _PATHS if isinstance(path := given.get(key), str) and path))


def within(path: str, folder: str) -> str:
    """A path as it is called inside the folder; one that leads outside stays whole."""
    place = PurePosixPath(path)
    if not folder or ".." in place.parts or not place.is_relative_to(folder):
        return path
    return str(place.relative_to(folder))


def short(text: str, longest: int = LONGEST) -> str:
    """The beginning of a text."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _words(name: str) -> str:
    words = " ".join(word for word in _SEAMS.split(name) if word) or name
    return words[:1].upper() + words[1:].lower() if words.isascii() else words
