"""The kit that plugins are tested with is itself true: its clock, its chat, its agent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from beambot.errors import AgentError, MessageGone, Refused, RetryAfter, Unreachable
from beambot.model.bodies import (
    AskCancelled,
    AskResolved,
    PermissionRequest,
    Result,
    SessionClosed,
    SessionInit,
    TextDelta,
    ToolEnded,
    ToolStarted,
)
from beambot.model.bodies import Assistant as Said
from beambot.model.capabilities import Budget, PlatformCapabilities
from beambot.model.content import Text
from beambot.model.ids import MessageRef, ThreadRef
from beambot.model.inbound import Inbound
from beambot.model.message import AnyBody, UnifiedMessage
from beambot.model.outbound import Markdown, Outgoing
from beambot.model.plugins import PluginContext
from beambot.model.ports import Answer, BackendAdapter, OpenOptions, Prompt
from beambot.testing.adapter_contract import AdapterContract, Listener, check_stream
from beambot.testing.clock import FakeClock, SequentialIds
from beambot.testing.platform import FakePlatform
from beambot.testing.platform_contract import PlatformContract, PlatformHarness, RecordingInbox
from beambot.testing.scripted import Die, Emit, Hang, Pause, Script, ScriptedAdapter, ScriptedSession, WaitAnswer
from beambot.testing.streaming import StreamingPlatform


def text(words: str, key: str = "k") -> Outgoing:
    return Outgoing(key, (Markdown(words),))


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_sleepers_wake_in_order_each_at_its_own_moment() -> None:
    clock, woke = FakeClock(100.0), []

    async def sleeper(name: str, *naps: float) -> None:
        for nap in naps:
            await clock.sleep(nap)
            woke.append((name, clock.now()))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sleeper, "late", 5.0)
        tasks.start_soon(sleeper, "twice", 1.0, 1.0)
        tasks.start_soon(sleeper, "same", 2.0)
        await clock.advance(0.5)
        assert woke == []
        await clock.advance(3.0)
        assert woke == [("twice", 101.0), ("same", 102.0), ("twice", 102.0)]
        assert clock.monotonic() == 103.5
        await clock.advance(10.0)
        assert woke[-1] == ("late", 105.0)
    assert clock.now() == 113.5


async def test_a_sleeper_that_was_cancelled_holds_nobody_up() -> None:
    clock = FakeClock()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(clock.sleep, 1.0)
        await clock.advance(0.1)
        tasks.cancel_scope.cancel()
    before = clock.now()
    await clock.advance(5.0)
    assert clock.now() == before + 5.0


def test_sequential_ids_differ() -> None:
    ids = SequentialIds()
    assert len({ids.new() for _ in range(50)}) == 50


def test_sequential_ids_can_be_foreseen() -> None:
    assert [SequentialIds().new() for _ in range(3)] == [SequentialIds().new()] * 3


# ── a chat ───────────────────────────────────────────────────────────────────────────────────────────


async def test_a_limit_refuses_for_exactly_as_long_as_the_window_lasts() -> None:
    clock = FakeClock()
    chat = FakePlatform(clock, limit=Budget(scope="chat", calls=2, seconds=10.0))
    ref = await chat.post(chat.thread(), text("one"))
    await clock.advance(4.0)
    await chat.edit(ref, text("two"))
    with pytest.raises(RetryAfter) as refusal:
        await chat.edit(ref, text("three"))
    assert refusal.value.seconds == 6.0
    assert chat.refusals == 1
    assert chat.screen() == ["two"]
    await chat.post(chat.thread("c2"), text("another chat is not slowed"))
    await clock.advance(6.0)
    await chat.edit(ref, text("three"))
    assert [(call.what, call.at - chat.calls[0].at) for call in chat.calls if call.thread.chat == "c1"] == [
        ("post", 0.0),
        ("edit", 4.0),
        ("edit", 10.0),
    ]


async def test_faults_come_one_a_call_and_what_failed_does_not_stand() -> None:
    chat = FakePlatform(FakeClock())
    chat.faults = [Refused("no"), None, Unreachable("away")]
    with pytest.raises(Refused):
        await chat.post(chat.thread(), text("lost"))
    ref = await chat.post(chat.thread(), text("stands"))
    with pytest.raises(Unreachable):
        await chat.edit(ref, text("changed"))
    assert chat.screen() == ["stands"]
    await chat.edit(ref, text("changed"))
    assert chat.screen() == ["changed"]
    chat.down = True
    with pytest.raises(Unreachable):
        await chat.post(chat.thread(), text("x"))


async def test_a_chat_that_dedupes_keeps_one_message_a_key_and_thread() -> None:
    chat = FakePlatform(FakeClock(), capabilities=PlatformCapabilities(dedupes_posts=True))
    first = await chat.post(chat.thread(), text("one"))
    assert await chat.post(chat.thread(), text("two")) == first
    assert await chat.post(chat.thread("c2"), text("three")) != first
    assert chat.screen() == ["two"]
    plain = FakePlatform(FakeClock())
    assert await plain.post(plain.thread(), text("one")) != await plain.post(plain.thread(), text("one"))


async def test_a_message_that_somebody_deleted_cannot_be_edited() -> None:
    chat = FakePlatform(FakeClock())
    ref = await chat.post(chat.thread(), text("x"))
    chat.lose(ref)
    with pytest.raises(MessageGone):
        await chat.edit(ref, text("y"))


async def test_a_slow_chat_answers_when_its_time_has_come() -> None:
    clock = FakeClock()
    chat = FakePlatform(clock)
    chat.delay = 3.0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(chat.post, chat.thread(), text("slow"))
        await clock.advance(2.9)
        assert chat.screen() == []
        await clock.advance(0.2)
        assert chat.screen() == ["slow"]


class FakeHarness(PlatformHarness):
    neutralises_direction = False

    def __init__(self, chat: FakePlatform, inbox: RecordingInbox, scope: anyio.CancelScope) -> None:
        self.chat = self.platform = chat
        self.inbox = inbox
        self.thread = chat.thread()
        self._scope = scope

    async def say(self, text: str) -> None:
        await self.chat.says(text)

    async def press(self, ref: MessageRef, data: str) -> None:
        await self.chat.press_data(ref, data)

    async def repeat(self) -> None:
        last: Inbound = self.inbox.puts[-1]
        await self.chat.receive(last.body, last.sender.id, last.thread, last.update)

    async def shown(self, thread: ThreadRef) -> list[tuple[MessageRef, str]]:
        return [
            (ref, words)
            for (ref, _), words in zip(self.chat.messages(thread), self.chat.screen(thread), strict=True)
        ]

    async def stop(self) -> None:
        self._scope.cancel()
        while self.chat.running:
            await anyio.sleep(0)


class TestFakePlatform(PlatformContract):
    def harness(self) -> AbstractAsyncContextManager[PlatformHarness]:
        return self._harness()

    def platform(self) -> FakePlatform:
        return FakePlatform(FakeClock())

    @asynccontextmanager
    async def _harness(self) -> AsyncIterator[PlatformHarness]:
        chat, inbox = self.platform(), RecordingInbox()
        async with anyio.create_task_group() as tasks:
            ready = anyio.Event()
            tasks.start_soon(chat.run, inbox, ready.set)
            await ready.wait()
            yield FakeHarness(chat, inbox, tasks.cancel_scope)
            tasks.cancel_scope.cancel()


class TestStreamingPlatform(TestFakePlatform):
    def platform(self) -> FakePlatform:
        return StreamingPlatform(FakeClock())


class TestDraftingPlatform(TestFakePlatform):
    def platform(self) -> FakePlatform:
        return StreamingPlatform(FakeClock(), drafts=True)


# ── an agent ─────────────────────────────────────────────────────────────────────────────────────────

ANSWER: Script = [Emit(TextDelta("hello")), Emit(Said((Text("hello"),))), Emit(Result())]
ASKING: Script = [
    Emit(ToolStarted("t1", "run")),
    Emit(PermissionRequest("a1", "may I")),
    WaitAnswer("a1"),
    Emit(ToolEnded("t1")),
    Emit(Result()),
]
SCRIPTS: dict[str, Script] = {
    "text": ANSWER,
    "long": [Emit(TextDelta("well")), Emit(ToolStarted("t1", "run")), Hang()],
    "ask": ASKING,
    "crash": [Emit(ToolStarted("t1", "run")), Die("killed")],
}


class ByPrompt(ScriptedAdapter):
    """Plays the script that the prompt names."""

    def script_for(self, number: int) -> Script:
        return SCRIPTS[self.last.prompts[number].text]


class TestScriptedAdapter(AdapterContract):
    text_prompt, long_prompt, permission_prompt, crash_prompt = "text", "long", "ask", "crash"

    def make_adapter(self, context: PluginContext) -> BackendAdapter:
        return ByPrompt(clock=context.clock)

    def test_an_allowed_permission_is_resolved_before_the_result(self, tmp_path: Path) -> None:
        super().test_an_allowed_permission_is_resolved_before_the_result(tmp_path)

    def test_a_denied_permission_is_resolved_before_the_result(self, tmp_path: Path) -> None:
        super().test_a_denied_permission_is_resolved_before_the_result(tmp_path)


async def opened(script: Script, clock: FakeClock | None = None) -> ScriptedSession:
    adapter = ScriptedAdapter(script, clock=clock or FakeClock())
    return await adapter.open(OpenOptions(session="s", folder=Path("project")))


def kinds(messages: list[UnifiedMessage]) -> list[type]:
    return [type(message.body) for message in messages]


async def heard(session: ScriptedSession, *prompts: str) -> list[UnifiedMessage]:
    hears = Listener(session, patience=5)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hears.listen)
        for prompt in prompts:
            await session.send(Prompt(prompt, prompt))
            await hears.until_body(Result, prompt)
        await session.close()
        return await hears.until_end()


async def test_a_script_is_played_for_every_prompt_and_the_stream_keeps_the_contract() -> None:
    messages = await heard(await opened(ANSWER), "one", "two")
    assert check_stream(messages, complete=True) == []
    once = [TextDelta, Said, Result]
    assert kinds(messages) == [SessionInit, *once, *once, SessionClosed]
    assert [message.turn for message in messages] == ["", *["one"] * 3, *["two"] * 3, ""]


async def test_what_a_script_leaves_open_is_closed_before_the_result() -> None:
    careless: Script = [Emit(ToolStarted("t", "run")), Emit(PermissionRequest("a", "may I")), Emit(Result())]
    messages = await heard(await opened(careless), "one")
    assert check_stream(messages, complete=True) == []
    assert kinds(messages)[3:6] == [AskCancelled, ToolEnded, Result]
    assert check_stream(await heard(await opened([Emit(TextDelta("x"))]), "one"), complete=True) == []


async def test_an_answer_is_taken_once_and_told_in_the_stream() -> None:
    session = await opened(ASKING)
    hears = Listener(session, patience=5)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hears.listen)
        await session.send(Prompt("one", "go"))
        await hears.until_body(PermissionRequest)
        assert not await session.answer(Answer(ask="other", verdict="allow"))
        assert await session.answer(Answer(ask="a1", verdict="deny", by="ann"))
        await hears.until_body(Result)
        assert not await session.answer(Answer(ask="a1", verdict="allow"))
        await session.close()
    assert AskResolved("a1", "denied", by="ann") in [message.body for message in hears.messages]
    assert check_stream(hears.messages, complete=True) == []


async def test_a_pause_lasts_as_long_as_the_clock_says() -> None:
    clock = FakeClock()
    session = await opened([Pause(5.0), Emit(Result())], clock)
    hears = Listener(session, patience=5)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hears.listen)
        await session.send(Prompt("one", "go"))
        await clock.advance(4.9)
        assert kinds(hears.messages) == [SessionInit]
        await clock.advance(0.2)
        assert kinds(hears.messages) == [SessionInit, Result]
        await session.close()


async def test_an_agent_that_does_not_listen_raises() -> None:
    session = await opened(ANSWER)
    session.adapter.refuse_send = True
    with pytest.raises(AgentError):
        await session.send(Prompt("one", "go"))


def stream(*bodies: AnyBody) -> list[UnifiedMessage]:
    return [
        UnifiedMessage(body, turn="" if isinstance(body, SessionInit | SessionClosed) else "t") for body in bodies
    ]


@pytest.mark.parametrize(
    ("bodies", "complaint"),
    [
        ([TextDelta("x"), Result(), SessionClosed()], "not session_init"),
        ([SessionInit("a"), SessionInit("a"), SessionClosed()], "second session_init"),
        ([SessionInit("a"), TextDelta("x"), SessionClosed()], "has no result"),
        ([SessionInit("a"), Result(), TextDelta("x"), SessionClosed()], "follows the result"),
        ([SessionInit("a"), ToolStarted("b", "x"), Result(), SessionClosed()], "never ended"),
        ([SessionInit("a"), ToolEnded("b"), Result(), SessionClosed()], "not running"),
        ([SessionInit("a"), PermissionRequest("q", "x"), Result(), SessionClosed()], "was open"),
        ([SessionInit("a"), AskResolved("q", "denied"), Result(), SessionClosed()], "not open"),
        ([SessionInit("a"), TextDelta("x"), Result()], "without session_closed"),
        ([SessionInit("a"), SessionClosed(), TextDelta("x")], "follows session_closed"),
    ],
)
def test_the_check_sees_each_breach_of_the_contract(bodies: list[AnyBody], complaint: str) -> None:
    assert any(complaint in wrong for wrong in check_stream(stream(*bodies), complete=True))
