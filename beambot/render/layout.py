"""A turn as pages: each page is one message. A sealed page is not laid out again once its tools are done."""

from __future__ import annotations

from msgspec import Struct

from beambot.log import redact
from beambot.model.outbound import AnyOutBlock, Checklist, Markdown, Notice, Tools
from beambot.model.settings import Rendering
from beambot.render.compose import part_block, tail_blocks
from beambot.render.split import Unit, closing, cut, measure, open_fence
from beambot.state.turn import Part, Turn, Words, Work

# Room kept on a page for what stands under the text, and for a fence that has to be closed.
_RESERVE = 200
_SMALL = 0.25


class Cursor(Struct, frozen=True):
    """A place in a turn: a part, a character in it, and the code fence that is open there."""

    part: int = 0
    offset: int = 0
    fence: str = ""


class Pages(Struct, frozen=True):
    """How far a turn has been laid out: where each sealed page begins, which of them may still change."""

    starts: tuple[Cursor, ...] = (Cursor(),)
    unsettled: tuple[int, ...] = ()


class Paper(Struct, frozen=True):
    """What a platform gives one message."""

    limit: int
    unit: Unit


def lay_out(
    turn: Turn, pages: Pages, paper: Paper, settings: Rendering, now: float
) -> tuple[Pages, list[tuple[int, tuple[AnyOutBlock, ...]]]]:
    """The pages that may have changed since last time, as number and blocks; and how far it now is."""
    painted: list[tuple[int, tuple[AnyOutBlock, ...]]] = []
    parts = turn.every_part
    unsettled: list[int] = []
    for number in pages.unsettled:
        begin, end = pages.starts[number], pages.starts[number + 1]
        blocks, _ = _fill(turn, parts, begin, end, paper, settings, now)
        painted.append((number, blocks))
        if _has_running(turn, parts, begin, end):
            unsettled.append(number)
    starts = list(pages.starts)
    while True:
        begin = starts[-1]
        blocks, rest = _fill(turn, parts, begin, None, paper, settings, now)
        number = len(starts) - 1
        if rest is None:
            painted.append((number, blocks + tail_blocks(turn, settings, now)))
            return Pages(tuple(starts), tuple(unsettled)), painted
        painted.append((number, blocks))
        if _has_running(turn, parts, begin, rest):
            unsettled.append(number)
        starts.append(rest)


def _fill(
    turn: Turn,
    parts: tuple[Part, ...],
    begin: Cursor,
    end: Cursor | None,
    paper: Paper,
    settings: Rendering,
    now: float,
) -> tuple[tuple[AnyOutBlock, ...], Cursor | None]:
    """One page from `begin`; the second value is where the next page begins, None when all fitted."""
    blocks: list[AnyOutBlock] = []
    room = max(paper.limit - _RESERVE, paper.limit // 2)
    index, offset, fence = begin.part, begin.offset, begin.fence
    while index < len(parts):
        if end is not None and index == end.part and end.offset == 0:
            break
        part = parts[index]
        if not isinstance(part, Words) or part.thinking:
            block = part_block(turn, part, settings, now)
            size = _size(block, paper.unit) if block is not None else 0
            if blocks and size > room and end is None:
                return tuple(blocks), Cursor(index)
            if block is not None:
                blocks.append(block)
            room -= size
            index, offset, fence = index + 1, 0, ""
            continue
        text = part.text.since(offset)
        if end is not None and index == end.part:
            text = text[: end.offset - offset]
        head = f"{fence}\n" if fence else ""
        if end is not None or measure(head + text, paper.unit) <= room:
            if text:
                shown = head + text
                blocks.append(Markdown(redact(_closed(shown, fence, text)), open=not part.complete))
                room -= measure(shown, paper.unit)
            if end is not None and index == end.part:
                break
            index, offset, fence = index + 1, 0, ""
            continue
        if blocks and room < paper.limit * _SMALL:
            return tuple(blocks), Cursor(index, offset, fence)
        length = cut(text, max(room - measure(head, paper.unit), 1), paper.unit)
        piece = text[:length]
        blocks.append(Markdown(redact(_closed(head + piece, fence, piece))))
        return tuple(blocks), Cursor(index, offset + length, open_fence(piece, fence))
    return tuple(blocks), None


def _closed(shown: str, fence: str, text: str) -> str:
    """An open fence is closed on its own page, so that nothing after it is swallowed."""
    still = open_fence(text, fence)
    if not still:
        return shown
    return f"{shown}{'' if shown.endswith(chr(10)) else chr(10)}{closing(still)}"


def _size(block: AnyOutBlock, unit: Unit) -> int:
    match block:
        case Markdown(text=text) | Notice(text=text):
            return measure(text, unit) + 2
        case Tools(lines=lines):
            return sum(measure(line.title, unit) + 16 for line in lines) + 16
        case Checklist(entries=entries):
            return sum(measure(entry.text, unit) + 4 for entry in entries)
        case _:
            return 100


def _has_running(turn: Turn, parts: tuple[Part, ...], begin: Cursor, end: Cursor) -> bool:
    return any(
        turn.tools[tool].state == "running"
        for part in parts[begin.part : end.part]
        if isinstance(part, Work)
        for tool in part.tools[-10:]
    )
