"""How long a press takes through beambot: from the inbox to the agent, with a thousand open asks."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import anyio
import anyio.to_thread

from beambot.clock import SystemClock
from beambot.model.bodies import AskOption, PermissionRequest, Result
from beambot.model.ids import MessageRef
from beambot.model.ports import Answer
from beambot.model.settings import Limits
from beambot.testing.scripted import Emit, ScriptedSession, Step, WaitAnswer
from beambot.testing.world import World
from benchmarks.figures import Figure, percentile

ASKS = 1000
WARM_UP = 20
CONTROL = "p99 of a bare thread hop and synced write between the presses: high, and the machine was busy"
OPTIONS = (AskOption("yes", "Allow", "allow_once"), AskOption("no", "Deny", "reject_once"))
SCRIPT: list[Step] = [
    Emit(PermissionRequest("a1", "make test", kind="execute", input={"command": "make test"}, options=OPTIONS)),
    WaitAnswer("a1"),
    Emit(Result()),
]


def measure() -> list[Figure]:
    return anyio.run(_measure)


async def _measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        limits = Limits(sessions=2 * ASKS)
        async with World(Path(folder), SCRIPT, clock=SystemClock(), limits=limits) as world:
            for number in range(ASKS):
                await world.chat.says("go", thread=world.chat.thread(f"c{number}"))
            cards = await _cards(world)
            times, controls = await _press_all(world, cards, Path(folder) / "control")
    how = f"{ASKS} open asks, pressed one after the other; the commits to this disk are in it"
    return [
        Figure("press_to_agent_p50", percentile(times, 0.50), "ms", 5.0, binding=False, note=how),
        Figure("press_to_agent", percentile(times, 0.99), "ms", 5.0, note=f"p99; {how}"),
        Figure("press_control", percentile(controls, 0.99), "ms", 5.0, binding=False, note=CONTROL),
    ]


async def _cards(world: World) -> list[tuple[MessageRef, str]]:
    """Wait until every card stands; gives each with the data of its Allow button."""
    with anyio.fail_after(150):
        while True:
            found = [
                (ref, button.data)
                for ref, outgoing in world.chat._messages.items()
                for row in outgoing.buttons
                for button in row
                if button.label == "Allow"
            ]
            if len(found) == ASKS and all(lane.quiet for lane in world.rooms.house.delivery.lanes):
                return found
            await anyio.sleep(0.1)


async def _press_all(
    world: World, cards: list[tuple[MessageRef, str]], control: Path
) -> tuple[list[float], list[float]]:
    """Milliseconds of each press, and of the control after it."""
    arrived = anyio.Event()
    at = 0.0
    plain = ScriptedSession.answer

    async def answer(self: ScriptedSession, answer: Answer) -> bool:
        nonlocal at
        at = time.perf_counter()
        arrived.set()
        return await plain(self, answer)

    ScriptedSession.answer = answer  # type: ignore[method-assign]
    times, controls = [], []
    for ref, data in cards:
        arrived = anyio.Event()
        begun = time.perf_counter()
        await world.chat.press_data(ref, data)
        with anyio.fail_after(10):
            await arrived.wait()
        times.append((at - begun) * 1000)
        # A person is slower than this: what follows an answer is let through before the next press.
        await anyio.sleep(0.005)
        begun = time.perf_counter()
        await anyio.to_thread.run_sync(_write_synced, control)
        controls.append((time.perf_counter() - begun) * 1000)
    return times[WARM_UP:], controls[WARM_UP:]


def _write_synced(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        file.write(b"\0" * 4096)
        os.fdatasync(file.fileno())
