"""What a turn's tools do, put together from the scraps an agent sends about each. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, get_args

from adapters.acp import schema
from beambot.api import bodies

TEXT_LIMIT = 64 * 1024
_KINDS: frozenset[str] = frozenset(get_args(bodies.ToolKind))


def tool_kind(kind: str | None) -> bodies.ToolKind:
    """The protocol's kinds are ours but for one; a kind nobody knows is `other`."""
    if kind == "switch_mode":
        return "mode"
    return kind if kind in _KINDS else "other"  # type: ignore[return-value]


def meta_text(meta: schema.Meta, key: str) -> str:
    """A word that agents put under their own name in `_meta`, like the tool that called a subagent."""
    for part in (meta or {}).values():
        if isinstance(part, dict):
            inner = part.get("toolCall")
            found = part.get(key) or (inner.get(key) if isinstance(inner, dict) else None)
            if isinstance(found, str):
                return found
    return ""


def count_lines(old: str | None, new: str | None) -> tuple[int, int]:
    """Lines added and removed, in linear time: a line that only moved counts as neither."""
    before, after = Counter((old or "").splitlines()), Counter((new or "").splitlines())
    return (after - before).total(), (before - after).total()


def diffs_of(content: Iterable[schema.ToolContent] | None, tool: str) -> tuple[bodies.Diff, ...]:
    """The changes of files that a tool shows."""
    found = []
    for part in content or ():
        if part.type == "diff" and part.path:
            added, removed = count_lines(part.old_text, part.new_text)
            found.append(bodies.Diff(part.path, part.old_text, part.new_text, tool, "", added, removed))
    return tuple(found)


def text_of(content: Iterable[schema.ToolContent] | None) -> str:
    """The words that a tool shows."""
    return "\n".join(part.content.text for part in content or () if part.content and part.content.text)


def input_of(raw: Any) -> dict[str, Any]:
    """A tool's input as a mapping."""
    if isinstance(raw, dict):
        return raw
    return {} if raw is None else {"value": raw}


def _output_of(raw: Any) -> str:
    if isinstance(raw, str):
        return raw
    if isinstance(raw, dict):
        for key in ("output", "stdout", "error", "message"):
            if isinstance(raw.get(key), str):
                return str(raw[key])
    return ""


def _clip(text: str) -> str:
    return text if len(text) <= TEXT_LIMIT else "…" + text[-TEXT_LIMIT:]


class Tool:
    """One running tool, as far as it is known."""

    def __init__(self, id: str, parent: str, started: float) -> None:
        self.id = id
        self.parent = parent
        self.started = started
        self.name = ""
        self.title = ""
        self.kind: bodies.ToolKind = "other"
        self.input: dict[str, Any] = {}
        self.paths: tuple[str, ...] = ()
        self.text = ""
        self.printed = ""
        self.diffs: tuple[bodies.Diff, ...] = ()
        self.terminals: tuple[str, ...] = ()
        self.running = False
        self.denied = False

    def learn(self, news: schema.ToolUpdate | schema.ToolRef) -> dict[str, Any]:
        """Take in what is said about it; gives what changed, as fields of `ToolProgress`."""
        changed: dict[str, Any] = {}
        if news.title and news.title != self.title:
            self.title = changed["title"] = news.title
        if news.kind:
            self.kind = tool_kind(news.kind)
        if news.raw_input and (given := input_of(news.raw_input)) != self.input:
            self.input = changed["input"] = given
        if news.locations and (paths := tuple(at.path for at in news.locations if at.path)) != self.paths:
            self.paths = changed["paths"] = paths
        if news.name:
            self.name = news.name
        if news.content:
            self.diffs = diffs_of(news.content, self.id) or self.diffs
            self.terminals = tuple(p.terminal_id for p in news.content if p.terminal_id) or self.terminals
        return changed

    def begun(self) -> bodies.ToolStarted:
        """Its first message."""
        name = self.name or (self.kind if self.kind != "other" else self.title) or self.id
        return bodies.ToolStarted(self.id, name, self.title, self.kind, self.input, self.paths)

    def ended(self, outcome: bodies.ToolOutcome, now: float, text: str = "") -> list[Any]:
        """Its last messages: what it changed, and how it went."""
        last: list[Any] = list(self.diffs) if outcome == "done" else []
        shown = _clip(text or self.text or self.printed)
        last.append(bodies.ToolEnded(self.id, outcome, shown, int((now - self.started) * 1000)))
        return last


