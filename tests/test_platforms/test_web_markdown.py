"""An agent's words become harmless HTML in pieces; a piece that is complete stays as it is while the text grows."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beambot.api import markdown as md
from platforms.web.markdown import render

EMPTY = {"br", "hr"}
ALLOWED = {"href", "target", "rel", "title", "class", "start", "role", "aria-label"}


def pieces(text: str, skip: int = 0, *, growing: bool = False) -> list[str]:
    return render(md.parse(text, skip, growing)).html


def html(text: str, skip: int = 0) -> str:
    return "".join(pieces(text, skip))


class Checked(HTMLParser):
    """Reads HTML and complains about anything a page should not be given."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        for name, value in attrs:
            assert name in ALLOWED, name
            if name == "href":
                assert re.match(r"(https?://|mailto:)", value or "", re.IGNORECASE), value
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def checked(text: str) -> Checked:
    """The page's view of a text, each piece complete in itself."""
    reader = Checked()
    for piece in pieces(text):
        reader.feed(piece)
        assert reader.open == []
    reader.close()
    return reader


# ── nothing but words ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "hostile",
    [
        "[x](java\tscript:alert(1))",
        "<javascript:alert(1)>",
        "[x]: javascript:alert(1)\n\n[x]",
        "```x\n</code></pre><script>alert(1)</script>\n```",
        "[^<b>]: x",
        "> [!<script>]\n> x",
        "| <b> |\n|---|\n| <img src=x> |",
        "- [x] <input>\n1. <ol>",
    ],
)
def test_tags_are_only_those_of_markdown(hostile: str) -> None:
    tags = {"p", "pre", "code", "blockquote", "div", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert checked(hostile).seen <= tags | {"ul", "ol", "li", "span", "br"}


@pytest.mark.parametrize("text", ["[x](javascript:alert(1))", "[x](file:///etc/passwd)", "[x](../secret.txt)"])
def test_link_that_leads_nowhere_says_where_it_wanted(text: str) -> None:
    target = text[4:-1]
    assert html(text) == f"<p>x ({target})</p>"


def test_links_open_elsewhere_and_tell_nothing() -> None:
    assert html("[here](https://example.org/a?b=1&c=2)") == (
        '<p><a href="https://example.org/a?b=1&amp;c=2" target="_blank" rel="noopener noreferrer nofollow" '
        'title="https://example.org/a?b=1&amp;c=2">here</a></p>'
    )


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("See https://e.org/pull/7.", "https://e.org/pull/7"),
        ("(https://e.org/a_(b)?c=1&d[0]=2)", "https://e.org/a_(b)?c=1&amp;d[0]=2"),
        ("**https://e.org/x**", "https://e.org/x"),
        ("请看 https://e.org/a，然后", "https://e.org/a"),
    ],
)
def test_address_in_the_words_is_a_link(text: str, address: str) -> None:
    assert re.findall('href="([^"]*)"', html(text)) == [address]


def test_address_in_code_is_no_link() -> None:
    assert "<a" not in html("`https://e.org`\n\n```\nhttps://e.org\n```\n\nhttps:// and ftp://e.org")


def test_link_with_styled_words_is_one_link() -> None:
    shown = html("[some **bold** `code`](https://example.org)")
    assert shown.count("<a ") == 1
    assert ">some <strong>bold</strong> <code>code</code></a>" in shown


def test_link_that_names_another_place_shows_both() -> None:
    shown = html("[https://bank.example](https://evil.example/login)")
    assert 'href="https://evil.example/login"' in shown
    assert re.search(r"https://bank\.example</a> \(<a [^>]*>https://evil\.example/login</a>\)", shown)


def test_picture_is_a_link_and_not_loaded() -> None:
    shown = html("![a cat](https://example.org/cat.png)")
    assert "<img" not in shown
    assert "a cat</a>" in shown


