"""Talking with the running program: its lines become the stream, our requests get their replies."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import anyio
import anyio.abc
import msgspec
from msgspec import Struct

from adapters.claude import answers, control
from adapters.claude.process.spawn import Pipe
from adapters.claude.translate import Translator
from beambot.api import AgentError, Clock, UnifiedMessage
from beambot.wire.jsonl import TooLong, batches

BUFFER_MESSAGES = 10_000
BUFFER_BYTES = 64 * 1024 * 1024
# Work that nobody prompted may have no end on this wire: after so long without news it is over.
QUIET = 5.0
REPLY_SECONDS = 30.0


class _Ending(Struct):
    errors: list[str] = []


_ending = msgspec.json.Decoder(_Ending).decode


class Refused(AgentError):
    """The program did not do what it was asked. `code` is its own word for why, where it has one."""

    def __init__(self, words: str, code: str = "") -> None:
        super().__init__(words)
        self.code = code


class Silent(AgentError):
    """The program did not reply in time."""


class Taking:
    """What becomes of one prompt: the program has it, works on it, or dropped it."""

    def __init__(self) -> None:
        self.received = asyncio.Event()
        self.taken = asyncio.Event()
        self.dropped = False

    @property
    def over(self) -> bool:
        """Whether there is nothing more to learn."""
        return self.taken.is_set()

    def heard(self, line: bytes) -> None:
        """A line that names the prompt."""
        self.received.set()
        self.dropped = b'"state":"cancelled"' in line
        if b'"state":"queued"' not in line:
            self.taken.set()

    def end(self) -> None:
        """The program is gone."""
        self.dropped = not self.received.is_set()
        self.received.set()
        self.taken.set()


class Talk:
    """One reader of the program, one reader of the stream. Nothing precedes the session's beginning."""

    def __init__(self, pipe: Pipe, translator: Translator, clock: Clock, moved: Callable[[str], None]) -> None:
        self.pipe = pipe
        self.translator = translator
        self.opening = True
        self.closing = False
        self.over = False
        self.background: tuple[str, ...] = ()
        self._clock = clock
        self._moved = moved
        self._queue: deque[UnifiedMessage] = deque()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._bytes = 0
        self._requests: dict[str, asyncio.Future[control.Reply | None]] = {}
        self._prompts: dict[bytes, Taking] = {}
        self._next = 0
        self._group: anyio.abc.TaskGroup | None = None
        self._watching = False
        self._loose_news = 0

    # ── the stream ───────────────────────────────────────────────────────────────────────────────────

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
        """More of the stream. Before the session's beginning nobody reads it."""
        if messages and not self.opening:
            self._queue.extend(messages)
            self._news.set()

    def begin(self, first: list[UnifiedMessage]) -> None:
        """The session stands."""
        self.opening = False
        self.emit(first)

    def end(self) -> None:
        """Nothing follows."""
        self.over = True
        self._news.set()
        self._forget()

    def let_go(self) -> None:
        """Read on even though nobody takes what was read: the session closes."""
        self.closing = True
        self._room.set()

    # ── asking the program ───────────────────────────────────────────────────────────────────────────

    def write(self, line: bytes) -> None:
        """One line, with its newline."""
        self.pipe.write(line)

    async def request(self, subtype: str, seconds: float = REPLY_SECONDS, **params: Any) -> dict[str, Any]:
        """A control request and its reply. Raises `Refused`, `Silent`, and `AgentError` when it is gone."""
        self._next += 1
        id = f"beambot-{self._next}"
        reply: asyncio.Future[control.Reply | None] = asyncio.get_running_loop().create_future()
        self._requests[id] = reply
        try:
            self.write(answers.request(id, subtype, **params))
            with anyio.fail_after(seconds):
                found = None if self.over else await reply
        except TimeoutError as error:
            words = f"Claude Code did not answer {subtype} within {seconds:g} s"
            raise Silent(words, fix="stop the turn, or end the session and resume it") from error
        finally:
            self._requests.pop(id, None)
        if found is None:
            raise AgentError("the agent has ended", fix="open the session again")
        if not found.ok:
            raise Refused(f"Claude Code refused {subtype}: {found.error}", found.code)
        return found.data

    def expect(self, prompt: str) -> Taking:
        """Follow what becomes of a prompt. To be called before it is written."""
        taking = Taking()
        if self.over:
            taking.end()
        else:
            self._prompts[prompt.encode()] = taking
        return taking

    def _forget(self) -> None:
        for reply in self._requests.values():
            if not reply.done():
                reply.set_result(None)
        self._requests.clear()
        for taking in self._prompts.values():
            taking.end()
        self._prompts.clear()

    def _follow(self, line: bytes) -> None:
        """New versions tell it in lines that name the prompt; of old ones the first words have to do."""
        speaks = b'"stream_event"' in line[:200]
        for prompt, taking in list(self._prompts.items()):
            if speaks or prompt in line:
                taking.heard(line)
            if taking.over:
                del self._prompts[prompt]

    # ── reading it ───────────────────────────────────────────────────────────────────────────────────

    async def run(self, group: anyio.abc.TaskGroup) -> None:
        """Until the program is gone."""
        self._group = group
        async for batch in batches(self.pipe):
            size = 0
            for line in batch:
                if isinstance(line, TooLong):
                    words = f"the agent sent a line longer than {line.limit >> 20} MiB; it was skipped"
                    self.emit(self.translator.failed(words, "line_too_long"))
                    continue
                size += len(line)
                if self.opening:
                    self._overhear(line)
                if self._prompts:
                    self._follow(line)
                self.emit(self.translator.read(line))
                if self.translator.control:
                    self._heed()
            if self.translator.loose:
                self._watch_quiet()
            self._bytes += size
            while not self.closing and (len(self._queue) > BUFFER_MESSAGES or self._bytes > BUFFER_BYTES):
                self._room.clear()
                await self._room.wait()
        self._forget()

    def _overhear(self, line: bytes) -> None:
        """Some versions say on standard output why they do not start."""
        words: list[str] = []
        if not line.lstrip().startswith(b"{"):
            words = [line.decode("utf-8", "replace")]
        elif b'"result"' in line:
            with suppress(msgspec.DecodeError):
                words = _ending(line).errors
        for one in words:
            self.pipe.stderr.feed(f"{one}\n".encode())

    def _heed(self) -> None:
        """What the program says to the session and not to a reader."""
        found = list(self.translator.control)
        self.translator.control.clear()
        for one in found:
            match one:
                case control.Reply():
                    reply = self._requests.pop(one.request, None)
                    if reply is not None and not reply.done():
                        reply.set_result(one)
                case control.SessionId():
                    self._moved(one.id)
                case control.SendAgain():
                    self.write(one.line)
                case control.Background():
                    self.background = one.tasks
                case control.HookCall():
                    self.write(answers.hook_reply(one.request))
                case control.ToolCall():
                    self.write(answers.refusal(one.request, f"there is no tool server {one.server!r} here"))
                case control.Strange():
                    self.write(answers.refusal(one.request, f"{one.kind} is not known here"))
                case control.Withdrawn() | control.Fate():
                    pass

    def _watch_quiet(self) -> None:
        self._loose_news += 1
        if not self._watching and self._group is not None:
            self._watching = True
            self._group.start_soon(self._settle_when_quiet)

    async def _settle_when_quiet(self) -> None:
        seen = -1
        while self.translator.loose and (seen != self._loose_news or not self.translator.quiet):
            seen = self._loose_news
            await self._clock.sleep(QUIET)
        self._watching = False
        self.emit(self.translator.settle())
