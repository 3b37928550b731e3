"""Text and its entities as the Bot API takes them: drawn in characters, handed over in UTF-16 units."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Literal

from msgspec import Struct

from beambot.api import markdown as md
from platforms.telegram.drawing import pings

Kind = Literal[
    "blockquote",
    "expandable_blockquote",
    "pre",
    "text_link",
    "bold",
    "underline",
    "italic",
    "strikethrough",
    "code",
]
Run = tuple[int, int, str]  # where it ends, its style, its link
Shape = tuple[int, int, Kind, str]  # where it begins and ends, what it is, its language or address

UNDERLINE, SOLID = 16, 32
_KINDS: dict[int, Kind] = {
    md.BOLD: "bold",
    UNDERLINE: "underline",
    md.ITALIC: "italic",
    md.STRIKE: "strikethrough",
    md.CODE: "code",
}
_BITS = {style: tuple(bit for bit in _KINDS if style & bit) for style in range(64)}
_ORDER: dict[Kind, int] = {
    kind: place
    for place, kind in enumerate(("blockquote", "expandable_blockquote", "pre", "text_link", *_KINDS.values()))
}
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


class Entity(Struct, frozen=True, omit_defaults=True):
    """A MessageEntity of the Bot API; `offset` and `length` count UTF-16 units."""

    type: Kind
    offset: int
    length: int
    language: str = ""
    url: str = ""


class Formatted(Struct, frozen=True):
    """A text with its entities, outer ones before inner ones, and its length in UTF-16 units."""

    text: str = ""
    entities: tuple[Entity, ...] = ()
    units: int = 0


class Canvas:
    """Takes text from left to right, and makes of it what Telegram accepts."""

    def __init__(self) -> None:
        self.length = 0
        self._parts: list[str] = []
        self._runs: list[Run] = []
        self._marks: list[Shape] = []

    def write(self, text: str, style: int = 0, link: str = "") -> None:
        """More text in one style. Code has no other style; words of a link are not code."""
        if not self.length and not style & SOLID:
            text = text.lstrip()
        if not text:
            return
        if link:
            style &= ~md.CODE
        elif style & md.CODE:
            style = md.CODE
        self._parts.append(text)
        self.length += len(text)
        _add(self._runs, self.length, style, link)

    def mark(self, kind: Kind, start: int) -> None:
        """Everything from `start` to here stands in a quotation."""
        self._marks.append((start, self.length, kind, ""))

    def preformatted(self, text: str, language: str = "") -> None:
        """Lines as they are."""
        start = self.length
        self.write(text, SOLID)
        self._marks.append((start, self.length, "pre", language))

    def finish(self) -> Formatted:
        """What was drawn. Words that would ping are code: nobody is called, and they are copied as written."""
        text = "".join(self._parts).rstrip()
        shapes = _swept([*_guarded(self._runs, pings.tokens(text)), (self.length, 0, "")])
        solid = {start for start, _, kind, _ in self._marks if kind == "pre"}
        trimmed = (_trimmed(text, shape, solid) for shape in shapes + self._marks)
        shapes = [shape for shape in trimmed if shape[0] < shape[1]]
        shapes.sort(key=lambda shape: (shape[0], -shape[1], _ORDER[shape[2]]))
        wide = [] if text.isascii() else [match.start() for match in _ASTRAL.finditer(text)]
        return Formatted(text, tuple(_entity(shape, wide) for shape in shapes), len(text) + len(wide))


def units(text: str) -> int:
    """The length of a text in UTF-16 units."""
    return len(text) if text.isascii() else len(text) + sum(char > "\uffff" for char in text)


def joined(parts: list[Formatted], between: str) -> Formatted:
    """Several as one; those that say nothing are left out."""
    parts = [part for part in parts if part.text]
    if len(parts) == 1:
        return parts[0]
    entities: list[Entity] = []
    offset = 0
    for part in parts:
        entities += [
            Entity(one.type, one.offset + offset, one.length, one.language, one.url) for one in part.entities
        ]
        offset += part.units + units(between)
    return Formatted(between.join(part.text for part in parts), tuple(entities), max(0, offset - units(between)))


def cut(whole: Formatted, room: int, most: int) -> Formatted:
    """The beginning of it that has at most `room` units and `most` entities, with a sign where it ends."""
    if whole.units <= room and len(whole.entities) <= most:
        return whole
    end = min(room - 1, whole.entities[most].offset if len(whole.entities) > most else room)
    text = whole.text.encode("utf-16-le")[: 2 * end].decode("utf-16-le", "ignore").rstrip()
    end = units(text)
    # Half a path may look like a command.
    last = pings.found_at_end(text)
    safe = any(
        one.type in ("code", "pre", "text_link") and one.offset < end <= one.offset + one.length
        for one in whole.entities
    )
    if last < len(text) and not safe:
        text = text[:last].rstrip()
        end = units(text)
    kept = [
        Entity(one.type, one.offset, min(one.length, end - one.offset), one.language, one.url)
        for one in whole.entities
        if one.offset < end
    ]
    return Formatted(text + "…", tuple(kept), end + 1)


def _add(runs: list[Run], end: int, style: int, link: str) -> None:
    if runs and runs[-1][1] == style and runs[-1][2] == link:
        runs[-1] = (end, style, link)
    else:
        runs.append((end, style, link))


def _guarded(runs: list[Run], tokens: list[tuple[int, int]]) -> list[Run]:
    """The same runs with these places as code, where they are not code or a link already."""
    if not tokens:
        return runs
    guarded: list[Run] = []
    start = at = 0
    for end, style, link in runs:
        if not link and not style & (md.CODE | SOLID):
            while at < len(tokens) and tokens[at][0] < end:
                first, last = tokens[at]
                if first > start:
                    _add(guarded, first, style, link)
                start = min(last, end)
                _add(guarded, start, md.CODE, "")
                if last > end:
                    break
                at += 1
        if start < end:
            _add(guarded, end, style, link)
        while at < len(tokens) and tokens[at][1] <= end:
            at += 1
        start = end
    return guarded


def _swept(runs: list[Run]) -> list[Shape]:
    """Runs as shapes of which any two are apart, or one is inside of the other.

    All styles end where another begins, and where a link begins or ends: TDLib splits them there before it sends
    a message, and what counts is what it sends.
    """
    shapes: list[Shape] = []
    opened: list[tuple[int, int]] = []
    start = first = 0
    before = ""
    for at, (end, style, link) in enumerate(runs):
        bits = _BITS[style]
        keep = 0
        if link == before and len(bits) <= len(opened):
            while keep < len(opened) and opened[keep][0] in bits:
                keep += 1
            keep = keep if keep == len(bits) else 0
        while len(opened) > keep:
            bit, begin = opened.pop()
            shapes.append((begin, start, _KINDS[bit], ""))
        if link != before:
            if before:
                shapes.append((first, start, "text_link", before))
            first, before = start, link
        if not opened:
            opened = [(bit, start) for bit in sorted(bits, key=lambda bit: -_extent(runs, at, bit))]
        start = end
    return shapes


def _extent(runs: list[Run], at: int, bit: int) -> int:
    """How many runs from here have this style within the same link."""
    count = at
    while count < len(runs) and runs[count][1] & bit and runs[count][2] == runs[at][2]:
        count += 1
    return count - at


def _trimmed(text: str, shape: Shape, solid: set[int]) -> Shape:
    """Without blanks at its ends; the indent of the first line of code belongs to it, and to a quotation of it."""
    start, end, kind, detail = shape
    end = min(end, len(text))
    while start < end and text[end - 1].isspace():
        end -= 1
    while start < end and text[start].isspace() and start not in solid:
        start += 1
    return start, end, kind, detail


def _entity(shape: Shape, wide: list[int]) -> Entity:
    start, end, kind, detail = shape
    if wide:
        start, end = start + bisect_left(wide, start), end + bisect_left(wide, end)
    if kind == "text_link":
        return Entity(kind, start, end - start, url=detail)
    return Entity(kind, start, end - start, language=detail)