class Tools:
    """All tools that run. Each starts once and ends once, whatever the agent leaves out or repeats."""

    def __init__(self) -> None:
        self.open: dict[str, Tool] = {}
        self._over: dict[str, None] = {}
        self._early: dict[str, str] = {}

    def update(
        self, news: schema.ToolUpdate | schema.ToolRef, meta: schema.Meta, now: float
    ) -> tuple[str, list[Any]]:
        """What one message about a tool means: its parent, and the bodies."""
        id = news.tool_call_id
        tool = self.open.get(id)
        said: list[Any] = []
        if tool is None:
            # An agent may correct the title of a tool that is over (goose-acp/perm_allow): nothing to show.
            if id in self._over and not isinstance(news, schema.ToolCall):
                return "", []
            tool = self.open[id] = Tool(id, meta_text(meta, "parentToolUseId"), now)
            tool.name = meta_text(meta, "toolName")
            tool.learn(news)
            said.append(tool.begun())
        elif changed := tool.learn(news):
            said.append(bodies.ToolProgress(id, **changed))
        for terminal in tool.terminals if self._early else ():
            said += self._prints(tool, self._early.pop(terminal, ""))
        if isinstance(news, schema.ToolUpdate):
            said += self._state(tool, news, meta, now)
        return tool.parent, said

    def known(self, news: schema.ToolRef) -> Tool:
        """What is known about a tool: of one that is over, what the agent says of it now."""
        tool = self.open.get(news.tool_call_id)
        if tool is None:
            tool = Tool(news.tool_call_id, "", 0.0)
            tool.learn(news)
        return tool

    def printed(self, terminal: str, text: str) -> tuple[str, list[Any]]:
        """A terminal that one of the tools shows printed something."""
        for tool in self.open.values():
            if terminal in tool.terminals:
                return tool.parent, self._prints(tool, text)
        # A quick command prints before the agent has said which tool shows it.
        if len(self._early) < 100:
            self._early[terminal] = _clip(self._early.get(terminal, "") + text)
        return "", []

    def _prints(self, tool: Tool, text: str) -> list[Any]:
        tool.printed = _clip(tool.printed + text)
        return [bodies.ToolOutput(tool.id, text)] if text else []

    def end_all(self, outcome: bodies.ToolOutcome, now: float) -> list[tuple[str, list[Any]]]:
        """The turn is over: so are its tools."""
        running = list(self.open.values())
        return [(tool.parent, self._end(tool, outcome, now)) for tool in reversed(running)]

    def _state(self, tool: Tool, news: schema.ToolUpdate, meta: schema.Meta, now: float) -> list[Any]:
        text = text_of(news.content)
        if news.status in ("completed", "failed"):
            how: bodies.ToolOutcome = "done"
            if news.status == "failed":
                how = "denied" if tool.denied else "failed"
            return self._end(tool, how, now, text or _output_of(news.raw_output))
        tool.running = tool.running or news.status == "in_progress"
        said: list[Any] = []
        delta = (meta or {}).get("terminal_output_delta")
        if isinstance(delta, dict) and isinstance(delta.get("data"), str):
            said += self._prints(tool, delta["data"])
        if text and text != tool.text:
            if tool.running:
                grown = text.startswith(tool.text)
                said.append(bodies.ToolOutput(tool.id, text[len(tool.text) :] if grown else text))
                tool.text = text
            else:
                # Before it runs the text says what it is about to do (claude-agent-acp/perm_allow).
                said.append(bodies.ToolProgress(tool.id, text=text))
        return said

    def _end(self, tool: Tool, outcome: bodies.ToolOutcome, now: float, text: str = "") -> list[Any]:
        del self.open[tool.id]
        self._over[tool.id] = None
        if len(self._over) > 1000:
            del self._over[next(iter(self._over))]
        return tool.ended(outcome, now, text)
