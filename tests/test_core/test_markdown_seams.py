"""A text on several pages: each page means what the whole meant, and says nothing twice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from beambot.api import markdown as md
from beambot.render.markdown.seams import Seam, seam, seam_at

CORPUS = sorted((Path(__file__).parents[1] / "fixtures" / "markdown").glob("*.md"))


def pages(text: str, room: int) -> list[tuple[str, int]]:
    done: list[tuple[str, int]] = []
    skip = 0
    while (place := seam(text, skip, skip + room, "characters")).length < len(text):
        assert place.length > skip
        done.append((text[: place.length] + place.closing, skip))
        text, skip = place.opening + text[place.length :], len(place.opening)
    return [*done, (text, skip)]


def shown(text: str, at: str) -> tuple[str, str]:
    """Both halves of a text that is parted in front of these words."""
    place = seam_at(text, 0, text.index(at))
    second = place.opening + text[place.length :]
    return md.plain(md.parse(text[: place.length] + place.closing)), md.plain(md.parse(second, len(place.opening)))


@pytest.mark.parametrize(
    ("text", "at", "first", "second"),
    [
        ("one two", "two", "one", "two"),
        ("one - two", "- two", "one", "- two"),
        ("one\n2024. two", "2024", "one", "2024. two"),
        ("- one two\n- three", "two", "• one", "  two\n• three"),
        ("1. one\n1. two two\n1. three", "two\n", "1. one\n2. two", "   two\n3. three"),
        ("9. a\n9. b b\n\n   c\n9. d", "b\n", "9. a\n10. b", "    b\n    c\n11. d"),
        ("> one\n> two", "> two", "> one", "> two"),
        ("> one two", "two", "> one", "> two"),
        ("- > one two", "two", "• > one", "  > two"),
        ("> - one\n>\n>   two", ">   two", "> • one", ">   two"),
        ("- a\n\n  b", "  b", "• a", "  b"),
        ("- # a b\n", "b", "• a", "  b"),
        ("```py\na\nb\n```", "b\n", "a", "b"),
        ("- ```\n  a\n  b\n  ```\n- c", "  b", "• a", "  b\n• c"),
        ("    a\n    b", "    b", "a", "b"),
        ("- x\n\n      a\n      b", "      b", "• x\n  a", "  b"),
        ("|a|b|\n|-|-|\n|1|2|\n|3|4|", "|3", "a │ b\n──┼──\n1 │ 2", "a │ b\n──┼──\n3 │ 4"),
        ("|a|b|\n|-|-|\n|1|2 2|", "2|", "a │ b\n──┼──\n1 │ 2", "a │ b\n──┼──\n  │ 2"),
        ("x\n\n|a|b|\n|-|-|\n|1|2|", "-|-", "x", "a │ b\n──┼──\n1 │ 2"),
        ("- x\n\n  |a|\n  |-|\n  |1|\n  |2|", "  |2", "• x\n  a\n  ─\n  1", "  a\n  ─\n  2"),
        ("x\n```py\ny\n```", "py", "x", "y"),
        ("a \\* b", "* b", "a", "* b"),
        ("a &amp; b", "mp;", "a", "& b"),
        ("text\n---\nmore", "---", "text", "more"),
    ],
)
def test_what_a_text_stands_in_is_said_again(text: str, at: str, first: str, second: str) -> None:
    assert tuple(half.rstrip() for half in shown(text, at)) == (first, second)


@pytest.mark.parametrize("marks", ["**", "*", "__", "~~", "`", "***"])
def test_what_is_emphasised_is_so_on_both_pages(marks: str) -> None:
    text = f"start {marks}one two three{marks} end"
    place = seam_at(text, 0, text.index("two"))
    for half, skip in (
        (text[: place.length] + place.closing, 0),
        (place.opening + text[place.length :], len(place.opening)),
    ):
        (block,) = md.parse(half, skip)
        assert isinstance(block, md.Paragraph)
        assert not re.search(r"[*_~`]", md.words(block.spans))
        assert len({span.style for span in block.spans}) == 2


def test_long_italics_are_no_lone_star() -> None:
    text = "*" + "word " * 60 + "end*"
    place = seam_at(text, 0, 250)
    assert (place.closing, place.opening) == ("\u2060*", ". *\u2060")


def test_a_link_goes_to_the_next_page_as_a_whole() -> None:
    text = "some words before it [a label](https://e.example/long/address) and after"
    assert seam(text, 0, 45, "characters").length == text.index("[")


def test_a_page_that_ends_with_the_text_needs_nothing() -> None:
    assert seam("- a", 0, 100, "characters") == Seam(3)


def test_the_opening_of_a_page_does_not_grow() -> None:
    deep = "".join("  " * n + f"- level {n} with some words\n" for n in range(30))
    ragged = "".join(" " * (n * 3) + f"- level {n} with some words\n" for n in range(30))
    for text in (deep, ragged, "1. " * 40 + "word " * 200):
        parted = pages(text, 120)
        assert max(skip for _, skip in parted) <= 520
        assert len(parted) <= len(text) // 20


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
@pytest.mark.parametrize("room", [40, 200])
def test_no_word_of_the_corpus_is_lost_between_pages(path: Path, room: int) -> None:
    text = path.read_bytes().decode()
    told = "".join(md.plain(md.parse(page, skip)) for page, skip in pages(text, room))
    letters = "".join(filter(str.isalnum, told))
    for word in re.findall(r"[^\W\d_]{4,}", md.plain(md.parse(text))):
        assert word in letters
