"""One prompt at a time; the others wait in order, visibly, and can be taken back."""

from __future__ import annotations

from pathlib import Path

import anyio
from msgspec.structs import replace

from beambot.model.bodies import Result, TextDelta
from beambot.model.settings import Limits
from beambot.testing.scripted import Emit, WaitFor
from beambot.testing.world import World


def answers(*texts: str, gate: anyio.Event) -> list[list[object]]:
    return [[WaitFor(gate), Emit(TextDelta(text)), Emit(Result())] for text in texts]


async def test_three_prompts_in_a_row_run_in_order(tmp_path: Path) -> None:
    gate = anyio.Event()
    async with World(tmp_path, answers("one done", "two done", "three done", gate=gate)) as world:
        first = await world.chat.says("one")
        second = await world.chat.says("two")
        third = await world.chat.says("three")
        await world.until(lambda: world.chat.receipts.get(third, [])[-1:] == ["queued"])
        await world.until(lambda: world.agent.sessions and world.agent.last.prompts)
        assert [prompt.text for prompt in world.agent.last.prompts] == ["one"]

        gate.set()
        await world.sees("three done")
        await world.quiet()
        assert [prompt.text for prompt in world.agent.last.prompts] == ["one", "two", "three"]
        screen = world.chat.screen()
        places = [next(i for i, m in enumerate(screen) if f"{n} done" in m) for n in ("one", "two", "three")]
        assert places == sorted(places)
        assert [world.chat.receipts[m][-1] for m in (first, second, third)] == ["done"] * 3


async def test_a_queued_prompt_can_be_seen_changed_and_taken_back(tmp_path: Path) -> None:
    gate = anyio.Event()
    async with World(tmp_path, answers("one done", "two done", gate=gate)) as world:
        world.agent.capabilities = replace(world.agent.capabilities, steer=False)
        await world.chat.says("one")
        await world.until(lambda: world.agent.sessions and world.agent.last.prompts)
        second = await world.chat.says("two")
        third = await world.chat.says("three")
        await world.until(lambda: world.chat.receipts.get(third, [])[-1:] == ["queued"])
        await world.chat.says("/queue")
        await world.sees("1.: two\n2.: three")
        await world.chat.corrects(second, "two, but better")
        await world.sees("The queued prompt was changed.")
        await world.chat.presses("Drop 2")
        await world.sees("Dropped: three")
        gate.set()
        await world.sees("two done")
        assert [prompt.text for prompt in world.agent.last.prompts] == ["one", "two, but better"]


async def test_a_deleted_message_takes_its_queued_prompt_back(tmp_path: Path) -> None:
    gate = anyio.Event()
    async with World(tmp_path, answers("one done", gate=gate)) as world:
        await world.chat.says("one")
        second = await world.chat.says("two")
        await world.until(lambda: world.chat.receipts.get(second, [])[-1:] == ["queued"])
        await world.chat.takes_back(second)
        await world.sees("taken back")
        gate.set()
        await world.sees("one done")
        assert [prompt.text for prompt in world.agent.last.prompts] == ["one"]


async def test_a_full_queue_refuses_with_a_reason(tmp_path: Path) -> None:
    gate = anyio.Event()
    limits = Limits(queue_per_session=2)
    async with World(tmp_path, answers("done", gate=gate), limits=limits) as world:
        await world.chat.says("one")
        await world.until(lambda: world.agent.sessions and world.agent.last.prompts)
        for text in ("two", "three", "four"):
            await world.chat.says(text)
        await world.sees("2 prompts wait already")
        gate.set()
        await world.until(lambda: len(world.agent.last.prompts) == 3)


async def test_an_agent_that_listens_hears_a_prompt_in_mid_turn(tmp_path: Path) -> None:
    gate = anyio.Event()
    async with World(tmp_path, answers("done", gate=gate)) as world:
        world.agent.takes_steering = True
        await world.chat.says("one")
        await world.until(lambda: world.agent.sessions and world.agent.last.prompts)
        await world.chat.says("and mind the tests")
        await world.until(lambda: [p.text for p in world.agent.last.steered] == ["and mind the tests"])
        gate.set()
        await world.sees("done")
        await world.quiet()
        assert [prompt.text for prompt in world.agent.last.prompts] == ["one"]


async def test_the_same_update_twice_runs_once(tmp_path: Path) -> None:
    gate = anyio.Event()
    gate.set()
    async with World(tmp_path, answers("done", gate=gate)) as world:
        await world.chat.says("one", update="u-77")
        await world.chat.says("one", update="u-77")
        await world.sees("done")
        await world.quiet()
        assert len(world.agent.last.prompts) == 1
