"""Messages become harmless pieces of a page, and changes cost what changed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beambot.api import Outgoing
from beambot.api import outbound as out
from platforms.web.markdown import render
from platforms.web.outbound import patch, show


def html(text: str) -> str:
    return "".join(render(text).html)


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "[x](JaVaScRiPt:alert(1))",
        "[x](vbscript:x)",
        "![x](javascript:alert(1))",
        "<a href='javascript:alert(1)'>x</a>",
        '```"><script>alert(1)</script>\nx\n```',
        '[x](https://e.org/"onmouseover=alert(1))',
        '<https://e.org/"><script>alert(1)</script>>',
        "<div class='notice'>beambot says</div>",
        "<button data-press='ok'>Allow</button>",
    ],
)
def test_hostile_markup_is_never_markup(hostile: str) -> None:
    shown = html(hostile).lower()
    for tag in ("<script", "<img", "<div class='notice'", "<button", "<svg", "<iframe", "<style"):
        assert tag not in shown
    assert 'href="javascript' not in shown
    assert 'href="data' not in shown
    assert 'href="vbscript' not in shown
    assert '"onmouseover' not in shown


def test_links_open_elsewhere_and_tell_nothing() -> None:
    shown = html("[here](https://example.org/a?b=1&c=2)")
    assert 'href="https://example.org/a?b=1&amp;c=2"' in shown
    assert 'rel="noopener noreferrer nofollow"' in shown
    assert 'target="_blank"' in shown


def test_picture_is_a_link_and_not_loaded() -> None:
    shown = html("![a cat](https://example.org/cat.png)")
    assert "<img" not in shown
    assert ">a cat</a>" in shown


@pytest.mark.parametrize(
    "name",
    ["__init__.py", "snake_case_name", "2*3*4", "**/*.py", "src/**", "*.py and *.js", "__main__", "a*b and c*d"],
)
def test_names_are_not_emphasis(name: str) -> None:
    assert html(f"see {name} there") == f"<p>see {name} there</p>\n"


@pytest.mark.parametrize("bold", ["**bold**", "a **bold** word", "这是**粗体**文字", "**bold**, and"])
def test_emphasis_stays_emphasis(bold: str) -> None:
    assert "<strong>" in html(bold)


def test_characters_that_turn_or_hide_text_are_neutralised() -> None:
    shown = html("evil\u202etxt.exe\u2066 z\u200bero \ufeff")
    assert not set(shown) & set("\u202e\u2066\u200b\ufeff")
    assert "zero" in shown


def test_table_is_aligned_without_style_attributes() -> None:
    shown = html("| a | b |\n|:--|--:|\n| 1 | 2 |\n")
    assert '<td class="right">2</td>' in shown
    assert "style=" not in shown


_MARKDOWN = st.lists(
    st.sampled_from(
        [
            "word",
            " ",
            "\n",
            "\n\n",
            "# ",
            "- ",
            "1. ",
            "```",
            "\n```\n",
            "> ",
            "**",
            "`",
            "|",
            "\n|--|\n",
            "    ",
            "---",
            "=",
            "\t",
        ]
    ),
    max_size=40,
).map("".join)


@settings(max_examples=300, deadline=None)
@given(_MARKDOWN, st.lists(st.integers(1, 12), max_size=30))
def test_growing_text_gives_the_same_page_as_the_whole_text(text: str, steps: list[int]) -> None:
    shown = render("")
    at = 0
    for step in steps:
        at += step
        shown = render(text[:at], shown)
    assert render(text, shown).html == render(text).html


def outgoing(*blocks: out.AnyOutBlock, **more: object) -> Outgoing:
    return Outgoing("k", blocks, **more)  # type: ignore[arg-type]


def apply(shown: list[str], changes: list[list[object]], count: int) -> list[str]:
    """What the page does with a growing text; its strings count in UTF-16 units."""
    pieces = list(shown)
    for index, keep, rest in changes:
        assert isinstance(index, int)
        assert isinstance(keep, int)
        assert isinstance(rest, str)
        pieces += [""] * (index + 1 - len(pieces))
        old = pieces[index].encode("utf-16-le")[: keep * 2].decode("utf-16-le")
        pieces[index] = old + rest
    return pieces[:count]


def test_patch_of_a_growing_answer_holds_only_what_is_new() -> None:
    text = "\n\n".join(f"Paragraph {n} with \N{ROCKET} some words." for n in range(200))
    before = show(outgoing(out.Markdown(text, open=True), out.Footer("f")))
    after = show(outgoing(out.Markdown(text + " And more.", open=True), out.Footer("f")), before)
    change = patch(before, after)
    assert change is not None
    assert change["whole"] == []
    ((index, is_open, count, pieces),) = change["grown"]
    assert (index, is_open, count) == (0, True, 200)
    assert len(str(pieces)) < 80
    assert apply(before.blocks[0]["html"], pieces, count) == after.blocks[0]["html"]


@settings(max_examples=100, deadline=None)
@given(_MARKDOWN, _MARKDOWN)
def test_patch_leads_from_any_text_to_any_other(old: str, new: str) -> None:
    before = show(outgoing(out.Markdown(old + "\N{ROCKET}a")))
    after = show(outgoing(out.Markdown(new + "\N{ROCKET}b")), before)
    change = patch(before, after)
    if change is None:
        assert before.payload == after.payload
        return
    ((_, _, count, pieces),) = change["grown"]
    assert apply(before.blocks[0]["html"], pieces, count) == after.blocks[0]["html"]


def test_nothing_changed_is_no_patch() -> None:
    message = outgoing(out.Markdown("a"), out.Notice("b"))
    assert patch(show(message), show(message)) is None


def test_changed_buttons_come_whole_and_unchanged_ones_not_at_all() -> None:
    first = show(outgoing(out.Notice("May it?", "ask"), buttons=((out.Button("Allow", "a"),),)))
    second = show(outgoing(out.Notice("Allowed by ana", "success")))
    change = patch(first, second)
    assert change is not None
    assert change["rest"]["buttons"] == []
    assert change["whole"][0][1]["text"] == "Allowed by ana"
    third = patch(second, show(outgoing(out.Notice("Allowed by bo", "success"))))
    assert third is not None
    assert "rest" not in third


def test_every_kind_of_block_is_drawn() -> None:
    blocks = (
        out.Tools((out.ToolLine("ls", "execute", "done", 0.1),), hidden=2),
        out.Checklist(()),
        out.Change("a.py", "@@ -1 +1 @@\n-a\n+b", 1, 1),
        out.Facts((out.Fact("File", "a.py", True),)),
        out.Notice("n"),
        out.Footer("f"),
    )
    form = out.Form("f:1", (out.Field("db", "Which?", "choice", ("a", "b"), secret=False),))
    payload = show(outgoing(*blocks, form=form)).payload
    assert [block["t"] for block in payload["blocks"]] == ["tools", "list", "diff", "facts", "notice", "footer"]
    assert payload["form"]["fields"][0]["options"] == [["a", "a"], ["b", "b"]]
