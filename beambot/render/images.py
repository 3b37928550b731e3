"""Diffs as pictures that can be read on a phone: big letters, wrapped lines, whole rows tinted.

A picture is put together from two layers, the tints and the ink, straight into a palette: no colour has to be
looked for afterwards. Every function here is pure; `draw` belongs into a thread, where `drawn` runs it.
"""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import groupby
from typing import TYPE_CHECKING

import anyio.to_thread
from msgspec import Struct

from beambot.errors import BeambotError
from beambot.render.diff import FileDiff, Kind, Row
from beambot.render.fonts import CELL, LINE, Cell, Pen, columns

if TYPE_CHECKING:
    from PIL import Image

WIDTH = 1080
COLUMNS = 55
HEAD = 74
GUTTER = 46
MARGIN = 28
MOST_ROWS = 60

_TEXT = GUTTER + 14
_GAP = 20
_PADDING = 8
_TAB = 4
_MOST_INDENT = 16
# A line that would fill the picture on its own shows its beginning.
_MOST_WRAPPED = 8
_MOST_READ = 2 * COLUMNS * _MOST_WRAPPED
_MOST_JOINED = 3
_NO_WIDTH = ("Mn", "Me", "Cf")
# A word up to this long is not cut in two where a line ends.
_LONGEST_KEPT = 14


class Tint(IntEnum):
    """The grounds that text stands on."""

    PAGE = 0
    ADDED = 1
    REMOVED = 2
    ADDED_WORD = 3
    REMOVED_WORD = 4
    HEAD = 5
    HEAD_ADDED = 6
    HEAD_REMOVED = 7
    QUIET = 8


Colour = tuple[int, int, int]
# Ground and ink. Nine tints in seven shades each, from the ground to the ink, are 63 colours.
COLOURS: dict[Tint, tuple[Colour, Colour]] = {
    Tint.PAGE: ((16, 19, 26), (206, 212, 222)),
    Tint.ADDED: ((14, 50, 33), (222, 240, 228)),
    Tint.REMOVED: ((66, 24, 30), (248, 224, 226)),
    Tint.ADDED_WORD: ((22, 102, 58), (240, 255, 245)),
    Tint.REMOVED_WORD: ((142, 38, 48), (255, 240, 240)),
    Tint.HEAD: ((34, 40, 53), (242, 245, 250)),
    Tint.HEAD_ADDED: ((34, 40, 53), (88, 214, 132)),
    Tint.HEAD_REMOVED: ((34, 40, 53), (255, 138, 140)),
    Tint.QUIET: ((16, 19, 26), (136, 146, 164)),
}
SHADES = 7

_TINTS: dict[Kind, tuple[Tint, Tint, str]] = {
    "context": (Tint.PAGE, Tint.PAGE, ""),
    "added": (Tint.ADDED, Tint.ADDED_WORD, "+"),
    "removed": (Tint.REMOVED, Tint.REMOVED_WORD, "−"),
    "gap": (Tint.QUIET, Tint.QUIET, "⋯"),
}


class Line(Struct, frozen=True):
    """One line of a picture. A line with a file is the head of that file."""

    kind: Kind
    cells: tuple[Cell, ...] = ()
    sign: str = ""
    file: FileDiff | None = None


def pictures_available() -> bool:
    """Whether Pillow is here, with the part of it that draws letters."""
    try:
        from PIL import features
    except ImportError:
        return False
    return bool(features.check("freetype2"))


async def drawn(diffs: Sequence[FileDiff], max_rows: int = MOST_ROWS) -> bytes:
    """The same as `draw`, in a thread of its own."""
    return await anyio.to_thread.run_sync(draw, diffs, max_rows)


