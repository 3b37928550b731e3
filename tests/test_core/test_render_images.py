"""Pictures of diffs: valid, small in colours, true in their tints, and never larger than a phone can show."""

from __future__ import annotations

import io
import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from beambot.errors import BeambotError
from beambot.render import fonts, images
from beambot.render.diff import FileDiff, Row, parse_diff
from beambot.render.fonts import CELL, LINE, columns
from beambot.render.images import (
    COLOURS,
    COLUMNS,
    GUTTER,
    HEAD,
    WIDTH,
    Line,
    Tint,
    draw,
    drawn,
    layout,
    pictures_available,
)

SHORT = "--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,3 @@\n same\n-total = price\n+total = cost\n"
texts = st.text(max_size=120) | st.text("ab \t中😀é\u0301\ufe0f\u200d_", max_size=150)


def files(*kinds: str) -> st.SearchStrategy[FileDiff]:
    rows = st.lists(st.builds(Row, st.sampled_from(kinds), texts), max_size=12).map(tuple)
    notes = st.sampled_from(["", "new file"])
    return st.builds(FileDiff, texts, rows, st.just(0), st.just(0), notes, st.integers(0, 2))


def opened(png: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(png))
    picture.load()
    assert picture.format == "PNG"
    return picture


def top_of(row: int) -> int:
    """Where a row of the first file begins, measured in lines below the head."""
    return HEAD + images._PADDING + row * LINE


def colour(picture: Image.Image, x: int, y: int) -> tuple[int, ...]:
    found = picture.convert("RGB").getpixel((x, y))
    assert isinstance(found, tuple)
    return found


def text_of(lines: list[Line]) -> list[str]:
    return ["".join(cell.glyph for cell in line.cells) for line in lines if line.file is None]


def light(colour: tuple[int, int, int]) -> float:
    parts = [part / 255 for part in colour]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_a_picture_is_as_wide_as_a_phone_and_as_high_as_its_rows() -> None:
    picture = opened(draw(parse_diff(SHORT)))
    assert picture.size == (WIDTH, top_of(3) + images._GAP)
    assert WIDTH == 1080


def test_rows_are_tinted_from_edge_to_edge_and_the_words_that_changed_more_so() -> None:
    picture = opened(draw(parse_diff(SHORT)))
    for row, tint, word in ((1, Tint.REMOVED, Tint.REMOVED_WORD), (2, Tint.ADDED, Tint.ADDED_WORD)):
        for y in (top_of(row), top_of(row) + LINE - 1):
            assert colour(picture, WIDTH - 1, y) == COLOURS[tint][0]
            assert colour(picture, GUTTER, y) == COLOURS[tint][0]
            assert colour(picture, 0, y) == COLOURS[word][0]
            assert colour(picture, images._TEXT + CELL * 9, y) == COLOURS[word][0]
            assert colour(picture, images._TEXT + CELL * 7, y) == COLOURS[tint][0]
    red, green, blue = colour(picture, WIDTH - 1, top_of(2))
    assert green > 2 * red > 0
    assert green > blue
    red, green, blue = colour(picture, WIDTH - 1, top_of(1))
    assert red > 2 * green
    assert red > 2 * blue
    assert colour(picture, WIDTH - 1, top_of(0)) == COLOURS[Tint.PAGE][0]


