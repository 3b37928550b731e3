"""A turn as pages: each page is one message. A sealed page is not laid out again once its tools are done."""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from beambot.log import redact
from beambot.model.encoding import well_formed
from beambot.model.outbound import AnyOutBlock, Checklist, Markdown
from beambot.model.settings import Rendering
from beambot.render.clip import clipped, size
from beambot.render.compose import part_block, tail_blocks
from beambot.render.split import Unit, closing, cut, measure, open_fence
from beambot.state.turn import Part, Turn, Words, Work

# Room kept on a page for what stands under the text, and for a fence that has to be closed.
_RESERVE = 200
_SMALL = 0.25
_FENCE = 44
# How far a look ahead goes for the end of a secret.
_AHEAD = 4096
# A page is sealed early when it is this full, at a line or a word that ends so close before what stands.
_ENOUGH = 0.35
_BACK = 120
_BLANK = re.compile(r"[ \n]+")


class Cursor(Struct, frozen=True):
    """A place in a turn: a part, a character in it, and the code fence that is open there."""

    part: int = 0
    offset: int = 0
    fence: str = ""


class Pages(Struct, frozen=True):
    """How far a turn has been laid out: where each page begins, which sealed ones may still change.

    `early` ones were sealed where they stood in the chat: no text of theirs waits to be shown.
    """

    starts: tuple[Cursor, ...] = (Cursor(),)
    unsettled: tuple[int, ...] = ()
    early: tuple[int, ...] = ()


class Paper(Struct, frozen=True):
    """What a platform gives one message."""

    limit: int
    unit: Unit


def extent(turn: Turn) -> Cursor:
    """The end of a turn as it stands now."""
    parts = turn.every_part
    last = parts[-1] if parts else None
    length = len(last.text) if isinstance(last, Words) and not last.thinking else 0
    return Cursor(max(len(parts) - 1, 0), length)


