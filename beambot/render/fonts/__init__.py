"""Letters on a grid of cells, whatever fonts are on this computer, so that columns always meet.

Pillow is imported only when something is drawn: it is an extra.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from PIL import Image, ImageFont

    Font = ImageFont.FreeTypeFont

CELL = 18
LINE = 42

_SIZE = 30
_SMALLEST, _LARGEST = 28, 33
MONOSPACED = (
    "DejaVuSansMono.ttf",
    "Menlo.ttc",
    "SFNSMono.ttf",
    "consola.ttf",
    "LiberationMono-Regular.ttf",
    "NotoSansMono-Regular.ttf",
)
# For what a programmer's font lacks: other scripts, symbols, emoji.
WIDER = (
    "DejaVuSans.ttf",
    "NotoSansCJK-Regular.ttc",
    "wqy-microhei.ttc",
    "Arial Unicode.ttf",
    "Hiragino Sans GB.ttc",
    "msyh.ttc",
    "NotoEmoji-Regular.ttf",
    "seguiemj.ttf",
    "seguisym.ttf",
)
_FOLDERS = {
    "darwin": ("/System/Library/Fonts", "/Library/Fonts", "~/Library/Fonts"),
    "win32": (os.path.join(os.environ.get("WINDIR", "C:\\Windows"), "Fonts"),),
}
_OTHER_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")
# No font has this one; what is drawn for it is what a font draws for all that it lacks.
_LACKING = "\U0010fffd"
# Signs of our own, for a font that has only the plain ones.
_SIMPLER = {"−": "-", "⋯": "…"}


class Cell(Struct, frozen=True):
    """What stands in one column, or in two: a character with its accents."""

    glyph: str
    columns: int = 1
    marked: bool = False


def columns(cells: Sequence[Cell]) -> int:
    """How much room they take."""
    return sum(cell.columns for cell in cells)


class Pen:
    """Writes into cells; each letter is drawn once. It belongs to one picture, since fonts belong to one thread."""

    def __init__(self) -> None:
        self._glyphs: dict[tuple[str, int], Image.Image] = {}
        self._fonts: list[Font] = [_main_font()]
        self._boxes = [_ink(font, _LACKING).tobytes() for font in self._fonts]
        self._further = iter([found()[name] for name in WIDER if name in found()])

    def write(self, cells: Sequence[Cell], at: int, top: int, ink: Image.Image) -> None:
        """Put them side by side, from this corner on."""
        for cell in cells:
            if cell.glyph != " ":
                key = (cell.glyph, cell.columns)
                if key not in self._glyphs:
                    self._glyphs[key] = self._glyph(cell.glyph, CELL * cell.columns)
                ink.paste(self._glyphs[key], (at, top))
            at += CELL * cell.columns

    def _glyph(self, text: str, width: int) -> Image.Image:
        """One cell; a letter wider than its cell is squeezed into it, and one that no font has is a box."""
        from PIL import Image, ImageDraw

        cell = Image.new("L", (width, LINE))
        font = self._font_for(text[0])
        if font is None and text in _SIMPLER:
            text = _SIMPLER[text]
            font = self._font_for(text)
        if font is None:
            ImageDraw.Draw(cell).rectangle((3, 9, width - 4, LINE - 10), outline=170, width=2)
            return cell
        letter = _ink(font, text)
        if letter.width > width + 1:
            letter = letter.resize((width, LINE))
        cell.paste(letter, ((width - letter.width) // 2, 0))
        return cell

    def _font_for(self, char: str) -> Font | None:
        at = 0
        while at < len(self._fonts) or self._one_more():
            if _ink(self._fonts[at], char).tobytes() != self._boxes[at]:
                return self._fonts[at]
            at += 1
        return None

    def _one_more(self) -> bool:
        from PIL import ImageFont

        for path in self._further:
            try:
                font = ImageFont.truetype(path, _SIZE)
            except OSError:
                continue
            self._fonts.append(font)
            self._boxes.append(_ink(font, _LACKING).tobytes())
            return True
        return False


def _ink(font: Font, text: str) -> Image.Image:
    """A letter on its baseline, as wide as it is."""
    from PIL import Image, ImageDraw

    letter = Image.new("L", (max(round(font.getlength(text)), 1), LINE))
    ascent, descent = font.getmetrics()
    ImageDraw.Draw(letter).text(
        (0, (LINE - ascent - descent) // 2 + ascent), text, fill=255, font=font, anchor="ls"
    )
    return letter


def _main_font() -> Font:
    """The first monospaced font that can be read, in the size that fills a cell; else the one inside Pillow."""
    from PIL import ImageFont

    for name in MONOSPACED:
        try:
            if name in found():
                advance = ImageFont.truetype(found()[name], _SIZE).getlength("M")
                size = int(_SIZE * (CELL + 0.2) / max(advance, 1))
                return ImageFont.truetype(found()[name], min(max(size, _SMALLEST), _LARGEST))
        except OSError:
            continue
    font = ImageFont.load_default(size=_SMALLEST)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


@cache
def found() -> dict[str, Path]:
    """Where the fonts are. Folders of the system and of its user only, never the one that beambot works in."""
    wanted = {*MONOSPACED, *WIDER}
    places: dict[str, Path] = {}
    for folder in _FOLDERS.get(sys.platform, _OTHER_FOLDERS):
        for parent, _, names in os.walk(Path(folder).expanduser()):
            for name in wanted.intersection(names):
                places.setdefault(name, Path(parent, name))
    return places
