"""A chat that refuses, limits, forgets or disappears loses nothing and slows nobody else."""

from __future__ import annotations

from pathlib import Path

import anyio
from msgspec.structs import replace

from beambot.errors import Refused, RetryAfter, ThreadGone, Unreachable
from beambot.model.bodies import Result, TextDelta
from beambot.model.capabilities import Budget
from beambot.testing.clock import FakeClock
from beambot.testing.platform import FULL, FakePlatform
from beambot.testing.scripted import Emit, Pause
from beambot.testing.world import World


def stream(words: int, pause: float = 0.05) -> list[object]:
    steps: list[object] = []
    for number in range(words):
        steps += [Emit(TextDelta(f"w{number} ")), Pause(pause)]
    return [*steps, Emit(Result())]


def whole(chat: FakePlatform, words: int) -> bool:
    text = " ".join(chat.screen()).split()
    return [word for word in text if word.startswith("w") and word[1:].isdigit()] == [
        f"w{number}" for number in range(words)
    ]


async def test_a_rate_limit_is_obeyed_to_the_second_and_nothing_is_lost(tmp_path: Path) -> None:
    async with World(tmp_path, stream(40)) as world:
        await world.chat.says("go")
        await world.sees("w0")
        world.chat.faults = [RetryAfter(30)]
        await world.until(lambda: not world.chat.faults)
        refused_at = world.clock.now()
        calls = len(world.chat.calls)
        await world.until(lambda: len(world.chat.calls) > calls)
        assert world.chat.calls[calls].at >= refused_at + 29.9
        await world.until(lambda: whole(world.chat, 40))


async def test_a_limited_chat_earns_no_refusal_at_all(tmp_path: Path) -> None:
    clock = FakeClock()
    limit = Budget(scope="chat", calls=20, seconds=60)
    chat = FakePlatform(clock, capabilities=replace(FULL, budgets=(limit,), reactions=False), limit=limit)
    async with World(tmp_path, stream(600, 0.1), clock=clock, platforms=[chat]) as world:
        await world.chat.says("go")
        await world.until(lambda: whole(world.chat, 600), seconds=30)
        assert world.chat.refusals == 0


async def test_an_outage_of_a_minute_delays_and_loses_nothing(tmp_path: Path) -> None:
    async with World(tmp_path, stream(60)) as world:
        clock = world.clock
        assert isinstance(clock, FakeClock)
        await world.chat.says("go")
        await world.sees("w0")
        world.chat.down = True
        started = clock.now()
        await world.until(lambda: clock.now() - started > 60, seconds=20)
        world.chat.down = False
        back = clock.now()
        await world.until(lambda: whole(world.chat, 60))
        assert clock.now() - back <= 10


async def test_refused_markup_is_sent_as_plain_text_at_once(tmp_path: Path) -> None:
    async with World(tmp_path, [Emit(TextDelta("*half* [open")), Emit(Result())]) as world:
        world.chat.faults = [Refused("cannot parse")]
        await world.chat.says("go")
        await world.sees("*half* [open")
        await world.quiet()
        assert world.chat.calls[0].outgoing is not None
        assert world.chat.calls[0].outgoing.plain


async def test_a_message_that_somebody_deleted_is_posted_again(tmp_path: Path) -> None:
    async with World(tmp_path, stream(30)) as world:
        await world.chat.says("go")
        await world.sees("w0")
        world.chat.lose(world.chat.messages()[0][0])
        await world.until(lambda: whole(world.chat, 30))
        await world.quiet()
        assert len(world.chat.screen()) == 1


async def test_a_thread_that_is_gone_is_parked_until_somebody_writes_there(tmp_path: Path) -> None:
    async with World(tmp_path, [Emit(TextDelta("hello")), Emit(Result())]) as world:
        world.chat.faults = [ThreadGone("kicked")]
        await world.chat.says("go")
        await world.until(lambda: not world.chat.faults)
        await world.until(lambda: all(lane.quiet for lane in world.rooms.house.delivery.lanes))
        assert world.chat.screen() == []
        await world.chat.says("/whoami")
        await world.sees("You are user1")
        await world.sees("hello")


async def test_an_answer_whose_delivery_is_unknown_is_marked_when_it_is_repeated(tmp_path: Path) -> None:
    async with World(tmp_path, [Emit(Result(outcome="error", error="no credit"))]) as world:
        await world.chat.says("go")
        world.chat.faults = [Unreachable("timed out", maybe_done=True)]
        await world.sees("no credit")
        await world.quiet()
        assert world.chat.shows("this may stand here twice")


async def test_a_message_no_chat_takes_is_given_up_and_audited(tmp_path: Path) -> None:
    async with World(tmp_path, [Emit(TextDelta("hello")), Emit(Result())]) as world:
        world.chat.faults = [Refused("too odd")] * 40
        await world.chat.says("go")
        with anyio.fail_after(10):
            while not (given_up := [r for r in await world.store.audit.recent(5) if r.what == "not_shown"]):
                await world.clock.advance(0.5)  # type: ignore[attr-defined]
        assert given_up[0].detail["why"] == "too odd"
        world.chat.faults.clear()
        await world.chat.says("/whoami")
        await world.sees("You are user1")


async def test_a_slow_chat_slows_no_other_chat_and_not_the_agent(tmp_path: Path) -> None:
    clock = FakeClock()
    slow, quick = FakePlatform(clock, name="slow"), FakePlatform(clock, name="quick")
    async with World(tmp_path, stream(20, 0.01), clock=clock, platforms=[quick, slow]) as world:
        slow.down = True
        await slow.says("go")
        await quick.says("go")
        await world.until(lambda: whole(quick, 20))
        assert slow.screen() == []
        slow.down = False
        await world.until(lambda: whole(slow, 20))


async def test_a_long_answer_is_split_whole_and_in_order(tmp_path: Path) -> None:
    async with World(tmp_path, stream(3000, 0.0)) as world:
        await world.chat.says("go")
        await world.until(lambda: whole(world.chat, 3000), seconds=10)
        await world.quiet()
        assert len(world.chat.screen()) > 3
        assert all(len(text) <= 4000 for text in world.chat.screen())


async def test_a_thread_that_is_gone_is_told_of_in_the_others_that_show_the_session(tmp_path: Path) -> None:
    async with World(tmp_path, stream(5)) as world:
        await world.chat.says("go")
        await world.until(lambda: whole(world.chat, 5))
        await world.quiet()
        (session,) = await world.store.sessions.recent()
        other = world.chat.thread("c2")
        await world.chat.says(f"/resume {session.id}", thread=other)
        await world.until(lambda: world.chat.shows("goes on here", other))
        await world.quiet()
        world.chat.faults = [ThreadGone("beambot was removed from the group")]
        await world.chat.says("/status")
        await world.until(lambda: world.chat.shows("removed from the group", other))
        assert not world.chat.shows("removed from the group")
