"""The contract of every adapter's stream, as a check and as a suite that anyone can run in three lines:

class TestMine(AdapterContract):
    text_prompt = "say hello"
    def make_adapter(self, context): return MyAdapter(context)
"""

from __future__ import annotations

import os
import random
import string
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import anyio

from beambot.model.abilities import Answering, Interruptible
from beambot.model.bodies import (
    AskCancelled,
    AskResolved,
    Assistant,
    Failure,
    LoginRequest,
    PermissionRequest,
    PlanReview,
    Question,
    Result,
    SessionClosed,
    SessionInit,
    TextDelta,
    ToolEnded,
    ToolOutput,
    ToolProgress,
    ToolStarted,
)
from beambot.model.content import Text
from beambot.model.message import WORK, UnifiedMessage
from beambot.model.plugins import PluginContext
from beambot.model.ports import (
    Answer,
    BackendAdapter,
    BackendSession,
    OpenOptions,
    Prompt,
)


def check_stream(messages: Iterable[UnifiedMessage], *, complete: bool = False) -> list[str]:
    """What a stream does against the contract; nothing when it keeps it.

    With `complete` the stream was read to its end, and must have ended properly.
    """
    return _Checker().run(list(messages), complete)


class _Checker:
    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.tools: dict[str, str] = {}
        self.asks: dict[str, str] = {}
        self.turns: set[str] = set()
        self.over: set[str] = set()

    def run(self, messages: Sequence[UnifiedMessage], complete: bool) -> list[str]:
        if messages and not isinstance(messages[0].body, SessionInit):
            self.wrong.append(f"the first message is {_name(messages[0])}, not session_init")
        for number, message in enumerate(messages):
            if number and isinstance(message.body, SessionInit):
                self.wrong.append(f"message {number} is a second session_init")
            if number and isinstance(messages[number - 1].body, SessionClosed):
                self.wrong.append(f"message {number} ({_name(message)}) follows session_closed")
            self._turn(number, message)
            self._tool(number, message)
            self._ask(number, message)
        closed = bool(messages) and isinstance(messages[-1].body, SessionClosed)
        if complete and not closed:
            self.wrong.append("the stream ended without session_closed")
        if closed or complete:
            self.wrong += [f"turn {turn!r} has no result" for turn in sorted(self.turns)]
        if closed or complete or not self.turns:
            self._leftovers()
        return self.wrong

    def _turn(self, number: int, message: UnifiedMessage) -> None:
        turn = message.turn
        if turn and turn in self.over:
            self.wrong.append(f"message {number} ({_name(message)}) follows the result of its turn {turn!r}")
        if isinstance(message.body, Result):
            for ask in [ask for ask, of in self.asks.items() if of == turn]:
                self.wrong.append(f"the result of turn {turn!r} came while the ask {ask!r} was open")
                del self.asks[ask]
            if not turn and turn not in self.turns:
                self.wrong.append(f"message {number} is a result of no turn")
            self.turns.discard(turn)
            if turn:
                self.over.add(turn)
        elif isinstance(message.body, WORK):
            self.turns.add(turn)

    def _tool(self, number: int, message: UnifiedMessage) -> None:
        match message.body:
            case ToolStarted(tool=tool):
                if tool in self.tools:
                    self.wrong.append(f"message {number} starts the tool {tool!r} again")
                self.tools[tool] = message.turn
            case ToolEnded(tool=tool):
                if self.tools.pop(tool, None) is None:
                    self.wrong.append(f"message {number} ends the tool {tool!r}, which is not running")
            case ToolProgress(tool=tool) | ToolOutput(tool=tool):
                if tool not in self.tools:
                    self.wrong.append(f"message {number} speaks of the tool {tool!r}, which is not running")

    def _ask(self, number: int, message: UnifiedMessage) -> None:
        match message.body:
            case PermissionRequest(ask=ask) | Question(ask=ask) | PlanReview(ask=ask) | LoginRequest(ask=ask):
                if ask in self.asks:
                    self.wrong.append(f"message {number} asks {ask!r} again")
                self.asks[ask] = message.turn
            case AskResolved(ask=ask) | AskCancelled(ask=ask):
                if self.asks.pop(ask, None) is None:
                    self.wrong.append(f"message {number} settles the ask {ask!r}, which is not open")

    def _leftovers(self) -> None:
        self.wrong += [f"the tool {tool!r} never ended" for tool in self.tools]
        self.wrong += [f"the ask {ask!r} was never settled" for ask in self.asks]


def _name(message: UnifiedMessage) -> str:
    return str(message.body.__struct_config__.tag)


