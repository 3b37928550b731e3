"""An agent's markdown as Discord shows it, read back by a small reader of Discord's dialect."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beambot.api import markdown as md
from platforms.discord.inline import escape
from platforms.discord.markdown import fence, render
from platforms.discord.shorten import shorten

# Two clients, two readings: one skips escaped characters when it looks for the end of a mark, one does not.
WARY, CARELESS = r"(?:\\[\s\S]|[^\\])+?", r"[\s\S]+?"
LIST = re.compile(r"( *)([+*-]|\d+\.) +([^\n]+(?:\n\1 {2}[^\n]+)*\n?)")
QUOTE = re.compile(r"(?: *> [^\n]*(?:\n|$))+")
BLOCK = re.compile(r"```(?:[\w+.-]+\n)?\n*([^\n][\s\S]*?)\n*```")
CODE = re.compile(r"(`+)([\s\S]*?[^`])\1(?!`)")
MASKED = re.compile(
    r"\[((?:\[[^\]]*\]|[^\[\]]|\](?=[^\[]*\]))*?)\]\(\s*<?((?:\([^)]*\)|[^\s\\]|\\.)*?)>?(?:\s+['\"]([\s\S]*?)['\"])?\s*\)"
)
ALIVE = {
    "mention": re.compile(r"<(?:@[!&]?|#)\d+>|@everyone|@here"),
    "token": re.compile(r"<a?:\w+:\d+>|<t:-?\d+[^>]*>|<id:\w+>|</[^>]+:\d+>|:[\w+-]+:"),
    "preview": re.compile(r"(?:https?|steam)://[^\s<]+[^<.,:;\"'\]\s]|discord(?:app)?\.(?:gg|com)/\w+"),
}
STRAY = re.compile(r"\*\*|\*(?=\S)|__|_|~~|\|\||`")


class Reader:
    """What a person sees of a text, and what came alive in it."""

    def __init__(self, text: str, inner: str = WARY) -> None:
        self.seen = ""
        self.events: list[tuple[str, str]] = []
        self.code: list[str] = []
        self.marks = {
            "bold": re.compile(rf"\*\*({inner})\*\*(?!\*)"),
            "underline": re.compile(rf"__({inner})__(?!_)"),
            "italic": re.compile(
                r"\*(?=\S)((?:\*\*|\\[\s\S]|\s+(?:\\[\s\S]|[^\s*\\]|\*\*)|[^\s*\\])+?)\*(?!\*)"
                r"|_((?:__|\\[\s\S]|[^\\_])+?)_\b"
            ),
            "strike": re.compile(rf"~~({inner})~~"),
            "spoiler": re.compile(rf"\|\|({inner})\|\|"),
        }
        self._read(text, quoted=False, linked=False)

    def all(self, kind: str) -> list[str]:
        return [what for event, what in self.events if event == kind]

    def _read(self, text: str, *, quoted: bool, linked: bool, fresh: bool = True) -> None:
        at = 0
        while at < len(text):
            step = self._block(text, at, quoted) if fresh and not linked else 0
            if not step:
                step, fresh = self._inline(text, at, quoted, linked, fresh)
            at += step

    def _block(self, text: str, at: int, quoted: bool) -> int:
        if not quoted and (found := QUOTE.match(text, at)):
            body = re.sub(r"(?m)^ *> ", "", found.group())
            self.events.append(("quote", body))
            self._read(body, quoted=True, linked=False)
        elif found := re.compile(r" *(#{1,3}) (?!#) *([^\n]+\n?)").match(text, at):
            self.events.append((f"h{len(found.group(1))}", found.group(2).strip()))
            self._read(found.group(2), quoted=quoted, linked=False)
        elif found := re.compile(r"-# (?!-#) *([^\n]+\n?)").match(text, at):
            self.events.append(("small", found.group(1).strip()))
            self._read(found.group(1), quoted=quoted, linked=False)
        elif found := LIST.match(text, at):
            self.events.append(("item", found.group(3).strip()))
            self.seen += found.group(2) + " "
            self._read(re.sub(rf"(?m)^{found.group(1)}  ", "", found.group(3)), quoted=quoted, linked=False)
        return found.end() - at if found else 0

    def _inline(self, text: str, at: int, quoted: bool, linked: bool, fresh: bool) -> tuple[int, bool]:
        if not linked and (found := re.compile(r"\\([^0-9A-Za-z\s])").match(text, at)):
            self.seen += found.group(1)
            return 2, False
        if found := BLOCK.match(text, at):
            self.code.append(found.group(1))
            self.seen += found.group(1)
            return len(found.group()), False
        for kind, mark in self.marks.items():
            if (found := mark.match(text, at)) and not (kind == "italic" and self._in_word(text, at)):
                words = found.group(1) or found.group(2)
                self.events.append((kind, words))
                self._read(words, quoted=quoted, linked=linked, fresh=fresh)
                return len(found.group()), False
        if found := CODE.match(text, at):
            self.code.append(found.group(2))
            self.seen += re.sub(r"^ (?= *`)|(` *) $", r"\1", found.group(2))
            return len(found.group()), False
        if found := re.compile(r"<([^: >]+:/[^ >]+)>").match(text, at):
            self.events.append(("link", found.group(1)))
            self.seen += found.group(1)
            return len(found.group()), False
        if not linked and (found := MASKED.match(text, at)) and found.group(2).startswith("http"):
            assert not re.search(r"://|\\|[\U0001f000-\U0001ffff]", found.group(1)), "would be shown as it is"
            if not found.group().endswith(">)"):
                self.events.append(("preview", found.group(2)))
            self.events.append(("link", found.group(2)))
            self._read(found.group(1), quoted=quoted, linked=True)
            return len(found.group()), False
        for kind, live in ALIVE.items():
            if found := live.match(text, at):
                self.events.append((kind, found.group()))
        if (found := STRAY.match(text, at)) and not (found.group() == "_" and (linked or self._in_word(text, at))):
            self.events.append(("stray", text[at : at + 20]))
        self.seen += text[at]
        return 1, text[at] == "\n" or (fresh and text[at] == " ")

    @staticmethod
    def _in_word(text: str, at: int) -> bool:
        return text[at] == "_" and at > 0 and text[at - 1].isalnum()


ALIVE_KINDS = ("mention", "token", "preview", "underline", "spoiler", "stray")


def alive(text: str) -> list[tuple[str, str]]:
    """What a text does that only beambot's own marks may do."""
    return [event for inner in (WARY, CARELESS) for event in Reader(text, inner).events if event[0] in ALIVE_KINDS]


