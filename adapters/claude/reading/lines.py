"""The lines that the program writes, one by one, and what each means. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from adapters.claude import requests, schema
from adapters.claude.control import (
    Background,
    Control,
    HookCall,
    Reply,
    SendAgain,
    SessionId,
    Strange,
    ToolCall,
    Withdrawn,
)
from adapters.claude.reading import notices, odd
from adapters.claude.reading.spending import Spending, error_of, outcome_of
from adapters.claude.reading.stream import Messages, Stream
from adapters.claude.schema import system
from beambot.api import bodies, content

_PRINTED = re.compile(r"<local-command-(?:stdout|stderr)>(.*?)</local-command-(?:stdout|stderr)>", re.DOTALL)
_INTERRUPTED = "[Request interrupted by user"
_LOGIN = (401, 403)


class Lines(Stream):
    """Reads the wire, and remembers what the protocol asks of a reader."""

    def __init__(self, now: Callable[[], float], folder: str = "", resumed: bool = False) -> None:
        super().__init__(now, folder, resumed)
        self._agents: dict[str, tuple[str, str]] = {}
        self._quiet_tasks: set[str] = set()

    def read(self, line: bytes) -> Messages:
        """One line, or one frame with several. Nothing that is read breaks anything."""
        try:
            found = schema.read_line(line)
        except (ValueError, RecursionError):
            return [one for part in odd.parts(line) for one in self._checked(self._read_odd(part))]
        said = self._event(found) if type(found) is schema.StreamEvent else self._line(found, line)
        return said if self.settings.told else self._checked(said)

    def _read_odd(self, line: bytes) -> Messages:
        found = odd.read(line)
        match found:
            case odd.Garbage(text=text):
                return self._say([bodies.Unknown("garbage", text)])
            case odd.Unknown(kind=kind, raw=raw, request=request):
                if request:
                    self.control.append(Strange(request, kind))
                return self._say([bodies.Unknown(kind, raw)])
            case schema.StreamEvent():
                return self._event(found)
        return self._line(found, odd.mended(line))

    def _line(self, found: schema.AnyLine, line: bytes) -> Messages:
        match found:
            case schema.Assistant():
                return self._assistant(found)
            case schema.User():
                return self._user(found)
            case schema.Result():
                return self._result(found)
            case schema.System(subtype=subtype):
                return self._system(subtype, line)
            case schema.ControlRequest():
                return self._requested(found)
            case schema.ControlResponse(response=reply):
                return self._replied(reply)
            case schema.ControlCancel(request_id=request):
                return self._withdrawn(request)
            case schema.Lifecycle(command_uuid=prompt, state=state):
                return self._fate(prompt, state)
            case schema.Reset():
                self._spending = Spending()
                return self._say([bodies.CompactBoundary(found.trigger or "clear")])
            case schema.ToolProgress(tool_use_id=id):
                tool = self._tools.open.get(id)
                words = f"{found.elapsed_time_seconds:.0f} s"
                return self._work([bodies.ToolProgress(id, text=words)], tool.parent) if tool else []
            case schema.ToolSummary(summary=words):
                return self._work([bodies.ToolSummary(words, tuple(found.preceding_tool_use_ids))])
            case schema.RateLimit(rate_limit_info=info):
                return self._say(notices.limited(info))
            case schema.Auth():
                words = found.error or "\n".join(found.output)
                return self._say([bodies.AuthStatus(not (found.error or found.is_authenticating), words)])
            case schema.KeepAlive():
                return self._say([bodies.KeepAlive()])
        return []

    # ── the conversation ─────────────────────────────────────────────────────────────────────────────

    def _event(self, line: schema.StreamEvent) -> Messages:
        event = line.event
        parent = line.parent_tool_use_id or ""
        if type(event) is schema.BlockDelta:
            delta = event.delta
            if delta.type == "text_delta":
                return self._grow(delta.text, False, parent)
            if delta.type == "thinking_delta":
                return self._grow(delta.thinking, True, parent)
            if delta.type == "input_json_delta":
                return self._work(self._tools.grow(parent, delta.partial_json), parent)
        elif type(event) is schema.BlockStart:
            closed = self._close(parent)
            if event.content_block.type.endswith("tool_use"):
                return closed + self._work(self._tools.begin(event.content_block, parent, self._now()), parent)
            self._tools.written(parent)
            return closed
        elif type(event) is schema.BlockStop:
            self._tools.written(parent)
        elif type(event) is schema.MessageStart and not parent:
            self._turns.busy = True
        return []

    def _assistant(self, line: schema.Assistant) -> Messages:
        parent = line.parent_tool_use_id or ""
        said = [one for prompt in line.user_message_uuids for one in self._taken(prompt)]
        if line.agent_id:
            self._agents[line.agent_id] = (parent, line.task_description or line.subagent_type)
        blocks = line.message.content
        if isinstance(blocks, str):
            blocks = [schema.Content("text", blocks)]
        if line.is_api_error_message and not parent:
            # The result says it again; until then nobody knows whether the turn fails by it.
            self._trouble = line
            return said + self._close(parent)
        for block in blocks:
            said += self._block(block, line, parent)
        return said

    def _block(self, block: schema.Content, line: schema.Assistant, parent: str) -> Messages:
        kind = block.type
        if kind.endswith("tool_use"):
            return self._close(parent) + self._work(self._tools.called(block, parent, self._now()), parent)
        if kind.endswith("tool_result"):
            return self._ended(block, schema.User(message=schema.Heard([])))
        thinking = kind == "thinking"
        if thinking or kind == "text":
            text = block.thinking if thinking else block.text
            closed: Messages = []
            if (words := self._words.get(parent)) is not None:
                if words.thinking is thinking:
                    del self._words[parent]
                else:
                    closed = self._close(parent)
            whole = content.Thinking(text) if thinking else content.Text(text)
            model = "" if line.message.model == "<synthetic>" else line.message.model
            return closed + (
                self._work([bodies.Assistant((whole,), model, line.message.id)], parent) if text else []
            )
        if kind == "redacted_thinking":
            return []
        return self._say([bodies.Unknown(f"assistant/{kind}", msgspec.to_builtins(block))], parent)

    def _user(self, line: schema.User) -> Messages:
        said: Messages = []
        blocks = line.message.content
        if isinstance(blocks, str):
            blocks = [schema.Content("text", blocks)]
        for block in blocks:
            if block.type == "tool_result":
                said += self._ended(block, line)
            elif block.type == "text" and not line.is_synthetic:
                said += self._heard(block.text, line)
        return said + self._taken(line.uuid) if line.is_replay else said

    def _ended(self, block: schema.Content, line: schema.User) -> Messages:
        tool = self._tools.known(block.tool_use_id)
        if tool is None:
            return []
        said = self._work(self._tools.resume(tool.id), tool.parent)
        for ask in [ask for ask in self._asks.open.values() if ask.asked.tool_use_id == tool.id]:
            said += self._void(ask, "the tool has ended")
        parent, last = self._tools.result(block, line, self._stopping, self._now())
        return said + self._work(last, parent)

    def _heard(self, text: str, line: schema.User) -> Messages:
        """Words that the model is told, and that may concern people."""
        if printed := "\n".join(found.strip("\n") for found in _PRINTED.findall(text)).strip():
            return self._work([bodies.Assistant((content.Text(printed),))])
        if line.is_replay or line.parent_tool_use_id or text.startswith((_INTERRUPTED, "<local-command")):
            return []
        return self._say([bodies.UserMessage(text, origin="agent")]) if text else []

    def _result(self, line: schema.Result) -> Messages:
        trouble = self._trouble
        if not self._turns.ran(line.user_message_uuids):
            self._spending.spent(line)
            lost = line.is_error and not self._turns.running
            return self._say([bodies.Failure(error_of(line))]) if lost else []
        outcome = outcome_of(line, self._stopping)
        status = line.api_error_status or (trouble.api_error_status if trouble else None)
        said: Messages = []
        if trouble is not None and outcome == "success":
            for block in trouble.message.content:
                said += self._block(block, trouble, "") if isinstance(block, schema.Content) else []
        if outcome == "error" and status in _LOGIN:
            said += self._say([bodies.AuthStatus(False, error_of(line))])
        ended, open_asks = self._wind_up()
        result = self._spending.result(line, outcome, (self._lines[0], self._lines[1]))
        return [*said, *ended, self._result_of(result), *self._ask_again(open_asks)]

    # ── control ──────────────────────────────────────────────────────────────────────────────────────

    def _requested(self, line: schema.ControlRequest) -> Messages:
        id = line.request_id
        try:
            request = requests.read_request(line.request)
        except ValueError:
            raw = msgspec.json.decode(line.request)
            kind = str(raw.get("subtype")) if isinstance(raw, dict) else ""
            self.control.append(Strange(id, kind))
            return self._say([bodies.Unknown(f"control_request/{kind}", raw)])
        match request:
            case requests.CanUseTool():
                return self._may(id, request)
            case requests.HookCallback(callback_id=callback, input=given, tool_use_id=tool):
                self.control.append(HookCall(id, callback, given if isinstance(given, dict) else {}, tool or ""))
            case requests.ToolMessage(server_name=server, message=message):
                self.control.append(ToolCall(id, server, message))
        return []

    def _may(self, id: str, asked: requests.CanUseTool) -> Messages:
        if self._asks.waiting(id):
            return []
        if (line := self._asks.given(id)) is not None:
            self.control.append(SendAgain(line))
            return []
        tool = self._tools.known(asked.tool_use_id or "")
        parent, agent = self._agents.get(asked.agent_id or "", ("", ""))
        parent = (tool.parent if tool else "") or parent
        if parent or asked.agent_id:
            agent = agent or self._tools.called_by(parent) or asked.agent_id or ""
        return self._asked(id, asked, parent, agent)

    def _replied(self, reply: schema.ControlReply) -> Messages:
        if self._asks.given(reply.request_id) is not None:
            return []  # our own answer, echoed
        data = reply.response if isinstance(reply.response, dict) else {}
        error = reply.error if isinstance(reply.error, str) else str(reply.error)
        ok = reply.subtype == "success"
        found: Control = Reply(reply.request_id, ok, data, "" if ok else error, reply.error_code or "")
        self.control.append(found)
        return []

    def _withdrawn(self, request: str) -> Messages:
        ask = self._asks.waiting(request)
        if ask is None:
            self.control.append(Withdrawn(request))
            return []
        return self._void(ask, "interrupted" if self._stopping else "the agent does not ask any more")

    def _fate(self, prompt: str, state: str) -> Messages:
        match state:
            case "queued":
                self._turns.queued(prompt)
            case "started":
                return self._taken(prompt)
            case "completed":
                self._turns.done(prompt)
            case "cancelled" if self._turns.cancelled(prompt):
                return self._finish("interrupted")
        return []

    # ── system ───────────────────────────────────────────────────────────────────────────────────────

    def _system(self, subtype: str, line: bytes) -> Messages:
        if subtype in _SILENT:
            return []
        known = _SYSTEM.get(subtype)
        try:
            if known is not None:
                return known[1](self, subtype, known[0].decode(line))
        except ValueError:
            pass
        return self._say([bodies.Unknown(f"system/{subtype}", msgspec.json.decode(line))])

    def _init(self, _: str, line: system.Init) -> Messages:
        if line.session_id and line.session_id != self.session:
            if self.session:
                self.control.append(SessionId(line.session_id))
            self.session = line.session_id
        self._tools.folder = self._tools.folder or line.cwd
        told = self.settings.told
        begun: Messages = []
        if not self._turns.busy and not self._turns.turn and (prompt := self._turns.next_up()):
            begun = self._taken(prompt)
        self._turns.busy = True
        said = self._say(self.settings.init(line))
        if told:
            return begun + said
        held, self._held = self._held, []
        return said[:1] + held + begun + said[1:]

    def _status(self, _: str, line: system.Status) -> Messages:
        said = [one for prompt in line.user_message_uuids for one in self._taken(prompt)]
        news: list[Any] = self.settings.changed(line.mode or "")
        if (waiting := notices.waiting(line)) is not None:
            news.append(waiting)
        return said + self._say(news)

    def _retry(self, _: str, line: system.ApiRetry) -> Messages:
        return self._say([notices.retrying(line)])

    def _compacted(self, _: str, line: system.CompactBoundary) -> Messages:
        folded = line.compact_metadata
        return self._say([bodies.CompactBoundary(folded.trigger, folded.pre_tokens), bodies.Status("")])

    def _task(self, subtype: str, line: system.TaskNews) -> Messages:
        return self._say(notices.task(subtype, line, self._tools, self._quiet_tasks))

    def _tasks(self, _: str, line: system.Tasks) -> Messages:
        self.background = tuple(task.task_id for task in line.tasks)
        self.control.append(Background(self.background))
        return []

    def _denied(self, _: str, line: system.Denied) -> Messages:
        self._tools.refuse(line.tool_use_id, line.message)
        return []

    def _hook(self, _: str, line: system.Hook) -> Messages:
        return self._say([notices.hook(line)])

    def _notice(self, _: str, line: system.Notice) -> Messages:
        words = next((one for one in (line.content, line.text) if isinstance(one, str) and one.strip()), "")
        news: list[Any] = self.settings.changed(model=line.fallback_model or "")
        return self._say([*news, bodies.Status(words)] if words else news)

    def _titled(self, _: str, line: system.Notice) -> Messages:
        return self._say([bodies.TitleChanged(line.title)]) if line.title else []

    def _commanded(self, _: str, line: system.Commands) -> Messages:
        return self._say(self.settings.listed(line.commands))


# What the program tells about itself and nobody needs.
_SILENT = frozenset({"thinking_tokens", "ui_invalidate", "session_state_changed", "hook_started", "hook_progress"})

_Reader = tuple[msgspec.json.Decoder[Any], Callable[[Lines, str, Any], Messages]]
_SYSTEM: dict[str, _Reader] = {
    "init": (msgspec.json.Decoder(system.Init), Lines._init),
    "status": (msgspec.json.Decoder(system.Status), Lines._status),
    "api_retry": (msgspec.json.Decoder(system.ApiRetry), Lines._retry),
    "compact_boundary": (msgspec.json.Decoder(system.CompactBoundary), Lines._compacted),
    "background_tasks_changed": (msgspec.json.Decoder(system.Tasks), Lines._tasks),
    "permission_denied": (msgspec.json.Decoder(system.Denied), Lines._denied),
    "hook_response": (msgspec.json.Decoder(system.Hook), Lines._hook),
    "session_title_changed": (msgspec.json.Decoder(system.Notice), Lines._titled),
    "commands_changed": (msgspec.json.Decoder(system.Commands), Lines._commanded),
}
_SYSTEM |= {
    name: (msgspec.json.Decoder(system.TaskNews), Lines._task)
    for name in ("task_started", "task_progress", "task_updated", "task_notification")
}
_SYSTEM |= {
    name: (msgspec.json.Decoder(system.Notice), Lines._notice)
    for name in ("informational", "notification", "model_fallback")
}
