"""What every platform keeps, as a suite that anybody runs against theirs in three lines:

class TestMyChat(PlatformContract):
    def harness(self) -> AbstractAsyncContextManager[PlatformHarness]:
        return my_harness()
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio
from msgspec.structs import replace

from beambot.errors import MessageGone, StreamEnded, ThreadGone
from beambot.model.ids import MessageRef, ThreadRef
from beambot.model.inbound import Inbound, PressIn, TextIn
from beambot.model.outbound import Button, Markdown, Notice, Outgoing, Receipt, ThreadState
from beambot.model.ports import ChatPlatform, Streaming

PATIENCE = 10.0
_RECEIPTS: tuple[Receipt, ...] = ("received", "queued", "working", "waiting", "done", "failed", "cancelled")
_STATES: tuple[ThreadState, ...] = ("working", "waiting", "failed", "idle")


class RecordingInbox:
    """Keeps what a platform puts, tells a repeat as the real inbox does, and can be held up."""

    def __init__(self) -> None:
        self.items: list[Inbound] = []
        self.puts: list[Inbound] = []
        self._open = anyio.Event()
        self._open.set()
        self._put = anyio.Event()

    def hold(self) -> None:
        """From now on `put` does not return."""
        self._open = anyio.Event()

    def release(self) -> None:
        """`put` returns again."""
        self._open.set()

    async def put(self, inbound: Inbound) -> bool:
        """As the port says."""
        self.puts.append(inbound)
        self._put.set()
        self._put = anyio.Event()
        await self._open.wait()
        if any(item.update == inbound.update for item in self.items):
            return False
        self.items.append(inbound)
        return True

    async def wait_for_puts(self, count: int) -> Inbound:
        """The newest of at least so many puts, finished or not."""
        with anyio.fail_after(PATIENCE):
            while len(self.puts) < count:
                await self._put.wait()
        return self.puts[-1]


class PlatformHarness(ABC):
    """A platform that runs, with a person at its other end. `thread` is a place where both can write."""

    platform: ChatPlatform
    inbox: RecordingInbox
    thread: ThreadRef
    # A place that is not there, for platforms that can tell.
    missing_thread: ThreadRef | None = None
    # False where the chat itself neutralises characters that turn a line around.
    neutralises_direction = True

    @abstractmethod
    async def say(self, text: str) -> None:
        """The person writes; returns when the platform has acknowledged it to the chat."""

    @abstractmethod
    async def press(self, ref: MessageRef, data: str) -> None:
        """The person presses a button; returns when the platform has acknowledged it."""

    @abstractmethod
    async def repeat(self) -> None:
        """The chat delivers the last update once more."""

    @abstractmethod
    async def shown(self, thread: ThreadRef) -> list[tuple[MessageRef, str]]:
        """What the person reads of the platform's own messages, oldest first, as plain text."""

    @abstractmethod
    async def stop(self) -> None:
        """Cancel `run` and wait for its end."""


