"""A person can always stop it: while it starts, streams, asks, does not listen, or the chat is limited."""

from __future__ import annotations

from pathlib import Path

import anyio

from beambot.errors import RetryAfter
from beambot.model.bodies import AskOption, PermissionRequest, Result, TextDelta, ToolStarted
from beambot.model.settings import Limits
from beambot.testing.scripted import Emit, Hang, WaitAnswer
from beambot.testing.world import World

STREAMING = [Emit(TextDelta("One moment")), Emit(ToolStarted("t1", "Bash", title="sleep 99")), Hang()]
ASKING = [
    Emit(PermissionRequest("a1", "rm -rf build", options=(AskOption("y", "Allow", "allow_once"),))),
    WaitAnswer("a1"),
    Emit(Result()),
]


async def test_stop_while_starting_gives_the_prompt_back_as_cancelled(tmp_path: Path) -> None:
    async with World(tmp_path, STREAMING) as world:
        world.agent.open_gate = anyio.Event()
        message = await world.chat.says("go")
        await world.until(lambda: world.chat.states.get(world.chat.thread().key, [])[-1:] == ["working"])
        await world.chat.says("/stop")
        await world.sees("Stopped before it began.")
        assert world.agent.sessions == []
        await world.until(lambda: world.chat.receipts[message][-1] == "cancelled")

        world.agent.open_gate.set()
        await world.chat.says("now really")
        await world.sees("One moment")


async def test_stop_while_streaming_ends_the_turn_and_its_tools(tmp_path: Path) -> None:
    async with World(tmp_path, STREAMING) as world:
        await world.chat.says("go")
        await world.sees("sleep 99")
        await world.chat.presses("Stop")
        await world.sees("Stopped.")
        await world.quiet()
        assert world.chat.shows("– sleep 99")
        assert world.chat.labels() == ["Details"]


async def test_stop_while_asking_closes_the_card(tmp_path: Path) -> None:
    async with World(tmp_path, ASKING) as world:
        await world.chat.says("go")
        await world.sees("rm -rf build")
        await world.chat.says("/stop")
        await world.sees("Withdrawn")
        await world.quiet()
        assert "Allow" not in world.chat.labels()
        assert world.agent.last.answers == []


async def test_an_agent_that_does_not_listen_is_ended_after_the_grace_time(tmp_path: Path) -> None:
    async with World(tmp_path, STREAMING, limits=Limits(stop_grace_seconds=3)) as world:
        world.agent.ignores_interrupt = True
        await world.chat.says("go")
        await world.sees("sleep 99")
        await world.chat.says("/stop")
        await world.sees("Stopping…")
        await world.sees("did not react")
        await world.until(lambda: world.agent.last.closed)

        await world.chat.says("again")
        await world.until(lambda: len(world.agent.sessions) == 2)
        assert world.agent.last.resumed == world.agent.sessions[0].resumed or world.agent.last.resumed


async def test_stop_reaches_the_agent_while_the_chat_is_rate_limited(tmp_path: Path) -> None:
    async with World(tmp_path, STREAMING) as world:
        await world.chat.says("go")
        await world.sees("sleep 99")
        world.chat.faults = [RetryAfter(300)]
        await world.chat.says("/whoami")
        await world.until(lambda: not world.chat.faults)
        await world.chat.says("/stop")
        await world.until(lambda: "interrupt" in world.agent.last.calls)


async def test_stop_drops_what_is_queued_and_offers_it_back(tmp_path: Path) -> None:
    async with World(tmp_path, [STREAMING, [Emit(TextDelta("second done")), Emit(Result())]]) as world:
        await world.chat.says("first")
        await world.sees("sleep 99")
        second = await world.chat.says("second")
        await world.until(lambda: world.chat.receipts.get(second, [])[-1:] == ["queued"])
        await world.chat.says("/stop")
        await world.sees("1 queued prompt was dropped too.")
        await world.chat.presses("Send: second")
        await world.sees("second done")


async def test_stop_with_nothing_running_says_so(tmp_path: Path) -> None:
    async with World(tmp_path, [Emit(Result())]) as world:
        await world.chat.says("hello")
        await world.sees("ended without a word")
        await world.chat.says("/stop")
        await world.sees("Nothing is running here.")
