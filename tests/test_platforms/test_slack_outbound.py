"""Messages in Slack: blocks that keep its limits, buttons, the text of a notification."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beambot.api import Outgoing, bodies
from beambot.api import markdown as md
from beambot.api import outbound as out
from platforms.slack import outbound
from platforms.slack.harmless import JOINER

Json = dict[str, Any]
INLINE = {"text": {"type", "text", "style"}, "link": {"type", "url", "text", "style"}}
PARTS = {
    "rich_text_section": {"type", "elements"},
    "rich_text_quote": {"type", "elements"},
    "rich_text_preformatted": {"type", "elements", "border"},
    "rich_text_list": {"type", "elements", "style", "indent", "offset", "border"},
}


# ── what Slack takes ─────────────────────────────────────────────────────────────────────────────


def check(body: Json) -> None:
    """Every rule of Block Kit that these messages could break."""
    assert set(body) == {"blocks", "text", "parse", "unfurl_links", "unfurl_media"}
    assert body["parse"] == "none"
    assert body["unfurl_links"] is False
    assert body["unfurl_media"] is False
    assert body["text"].strip()
    assert len(body["text"].encode()) <= 4000
    blocks = body["blocks"]
    assert len(blocks) <= 50
    assert sum(block["type"] == "table" for block in blocks) <= 1
    for block in blocks:
        CHECKS[block["type"]](block)
    others = [block for block in blocks if block["type"] not in ("table", "actions")]
    assert counted(others) <= 13_200
    assert len(msgspec.json.encode(others)) <= 41_000


def counted(blocks: list[Json]) -> int:
    """What Slack was seen to count: all words with their entities, and 100 characters for each block."""
    text = "".join(leaf["text"] + leaf.get("url", "") for leaf in leaves(blocks))
    return 100 * len(blocks) + len(text) + 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))


def check_rich_text(block: Json) -> None:
    assert set(block) == {"type", "elements"}
    assert block["elements"]
    for part in block["elements"]:
        assert set(part) <= PARTS[part["type"]]
        assert part["elements"]
        assert part.get("border", 1) == 1
        if part["type"] == "rich_text_list":
            assert part["style"] in ("bullet", "ordered")
            assert 0 <= part.get("indent", 0) <= 8
            assert part.get("offset", 0) >= 0
            for item in part["elements"]:
                assert set(item) == {"type", "elements"}
                assert item["type"] == "rich_text_section"
                check_inline(item["elements"])
        else:
            check_inline(part["elements"])


def check_inline(elements: list[Json]) -> None:
    assert elements
    for element in elements:
        # Only these two: a user, a usergroup, a channel or a broadcast would ping.
        assert set(element) <= INLINE[element["type"]]
        assert element["text"]
        assert set(element.get("style", {"bold": True})) <= {"bold", "italic", "strike", "code"}
        assert all(value is True for value in element.get("style", {"bold": True}).values())
        if element["type"] == "link":
            assert re.fullmatch(r"(?:https?://|mailto:)[^\s<>|\"]+", element["url"], re.IGNORECASE)
            assert len(element["url"]) <= 3000


def check_table(block: Json) -> None:
    assert set(block) == {"type", "rows", "column_settings"}
    assert 1 <= len(block["rows"]) <= 100
    width = len(block["rows"][0])
    assert 1 <= width <= 20
    assert len(block["column_settings"]) == width
    assert all(side["align"] in ("left", "center", "right") for side in block["column_settings"])
    for row in block["rows"]:
        assert len(row) == width
        for cell in row:
            check_rich_text(cell)
    assert sum(len(leaf["text"]) for leaf in leaves(block)) <= 10_000


def check_context(block: Json) -> None:
    assert set(block) == {"type", "elements"}
    assert 1 <= len(block["elements"]) <= 10
    for element in block["elements"]:
        check_plain_text(element, 3000)


def check_plain_text(text: Json, most: int) -> None:
    assert set(text) == {"type", "text", "emoji"}
    assert text["type"] == "plain_text"
    assert text["emoji"] is False
    assert 1 <= len(text["text"]) <= most


def check_actions(block: Json) -> None:
    assert set(block) == {"type", "elements"}
    assert 1 <= len(block["elements"]) <= 25
    names = [element["action_id"] for element in block["elements"]]
    assert len(set(names)) == len(names)
    for element in block["elements"]:
        assert set(element) <= {"type", "action_id", "text", "value", "style"}
        assert element["type"] == "button"
        assert 1 <= len(element["action_id"]) <= 255
        assert len(element.get("value", "")) <= 2000
        assert element.get("style", "danger") in ("primary", "danger")
        check_plain_text(element["text"], 75)


def check_section(block: Json) -> None:
    assert set(block) == {"type", "text"}
    check_plain_text(block["text"], 3000)


def check_divider(block: Json) -> None:
    assert block == {"type": "divider"}


CHECKS = {
    "rich_text": check_rich_text,
    "table": check_table,
    "context": check_context,
    "actions": check_actions,
    "section": check_section,
    "divider": check_divider,
}


def leaves(value: Any) -> Iterator[Json]:
    """Every text and link, from the first to the last."""
    if isinstance(value, list):
        for one in value:
            yield from leaves(one)
    elif value.get("type") in ("text", "link", "plain_text"):
        yield value
    else:
        for name in ("elements", "rows", "text"):
            yield from leaves(value.get(name, []))


def shown(body: Json) -> str:
    """What a person reads of the blocks."""
    return "".join(leaf["text"] for leaf in leaves(body["blocks"]))


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def holds(shown: str, said: str) -> bool:
    """Whether all letters and digits of what was said are shown, one after the other."""
    left = iter(letters(shown))
    return all(char in left for char in letters(said))


def bare(document: md.Document) -> str:
    """What a document says, without where its links lead."""
    return "\n".join(_bare(block) for block in document)


def _bare(block: md.AnyBlock) -> str:
    match block:
        case md.Paragraph(spans=spans) | md.Heading(spans=spans):
            return md.words(spans)
        case md.Table(rows=rows):
            return " ".join(md.words(cell) for row in rows for cell in row)
        case _:
            return md.plain_block(block)


def pings(text: str) -> list[str]:
    """What Slack would act upon in its own markup."""
    tokens = [token for token in re.findall(r"<[^>]*>?", text) if not re.fullmatch(LINK, token)]
    return tokens + re.findall(r"@(?:here|channel|everyone)\b", text, re.IGNORECASE)


LINK = r"<(?:https?://|mailto:)[^\s|<>]+\|[^|<>]*>"


def post(*blocks: out.AnyOutBlock, **more: Any) -> Json:
    body = outbound.payload(Outgoing("k", blocks, **more))
    check(body)
    assert pings(body["text"]) == []
    return body


# ── any text ─────────────────────────────────────────────────────────────────────────────────────

PIECES = [
    "word", "alpha beta", "snake_case", "__init__", "2*3*4", "**/*.py", " ", "\n", "\n\n", "\n\n\n", "# ",
    "## ", "- ", "* ", "1. ", "7. ", "0. ", "- [ ] ", "- [x] ", "  - ", "    ", "> ", "> > ", "> [!NOTE]\n> ",
    "```", "\n```\n", "~~~py\n", "`", "``", "**", "*", "_", "__", "~~", "~", "|",
    "| a | b |\n|:--|--:|\n| c | d |\n", "---", "\n---\n", "[label](https://e.org/a_b)", "[x](javascript:1)",
    "[pipe|x](https://e.org/?a=1&b=2)", "![img](https://e.org/i.png)", "<https://e.org>", "<!channel>",
    "<!here|x>", "<@U123>", "<#C123|general>", "<!subteam^S1>", "@here", "@channel", "@everyone",
    "&lt;!channel&gt;", "&amp;", "&", "<", ">", "<https://evil.org|good.org>", "[^1]: note", "[^<@U1>]: n",
    "\\", "\\*", ":smile:", "é", "漢字", "\N{ROCKET}", "◈", "\u202e", "\u2060", "\t", "(", ")", "[", "]", "!",
    "=", "{}", "Vec<T>", "a.b", "```js\n<!channel> @here\n```", "`<@U1>`",
]  # fmt: skip
MARKDOWN = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


@settings(max_examples=400, deadline=None)
@given(MARKDOWN, st.booleans(), st.sampled_from(["", "Explore <!here>"]))
def test_any_text_is_a_message_that_slack_takes_and_loses_no_word(text: str, growing: bool, under: str) -> None:
    block = out.Markdown(text, open=growing, under=under)
    body = post(block)
    document = md.parse(text, 0, growing)
    assert holds(shown(body), bare(document))
    assert outbound.measure(block) >= counted(body["blocks"])
    assert outbound.payload(Outgoing("k", (block,))) == body


@settings(max_examples=100, deadline=None)
@given(st.lists(MARKDOWN, min_size=1, max_size=5), st.integers(1, 60))
def test_what_measures_as_a_page_is_sent_whole(texts: list[str], times: int) -> None:
    blocks = tuple(out.Markdown((text + "\n\n") * times) for text in texts)
    body = post(*blocks)
    if sum(outbound.measure(block) for block in blocks) <= outbound.TEXT_LIMIT:
        assert holds(shown(body), "".join(bare(md.parse(block.text)) for block in blocks))
        assert len(body["blocks"]) <= 42


@settings(max_examples=100, deadline=None)
@given(MARKDOWN, st.integers(0, 200))
def test_every_prefix_of_a_growing_text_is_a_message(text: str, at: int) -> None:
    post(out.Markdown(text[:at], open=True))
    post(out.Markdown(text, skip=min(at, len(text))))


def cards(one: str, other: str) -> tuple[out.AnyOutBlock, ...]:
    return (
        out.Tools((out.ToolLine(one, depth=2), out.ToolLine(other, "read", "failed", 3.14)), hidden=3),
        out.Checklist((bodies.PlanEntry(one, "completed"), bodies.PlanEntry(other))),
        out.Change(one, other, 1, 2),
        out.Facts((out.Fact(one, other), out.Fact("Command", one, code=True))),
        out.Notice(one, "ask"),
        out.Markdown(other, folded=True),
        out.Footer(one),
    )


@settings(max_examples=150, deadline=None)
@given(MARKDOWN, MARKDOWN, st.booleans())
def test_no_card_pings_or_breaks_a_limit(one: str, other: str, plain: bool) -> None:
    buttons = ((out.Button(one, "d"), out.Button(other, "e", "primary")),)
    body = post(*cards(one, other), buttons=buttons, plain=plain)
    assert shown(body).count(md.SIGN) == 1
    assert post(*cards(one, other), plain=True)["text"].count(md.SIGN) == 1
    for block in cards(one, other):
        assert outbound.measure(block) >= counted(post(block)["blocks"])


# ── what stands in a message ─────────────────────────────────────────────────────────────────────


def test_every_kind_of_block_is_shown() -> None:
    body = post(
        out.Tools((out.ToolLine("ls -la", "execute", "done", 0.12), out.ToolLine("grep", depth=1)), hidden=2),
        out.Checklist((bodies.PlanEntry("look", "completed"), bodies.PlanEntry("act", "in_progress"))),
        out.Change("src/a.py", "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-a\n+b", 1, 1),
        out.Facts((out.Fact("Folder", "/tmp"), out.Fact("Command", "a\nb", code=True))),
        out.Notice("May it?", "ask"),
        out.Footer("3 s · $0.01"),
    )
    text = shown(body)
    assert "… 2 more\n✓ ls -la · 0.1 s\n    ⏳ grep" in text
    assert "☑ look\n◐ act" in text
    assert "src/a.py +1 −1" in text
    assert "@@ -1 +1 @@\n-a\n+b" in text
    assert "+++" not in text
    assert "Folder: /tmp" in text
    assert f"{md.SIGN} ❓ May it?" in text
    assert body["blocks"][-1]["type"] == "context"


def test_long_change_says_how_much_is_left_out() -> None:
    lines = "\n".join(f"+line {n}" for n in range(500))
    assert "… 441 more lines" in shown(post(out.Change("a.py", "@@ -1 +1 @@\n" + lines, 500)))


def test_reasoning_is_a_short_quotation() -> None:
    body = post(out.Markdown("hm **so** " * 1000, folded=True))
    (quote,) = body["blocks"][0]["elements"]
    assert quote["type"] == "rich_text_quote"
    assert quote["elements"][1]["style"] == {"italic": True}
    assert len(quote["elements"][1]["text"]) < 1600


def test_words_of_a_subagent_stand_under_its_title() -> None:
    body = post(out.Markdown("found\n\n- it\n\n> there", under="Explore"))
    parts = body["blocks"][0]["elements"]
    assert [part["type"] for part in parts] == ["rich_text_quote", "rich_text_list", "rich_text_quote"]
    assert parts[0]["elements"][0] == {"type": "text", "text": "↳ Explore", "style": {"bold": True}}
    assert parts[1]["border"] == 1


def test_second_table_of_a_message_is_in_columns() -> None:
    table = "| a | b |\n|---|--:|\n| 1 | 2 |\n"
    body = post(out.Markdown(table), out.Markdown(f"{table}\nx\n\n{table}"))
    assert [block["type"] for block in body["blocks"]] == ["table", "rich_text"]
    assert shown(body).count("──┼──") == 2


@pytest.mark.parametrize("rows", [3, 99, 100, 300])
@pytest.mark.parametrize("columns", [2, 20, 21])
def test_table_of_any_size_is_taken(rows: int, columns: int) -> None:
    line = "| cell " * columns + "|\n"
    block = out.Markdown(line + "|---" * columns + "|\n" + line * (rows - 1))
    body = post(block)
    if outbound.measure(block) <= outbound.TEXT_LIMIT:
        assert shown(body).count("cell") == rows * columns


def test_one_wide_cell_does_not_pad_every_row() -> None:
    table = "| a | b |\n|---|---|\n" + f"| {'x' * 500} | 1 |\n" + "| y | 2 |\n" * 20
    assert outbound.measure(out.Markdown(f"{table}\n\n{table}")) < 4000


def test_many_rules_are_not_too_many_blocks() -> None:
    block = out.Markdown("a\n\n---\n\n" * 100)
    assert outbound.measure(block) > outbound.TEXT_LIMIT
    assert len(post(block)["blocks"]) <= 50


def test_text_that_is_too_long_is_cut_and_what_is_below_stays() -> None:
    body = post(out.Markdown("word " * 10_000), out.Notice("Stopped.", "warning"), out.Footer("3 s"))
    assert "…" in shown(body)
    assert "Stopped." in shown(body)
    assert shown(body).endswith("3 s")
    assert len(shown(body)) > 10_000
    assert len(body["text"].encode()) > 3000


def test_text_of_a_notification_counts_bytes() -> None:
    assert len(post(out.Markdown("漢字 " * 2000))["text"].encode()) <= 4000


def test_each_row_of_buttons_is_a_block() -> None:
    rows = (
        (out.Button("Allow", "ask:1:allow", "primary"), out.Button("Deny", "ask:1:deny", "danger")),
        (out.Button("x" * 200, "ask:1:more"),),
    )
    first, second = post(out.Notice("May it?", "ask"), buttons=rows)["blocks"][1:]
    assert [one["value"] for one in first["elements"]] == ["ask:1:allow", "ask:1:deny"]
    assert [one["style"] for one in first["elements"]] == ["primary", "danger"]
    assert "style" not in second["elements"][0]
    assert len(second["elements"][0]["text"]["text"]) == 75


def test_many_rows_of_buttons_share_blocks() -> None:
    rows = tuple((out.Button(f"b{n}", f"d{n}"),) for n in range(60))
    actions = [block for block in post(out.Notice("?"), buttons=rows)["blocks"] if block["type"] == "actions"]
    assert [len(block["elements"]) for block in actions] == [25, 25, 10]


def test_buttons_without_words_stand_below_a_text() -> None:
    body = post(buttons=((out.Button("Stop", "s"),),))
    assert [block["type"] for block in body["blocks"]] == ["section", "actions"]


def test_plain_message_is_its_text_and_nothing_else() -> None:
    body = post(out.Markdown("**a** <!channel> & @here `b`"), out.Notice("n"), plain=True)
    assert body["blocks"] == []
    assert body["text"] == f"a &lt;!channel&gt; &amp; @{JOINER}here b\n\n{md.SIGN} ℹ️ n"


def test_plain_message_can_be_long_and_can_be_answered() -> None:
    body = post(out.Markdown("word " * 2000), plain=True, buttons=((out.Button("Allow", "a"),),))
    kinds = [block["type"] for block in body["blocks"]]
    assert kinds == ["section"] * 4 + ["actions"]
    assert shown(body).count("word") == 2000


def test_message_without_words_is_still_one() -> None:
    assert post()["text"] == "…"
    assert post(out.Markdown("", open=True))["blocks"] == []


def test_rendering_is_kept_for_a_text_that_has_not_changed() -> None:
    block = out.Markdown("kept once")
    first = outbound.payload(Outgoing("a", (block,)))["blocks"][0]
    assert outbound.payload(Outgoing("b", (out.Markdown("kept once"),)))["blocks"][0] is first
