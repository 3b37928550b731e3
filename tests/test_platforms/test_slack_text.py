"""The three forms of a text in Slack: rich text, its own markup, standard markdown."""

from __future__ import annotations

import html
import re
from typing import Any

import pyromark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beambot.api import markdown as md
from platforms.slack import markdown, mrkdwn, rich_text
from platforms.slack.harmless import JOINER, address

Json = dict[str, Any]
PIECES = [
    "word", "alpha beta", "snake_case", "__init__", "2*3*4", "**/*.py", "*.py", "~/x", " ", "\n", "\n\n", "# ",
    "## ", "- ", "1. ", "7. ", "- [ ] ", "- [x] ", "  - ", "    ", "> ", "> > ", "> [!TIP]\n> ", "```",
    "\n```\n", "~~~py\n", "`", "``", "**", "*", "_", "__", "~~", "~", "|", "| a | b |\n|:--|--:|\n| c | d |\n",
    "---", "\n---\n", "[label](https://e.org/ab)", "[x](javascript:1)", "[pipe|x](https://e.org/?a=1&b=2)",
    "![img](https://e.org/i.png)", "<https://e.org>", "<!channel>", "<!here|x>", "<@U123>", "<#C123|general>",
    "<!subteam^S1>", "@here", "@channel", "@everyone", "&lt;!channel&gt;", "&amp;", "&copy;", "&", "<", ">",
    "<https://evil.org|good.org>", "[^1]: note", "[^<@U1>]: n", "\\", "\\*", "é", "漢字", "\N{ROCKET}", "\t", "(",
    ")", "[", "]", "!", "=", "+", "Vec<T>", "```js\n<!channel> @here\n```", "`<@U1>`", "<h1>x</h1>", "12) ",
    "3\\. ",
]  # fmt: skip
MARKDOWN = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


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


def slack(text: str) -> str:
    return mrkdwn.render(md.parse(text))


def standard(text: str) -> str:
    return markdown.markdown(md.parse(text))


def parts(text: str, **more: Any) -> list[Json]:
    (block,) = rich_text.render(md.parse(text), **more)
    return list(block["elements"])


def read(shown: str) -> str:
    """What a reader of CommonMark makes of a text."""
    page = pyromark.html(shown, options=pyromark.Options.ENABLE_TABLES | pyromark.Options.ENABLE_STRIKETHROUGH)
    return html.unescape(re.sub(r"<[^>]*>", "", page))


def unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").replace(JOINER, "")


# ── rich text ────────────────────────────────────────────────────────────────────────────────────


def test_styles_and_links_are_elements() -> None:
    (section,) = parts("a **b _c_** ~~d~~ `e` [f](https://e.org/x)")
    assert section["elements"] == [
        {"type": "text", "text": "a "},
        {"type": "text", "text": "b ", "style": {"bold": True}},
        {"type": "text", "text": "c", "style": {"bold": True, "italic": True}},
        {"type": "text", "text": " "},
        {"type": "text", "text": "d", "style": {"strike": True}},
        {"type": "text", "text": " "},
        {"type": "text", "text": "e", "style": {"code": True}},
        {"type": "text", "text": " "},
        {"type": "link", "url": "https://e.org/x", "text": "f"},
    ]


def test_what_looks_like_a_mention_is_text() -> None:
    (section,) = parts("<!channel> <@U1> @here :smile: <#C1>")
    assert section["elements"] == [{"type": "text", "text": "<!channel> <@U1> @here :smile: <#C1>"}]


def test_nested_lists_keep_depth_and_numbers() -> None:
    shown = parts("3. a\n4. b\n   - c\n     - d\n5. e\n\n   more")
    assert [(p["style"], p.get("indent", 0), p.get("offset", 0), len(p["elements"])) for p in shown] == [
        ("ordered", 0, 2, 2),
        ("bullet", 1, 0, 1),
        ("bullet", 2, 0, 1),
        ("ordered", 0, 4, 1),
    ]
    assert shown[-1]["elements"][0]["elements"] == [{"type": "text", "text": "e\nmore"}]


def test_code_of_an_item_stands_below_its_mark() -> None:
    shown = parts("1. do\n   ```\n   x\n   ```\n   then\n2. ```\n   y\n   ```")
    assert [part["type"] for part in shown] == [
        "rich_text_list",
        "rich_text_preformatted",
        "rich_text_section",
        "rich_text_list",
        "rich_text_preformatted",
    ]
    assert shown[3]["offset"] == 1
    assert shown[3]["elements"][0]["elements"] == [{"type": "text", "text": " "}]


