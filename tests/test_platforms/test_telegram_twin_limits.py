"""The twin's limits, and the trouble it makes on purpose."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import anyio
import pytest
from telegram import Bot
from telegram.error import BadRequest, Conflict, NetworkError, RetryAfter

from beambot.testing.clock import FakeClock
from platforms.telegram.twin import Fault, Limits, Person, Rate, Twin


@pytest.fixture
async def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def twin(clock: FakeClock) -> AsyncIterator[Twin]:
    async with Twin(clock=clock) as twin:
        yield twin


@pytest.fixture
async def bot(twin: Twin) -> AsyncIterator[Bot]:
    async with Bot(twin.token, base_url=twin.base_url, base_file_url=twin.base_file_url) as bot:
        yield bot


@pytest.fixture
async def ada(twin: Twin) -> Person:
    ada = twin.person("Ada", id=11)
    await ada.starts()
    return ada


@pytest.fixture(autouse=True)
def spans(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's newer form of times, which it asks to be chosen."""
    monkeypatch.setenv("PTB_TIMEDELTA", "true")


def wait_asked(error: RetryAfter) -> int:
    assert isinstance(error.retry_after, timedelta)
    return int(error.retry_after.total_seconds())


async def test_private_chat_takes_three_in_three_seconds_edits_included(
    bot: Bot, ada: Person, clock: FakeClock, twin: Twin
) -> None:
    sent = await bot.send_message(11, "1")
    await clock.advance(1)
    await bot.edit_message_text("2", 11, sent.message_id)
    await bot.send_message(11, "3")
    with pytest.raises(RetryAfter) as refused:
        await bot.edit_message_text("4", 11, sent.message_id)
    assert wait_asked(refused.value) == 2
    assert twin.refusals == 1
    await clock.advance(2)
    await bot.edit_message_text("4", 11, sent.message_id)
    assert twin.refusals == 1
    assert ada.chat.screen() == "Ada: /start\nBeambot: 4\nBeambot: 3"


async def test_call_during_the_wait_lengthens_it(bot: Bot, ada: Person, clock: FakeClock, twin: Twin) -> None:
    for number in range(3):
        await bot.send_message(11, str(number))
    waits: list[int] = []
    for _ in range(3):
        with pytest.raises(RetryAfter) as refused:
            await bot.send_message(11, "x")
        waits.append(wait_asked(refused.value))
    assert waits == [3, 8, 13]
    await clock.advance(13)
    await bot.send_message(11, "x")


async def test_group_takes_twenty_a_minute_all_topics_together(
    bot: Bot, ada: Person, clock: FakeClock, twin: Twin
) -> None:
    group = twin.forum("Team", ada)
    topics = [(await bot.create_forum_topic(group.id, f"t{at}")).message_thread_id for at in range(2)]
    for number in range(18):
        await bot.send_message(group.id, str(number), message_thread_id=topics[number % 2])
        await clock.advance(1)
    with pytest.raises(RetryAfter) as refused:
        await bot.create_forum_topic(group.id, "one more")
    assert wait_asked(refused.value) == 42
    await bot.send_message(11, "another chat is free")
    await clock.advance(42)
    await bot.create_forum_topic(group.id, "one more")


async def test_whole_bot_takes_thirty_a_second(bot: Bot, twin: Twin, clock: FakeClock) -> None:
    people = [twin.person(f"P{number}", id=100 + number) for number in range(31)]
    for person in people:
        await person.starts()
    for person in people[:30]:
        await bot.send_message(person.id, "x")
    with pytest.raises(RetryAfter) as refused:
        await bot.send_message(people[30].id, "x")
    assert wait_asked(refused.value) == 1
    await clock.advance(1)
    await bot.send_message(people[30].id, "x")


async def test_album_costs_a_call_for_each_file(bot: Bot, ada: Person) -> None:
    from telegram import InputMediaDocument

    await bot.send_media_group(11, [InputMediaDocument(b"a", filename="a"), InputMediaDocument(b"b", filename="b")])
    await bot.send_message(11, "x")
    with pytest.raises(RetryAfter):
        await bot.send_message(11, "y")


async def test_presses_typing_and_refused_calls_cost_nothing(bot: Bot, ada: Person, twin: Twin) -> None:
    for _ in range(10):
        await bot.send_chat_action(11, "typing")
        with pytest.raises(BadRequest):
            await bot.edit_message_text("x", 11, 999)
    for number in range(3):
        await bot.send_message(11, str(number))
    assert twin.refusals == 0