def test_each_sign_and_each_letter_leaves_ink_in_its_cell() -> None:
    picture = opened(draw(parse_diff("+ab 中c")))
    top = top_of(0)
    at = images._TEXT
    inked = [len(set(cell(picture, at + CELL * n, top).tobytes())) > 1 for n in range(7)]
    assert inked == [True, True, False, True, True, True, False]
    assert len(set(cell(picture, (GUTTER - CELL) // 2, top).tobytes())) > 1


def cell(picture: Image.Image, x: int, y: int) -> Image.Image:
    return picture.crop((x, y, x + CELL, y + LINE))


@pytest.mark.parametrize("tint", list(Tint))
def test_text_stands_out_from_its_ground(tint: Tint) -> None:
    ground, ink = (light(part) for part in COLOURS[tint])
    assert (ink + 0.05) / (ground + 0.05) > 5.5


def test_there_are_few_colours() -> None:
    text = SHORT + "@@ -9 +9 @@ f()\n" + "".join(f"+{chr(n) * 40}\n" for n in range(33, 120))
    picture = opened(draw(parse_diff(text)))
    assert picture.mode == "P"
    assert len(picture.convert("RGB").getcolors(99) or []) in range(20, 65)


def test_the_same_diff_is_the_same_picture() -> None:
    assert draw(parse_diff(SHORT)) == draw(parse_diff(SHORT))


def test_a_long_line_goes_on_under_its_own_indentation_and_cuts_no_short_word() -> None:
    text = "    " + "first, second, third, fourth, fifth, sixth, seventh, eighth, ninth"
    lines = text_of(layout(parse_diff("+" + text)))
    assert len(lines) == 2
    assert lines[1].startswith(" " * 6 + "seventh")
    assert lines[0] + lines[1][6:] == text


@pytest.mark.parametrize("text", ["x" * 300, "    " + "中" * 90, "a, " * 70, "\t" * 4 + "x" * 200])
def test_no_part_of_a_long_line_is_wider_than_the_picture(text: str) -> None:
    lines = layout(parse_diff("+" + text))[1:]
    assert len(lines) > 3
    assert all(columns(line.cells) <= COLUMNS for line in lines)
    assert "".join(text_of(lines)).replace(" ", "") == "".join(text.split())


def test_a_line_without_end_shows_its_beginning_and_its_length() -> None:
    lines = text_of(layout(parse_diff("+" + "x" * 100_000 + "\n+next")))
    assert len(lines) == images._MOST_WRAPPED + 1
    assert lines[-2].endswith("… 100000 characters in all")
    assert lines[-1] == "next"
    hidden = text_of(layout(parse_diff("+a" + "\u0301" * 5_000 + "evil()")))
    assert hidden[-1].endswith("… 5007 characters in all")


def test_tabs_accents_and_wide_signs_keep_the_grid() -> None:
    def cells(text: str) -> list[tuple[str, int]]:
        return [(cell.glyph, cell.columns) for cell in layout(parse_diff("+" + text))[1].cells]

    assert cells("a\tb") == [("a", 1), (" ", 1), (" ", 1), (" ", 1), ("b", 1)]
    assert cells("中\tb") == [("中", 2), (" ", 1), (" ", 1), ("b", 1)]
    assert cells("e\u0301x") == [("e\u0301", 1), ("x", 1)]
    assert cells("❤\ufe0f😀") == [("❤", 2), ("😀", 2)]
    assert cells("a\u200b\u202eb") == [("a", 1), ("�", 1), ("b", 1)]


def test_more_rows_than_fit_are_counted_in_the_last_line() -> None:
    lines = layout(parse_diff("@@ -0,0 +1,250 @@\n" + "".join(f"+line {n}\n" for n in range(250))))
    assert len(lines) == 60
    assert text_of(lines)[-2:] == ["line 57", "… 192 more lines in the file"]


def test_a_head_does_not_stand_without_a_line_and_files_without_lines_are_counted() -> None:
    two = (FileDiff("a", (Row("added", "x"),) * 3), FileDiff("b", (Row("added", "y"),) * 3))
    lines = layout(two, 6)
    assert text_of(lines) == ["x", "x", "x", "… 3 more lines in the files"]
    assert [line.file is not None for line in lines] == [True, False, False, False, False]
    assert len(layout(two, 8)) == 8
    assert text_of(layout((FileDiff("a", note="binary file"),) * 9, 7)) == ["binary file"] * 3 + ["… 6 more files"]


@settings(max_examples=150, deadline=None)
@given(diffs=st.lists(files("added", "removed", "gap"), max_size=4), most=st.integers(-1, 30))
def test_nothing_is_wider_or_higher_than_its_room_and_every_line_is_shown_or_counted(
    diffs: list[FileDiff], most: int
) -> None:
    lines = layout(diffs, most)
    assert len(lines) <= max(most, 1)
    assert all(columns(line.cells) <= COLUMNS for line in lines)
    shown = sum(line.sign in ("+", "−") for line in lines)
    counted = re.match(r"… (\d+) more lines?", text_of(lines)[-1]) if lines and lines[-1].file is None else None
    assert shown + (int(counted[1]) if counted else 0) == sum(file.lines for file in diffs)


@settings(max_examples=40, deadline=None)
@given(diffs=st.lists(files("added", "removed", "context", "gap"), max_size=3))
def test_any_diff_can_be_drawn(diffs: list[FileDiff]) -> None:
    picture = opened(draw(diffs, 20))
    assert picture.width == WIDTH
    assert len(picture.convert("RGB").getcolors(65) or []) > 0


def test_without_any_font_the_one_inside_pillow_keeps_the_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "found", dict)
    picture = opened(draw(parse_diff("+iiiiiiiiii|\n+WWWWWWWWWW|")))
    bars = [cell(picture, images._TEXT + CELL * 10, top_of(row)).tobytes() for row in (0, 1)]
    assert bars[0] == bars[1]
    assert len(set(bars[0])) > 1
    assert all(len(set(cell(picture, images._TEXT + CELL * 11, top_of(row)).tobytes())) == 1 for row in (0, 1))


def test_a_letter_too_wide_for_its_cell_is_squeezed_and_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "found", dict)
    letter = (
        cell(opened(draw(parse_diff("+W"))), images._TEXT, top_of(0)).convert("L").point(lambda shade: shade > 120)
    )
    box = letter.getbbox()
    assert box is not None
    tips = [x for x in range(CELL) if letter.getpixel((x, box[1] + 3))]
    assert tips[0] <= 2
    assert tips[-1] >= CELL - 3


def test_a_font_file_that_cannot_be_read_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "found", lambda: dict.fromkeys(fonts.MONOSPACED + fonts.WIDER, "/dev/null"))
    assert opened(draw(parse_diff("+中"))).width == WIDTH


def test_without_pillow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert not pictures_available()
    with pytest.raises(BeambotError, match=r"beambot\[pictures\]"):
        draw(parse_diff(SHORT))


async def test_a_thread_draws_the_same() -> None:
    assert pictures_available()
    assert await drawn(parse_diff(SHORT)) == draw(parse_diff(SHORT))