def test_tasks_are_lines_with_boxes() -> None:
    (section,) = parts("- [x] a\n- [ ] b\n  - [ ] c")
    assert section["elements"] == [{"type": "text", "text": "☑ a\n☐ b\n    ☐ c"}]


def test_quotations_alerts_and_notes() -> None:
    quote, note = parts("> [!WARNING]\n> careful\n>\n> > deep\n\n[^a]: said there")
    assert quote["type"] == "rich_text_quote"
    assert quote["elements"] == [
        {"type": "text", "text": "⚠️ Warning", "style": {"bold": True}},
        {"type": "text", "text": "\ncareful\n\n> deep"},
    ]
    assert note["elements"] == [{"type": "text", "text": "[a] said there"}]


def test_what_follows_code_in_an_item_is_indented_like_it() -> None:
    found = parts("- a\n  ```\n  x\n  ```\n  after\n  it\n- [ ] b\n  c")
    assert [one["elements"][0]["text"] for one in found[2:]] == ["    after\n    it\n☐ b\n    c"]


def test_note_in_an_item_stands_beside_its_bullet() -> None:
    (bullets,) = parts("- [^4]: in a list\n- b")
    assert [item["elements"][0]["text"] for item in bullets["elements"]] == ["[4] in a list", "b"]


def test_alert_without_words_is_its_title_alone() -> None:
    (quote,) = parts("> [!IMPORTANT]")
    assert quote["elements"] == [{"type": "text", "text": "❗ Important", "style": {"bold": True}}]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("See https://e.org/pull/7.", "https://e.org/pull/7"),
        ("- (https://e.org/a_(b))", "https://e.org/a_%28b%29"),
        ("请看 https://e.org/a，然后", "https://e.org/a"),
        ("> **https://e.org/x**", "https://e.org/x"),
    ],
)
def test_address_in_the_words_is_a_link(text: str, place: str) -> None:
    assert re.findall(r"'url': '([^']*)'", str(parts(text))) == [place]


def test_address_in_code_is_no_link() -> None:
    assert "'link'" not in str(parts("`https://e.org`\n\n```\nhttps://e.org\n```\n\nhttps:// tg://x"))


def test_heading_is_bold_and_close_to_its_text() -> None:
    (section,) = parts("intro\n\n## Head\n\ntext")
    assert section["elements"] == [
        {"type": "text", "text": "intro\n\n"},
        {"type": "text", "text": "Head", "style": {"bold": True}},
        {"type": "text", "text": "\ntext"},
    ]


def test_rule_is_a_divider_and_table_a_table() -> None:
    blocks = rich_text.render(md.parse("a\n\n---\n\n| h | i |\n|:-:|--:|\n| **x** | |\n"))
    assert [block["type"] for block in blocks] == ["rich_text", "divider", "table"]
    assert [side["align"] for side in blocks[2]["column_settings"]] == ["center", "right"]
    (first, second) = blocks[2]["rows"][1]
    assert first["elements"][0]["elements"] == [{"type": "text", "text": "x", "style": {"bold": True}}]
    assert second["elements"][0]["elements"] == [{"type": "text", "text": " "}]


@pytest.mark.parametrize("empty", ["-", "```\n```", "> ", "1.", "- -", "#", "|a|\n|-|\n"])
def test_what_is_empty_has_no_element_without_a_character(empty: str) -> None:
    for block in rich_text.render(md.parse(empty)):
        assert "'text': ''" not in str(block)
        assert "'elements': []" not in str(block)


@pytest.mark.parametrize(
    ("link", "place"),
    [
        ("https://e.org/a_(b)|c", "https://e.org/a_%28b%29%7Cc"),
        ("https://e.org/a b", "https://e.org/a%20b"),
        ("https://e.org:99999/", ""),
        ("https://", ""),
        ("https://[x", ""),
        ("mailto:a@e.org", "mailto:a@e.org"),
        ("mailto:a", ""),
        ("http://localhost:8000/x?y=1&z=2#t", "http://localhost:8000/x?y=1&z=2#t"),
    ],
)
def test_addresses_are_such_as_slack_can_read(link: str, place: str) -> None:
    assert address(link) == place


def test_link_that_slack_would_refuse_is_text() -> None:
    (section,) = parts("[a](https://e.org:99999/)")
    assert section["elements"] == [{"type": "text", "text": "a (https://e.org:99999/)"}]


