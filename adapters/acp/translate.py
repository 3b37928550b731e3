"""From the wire to unified messages: pure, with the little memory that the protocol asks of a reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adapters.acp import schema
from adapters.acp.tools import Tools, meta_text
from beambot.api import UnifiedMessage, bodies, content

_OUTCOMES: dict[str, bodies.Outcome] = {
    "end_turn": "success",
    "cancelled": "interrupted",
    "refusal": "refused",
    "max_tokens": "limit",
    "max_turn_requests": "limit",
}
_STATES = {"pending", "in_progress", "completed"}
_PRIORITIES = {"high", "medium", "low"}


class Settings:
    """Mode and model: what there is to choose, what is chosen, and how to change it."""

    def __init__(self) -> None:
        self.mode = ""
        self.modes: tuple[bodies.Choice, ...] = ()
        self.model = ""
        self.models: tuple[bodies.Choice, ...] = ()
        self.config_ids: dict[str, str] = {}

    def opened(self, reply: schema.Opened) -> None:
        """As the agent told at the start."""
        if reply.modes:
            self.mode = reply.modes.current_mode_id
            self.modes = tuple(
                bodies.Choice(m.id, m.name, m.description or "") for m in reply.modes.available_modes
            )
        if reply.models:
            self.model = reply.models.current_model_id or ""
            self.models = tuple(
                bodies.Choice(m.model_id, m.name, m.description or "") for m in reply.models.available_models
            )
        options = reply.config_options or []
        self.configured(options)
        # The calls made for it come first; options are the newer way, where those calls are gone.
        native = {"mode": reply.modes, "model": reply.models}
        for option in options:
            if isinstance(option.category, str) and option.category in native and not native[option.category]:
                self.config_ids.setdefault(option.category, option.id)

    def configured(self, options: list[schema.ConfigOption]) -> list[Any]:
        """The agent's options, whole; gives what changed."""
        before = (self.mode, self.modes, self.model, self.models)
        for option in options:
            if option.category not in ("mode", "model") or not isinstance(option.current_value, str):
                continue
            choices = tuple(_choices(option.options))
            if option.category == "mode":
                self.mode, self.modes = option.current_value, choices or self.modes
            else:
                self.model, self.models = option.current_value, choices or self.models
        changed: list[Any] = []
        if (self.mode, self.modes) != before[:2]:
            changed.append(bodies.ModeChanged(self.mode, self.modes))
        if (self.model, self.models) != before[2:]:
            changed.append(bodies.ModelChanged(self.model, self.models))
        return changed


def _choices(options: list[dict[str, Any]]) -> list[bodies.Choice]:
    found: list[bodies.Choice] = []
    for option in options:
        if isinstance(group := option.get("options"), list):
            found += _choices([item for item in group if isinstance(item, dict)])
        elif isinstance(value := option.get("value"), str):
            found.append(
                bodies.Choice(value, str(option.get("name") or value), str(option.get("description") or ""))
            )
    return found


class _Block:
    """Text or reasoning that is still growing."""

    __slots__ = ("message", "parts", "thinking")

    def __init__(self, thinking: bool, message: str | None) -> None:
        self.thinking = thinking
        self.message = message
        self.parts: list[str] = []

    def whole(self) -> bodies.Assistant:
        text = "".join(self.parts)
        part = content.Thinking(text) if self.thinking else content.Text(text)
        return bodies.Assistant((part,), message=self.message or "")


