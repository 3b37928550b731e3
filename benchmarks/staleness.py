"""How old the text is that a person does not see yet, while a chat allows only so many calls.

The work: 1,200 deltas of 30 characters at 20 a second, in 11 blocks with a tool call between two. Staleness is the
age of the oldest text that was said and does not stand in the chat, sampled each 100 ms while the stream runs. The
optimum shows everything every `i` seconds: a mean of i/2 and a p95 of 0.95 i. Time is a FakeClock, and the chat
answers at once, so the figures show the pace alone.
"""

from __future__ import annotations

import re
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from msgspec.structs import replace

from beambot.model.capabilities import Budget
from beambot.model.ids import ThreadRef
from beambot.model.outbound import Markdown
from beambot.store.connection import Connection
from beambot.testing.clock import FakeClock
from beambot.testing.platform import FULL, FakePlatform
from beambot.testing.world import World
from benchmarks.figures import Figure, percentile
from benchmarks.streams import even, script, texts

EVENTS = even()
SAID = texts(EVENTS)
MARK = re.compile(r"<(\d{5})>")
KINDS = {
    "private": (1.0, Budget(scope="chat", calls=3, seconds=3.0)),
    "group": (3.0, Budget(scope="chat", calls=20, seconds=60.0)),
}


def measure() -> list[Figure]:
    figures: list[Figure] = []
    for kind, (interval, limit) in KINDS.items():
        figures += anyio.run(_measure, kind, interval, limit)
    return figures


class Busy:
    """Counts what is on its way to the database's threads: time stands still until it has come back."""

    def __init__(self) -> None:
        self.calls = 0
        self._plain = Connection.call

    def __enter__(self) -> Busy:
        busy, plain = self, self._plain

        async def call(self: Connection, work: Callable[[sqlite3.Connection], Any]) -> Any:
            busy.calls += 1
            try:
                return await plain(self, work)
            finally:
                busy.calls -= 1

        Connection.call = call  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        Connection.call = self._plain  # type: ignore[method-assign]

    async def over(self) -> None:
        """Until nothing more follows from what has happened so far."""
        still = 0
        while still < 10:
            await anyio.sleep(0.0002 if self.calls else 0)
            still = 0 if self.calls else still + 1


class StillClock(FakeClock):
    """Moves on when all that follows from a moment has happened in it, in the database too."""

    def __init__(self, busy: Busy) -> None:
        super().__init__()
        self._busy = busy

    async def _settle(self) -> None:  # type: ignore[override]
        await self._busy.over()


class Eyes:
    """What a person has seen of one thread: the first delta that does not stand there yet."""

    def __init__(self, chat: FakePlatform, said_at: list[float], thread: ThreadRef | None = None) -> None:
        self.first_missing = 0
        self.said_at = said_at
        self._chat = chat
        self._thread = thread or chat.thread()
        self._read = 0
        self._seen: set[int] = set()

    def look(self) -> bool:
        """Whether something is still missing."""
        for call in self._chat.calls[self._read :]:
            if call.thread == self._thread:
                self._seen.update(int(mark) for mark in MARK.findall(call.text))
        self._read = len(self._chat.calls)
        while self.first_missing in self._seen:
            self.first_missing += 1
        return self.first_missing < len(self.said_at)

    def age(self, now: float) -> float:
        """Of the oldest text that was said and is not shown."""
        said_at, first = self.said_at, self.first_missing
        return max(0.0, now - said_at[first]) if first < len(said_at) else 0.0


async def begun(world: World, sessions: int) -> None:
    """Until so many agents have their prompt: opening one takes real time, in which the clock stands still."""
    while sum(bool(session.prompts) for session in world.agent.sessions) < sessions:  # noqa: ASYNC110
        await anyio.sleep(0.001)


async def _measure(kind: str, interval: float, limit: Budget) -> list[Figure]:
    busy = Busy()
    clock = StillClock(busy)
    chat = FakePlatform(clock, capabilities=replace(FULL, min_interval=interval, budgets=(limit,)), limit=limit)
    with tempfile.TemporaryDirectory() as folder, busy:
        async with World(Path(folder), script(EVENTS), clock=clock, platforms=[chat]) as world:
            await world.chat.says("go")
            await begun(world, 1)
            await busy.over()
            eyes = Eyes(chat, [clock.now() + at for at, _ in SAID])
            ages, complete = await _watch(clock, eyes)
            while not all(lane.quiet for lane in world.rooms.house.delivery.lanes):
                await clock.advance(0.1)
            intact = _words(chat) == "".join(text for _, text in SAID)
    made = [call.what for call in chat.calls]
    sent = f"{made.count('post')} posts, {made.count('edit')} edits"
    mean, p95 = sum(ages) / len(ages), percentile(ages, 0.95)
    note = f"{mean:.2f} s mean, {p95:.2f} s p95, {sent}"
    values = {
        "mean": (mean / (interval / 2), "x_optimum", 1.1),
        "p95": (p95 / (0.95 * interval), "x_optimum", 1.15),
        "complete": (complete, "s", interval + 0.1),
        "refusals": (float(chat.refusals), "calls", 0.0),
        "broken": (float(not intact), "answers", 0.0),
    }
    return [
        Figure(f"staleness_{kind}_{name}", value, unit, budget, note=note)
        for name, (value, unit, budget) in values.items()
    ]


async def _watch(clock: FakeClock, eyes: Eyes) -> tuple[list[float], float]:
    """The ages while the stream runs, and the seconds from the last delta until everything is shown."""
    ages: list[float] = []
    while eyes.look():
        now = clock.now()
        if now > eyes.said_at[-1] + 600:
            raise AssertionError(f"delta {eyes.first_missing} was never shown")
        if now <= eyes.said_at[-1]:
            ages.append(eyes.age(now))
        await clock.advance(0.1)
    return ages, clock.now() - eyes.said_at[-1]


def _words(chat: FakePlatform) -> str:
    pages = [outgoing for _, outgoing in chat.messages() if outgoing.key.startswith("turn:")]
    blocks = [block for page in pages for block in page.blocks]
    return "".join(block.text[block.skip :] for block in blocks if isinstance(block, Markdown))
