"""What waits in a lane: which is next in each thread, what is remembered of it, and what that costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from beambot.flow.delivery.meters import Meters
from beambot.flow.delivery.queue import Queue
from beambot.flow.delivery.rows import Note, Rows
from beambot.model.ids import ThreadRef
from beambot.model.outbound import Notice, Outgoing
from beambot.render.pace import Priority
from beambot.store import Store
from beambot.store.records import OutboxRow
from beambot.testing.clock import FakeClock
from beambot.testing.platform import FakePlatform
from beambot.testing.scripted import Hang
from beambot.testing.world import World

HERE, BESIDE = ThreadRef("fake", "c1", "t1"), ThreadRef("fake", "c1", "t2")


def a_row(id: int, priority: Priority, thread: ThreadRef = HERE, hash: str = "h") -> OutboxRow:
    outgoing = Outgoing(f"note:{id}", (Notice("hello"),))
    return OutboxRow(id, thread, outgoing.key, outgoing, hash, priority, 0, False, 0.0)


def rows(*priorities: Priority) -> Rows:
    waiting = Rows()
    for id, priority in enumerate(priorities, 1):
        waiting[id] = a_row(id, priority)
    return waiting


def next_of(waiting: Rows, now: float = 0.0) -> set[int]:
    return {row.id for row in waiting.next_in(HERE, now)}


ANSWER, ASK, FINAL, NOTICE, TIDY = Priority.ANSWER, Priority.ASK, Priority.FINAL, Priority.NOTICE, Priority.TIDY


@pytest.mark.parametrize(
    ("waiting", "expected"),
    [
        ([FINAL, FINAL, NOTICE], {1}),
        ([NOTICE, FINAL, NOTICE], {1, 2}),
        ([FINAL, NOTICE, ASK, ANSWER], {1, 3, 4}),
        ([FINAL, TIDY, TIDY, NOTICE], {1, 2}),
        ([NOTICE, NOTICE, NOTICE], {1}),
    ],
)
def test_after_an_end_only_asks_and_answers_and_edits_go_before_it(
    waiting: list[Priority], expected: set[int]
) -> None:
    assert next_of(rows(*waiting)) == expected


def test_older_rows_that_come_back_later_still_go_first() -> None:
    waiting = rows()
    for id in (7, 3, 5):
        waiting[id] = a_row(id, FINAL)
    found = []
    while waiting:
        (id,) = next_of(waiting)
        found.append(id)
        del waiting[id]
    assert found == [3, 5, 7]
    assert not waiting.threads


def test_a_row_that_became_more_urgent_is_found_there_alone() -> None:
    waiting = rows(FINAL, NOTICE)
    waiting[2] = a_row(2, ASK)
    assert next_of(waiting) == {1, 2}
    del waiting[2]
    assert next_of(waiting) == {1}


def test_what_fails_by_itself_for_long_holds_back_nothing_of_its_thread() -> None:
    waiting = rows(FINAL, FINAL, NOTICE)
    waiting.note(1).fail(0.0, refused=False)
    assert next_of(waiting, 50.0) == {1}
    assert next_of(waiting, 61.0) == {1, 2}
    waiting.note(2).fail(0.0, refused=False)
    assert next_of(waiting, 61.0) == {1, 2, 3}


def test_what_was_learnt_of_a_row_is_forgotten_with_its_content_and_with_the_row() -> None:
    waiting = rows(NOTICE, NOTICE)
    waiting.note(1).plain = True
    waiting[1] = a_row(1, NOTICE)
    assert waiting.note(1).plain
    waiting[1] = a_row(1, NOTICE, hash="newer")
    assert not waiting.note(1).plain
    waiting.note(2).plain = True
    waiting.leave(HERE)
    assert waiting.note(2) == Note()
    assert len(waiting._notes) == 0


def test_what_may_be_next_does_not_cost_more_the_more_waits() -> None:
    platform = FakePlatform(FakeClock())
    queue = Queue(platform, Meters(platform))
    for id in range(2000):
        queue.rows[id] = a_row(id, Priority.NOTICE, HERE if id % 2 else BESIDE)
    assert [offer.wish.order for offer in queue.offers(0.0, 0.0, 0.0)] == [0, 1]


def test_a_small_thing_that_was_passed_over_is_as_awaited_as_a_stream_but_takes_turns() -> None:
    async def nothing() -> None:
        """Nothing is called."""

    platform = FakePlatform(FakeClock())
    queue = Queue(platform, Meters(platform))
    queue.small["receipt m1"] = (HERE, nothing)

    def wish(now: float) -> tuple[Priority, float]:
        (offer,) = queue.offers(now, 0.0, 0.0)
        return offer.wish.priority, offer.wish.since

    assert wish(10.0) == (Priority.RECEIPT, 10.0)
    queue.small["receipt m1"] = (HERE, nothing)
    assert wish(30.0) == (Priority.RECEIPT, 10.0)
    assert wish(41.0) == (Priority.STREAM, 10.0)
    queue.spared_at = 40.0
    assert wish(42.0) == (Priority.STREAM, 40.0)


def test_a_page_to_tidy_is_not_forgotten_because_its_thread_is_served() -> None:
    platform = FakePlatform(FakeClock())
    queue = Queue(platform, Meters(platform))
    queue.rows[1] = a_row(1, TIDY)
    queue.place(HERE).served_at = 99.0
    (offer,) = queue.offers(100.0, 0.0, 0.0)
    assert (offer.wish.priority, offer.wish.since) == (Priority.STREAM, 0.0)


async def test_nothing_is_remembered_of_a_thread_for_which_nothing_waits(tmp_path: Path) -> None:
    async with World(tmp_path, [Hang()]) as world:
        for number in range(5):
            thread = world.chat.thread("c1", f"t{number}")
            await world.chat.says("/whoami", thread=thread)
            await world.until(lambda thread=thread: world.chat.shows("You are", thread))
        await world.quiet()
        (lane,) = world.rooms.house.delivery.lanes
        assert lane._queue._places == {}
        assert lane._queue._of_small == {}
        assert lane.rows._notes == {}


async def test_who_asked_for_longer_is_left_alone_for_longer(tmp_path: Path) -> None:
    clock = FakeClock()
    store = await Store.open(tmp_path / "beambot.db", clock)
    try:
        await store.freezes.put("fake/c1", clock.now() + 600)
        await store.freezes.put("fake/c1", clock.now() + 1)
        assert await store.freezes.all(clock.now()) == {"fake/c1": clock.now() + 600}
        await store.freezes.put("fake/c1", clock.now() + 900)
        assert await store.freezes.all(clock.now()) == {"fake/c1": clock.now() + 900}
    finally:
        await store.close()
