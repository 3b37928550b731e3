"""How old unseen text gets under each platform's published budgets, with one session or several in one scope.

Staleness is the age of the oldest text that was said and does not stand in the chat, sampled each 100 ms while the
stream runs, over all sessions. The optimum: where a scope allows one call every `i` seconds and `k` sessions stream
at once, each has a turn every k·i seconds, which shows all that is new. On the even work that is a mean of k·i/2
and a p95 of 0.95·k·i. The other works pause, and what is best depends on when; there the figure is set against the
same policy, played: a call as soon as something is unseen and the last is `i` seconds past, for the session that
has waited longest. Its `i` is the one that beambot keeps to (a few percent more, for safety: the even work shows
what that costs), since a work that repeats itself beats with the calls. A scope that each session has for itself
has k = 1 whatever their number. Time is a FakeClock that waits for the database, and the chat answers at once.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path

import anyio
from msgspec import Struct
from msgspec.structs import replace

from beambot.flow.delivery import queue
from beambot.model.capabilities import Budget, CallKind, PlatformCapabilities
from beambot.model.ids import ThreadRef
from beambot.model.outbound import Markdown
from beambot.model.settings import Limits
from beambot.render import pace
from beambot.testing.clock import FakeClock
from beambot.testing.platform import FULL, FakePlatform
from beambot.testing.streaming import StreamingPlatform
from beambot.testing.world import World
from benchmarks import streams
from benchmarks.figures import Figure, percentile
from benchmarks.staleness import Busy, Eyes, StillClock, begun
from benchmarks.streams import Event
from platforms.discord import limits as discord
from platforms.slack import limits as slack
from platforms.telegram import limits as telegram

SESSIONS = (1, 2, 3, 5)
STEP = 0.1


class Chat(Struct, frozen=True):
    """A chat's limits, the seconds between two calls they come to, and where its sessions stand."""

    name: str
    capabilities: PlatformCapabilities
    budgets: tuple[Budget, ...]
    interval: float
    shared: bool = True
    one_chat: bool = True
    page: int = 0
    kind: CallKind = "edit"

    @property
    def guarded(self) -> float:
        """The seconds between two calls that are spread evenly and keep a call in reserve."""
        return max(pace.bucket(budget).even for budget in self.budgets if budget.counts(self.kind))


# Three sessions say more of the even work in their turn than 4,096 units; a rich message holds it.
RICH = 32_768
CHATS = (
    Chat("telegram_private", telegram.CAPABILITIES, telegram.PRIVATE, 1.0, page=RICH),
    Chat("telegram_group", telegram.CAPABILITIES, telegram.GROUP, 3.0, page=RICH),
    Chat("discord", discord.CAPABILITIES, discord.BUDGETS, 1.0, shared=False),
    Chat("slack_edits", slack.CAPABILITIES, slack.BUDGETS, 1.2, one_chat=False),
    Chat("slack_stream", slack.CAPABILITIES, slack.BUDGETS, 0.6, one_chat=False, kind="append"),
)
WORKS = {
    "even": streams.even(),
    "bursts": streams.bursts(),
    "many_tools": streams.recorded("many_tools"),
    "one_tool": streams.recorded("one_tool"),
}


class Outcome(Struct, frozen=True):
    """What was measured in one run."""

    ages: list[float]
    complete: float
    refusals: int
    broken: int
    calls: int

    @property
    def mean(self) -> float:
        return sum(self.ages) / len(self.ages)


def limited(clock: FakeClock, chat: Chat) -> FakePlatform:
    """A chat that keeps to what it publishes, and refuses the rest."""
    capabilities = replace(
        FULL,
        text_limit=chat.page or chat.capabilities.text_limit,
        min_interval=chat.capabilities.min_interval,
        budgets=chat.budgets,
    )
    kind = StreamingPlatform if chat.kind == "append" else FakePlatform
    return kind(clock, capabilities=capabilities, limit=chat.budgets)


def measure() -> list[Figure]:
    figures = [figure for chat in CHATS for figure in _figures(chat)]
    return [*figures, *_pauses()]


def _pauses() -> Iterator[Figure]:
    """What it gives to send what is unseen when a stream pauses: the mean age with it ÷ the mean age without."""
    for chat in CHATS:
        for work in ("bursts", "even"):
            seen = anyio.run(play, chat, WORKS[work], 1).mean
            with _unaware_of_pauses():
                unaware = anyio.run(play, chat, WORKS[work], 1).mean
            note = f"{seen:.3f} s with it, {unaware:.3f} s without"
            yield Figure(f"{chat.name}_pauses_{work}", seen / unaware, "x_without", 1.0, note=note)