# ── Slack's own markup ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a **b** _c_ ~~d~~ `e`", "a *b* _c_ ~d~ `e`"),
        ("**a _b_**", "*a* *_b_*"),
        ("x & <y> & z", "x &amp; &lt;y&gt; &amp; z"),
        ("<!channel> <@U1>", "&lt;!channel&gt; &lt;@U1&gt;"),
        ("snake_case stays", "snake_case stays"),
        ("see __init__ and *.py", "see `__init__` and `*.py`"),
        ("2 * 3 ~ 6", "2 * 3 ~ 6"),
        ("[a|b>](https://e.org/?x=1&y=2)", "<https://e.org/?x=1&amp;y=2|a¦b&gt;>"),
        ("> a\n> > b", "> a\n\n> &gt; b"),
        ("# T\n\nx", "*T*\nx"),
        ("- a\n  1. b", "• a\n  1. b"),
        ("这是**粗体**文字", "这是粗体文字"),
        ("[^<@U1>]: x", "[&lt;@U1&gt;] x"),
    ],
)
def test_slack_markup(text: str, shown: str) -> None:
    assert slack(text) == shown


def test_fence_inside_of_code_does_not_end_it() -> None:
    assert slack("````\na\n```\n*b*\n````").count("```") == 2


@settings(max_examples=400, deadline=None)
@given(MARKDOWN, st.booleans())
def test_slack_markup_loses_no_word_and_pings_nobody(text: str, growing: bool) -> None:
    document = md.parse(text, 0, growing)
    shown = mrkdwn.render(document)
    assert holds(unescaped(shown), bare(document))
    for token in re.findall(r"<[^>]*>?", shown):
        assert re.fullmatch(r"<(?:https?://|mailto:)[^\s|<>]+\|[^|<>]*>", token), token
    assert not re.search(r"@(?:here|channel|everyone)\b", shown, re.IGNORECASE)
    assert shown == mrkdwn.render(document)


# ── standard markdown ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text",
    [
        "a **b** _c_ ~~d~~ `e`",
        "**bold _both_ rest**",
        "- a\n- b\n  1. c\n  2. d\n- e",
        "3. a\n4. b",
        "> a\n>\n> > b",
        "# T\n\nx",
        "```py\nx\n```",
        "````\n```\n````",
        "| a | b |\n| :-- | --: |\n| 1 | **2** |",
        "a\n\n---\n\nb",
        "[a](https://e.org/x?y=1&z=2)",
        "- a\n\n  b\n- c",
        "``a`b``",
    ],
)
def test_standard_markdown_is_written_as_it_was(text: str) -> None:
    assert standard(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<!channel> <@U1> <#C1>", "&lt;!channel&gt; &lt;@U1&gt; &lt;#C1&gt;"),
        ("`<!channel>` Vec<T> &lt;", f"`<{JOINER}!channel>` Vec&lt;T&gt; &lt;"),
        ("__init__ snake_case 2*3", r"\_\_init\_\_ snake_case 2\*3"),
        ("1\\. a", "1\\. a"),
        ("- [x] a", "- ☑ a"),
    ],
)
def test_standard_markdown_is_escaped(text: str, shown: str) -> None:
    assert standard(text) == shown


@pytest.mark.parametrize(
    "name", ["__init__", "*.py", "**/*.py", "a*b*c", "_x_", "~~", "# x", "1. a", "[a](b)", "&amp;"]
)
def test_names_survive_standard_markdown(name: str) -> None:
    document = (md.Paragraph((md.Span(f"{name} and {name}"),)),)
    assert read(markdown.markdown(document)).strip() == f"{name} and {name}"


def test_second_table_is_code_in_standard_markdown() -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |\n"
    shown = standard(f"{table}\n\nx\n\n{table}")
    assert shown.count("| 1 | 2 |") == 1
    assert "1 │ 2\n```" in shown


@pytest.mark.parametrize(
    "text", ["word " * 5000, "```\n" + "x\n" * 9000 + "```", "- **a** b\n" * 3000, "a\n\n" * 9000]
)
def test_standard_markdown_is_cut_at_its_limit(text: str) -> None:
    shown = standard(text)
    assert len(shown) <= 12_000
    assert len(shown) > 6_000
    assert "…" in shown[-10:]


@settings(max_examples=400, deadline=None)
@given(MARKDOWN, st.booleans())
def test_standard_markdown_reads_as_the_same_words_and_pings_nobody(text: str, growing: bool) -> None:
    document = md.parse(text, 0, growing)
    shown = markdown.markdown(document)
    assert holds(read(shown), bare(document))
    assert not re.search(r"<(?:[@#][A-Z0-9]|!(?:channel|here|everyone|subteam))", shown, re.IGNORECASE)
    assert not re.search(r"<https?://[^\s>|]*\|", shown)
    assert not re.search(r"@(?:here|channel|everyone)\b", shown, re.IGNORECASE)
    assert shown == markdown.markdown(document)
