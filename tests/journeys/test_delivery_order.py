"""In each thread an answer stands in its order, an ask does not wait for tidying, and no call holds up a chat."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from beambot.errors import Refused, RetryAfter
from beambot.model.bodies import PermissionRequest, Result, TextDelta
from beambot.model.capabilities import Budget, PlatformCapabilities
from beambot.model.ids import MessageRef, ThreadRef
from beambot.model.outbound import Outgoing, plain_text
from beambot.model.settings import Rendering
from beambot.testing.clock import FakeClock
from beambot.testing.platform import FULL, Call, FakePlatform
from beambot.testing.scripted import Emit, Hang, Pause, Step
from beambot.testing.world import World

SMALL = replace(FULL, text_limit=400, min_interval=0.1, reactions=False)
LOUD = Rendering(notify_after_seconds=1, file_above=0)


def a_chat(clock: FakeClock, *budgets: Budget, capabilities: PlatformCapabilities = SMALL) -> FakePlatform:
    return FakePlatform(clock, capabilities=replace(capabilities, budgets=budgets), limit=budgets)


def stream(words: int, pause: float = 0.1, first: int = 0) -> list[Step]:
    steps: list[Step] = []
    for number in range(first, first + words):
        steps += [Emit(TextDelta(f"w{number} ")), Pause(pause)]
    return steps


def burst(first: int, last: int) -> list[Step]:
    return [Emit(TextDelta("".join(f"w{number} " for number in range(first, last)))), Pause(0.05)]


def order(chat: FakePlatform, thread: ThreadRef | None = None) -> list[str]:
    """The first words of every message of a thread, as they stand."""
    return [text.split()[0] for text in chat.screen(thread)]


def numbers(chat: FakePlatform, thread: ThreadRef | None = None) -> list[int]:
    """Of every word of the pages that stand in a thread, as it stands."""
    pages = [plain_text(page) for _, page in chat.messages(thread) if page.key.startswith("turn:")]
    words = " ".join(pages).split()
    return [int(word[1:]) for word in words if word[0] == "w" and word[1:].isdigit()]


async def passes(world: World, clock: FakeClock, seconds: float) -> None:
    end = clock.now() + seconds
    await world.until(lambda: clock.now() >= end, seconds=20)


# ── the end, and what comes after it ─────────────────────────────────────────────────────────────────


async def test_the_loud_end_stands_after_every_page_though_another_thread_streams(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = a_chat(clock, Budget(scope="chat", calls=12, seconds=12))
    ends: list[Step] = [*stream(30), *burst(30, 400), Emit(Result())]
    async with World(tmp_path, [ends, stream(900)], clock=clock, platforms=[chat], rendering=LOUD) as world:
        await chat.says("go")
        await passes(world, clock, 1)
        await chat.says("go", thread=chat.thread("c1", "t2"))
        await world.until(lambda: chat.shows("Done after") and len(numbers(chat)) >= 400, seconds=20)
        assert order(chat)[-1] == "Done"
        assert numbers(chat) == list(range(400))
        assert chat.refusals == 0


async def test_pages_that_are_new_do_not_wait_for_edits_and_the_end_waits_for_them(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = a_chat(clock, Budget(scope="chat", calls=1, seconds=10, kinds=("edit",)))
    ends: list[Step] = [*stream(30), *burst(30, 400), Emit(Result())]
    async with World(tmp_path, ends, clock=clock, platforms=[chat], rendering=LOUD) as world:
        await chat.says("go")
        await world.until(lambda: chat.shows("Done after") and len(numbers(chat)) >= 400, seconds=20)
        await world.quiet()
        assert order(chat)[-1] == "Done"
        assert numbers(chat) == list(range(400))
        whole = next(call.at for call in reversed(chat.calls) if call.what == "edit")
        last = next(call.at for call in reversed(chat.calls) if call.what == "post")
        assert last - whole < 1


async def test_the_next_turn_stands_below_every_page_of_the_one_before(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = a_chat(clock, Budget(scope="chat", calls=12, seconds=12))
    one: list[Step] = [*stream(30), *burst(30, 500), Emit(Result())]
    two: list[Step] = [*stream(60, first=9000), Emit(Result())]
    async with World(tmp_path, [one, two], clock=clock, platforms=[chat], rendering=LOUD) as world:
        await chat.says("one")
        await chat.says("two")
        await passes(world, clock, 1)
        await chat.says("x", thread=chat.thread("c1", "t2"))
        await world.until(lambda: {499, 9059} <= set(numbers(chat)), seconds=30)
        assert numbers(chat) == [*range(500), *range(9000, 9060)]


async def test_an_ask_does_not_wait_until_earlier_pages_are_tidy(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = a_chat(clock, Budget(scope="chat", calls=20, seconds=60))
    long: list[Step] = []
    for first in range(1000, 1480, 24):
        long += [*burst(first, first + 24), Pause(3.2)]
    ask = PermissionRequest("a1", title="rm", input={"command": "ls"})
    async with World(tmp_path, [*long, Emit(ask), Hang()], clock=clock, platforms=[chat], rendering=LOUD) as world:
        await chat.says("go")
        await world.until(lambda: any(chat.labels()) and chat.shows("The agent wants"), seconds=30)
        asked = (await world.store.asks.open((await world.store.sessions.recent(1))[0].id))[0].created_at
        shown = next(call.at for call in chat.calls if "The agent wants" in call.text)
        assert shown - asked < 8, shown - asked


# ── what does not work ───────────────────────────────────────────────────────────────────────────────


class Stumbling(FakePlatform):
    """A chat whose plugin raises what beambot does not know."""

    broken = False
    refusing = False

    async def edit(self, ref: MessageRef, message: Outgoing) -> None:
        if self.broken:
            raise OSError("connection reset")
        if self.refusing and message.key.startswith("turn:"):
            raise Refused("too odd")
        await super().edit(ref, message)


async def test_an_outage_the_plugin_does_not_know_costs_no_word_of_the_end(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = Stumbling(clock, capabilities=SMALL)
    script: list[Step] = [*stream(10), Pause(1), *burst(10, 60), Emit(Result())]
    async with World(tmp_path, script, clock=clock, platforms=[chat]) as world:
        await chat.says("go")
        await world.until(lambda: chat.shows("w5"))
        chat.broken = True
        await passes(world, clock, 50)
        chat.broken = False
        await world.until(lambda: numbers(chat) == list(range(60)), seconds=10)
        await world.quiet()
        assert chat.labels() == []
        assert await world.store.outbox.count() == 0


async def test_a_message_that_fails_for_minutes_is_given_up_and_told_of_but_holds_up_nobody(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = Stumbling(clock, capabilities=SMALL)
    script: list[Step] = [*stream(10), *burst(10, 60), Emit(Result())]
    async with World(tmp_path, script, clock=clock, platforms=[chat]) as world:
        await chat.says("go")
        await world.until(lambda: chat.shows("w5"))
        chat.broken = True
        await passes(world, clock, 10)
        await chat.says("/whoami", thread=chat.thread("c1", "t2"))
        began = clock.now()
        await world.until(lambda: chat.shows("You are", chat.thread("c1", "t2")))
        assert clock.now() - began < 8
        for _ in range(1500):
            if chat.shows("could not be shown"):
                break
            await clock.advance(1)
            await world.until(lambda: True)
        assert chat.shows("/last")
        assert 580 < clock.now() - began < 900
        await world.quiet()
        (told,) = [row for row in await world.store.audit.recent(5) if row.what == "not_shown"]
        assert told.detail["why"] == "connection reset"
        assert await world.store.outbox.count() == 0


async def test_a_page_whose_plain_form_is_refused_too_is_given_up_soon_and_told_of_once(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = Stumbling(clock, capabilities=SMALL)
    script: list[Step] = [*stream(10), *burst(10, 60), Emit(Result())]
    async with World(tmp_path, script, clock=clock, platforms=[chat]) as world:
        await chat.says("go")
        await world.until(lambda: chat.shows("w5"))
        chat.refusing = True
        began = clock.now()
        await world.until(lambda: chat.shows("could not be shown"))
        await world.quiet()
        assert clock.now() - began < 30
        assert len([text for text in chat.screen() if "could not be shown" in text]) == 1
        turn = (await world.store.turns.recent((await world.store.sessions.recent(1))[0].id, 1))[0].id
        assert chat.shows(f"/last {turn}")


async def test_that_something_could_not_be_shown_is_not_insisted_on(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = FakePlatform(clock, capabilities=SMALL)
    async with World(tmp_path, [Hang()], clock=clock, platforms=[chat]) as world:
        chat.faults = [Refused("no")] * 100
        await chat.says("/whoami")
        await world.until(lambda: any(lane.rows for lane in world.rooms.house.delivery.lanes))
        await world.quiet()
        given_up = [row for row in await world.store.audit.recent(9) if row.what == "not_shown"]
        assert len(given_up) == 2
        assert len(chat.faults) > 80
        assert chat.screen() == []


async def test_a_thread_whose_second_call_has_to_wait_does_not_hold_up_its_chat(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = a_chat(clock, Budget(scope="thread", calls=30, seconds=60, kinds=("post",)))
    async with World(tmp_path, stream(3000), clock=clock, platforms=[chat]) as world:
        await chat.says("go")
        await world.until(lambda: chat.shows("w5"))
        refuse_next_post(chat, RetryAfter(40))
        await world.rooms.house.say([chat.thread()], "hello")
        await world.until(lambda: chat.on_call is None)
        still_until = clock.now() + 39
        for ref, _ in chat.messages():
            chat.lose(ref)
        await passes(world, clock, 2)
        other, began = chat.thread("c1", "t2"), clock.now()
        await chat.says("go", thread=other)
        await world.until(lambda: chat.shows("w0", other))
        assert clock.now() - began < 3
        await world.until(lambda: chat.shows("w0"), seconds=20)
        assert clock.now() >= still_until


async def test_a_refused_form_is_not_tried_again_when_the_plain_one_has_to_wait(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = a_chat(clock, Budget(scope="chat", calls=1, seconds=10))
    tried: list[bool] = []
    async with World(tmp_path, [Hang()], clock=clock, platforms=[chat]) as world:
        chat.on_call = lambda call: tried.append(call.outgoing is not None and call.outgoing.plain)
        chat.faults = [Refused("odd")]
        await chat.says("/whoami")
        await world.until(lambda: chat.shows("You are"))
        assert tried == [False, True]


def refuse_next_post(chat: FakePlatform, error: RetryAfter) -> None:
    """The next new message is refused, whatever else goes out before it."""

    def refuse(call: Call) -> None:
        if call.what == "post":
            chat.on_call = None
            chat.faults = [error]

    chat.on_call = refuse


async def test_receipts_and_states_are_not_starved_where_they_are_counted(tmp_path: Path) -> None:
    clock = FakeClock()
    counted = replace(SMALL, reactions=True, reactions_counted=True)
    chat = a_chat(clock, Budget(scope="chat", calls=20, seconds=60), capabilities=counted)
    async with World(tmp_path, stream(900), clock=clock, platforms=[chat]) as world:
        message = await chat.says("go")
        await passes(world, clock, 50)
        assert chat.receipts[message][-1] == "working"
        assert chat.states[chat.thread().key] == ["working"]
        assert chat.refusals == 0


async def test_a_plugin_that_fails_to_tell_its_budgets_ends_no_lane(tmp_path: Path) -> None:
    clock = FakeClock()

    class Forgetful(FakePlatform):
        asked = 0

        def budgets(self, thread: ThreadRef) -> tuple[Budget, ...]:
            self.asked += 1
            if self.asked == 20:
                raise KeyError("a bug")
            return ()

    chat = Forgetful(clock, capabilities=SMALL)
    async with World(tmp_path, [*stream(50), Emit(Result())], clock=clock, platforms=[chat]) as world:
        await chat.says("go")
        await world.until(lambda: numbers(chat) == list(range(50)))
        assert chat.asked > 20


@pytest.mark.parametrize("small", [False, True])
async def test_a_lane_that_was_asked_to_be_still_before_a_restart_does_not_spin(
    tmp_path: Path, small: bool
) -> None:
    clock = FakeClock()
    chat = FakePlatform(clock, capabilities=replace(FULL, min_interval=3.0))
    async with World(tmp_path, [Hang()], clock=clock, platforms=[chat]) as world:
        await chat.says("/whoami")
        await world.until(lambda: chat.shows("You are"))
        await world.store.freezes.put("fake/c1", clock.now() + 5)
    async with World(tmp_path, [Hang()], clock=clock, platforms=[chat]) as world:
        delivery, here = world.rooms.house.delivery, chat.thread()
        steps = 0
        if small:
            for thread in (here, chat.thread("c1", "t2"), chat.thread("c1", "t3")):
                delivery.mark(thread, "idle")
        else:
            for number in range(3):
                await world.rooms.house.say([here], f"note {number}")
        (lane,) = delivery.lanes
        chosen = lane._choose

        def counted() -> object:
            nonlocal steps
            steps += 1
            if steps > 500:
                raise SystemExit("a lane spins")
            return chosen()

        lane._choose = counted  # type: ignore[method-assign,assignment]
        await passes(world, clock, 20)
        await world.quiet()
        assert steps < 30
        done: Sequence[object] = list(chat.states) if small else [text for text in chat.screen() if "note" in text]
        assert len(done) == 3