async def test_limits_and_penalties_can_be_chosen(clock: FakeClock) -> None:
    limits = Limits(private=Rate(1, 10.0), penalty=20.0, extension=0.0)
    async with Twin(clock=clock, limits=limits) as twin, Bot(twin.token, base_url=twin.base_url) as bot:
        await twin.person("Ada", id=11).starts()
        await bot.send_message(11, "x")
        for _ in range(2):
            with pytest.raises(RetryAfter) as refused:
                await bot.send_message(11, "x")
            assert wait_asked(refused.value) == 30


async def test_chat_can_be_frozen_by_hand(bot: Bot, ada: Person, twin: Twin, clock: FakeClock) -> None:
    twin.freeze(ada.chat, 60)
    with pytest.raises(RetryAfter) as refused:
        await bot.send_message(11, "x")
    assert wait_asked(refused.value) == 65
    await clock.advance(65)
    await bot.send_message(11, "x")


async def test_connection_dropped_before_acting_does_nothing_and_after_acting_did_it(
    bot: Bot, ada: Person, twin: Twin
) -> None:
    twin.faults.add(Fault("drop_before", "sendMessage"))
    with pytest.raises(NetworkError):
        await bot.send_message(11, "before")
    assert ada.chat.find("before") is None
    twin.faults.add(Fault("drop_after", "sendMessage"))
    with pytest.raises(NetworkError):
        await bot.send_message(11, "after")
    assert ada.chat.find("after") is not None
    assert twin.faults.met == [("sendMessage", "drop_before"), ("sendMessage", "drop_after")]
    twin.faults.add(Fault(method="sendMessage", kind="drop_after"))
    with pytest.raises(NetworkError) as refused:
        await bot.send_message(11, " ")
    assert not isinstance(refused.value, BadRequest), "a refusal is lost as any answer is"


async def test_faults_are_counted_skipped_and_meant_for_a_chat(bot: Bot, ada: Person, twin: Twin) -> None:
    twin.faults.add(
        Fault("refuse", "sendMessage", chat=11, skip=1, times=2, status=400, description="Bad Request: no")
    )
    said: list[str] = []
    for number in range(3):
        try:
            await bot.send_message(11, str(number))
            said.append("sent")
        except BadRequest as error:
            said.append(error.message)
    assert said == ["sent", "No", "No"]
    twin.fail("conflict", "getUpdates")
    with pytest.raises(Conflict):
        await bot.get_updates(timeout=0)
    twin.fail(
        "refuse",
        "sendMessage",
        status=429,
        description="Too Many Requests: retry after 7",
        parameters={"retry_after": 7},
    )
    with pytest.raises(RetryAfter) as refused:
        await bot.send_message(11, "x")
    assert wait_asked(refused.value) == 7
    twin.fail("status", times=0, status=503)
    twin.faults.clear()
    assert await bot.get_me()


async def test_late_answer_comes_with_its_time(bot: Bot, ada: Person, twin: Twin, clock: FakeClock) -> None:
    twin.fail("delay", "sendMessage", seconds=30)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bot.send_message, 11, "late")
        await twin.until(lambda: twin.faults.met)
        assert ada.chat.find("late") is None
        while ada.chat.find("late") is None:
            await clock.advance(30)
            await anyio.sleep(0.001)


async def test_outage_breaks_polls_and_refuses_until_it_is_over(
    bot: Bot, ada: Person, twin: Twin, clock: FakeClock
) -> None:
    twin.updates.drop()
    broken: list[NetworkError] = []

    async def poll() -> None:
        try:
            await bot.get_updates(timeout=20)
        except NetworkError as error:
            broken.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(poll)
        await twin.until(lambda: twin.updates.polls == 1)
        address = twin.base_url
        async with twin.away():
            await twin.until(lambda: broken)
            with pytest.raises(NetworkError):
                await bot.send_message(11, "x")
            await ada.says(None, "meanwhile")
    assert twin.base_url == address
    assert [one.message.text for one in await bot.get_updates(timeout=0)] == ["meanwhile"]
    await bot.send_message(11, "back")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(twin.outage, 60)
        await twin.until(lambda: not twin.server.is_up)
        await clock.advance(60)
        await twin.until(lambda: twin.server.is_up)
    assert await bot.get_me()
