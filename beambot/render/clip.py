"""How much room blocks take on a page, and a smaller form of one that would not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from beambot.model.bodies import PlanEntry
from beambot.model.outbound import AnyOutBlock, Checklist, Footer, Markdown, Notice, Tools
from beambot.render.split import Unit, fit, measure

# What stands between two blocks.
JOINT = 2
_TRIES = 12


class Paper(Struct, frozen=True):
    """What a platform gives one message, and how much of it a block takes once it is rendered."""

    limit: int
    unit: Unit
    size: Callable[[AnyOutBlock], int]


def taken(blocks: Iterable[AnyOutBlock], paper: Paper) -> int:
    """What some blocks take of a page."""
    return sum(paper.size(block) + JOINT for block in blocks)


def clipped(block: AnyOutBlock, room: int, paper: Paper) -> AnyOutBlock:
    """The block itself where it fits, else as much of it as does, with a sign that there is more."""
    size = paper.size(block)
    for _ in range(_TRIES):
        if size <= room:
            break
        block = _smaller(block, max(room / size * 0.9, 0.01), paper.unit)
        size = paper.size(block)
    return block


def shortened(text: str, room: int, unit: Unit) -> str:
    """The beginning of a text, with a sign where it was cut."""
    if measure(text, unit) <= room:
        return text
    return text[: fit(text, max(room - measure("…", unit), 1), unit)] + "…"


def _smaller(block: AnyOutBlock, share: float, unit: Unit) -> AnyOutBlock:
    """About this share of a block."""
    match block:
        case Markdown(text=text) | Notice(text=text) | Footer(text=text):
            return replace(block, text=shortened(text, int(measure(text, unit) * share), unit))
        case Tools(lines=lines, hidden=hidden):
            if len(lines) > 1:
                return Tools(lines[1:], hidden + 1)
            short = (replace(x, title=shortened(x.title, int(measure(x.title, unit) * share), unit)) for x in lines)
            return Tools(tuple(short), hidden)
        case Checklist(entries=entries):
            return _fewer(entries, share, unit)
        case _:
            return block


def _fewer(entries: tuple[PlanEntry, ...], share: float, unit: Unit) -> Checklist:
    """What is done is left out first, then what comes last; long lines are cut before."""
    room = int(sum(measure(entry.text, unit) for entry in entries) * share)
    longest = max(room // 4, 8)
    kept = [(at, replace(e, text=shortened(e.text, longest, unit))) for at, e in enumerate(entries)]
    left = sum(measure(entry.text, unit) for _, entry in kept) - room
    ranks = sorted(
        kept,
        key=lambda item: (item[1].status != "completed", item[0] if item[1].status == "completed" else -item[0]),
    )
    for item in ranks:
        if left <= 0:
            break
        kept.remove(item)
        left -= measure(item[1].text, unit)
    more = len(entries) - len(kept)
    note = (PlanEntry(f"… {more} more"),) if more else ()
    return Checklist((*(entry for _, entry in kept), *note))