def draw(text: str, *, growing: bool = False) -> str:
    return render(md.parse(text, 0, growing))


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"[^\W_]+", text))


# ── as written ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "line",
    [
        "2*3*4 and __init__ and snake_case_ and ~~x~~ and a || b || c",
        "<@123> <@!123> <@&1> <#1> <:name:1> <a:name:1> <t:1700000000:R> <id:browse> </cmd:1> <+15551234567>",
        "@everyone and @here and mail@here.org",
        ":smile: std::vector::x 12:30:45",
        "# not a heading",
        "-# not small",
        "- not a list",
        "+ not a list",
        "12. not a list",
        ">>> not a quotation",
        "> not a quotation",
        "C:\\path\\*.txt and \\\\server and ¯\\_(ツ)_/¯",
        "`` ``` `x`",
        "[x](nothing) and [a][b]",
        "steam://run/1 and https:// and http://",
        "discord.gg/abc and Discord.com/invite/abc",
        "a -- b, --flag, -5, 1.5, #",
    ],
)
def test_line_is_shown_as_written(line: str) -> None:
    reader = Reader(escape(line))
    assert reader.seen == line
    assert alive(escape(line)) == []
    assert [kind for kind, _ in reader.events if kind != "link"] == []


def test_plain_words_cost_no_escapes() -> None:
    line = "A sentence with a-dash, 3 numbers (1.5), 50% and f(x) = y; a > b < c #4."
    assert escape(line) == line


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("see https://a.b/c_d_e.", "see <https://a.b/c_d_e>."),
        ("(https://a.b/c_(d))", "(<https://a.b/c_(d)>)"),
        ("https://a.b/?q=1&r=*", "<https://a.b/?q=1&r=>\\*"),
        ("[x](https://a.b)", "\\[x]\\(<https://a.b>)"),
    ],
)
def test_bare_address_is_wrapped_and_kept(line: str, shown: str) -> None:
    assert escape(line) == shown


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                *"\\*_~`|>#-+[]()<>@:.! 1a/",
                "everyone",
                "here",
                "<@1>",
                "://",
                "https://a.b/_c",
                "```",
                " ",
                "**",
                "é",
            ]
        ),
        max_size=14,
    ).map("".join)
)
def test_any_line_is_shown_as_written(line: str) -> None:
    assert Reader(escape(line)).seen == line
    assert alive(escape(line)) == []