def lay_out(
    turn: Turn, pages: Pages, paper: Paper, settings: Rendering, now: float, seen: Cursor | None = None
) -> tuple[Pages, list[tuple[int, tuple[AnyOutBlock, ...]]]]:
    """The pages that may have changed since last time, as number and blocks; and how far it now is.

    `seen` is how much of the newest page stands in the chat. A page that is full is sealed there, so that one
    call, the post of the next page, shows everything that is new.
    """
    painted: list[tuple[int, tuple[AnyOutBlock, ...]]] = []
    filler = _Filler(turn, paper, settings, now)
    unsettled: list[int] = []
    for number in pages.unsettled:
        begin, end = pages.starts[number], pages.starts[number + 1]
        painted.append((number, filler.repaint(begin, end)))
        if filler.has_running(begin, end):
            unsettled.append(number)
    starts, early = list(pages.starts), list(pages.early)
    under = _under(turn, paper, settings, now)
    foot = sum(size(block, paper.unit) for block in under)
    full = max(paper.limit - _RESERVE, paper.limit // 2)
    while True:
        begin, number = starts[-1], len(starts) - 1
        blocks, rest = filler.fill(begin, full)
        if rest is None and foot > paper.limit - full:
            blocks, rest = filler.fill(begin, paper.limit - foot)
        if rest is None:
            painted.append((number, blocks + under))
            return Pages(tuple(starts), tuple(unsettled), tuple(early)), painted
        sealed = filler.seal(begin, seen) if seen is not None and number == len(pages.starts) - 1 else None
        if sealed is not None:
            blocks, rest = filler.repaint(begin, sealed), sealed
            early.append(number)
        painted.append((number, blocks))
        if filler.has_running(begin, rest):
            unsettled.append(number)
        starts.append(rest)


def _under(turn: Turn, paper: Paper, settings: Rendering, now: float) -> tuple[AnyOutBlock, ...]:
    """What stands under the text, at most half a page of it."""
    room = paper.limit // 2
    blocks = list(tail_blocks(turn, settings, now))
    for at in sorted(range(len(blocks)), key=lambda at: isinstance(blocks[at], Checklist)):
        most = room if isinstance(blocks[at], Checklist) else paper.limit // 6
        blocks[at] = clipped(blocks[at], most, paper.unit)
        room -= size(blocks[at], paper.unit)
    return tuple(blocks)


class _Filler:
    """Fills pages of one turn as it stands now."""

    def __init__(self, turn: Turn, paper: Paper, settings: Rendering, now: float) -> None:
        self.turn = turn
        self.parts = turn.every_part
        self.unit = paper.unit
        self.limit = paper.limit
        self.settings = settings
        self.now = now

    def fill(self, begin: Cursor, room: int) -> tuple[tuple[AnyOutBlock, ...], Cursor | None]:
        """One page from `begin`; the second value is where the next page begins, None when all fitted."""
        blocks: list[AnyOutBlock] = []
        index, offset, fence = begin.part, begin.offset, begin.fence
        while index < len(self.parts):
            part = self.parts[index]
            if not isinstance(part, Words) or part.thinking:
                block = self._block(part)
                taken = size(block, self.unit) if block is not None else 0
                if blocks and taken > room:
                    return tuple(blocks), Cursor(index)
                if block is not None:
                    blocks.append(block)
                room -= taken
            else:
                text = part.text.between(offset, offset + max(room, 1) + _AHEAD)
                shown = _shown(text, fence)
                if offset + len(text) < len(part.text) or measure(shown, self.unit) + 2 > room:
                    if blocks and room < self.limit * _SMALL:
                        return tuple(blocks), Cursor(index, offset, fence)
                    head = len(fence) + 1 if fence else 0
                    length = _clear_of_secrets(text, cut(text, max(room - 2 - head, 1), self.unit))
                    blocks.append(Markdown(_shown(text[:length], fence)))
                    return tuple(blocks), Cursor(index, offset + length, open_fence(text[:length], fence))
                if text:
                    growing = part is self.turn.live and not part.complete
                    blocks.append(Markdown(shown, open=growing))
                    room -= measure(shown, self.unit) + 2
            index, offset, fence = index + 1, 0, ""
        return tuple(blocks), None

    def seal(self, begin: Cursor, seen: Cursor) -> Cursor | None:
        """Where a page that stands in the chat up to `seen` may end: there, or a little before. None: nowhere."""
        if (seen.part, seen.offset) <= (begin.part, begin.offset) or seen.part >= len(self.parts):
            return None
        part = self.parts[seen.part]
        end: Cursor | None = Cursor(seen.part + 1)
        if isinstance(part, Words) and not part.thinking:
            end = self._seal_words(part, begin, seen)
        if end is None or (end.part, end.offset) <= (begin.part, begin.offset):
            return None
        filled = sum(size(block, self.unit) for block in self.repaint(begin, end))
        return end if filled >= self.limit * _ENOUGH else None

    def _seal_words(self, part: Words, begin: Cursor, seen: Cursor) -> Cursor | None:
        first, fence = (begin.offset, begin.fence) if seen.part == begin.part else (0, "")
        text = part.text.between(first, seen.offset + _AHEAD)
        length = seen.offset - first
        if length > len(text):
            return None
        line, word = text.rfind("\n", 0, length) + 1, text.rfind(" ", 0, length) + 1
        if line >= length - _BACK and line:
            length = line
        elif open_fence(text[:length], fence):
            return None
        elif word >= length - _BACK and word:
            length = word
        length = _clear_of_secrets(text, length)
        return Cursor(seen.part, first + length, open_fence(text[:length], fence)) if length else None

    def repaint(self, begin: Cursor, end: Cursor) -> tuple[AnyOutBlock, ...]:
        """A sealed page again, with its tools as they stand now."""
        blocks: list[AnyOutBlock] = []
        for index, part in enumerate(self.parts[begin.part : end.part + 1], begin.part):
            if not isinstance(part, Words) or part.thinking:
                block = self._block(part) if index < end.part else None
                if block is not None:
                    blocks.append(block)
                continue
            first = begin.offset if index == begin.part else 0
            last = end.offset if index == end.part else len(part.text)
            text = part.text.between(first, last)
            if text:
                blocks.append(Markdown(_shown(text, begin.fence if index == begin.part else "")))
        return tuple(blocks)

    def has_running(self, begin: Cursor, end: Cursor) -> bool:
        """Whether a page shows a tool that still runs."""
        return any(
            self.turn.tools[tool].state == "running"
            for part in self.parts[begin.part : end.part]
            if isinstance(part, Work)
            for tool in part.tools[-max(self.settings.tool_lines, 1) :]
        )

    def _block(self, part: Part) -> AnyOutBlock | None:
        block = part_block(self.turn, part, self.settings, self.now)
        if block is None:
            return None
        block = clipped(block, self.limit // 2 - _FENCE, self.unit)
        return (
            replace(block, text=_closed(block.text, open_fence(block.text))) if type(block) is Markdown else block
        )


def _shown(text: str, fence: str) -> str:
    """A piece of text as it stands on its page: in the fence it began in, and that closed at its end."""
    shown = f"{fence}\n{text}" if fence else text
    return well_formed(redact(_closed(shown, open_fence(text, fence))))


def _closed(text: str, fence: str) -> str:
    """What stands after an open fence must not be swallowed by it."""
    return text if not fence else f"{text}{'' if text.endswith(chr(10)) else chr(10)}{closing(fence)}"


def _clear_of_secrets(text: str, length: int) -> int:
    """A place to cut that leaves no secret in two halves, of which neither would be recognised."""
    whole = redact(text)
    if whole == text:
        return length
    before = [match.end() for match in _BLANK.finditer(text, 0, length)][:-200:-1]
    after = [match.end() for match in _BLANK.finditer(text, length)][:200]
    for place in (length, *before, *after, len(text)):
        if redact(text[:place]) + redact(text[place:]) == whole:
            return place
    return length
