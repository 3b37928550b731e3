"""From the client's messages to unified messages: pure, with the memory that a reader of them needs.

    translator = Translator(now, folder, resumed)   now: a clock's monotonic; titles speak of paths in the folder
    translator.opened(session, about, …)            → the one session_init, from what the client knows
    translator.read(message)                        one message of the client  → messages
    translator.prompted(turn, uuid)                 a prompt was written       → messages
    translator.steered(turn, uuid)                  one was written into a running turn
    translator.asked(Asked)                         `can_use_tool` was called  → messages
    translator.withdrawn(request)                   that call was cancelled    → messages
    translator.answered(Answer)                     → (request, what the call returns, messages), or None: not open
    translator.closed(why, code, expected)          → everything that is open ends; session_closed is last

`heard` are the prompts that the program has spoken of, `reached` the calls of `can_use_tool` whose place in the
stream was read, `session` is the program's own id of the conversation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    ConversationResetMessage,
    HookEventMessage,
    PermissionResult,
    RateLimitEvent,
    ResultMessage,
    ServerToolResultBlock,
    ServerToolUseBlock,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from adapters.agent_sdk.process.transport import ASKED, GARBAGE, NOT_RUN, ODD, TOO_LONG
from adapters.agent_sdk.reading import asks, news
from adapters.agent_sdk.reading.news import dicts_of, text_of, texts_of
from adapters.agent_sdk.reading.spending import Spending, error_of, outcome_of, structured
from adapters.agent_sdk.reading.stream import Messages, Stream
from beambot.api import Answer, UnifiedMessage, bodies, content

_PRINTED = re.compile(r"<local-command-(?:stdout|stderr)>(.*?)</local-command-(?:stdout|stderr)>", re.DOTALL)
# Who speaks to the model besides the person and the program itself.
_OTHERS = ("peer", "channel", "coordinator")
_LOGIN = (401, 403)


class Translator(Stream):
    """One session's stream: what the client says, and what is done to it."""

    def __init__(self, now: Callable[[], float], folder: str = "", resumed: bool = False) -> None:
        super().__init__(now, folder, resumed)
        self.session = ""
        self.heard: set[str] = set()
        self.reached: Counter[str] = Counter()
        self._agents: dict[str, tuple[str, str]] = {}
        self._quiet_tasks: set[str] = set()

    def opened(self, session: str, about: dict[str, Any], cwd: str, mode: str = "", model: str = "") -> Messages:
        """The session stands."""
        self.session = session
        return [UnifiedMessage(self.settings.opened(session, about, cwd, mode, model, self._resumed))]

    def read(self, message: object) -> Messages:
        """One message of the client."""
        match message:
            case StreamEvent():
                return self._event(message.event, message.parent_tool_use_id or "")
            case AssistantMessage():
                return self._assistant(message)
            case UserMessage():
                return self._user(message)
            case ResultMessage():
                return self._result(message)
            case HookEventMessage():
                return self._say(news.hook(message))
            case SystemMessage(subtype=subtype) if subtype.startswith(ODD):
                return self._odd(subtype, message.data.get("raw"))
            case SystemMessage():
                return self._system(message)
            case RateLimitEvent():
                return self._say(news.limited(message.rate_limit_info))
            case ConversationResetMessage():
                self._spending = Spending()
                return self._say([bodies.CompactBoundary("clear")])
        return self.strange(type(message).__name__, repr(message)[:2000])

    # ── the conversation ─────────────────────────────────────────────────────────────────────────────

    def _event(self, event: dict[str, Any], parent: str) -> Messages:
        match event:
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}}:
                return self._grow(text, False, parent)
            case {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": str(text)}}:
                return self._grow(text, True, parent)
            case {"type": "content_block_delta", "delta": {"partial_json": str(text)}}:
                return self._work(self._tools.grow(parent, text), parent)
            case {"type": "content_block_start", "content_block": dict(block)}:
                closed = self._close(parent)
                if not text_of(block, "type").endswith("tool_use"):
                    return closed
                begun = self._tools.begin(text_of(block, "id"), text_of(block, "name"), parent, self._now())
                return closed + self._work(begun, parent)
            case {"type": "content_block_stop"}:
                self._tools.written(parent)
            case {"type": "message_start"} if not parent:
                self._busy = True
                # An older program speaks of no prompt; that it answers has to do.
                self.heard.add(self._prompt)
        return []

    def _assistant(self, message: AssistantMessage) -> Messages:
        parent = message.parent_tool_use_id or ""
        said = self._heard(message.user_message_uuids)
        if message.error and not parent:
            # The result says it again; until then nobody knows whether the turn fails by it.
            self._trouble = message
            return said + self._close(parent)
        return said + self._blocks(message, parent)

    def _blocks(self, message: AssistantMessage, parent: str) -> Messages:
        said: Messages = []
        for block in message.content:
            match block:
                case TextBlock(text=text):
                    said += self._told(content.Text(text), message.model, message.message_id or "", parent)
                case ThinkingBlock(thinking=text):
                    said += self._told(content.Thinking(text), message.model, message.message_id or "", parent)
                case ToolUseBlock() | ServerToolUseBlock():
                    called = self._tools.called(block.id, block.name, block.input, parent, self._now())
                    said += self._close(parent) + self._work(called, parent)
                case ToolResultBlock():
                    said += self._ended(block.tool_use_id, block.content, bool(block.is_error), None)
                case ServerToolResultBlock():
                    said += self._ended(block.tool_use_id, block.content, False, None)
        return said

    def _user(self, message: UserMessage) -> Messages:
        blocks = [TextBlock(message.content)] if isinstance(message.content, str) else message.content
        said: Messages = []
        kind = message.origin["kind"] if message.origin else ""
        for block in blocks:
            match block:
                case ToolResultBlock():
                    found = message.tool_use_result
                    said += self._ended(block.tool_use_id, block.content, bool(block.is_error), found)
                case TextBlock(text=text) if kind in _OTHERS:
                    said += self._say([bodies.UserMessage(text, origin="agent")])
                case TextBlock(text=text):
                    printed = "\n".join(found.strip("\n") for found in _PRINTED.findall(text)).strip()
                    said += self._work([bodies.Assistant((content.Text(printed),))]) if printed else []
        return said + self._heard([message.uuid] if message.uuid else [])

    def _ended(self, id: str, given: Any, failed: bool, found: Any) -> Messages:
        tool = self._tools.known(id)
        if tool is None:
            return []
        said = self._work(self._tools.resume(id), tool.parent)
        for ask in [ask for ask in self.asks.values() if ask.asked.tool == id]:
            said += self._void(ask, "the tool has ended")
        return said + self._work(
            self._tools.ended(id, given, failed, found, self._stopping, self._now()), tool.parent
        )

    def _heard(self, prompts: list[str] | None) -> Messages:
        """The program speaks of these prompts: it has taken them."""
        self.heard.update(prompts or ())
        return [one for prompt in prompts or () for one in self._taken(prompt)]

    def _result(self, told: ResultMessage) -> Messages:
        self._busy = False
        said = self._heard(told.user_message_uuids)
        if self._foreign or not self.running:
            self._spending.spent(told)
            lost = told.is_error and not self.running
            self._foreign = False
            return said + (self._say([bodies.Failure(error_of(told))]) if lost else [])
        outcome = outcome_of(told, self._stopping)
        if self._trouble is not None and outcome == "success":
            said += self._blocks(self._trouble, "")
        if outcome == "error" and told.api_error_status in _LOGIN:
            said += self._say([bodies.AuthStatus(False, error_of(told))])
        if form := structured(told):
            said += self._work([bodies.Assistant((content.Code(form, "json"),))])
        ended, behind = self._wind_up()
        result = self._spending.result(told, outcome, (self._lines[0], self._lines[1]))
        return [*said, *ended, self._last(result), *self._ask_again(behind)]

    # ── news ─────────────────────────────────────────────────────────────────────────────────────────

    def _system(self, message: SystemMessage) -> Messages:
        data = message.data
        match message.subtype:
            case "init":
                self.session = text_of(data, "session_id") or self.session
                said = self._heard(texts_of(data, "user_message_uuids")) + self._next_up()
                self._busy = True
                return said + self._say(self.settings.init(data))
            case "status":
                said = self._heard(texts_of(data, "user_message_uuids"))
                changed = self.settings.changed(text_of(data, "permissionMode"))
                if data.get("status") == "compacting":
                    changed.append(bodies.Status("Folding the conversation to make room", "compacting"))
                return said + self._say(changed)
            case "task_started" | "task_progress" | "task_updated" | "task_notification":
                if agent := text_of(data, "task_id"):
                    about = (text_of(data, "tool_use_id"), text_of(data, "description", "subagent_type"))
                    self._agents.setdefault(agent, about)
                return self._say(news.task(message, self._tools, self._quiet_tasks))
            case "background_tasks_changed":
                self.background = tuple(text_of(one, "task_id") for one in dicts_of(data, "tasks"))
            case "permission_denied":
                self._tools.refuse(text_of(data, "tool_use_id"), text_of(data, "message"))
            case "api_retry":
                return self._say([news.retrying(data)])
            case "compact_boundary":
                folded = data.get("compact_metadata")
                folded = folded if isinstance(folded, dict) else {}
                tokens = folded.get("pre_tokens")
                about_it = bodies.CompactBoundary(
                    text_of(folded, "trigger"), tokens if isinstance(tokens, int) else 0
                )
                return self._say([about_it, bodies.Status("")])
            case "commands_changed":
                return self._say(self.settings.listed(data))
            case "session_title_changed":
                title = text_of(data, "title")
                return self._say([bodies.TitleChanged(title)] if title else [])
            case "informational" | "notification" | "model_fallback":
                words = text_of(data, "content", "text")
                changed = self.settings.changed(model=text_of(data, "fallback_model"))
                return self._say([*changed, bodies.Status(words)] if words else changed)
            case subtype:
                return self._say([bodies.Unknown(f"system/{subtype}", data)])
        return []

    def _odd(self, name: str, raw: Any) -> Messages:
        """What the client itself would have dropped, or broken on."""
        data = raw if isinstance(raw, dict) else {}
        match name.removeprefix(ODD):
            case _ if name == ASKED:
                self.reached[str(raw)] += 1
                return []
            case _ if name == NOT_RUN:
                self._tools.not_run(str(raw))
                return []
            case _ if name == TOO_LONG:
                words = f"the agent sent a line longer than {raw >> 20} MiB; it was skipped"
                return self._say([bodies.Failure(words, True, "line_too_long")])
            case _ if name == GARBAGE:
                return self._say([bodies.Unknown("garbage", raw)])
            case "keep_alive":
                return self._say([bodies.KeepAlive()])
            case "command_lifecycle":
                return self._fate(text_of(data, "command_uuid"), text_of(data, "state"))
            case "tool_progress":
                tool = self._tools.open.get(text_of(data, "tool_use_id"))
                seconds = data.get("elapsed_time_seconds")
                if tool is None or not isinstance(seconds, (int, float)):
                    return []
                return self._work([bodies.ToolProgress(tool.id, text=f"{seconds:.0f} s")], tool.parent)
            case "tool_use_summary":
                tools = tuple(texts_of(data, "preceding_tool_use_ids"))
                return self._work([bodies.ToolSummary(text_of(data, "summary"), tools)])
            case "auth_status":
                words = text_of(data, "error") or "\n".join(texts_of(data, "output"))
                waits = bool(data.get("error") or data.get("isAuthenticating"))
                return self._say([bodies.AuthStatus(not waits, words)])
            case kind:
                return self._say([bodies.Unknown(kind, raw)])

    def _next_up(self) -> Messages:
        """The main loop begins a run: with the prompt that waits, where the program does not tell."""
        waits = [prompt for prompt in self._waiting if prompt not in self._queued]
        return self._taken(waits[0]) if waits and not self._busy and not self.turn else []

    def _fate(self, prompt: str, state: str) -> Messages:
        match state:
            case "queued":
                self.heard.add(f"queued {prompt}")
                self._queued.add(prompt)
            case "started":
                return self._heard([prompt])
            case "cancelled":
                self.heard.add(prompt)
                self._waiting.pop(prompt, None)
                self._queued.discard(prompt)
                if prompt and prompt == self._prompt and self._foreign:
                    return self._finish("interrupted")
        return []

    # ── what is done to it ───────────────────────────────────────────────────────────────────────────

    def prompted(self, turn: str, uuid: str) -> Messages:
        """A prompt is on its way. Unprompted work ends here."""
        if self.turn or self._waiting:
            self._waiting[uuid] = turn
            return []
        return self._begin(turn, uuid, taken=False)

    def steered(self, turn: str, uuid: str) -> None:
        """A prompt is on its way into the running turn. If it has a turn of its own in the end, that is `turn`."""
        self._waiting[uuid] = turn

    def interrupted(self) -> None:
        """The program was told to stop."""
        self._stopping = self.running

    def asked(self, asked: asks.Asked) -> Messages:
        """A call waits for a person."""
        tool = self._tools.known(asked.tool)
        parent, agent = self._agents.get(asked.agent, ("", ""))
        parent = (tool.parent if tool else "") or parent
        if parent or asked.agent:
            agent = agent or self._tools.called_by(parent) or asked.agent
        return self._ask(asked.request, asked, parent, agent)

    def withdrawn(self, request: str) -> Messages:
        """A call does not wait any more."""
        why = "interrupted" if self._stopping else "the agent does not ask any more"
        gone = [ask for ask in self.asks.values() if ask.asked.request == request]
        return [one for ask in gone for one in self._void(ask, why)]

    def answered(self, said: Answer) -> tuple[str, PermissionResult, Messages] | None:
        """A person's answer. None: that ask is not open."""
        ask = self.asks.pop(said.ask, None)
        if ask is None:
            return None
        result, outcome = asks.decide(ask, said)
        resolved: list[Any] = [bodies.AskResolved(ask.id, outcome, said.by, said.option, said.text)]
        if outcome == "denied":
            self._tools.refuse(ask.asked.tool, said.text)
            self._stopping = self._stopping or said.interrupt
        elif said.input is not None:
            resolved += self._tools.edited(ask.asked.tool, said.input)
        return ask.asked.request, result, self._say(resolved, ask.parent)

    def changed(self, mode: str = "", model: str = "") -> Messages:
        """The program accepted a setting."""
        return self._say(self.settings.changed(mode, model))

    def hooked(self, event: str, given: dict[str, Any]) -> Messages:
        """A hook of ours was called."""
        return self._say([news.hooked(event, given)])

    def strange(self, kind: str, raw: Any) -> Messages:
        """Something that the client could not read."""
        return self._say([bodies.Unknown(kind, raw)])

    def settle(self) -> Messages:
        """End the work that nobody prompted, if there is such work."""
        return self._finish("success") if self.loose else []

    def closed(self, why: str, code: int | None = None, expected: bool = False, fix: str = "") -> Messages:
        """The program is gone: everything that is open ends, in order, and nothing follows."""
        last = [one for parent in list(self._words) for one in self._close(parent)]
        if not expected:
            last += self._say([bodies.Failure(why, False, "agent_ended", fix)])
        if self.running:
            last += self._finish("interrupted" if expected else "error", "" if expected else why, last=True)
        return [*last, UnifiedMessage(bodies.SessionClosed(why, code, expected))]
