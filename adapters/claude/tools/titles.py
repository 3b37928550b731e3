"""What a tool does, in words that fit a phone: a verb and its object. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

import msgspec

from beambot.api import bodies

LONGEST = 1000

Input = dict[str, Any]


class Named(msgspec.Struct, frozen=True):
    """How one tool is told: its kind, its verb, the field that is its object, and its name without one."""

    kind: bodies.ToolKind
    verb: str
    field: str = ""
    alone: str = ""


_TOOLS = {
    "Bash": Named("execute", "Run a command", "command"),
    "BashOutput": Named("read", "Look at the output of", "bash_id", "Look at the output of a command"),
    "KillShell": Named("execute", "Stop", "shell_id", "Stop a command"),
    "Read": Named("read", "Read", "file_path"),
    "Edit": Named("edit", "Edit", "file_path"),
    "MultiEdit": Named("edit", "Edit", "file_path"),
    "Write": Named("edit", "Write", "file_path"),
    "NotebookEdit": Named("edit", "Edit", "notebook_path"),
    "LS": Named("read", "List", "path"),
    "Glob": Named("search", "Find", "pattern", "Find files"),
    "Grep": Named("search", "Search for", "pattern", "Search the files"),
    "WebFetch": Named("fetch", "Fetch", "url"),
    "WebSearch": Named("fetch", "Search the web for", "query", "Search the web"),
    "ToolSearch": Named("search", "Look for a tool:", "query", "Look for a tool"),
    "Task": Named("think", "Delegate:", "description", "Delegate"),
    "Agent": Named("think", "Delegate:", "description", "Delegate"),
    "TaskOutput": Named("read", "Look at the task", "task_id", "Look at a task"),
    "TaskStop": Named("execute", "Stop the task", "task_id", "Stop a task"),
    "Skill": Named("think", "Use the skill", "skill", "Use a skill"),
    "SlashCommand": Named("think", "Use", "command"),
    "TodoWrite": Named("think", "Update the checklist"),
    "AskUserQuestion": Named("think", "Ask a question"),
    "EnterPlanMode": Named("mode", "Plan first"),
    "ExitPlanMode": Named("mode", "Show the plan"),
    "TeamCreate": Named("think", "Create the team", "team_name", "Create a team"),
    "TeamDelete": Named("think", "Dissolve the team"),
    "TaskCreate": Named("think", "Add the task", "subject", "Add a task"),
    "TaskUpdate": Named("think", "Update task", "taskId", "Update a task"),
    "TaskGet": Named("think", "Look at task", "taskId", "Look at a task"),
    "TaskList": Named("think", "List the tasks"),
    "SendMessage": Named("think", "Write to", "to", "Write a message"),
}
_SERVER = re.compile(r"mcp__(.+?)__(.+)")
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-\s]+")
_PATHS = ("file_path", "notebook_path", "path")


def named(name: str) -> Named:
    """The tool of that name; one that is not known is called by its own name, as words."""
    found = _TOOLS.get(name)
    if found is None:
        server = _SERVER.fullmatch(name)
        words = _words(server[2]) if server else _words(name)
        found = Named("other", f"{words} ({server[1]})" if server else words)
    return found


def title(name: str, given: Input, folder: str) -> str:
    """What it does, with its object where that is known."""
    tool = named(name)
    what = given.get(tool.field) if tool.field else None
    if name == "SendMessage":
        what = "everyone" if what == "*" or given.get("type") == "broadcast" else what or given.get("recipient")
    if not isinstance(what, str) or not what.strip():
        return tool.alone or tool.verb
    if name == "Bash":
        return short(what.strip())
    if tool.field in _PATHS:
        what = within(what, folder)
    words = f"{tool.verb} {what.strip()}"
    place = given.get("path")
    if tool.kind == "search" and isinstance(place, str) and place and within(place, folder) != ".":
        words += f" in {within(place, folder)}"
    return short(words)


def paths(given: Input) -> tuple[str, ...]:
    """The files it is about."""
    return tuple(dict.fromkeys(path for key in _PATHS if isinstance(path := given.get(key), str) and path))


def within(path: str, folder: str) -> str:
    """A path as it is called inside the folder; one that leads outside stays whole."""
    if not folder or ".." in PurePosixPath(path).parts:
        return path
    place = PurePosixPath(path)
    return str(place.relative_to(folder)) if place.is_relative_to(folder) else path


def short(text: str, longest: int = LONGEST) -> str:
    """The beginning of a text."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def early(name: str) -> Callable[[str], Input] | None:
    """How to find the object of a tool in input that is still being written; None: it has no object."""
    key = named(name).field
    if not key:
        return None
    pattern = re.compile(rf'"{key}"\s*:\s*("(?:[^"\\]|\\.)*")', re.DOTALL)

    def find(text: str) -> Input:
        found = pattern.search(text)
        try:
            return {key: msgspec.json.decode(found[1])} if found else {}
        except ValueError:
            return {}

    return find


def _words(name: str) -> str:
    words = " ".join(word for word in _WORDS.split(name) if word) or name
    return words[:1].upper() + words[1:].lower() if words.isascii() else words
