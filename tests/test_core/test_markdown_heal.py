"""A text that still grows is shown as what it is about to be, and soon."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from beambot.api import markdown as md
from beambot.render.markdown.heal import heal


def shown(text: str) -> str:
    return md.plain(md.parse(text, 0, True))


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("Items:\n-", "Items:"),
        ("Title\n==", "Title"),
        ("Steps\n\n1. one\n2", "Steps\n\n1. one"),
        ("- [x] one\n- [", "☑ one"),
        ("This is **very imp", "This is very imp"),
        ("This is **very important*", "This is very important"),
        ("This is ***so", "This is so"),
        ("***so** mu", "so mu"),
        ("**a *b c*", "a b c"),
        ("``a`", "a"),
        ("See [the do", "See the do"),
        ("See [the docs]", "See the docs"),
        ("See [the docs](https://e.exa", "See the docs"),
        ('See [the docs](https://e.example "Ti', "See the docs"),
        ("See [a [b] c](https://e.exa", "See a [b] c"),
        ("See ![pic](https://e.exa", "See pic"),
        ("See <https://e.exa", "See https://e.exa"),
        ("a[0", "a[0"),
        ("`a [b", "a [b"),
        ("end\\", "end"),
        ("fish &#", "fish"),
        ("gone ~", "gone"),
        ("| a | b", "a │ b\n──┼──"),
        ("| a | b |\n|--", "a │ b\n──┼──"),
        ("- | a |\n", "• a\n  ─"),
        ("| a |\n|---|\n| **1 | 2", "a\n───────\n**1 | 2"),
        ("look at __init", "look at __init__"),
        ("glob **/*.p", "glob **/*.p"),
        ("```py\nx\n``", "x"),
        ("> ```py\n> **kw", "> **kw"),
        ("1. a\n   - ```\n     x = **y", "1. a\n   • x = **y"),
        ("> ```\n> x\n\nafter **b", "> x\n\nafter b"),
        ("- ```\n  x\nafter **b", "• x\n\nafter b"),
    ],
)
def test_what_is_half_written_is_completed_or_left_out(text: str, seen: str) -> None:
    assert shown(text).rstrip() == seen


def test_marks_far_back_in_a_long_paragraph_are_left_alone() -> None:
    text = "word *" + "word " * 2000
    assert heal(text) == text


def test_the_second_of_two_texts_is_the_first_and_more() -> None:
    whole = "# Title\n\n- one **two**\n  - three\n\n```py\nx = 1\n```\n\n"
    whole += "| a | b |\n|---|---|\n| 1 | 2 |\n\nend *soon* now"
    last = md.parse(whole)
    for length in range(len(whole)):
        early = md.parse(whole[:length], 0, True)
        done = [block for block in early[:-1] if not block.inside or block.inside[0] != early[-1].inside[:1]]
        assert tuple(done) == last[: len(done)]


_LONG: dict[str, Callable[[int], str]] = {
    "back-ticks": lambda n: "`" * n,
    "growing back-ticks": lambda n: " ".join("`" * k for k in range(1, int((2 * n) ** 0.5))),
    "open code": lambda n: "`a " * (n // 3),
    "stars": lambda n: "*" * n + "a",
    "open emphasis": lambda n: "*a **b _c " * (n // 10),
    "brackets": lambda n: "[" * n,
    "closed brackets": lambda n: "[" * (n // 2) + "x" + "]" * (n // 2),
    "links": lambda n: "[a](" * (n // 4),
    "blanks": lambda n: " " * n + "x",
    "signs of quotation": lambda n: "> " * (n // 2) + "x",
    "markers": lambda n: "- " * (n // 2) + "x",
    "rulers": lambda n: "-|" * (n // 2) + "x`",
    "fences": lambda n: "```\na\n" * (n // 6),
    "tags": lambda n: "<a " * (n // 3),
    "rows": lambda n: "|a|b|\n|-|-|\n" + "|`x|y`|2|\n" * (n // 10),
    "letters": lambda n: "é*a* " * (n // 5),
}


@pytest.mark.parametrize("name", _LONG)
def test_four_times_the_text_takes_about_four_times_as_long(name: str) -> None:
    def seconds(text: str) -> float:
        md.parse.cache_clear()
        begin = time.process_time()
        md.parse(text, 0, True)
        return time.process_time() - begin

    # The best of several: another program on the machine may take its time from any of them.
    short, long = (min(seconds(_LONG[name](size)) for _ in range(9)) for size in (8_000, 32_000))
    assert long <= max(short * 8, 0.02)
