"""The works that the pace is measured on: one that never pauses, one in bursts, and recorded ones."""

from __future__ import annotations

import json
import random
from itertools import cycle
from pathlib import Path
from typing import Literal

from beambot.model.bodies import Result, TextDelta, ToolEnded, ToolStarted
from beambot.testing.scripted import Emit, Pause, Step

HERE = Path(__file__).parent
# A moment, and what is said then: so many characters, or a tool that begins or ends.
Event = tuple[float, int | Literal["tool", "done"]]
LENGTH = 75.0


def even() -> list[Event]:
    """1,200 deltas of 30 characters at 20 a second, in 11 blocks with a tool call of no time between two."""
    events: list[Event] = []
    for number in range(1200):
        at = number / 20
        if number and number * 11 // 1200 > (number - 1) * 11 // 1200:
            events += [(at, "tool"), (at, "done")]
        events.append((at, 30))
    return events


def bursts(seed: int = 7) -> list[Event]:
    """90 seconds in which 2 to 6 seconds of text alternate with tools of 3 to 12 seconds."""
    chance = random.Random(seed)
    events: list[Event] = []
    at = 0.0
    while at < 90:
        end = at + chance.uniform(2, 6)
        while at < end:
            events.append((at, 30))
            at += 0.05
        events.append((at, "tool"))
        at += chance.uniform(3, 12)
        events.append((at, "done"))
        at += 0.05
    return [*events, (at, 30)]


def recorded(name: str) -> list[Event]:
    """What an agent really said, again and again with two seconds between.

    Each time it is a little faster or slower: a work that repeats itself exactly would beat with the calls.
    """
    once = [(at, what) for at, what in map(json.loads, (HERE / f"{name}.jsonl").read_text().splitlines())]
    events: list[Event] = []
    begin, speeds = 0.0, cycle((1.0, 1.13, 0.91, 1.07, 0.97))
    while begin < LENGTH:
        speed = next(speeds)
        events += [(begin + at * speed, what) for at, what in once]
        begin += once[-1][0] * speed + 2.0
    return events


def texts(events: list[Event]) -> list[tuple[float, str]]:
    """Each piece of text with its moment. Each ends in a mark of its own: what is seen of it proves itself."""
    found: list[tuple[float, str]] = []
    for at, what in events:
        if isinstance(what, int):
            mark = f"<{len(found):05d}>"
            found.append(
                (at, "Some words of an answer "[: max(0, what - len(mark))].ljust(what - len(mark)) + mark)
            )
    return found


def script(events: list[Event]) -> list[Step]:
    """The same for a scripted agent."""
    words = iter(texts(events))
    steps: list[Step] = []
    now, tools = 0.0, 0
    for at, what in events:
        if at > now:
            steps.append(Pause(at - now))
            now = at
        if what == "tool":
            tools += 1
            steps.append(Emit(ToolStarted(f"tool{tools}", "Bash", title=f"step {tools}", kind="execute")))
        elif what == "done":
            steps.append(Emit(ToolEnded(f"tool{tools}")))
        else:
            steps.append(Emit(TextDelta(next(words)[1])))
    return [*steps, Pause(0.05), Emit(Result())]
