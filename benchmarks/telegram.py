"""The whole way from an agent to Telegram, in real time: `beambot up`, an agent's process, and a Telegram here.

The work: 1,200 deltas of 30 characters at 20 a second, in 11 blocks with a tool call between two, each delta with a
mark of its own. The Telegram keeps to the real limits, 3 calls in any 3 s in a private chat and 20 in any 60 s in a
group, and beambot talks to it through python-telegram-bot. The optimum shows everything every `i` seconds (1 in a
private chat, 3 in a group): a mean of i/2 and a p95 of 0.95 i. Four beambots run at once, each with a Telegram and
an agent of its own: in a private chat, in a group, with Telegram out of reach for a minute, and killed half-way.
"""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio

from benchmarks.bridge import Bridge, Calls, Screen, bridge, until
from benchmarks.figures import Figure, percentile
from benchmarks.streams import even
from platforms.telegram.twin import Chat, Message

WORK = even()
DELTAS = sum(isinstance(what, int) for _, what in WORK)
LENGTH = WORK[-1][0]
INTERVALS = {"private": 1.0, "group": 3.0}
# So long is waited for the end of a stream; what is not there then counts as never shown.
PATIENCE = 20.0
# And so long until it is tidy: some ten messages are touched once more, in a group one every three seconds.
TIDYING = 45.0
AWAY_AFTER, AWAY = 20.0, 60.0
KILLED_AFTER = 15.0


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        return anyio.run(_measure, Path(folder))


async def _measure(folder: Path) -> list[Figure]:
    found: dict[str, list[Figure]] = {"start": await _starts(folder)}
    runs: dict[str, Callable[[Path], Awaitable[list[Figure]]]] = {
        "private": lambda folder: _stream(folder, "private"),
        "group": lambda folder: _stream(folder, "group"),
        "outage": _outage,
        "kill": _kill,
    }

    async def play(name: str) -> None:
        found[name] = await runs[name](folder / name)

    async with anyio.create_task_group() as tasks:
        for name in runs:
            tasks.start_soon(play, name)
    return [figure for name in ("start", *runs) for figure in found[name]]


async def _starts(folder: Path) -> list[Figure]:
    times = []
    for number in range(3):
        async with bridge(folder / f"start{number}", WORK) as house:
            times.append(await house.start())
    note = f"until the first getUpdates; best of 3, the slowest {max(times):.2f} s"
    return [Figure("telegram_ready", min(times), "s", 0.8, note=note)]


async def _prompted(house: Bridge, kind: str = "private") -> Screen:
    """The agent has begun to speak."""
    group = None
    if kind == "group":
        group = house.twin.group("Work", house.owner)
    await house.owner.says(group, f"@{house.twin.bot.username} go")
    if not await until(house.said, 20):
        raise AssertionError(f"the agent was not asked: {house.diary()}")
    return Screen(group or house.owner.chat, DELTAS)


# ── streams ──────────────────────────────────────────────────────────────────────────────────────────


async def _stream(folder: Path, kind: str) -> list[Figure]:
    async with bridge(folder, WORK) as house:
        await house.start()
        before = await house.rest()
        screen = await _prompted(house, kind)
        await until(screen.look, LENGTH + PATIENCE)
        used, megabytes, calls = house.cpu() - before, house.megabytes(), Calls.of(house.twin)
        said = house.said()
        await until(lambda: _settled(screen, DELTAS), TIDYING)
        settled = house.twin.clock.now() - said[-1]
        refusals, broken = house.twin.refusals, _broken(screen, DELTAS)
    interval, ages = INTERVALS[kind], screen.ages(said)
    mean, p95 = sum(ages) / len(ages), percentile(ages, 0.95)
    note = f"{mean:.3f} s mean, {p95:.3f} s p95; {calls}"
    first = screen.seen.get(0, said[-1]) - said[0]
    values = {
        "first": (first, "s", 0.1),
        "mean": (mean / (interval / 2), "x_optimum", 1.1),
        "p95": (p95 / (0.95 * interval), "x_optimum", 1.15),
        "complete": (_complete(screen, said[-1]), "s", interval + 0.1),
        "calls": (float(calls.posts + calls.edits), "calls", LENGTH / interval + 4),
        "refusals": (float(refusals), "calls", 0.0),
        "broken": (float(broken), "deltas", 0.0),
        "cpu": (used / DELTAS * 1000, "s_per_1000", 0.30),
        "rss": (megabytes, "MB", 80.0),
    }
    figures = [
        Figure(f"telegram_{kind}_{name}", value, unit, budget, note=note)
        for name, (value, unit, budget) in values.items()
    ]
    tidy = "after the last delta: what stands twice where a message was closed is taken out, and every Stop button"
    limit = (calls.posts + 1) * interval
    return [*figures, Figure(f"telegram_{kind}_settled", settled, "s", limit, binding=False, note=tidy)]


