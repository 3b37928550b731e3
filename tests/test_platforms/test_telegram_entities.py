"""An agent's markdown becomes text with entities that Telegram takes as they are."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beambot.api import Outgoing
from beambot.api import markdown as md
from beambot.api import outbound as out
from platforms.telegram.drawing.canvas import Entity, Formatted
from platforms.telegram.entities import render
from platforms.telegram.outbound import drawn, measure, payload

QUOTES = {"blockquote", "expandable_blockquote"}
SOLID = {"pre", "code"}
STYLES = {"bold", "italic", "underline", "strikethrough"}
# What Telegram's own library looks for in a text; td/telegram/MessageEntity.cpp says it in these words.
MENTION = re.compile(r"(?<!\w)@[A-Za-z0-9_]{4,32}(?!\w)")
COMMAND = re.compile(r"(?<![\w/<>])/[A-Za-z0-9_]{1,64}(?![\w/<>@])")


def shown(text: str, **how: bool | str) -> Formatted:
    return render(md.parse(text), **how)  # type: ignore[arg-type]


def marked(formatted: Formatted) -> list[tuple[str, str]]:
    data = formatted.text.encode("utf-16-le")
    return [
        (one.type, data[2 * one.offset : 2 * (one.offset + one.length)].decode("utf-16-le"))
        for one in formatted.entities
    ]


def check(formatted: Formatted) -> None:
    """Every rule Telegram has about entities, and our own about what may ping."""
    text, entities = formatted.text, formatted.entities
    data = text.encode("utf-16-le")
    assert formatted.units == len(data) // 2
    assert text == text.rstrip()
    places = [(one.offset, -one.length) for one in entities]
    assert places == sorted(places)
    for one in entities:
        assert one.length > 0
        assert one.offset >= 0
        assert one.offset + one.length <= formatted.units
        part = data[2 * one.offset : 2 * (one.offset + one.length)].decode("utf-16-le")  # no half of a pair
        assert part == part.rstrip()
        assert part.strip()
        if one.type in STYLES | {"code", "text_link"}:
            assert part == part.lstrip()
        assert not part.startswith("\n")
        assert (one.type == "text_link") == bool(one.url)
        assert one.type == "pre" or not one.language
    check_nesting(formatted)
    check_pings(formatted)


def check_nesting(formatted: Formatted) -> None:
    for at, one in enumerate(formatted.entities):
        start, end = one.offset, one.offset + one.length
        for other in formatted.entities[at + 1 :]:
            first, last = other.offset, other.offset + other.length
            if first >= end:
                seam = first == end and other.type == one.type and other.url == one.url
                if seam and one.type in STYLES:
                    # A style goes on behind a seam only where something else begins or ends.
                    assert any(
                        end in (e.offset, e.offset + e.length) for e in formatted.entities if e.type != one.type
                    )
                else:
                    assert not seam or one.type in QUOTES
                continue
            assert last <= end
            assert one.type != other.type
            assert one.type not in SOLID
            assert other.type not in SOLID or one.type in QUOTES
            assert other.type not in QUOTES
            assert (first, last) != (start, end) or one.type not in SOLID


def check_pings(formatted: Formatted) -> None:
    text = formatted.text
    hidden = [
        (one.offset, one.offset + one.length)
        for one in formatted.entities
        if one.type in {"pre", "code", "text_link"}
    ]
    for address in re.finditer(r"(?<!\S)https?://[a-z]+\.[a-z]{2,}/\S*", text):
        hidden.append((units(text[: address.start()]), units(text[: address.end()])))
    for pattern in (MENTION, COMMAND):
        for found in pattern.finditer(text):
            start, end = units(text[: found.start()]), units(text[: found.end()])
            assert any(first < end and start < last for first, last in hidden), found.group()


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def every_word(document: md.Document) -> list[str]:
    said: list[str] = []
    for block in document:
        match block:
            case md.Paragraph(spans=spans) | md.Heading(spans=spans):
                said += [span.text for span in spans]
            case md.Code(text=text):
                said.append(text)
            case md.Table(rows=rows):
                said += [span.text for row in rows for cell in row for span in cell]
            case md.Rule():
                pass
    return " ".join(said).split()


def test_inline_styles_are_entities_in_utf16_units() -> None:
    formatted = shown("😀 **bold** and *slanted*, ~~gone~~, `x = 1` [there](https://e.org/a_(b))")
    assert formatted.text == "😀 bold and slanted, gone, x = 1 there"
    assert marked(formatted) == [
        ("bold", "bold"),
        ("italic", "slanted"),
        ("strikethrough", "gone"),
        ("code", "x = 1"),
        ("text_link", "there"),
    ]
    assert formatted.entities[-1].url == "https://e.org/a_(b)"
    check(formatted)


def test_styles_in_styles_are_split_where_telegram_would_split_them() -> None:
    assert marked(shown("**bold *both* bold**")) == [("bold", "bold"), ("bold", "both bold"), ("italic", "both")]
    assert marked(shown("**a [b](https://e.org) c**")) == [
        ("bold", "a"),
        ("text_link", "b"),
        ("bold", "b"),
        ("bold", "c"),
    ]


def test_a_style_that_goes_on_is_one_entity() -> None:
    assert marked(shown("***a** b*")) == [("italic", "a b"), ("bold", "a")]
    assert marked(shown("**`x`** **y**z")) == [("code", "x"), ("bold", "y")]


def test_no_style_is_lost_where_another_takes_its_place() -> None:
    formatted = shown("***a**~~b~~*")
    assert formatted.text == "ab"
    assert sorted(marked(formatted)) == [("bold", "a"), ("italic", "a"), ("italic", "b"), ("strikethrough", "b")]


def test_code_has_no_style_and_a_link_is_not_code() -> None:
    assert marked(shown("**see `x` there**")) == [("bold", "see"), ("code", "x"), ("bold", "there")]
    assert marked(shown("[`x`](https://e.org)")) == [("text_link", "x")]


def test_headings_are_bold() -> None:
    assert marked(shown("# One\n\n## Two")) == [("bold", "One"), ("underline", "One"), ("bold", "Two")]


def test_lists_have_markers_and_indents() -> None:
    formatted = shown("- a\n  - b\n- [x] done\n- [ ] open\n\nso\n\n1. one\n2. two\n   more")
    assert formatted.text == "• a\n    • b\n☑ done\n☐ open\n\nso\n\n1. one\n2. two\n    more"


def test_code_keeps_its_indent_and_its_language() -> None:
    formatted = shown("- see\n\n  ```python\n\n      x = 1\n  y = 2\n\n  ```\n- next")
    assert formatted.text == "• see\n    x = 1\ny = 2\n• next"
    assert marked(formatted) == [("pre", "    x = 1\ny = 2")]
    assert formatted.entities[0].language == "python"


def test_code_right_behind_a_marker_stands_under_it() -> None:
    assert shown("- ```\n  x\n  ```").text == "•\nx"


def test_nested_quotes_are_one_quotation() -> None:
    formatted = shown("> a\n> > b\n\ntext\n\n> c")
    assert marked(formatted) == [("blockquote", "a\n\nb"), ("blockquote", "c")]


def test_quoted_code_may_begin_with_blanks() -> None:
    formatted = shown("> ```\n>   x\n> ```")
    assert marked(formatted) == [("blockquote", "  x"), ("pre", "  x")]
    check(formatted)


def test_alert_names_its_kind() -> None:
    assert marked(shown("> [!WARNING]\n> hot")) == [("blockquote", "⚠️ Warning\nhot"), ("bold", "⚠️ Warning")]


def test_small_table_stands_in_columns() -> None:
    formatted = shown("| a | b |\n|---|--:|\n| **1** | 22 |")
    assert marked(formatted) == [("pre", "a │  b\n──┼───\n1 │ 22")]


def test_wide_table_is_told_row_by_row() -> None:
    formatted = shown(f"| name | about |\n|---|---|\n| `x` | {'long ' * 12}|\n| y | |")
    assert formatted.text == f"• name: x\n  about: {('long ' * 12).strip()}\n• name: y\n  about: –"
    assert marked(formatted) == [("code", "x")]


def test_table_with_links_keeps_them() -> None:
    assert marked(shown("| a |\n|---|\n| [x](https://e.org) |")) == [("text_link", "x")]


def test_rule_and_footnote() -> None:
    assert shown("a\n\n---\n\n[^1]: note").text == "a\n\n──────────\n\n[1] note"


def test_reasoning_is_folded_and_has_no_quotation_inside() -> None:
    formatted = shown("I **think**\n\n> so", folded=True)
    assert marked(formatted) == [("expandable_blockquote", "I think\n\nso"), ("bold", "think")]


def test_words_of_a_subagent_stand_under_its_title() -> None:
    formatted = shown("done\n\n> q", under="Explore\nthe code")
    assert formatted.text == "Explore the code\ndone\n\nq"
    assert marked(formatted) == [("italic", "Explore the code"), ("blockquote", "done\n\nq")]


def test_address_that_telegram_finds_by_itself_costs_no_entity() -> None:
    assert not shown("see <https://e.org/a/b>, https://e.org/@someone").entities
    assert marked(shown("<https://e.org/a_(b)>")) == [("text_link", "https://e.org/a_(b)")]


def test_mail_address_is_said_as_telegram_has_no_such_link() -> None:
    formatted = shown("[write](mailto:me@e.org) or <me@e.org>")
    assert formatted.text == "write (me@e.org) or me@e.org"
    assert not formatted.entities


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ask @alice", ["@alice"]),
        ("(@alice), @bob_1.", ["@alice", "@bob_1"]),
        ("**@alice** *and* @**alice**", ["@alice", "@alice"]),
        ("@al`ice`", ["@alice"]),
        ("npm i @types/node", ["@types/node"]),
        ("node_modules/@types/node", ["node_modules/@types/node"]),
        ("run /start now", ["/start"]),
        ("/deploy@some_bot", ["/deploy@some_bot"]),
        ("./run.sh and ~/notes", ["./run.sh", "~/notes"]),
        ("/usr/bin/env and src/a.py, and/or, 1/2", []),
        ("mail me@example.org, @a, a @ b", []),
        ("Read setup.py, README.md and lib.rs.", ["setup.py", "README.md", "lib.rs"]),
        ("see https://e.org/a.py and x.python", []),
        ("look for **/tax_*.py", ["**/tax_*.py"]),
        ("https://e.org/@alice", []),
        ("[@alice](https://e.org)", []),
        ("`@alice` `/start`", ["@alice", "/start"]),
        ("https://localhost/@alice", ["//localhost/@alice"]),
        ("| a |\n|---|\n| @alice |", []),
    ],
)
def test_words_that_would_ping_are_code(text: str, code: list[str]) -> None:
    formatted = shown(text)
    assert [part for kind, part in marked(formatted) if kind == "code"] == code
    check(formatted)


def test_long_word_is_looked_through_quickly() -> None:
    check(shown("a/-." * 20_000 + "@alice" + "/x" * 20_000))


def test_nothing_said_is_nothing_shown() -> None:
    assert shown("") == Formatted()
    assert shown("```\n```", folded=True) == Formatted()


STYLED = [
    "**bold**",
    "*it*",
    "***both***",
    "~~gone~~",
    "`code`",
    "` x `",
    "**a *b** c*",
    "**",
    "*",
    "`",
    "~~",
    "__x__",
]
LINKED = ["[l](https://e.org)", "[**b** c](https://e.org)", "**x [l](https://e.org) y**", "[`c`](https://e.org)"]
HALVES = [
    "[half](ht",
    "https://e.org/x",
    "[m](mailto:a@b.co)",
    "<https://e.org/q>",
    "\\*",
    "<b>",
    "Vec<T>",
    "◈",
    "\u202e",
]
PINGS = ["@alice", "**@alice**", "@**alice**", "@al`ice`", "/start", "/usr/bin", "./run", "word", "two words"]
SCRIPTS = ["😀", "é", "👩‍👩‍👧", "עברית", " ", "  ", "\n", "\n\n"]
BLOCKS = [
    "> ",
    "> > ",
    "- ",
    "  - ",
    "1. ",
    "- [x] ",
    "# ",
    "### ",
    "    ",
    "---\n",
    "```py\n",
    "```\n",
    "> ```\n>   q",
]
TABLES = ["| a | b |\n|---|:-:|\n| 1 | @bobby |\n", "| [l](https://e.org) |\n|---|\n"]
NOTES = ["> [!NOTE]\n> ", "[^1]: "]
STARTS = ["\n" + block for block in BLOCKS + TABLES + NOTES]
PIECES = STYLED + LINKED + HALVES + PINGS + SCRIPTS + STARTS
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=20).map("".join)


@settings(max_examples=300, deadline=None)
@given(texts, st.booleans(), st.booleans(), st.sampled_from(["", "Task @xavier"]))
def test_any_markdown_is_valid_and_loses_no_word(text: str, growing: bool, folded: bool, under: str) -> None:
    document = md.parse(text, 0, growing)
    formatted = render(document, folded=folded, under=under)
    check(formatted)
    assert formatted == render(document, folded=folded, under=under)
    for word in every_word(document):
        assert word in formatted.text


@settings(max_examples=100, deadline=None)
@given(st.lists(texts, min_size=1, max_size=3), st.integers(1, 60))
def test_message_is_cut_at_its_limit_and_stays_valid(parts: list[str], times: int) -> None:
    blocks = tuple(out.Markdown("\n\n".join([part] * times)) for part in parts)
    sent = payload(Outgoing(key="k", blocks=blocks))
    size = sum(map(measure, blocks)) + 2 * (len(blocks) - 1)
    text = str(sent["text"])
    entities = msgspec.convert(sent.get("entities", []), tuple[Entity, ...])
    assert 1 <= units(text) <= 4096
    assert len(entities) <= 100
    check(Formatted(text, entities, units(text)))
    if size <= 4096:
        assert text == ("\n\n".join(drawn(block).text for block in blocks if drawn(block).text) or "…")


DOCUMENT = """# Plan for `core` 😀

