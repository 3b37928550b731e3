"""How much room a block takes, and a smaller form of one that would not fit on a page."""

from __future__ import annotations

from msgspec.structs import replace

from beambot.model.bodies import PlanEntry
from beambot.model.outbound import AnyOutBlock, Checklist, Footer, Markdown, Notice, Tools
from beambot.render.split import Unit, fit, measure

# What a platform adds to a line: a mark, a time, a line break.
_LINE = 16


def size(block: AnyOutBlock, unit: Unit) -> int:
    """What a block takes of a page."""
    match block:
        case Markdown(text=text) | Notice(text=text) | Footer(text=text):
            return measure(text, unit) + 2
        case Tools(lines=lines):
            return sum(measure(line.title, unit) + _LINE for line in lines) + _LINE
        case Checklist(entries=entries):
            return sum(measure(entry.text, unit) + _LINE for entry in entries)
        case _:
            return 100


def clipped(block: AnyOutBlock, room: int, unit: Unit) -> AnyOutBlock:
    """The block itself where it fits, else as much of it as does, with a sign that there is more."""
    if size(block, unit) <= room:
        return block
    match block:
        case Markdown(text=text) | Notice(text=text) | Footer(text=text):
            return replace(block, text=shortened(text, room - 2, unit))
        case Tools(lines=lines, hidden=hidden):
            if len(lines) > 1:
                return clipped(Tools(lines[1:], hidden + 1), room, unit)
            short = tuple(replace(line, title=shortened(line.title, room - 2 * _LINE, unit)) for line in lines)
            return Tools(short, hidden)
        case Checklist(entries=entries):
            return _fewer(entries, room, unit)
        case _:
            return block


def shortened(text: str, room: int, unit: Unit) -> str:
    """The beginning of a text, with a sign where it was cut."""
    if measure(text, unit) <= room:
        return text
    return text[: fit(text, max(room - measure("…", unit), 1), unit)] + "…"


def _fewer(entries: tuple[PlanEntry, ...], room: int, unit: Unit) -> Checklist:
    """What is done is left out first, then what comes last; long lines are cut before."""
    longest = max(room // 4, 8)
    kept = [(at, replace(e, text=shortened(e.text, longest, unit))) for at, e in enumerate(entries)]
    left = sum(measure(entry.text, unit) + _LINE for _, entry in kept) - room + 2 * _LINE
    ranks = sorted(
        kept,
        key=lambda item: (item[1].status != "completed", item[0] if item[1].status == "completed" else -item[0]),
    )
    for item in ranks:
        if left <= 0:
            break
        kept.remove(item)
        left -= measure(item[1].text, unit) + _LINE
    more = len(entries) - len(kept)
    note = (PlanEntry(f"… {more} more"),) if more else ()
    return Checklist((*(entry for _, entry in kept), *note))
