"""A turn as pages: each page is one message. A sealed page is not laid out again once its tools are done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from msgspec import Struct

from beambot.model.outbound import AnyOutBlock, Checklist, Footer, Markdown, Tools
from beambot.model.settings import Rendering
from beambot.render.clip import JOINT, Paper, clipped, taken
from beambot.render.compose import part_block, tail_blocks, words_block
from beambot.render.pieces import AHEAD, Piece, clear_of_secrets, near, piece_of
from beambot.state.text import Growing
from beambot.state.turn import Part, Turn, Words, Work

# Room kept on a page for what stands under the text.
_RESERVE = 200
_SMALL = 0.25
# Less room than this is not worth a few last words.
_LEAST = 60
# A text this many times longer than a page does not fit on it, whatever its markup.
_NEVER = 6
# A page is sealed early when it is this full.
_ENOUGH = 0.35
Blocks = tuple[AnyOutBlock, ...]


class Cursor(Struct, frozen=True):
    """A place in a turn: a part and a character in it; what closes the page before it, what opens the one after."""

    part: int = 0
    offset: int = 0
    opening: str = ""
    closing: str = ""

    def is_after(self, other: Cursor) -> bool:
        """Whether something stands between the two."""
        return (self.part, self.offset) > (other.part, other.offset)


class Pages(Struct, frozen=True):
    """How far a turn has been laid out: where each page begins, which sealed ones may still change.

    `early` ones were sealed where they stood in the chat: no text of theirs waits to be shown.
    With `overlong` the last page shows only the end of the text: the whole goes as a file.
    """

    starts: tuple[Cursor, ...] = (Cursor(),)
    unsettled: tuple[int, ...] = ()
    early: tuple[int, ...] = ()
    overlong: bool = False


def extent(turn: Turn) -> Cursor:
    """The end of a turn as it stands now."""
    parts = turn.every_part
    last = parts[-1] if parts else None
    return Cursor(max(len(parts) - 1, 0), len(last.text) if _is_text(last) else 0)


def lay_out(
    turn: Turn,
    pages: Pages,
    paper: Paper,
    settings: Rendering,
    now: float,
    seen: Cursor | None = None,
    *,
    roll: bool = False,
) -> tuple[Pages, list[tuple[int, Blocks]]]:
    """The pages that may have changed since last time, as number and blocks; and how far it now is.

    `seen` is how much of the newest page stands in the chat. A page that is full is sealed there, so that one
    call, the post of the next page, shows everything that is new. With `roll` it is sealed though it is not full.
    """
    painted: list[tuple[int, Blocks]] = []
    filler = _Filler(turn, paper, settings, now)
    unsettled: list[int] = []
    for number in pages.unsettled:
        begin, end = pages.starts[number], pages.starts[number + 1]
        painted.append((number, _fitted(filler.between(begin, end), paper)))
        if filler.has_running(begin, end):
            unsettled.append(number)
    starts, early, overlong = list(pages.starts), list(pages.early), pages.overlong
    under = _under(turn, paper, settings, now)
    room = paper.limit - max(taken(under, paper), min(_RESERVE, paper.limit // 2))
    while True:
        begin, number = starts[-1], len(starts) - 1
        fresh = seen is not None and number == len(pages.starts) - 1 and not overlong
        sealed = filler.sealed(begin, seen, full=not roll) if seen is not None and fresh and roll else None
        whole = filler.end(begin, room) if overlong else filler.whole(begin, room)
        if whole is not None and sealed is None:
            painted.append((number, whole + under))
            return Pages(tuple(starts), tuple(unsettled), tuple(early), overlong), painted
        if sealed is None and seen is not None and fresh:
            sealed = filler.sealed(begin, seen)
        if sealed is not None:
            early.append(number)
        blocks, rest = sealed or filler.some(begin, room)
        painted.append((number, blocks))
        if filler.has_running(begin, rest):
            unsettled.append(number)
        starts.append(rest)
        overlong = is_overlong(turn, rest, settings)


def is_overlong(turn: Turn, cursor: Cursor, settings: Rendering) -> bool:
    """Whether what comes after this place is more than a chat should show."""
    before = sum(len(part.text) for part in turn.every_part[: cursor.part] if _is_text(part))
    return bool(settings.file_above) and before + cursor.offset >= settings.file_above


def _fitted(blocks: Blocks, paper: Paper) -> Blocks:
    """A sealed page whose tools have grown since: they give way, its words do not."""
    over = taken(blocks, paper) - paper.limit
    fitted: list[AnyOutBlock] = []
    for block in blocks:
        if over > 0 and isinstance(block, Tools):
            size = paper.size(block)
            block = clipped(block, max(size - over, 1), paper)
            over -= size - paper.size(block)
        fitted.append(block)
    return tuple(fitted)


def paginate(text: str, paper: Paper, settings: Rendering) -> list[Blocks]:
    """A text that is complete, as pages."""
    turn = Turn("", parts=(Words(Growing().append(text), complete=True),))
    return [blocks for _, blocks in lay_out(turn, Pages(), paper, settings, 0.0)[1]]


def _under(turn: Turn, paper: Paper, settings: Rendering, now: float) -> Blocks:
    """What stands under the text, at most half a page of it."""
    room = paper.limit // 2
    blocks = list(tail_blocks(turn, settings, now))
    for at in sorted(range(len(blocks)), key=lambda at: isinstance(blocks[at], Checklist)):
        most = room if isinstance(blocks[at], Checklist) else paper.limit // 6
        blocks[at] = clipped(blocks[at], most, paper)
        room -= paper.size(blocks[at]) + JOINT
    return tuple(blocks)


class _Filler:
    """Fills pages of one turn as it stands now."""

    def __init__(self, turn: Turn, paper: Paper, settings: Rendering, now: float) -> None:
        self.turn = turn
        self.parts = turn.every_part
        self.paper = paper
        self.settings = settings
        self.now = now

    def whole(self, begin: Cursor, room: int) -> Blocks | None:
        """Everything from `begin` on, where it fits on one page."""
        blocks: list[AnyOutBlock] = []
        for index, part, offset, opening in self._from(begin):
            if _is_text(part):
                if len(part.text) - offset > _NEVER * self.paper.limit:
                    return None
                block: AnyOutBlock | None = self._rest(part, offset, opening)
            else:
                block = self._block(part)
            if block is None:
                continue
            room -= self.paper.size(block) + JOINT
            if room < 0 and (blocks or _is_text(self.parts[index])):
                return None
            blocks.append(block)
        return tuple(blocks)

    def some(self, begin: Cursor, room: int) -> tuple[Blocks, Cursor]:
        """One full page from `begin`, and where the next one begins."""
        blocks: list[AnyOutBlock] = []
        for index, part, offset, opening in self._from(begin):
            if _is_text(part):
                text = part.text.between(offset, offset + 2 * max(room, 1) + AHEAD)
                whole = offset + len(text) == len(part.text)
                block: AnyOutBlock | None = self._rest(part, offset, opening) if whole else None
                if not whole or (block is not None and self.paper.size(block) + JOINT > room):
                    if blocks and room < self.paper.limit * _SMALL:
                        return tuple(blocks), Cursor(index, offset, opening)
                    piece = piece_of(Piece(opening, text), room - JOINT, self.paper)
                    if len(piece.text) == len(text) and self._grows(part):
                        # All that was heard, and perhaps half a word: the next page begins with the whole of it.
                        piece = near(Piece(opening, text), len(text)) or piece
                    blocks.append(words_block(self.turn, part, piece.opening, piece.text + piece.closing))
                    return tuple(blocks), Cursor(index, offset + len(piece.text), piece.next, piece.closing)
            else:
                block = self._block(part)
                if blocks and block is not None and self.paper.size(block) + JOINT > room:
                    return tuple(blocks), Cursor(index)
            if block is not None:
                blocks.append(block)
                room -= self.paper.size(block) + JOINT
        # What stands under the text does not fit beside it: it gets a page of its own.
        return tuple(blocks), Cursor(len(self.parts))

    def sealed(self, begin: Cursor, seen: Cursor, *, full: bool = True) -> tuple[Blocks, Cursor] | None:
        """The page as it stands in the chat up to `seen`, or a little before. None: it cannot end there."""
        if not seen.is_after(begin) or seen.part >= len(self.parts):
            return None
        part = self.parts[seen.part]
        end: Cursor | None = Cursor(seen.part + 1)
        if _is_text(part):
            first, opening = (begin.offset, begin.opening) if seen.part == begin.part else (0, "")
            piece = near(Piece(opening, part.text.between(first, seen.offset + AHEAD)), seen.offset - first)
            end = Cursor(seen.part, first + len(piece.text), piece.next, piece.closing) if piece else None
        if end is None or not end.is_after(begin):
            return None
        blocks = _fitted(self.between(begin, end), self.paper)
        size = taken(blocks, self.paper)
        enough = not full or size >= self.paper.limit * _ENOUGH
        return (blocks, end) if enough and size <= self.paper.limit else None

    def between(self, begin: Cursor, end: Cursor) -> Blocks:
        """A sealed page, with its tools as they stand now."""
        blocks: list[AnyOutBlock] = []
        for index, part, offset, opening in self._from(begin):
            if index > end.part or (index == end.part and not end.offset):
                break
            if _is_text(part):
                last = index == end.part
                text = part.text.between(offset, end.offset if last else len(part.text))
                if text:
                    blocks.append(words_block(self.turn, part, opening, text + end.closing * last))
            elif (block := self._block(part)) is not None:
                blocks.append(block)
        return tuple(blocks)

    def end(self, begin: Cursor, room: int) -> Blocks:
        """Only the end of what came after `begin`, with a line that says how much is left out."""
        shown: list[AnyOutBlock] = []
        left, room = 0, room - min(_RESERVE, room // 2)
        for index in range(len(self.parts) - 1, begin.part - 1, -1):
            part, offset = self.parts[index], begin.offset if index == begin.part else 0
            block: AnyOutBlock | None = None
            if not _is_text(part):
                block = self._block(part) if room > 0 and not left else None
            elif left or room < _LEAST:
                left += len(part.text) - offset
            else:
                block, start = self._tail(part, offset, room)
                left += start - offset
            if block is None:
                continue
            size = self.paper.size(block) + JOINT
            if size <= room:
                shown.insert(0, block)
            room = max(room - size, 0)
        when = "" if self.turn.result else " when it is done"
        if left:
            return (
                Footer(f"… {left:,} characters are left out here. The whole answer comes as a file{when}."),
                *shown,
            )
        return (*shown, Footer(f"The whole answer also comes as a file{when}."))

    def _tail(self, part: Words, offset: int, room: int) -> tuple[Markdown, int]:
        """The last words of a part that fit the room, and where they begin."""
        length = len(part.text) - offset
        take = min(length, room)
        while True:
            start = len(part.text) - take
            if start > offset:
                base = max(offset, start - AHEAD)
                around = part.text.between(base, start + AHEAD)
                start = base + clear_of_secrets(around, start - base)
                line = part.text.between(start, start + take // 2).find("\n") + 1
                start += line
            block = words_block(self.turn, part, "", part.text.since(start))
            size = self.paper.size(block) + JOINT
            if size <= room or take <= 1:
                return block, start
            take = max(min(int(take * room / size * 0.9), take - 1), 1)

    def has_running(self, begin: Cursor, end: Cursor) -> bool:
        """Whether a page shows a tool that still runs."""
        return any(
            self.turn.tools[tool].state == "running"
            for part in self.parts[begin.part : end.part]
            if isinstance(part, Work)
            for tool in part.tools[-max(self.settings.tool_lines, 1) :]
        )

    def _from(self, begin: Cursor) -> Iterator[tuple[int, Part, int, str]]:
        """The parts from a place on, each with where it begins there."""
        for index in range(begin.part, len(self.parts)):
            first = index == begin.part
            yield index, self.parts[index], begin.offset if first else 0, begin.opening if first else ""

    def _rest(self, part: Words, offset: int, opening: str) -> Markdown | None:
        text = part.text.since(offset)
        return words_block(self.turn, part, opening, text, growing=self._grows(part)) if text else None

    def _grows(self, part: Words) -> bool:
        return part is self.turn.live and not part.complete

    def _block(self, part: Part) -> AnyOutBlock | None:
        block = part_block(self.turn, part, self.settings, self.now)
        return clipped(block, self.paper.limit // 2, self.paper) if block is not None else None


def _is_text(part: Part | None) -> TypeGuard[Words]:
    """Words that are not reasoning are laid out over as many pages as they need; all else is one block."""
    return isinstance(part, Words) and not part.thinking