Some **bold *both* text** with [a link](https://e.org/x_(y)) and @alice, see /help or src/**/*.py.

> [!TIP]
> Quoted with `code`
> > deeper
> 1. one

1. first
   ```rust
     fn main() { Vec<String> }
   ```
   - [ ] nested ~~task~~
   - [x] done

| Name | Value |
|:-----|------:|
| `a`  | **1** |
| [b](https://e.org) | 2 |

---

Last words[^1] with __init__.py and 2*3*4.

[^1]: a note
"""


def test_every_beginning_of_a_growing_text_is_valid() -> None:
    for end in range(len(DOCUMENT) + 1):
        for folded in (False, True):
            block = out.Markdown(DOCUMENT[:end], open=True, folded=folded)
            formatted = drawn(block)
            check(formatted)
            assert measure(block) >= max(formatted.units, 41 * len(formatted.entities))
            for word in every_word(md.parse(DOCUMENT[:end], 0, True)):
                assert word in formatted.text


def test_a_quotation_in_an_item_begins_all_its_lines_at_the_same_place() -> None:
    formatted = shown("- item\n  > one\n  > two\n  >\n  > - in it\n- > three\n  > four")
    quotes = [words for kind, words in marked(formatted) if kind == "blockquote"]
    assert quotes == ["one\ntwo\n• in it", "• three\nfour"]
    check(formatted)


@pytest.mark.parametrize(
    ("text", "guarded"),
    [
        ("[Approve](tg://resolve?domain=evil)", "tg://resolve?domain=evil"),
        ("see TG://user?id=1.", "TG://user?id=1"),
        ("<ton://transfer/x>", "ton://transfer/x"),
        ("(tonsite://a.ton)", "tonsite://a.ton"),
    ],
)
def test_an_address_of_telegram_itself_cannot_be_tapped(text: str, guarded: str) -> None:
    formatted = shown(text)
    assert marked(formatted) == [("code", guarded)]
    check(formatted)