class Translator:
    """The memory of one session's stream. `turn` is empty while the agent works unprompted."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.turn = ""
        self.loose = False
        self.settings = Settings()
        self.commands: tuple[bodies.AgentCommand, ...] = ()
        self.tools = Tools()
        self._blocks: dict[str, _Block] = {}
        self._title = ""
        self._began = 0.0
        self._cost: float | None = None
        self._cost_before = 0.0
        self._lines = [0, 0]

    def update(self, update: schema.AnyUpdate) -> list[UnifiedMessage]:
        """What one session/update says."""
        kind = type(update)
        if kind is schema.MessageChunk or kind is schema.ThoughtChunk:
            return self._chunk(update, kind is schema.ThoughtChunk)  # type: ignore[arg-type]
        match update:
            case schema.ToolUpdate():
                return self._tool(update)
            case schema.PlanUpdate():
                return self.work([bodies.Plan(tuple(_entry(item) for item in update.entries))])
            case schema.UsageUpdate():
                return self.say([self._usage(update)])
            case schema.CommandsUpdate():
                return self.say(self._commands(update))
            case schema.ModeUpdate():
                return self.say(self._mode(update.current_mode_id))
            case schema.ConfigUpdate():
                return self.say(self.settings.configured(update.config_options))
            case schema.InfoUpdate():
                return self.say(self._titled(update.title or ""))
            case schema.UserChunk():
                return self.say([bodies.UserMessage(update.content.text, origin="agent")])
            case _:
                return []

    def strange(self, kind: str, raw: Any) -> list[UnifiedMessage]:
        """Something nobody knows."""
        return self.say([bodies.Unknown(kind, raw)])

    def asked(self, tool: schema.ToolRef) -> list[UnifiedMessage]:
        """A permission speaks of a tool, perhaps for the first time (gemini-acp/perm_allow)."""
        parent, said = self.tools.update(tool, None, self._now())
        return self._close_block(parent) + self.work(said, parent)

    def printed(self, terminal: str, text: str) -> list[UnifiedMessage]:
        """A terminal that a tool shows printed something."""
        parent, said = self.tools.printed(terminal, text)
        return self.work(said, parent)

    # ── turns ────────────────────────────────────────────────────────────────────────────────────────

    def begin(self, turn: str) -> list[UnifiedMessage]:
        """A prompt is on its way. Work that nobody prompted ends here, for want of a better sign."""
        settled = self.settle()
        self.turn = turn
        self._start()
        return settled

    def settle(self) -> list[UnifiedMessage]:
        """End the turn that nobody prompted, if there is one."""
        if self.turn or not self.loose:
            return []
        return self.finish("success")

    def finish(
        self, outcome: bodies.Outcome, error: str = "", usage: schema.TokenUsage | None = None
    ) -> list[UnifiedMessage]:
        """The turn is over: close what is open, then one result, last."""
        now = self._now()
        last = [message for parent in list(self._blocks) for message in self._close_block(parent)]
        for parent, said in self.tools.end_all("cancelled", now):
            last += self.work(said, parent)
        result = bodies.Result(
            outcome,
            error=error,
            usage=self._spent(usage),
            duration_ms=int((now - self._began) * 1000),
            lines_added=self._lines[0],
            lines_removed=self._lines[1],
        )
        last.append(UnifiedMessage(result, "", self.turn))
        self.turn = ""
        self.loose = False
        return last

    def end(self, reply: schema.Prompted, interrupted: bool) -> list[UnifiedMessage]:
        """As the agent says it ended. One that was cancelled is interrupted whatever it says (goose-acp/cancel)."""
        outcome = "interrupted" if interrupted else _OUTCOMES.get(reply.stop_reason, "success")
        return self.finish(outcome, usage=reply.usage)

    def say(self, said: list[Any], parent: str = "") -> list[UnifiedMessage]:
        """Bodies as messages of the current turn."""
        return [UnifiedMessage(body, parent, self.turn) for body in said]

    def work(self, said: list[Any], parent: str = "") -> list[UnifiedMessage]:
        """The same for work, which outside a turn opens one."""
        if said and not self.turn and not self.loose:
            self.loose = True
            self._start()
        for body in said:
            if type(body) is bodies.Diff:
                self._lines[0] += body.added
                self._lines[1] += body.removed
        return [UnifiedMessage(body, parent, self.turn) for body in said]

    # ── parts ────────────────────────────────────────────────────────────────────────────────────────

    def _start(self) -> None:
        self._began = self._now()
        self._lines = [0, 0]
        self._cost_before = self._cost or 0.0

    def _chunk(self, update: schema.MessageChunk | schema.ThoughtChunk, thinking: bool) -> list[UnifiedMessage]:
        part = update.content
        parent = meta_text(update.meta, "parentToolUseId") if update.meta else ""
        if part.type == "image":
            picture = content.Image(part.mime_type or "", part.data, part.uri or "")
            return self._close_block(parent) + self.work([bodies.Assistant((picture,))], parent)
        text = part.text if part.type == "text" else _described(part)
        block = self._blocks.get(parent)
        if block is not None and block.thinking is thinking and block.message == update.message_id:
            block.parts.append(text)
            return [
                UnifiedMessage(
                    bodies.ThinkingDelta(text) if thinking else bodies.TextDelta(text), parent, self.turn
                )
            ]
        closed = self._close_block(parent)
        block = self._blocks[parent] = _Block(thinking, update.message_id)
        block.parts.append(text)
        return closed + self.work([bodies.ThinkingDelta(text) if thinking else bodies.TextDelta(text)], parent)

    def _close_block(self, parent: str) -> list[UnifiedMessage]:
        block = self._blocks.pop(parent, None)
        return self.work([block.whole()], parent) if block else []

    def _tool(self, update: schema.ToolUpdate) -> list[UnifiedMessage]:
        parent, said = self.tools.update(update, update.meta, self._now())
        if not said:
            return []
        return self._close_block(parent) + self.work(said, parent)

    def _usage(self, update: schema.UsageUpdate) -> bodies.ContextUsage:
        if update.cost and update.cost.currency == "USD":
            self._cost = update.cost.amount
        return bodies.ContextUsage(update.used, update.size, self._cost)

    def _spent(self, usage: schema.TokenUsage | None) -> bodies.Usage:
        cost = None if self._cost is None else max(0.0, self._cost - self._cost_before)
        if usage is None:
            return bodies.Usage(cost_usd=cost)
        return bodies.Usage(
            usage.input_tokens or 0,
            usage.output_tokens or 0,
            usage.cached_read_tokens or 0,
            usage.cached_write_tokens or 0,
            cost,
        )

    def _commands(self, update: schema.CommandsUpdate) -> list[Any]:
        found = tuple(
            bodies.AgentCommand(
                command.name, command.description or "", str((command.input or {}).get("hint") or "")
            )
            for command in update.available_commands
        )
        if found == self.commands:
            return []
        self.commands = found
        return [bodies.CommandsChanged(found)]

    def _mode(self, mode: str) -> list[Any]:
        if mode == self.settings.mode:
            return []
        self.settings.mode = mode
        return [bodies.ModeChanged(mode, self.settings.modes)]

    def _titled(self, title: str) -> list[Any]:
        if not title or title == self._title:
            return []
        self._title = title
        return [bodies.TitleChanged(title)]


def _described(part: schema.Content) -> str:
    if part.type == "resource_link":
        return f"[{part.name or part.uri}]({part.uri})"
    if part.resource and isinstance(part.resource.get("text"), str):
        return str(part.resource["text"])
    return part.text


def _entry(item: schema.PlanItem) -> bodies.PlanEntry:
    status: Any = item.status if item.status in _STATES else "pending"
    priority: Any = item.priority if item.priority in _PRIORITIES else "medium"
    return bodies.PlanEntry(item.content, status, priority)
