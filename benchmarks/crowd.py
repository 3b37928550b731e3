"""A thousand sessions that stream at once through the whole flow, onto a real database."""

from __future__ import annotations

import gc
import resource
import tempfile
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import anyio
from msgspec.structs import replace

from beambot.clock import SystemClock
from beambot.model.bodies import Result, TextDelta
from beambot.model.ids import MessageRef, ThreadRef
from beambot.model.outbound import AnyOutBlock, Markdown, Outgoing
from beambot.model.settings import Limits
from beambot.testing.platform import FULL, Call, FakePlatform
from beambot.testing.scripted import Emit, Pause, Step, WaitFor
from beambot.testing.world import World, eventually
from benchmarks.figures import Figure
from platforms.telegram import outbound

SESSIONS = 1000
PER_SECOND = 20
SECONDS = 8
STRETCH = "time taken ÷ time scripted: over 1, agents had to wait to be read"
LATE_AFTER = 2 * FULL.min_interval + 0.5
DELTAS = [f"{n:05d} lorem ipsum dolor sit{'' if n % 8 else chr(10)}".ljust(30) for n in range(PER_SECOND * SECONDS)]


class Watch:
    """When each lane showed something. It keeps no text, so that memory is beambot's own."""

    def __init__(self, chat: FakePlatform) -> None:
        self.times: dict[ThreadRef, list[float]] = defaultdict(list)
        self._chat = chat
        chat.on_call = self._note

    def _note(self, call: Call) -> None:
        self.times[call.thread].append(time.monotonic())
        self._chat.calls.clear()

    def longest_gaps(self, begun: float, ended: float) -> list[float]:
        """For each lane, from the first delta to the last."""
        gaps = []
        for times in self.times.values():
            marks = [begun, *(at for at in times if begun < at < ended), ended]
            gaps.append(max(after - before for before, after in pairwise(marks)))
        return gaps


class DrawingChat(FakePlatform):
    """A chat in memory that draws every message for real, as one of the largest would have it."""

    def measure(self, block: AnyOutBlock) -> int:
        return outbound.measure(block)

    async def post(self, thread: ThreadRef, message: Outgoing) -> MessageRef:
        outbound.payload(message)
        return await super().post(thread, message)

    async def edit(self, ref: MessageRef, message: Outgoing) -> None:
        outbound.payload(message)
        await super().edit(ref, message)


class Metronome(SystemClock):
    """Agents that keep time: a late word is followed by a shorter pause, as of an agent that writes on."""

    def __init__(self) -> None:
        self.pauses = 0
        self._due: dict[int, float] = {}

    async def sleep(self, seconds: float) -> None:
        now, who = self.monotonic(), anyio.get_current_task().id
        due = self._due[who] = self._due.get(who, now) + seconds
        await anyio.sleep(max(0.0, due - now))
        self.pauses += 1


def measure() -> list[Figure]:
    return anyio.run(_measure)


async def _measure() -> list[Figure]:
    gate, end = anyio.Event(), anyio.Event()
    script: list[Step] = [WaitFor(gate)]
    for delta in DELTAS:
        script += [Emit(TextDelta(delta)), Pause(1 / PER_SECOND)]
    script += [WaitFor(end), Emit(Result())]
    agents = Metronome()
    with tempfile.TemporaryDirectory() as folder:
        limits = Limits(sessions=2 * SESSIONS)
        clock = SystemClock()
        chat = DrawingChat(clock, capabilities=replace(FULL, text_limit=4096, text_unit="utf16"))
        async with World(Path(folder), script, clock=clock, limits=limits, platforms=[chat]) as world:
            world.agent.clock = agents
            watch = Watch(world.chat)
            threads = [world.chat.thread(f"c{n}") for n in range(SESSIONS)]
            gc.collect()
            before = _rss_kib()
            await _prompt_all(world, threads)
            begun, cpu = time.monotonic(), _cpu()
            gate.set()
            peak = await _until_played(agents)
            ended, used = time.monotonic(), _cpu() - cpu
            end.set()
            await _until_shown(world)
            finished = time.monotonic()
            _check_words(world, threads)
    nominal = float(SECONDS)
    gaps = watch.longest_gaps(begun, ended)
    late = sum(gap > LATE_AFTER for gap in gaps) / SESSIONS
    how = f"{SESSIONS} sessions, {PER_SECOND} deltas/s each, {SECONDS} s; agents and chat in the same process"
    return [
        Figure("sessions_1000_cores", used / nominal, "cores", 2.0, note=how),
        Figure(
            "sessions_1000_stretch", (ended - begun) / nominal, "x_time", 1.1, note="time taken ÷ time scripted"
        ),
        Figure("sessions_1000_share_late", late, "share", 0.01, note=f"longest gap over {LATE_AFTER:g} s"),
        Figure("sessions_1000_gap_max", max(gaps), "s", LATE_AFTER, binding=False, note="the slowest lane"),
        Figure("sessions_1000_finish", finished - ended, "s", 10.0, binding=False, note="all turns end at once"),
        Figure("sessions_1000_memory", (peak - before) / SESSIONS, "KiB", 300.0, note="growth of RSS a session"),
    ]


async def _prompt_all(world: World, threads: list[ThreadRef]) -> None:
    """Every agent has its prompt and waits at the gate."""
    for thread in threads:
        await world.chat.says("go", thread=thread)
    await eventually(lambda: sum(bool(one.prompts) for one in world.agent.sessions) == SESSIONS, seconds=120)
    await anyio.sleep(1.0)


async def _until_played(agents: Metronome) -> int:
    """Until the last agent has said its last word; gives the most memory seen."""
    peak = _rss_kib()
    with anyio.fail_after(SECONDS * 10):
        while agents.pauses < SESSIONS * len(DELTAS):
            peak = max(peak, _rss_kib())
            await anyio.sleep(0.05)
    return peak


async def _until_shown(world: World) -> None:
    rooms = world.rooms
    await eventually(lambda: not any(map(rooms.sessions.running, rooms.sessions.alive())), seconds=60)
    await eventually(lambda: all(lane.quiet for lane in rooms.house.delivery.lanes), seconds=60)


def _check_words(world: World, threads: list[ThreadRef]) -> None:
    """Every word of every agent stands in its own thread, once and in order; else there is no figure."""
    shown: dict[ThreadRef, str] = defaultdict(str)
    for ref, outgoing in world.chat._messages.items():
        shown[ref.thread] += "".join(_said(block) for block in outgoing.blocks)
    whole = "".join(DELTAS)
    broken = [thread.key for thread in threads if shown[thread] != whole]
    if broken:
        raise AssertionError(f"{len(broken)} of {SESSIONS} answers are not intact, the first in {broken[0]}")


def _said(block: AnyOutBlock) -> str:
    return block.text[block.skip :] if isinstance(block, Markdown) else ""


def _rss_kib() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