def _settled(screen: Screen, count: int) -> bool:
    """Every delta stands once, and nothing offers to stop what has ended."""
    return not _broken(screen, count) and not any("Stop" in one.labels for one in screen.chat.standing)


def _complete(screen: Screen, since: float) -> float:
    """Seconds from a moment until every delta had been seen; without an end, how long was waited."""
    return max(screen.seen.values()) - since if screen.look() else LENGTH + PATIENCE


def _broken(screen: Screen, count: int) -> int:
    """How many of the first so many deltas do not stand in the chat exactly once."""
    standing = screen.standing()
    return sum(standing[mark] != 1 for mark in range(count))


# ── faults ───────────────────────────────────────────────────────────────────────────────────────────


async def _outage(folder: Path) -> list[Figure]:
    async with bridge(folder, WORK) as house:
        await house.start()
        screen = await _prompted(house)
        twin = house.twin
        await anyio.sleep(AWAY_AFTER)
        async with twin.away():
            await anyio.sleep(AWAY)
            back = twin.clock.now()
        await until(screen.look, PATIENCE)
        await until(lambda: _settled(screen, DELTAS), TIDYING)
        calls, complete, broken = Calls.of(twin), _complete(screen, back), _broken(screen, DELTAS)
    note = f"Telegram was away from second {AWAY_AFTER:g} to {AWAY_AFTER + AWAY:g}; {calls}"
    return [
        Figure("telegram_outage_complete", complete, "s", 10.0, note=note),
        Figure("telegram_outage_refusals", float(calls.refusals), "calls", 0.0, note=note),
        Figure("telegram_outage_broken", float(broken), "deltas", 0.0, note=note),
    ]


async def _kill(folder: Path) -> list[Figure]:
    async with bridge(folder, WORK) as house:
        await house.start()
        screen = await _prompted(house)
        chat = screen.chat
        await anyio.sleep(KILLED_AFTER)
        killed = await house.kill()
        said = [at for at in house.said() if at < killed]
        await house.start()
        begun = house.begun
        await until(lambda: _offers(chat), PATIENCE)
        told = _moment(chat, "was restarted") - begun
        await until(lambda: _settled(screen, _kept(screen)), PATIENCE)
        lost, broken = _lost(screen, said, killed), _broken(screen, _kept(screen))
        await house.owner.presses(_offers(chat)[0], "Go on")
        await until(lambda: len(house.said()) > len(said) + 20, PATIENCE)
        resumed = [what for _, what in house.diary()].count("resumed")
        refusals = house.twin.refusals
    note = f"killed {KILLED_AFTER:g} s into the stream, {len(said)} deltas said by then, and started again at once"
    unseen = f"{note}; of the words that nobody had seen, those of the last second may not be written down yet"
    return [
        Figure("telegram_kill_told", told, "s", 5.0, note=note),
        Figure("telegram_kill_broken", float(broken), "deltas", 0.0, note=note),
        Figure("telegram_kill_lost", lost, "s", 1.1, note=unseen),
        Figure("telegram_kill_not_resumed", float(resumed != 1), "sessions", 0.0, note="after a press of Go on"),
        Figure("telegram_kill_refusals", float(refusals), "calls", 0.0, note=note),
    ]


def _offers(chat: Chat) -> list[Message]:
    """Where one can go on with what was cut off."""
    return [one for one in chat.standing if "Go on" in one.labels]


def _moment(chat: Chat, words: str) -> float:
    """When these words were first seen."""
    return next(step.at for step in chat.steps if step.content is not None and words in step.content.shown)


def _kept(screen: Screen) -> int:
    """How many deltas there must be: all up to the last that stands, or had been seen."""
    screen.look()
    return max([*screen.standing(), *screen.seen, -1]) + 1


def _lost(screen: Screen, said: list[float], killed: float) -> float:
    """The age of the oldest text that was said before the kill and does not stand after it."""
    standing = screen.standing()
    return max((killed - at for mark, at in enumerate(said) if not standing[mark]), default=0.0)