@contextmanager
def _unaware_of_pauses() -> Iterator[None]:
    known = queue.pause_at
    queue.pause_at = lambda turn, heard_at: inf
    try:
        yield
    finally:
        queue.pause_at = known


def _figures(chat: Chat) -> Iterator[Figure]:
    for work, events in WORKS.items():
        for count in SESSIONS:
            outcome = anyio.run(play, chat, events, count)
            sharing = count if chat.shared else 1
            turn = sharing * chat.interval
            best = turn / 2 if work == "even" else optimum(events, sharing, chat.guarded)
            p95 = percentile(outcome.ages, 0.95)
            note = f"{outcome.mean:.2f} s mean, {p95:.2f} s p95, {outcome.calls} calls"
            name = f"{chat.name}_{work}_{count}"
            yield Figure(f"{name}_mean", outcome.mean / best, "x_optimum", 1.1, note=note)
            if work == "even":
                yield Figure(f"{name}_p95", p95 / (0.95 * turn), "x_optimum", 1.15, note=note)
            yield Figure(
                f"{name}_faults", outcome.refusals + outcome.broken, "faults", 0, note="refusals + not intact"
            )


def optimum(events: list[Event], count: int, interval: float) -> float:
    """The mean age of text when one call every `interval` seconds shows all that is new to who waits longest."""
    news = [at for at, _ in events]
    said = [at for at, _ in streams.texts(events)]
    shown: list[list[float]] = [[] for _ in range(count)]
    unseen, free = [0] * count, 0.0
    while min(unseen) < len(news):
        waiting = [number for number in range(count) if unseen[number] < len(news)]
        who = min(waiting, key=lambda number: news[unseen[number]])
        at = max(free, news[unseen[who]])
        unseen[who] = bisect_right(news, at)
        shown[who].append(at)
        free = at + interval
    moments = [number * STEP for number in range(int(said[-1] / STEP) + 1)]
    ages = 0.0
    for times in shown:
        for now in moments:
            calls = bisect_right(times, now)
            first = bisect_right(said, times[calls - 1]) if calls else 0
            ages += max(0.0, now - said[first]) if first < len(said) else 0.0
    return ages / (count * len(moments))


async def play(chat: Chat, events: list[Event], count: int) -> Outcome:
    """So many sessions say the same at the same time."""
    busy = Busy()
    clock = StillClock(busy)
    platform = limited(clock, chat)
    said = streams.texts(events)
    threads = [
        platform.thread("c1", f"t{number}") if chat.one_chat else platform.thread(f"c{number}")
        for number in range(count)
    ]
    limits = Limits(sessions=2 * count)
    with tempfile.TemporaryDirectory() as folder, busy:
        world = World(Path(folder), streams.script(events), clock=clock, platforms=[platform], limits=limits)
        async with world:
            for thread in threads:
                await platform.says("go", thread=thread)
            await begun(world, count)
            await busy.over()
            eyes = [Eyes(platform, [clock.now() + at for at, _ in said], thread) for thread in threads]
            ages, complete = await _watch(clock, eyes)
            while not all(each.quiet for each in world.rooms.house.delivery.lanes):
                await clock.advance(STEP)
            whole = "".join(text for _, text in said)
            broken = sum(_words(platform, thread) != whole for thread in threads)
    return Outcome(ages, complete, platform.refusals, broken, len(platform.calls))


async def _watch(clock: FakeClock, eyes: list[Eyes]) -> tuple[list[float], float]:
    """The ages while the streams run, and the seconds from the last delta until everything is shown to everyone."""
    ages: list[float] = []
    end = eyes[0].said_at[-1]
    while sum(eye.look() for eye in eyes):
        now = clock.now()
        if now > end + 600:
            raise AssertionError("something was never shown")
        if now <= end:
            ages += [eye.age(now) for eye in eyes]
        await clock.advance(STEP)
    return ages, clock.now() - end


def _words(platform: FakePlatform, thread: ThreadRef) -> str:
    pages = [outgoing for _, outgoing in platform.messages(thread) if outgoing.key.startswith("turn:")]
    blocks = [block for page in pages for block in page.blocks]
    return "".join(block.text[block.skip :] for block in blocks if isinstance(block, Markdown))
