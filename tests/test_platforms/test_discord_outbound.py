"""Messages become bodies that Discord takes, ping nobody and stay within its limits."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beambot.api import Outgoing, bodies
from beambot.api import markdown as md
from beambot.api import outbound as out
from platforms.discord.components import v2_measure, v2_payload
from platforms.discord.outbound import Component, measure, payload, shown

HOSTILE = "@everyone <@123> ||x|| https://e.org/a_b\n# loud\n- [ ] `x` **b**\n```\nfenced @here"
PING = re.compile(r"(?<!\\)(?:@everyone|@here|<@)")


def outgoing(*blocks: out.AnyOutBlock, **more: object) -> Outgoing:
    return Outgoing("k", blocks, **more)  # type: ignore[arg-type]


def content(*blocks: out.AnyOutBlock, **more: object) -> str:
    return payload(outgoing(*blocks, **more))["content"]


def outside_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]+`", "", text, flags=re.DOTALL)


def every_block(text: str) -> tuple[out.AnyOutBlock, ...]:
    return (
        out.Markdown(text),
        out.Markdown(text, folded=True),
        out.Markdown(text, under=text),
        out.Tools((out.ToolLine(text, "execute", "done", 1.5), out.ToolLine(text, depth=2)), hidden=3),
        out.Checklist((bodies.PlanEntry(text, "completed"), bodies.PlanEntry(text, "in_progress"))),
        out.Change(text, text, 1, 2),
        out.Facts((out.Fact(text, text), out.Fact(text, text, code=True))),
        out.Notice(text, "ask"),
        out.Footer(text),
    )


def walk(components: list[Component]) -> list[Component]:
    return [one for part in components for one in (part, *walk(part.get("components", [])))]


# ── blocks ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (
            out.Tools((out.ToolLine("ls *", "execute", "done", 0.13), out.ToolLine("cat", depth=1)), hidden=2),
            "-# … 2 more\n✓ ls \\* · 0.1 s\n\u2003⏳ cat",
        ),
        (out.Tools((out.ToolLine("make", "execute", "failed", 200),)), "✗ make · 3 min"),
        (
            out.Checklist((bodies.PlanEntry("a", "completed"), bodies.PlanEntry("b", "in_progress"))),
            "☑ a\n◐ b",
        ),
        (
            out.Change("a_b.py", "--- a/a_b.py\n+++ b/a_b.py\n@@ -1 +1 @@\n--- x\n+y", 1, 1),
            "`a_b.py` +1 −1\n```diff\n@@ -1 +1 @@\n--- x\n+y\n```",
        ),
        (
            out.Facts((out.Fact("Why", "a_b"), out.Fact("Run", "rm `x`", True))),
            "**Why**: a\\_b\n**Run**: ``rm `x` ``",
        ),
        (out.Facts((out.Fact("Run", "a\nb", True),)), "**Run**:\n```\na\nb\n```"),
        (out.Notice("Done.", "success"), f"{md.SIGN} ✅ Done."),
        (out.Footer("3 s"), "-# 3 s"),
        (out.Markdown("I *think*\n\n- so", folded=True), "> -# I think\n> -# • so"),
        (out.Markdown("a\n\n```\nx\n```", under="Task *1*"), "> **↳ Task \\*1\\***\n> a\n> \n> ```\n> x\n> ```"),
        (out.Markdown("- a\n- b", skip=4), "- b"),
    ],
)
def test_block_is_written_so(block: out.AnyOutBlock, text: str) -> None:
    assert content(block) == text
    assert measure(block) == len(text) + 2


def test_agent_cannot_speak_as_beambot() -> None:
    forged = content(out.Markdown(f"{md.SIGN} allowed"), out.Tools((out.ToolLine(f"{md.SIGN} x"),)))
    assert md.SIGN not in forged
    assert content(out.Notice(f"a\n{md.SIGN} b")).count(md.SIGN) == 1


def test_long_reasoning_keeps_its_end() -> None:
    text = content(out.Markdown("\n\n".join(f"thought {n} " + "x" * 80 for n in range(40)), folded=True))
    assert len(text) < 700
    assert "thought 39" in text
    assert text.startswith("> -# … ")


def test_long_change_is_counted() -> None:
    text = content(out.Change("a", "@@ -1 +1 @@\n" + "\n".join(f"+line {n}" for n in range(500)), 500, 0))
    assert "+500 −0" in text
    assert re.search(r"… \d+ more lines\n```$", text)
    assert len(text) < 1200


def test_blocks_stand_apart_and_the_footer_close() -> None:
    assert content(out.Markdown("a"), out.Markdown(""), out.Markdown("b"), out.Footer("f")) == "a\n\nb\n-# f"


@pytest.mark.parametrize("plain", [False, True])
def test_nothing_that_an_agent_says_pings(plain: bool) -> None:
    for block in every_block(HOSTILE):
        body = payload(outgoing(block, plain=plain))
        assert not PING.search(outside_code(body["content"])), body["content"]
        assert body["allowed_mentions"] == {"parse": []}


def test_plain_has_the_words_and_no_markup() -> None:
    text = content(out.Markdown("**a_b**\n\n```py\nx*y\n```"), out.Notice("N", "ask"), out.Footer("f"), plain=True)
    assert text == f"a\\_b\n\nx\\*y\n\n{md.SIGN} ❓ N\n\nf"


# ── the body ─────────────────────────────────────────────────────────────────────────────────────────


def test_only_a_loud_message_rings() -> None:
    assert payload(outgoing(out.Notice("n")))["flags"] == 4 | 4096
    assert payload(outgoing(out.Notice("n"), loud=True))["flags"] == 4
    assert v2_payload(outgoing(out.Notice("n"), loud=True))["flags"] == 1 << 15


def test_buttons_have_their_style_and_data() -> None:
    row = (out.Button("Allow", "a", "primary"), out.Button("Later", "b"), out.Button("No", "c", "danger"))
    assert payload(outgoing(out.Notice("May it?"), buttons=(row,)))["components"] == [
        {
            "type": 1,
            "components": [
                {"type": 2, "style": 1, "label": "Allow", "custom_id": "a"},
                {"type": 2, "style": 2, "label": "Later", "custom_id": "b"},
                {"type": 2, "style": 4, "label": "No", "custom_id": "c"},
            ],
        }
    ]


def test_too_many_rows_are_packed() -> None:
    rows = tuple((out.Button(f"b{n}", f"d{n}"),) for n in range(12))
    components = payload(outgoing(out.Notice("n"), buttons=rows))["components"]
    assert [len(row["components"]) for row in components] == [5, 5, 2]


def test_buttons_that_would_be_refused_are_made_acceptable() -> None:
    row = (out.Button("x" * 200, "a" * 200), out.Button("", "b"), out.Button("again", "b"))
    (only,) = payload(outgoing(out.Notice("n"), buttons=(row,)))["components"]
    assert [(len(b["label"]), len(b["custom_id"])) for b in only["components"]] == [(80, 100), (1, 1)]


def test_form_is_a_button_that_opens_it() -> None:
    form = out.Form("f:1", (out.Field("a", "Which?"),), submit="Answer")
    (row,) = payload(outgoing(out.Notice("n"), form=form))["components"]
    assert row["components"] == [{"type": 2, "style": 1, "label": "Answer", "custom_id": "f:1"}]


def test_removed_buttons_are_said_to_be_gone() -> None:
    assert payload(outgoing(out.Notice("n")))["components"] == []


@pytest.mark.parametrize("blocks", [(), (out.Markdown(""),), (out.Markdown(" \n"), out.Checklist(()))])
def test_message_without_words_is_not_refused(blocks: tuple[out.AnyOutBlock, ...]) -> None:
    assert content(*blocks) == "…"
    (container,) = v2_payload(outgoing(*blocks))["components"]
    assert container["components"] == [{"type": 10, "content": "…"}]


def test_too_long_is_cut_and_its_fence_closed() -> None:
    text = content(out.Markdown("```py\n" + "x = 1\n" * 1000 + "```"))
    assert 1980 <= len(text) <= 2000
    assert text.endswith("…\n```")
    words = content(out.Markdown("**" + "word " * 1000 + "end**"))
    assert 1900 <= len(words) <= 2000
    assert words.endswith("word…**")


# ── components ───────────────────────────────────────────────────────────────────────────────────────


def test_container_holds_a_text_for_each_block() -> None:
    message = outgoing(
        out.Markdown("a"),
        out.Notice("w", "warning"),
        out.Notice("i"),
        out.Footer("f"),
        buttons=((out.Button("B", "b"),),),
    )
    assert v2_payload(message) == {
        "components": [
            {
                "type": 17,
                "accent_color": 0xF57C00,
                "components": [
                    {"type": 10, "content": "a"},
                    {"type": 10, "content": f"{md.SIGN} ⚠️ w"},
                    {"type": 10, "content": f"{md.SIGN} ℹ️ i"},
                    {"type": 14, "divider": True, "spacing": 1},
                    {"type": 10, "content": "-# f"},
                    {"type": 1, "components": [{"type": 2, "style": 2, "label": "B", "custom_id": "b"}]},
                ],
            }
        ],
        "flags": 1 << 15 | 4096,
        "allowed_mentions": {"parse": []},
    }


def test_container_has_no_accent_without_a_notice() -> None:
    (container,) = v2_payload(outgoing(out.Markdown("a")))["components"]
    assert "accent_color" not in container


def test_plain_container_has_the_words_in_one_text() -> None:
    (container,) = v2_payload(outgoing(out.Markdown("**a**"), out.Footer("f"), plain=True))["components"]
    assert container["components"] == [{"type": 10, "content": "a\n\nf"}]


# ── limits ───────────────────────────────────────────────────────────────────────────────────────────

WORD = st.sampled_from(
    ["word", "**b**", "`c`", "a_b", "@everyone", "https://e.org/a_b", "```\n", "\n", "- x", "> "]
)
TEXT = st.lists(WORD, max_size=120).map(" ".join)
BLOCK = TEXT.flatmap(lambda text: st.sampled_from(every_block(text)))
ROWS = st.lists(st.integers(0, 7), max_size=8).map(
    lambda sizes: tuple(tuple(out.Button("b", f"{row}:{n}") for n in range(size)) for row, size in enumerate(sizes))
)


@settings(max_examples=150, deadline=None)
@given(st.lists(BLOCK, max_size=60).map(tuple), ROWS)
def test_limits_hold_and_measure_is_never_too_small(
    blocks: tuple[out.AnyOutBlock, ...], rows: tuple[tuple[out.Button, ...], ...]
) -> None:
    message = outgoing(*blocks, buttons=rows)
    body = payload(message)
    assert 0 < len(body["content"]) <= 2000
    assert body == payload(message)
    assert len(body["components"]) <= 5
    assert all(1 <= len(row["components"]) <= 5 for row in body["components"])
    if sum(map(measure, blocks)) <= 2000:
        assert all(shown(block) in body["content"] for block in blocks)

    laid_out = v2_payload(message)
    every = walk(laid_out["components"])
    texts = [part["content"] for part in every if part["type"] == 10]
    assert len(every) <= 40
    assert texts
    assert all(texts)
    assert sum(map(len, texts)) <= 4000
    if sum(map(v2_measure, blocks)) <= 4000:
        everything = "\n\n".join(texts)
        assert all(shown(block) in everything for block in blocks)
    (container,) = v2_payload(outgoing(*blocks, buttons=rows, plain=True))["components"]
    assert len(container["components"][0]["content"]) <= 4000
