"""How a file goes out: as a picture that is looked at, or as a document. Pure but for a look at its first bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from platforms.telegram.drawing.canvas import Formatted, cut, units
from platforms.telegram.drawing.pings import unpinged
from platforms.telegram.receiving.files import safe_name

CAPTION = 1024
PHOTO_BYTES = 10 * 1024 * 1024
# Telegram shrinks the longer side of a photo: what is taller than this cannot be read any more.
_TALLEST = 1.5
_LARGEST_SIDES = 10_000
_PNG = b"\x89PNG\r\n\x1a\n"


def form_of(path: Path) -> Literal["photo", "document"]:
    """A picture with a shape that a phone shows whole is a photo; everything else stays as it is."""
    with path.open("rb") as file:
        head = file.read(24)
    if head[:8] != _PNG or head[12:16] != b"IHDR" or path.stat().st_size > PHOTO_BYTES:
        return "document"
    width, height = int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    small = 0 < width + height <= _LARGEST_SIDES
    return "photo" if small and height <= width * _TALLEST and width <= 20 * height else "document"


def caption_of(text: str) -> str:
    """The words under a file: no more than fit, and nothing in them that calls somebody."""
    words = unpinged(text.strip())
    return cut(Formatted(words, units=units(words)), CAPTION, 0).text


def name_of(name: str) -> str:
    """A name that every system takes."""
    return safe_name(name) or "file"
