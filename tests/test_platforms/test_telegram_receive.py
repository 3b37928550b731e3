"""Receiving: nothing is confirmed before it is kept, nothing is lost, and trouble makes no storm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from beambot.api import BeambotError, Inbound, ThreadRef
from beambot.api import inbound as into
from beambot.clock import SystemClock
from platforms.telegram.calling.failures import TokenRejected
from platforms.telegram.receiving import polling

Stage = Callable[..., Any]


class HurriedClock(SystemClock):
    """Real time, but sleeps are short; what was asked for is noted."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        await anyio.sleep(min(seconds, 0.005))


def texts(stage: Any) -> list[str]:
    return [item.body.text for item in stage.inbox.items if isinstance(item.body, into.TextIn)]


async def test_messages_come_in_their_order_and_are_confirmed(telegram: Stage) -> None:
    async with telegram() as t:
        for number in range(5):
            await t.ana.says(None, f"message {number}")
        await t.confirmed()
        assert texts(t) == [f"message {number}" for number in range(5)]


async def test_what_was_said_while_beambot_was_down_comes_after_the_start(telegram: Stage) -> None:
    async with telegram() as t:
        await t.stop()
        for number in range(150):
            await t.ana.says(None, f"message {number}")
        await t.start(t.tasks)
        await t.confirmed()
        assert texts(t) == [f"message {number}" for number in range(150)]


async def test_crash_between_keeping_and_confirming_loses_nothing(telegram: Stage) -> None:
    async with telegram() as t:
        t.inbox.hold()
        await t.ana.says(None, "keep this")
        await t.inbox.wait_for_puts(1)
        await t.stop()
        assert len(t.twin.updates.waiting) == 1
        t.inbox.release()
        await t.start(t.tasks)
        await t.confirmed()
        first, second = t.inbox.puts
        assert first.update == second.update
        assert texts(t) == ["keep this"]


async def test_batch_that_fails_half_way_goes_on_where_it_failed(telegram: Stage) -> None:
    async with telegram(clock=HurriedClock()) as t:
        put = t.inbox.put
        failures = iter([True, True, False])

        async def failing(inbound: Inbound) -> bool:
            if inbound.body.text == "third" and next(failures):
                raise BeambotError("the disk is full")
            return await put(inbound)

        t.inbox.put = failing
        t.twin.fail("status", "getUpdates", status=502)
        for text in ("first", "second", "third", "fourth"):
            await t.ana.says(None, text)
        await t.confirmed()
        assert texts(t) == ["first", "second", "third", "fourth"]
        assert [one.body.text for one in t.inbox.puts] == ["first", "second", "third", "fourth"]


async def test_update_that_nobody_understands_holds_nothing_up(telegram: Stage) -> None:
    async with telegram() as t:
        t.twin.updates.put("message", {"message_id": "what"})
        t.twin.updates.put("message", {"from": {"id": 1}, "strange": True})
        await t.ana.says(None, "hello")
        await t.confirmed()
        assert texts(t) == ["hello"]


async def test_only_what_is_read_is_asked_for(telegram: Stage) -> None:
    async with telegram() as t:
        await t.ana.says(None, "hello")
        await t.confirmed()
        assert set(t.twin.updates.allowed) == {"message", "edited_message", "callback_query", "my_chat_member"}
    async with telegram(stream="draft") as t:
        await t.ana.says(None, "hello")
        await t.confirmed()
        assert "stopped_message_generation" in t.twin.updates.allowed


# ── trouble ──────────────────────────────────────────────────────────────────────────────────────────


async def test_outage_is_waited_out_and_messages_come(telegram: Stage) -> None:
    clock = HurriedClock()
    async with telegram(clock=clock) as t:
        async with t.twin.away():
            await t.twin.until(lambda: len(clock.asked) >= 12, seconds=10)
        await t.ana.says(None, "back")
        await t.confirmed()
        assert texts(t) == ["back"]
        waited = [seconds for seconds in clock.asked if seconds > 0][:12]
        assert max(waited) <= 30.0
        assert waited[9] > 10 * waited[0]


async def test_start_without_a_network_waits_for_it(telegram: Stage) -> None:
    clock = HurriedClock()
    async with telegram(clock=clock, run=False) as t:
        await t.twin.down()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(t.start, t.tasks)
            await t.twin.until(lambda: len(clock.asked) >= 3)
            await t.twin.up()
        await t.ana.says(None, "hello")
        await t.confirmed()
        assert texts(t) == ["hello"]


