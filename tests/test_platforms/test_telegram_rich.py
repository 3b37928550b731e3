"""Messages in the rich form: blocks of the Bot API, within its limits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beambot.api import Outgoing, bodies
from beambot.api import markdown as md
from beambot.api import outbound as out
from platforms.telegram.rich import rich_measure, rich_payload

FIELDS = {
    "paragraph": {"text"},
    "heading": {"text", "size"},
    "pre": {"text", "language"},
    "divider": set(),
    "footer": {"text"},
    "blockquote": {"blocks"},
    "details": {"summary", "blocks"},
    "list": {"items"},
    "table": {"cells", "is_bordered"},
}
ITEM = {"blocks", "has_checkbox", "is_checked", "value", "type"}
CELL = {"text", "align", "valign", "is_header"}


def rich(*blocks: out.AnyOutBlock) -> list[dict[str, object]]:
    message = rich_payload(Outgoing(key="k", blocks=blocks))["rich_message"]
    assert isinstance(message, dict)
    assert message["skip_entity_detection"] is True
    found = message["blocks"]
    assert isinstance(found, list)
    return found


def words(text: str) -> list[dict[str, object]]:
    return rich(out.Markdown(text))


class Sheet:
    """Walks through blocks, checks each against the Bot API, and counts."""

    def __init__(self, blocks: list[dict[str, object]]) -> None:
        self.said: list[str] = []
        self.count = self.deepest = 0
        self.blocks(blocks, 1)

    def blocks(self, blocks: object, depth: int) -> None:
        assert isinstance(blocks, list)
        for block in blocks:
            self.count += 1
            fields = set(block) - {"type"}
            assert fields <= FIELDS[block["type"]]
            self.deepest = max(self.deepest, depth)
            self.text(block.get("text", ""), depth + 1)
            self.text(block.get("summary", ""), depth + 1)
            if "blocks" in block:
                self.blocks(block["blocks"], depth + 1)
            for item in block.get("items", []):
                self.count += 1
                assert set(item) <= ITEM
                self.blocks(item["blocks"], depth + 2)
            for row in block.get("cells", []):
                self.count += 1
                assert len(row) == len(block["cells"][0]) <= 20
                for cell in row:
                    assert {"text", "align", "valign"} <= set(cell) <= CELL
                    self.text(cell["text"], depth + 1)

    def text(self, text: object, depth: int) -> None:
        self.deepest = max(self.deepest, depth)
        if isinstance(text, str):
            self.said.append(text)
        elif isinstance(text, list):
            for part in text:
                self.text(part, depth)
        else:
            assert isinstance(text, dict)
            assert text["type"] in {"bold", "italic", "strikethrough", "code", "url"}
            assert ("url" in text) == (text["type"] == "url")
            self.text(text["text"], depth + 1)


def test_inline_markup_is_nested_text() -> None:
    (block,) = words("a **b *c*** `d` [e](https://e.org) https://f.org/x.")
    assert block == {
        "type": "paragraph",
        "text": [
            "a ",
            {"type": "bold", "text": "b "},
            {"type": "bold", "text": {"type": "italic", "text": "c"}},
            " ",
            {"type": "code", "text": "d"},
            " ",
            {"type": "url", "text": "e", "url": "https://e.org"},
            " ",
            {"type": "url", "text": "https://f.org/x", "url": "https://f.org/x"},
            ".",
        ],
    }


def test_headings_code_and_rules() -> None:
    assert words("## Two\n\n```py\n  x\n```\n\n---") == [
        {"type": "heading", "text": "Two", "size": 2},
        {"type": "pre", "text": "  x", "language": "py"},
        {"type": "divider"},
    ]


def test_lists_are_nested_and_have_checkboxes() -> None:
    assert words("3. three\n   - [x] done\n   - [ ] open\n4. four\n\n   more") == [
        {
            "type": "list",
            "items": [
                {
                    "blocks": [
                        {"type": "paragraph", "text": "three"},
                        {
                            "type": "list",
                            "items": [
                                {
                                    "blocks": [{"type": "paragraph", "text": "done"}],
                                    "has_checkbox": True,
                                    "is_checked": True,
                                },
                                {"blocks": [{"type": "paragraph", "text": "open"}], "has_checkbox": True},
                            ],
                        },
                    ],
                    "value": 3,
                    "type": "1",
                },
                {
                    "blocks": [{"type": "paragraph", "text": "four"}, {"type": "paragraph", "text": "more"}],
                    "value": 4,
                    "type": "1",
                },
            ],
        }
    ]


def test_rest_of_an_item_from_an_earlier_page_has_no_marker() -> None:
    text = "- said\n\n  more"
    assert rich(out.Markdown(text, skip=text.index("more"))) == [{"type": "paragraph", "text": "more"}]


def test_tables_have_alignment() -> None:
    (table,) = words("| a | b |\n|---|--:|\n| **1** | |")
    head = {"valign": "middle", "is_header": True}
    assert table == {
        "type": "table",
        "cells": [
            [{"text": "a", "align": "left", **head}, {"text": "b", "align": "right", **head}],
            [
                {"text": {"type": "bold", "text": "1"}, "align": "left", "valign": "middle"},
                {"text": "", "align": "right", "valign": "middle"},
            ],
        ],
        "is_bordered": True,
    }


def test_table_with_too_many_columns_is_preformatted() -> None:
    row = "|" + " x |" * 21
    assert words(f"{row}\n{'|' + '---|' * 21}\n{row}")[0]["type"] == "pre"


def test_quotes_alerts_and_notes() -> None:
    assert words("> [!TIP]\n> a\n>\n> > b\n\n[^1]: note") == [
        {
            "type": "blockquote",
            "blocks": [
                {"type": "paragraph", "text": {"type": "bold", "text": "💡 Tip"}},
                {"type": "paragraph", "text": "a"},
                {"type": "blockquote", "blocks": [{"type": "paragraph", "text": "b"}]},
            ],
        },
        {"type": "paragraph", "text": ["[1] ", "note"]},
    ]


def test_reasoning_is_details_and_a_subagent_is_quoted() -> None:
    assert rich(out.Markdown("hm", folded=True)) == [
        {
            "type": "details",
            "summary": {"type": "italic", "text": "Thoughts"},
            "blocks": [{"type": "paragraph", "text": "hm"}],
        }
    ]
    assert rich(out.Markdown("hi", under="Task")) == [
        {"type": "paragraph", "text": {"type": "italic", "text": "Task"}},
        {"type": "blockquote", "blocks": [{"type": "paragraph", "text": "hi"}]},
    ]


def test_cards() -> None:
    blocks = rich(
        out.Tools((out.ToolLine("ls", state="done", seconds=1),), hidden=2),
        out.Checklist((bodies.PlanEntry("a", "in_progress"), bodies.PlanEntry("b", "completed"))),
        out.Change("a.py", "@@ -1 +1 @@\n-x\n+y", 1, 1),
        out.Facts(
            (out.Fact("Command", "ls", code=True), out.Fact("Script", "a\nb", code=True), out.Fact("Why", "x"))
        ),
        out.Notice("ready"),
        out.Footer("3 s"),
    )
    said = Sheet(blocks).said
    for text in ("… 2 more\n✓ ls · 1.0 s", "a.py", " +1 −1", "@@ -1 +1 @@\n-x\n+y", "ls", "a\nb", "3 s"):
        assert text in said
    assert f"{md.SIGN} ℹ️ ready" in said
    assert blocks[1]["type"] == "list"
    assert blocks[-1]["type"] == "footer"


def test_keyboard_and_bell_are_as_in_the_other_form() -> None:
    buttons = ((out.Button("Yes", "y", "primary"),),)
    arguments = rich_payload(Outgoing(key="k", blocks=(out.Footer("x"),), buttons=buttons, loud=True))
    assert arguments["reply_markup"] == {
        "inline_keyboard": [[{"text": "Yes", "callback_data": "y", "style": "primary"}]]
    }
    assert arguments["disable_notification"] is False


@pytest.mark.parametrize(
    "text",
    ["x" * 40_000, "- a\n" * 400, "a\n\n" * 600, "| a |\n|---|\n" + "| b |\n" * 600, "> " * 60 + "deep", ""],
)
def test_no_message_breaks_a_limit(text: str) -> None:
    blocks = rich(out.Markdown("first"), out.Markdown(text), out.Footer("last"))
    sheet = Sheet(blocks)
    assert sheet.count <= 500
    assert sum(map(len, sheet.said)) <= 32_768
    assert sheet.deepest <= 16
    assert sheet.said[0] == "first"


def test_deep_lists_lose_levels_but_no_words() -> None:
    text = "\n".join("  " * depth + f"- level{depth} **b *c* ~~[d](https://e.org)~~**" for depth in range(12))
    sheet = Sheet(words(text))
    assert sheet.deepest <= 16
    said = "".join(sheet.said)
    for depth in range(12):
        assert f"level{depth}" in said


PIECES = [
    "**bold *b***",
    "`c`",
    "[l](https://e.org)",
    "https://e.org/x",
    "@alice",
    "~~s~~",
    "[m](mailto:a@b.co)",
    "w",
    "😀",
    "*",
]
STARTS = [
    "\n- ",
    "\n  - ",
    "\n1. ",
    "\n> ",
    "\n# ",
    "\n```py\n",
    "\n```\n",
    "\n| a | b |\n|---|--:|\n| 1 |\n",
    "\n\n",
]
texts = st.lists(st.sampled_from([*PIECES, *STARTS, " ", "\n---\n", "\n[^1]: "]), max_size=25).map("".join)


@settings(max_examples=200, deadline=None)
@given(texts, st.booleans(), st.booleans())
def test_any_markdown_is_valid_and_loses_no_word(text: str, growing: bool, folded: bool) -> None:
    block = out.Markdown(text, open=growing, folded=folded)
    blocks = rich(block)
    sheet = Sheet(blocks)
    assert blocks == rich(block)
    if rich_measure(block):
        assert rich_measure(block) >= max(sum(map(len, sheet.said)), 65 * sheet.count)
    said = "".join(sheet.said)
    for one in md.parse(text, 0, growing):
        match one:
            case md.Paragraph(spans=spans) | md.Heading(spans=spans):
                assert all(word in said for span in spans for word in span.text.split())
            case md.Code(text=code):
                assert all(word in said for word in code.split())
            case _:
                pass


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("at https://e.org/wiki/A_(b).", "https://e.org/wiki/A_(b)"),
        ("\\[a](https://e.org/x)\\](y)", "https://e.org/x"),
        ("请看 https://e.org/a，然后", "https://e.org/a"),
        ("https://e.org/?a[0]=1&b=2", "https://e.org/?a[0]=1&b=2"),
    ],
)
def test_an_address_ends_where_a_reader_ends_it(text: str, address: str) -> None:
    (block,) = words(text)
    spans = block["text"] if isinstance(block["text"], list) else [block["text"]]
    assert [one["url"] for one in spans if isinstance(one, dict)] == [address]


def test_an_address_that_telegram_would_refuse_stays_text() -> None:
    text = "https://e.org/" + "x" * 3000
    assert words(text) == [{"type": "paragraph", "text": text}]


def test_a_task_too_deep_for_a_list_still_shows_whether_it_is_done() -> None:
    text = (
        "".join("  " * depth + "- level\n" for depth in range(4))
        + " " * 8
        + "- [x] done\n"
        + " " * 8
        + "- [ ] open"
    )
    said = Sheet(words(text)).said
    assert "☑ " in said
    assert "☐ " in said


def test_an_alert_without_words_is_its_title_alone() -> None:
    title = {"type": "paragraph", "text": {"type": "bold", "text": "❗ Important"}}
    assert words("> [!IMPORTANT]") == [{"type": "blockquote", "blocks": [title]}]


def test_a_table_of_too_many_columns_says_where_its_links_lead() -> None:
    row = "|" + " a |" * 21
    (block,) = words(f"{row}\n{'|-' * 21}|\n{row.replace(' a', ' [b](https://e.org/b)', 1)}")
    assert block["type"] == "pre"
    assert "b (https://e.org/b)" in str(block["text"])
