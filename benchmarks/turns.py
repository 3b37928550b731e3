"""What a turn costs: reading it against `json.loads` alone, and a long one against a short one."""

from __future__ import annotations

import gc
import json
import time

from beambot.flow.delivery.screens import Screen
from beambot.model.bodies import TextDelta
from beambot.model.ids import ThreadRef
from beambot.model.message import UnifiedMessage
from beambot.model.settings import Rendering
from beambot.state.turn import Turn, reduce
from beambot.testing.clock import FakeClock
from beambot.testing.platform import FakePlatform
from benchmarks import reading
from benchmarks.figures import Figure

SHORT, LONG = 10_000, 100_000
PAINT_EVERY = 50


def measure() -> list[Figure]:
    """Ratios within this run, so that the machine's speed does not matter."""
    return [
        Figure("reading", _reading(), "x_json", 2.0, note="decode + translate + reduce ÷ json.loads"),
        Figure("turn_growth", _growth(), "x_time", 11.0, note=f"{LONG} deltas ÷ {SHORT} deltas"),
    ]


def _reading(times: int = 15) -> float:
    lines = reading.lines()
    alone, ours = float("inf"), float("inf")
    for _ in range(times):
        alone = min(alone, _timed(lambda: [json.loads(line) for line in lines]))
        ours = min(ours, _timed(lambda: _read(lines)))
    return ours / alone


def _read(lines: list[bytes]) -> Turn:
    turn = Turn("t")
    for message in reading.translate_all(lines):
        turn = reduce(turn, message)
    return turn


def _growth(times: int = 4) -> float:
    short, long = float("inf"), float("inf")
    for _ in range(times):
        short = min(short, *(_timed(lambda: _play(SHORT)) for _ in range(3)))
        long = min(long, _timed(lambda: _play(LONG)))
    return long / short


def _play(deltas: int) -> None:
    """One answer, shown to one chat as it grows."""
    turn = Turn("t")
    screen = Screen(ThreadRef("fake", "c1"), "s", turn, FakePlatform(FakeClock()), Rendering())
    for number in range(deltas):
        end = "\n\n" if number % 40 == 39 else " "
        turn = reduce(turn, UnifiedMessage(TextDelta(f"word {number:>6} of the answer …{end}"), turn="t"))
        if number % PAINT_EVERY == PAINT_EVERY - 1:
            screen.turn = turn
            while (page := screen.next_page(float(number))) is not None:
                screen.confirm(page, screen.message(page) or page.key)


def _timed(work: object) -> float:
    assert callable(work)
    gc.collect()
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