# ── words ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name",
    ["__init__.py", "snake_case_name", "2*3*4", "**/*.py", "src/**", "*.py and *.js", "__main__", "a*b and c*d"],
)
def test_names_are_not_emphasis(name: str) -> None:
    assert html(f"see {name} there") == f"<p>see {name} there</p>"


@pytest.mark.parametrize("generic", ["Vec<T>", "Map<String, List<int>>", "a < b && c > d", "<b>bold?</b>"])
def test_generics_and_tags_are_shown_as_written(generic: str) -> None:
    assert checked(f"see {generic} there").words == f"see {generic} there"
    assert checked(f"see {generic} there").seen == {"p"}


@pytest.mark.parametrize("bold", ["**bold**", "a **bold** word", "这是**粗体**文字", "**bold**, and"])
def test_emphasis_stays_emphasis(bold: str) -> None:
    assert "<strong>" in html(bold)


def test_styles_nest_in_one_order() -> None:
    assert html("***a*** ~~b~~ **`c`**") == (
        "<p><strong><em>a</em></strong> <del>b</del> <strong><code>c</code></strong></p>"
    )


def test_line_break_stays_and_a_heading_has_its_level() -> None:
    assert pieces("# One\n\n###### Six\n\na\nb\n\n---") == ["<h1>One</h1>", "<h6>Six</h6>", "<p>a<br>b</p>", "<hr>"]


def test_code_names_its_language_and_keeps_its_spaces() -> None:
    assert html("```c++\n\n  a <  b\n```") == '<pre><code class="language-c++">\n  a &lt;  b\n</code></pre>'


def test_table_is_aligned_without_style_attributes() -> None:
    assert html("| a | b | c |\n|:--|--:|---|\n| 1 | 2 | |\n") == (
        '<div class="table"><table>'
        '<thead><tr><th class="left">a</th><th class="right">b</th><th>c</th></tr></thead>'
        '<tbody><tr><td class="left">1</td><td class="right">2</td><td></td></tr></tbody>'
        "</table></div>"
    )


def test_table_of_a_head_alone_has_no_body() -> None:
    assert "<tbody>" not in html("| a |\n|---|\n")


# ── lists, quotations, notes ─────────────────────────────────────────────────────────────────────


def test_lists_nest() -> None:
    text = "1. a\n   - b\n     - c\n   - d\n\n   more of a\n2. e"
    assert pieces(text) == [
        "<ol><li>a<ul><li>b<ul><li>c</li></ul></li><li>d</li></ul><p>more of a</p></li><li>e</li></ol>"
    ]


def test_numbers_begin_where_the_list_does() -> None:
    assert pieces("7. a\n8. b\n\nwords\n\n99. c\n100. d") == [
        '<ol start="7"><li>a</li><li>b</li></ol>',
        "<p>words</p>",
        '<ol start="99" class="long"><li>c</li><li>d</li></ol>',
    ]


def test_a_list_that_begins_again_is_another_list() -> None:
    assert pieces("1. a\n2. b\n\n1) c") == ["<ol><li>a</li><li>b</li></ol>", "<ol><li>c</li></ol>"]


def test_code_and_table_and_quotation_stand_inside_of_their_item() -> None:
    shown = html("- a\n  ```sh\n  ls\n  ```\n- > q\n- | x |\n  |---|\n  | y |\n- # h")
    assert '<li>a<pre><code class="language-sh">ls\n</code></pre></li>' in shown
    assert "<li><blockquote><p>q</p></blockquote></li>" in shown
    assert '<li><div class="table">' in shown
    assert "<li><h1>h</h1></li></ul>" in shown


def test_tasks_show_what_is_done() -> None:
    shown = html("- [x] a\n- [ ] b\n- c")
    assert '<li class="task"><span class="box" role="img" aria-label="done">☑ </span>a</li>' in shown
    assert '<li class="task"><span class="box" role="img" aria-label="not done">☐ </span>b</li>' in shown
    assert "<li>c</li>" in shown