async def test_second_program_with_the_same_token_is_told_once_and_makes_no_storm(
    telegram: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = HurriedClock()
    async with telegram(clock=clock) as t:
        t.twin.fail("conflict", "getUpdates", times=4)
        await t.ana.says(None, "hello")
        await t.confirmed()
        assert texts(t) == ["hello"]
        said = capsys.readouterr().out
        assert said.count("another program receives this bot's messages") == 1
        assert polling.CONFLICT_FIX in said
        assert [seconds for seconds in clock.asked if seconds >= 20] != []
        assert len([seconds for seconds in clock.asked if seconds >= 20]) == 4


async def test_flood_of_the_receiving_call_is_obeyed(telegram: Stage) -> None:
    clock = HurriedClock()
    async with telegram(clock=clock) as t:
        t.twin.fail(
            "refuse",
            "getUpdates",
            status=429,
            description="Too Many Requests: retry after 7",
            parameters={"retry_after": 7},
        )
        await t.ana.says(None, "hello")
        await t.confirmed()
        assert 7.0 in clock.asked


async def test_wrong_token_ends_the_start_with_what_to_do(telegram: Stage) -> None:
    async with telegram(run=False) as t:
        t.twin.fail("refuse", "getMe", status=401, description="Unauthorized")
        await t.start(t.tasks)
        assert isinstance(t.error, TokenRejected)
        assert "BotFather" in t.error.fix
        assert t.twin.token not in str(t.error)


async def test_token_that_is_revoked_while_it_runs_ends_the_run(telegram: Stage) -> None:
    async with telegram() as t:
        t.twin.fail("refuse", "getUpdates", status=401, description="Unauthorized")
        await t.ana.says(None, "hello")
        await t.twin.until(lambda: t.error is not None)
        assert isinstance(t.error, TokenRejected)


async def test_webhook_that_another_program_left_is_taken_away(telegram: Stage) -> None:
    async with telegram(run=False) as t:
        t.twin.webhook.set("http://127.0.0.1:9/nobody", "s")
        await t.start(t.tasks)
        await t.ana.says(None, "hello")
        await t.confirmed()
        assert texts(t) == ["hello"]


# ── albums ───────────────────────────────────────────────────────────────────────────────────────────

PICTURES = [("a.jpg", b"\xff\xd8a"), ("b.jpg", b"\xff\xd8b"), ("c.jpg", b"\xff\xd8c")]


async def test_album_comes_as_one_message_with_all_its_files(telegram: Stage) -> None:
    async with telegram() as t:
        sent = await t.ana.uploads(None, *PICTURES, kind="document", caption="look")
        inbound = await t.inbox.wait_for_puts(1)
        assert isinstance(inbound.body, into.TextIn)
        assert inbound.body.text == "look"
        assert inbound.body.message == str(sent[0].id)
        assert [file.name for file in inbound.body.attachments] == ["a.jpg", "b.jpg", "c.jpg"]
        assert inbound.thread == ThreadRef("telegram", "11")


async def test_what_is_said_after_an_album_comes_after_it(telegram: Stage) -> None:
    async with telegram() as t:
        await t.ana.uploads(None, *PICTURES, kind="photo")
        await t.ana.says(None, "what do you see?")
        await t.inbox.wait_for_puts(2)
        album, words = t.inbox.puts
        assert isinstance(album.body, into.AttachmentIn)
        assert len(album.body.attachments) == 3
        assert isinstance(words.body, into.TextIn)


async def test_album_is_not_lost_when_beambot_dies_before_it_is_whole(telegram: Stage) -> None:
    async with telegram() as t:
        await t.ana.uploads(None, *PICTURES, kind="photo")
        await t.confirmed()
        assert t.inbox.puts == []
        await t.stop()
        await t.start(t.tasks)
        inbound = await t.inbox.wait_for_puts(1)
        assert isinstance(inbound.body, into.AttachmentIn)
        assert len(inbound.body.attachments) == 3


async def test_album_whose_keeping_fails_is_tried_again(telegram: Stage) -> None:
    async with telegram(clock=HurriedClock()) as t:
        put = t.inbox.put
        failures = iter([True, True])

        async def failing(inbound: Inbound) -> bool:
            if next(failures, False):
                raise BeambotError("the disk is full")
            return await put(inbound)

        t.inbox.put = failing
        await t.ana.uploads(None, *PICTURES, kind="photo")
        await t.twin.until(lambda: len(t.inbox.items) == 1, seconds=10)
        assert len(t.inbox.items[0].body.attachments) == 3


async def test_album_of_a_stranger_in_a_group_is_not_for_us(telegram: Stage) -> None:
    async with telegram() as t:
        group = t.twin.group("Work", t.ana, t.bo)
        await t.bo.uploads(group, *PICTURES, kind="photo")
        await t.ana.says(group, "/stop")
        await t.confirmed()
        (only,) = t.inbox.puts
        assert isinstance(only.body, into.CommandIn)