class PlatformContract:
    """Inherit from this and give a harness."""

    def harness(self) -> AbstractAsyncContextManager[PlatformHarness]:
        """A fresh platform for each test, running."""
        raise NotImplementedError

    @asynccontextmanager
    async def _started(self) -> AsyncIterator[PlatformHarness]:
        async with self.harness() as harness:
            with anyio.fail_after(60):
                yield harness

    # ── out ──────────────────────────────────────────────────────────────────────────────────────────

    async def test_post_is_shown_and_an_edit_changes_the_same_message(self) -> None:
        async with self._started() as h:
            ref = await h.platform.post(h.thread, _text("first"))
            assert ref.thread == h.thread
            assert _words(await h.shown(h.thread)) == ["first"]
            await h.platform.edit(ref, _text("second"))
            assert await h.shown(h.thread) == [(ref, "second")]

    async def test_messages_stand_in_the_order_in_which_they_were_posted(self) -> None:
        async with self._started() as h:
            for number in range(5):
                await h.platform.post(h.thread, _text(f"message {number}", key=f"k{number}"))
            assert _words(await h.shown(h.thread)) == [f"message {number}" for number in range(5)]

    async def test_edit_that_changes_nothing_succeeds(self) -> None:
        async with self._started() as h:
            ref = await h.platform.post(h.thread, _text("same"))
            await h.platform.edit(ref, _text("same"))
            await h.platform.edit(ref, _text("same"))
            assert _words(await h.shown(h.thread)) == ["same"]

    async def test_growing_text_stands_whole_after_each_edit(self) -> None:
        async with self._started() as h:
            words = [f"word{number}" for number in range(40)]
            ref = await h.platform.post(h.thread, _text(words[0]))
            for count in range(2, len(words) + 1):
                text = " ".join(words[:count])
                await h.platform.edit(ref, Outgoing("k", (Markdown(text, open=count < len(words)),)))
            assert _words(await h.shown(h.thread)) == [" ".join(words)]

    async def test_edit_of_a_message_that_never_was_says_that_it_is_gone(self) -> None:
        async with self._started() as h:
            ref = await h.platform.post(h.thread, _text("here"))
            strange = replace(ref, message="".join(reversed(f"1{ref.message}7")))
            await _raises(MessageGone, h.platform.edit(strange, _text("there")))

    async def test_edit_of_a_deleted_message_says_that_it_is_gone(self) -> None:
        async with self._started() as h:
            if not h.platform.capabilities.delete:
                return
            ref = await h.platform.post(h.thread, _text("here"))
            await h.platform.delete(ref)
            assert await h.shown(h.thread) == []
            await _raises(MessageGone, h.platform.edit(ref, _text("there")))

    async def test_post_into_a_thread_that_is_not_there_says_so(self) -> None:
        async with self._started() as h:
            if h.missing_thread is not None:
                await _raises(ThreadGone, h.platform.post(h.missing_thread, _text("anybody?")))

    async def test_same_key_is_the_same_message_where_that_is_promised(self) -> None:
        async with self._started() as h:
            if not h.platform.capabilities.dedupes_posts:
                return
            first = await h.platform.post(h.thread, _text("once", key="a"))
            second = await h.platform.post(h.thread, _text("twice", key="a"))
            await h.platform.post(h.thread, _text("other", key="b"))
            assert first == second
            assert _words(await h.shown(h.thread)) == ["twice", "other"]

    async def test_text_up_to_the_limit_arrives_whole(self) -> None:
        async with self._started() as h:
            words = "word " * (h.platform.capabilities.text_limit // 5)
            await h.platform.post(h.thread, _text(words.strip()))
            ((_, shown),) = await h.shown(h.thread)
            assert shown.split() == words.split()

    async def test_markup_of_an_agent_is_shown_as_text(self) -> None:
        async with self._started() as h:
            for index, hostile in enumerate(("<script>alert(1)</script>", "<b>x</b> & <!-- y -->", "<@U1> hi")):
                await h.platform.post(h.thread, _text(hostile, key=f"k{index}"))
                assert hostile in (await h.shown(h.thread))[-1][1]

    async def test_agent_text_cannot_call_everybody_or_turn_the_line_around(self) -> None:
        async with self._started() as h:
            await h.platform.post(h.thread, _text("hello @everyone and \u202egnp.exe"))
            ((_, shown),) = await h.shown(h.thread)
            assert "everyone" in shown
            assert "\u202e" not in shown or not h.neutralises_direction

    async def test_every_receipt_every_state_and_typing_are_taken(self) -> None:
        async with self._started() as h:
            await h.say("hello")
            body = h.inbox.items[-1].body
            assert isinstance(body, TextIn)
            for receipt in _RECEIPTS:
                await h.platform.react(MessageRef(h.thread, body.message), receipt)
            for state in _STATES:
                await h.platform.mark_thread(h.thread, state)
            await h.platform.typing(h.thread)
            await h.platform.rename_thread(h.thread, "A <b>title</b>")
            await h.platform.history(h.thread, 0.0)

    async def test_new_thread_can_be_written_to(self) -> None:
        async with self._started() as h:
            if h.platform.capabilities.open_thread:
                thread = await h.platform.open_thread(h.thread, "Another")
                assert thread != h.thread
                await h.platform.post(thread, _text("over here"))
                assert _words(await h.shown(thread)) == ["over here"]
                assert await h.shown(h.thread) == []

    async def test_streams_of_its_own_end_as_one_message_that_can_be_edited(self) -> None:
        async with self._started() as h:
            platform: object = h.platform
            assert isinstance(platform, Streaming) == h.platform.capabilities.native_stream
            if not isinstance(platform, Streaming) or platform.stream_limits(h.thread) is None:
                return
            words = [f"word{number}" for number in range(12)]
            stream = await platform.open_stream(h.thread, _growing(words[:1]))
            for count in range(2, len(words) + 1):
                await platform.append_stream(stream, _growing(words[:count]))
            ref = await platform.close_stream(stream, _text(" ".join(words)))
            assert await h.shown(h.thread) == [(ref, " ".join(words))]
            assert stream.message in ("", ref.message)
            await h.platform.edit(ref, _text("another"))
            assert _words(await h.shown(h.thread)) == ["another"]
            await _raises(StreamEnded, platform.append_stream(stream, _growing(words)))

    async def test_a_block_is_never_larger_than_it_was_measured(self) -> None:
        async with self._started() as h:
            capabilities = h.platform.capabilities
            short, long = Markdown("word"), Markdown("word " * 40)
            assert 0 < h.platform.measure(short) < h.platform.measure(long)
            fitting = Markdown("word " * (capabilities.text_limit // 6))
            assert h.platform.measure(fitting) <= capabilities.text_limit
            await h.platform.post(h.thread, Outgoing("k", (fitting,)))
            ((_, shown),) = await h.shown(h.thread)
            assert shown.split() == fitting.text.split()

    # ── in ───────────────────────────────────────────────────────────────────────────────────────────

    async def test_words_come_in_as_they_were_written(self) -> None:
        async with self._started() as h:
            await h.say("first *line*\nsecond <line> \N{SLIGHTLY SMILING FACE}")
            (inbound,) = h.inbox.items
            assert inbound.thread == h.thread
            assert inbound.platform == h.platform.name
            assert isinstance(inbound.body, TextIn)
            assert inbound.body.text == "first *line*\nsecond <line> \N{SLIGHTLY SMILING FACE}"
            assert inbound.sender.id
            assert inbound.body.message

    async def test_each_message_has_an_update_id_of_its_own(self) -> None:
        async with self._started() as h:
            await h.say("same words")
            await h.say("same words")
            first, second = h.inbox.items
            assert first.update != second.update

    async def test_repeat_of_an_update_carries_the_same_id(self) -> None:
        async with self._started() as h:
            await h.say("once")
            await h.repeat()
            await h.inbox.wait_for_puts(2)
            first, second = h.inbox.puts
            assert first.update == second.update
            assert first.body == second.body
            assert len(h.inbox.items) == 1

    async def test_nothing_is_acknowledged_before_it_is_in_the_inbox(self) -> None:
        async with self._started() as h:
            h.inbox.hold()
            done = anyio.Event()

            async def say() -> None:
                await h.say("keep this")
                done.set()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(say)
                await h.inbox.wait_for_puts(1)
                with anyio.move_on_after(0.1):
                    await done.wait()
                assert not done.is_set()
                h.inbox.release()
                with anyio.fail_after(PATIENCE):
                    await done.wait()

    async def test_pressed_button_comes_back_with_its_data_and_can_be_answered(self) -> None:
        async with self._started() as h:
            if not h.platform.capabilities.buttons:
                return
            data = "ask:" + "x" * (h.platform.capabilities.button_bytes - 4)
            row = (Button("Allow", data, "primary"), Button("Deny", "n:1", "danger"))
            ask = Outgoing("ask", (Notice("May it?", "ask"),), buttons=(row,))
            ref = await h.platform.post(h.thread, ask)
            await h.press(ref, data)
            inbound = h.inbox.items[-1]
            assert isinstance(inbound.body, PressIn)
            assert inbound.body.data == data
            assert MessageRef(inbound.thread, inbound.body.message) == ref
            await h.platform.ack(inbound.body.handle, "Allowed")
            await h.platform.ack(inbound.body.handle, "Once more", alert=True)

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────

    async def test_run_ends_soon_when_it_is_cancelled(self) -> None:
        async with self._started() as h:
            await h.platform.post(h.thread, _text("still here"))
            with anyio.fail_after(5):
                await h.stop()
                await h.platform.close()
                await h.platform.close()


def _text(text: str, key: str = "k") -> Outgoing:
    return Outgoing(key, (Markdown(text),))


def _growing(words: list[str]) -> Outgoing:
    return Outgoing("k", (Markdown(" ".join(words), open=True),))


def _words(shown: list[tuple[MessageRef, str]]) -> list[str]:
    return [text.strip() for _, text in shown]


async def _raises(expected: type[Exception], call: Awaitable[object]) -> None:
    try:
        await call
    except expected:
        return
    raise AssertionError(f"{expected.__name__} was expected")
