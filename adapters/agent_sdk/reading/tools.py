"""The tools that run: each starts once and ends once, whatever the program leaves out or repeats. Pure."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from adapters.agent_sdk.reading import changes, titles
from beambot.api import bodies

TEXT_LIMIT = 64 * 1024
# The object of a tool stands near the beginning of its input; news of a long one comes every so many characters.
EARLY = STEP = 4096
# What these say when they are done is meant for the model; people see the change, the plan or the list itself.
_FOR_THE_MODEL = frozenset(
    {"Edit", "MultiEdit", "Write", "NotebookEdit", "TodoWrite", "ExitPlanMode", "StructuredOutput"}
)
# The program's own words for a tool that did not run, and for one that printed nothing.
_NOT_RUN = "The user doesn't want to proceed with this tool use."
_SILENT = re.compile(r"\((?:Bash|Command) completed with no output\)")
_ERROR = re.compile(r"\s*<tool_use_error>(.*)</tool_use_error>\s*", re.DOTALL)
_REMINDER = re.compile(r"\s*<system-reminder>.*?</system-reminder>\s*", re.DOTALL)
_STATES = {"pending", "in_progress", "completed"}
_MOST = 1000


class Tool:
    """One running tool."""

    def __init__(self, id: str, name: str, parent: str, started: float) -> None:
        self.id = id
        self.name = name
        self.parent = parent
        self.started = started
        self.title = ""
        self.input: dict[str, Any] = {}
        self.denied = ""
        self.not_run = False
        self._early: str | None = "" if titles.object_of(name) else None
        self._size = 0

    def begun(self, folder: str) -> bodies.ToolStarted:
        """Its first message."""
        self.title = self.title or titles.title(self.name, self.input, folder)
        kind = titles.kind_of(self.name)
        return bodies.ToolStarted(self.id, self.name, self.title, kind, self.input, titles.paths(self.input))

    def grow(self, text: str, folder: str) -> list[Any]:
        """More of its input, as it is written: told when its object is known, and now and then after that."""
        before, self._size = self._size, self._size + len(text)
        if self._early is not None and before < EARLY:
            self._early += text
            if given := _object(titles.object_of(self.name), self._early):
                self._early = None
                self.title = titles.title(self.name, given, folder)
                return [bodies.ToolProgress(self.id, self.title, paths=titles.paths(given))]
        if before // STEP != self._size // STEP:
            return [bodies.ToolProgress(self.id, text=f"{self._size:,} characters of input so far")]
        return []

    def called(self, given: dict[str, Any], folder: str) -> list[Any]:
        """Its input is complete."""
        if given == self.input:
            return []
        self.input = given
        title = titles.title(self.name, given, folder)
        changed, self.title = "" if title == self.title else title, title
        return [bodies.ToolProgress(self.id, changed, input=given, paths=titles.paths(given))]


class Tools:
    """All tools of a session. Those of subagents may go on behind a turn that has ended."""

    def __init__(self, folder: str) -> None:
        self.open: dict[str, Tool] = {}
        self.folder = folder
        self._writing: dict[str, Tool] = {}
        self._over: dict[str, str] = {}
        self._behind: dict[str, Tool] = {}

    def begin(self, id: str, name: str, parent: str, now: float) -> list[Any]:
        """The model begins to call a tool; its input follows."""
        self._writing.pop(parent, None)
        if not id or id in self.open or id in self._over:
            return []
        tool = self.open[id] = self._writing[parent] = Tool(id, name, parent, now)
        return [tool.begun(self.folder)]

    def grow(self, parent: str, text: str) -> list[Any]:
        """More of the input of the call that is being written."""
        tool = self._writing.get(parent)
        return tool.grow(text, self.folder) if tool is not None and tool.id in self.open else []

    def written(self, parent: str) -> None:
        """That call is complete."""
        self._writing.pop(parent, None)

    def called(self, id: str, name: str, given: Any, parent: str, now: float) -> list[Any]:
        """A complete call: of a subagent it is the first that is heard of it."""
        if not id or id in self._over:
            return []
        given = given if isinstance(given, dict) else {}
        tool = self.open.get(id)
        if tool is not None:
            return tool.called(given, self.folder) + _checklist(tool)
        tool = self.open[id] = Tool(id, name, parent, now)
        tool.input = given
        return [tool.begun(self.folder), *_checklist(tool)]

    def edited(self, id: str, given: dict[str, Any]) -> list[Any]:
        """A person approved something else than was asked."""
        return self.open[id].called(given, self.folder) if id in self.open else []

    def resume(self, id: str) -> list[Any]:
        """A tool that went on behind an ended turn is heard of again."""
        tool = self._behind.pop(id, None)
        if tool is None:
            return []
        self._over.pop(id, None)
        self.open[id] = tool
        return [tool.begun(self.folder)]

    def known(self, id: str) -> Tool | None:
        """The tool of that id while it runs, also behind."""
        return self.open.get(id) or self._behind.get(id)

    def refuse(self, id: str, why: str) -> None:
        """This tool will not run: somebody, or a rule, said no."""
        if tool := self.known(id):
            tool.denied = why or "denied"

    def not_run(self, id: str) -> None:
        """The result that follows says that this tool did not run."""
        if tool := self.known(id):
            tool.not_run = True

    def ended(self, id: str, content: Any, failed: bool, found: Any, stopping: bool, now: float) -> list[Any]:
        """The result of a tool that is open: its last messages."""
        tool = self.open[id]
        text = _text(content)
        outcome: bodies.ToolOutcome = "denied" if tool.denied else "done"
        if failed and not tool.denied:
            stopped = stopping or found == "User rejected tool use"
            outcome = "cancelled" if stopped else "denied" if tool.not_run else "failed"
        said: list[Any] = []
        if outcome == "done":
            said += changes.made(tool.name, tool.input, found, tool.id)
            if tool.name in _FOR_THE_MODEL:
                text = ""
            elif tool.name in ("Agent", "Task") and isinstance(found, dict):
                text = "goes on in the background" if found.get("isAsync") else _report(found) or text
        elif text.startswith(_NOT_RUN):
            text = "" if tool.denied == "denied" else tool.denied
        return said + self._end(tool, outcome, now, text)

    def end_all(self, now: float, last: bool) -> list[tuple[str, list[Any]]]:
        """The turn is over, and so are its tools. What a subagent runs behind it goes on, unless all is over."""
        behind = [tool for tool in self.open.values() if tool.parent and tool.parent not in self.open and not last]
        ended: list[tuple[str, list[Any]]] = []
        for tool in reversed(list(self.open.values())):
            if tool in behind:
                ended.append((tool.parent, self._end(tool, "done", now, "goes on in the background")))
                self._behind[tool.id] = tool
            else:
                ended.append((tool.parent, self._end(tool, "cancelled", now)))
        while len(self._behind) > _MOST:
            del self._behind[next(iter(self._behind))]
        self._writing.clear()
        return ended

    def called_by(self, parent: str) -> str:
        """What a subagent was asked to do: its name for people."""
        tool = self.open.get(parent)
        return _delegated(tool) if tool else self._over.get(parent, "")

    def _end(self, tool: Tool, outcome: bodies.ToolOutcome, now: float, text: str = "") -> list[Any]:
        del self.open[tool.id]
        self._over[tool.id] = _delegated(tool)
        if len(self._over) > _MOST:
            del self._over[next(iter(self._over))]
        text = text if len(text) <= TEXT_LIMIT else "…" + text[-TEXT_LIMIT:]
        return [bodies.ToolEnded(tool.id, outcome, text, max(0, int((now - tool.started) * 1000)))]


def _delegated(tool: Tool) -> str:
    if tool.name not in ("Agent", "Task"):
        return ""
    words = (tool.input.get(key) for key in ("name", "description", "subagent_type"))
    return next((one for one in words if isinstance(one, str) and one), tool.name)


def _object(key: str, text: str) -> dict[str, Any]:
    found = re.search(rf'"{key}"\s*:\s*("(?:[^"\\]|\\.)*")', text, re.DOTALL)
    try:
        return {key: msgspec.json.decode(found[1])} if found else {}
    except ValueError:
        return {}


def _text(content: Any) -> str:
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else None for part in content]
        content = "\n".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str) or _SILENT.fullmatch(content):
        return ""
    if error := _ERROR.fullmatch(content):
        content = error[1]
    return _REMINDER.sub("\n", content).strip("\n") if "<system-reminder>" in content else content


def _report(found: dict[str, Any]) -> str:
    """A subagent's report as it wrote it: what the model gets is wrapped in words of the program's own."""
    parts = found.get("content")
    texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return "\n".join(one for one in texts if isinstance(one, str) and not one.startswith("<tools-used"))


def _checklist(tool: Tool) -> list[Any]:
    """The agent's own checklist is a call like any other; only the agent's, not a subagent's."""
    todos = tool.input.get("todos") if tool.name == "TodoWrite" and not tool.parent else None
    if not isinstance(todos, list):
        return []
    entries = []
    for todo in todos:
        if isinstance(todo, dict) and isinstance(todo.get("content"), str):
            status = todo.get("status")
            entries.append(bodies.PlanEntry(todo["content"], status if status in _STATES else "pending"))
    return [bodies.Plan(tuple(entries))]