# ── in Discord's dialect ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**b** *i* ***bi*** ~~s~~ `c`", "**b** *i* ***bi*** ~~s~~ `c`"),
        ("__two words__ _i_", "**two words** *i*"),
        ("**a *b* c**", "**a *b* c**"),
        ("*a **b***", "*a **b***"),
        ("***b** c*", "***b*** *c*"),
        ("**two\nlines**", "**two**\n**lines**"),
        ("# One\n## Two\n### Three\n#### Four", "# One\n## Two\n### Three\n**Four**"),
        ("- a\n  - b\n    - c\n- d", "- a\n  - b\n    - c\n- d"),
        ("3. a\n4. b\n   - c", "3. a\n4. b\n  - c"),
        ("- [ ] a\n- [x] b", "- ☐ a\n- ☑ b"),
        ("> a\n> b\n>\n> c", "> a\n> b\n> \n> c"),
        ("> a\n> > b", "> a\n> \n> \\> b"),
        ("> [!WARNING]\n> hot", "> **Warning**\n> hot"),
        ("a\n\n---\n\nb", "a\n\n────────────\n\nb"),
        ("a[^1]\n\n[^1]: note", "a\\[^1]\n\n\\[1] note"),
        ("[l](https://e.org/a_(b))", "[l](<https://e.org/a_(b)>)"),
        ("[l](<https://e.org/a((b)>)", "[l](<https://e.org/a%28%28b%29>)"),
        ("[`f_x`](https://e.org)", "[`f_x`](<https://e.org>)"),
        ("**[l](https://e.org)**", "**[l](<https://e.org>)**"),
        ("[a\\*b](https://e.org)", "a\\*b (<https://e.org>)"),
        ("[new \N{PARTY POPPER}](https://e.org)", "new \N{PARTY POPPER} (<https://e.org>)"),
        ("<https://e.org/a_b>", "<https://e.org/a_b>"),
        ("![cat](https://e.org/c.png)", "🖼 [cat](<https://e.org/c.png>)"),
        ("<me@e.org>", "me@e.org"),
        ("``a`b`` and `` `x` ``", "``a`b`` and `` `x` ``"),
        ("**`a**b`**", "`a**b`"),
        ("```` x``y ````", "x\\`\\`y"),
        ("| a | b |\n|---|--:|\n| 1 | 22 |", "```\na │  b\n──┼───\n1 │ 22\n```"),
        ("| a | b |\n|---|---|\n| [x](https://e.org) | |", "- **a**: [x](<https://e.org>)\n  **b**: –"),
        ("- a\n\n  ```py\n  x\n\n  y\n  ```\n- b", "- a\n```py\nx\n\ny\n```\n- b"),
        ("1. ```\n   x\n   ```", "1.\n```\nx\n```"),
        ("> ```sh\n> ls\n>\n> pwd\n> ```", "> ```sh\n> ls\n> \n> pwd\n> ```"),
        ("```c#\nx\n```", "```\nx\n```"),
        ("```\n```", "```\n \n```"),
    ],
)
def test_markdown_is_written_in_the_dialect(text: str, shown: str) -> None:
    assert draw(text) == shown


