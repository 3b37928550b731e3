"""Everything that comes from the agent, in the order of the wire, and the stream it becomes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio.abc
from msgspec import Raw

from adapters.acp import schema
from adapters.acp.client import asks, files
from adapters.acp.client.terminals import Terminals
from adapters.acp.translate import Translator
from beambot.api import PluginContext, UnifiedMessage, bodies, get_logger
from beambot.wire.jsonl import TooLong
from beambot.wire.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Garbage,
    Request,
    RpcError,
    read,
)

BUFFER_MESSAGES = 10_000
BUFFER_BYTES = 64 * 1024 * 1024
# Work that nobody prompted has no end on this wire: after so long without news it is over.
QUIET = 5.0
# What an agent may tell while a session opens; the rest is the replay of an earlier conversation.
_STATE = (
    schema.CommandsUpdate,
    schema.ModeUpdate,
    schema.ConfigUpdate,
    schema.InfoUpdate,
    schema.UsageUpdate,
)
_log = get_logger("acp")


class Incoming:
    """The handler of the wire, and the queue that the session's one reader takes from."""

    def __init__(self, folder: Path, context: PluginContext) -> None:
        self.translator = Translator(context.clock.monotonic)
        self.session = ""
        self.opening = True
        self.closing = False
        self.over = False
        self.interrupted = False
        self.held: list[UnifiedMessage] = []
        self.asks: dict[str, asks.OpenAsk] = {}
        self._folder = folder
        self._clock = context.clock
        self._stamp = context.ids.new(6)
        self._queue: deque[UnifiedMessage] = deque()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._bytes = 0
        self._watching = False
        self._loose_news = 0

    def attach(self, group: anyio.abc.TaskGroup, terminals: Terminals) -> None:
        """Where the agent's requests are served, and the terminals it may use."""
        self._group = group
        self._terminals = terminals

    async def messages(self) -> AsyncIterator[UnifiedMessage]:
        """Everything, in order, until it is over."""
        queue = self._queue
        while True:
            while queue:
                yield queue.popleft()
            if self.over:
                return
            self._bytes = 0
            self._room.set()
            self._news.clear()
            await self._news.wait()

    def emit(self, messages: list[UnifiedMessage]) -> None:
        """More of the stream. Nothing precedes `session_init`."""
        if messages and not self.opening:
            self._queue.extend(messages)
            self._news.set()

    def end(self) -> None:
        """Nothing follows."""
        self.over = True
        self._news.set()

    def let_go(self) -> None:
        """Read on even though nobody takes what was read: the session closes."""
        self.closing = True
        self._room.set()

    def cancel_asks(self, why: str) -> None:
        """Nobody will answer these any more."""
        waiting, self.asks = self.asks, {}
        for id, ask in waiting.items():
            ask.request.reply({"action": "cancel"} if ask.fields is not None else asks.chosen(None))
            self.emit(self.translator.say([bodies.AskCancelled(id, why)]))

    # ── called by the wire ───────────────────────────────────────────────────────────────────────────

    def line(self, line: bytes) -> bool:
        """The hot path: an update, decoded in one go."""
        try:
            params = schema.read_update_line(line).params
        except ValueError:
            return False
        self._updated(params)
        return True

    def notified(self, method: str, params: Raw) -> None:
        """The rest of what needs no reply. Updates come here when they are odd in some way."""
        if method == "session/update":
            with suppress(ValueError):
                self._updated(read(params, schema.UpdateParams))
                return
            found = _anything(params)
            update = found.get("update") if isinstance(found, dict) else None
            if isinstance(update, dict):
                self._state(self.translator.strange(f"{method}:{update.get('sessionUpdate')}", update))
                return
        self._state(self.translator.strange(method, _anything(params)))

    def requested(self, request: Request) -> None:
        """The agent wants something of a person, of a file or of a terminal."""
        try:
            match request.method:
                case "session/request_permission":
                    self._permission(request, read(request.params, schema.Permission))
                case "elicitation/create":
                    self._elicitation(request, read(request.params, schema.Elicitation))
                case "fs/read_text_file":
                    asked = read(request.params, schema.ReadFile)
                    self._serve(request, lambda: files.read_text(self._folder, asked))
                case "fs/write_text_file":
                    wanted = read(request.params, schema.WriteFile)
                    self._serve(request, lambda: files.write_text(self._folder, wanted))
                case "terminal/create":
                    command = read(request.params, schema.CreateTerminal)
                    self._serve(request, lambda: self._terminal(command))
                case "terminal/output" | "terminal/wait_for_exit" | "terminal/kill" | "terminal/release":
                    terminal = read(request.params, schema.TerminalRef)
                    self._serve(request, lambda: self._terminals.request(request.method, terminal))
                case _:
                    request.fail(METHOD_NOT_FOUND, f"{request.method} is not known here")
                    self._state(self.translator.strange(request.method, _anything(request.params)))
        except ValueError as error:
            request.fail(INVALID_PARAMS, f"{request.method} has an unexpected form: {error}")

    def strange(self, found: Garbage | TooLong) -> None:
        """What is no message at all."""
        if isinstance(found, TooLong):
            words = f"the agent sent a line longer than {found.limit >> 20} MiB; it was skipped"
            self._state(self.translator.say([bodies.Failure(words, True, "line_too_long")]))
        else:
            self._state(self.translator.strange("garbage", found.text))

    async def breathe(self, size: int) -> None:
        """Stop reading while nobody takes what was read."""
        self._bytes += size
        while not self.closing and (len(self._queue) > BUFFER_MESSAGES or self._bytes > BUFFER_BYTES):
            self._room.clear()
            await self._room.wait()

    def _state(self, messages: list[UnifiedMessage]) -> None:
        """What may also be told while the session opens: it then follows `session_init`."""
        if self.opening:
            if len(self.held) < 100:
                self.held += messages
        else:
            self.emit(messages)

    def _updated(self, params: schema.UpdateParams) -> None:
        if self.opening:
            if isinstance(params.update, _STATE):
                self._state(self.translator.update(params.update))
            return
        if params.session_id and params.session_id != self.session:
            self.emit(self.translator.strange("session/update:another session", params.session_id))
            return
        self._queue.extend(self.translator.update(params.update))
        self._news.set()
        if self.translator.loose:
            self._watch_quiet()

    def _permission(self, request: Request, asked: schema.Permission) -> None:
        if self.opening or (self.interrupted and self.translator.turn):
            request.reply(asks.chosen(None))
            return
        if not asked.tool_call.tool_call_id:
            asked.tool_call.tool_call_id = f"ask-{request.id}"
        self.emit(self.translator.asked(asked.tool_call))
        tool = self.translator.tools.known(asked.tool_call)
        ask = self._ask(asks.OpenAsk(request, asked.options, tool=tool.id))
        self.emit(self.translator.work([asks.permission(ask, asked, tool)], tool.parent))
        self._watch_quiet()

    def _elicitation(self, request: Request, asked: schema.Elicitation) -> None:
        fields = asks.form_fields(asked)
        page = asked.mode == "url" and bool(asked.url)
        if not page and (asked.mode != "form" or not fields):
            request.fail(INVALID_PARAMS, "only forms with fields and pages with an address can be asked here")
        elif self.opening or (self.interrupted and self.translator.turn):
            request.reply({"action": "cancel"})
        else:
            ask = self._ask(asks.OpenAsk(request, fields=fields))
            self.emit(self.translator.work([asks.page(ask, asked) if page else asks.question(ask, asked)]))
            self._watch_quiet()

    def _ask(self, ask: asks.OpenAsk) -> str:
        # An agent counts its requests from 0 again after a restart: an old card must not answer a new ask.
        id = f"{self._stamp}-{ask.request.id}"
        self.asks[id] = ask
        return id

    def _serve(self, request: Request, work: Callable[[], Awaitable[Any]]) -> None:
        async def run() -> None:
            try:
                request.reply(await work())
            except RpcError as error:
                request.fail(error.code, error.message)
            except Exception as error:
                _log.error("a request of the agent failed", method=request.method, error=repr(error))
                request.fail(INTERNAL_ERROR, f"{request.method} failed")

        self._group.start_soon(run)

    async def _terminal(self, asked: schema.CreateTerminal) -> dict[str, str]:
        id, terminal = await self._terminals.create(asked)
        self._group.start_soon(self._terminals.collect, id, terminal)
        return {"terminalId": id}

    def printed(self, terminal: str, text: str) -> None:
        self.emit(self.translator.printed(terminal, text))

    def _watch_quiet(self) -> None:
        self._loose_news += 1
        if self.translator.loose and not self._watching:
            self._watching = True
            self._group.start_soon(self._settle_when_quiet)

    async def _settle_when_quiet(self) -> None:
        seen = -1
        while self.translator.loose and (seen != self._loose_news or self.asks or self.translator.tools.open):
            seen = self._loose_news
            await self._clock.sleep(QUIET)
        self._watching = False
        self.emit(self.translator.settle())


def _anything(params: Raw) -> Any:
    try:
        return read(params, object)
    except ValueError:
        return None
