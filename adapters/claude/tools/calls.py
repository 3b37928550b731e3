"""What the tools of a session do, put together from the lines about each. Pure."""

from __future__ import annotations

import re
from typing import Any

from adapters.claude import schema
from adapters.claude.tools import changes, titles
from beambot.api import bodies

TEXT_LIMIT = 64 * 1024
# The object of a tool stands near the beginning of its input; news of a long one comes every so many characters.
EARLY = 4096
STEP = 4096
# The program's own words for a tool that did not run, and for one that printed nothing.
_NOT_RUN = "The user doesn't want to proceed with this tool use."
# What these say when they are done is meant for the model; people see the change, the plan or the list itself.
_FOR_THE_MODEL = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit", "TodoWrite", "ExitPlanMode"})
_SILENT = re.compile(r"\((?:Bash|Command) completed with no output\)")
_ERROR = re.compile(r"\s*<tool_use_error>(.*)</tool_use_error>\s*", re.DOTALL)
_REMINDER = re.compile(r"\s*<system-reminder>.*?</system-reminder>\s*", re.DOTALL)


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
        self._find = titles.early(name)
        self._partial = ""
        self._size = 0

    def begun(self, folder: str) -> bodies.ToolStarted:
        """Its first message."""
        self.title = self.title or titles.title(self.name, self.input, folder)
        kind = titles.named(self.name).kind
        return bodies.ToolStarted(self.id, self.name, self.title, kind, self.input, titles.paths(self.input))

    def grow(self, text: str, folder: str) -> list[Any]:
        """More of its input, as it is written: told when its object is known, and now and then after that."""
        before, self._size = self._size, self._size + len(text)
        if self._find is not None and before < EARLY:
            self._partial += text
            if given := self._find(self._partial):
                self._find, self._partial = None, ""
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
    """All tools that run. Each starts once and ends once, whatever the program leaves out or repeats."""

    def __init__(self) -> None:
        self.open: dict[str, Tool] = {}
        self.folder = ""
        self._writing: dict[str, Tool] = {}
        self._over: dict[str, tuple[str, dict[str, Any]]] = {}
        self._behind: dict[str, Tool] = {}

    def begin(self, block: schema.Content, parent: str, now: float) -> list[Any]:
        """The model begins to call a tool; its input follows."""
        if not block.id or block.id in self.open or block.id in self._over:
            self._writing.pop(parent, None)
            return []
        tool = self.open[block.id] = self._writing[parent] = Tool(block.id, block.name, parent, now)
        return [tool.begun(self.folder)]

    def grow(self, parent: str, text: str) -> list[Any]:
        """More of the input of the call that is being written."""
        tool = self._writing.get(parent)
        return tool.grow(text, self.folder) if tool is not None and tool.id in self.open else []

    def written(self, parent: str) -> None:
        """That call is complete."""
        self._writing.pop(parent, None)

    def called(self, block: schema.Content, parent: str, now: float) -> list[Any]:
        """A complete call: of a subagent it is the first that is heard of it."""
        if not block.id or block.id in self._over:
            return []
        given = block.input if isinstance(block.input, dict) else {}
        tool = self.open.get(block.id)
        if tool is not None:
            return tool.called(given, self.folder) + _checklist(tool)
        tool = self.open[block.id] = Tool(block.id, block.name, parent, now)
        tool.input = given
        return [tool.begun(self.folder), *_checklist(tool)]

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

    def result(
        self, block: schema.Content, line: schema.User, interrupted: bool, now: float
    ) -> tuple[str, list[Any]]:
        """The result of a tool: its parent, and its last messages."""
        tool = self.open.get(block.tool_use_id)
        if tool is None:
            return "", []
        text = _text(block.content)
        found = line.tool_use_result
        outcome = _outcome(tool, block, line, interrupted)
        said: list[Any] = []
        if outcome == "done":
            said += changes.made(tool.name, tool.input, found, tool.id)
            if tool.name in _FOR_THE_MODEL:
                text = ""
            elif isinstance(found, dict) and tool.name in ("Agent", "Task"):
                text = "goes on in the background" if found.get("isAsync") else _report(found) or text
        elif text.startswith(_NOT_RUN):
            text = "" if tool.denied == "denied" else tool.denied
        return tool.parent, said + self._end(tool, outcome, now, text)

    def end_all(self, now: float, last: bool) -> list[tuple[str, list[Any]]]:
        """The turn is over, and so are its tools. What a subagent runs behind it goes on, unless all is over."""
        behind = [tool for tool in self.open.values() if self._is_behind(tool) and not last]
        ended: list[tuple[str, list[Any]]] = []
        for tool in reversed(list(self.open.values())):
            if tool in behind:
                ended.append((tool.parent, self._end(tool, "done", now, "goes on in the background")))
                self._behind[tool.id] = tool
            else:
                ended.append((tool.parent, self._end(tool, "cancelled", now)))
        while len(self._behind) > 1000:
            del self._behind[next(iter(self._behind))]
        self._writing.clear()
        return ended

    def called_by(self, parent: str) -> str:
        """What a subagent was asked to do: its name for people."""
        tool = self.open.get(parent)
        name, given = (tool.name, tool.input) if tool else self._over.get(parent, ("", {}))
        words = given.get("name") or given.get("description") or given.get("subagent_type") or name
        return words if isinstance(words, str) else name

    def is_over(self, id: str) -> bool:
        """Whether it began and ended."""
        return id in self._over

    def _is_behind(self, tool: Tool) -> bool:
        return bool(tool.parent) and tool.parent not in self.open

    def _end(self, tool: Tool, outcome: bodies.ToolOutcome, now: float, text: str = "") -> list[Any]:
        del self.open[tool.id]
        self._over[tool.id] = (tool.name, tool.input if tool.name in ("Agent", "Task") else {})
        if len(self._over) > 1000:
            del self._over[next(iter(self._over))]
        return [bodies.ToolEnded(tool.id, outcome, _clip(text), max(0, int((now - tool.started) * 1000)))]


def _outcome(tool: Tool, block: schema.Content, line: schema.User, interrupted: bool) -> bodies.ToolOutcome:
    if tool.denied:
        return "denied"
    if not block.is_error:
        return "done"
    kinds = {meta.non_execution_kind for meta in line.tool_result_meta if meta.id == tool.id}
    if interrupted or line.tool_use_result == "User rejected tool use":
        return "cancelled"
    return "denied" if any(kinds) else "failed"


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


def _clip(text: str) -> str:
    return text if len(text) <= TEXT_LIMIT else "…" + text[-TEXT_LIMIT:]


_STATES = {"pending", "in_progress", "completed"}


def _checklist(tool: Tool) -> list[Any]:
    """The agent's own checklist is a call like any other; only the agent's, not a subagent's."""
    todos = tool.input.get("todos") if tool.name == "TodoWrite" and not tool.parent else None
    entries = []
    for todo in todos if isinstance(todos, list) else ():
        if isinstance(todo, dict) and isinstance(todo.get("content"), str):
            status = todo.get("status")
            entries.append(bodies.PlanEntry(todo["content"], status if status in _STATES else "pending"))
    return [bodies.Plan(tuple(entries))] if isinstance(todos, list) else []