def test_wide_table_becomes_rows() -> None:
    wide = "x" * 60
    assert draw(f"| name | what |\n|---|---|\n| *a* | {wide} |") == f"- **name**: *a*\n  **what**: {wide}"


@pytest.mark.parametrize("inside", ["```", "````", "a```b", "``````\n@everyone"])
def test_nothing_breaks_out_of_a_code_block(inside: str) -> None:
    text = "\n".join(fence(inside))
    reader = Reader(text + "\nafter")
    assert [code.replace("\u200b", "") for code in reader.code] == [inside]
    assert alive(text) == []


def test_emphasis_survives() -> None:
    reader = Reader(draw("**bold**, *it* and ~~gone~~ and **`code`** and *a **b** c*"))
    assert reader.all("bold") == ["bold", "`code`", "b"]
    assert reader.all("italic") == ["it", "a **b** c"]
    assert reader.all("strike") == ["gone"]


# ── whatever an agent writes ─────────────────────────────────────────────────────────────────────────

WORDS = """
alpha beta gamma delta `code` ``co`de`` **bold** *it* ***both*** ~~gone~~ **b *n* b** *i **n*** @everyone @here
<@123> <@&1> <#1> <:e:1> :smile: <t:1:R> </c:1> ||spoil|| https://e.org/a_b_c [lab](https://e.org/x)
[la_b*](https://e.org/y) [**b** c](https://e.org/z) ![p](https://e.org/p.png) <https://e.org> <b@e.org> __init__
a_b_ 2*3 * ** _ __ ~ ~~ ` `` ``` | || \\ \\* [ ]( ]( < > # - 1. discord.gg/abc
"""
BITS = WORDS.split()
LEADS = [
    "",
    "",
    "- ",
    "  - ",
    "1. ",
    "   - ",
    "> ",
    "> > ",
    "> - ",
    "- > ",
    "# ",
    "#### ",
    "- [x] ",
    "    ",
    "[^1]: ",
]
LINES = [
    "```", "```py", "~~~", "> ```", "  ```", "---", "|a|b|", "|-|-|", "|`x`|**y**|", "> [!NOTE]", "- ", "====", "",
]  # fmt: skip
line = st.one_of(
    st.tuples(st.sampled_from(LEADS), st.lists(st.sampled_from(BITS), min_size=1, max_size=6)).map(
        lambda parts: parts[0] + " ".join(parts[1])
    ),
    st.tuples(st.sampled_from(LEADS), st.lists(st.sampled_from(BITS), min_size=1, max_size=5)).map(
        lambda parts: parts[0] + "".join(parts[1])
    ),
    st.sampled_from(LINES),
)
documents = st.lists(line, max_size=9).map("\n".join)


def check(text: str, *, growing: bool) -> None:
    document = md.parse(text, 0, growing)
    shown = render(document)
    assert alive(shown) == [], shown
    reader = Reader(shown)
    pool = " ".join([reader.seen, *reader.all("link")])
    lost = {
        word for word, count in words(md.plain(document).replace("mailto:", "")).items() if pool.count(word) < count
    }
    assert lost == set(), shown
    assert render(document) == shown


@settings(max_examples=500, deadline=None)
@given(documents)
def test_no_word_is_lost_and_nothing_comes_alive(text: str) -> None:
    check(text, growing=False)


@settings(max_examples=200, deadline=None)
@given(documents, st.integers(0, 200))
def test_so_it_is_with_a_text_that_still_grows(text: str, length: int) -> None:
    check(text[:length], growing=True)


@settings(max_examples=300, deadline=None)
@given(documents, st.integers(12, 200))
def test_what_is_cut_stays_whole_markup(text: str, limit: int) -> None:
    shown = draw(text)
    short = shorten(shown, limit)
    assert len(short) <= limit
    assert alive(short) == [], (shown, short)
    if len(shown) > limit:
        assert short.rstrip("*~`\n> ").endswith("…")
