"""Messages become harmless pieces of a page, and changes cost what changed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beambot.api import Outgoing, bodies
from beambot.api import markdown as md
from beambot.api import outbound as out
from platforms.web.outbound import Shown, patch, show

_PARTS = ["word", " ", "\n", "\n\n", "# ", "- ", "  - ", "- [x] ", "1. ", "```", "\n```\n", "> ", "**", "`", "|"]
_PARTS += ["\n| a |\n|--|\n", "    ", "---", "=", "\t", "[a](https://e.org)", "[^1]: ", "\N{ROCKET}", "<b>"]
_MARKDOWN = st.lists(st.sampled_from(_PARTS), max_size=40).map("".join)


def outgoing(*blocks: out.AnyOutBlock, **more: object) -> Outgoing:
    return Outgoing("k", blocks, **more)  # type: ignore[arg-type]


def html(text: str) -> str:
    return "".join(show(outgoing(out.Markdown(text))).blocks[0]["html"])


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


def test_characters_that_turn_or_hide_text_are_neutralised() -> None:
    shown = html("evil\u202etxt.exe\u2066 z\u200bero \ufeff")
    assert not set(shown) & set("\u202e\u2066\u200b\ufeff")
    assert "zero" in shown


def applied(shown: Shown, change: dict[str, Any] | None) -> dict[str, Any]:
    """What a page shows after a change."""
    if change is None:
        return shown.payload
    blocks = list(shown.blocks)
    for index, is_open, count, changes in change["grown"]:
        html = grown(blocks[index]["html"], changes, count)
        blocks[index] = {**blocks[index], "open": is_open, "html": html}
    for index, block in change["whole"]:
        blocks += [{}] * (index + 1 - len(blocks))
        blocks[index] = block
    return {"blocks": blocks[: change["count"]], **change.get("rest", shown.rest)}


def grown(shown: list[str], changes: list[list[Any]], count: int) -> list[str]:
    """What the page does with a growing text; its strings count in UTF-16 units."""
    pieces = list(shown)
    for index, keep, rest in changes:
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
    assert applied(before, change) == after.payload


@settings(max_examples=100, deadline=None)
@given(_MARKDOWN, _MARKDOWN, st.sampled_from(["", "Look at the tests"]), st.booleans())
def test_patch_leads_from_any_text_to_any_other(old: str, new: str, under: str, folded: bool) -> None:
    before = show(outgoing(out.Markdown(old + "\N{ROCKET}a"), out.Markdown("b")))
    message = outgoing(out.Markdown(new + "\N{ROCKET}b", under=under, folded=folded))
    after = show(message, before)
    assert applied(before, patch(before, after)) == after.payload == show(message).payload


@settings(max_examples=60, deadline=None)
@given(_MARKDOWN, st.lists(st.integers(1, 15), min_size=1, max_size=20))
def test_growing_text_gives_the_same_page_as_the_whole_text(text: str, steps: list[int]) -> None:
    shown = show(outgoing(out.Markdown("", open=True)))
    page = shown.payload
    at = 0
    for step in [*steps, len(text)]:
        at += step
        message = outgoing(out.Markdown(text[:at], open=at < len(text)))
        now = show(message, shown)
        page = applied(Shown(tuple(page["blocks"]), (), shown.rest), patch(shown, now))
        shown = now
        assert page == show(message).payload


def test_list_that_was_parted_goes_on_and_grows() -> None:
    context = "4. .\n"
    before = show(outgoing(out.Markdown(f"{context}   more", open=True, skip=len(context))))
    after = show(outgoing(out.Markdown(f"{context}   more\n5. five", open=True, skip=len(context))), before)
    assert after.blocks[0]["html"] == ['<ol start="4"><li class="continued">more</li><li>five</li></ol>']
    assert applied(before, patch(before, after)) == after.payload


def test_words_of_a_subagent_stand_under_the_title_of_its_tool() -> None:
    before = show(outgoing(out.Markdown("a", open=True)))
    after = show(outgoing(out.Markdown("a", open=True, under="Task\u202e: look")), before)
    assert after.blocks[0]["under"] == "Task\N{REPLACEMENT CHARACTER}: look"
    change = patch(before, after)
    assert change is not None
    assert change["whole"] == [[0, after.blocks[0]]]


def test_a_line_of_a_change_stays_one_line_whatever_stands_in_it() -> None:
    unified = "@@ -1,2 +1,2 @@\r\n-a\r\n+b\u2028+forged\r+too"
    (block,) = show(outgoing(out.Change("a.py", unified, 1, 1))).blocks
    assert block["lines"] == ["@@ -1,2 +1,2 @@", "-a", "+b⏎+forged⏎+too"]


def test_only_beambot_speaks_with_its_sign() -> None:
    blocks = (
        out.Markdown(f"{md.SIGN} Allowed", under=md.SIGN),
        out.Tools((out.ToolLine(md.SIGN),)),
        out.Checklist((bodies.PlanEntry(md.SIGN),)),
        out.Change(md.SIGN, md.SIGN, 0, 0),
        out.Facts((out.Fact(md.SIGN, md.SIGN),)),
    )
    assert md.SIGN not in str(show(outgoing(*blocks)).payload)


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