def test_empty_item_stays_an_item() -> None:
    assert html("- a\n-\n- b") == "<ul><li>a</li><li></li><li>b</li></ul>"


def test_list_that_goes_on_from_another_page_repeats_no_marker() -> None:
    context = "2. .\n   - .\n"
    shown = html(f"{context}     more of it\n   - next\n3. three\n", len(context))
    assert shown == (
        '<ol start="2"><li class="continued"><ul><li class="continued">more of it</li><li>next</li></ul></li>'
        "<li>three</li></ol>"
    )


def test_code_that_goes_on_from_another_page_is_code() -> None:
    context = "```python\n"
    assert html(f"{context}x = 1\n```\n", len(context)) == (
        '<pre><code class="language-python">x = 1\n</code></pre>'
    )


def test_quotations_nest_and_two_stay_two() -> None:
    assert pieces("> a\n> > b\n>\n> c\n\n> d") == [
        "<blockquote><p>a</p><blockquote><p>b</p></blockquote><p>c</p></blockquote>",
        "<blockquote><p>d</p></blockquote>",
    ]


@pytest.mark.parametrize("kind", ["note", "tip", "important", "warning", "caution"])
def test_alert_has_its_title(kind: str) -> None:
    title = kind.capitalize()
    assert html(f"> [!{kind.upper()}]\n> Words.") == (
        f'<blockquote class="alert {kind}"><p class="title">{title}</p><p>Words.</p></blockquote>'
    )


def test_notes_are_named() -> None:
    assert pieces("As said[^1].\n\n[^1]: By *whom*?\n\n[^b]: Me.") == [
        "<p>As said[^1].</p>",
        '<div class="footnote"><b>[1]</b> By <em>whom</em>?</div><div class="footnote"><b>[b]</b> Me.</div>',
    ]


@pytest.mark.parametrize("marker", ["> ", "- ", "1. "])
def test_what_is_nested_without_end_is_shown_at_the_deepest_level(marker: str) -> None:
    shown = html(marker * 3000 + "words")
    assert "words" in shown
    assert shown.count("<") < 60


# ── growing ──────────────────────────────────────────────────────────────────────────────────────

PARTS = [
    "word",
    " ",
    "\n",
    "\n\n",
    "# ",
    "- ",
    "- [x] ",
    "  - ",
    "1. ",
    "3) ",
    "```",
    "\n```\n",
    "> ",
    "> [!NOTE]\n",
    "**",
    "*",
    "_",
    "`",
    "~~",
    "|",
    "\n| a | b |\n|--|--|\n",
    "    ",
    "---",
    "=",
    "\t",
    "<b>",
    "[a](https://e.org)",
    "[^1]: ",
    "__init__",
    "\\",
    "\N{ROCKET}",
    "é",
]
MARKDOWN = st.lists(st.sampled_from(PARTS), max_size=40).map("".join)


@settings(max_examples=200, deadline=None)
@given(MARKDOWN)
def test_any_text_becomes_pieces_that_are_complete_in_themselves(text: str) -> None:
    checked(text)


@settings(max_examples=150, deadline=None)
@given(MARKDOWN)
def test_pieces_before_the_last_two_never_change_while_a_text_grows(text: str) -> None:
    kept: list[str] = []
    for end in range(1, len(text) + 1):
        now = pieces(text[:end], growing=True)
        assert now[: len(kept)] == kept, text[:end]
        kept = max(kept, now[:-2], key=len)
    assert pieces(text)[: len(kept)] == kept


def test_pieces_that_did_not_change_are_not_drawn_again() -> None:
    text = "# Head\n\n- a\n- b\n\n> q\n\nlast"
    before = render(md.parse(text, 0, True))
    after = render(md.parse(f"{text} words", 0, True), before)
    assert [one is other for one, other in zip(before.pieces, after.pieces, strict=True)] == [True] * 3 + [False]
