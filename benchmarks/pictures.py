"""What a picture of a diff costs, beside the same text drawn by Pillow line by line, without any tint."""

from __future__ import annotations

import difflib
import io

from PIL import Image, ImageDraw, ImageFont

from beambot.render.diff import FileDiff, as_text, parse_diff
from beambot.render.fonts import LINE
from beambot.render.images import WIDTH, draw, layout
from benchmarks.figures import Figure
from benchmarks.reading import best_of

ROWS = 100


def measure() -> list[Figure]:
    """A ratio within this run; the rows a second are for information."""
    text = _unified()
    diffs = parse_diff(text)
    drawn = len(layout(diffs, ROWS))
    assert drawn == ROWS
    plain = best_of(lambda: _plain(diffs[0]), 15)
    parsing = best_of(lambda: parse_diff(text), 15)
    ours = best_of(lambda: draw(diffs, ROWS), 15)
    return [
        Figure(
            "picture", (parsing + ours) / plain, "x_plain", 1.0, note=f"{ROWS} rows: parse + draw ÷ unstyled text"
        ),
        Figure(
            "picture_row", ours / drawn * 1e3, "ms", 5.0, binding=False, note=f"{drawn / ours:.0f} rows a second"
        ),
    ]


def _unified() -> str:
    """A change as agents make them: some words on many lines, and lines too long for a phone."""
    old = [f'    result_{n} = compute(values[{n}], factor={n % 7}, name="number {n}")' for n in range(400)]
    new = [line.replace("compute", "evaluate") if n % 5 == 0 else line for n, line in enumerate(old)]
    return "\n".join(difflib.unified_diff(old, new, "a/work.py", "b/work.py", lineterm=""))


def _plain(diff: FileDiff) -> bytes:
    font = ImageFont.load_default(size=30)
    lines = as_text(diff, ROWS).split("\n")
    picture = Image.new("L", (WIDTH, LINE * len(lines)))
    pen = ImageDraw.Draw(picture)
    for at, line in enumerate(lines):
        pen.text((0, at * LINE), line, fill=255, font=font)
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()