class WallClock:
    """Real time, for adapters that drive real programs."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


class RandomIds:
    """Real chance."""

    def new(self, length: int = 16) -> str:
        return "".join(random.SystemRandom().choices(string.ascii_lowercase + string.digits, k=length))


class Listener:
    """Reads a session's stream and waits for what a test wants to see."""

    def __init__(self, session: BackendSession, patience: float = 20.0) -> None:
        self.session = session
        self.patience = patience
        self.messages: list[UnifiedMessage] = []
        self.ended = False
        self._news = anyio.Event()

    async def listen(self) -> None:
        """Until the stream ends."""
        async for message in self.session.messages():
            self.messages.append(message)
            self._tell()
        self.ended = True
        self._tell()

    def _tell(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()

    async def until(self, wanted: Callable[[UnifiedMessage], bool]) -> UnifiedMessage:
        """The first message that is wanted; fails when the stream ends before it."""
        seen = 0
        while True:
            for message in self.messages[seen:]:
                if wanted(message):
                    return message
            seen = len(self.messages)
            assert not self.ended, f"the stream ended without it: {[_name(m) for m in self.messages[-10:]]}"
            await self._wait()

    async def until_body(self, kind: type | tuple[type, ...], turn: str | None = None) -> UnifiedMessage:
        """The first message with such a body, of that turn if one is given."""
        return await self.until(lambda m: isinstance(m.body, kind) and turn in (None, m.turn))

    async def until_end(self) -> list[UnifiedMessage]:
        """Everything."""
        while not self.ended:
            await self._wait()
        return self.messages

    async def _wait(self) -> None:
        with anyio.fail_after(self.patience):
            await self._news.wait()

    def text(self, turn: str) -> str:
        """The whole answer of a turn."""
        return "".join(
            block.text
            for message in self.messages
            if message.turn == turn and isinstance(message.body, Assistant) and not message.parent
            for block in message.body.blocks
            if isinstance(block, Text)
        )


class AdapterContract:
    """Subclass it and give `make_adapter` and prompts that your agent understands; an empty one skips its tests."""

    text_prompt = "Say hello."
    long_prompt = ""
    permission_prompt = ""
    crash_prompt = ""
    timeout = 30.0

    def make_adapter(self, context: PluginContext) -> BackendAdapter:
        """The adapter under test."""
        raise NotImplementedError

    def options(self, folder: Path) -> OpenOptions:
        """How its sessions are opened."""
        return OpenOptions(session="contract", folder=folder)

    def test_a_prompt_gets_text_and_one_result_last(self, tmp_path: Path) -> None:
        self._run(tmp_path, self._text)

    def test_a_second_prompt_is_a_second_turn(self, tmp_path: Path) -> None:
        self._run(tmp_path, self._two_turns)

    def test_closing_twice_ends_the_stream_with_session_closed(self, tmp_path: Path) -> None:
        self._run(tmp_path, self._close_twice)

    def test_closing_in_mid_turn_ends_the_turn_first(self, tmp_path: Path) -> None:
        self._need(self.long_prompt)
        self._run(tmp_path, self._close_in_mid_turn)

    def test_an_interrupt_ends_the_turn_as_interrupted(self, tmp_path: Path) -> None:
        self._need(self.long_prompt)
        self._run(tmp_path, self._interrupt)

    def test_an_allowed_permission_is_resolved_before_the_result(self, tmp_path: Path) -> None:
        self._need(self.permission_prompt)
        self._run(tmp_path, partial(self._permission, "allow"))

    def test_a_denied_permission_is_resolved_before_the_result(self, tmp_path: Path) -> None:
        self._need(self.permission_prompt)
        self._run(tmp_path, partial(self._permission, "deny"))

    def test_an_interrupt_cancels_an_open_ask(self, tmp_path: Path) -> None:
        self._need(self.permission_prompt)
        self._run(tmp_path, self._interrupt_ask)

    def test_a_dead_agent_is_told_not_silent(self, tmp_path: Path) -> None:
        self._need(self.crash_prompt)
        self._run(tmp_path, self._crash)

    def test_a_session_can_be_resumed(self, tmp_path: Path) -> None:
        self._run(tmp_path, self._resume)

    # ── the stories ──────────────────────────────────────────────────────────────────────────────────

    async def _text(self, hears: Listener) -> None:
        await hears.session.send(Prompt("one", self.text_prompt))
        result = await hears.until_body(Result, "one")
        assert isinstance(result.body, Result)
        assert result.body.outcome == "success", result.body.error
        assert hears.text("one")

    async def _two_turns(self, hears: Listener) -> None:
        for turn in ("one", "two"):
            await hears.session.send(Prompt(turn, self.text_prompt))
            await hears.until_body(Result, turn)
        assert sum(isinstance(message.body, SessionInit) for message in hears.messages) == 1

    async def _close_twice(self, hears: Listener) -> None:
        await hears.until_body(SessionInit)
        await hears.session.close()
        await hears.session.close()
        last = (await hears.until_end())[-1].body
        assert isinstance(last, SessionClosed)
        assert last.expected

    async def _close_in_mid_turn(self, hears: Listener) -> None:
        await hears.session.send(Prompt("one", self.long_prompt))
        await hears.until_body((TextDelta, ToolStarted), "one")
        await hears.session.close()
        await hears.until_end()

    async def _interrupt(self, hears: Listener) -> None:
        session = hears.session
        if not isinstance(session, Interruptible):
            return
        await session.send(Prompt("one", self.long_prompt))
        await hears.until_body((TextDelta, ToolStarted), "one")
        await session.interrupt()
        result = (await hears.until_body(Result, "one")).body
        assert isinstance(result, Result)
        assert result.outcome == "interrupted"
        await session.send(Prompt("two", self.text_prompt))
        await hears.until_body(Result, "two")

    async def _permission(self, verdict: str, hears: Listener) -> None:
        session = hears.session
        assert isinstance(session, Answering)
        await session.send(Prompt("one", self.permission_prompt))
        asked = (await hears.until_body(PermissionRequest, "one")).body
        assert isinstance(asked, PermissionRequest)
        answer = Answer(ask=asked.ask, verdict="allow" if verdict == "allow" else "deny", by="somebody")
        assert await session.answer(answer)
        assert not await session.answer(answer), "an ask is answered once"
        settled = (await hears.until_body(AskResolved, "one")).body
        assert isinstance(settled, AskResolved)
        assert (settled.outcome, settled.by) == ("allowed" if verdict == "allow" else "denied", "somebody")
        await hears.until_body(Result, "one")

    async def _interrupt_ask(self, hears: Listener) -> None:
        session = hears.session
        assert isinstance(session, Interruptible)
        await session.send(Prompt("one", self.permission_prompt))
        await hears.until_body(PermissionRequest, "one")
        await session.interrupt()
        await hears.until_body(AskCancelled, "one")
        await hears.until_body(Result, "one")

    async def _crash(self, hears: Listener) -> None:
        await hears.session.send(Prompt("one", self.crash_prompt))
        messages = await hears.until_end()
        assert any(isinstance(m.body, Failure) and not m.body.recoverable for m in messages)
        last = messages[-1].body
        assert isinstance(last, SessionClosed)
        assert not last.expected

    async def _resume(self, hears: Listener) -> None:
        if not self._adapter.capabilities.resume:
            return
        await hears.session.send(Prompt("one", self.text_prompt))
        await hears.until_body(Result, "one")
        first = hears.messages[0].body
        assert isinstance(first, SessionInit)
        await hears.session.close()
        again = await self._adapter.open(self.options(self._folder), resume=first.agent_session)
        async with anyio.create_task_group() as group:
            other = Listener(again)
            group.start_soon(other.listen)
            begun = (await other.until_body(SessionInit)).body
            assert isinstance(begun, SessionInit)
            assert begun.resumed
            assert not any(isinstance(m.body, WORK) for m in other.messages), "history is not new work"
            await again.send(Prompt("two", self.text_prompt))
            await other.until_body(Result, "two")
            await again.close()
            assert check_stream(await other.until_end(), complete=True) == []

    # ── the stage ────────────────────────────────────────────────────────────────────────────────────

    def _need(self, prompt: str) -> None:
        if not prompt:
            _skip("no prompt was given for this")

    def _run(self, tmp_path: Path, story: Callable[[Listener], Awaitable[None]]) -> None:
        anyio.run(self._play, tmp_path, story)

    async def _play(self, tmp_path: Path, story: Callable[[Listener], Awaitable[None]]) -> None:
        self._folder = tmp_path / "project"
        os.makedirs(self._folder, exist_ok=True)
        context = PluginContext(home=tmp_path, clock=WallClock(), ids=RandomIds())
        self._adapter = self.make_adapter(context)
        with anyio.fail_after(self.timeout):
            session = await self._adapter.open(self.options(self._folder))
            hears = Listener(session)
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(hears.listen)
                    await story(hears)
                    await session.close()
            finally:
                await session.close()
        assert check_stream(hears.messages, complete=True) == []


def _skip(why: str) -> None:
    import pytest

    pytest.skip(why)