def draw(diffs: Sequence[FileDiff], max_rows: int = MOST_ROWS) -> bytes:
    """A PNG of at most so many rows, the heads of files and the wrapped parts of long lines counted in."""
    if not pictures_available():
        raise BeambotError("pictures of diffs need Pillow", fix="pip install 'beambot[pictures]'")
    from PIL import Image, ImageChops

    lines = layout(diffs, max_rows)
    tops, height = _places(lines)
    ground = Image.new("L", (WIDTH, height), Tint.PAGE * SHADES)
    ink = Image.new("L", (WIDTH, height))
    pen = Pen()
    for line, top in zip(lines, tops, strict=True):
        if line.file is not None:
            _draw_head(line.file, top, ground, ink, pen)
        else:
            _draw_row(line, top, ground, ink, pen)
    shade = [value * (SHADES - 1) // 255 for value in range(256)]
    picture = ImageChops.add(ground, ink.point(shade))
    picture.putpalette([part for tint in Tint for colour in _shades(tint) for part in colour])
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def layout(diffs: Sequence[FileDiff], max_rows: int = MOST_ROWS) -> list[Line]:
    """The lines of a picture; the last one counts what found no room."""
    most = max(max_rows, 1)
    hidden = sum(diff.hidden for diff in diffs)
    kept: list[tuple[Line, ...]] = []
    used = 0
    for group in _groups(diffs):
        kept.append(group)
        used += len(group)
        if used > most:
            break
    if used <= most - bool(hidden):
        return [line for group in kept for line in group] + _more(hidden, 0, diffs)
    while kept and (used >= most or _leads_on(kept[-1][0])):
        used -= len(kept.pop())
    rows = sum(group[0].file is None and group[0].kind != "gap" for group in kept)
    heads = sum(group[0].file is not None for group in kept)
    lines = [line for group in kept for line in group]
    return lines + _more(sum(diff.lines for diff in diffs) - rows, len(diffs) - heads, diffs)


def _leads_on(line: Line) -> bool:
    """Whether a line only opens what follows it, so that it does not stand last."""
    return bool(line.file.rows or line.file.note) if line.file else line.sign == _TINTS["gap"][2]


def _more(count: int, files: int, diffs: Sequence[FileDiff]) -> list[Line]:
    if count:
        text = f"… {count} more line{'s' if count > 1 else ''} in the file{'s' if len(diffs) > 1 else ''}"
    elif files:
        text = f"… {files} more file{'s' if files > 1 else ''}"
    else:
        return []
    return [Line("gap", tuple(Cell(char) for char in text))]


def _groups(diffs: Sequence[FileDiff]) -> Iterator[tuple[Line, ...]]:
    """Lines that are shown together or not at all."""
    for diff in diffs:
        yield (Line("gap", file=diff),)
        if diff.note:
            yield (Line("gap", _fitted(_cells(diff.note), COLUMNS)),)
        for row in diff.rows:
            yield tuple(_wrapped(row))


def _wrapped(row: Row) -> list[Line]:
    """A row, with what does not fit continued under its own indentation."""
    sign = _TINTS[row.kind][2]
    cells = _cells(row.text[:_MOST_READ], row)
    if row.kind == "gap":
        return [Line("gap", _fitted(cells, COLUMNS), sign)]
    blank = next((at for at, cell in enumerate(cells) if cell.glyph != " "), 0)
    indent = [Cell(" ")] * min(blank + 2, _MOST_INDENT)
    lines: list[list[Cell]] = [[]]
    while cells and len(lines) <= _MOST_WRAPPED:
        count = _break(cells, COLUMNS - len(lines[-1]))
        lines[-1] += cells[:count]
        cells = cells[count:]
        if cells:
            lines.append([*indent])
    if len(lines) > _MOST_WRAPPED or len(row.text) > _MOST_READ:
        end = _cells(f"… {len(row.text)} characters in all")
        lines = lines[:_MOST_WRAPPED]
        lines[-1] = [*_cut(lines[-1], COLUMNS - len(end)), *end]
    return [Line(row.kind, tuple(line), "" if at else sign) for at, line in enumerate(lines)]


def _break(cells: list[Cell], room: int) -> int:
    """How many of them stand on a line: up to where a word begins, if one is near."""
    count = len(_cut(cells, room))
    if count == len(cells):
        return count
    seams = range(count, max(count - _LONGEST_KEPT, 1), -1)
    return next((at for at in seams if _is_seam(cells[at - 1], cells[at])), count)


def _is_seam(before: Cell, after: Cell) -> bool:
    in_word = before.columns == 1 and (before.glyph[0].isalnum() or before.glyph == "_")
    return not in_word and after.glyph != " "


def _cells(text: str, row: Row | None = None) -> list[Cell]:
    """Characters on the grid: tabs as spaces, wide ones in two columns, accents with the letter they belong to."""
    marked = [False] * len(text)
    for start, end in row.marks if row else ():
        marked[start:end] = [True] * (min(end, len(text)) - start)
    cells: list[Cell] = []
    column = 0
    for at, char in enumerate(text):
        if char == "\t":
            count = _TAB - column % _TAB
            cells += [Cell(" ", 1, marked[at])] * count
            column += count
            continue
        if not char.isascii() and unicodedata.category(char) in _NO_WIDTH:
            if cells:
                column -= cells[-1].columns
                cells[-1] = _joined(cells[-1], char)
                column += cells[-1].columns
            continue
        wide = not char.isascii() and unicodedata.east_asian_width(char) in "WF"
        cells.append(Cell(" " if char.isspace() else char, 1 + wide, marked[at]))
        column += 1 + wide
    return cells


def _joined(cell: Cell, char: str) -> Cell:
    """A letter with one more accent; a sign that is asked to be an emoji takes two columns."""
    if char == "\N{VARIATION SELECTOR-16}":
        return Cell(cell.glyph, 2, cell.marked)
    accent = unicodedata.category(char) != "Cf" and not 0xFE00 <= ord(char) <= 0xFE0F
    return Cell(cell.glyph + char, cell.columns, cell.marked) if accent and len(cell.glyph) < _MOST_JOINED else cell


def _cut(cells: Sequence[Cell], room: int) -> Sequence[Cell]:
    """As many of them as there is room for."""
    for at, cell in enumerate(cells):
        room -= cell.columns
        if room < 0:
            return cells[:at]
    return cells


def _fitted(cells: Sequence[Cell], room: int) -> tuple[Cell, ...]:
    """The same, with a sign where more follow."""
    return tuple(cells) if columns(cells) <= room else (*_cut(cells, room - 1), Cell("…"))


def _places(lines: list[Line]) -> tuple[list[int], int]:
    """Where each line begins, and where the picture ends."""
    tops: list[int] = []
    at = 0
    for number, line in enumerate(lines):
        if line.file is not None:
            at += _GAP if number else 0
            tops.append(at)
            at += HEAD + _PADDING
        else:
            tops.append(at)
            at += LINE
    return tops, at + _GAP


def _draw_head(file: FileDiff, top: int, ground: Image.Image, ink: Image.Image, pen: Pen) -> None:
    ground.paste(Tint.HEAD * SHADES, (0, top, WIDTH, top + HEAD))
    at = WIDTH - MARGIN
    line = top + (HEAD - LINE) // 2
    for text, tint in ((f"−{file.removed}", Tint.HEAD_REMOVED), (f"+{file.added}", Tint.HEAD_ADDED)):
        at -= CELL * len(text)
        ground.paste(tint * SHADES, (at, top, at + CELL * len(text), top + HEAD))
        pen.write(_cells(text), at, line, ink)
        at -= CELL
    pen.write(_end_of_path(file.path or "changes", (at - MARGIN) // CELL), MARGIN, line, ink)


def _end_of_path(path: str, room: int) -> Sequence[Cell]:
    """A long path loses folders in front: its end tells files apart."""
    cells = _cells(path[-2 * COLUMNS :])[-COLUMNS:]
    if columns(cells) <= room and len(path) <= COLUMNS:
        return cells
    kept = _cut(cells[::-1], room - 1)[::-1]
    folder = next((at for at, cell in enumerate(kept) if cell.glyph == "/"), 0)
    return [Cell("…"), *kept[folder:]]


def _draw_row(line: Line, top: int, ground: Image.Image, ink: Image.Image, pen: Pen) -> None:
    tint, strong, _ = _TINTS[line.kind]
    if tint is not Tint.PAGE:
        ground.paste(tint * SHADES, (0, top, WIDTH, top + LINE))
        ground.paste(strong * SHADES, (0, top, GUTTER, top + LINE))
    at = _TEXT
    for marked, run in groupby(line.cells, lambda cell: cell.marked):
        width = CELL * columns([*run])
        if marked:
            ground.paste(strong * SHADES, (at, top, at + width, top + LINE))
        at += width
    if line.sign:
        pen.write([Cell(line.sign)], (GUTTER - CELL) // 2, top, ink)
    pen.write(line.cells, _TEXT, top, ink)


def _shades(tint: Tint) -> list[Colour]:
    """From the ground to the ink, for the soft edges of letters."""
    ground, ink = COLOURS[tint]
    steps = SHADES - 1
    mixed = [[(g * (steps - n) + i * n) // steps for g, i in zip(ground, ink, strict=True)] for n in range(SHADES)]
    return [(red, green, blue) for red, green, blue in mixed]
