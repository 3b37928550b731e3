"""What must hold for any markdown an agent may write: nothing lost, nothing twice, nothing raised, nothing slow."""

from __future__ import annotations

import re
from collections import Counter

from hypothesis import assume, given
from hypothesis import strategies as st

from beambot.api import markdown as md
from beambot.render.markdown.heal import heal
from beambot.render.markdown.seams import seam, seam_at

WORD = re.compile(r"w\d+x")

# ── documents ────────────────────────────────────────────────────────────────────────────────────

_INLINE = st.sampled_from(
    [
        "§",
        "§ §",
        "**§**",
        "**§ § §**",
        "*§*",
        "*§ §*",
        "`§`",
        "`§ §`",
        "~~§ §~~",
        "***§ §***",
        "**§ *§ §* §**",
        "§, §.",
    ]
)
_LINE = st.lists(_INLINE, min_size=1, max_size=4).map(" ".join)
_PARAGRAPH = st.lists(_LINE, min_size=1, max_size=3).map("\n".join)
_FENCE = st.builds(
    lambda marks, language, lines: f"{marks}{language}\n" + "\n".join(lines) + f"\n{marks}",
    st.sampled_from(["```", "~~~", "````"]),
    st.sampled_from(["", "py"]),
    st.lists(st.sampled_from(["§", "  § §", "", "# §", "- §", "> §"]), min_size=1, max_size=4),
)
_ROW = st.lists(st.sampled_from(["§", "**§**", "`§`", "§ §", ""]), min_size=1, max_size=4)
_TABLE = st.builds(
    lambda head, rows: "\n".join(
        ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        + ["| " + " | ".join(row[: len(head)]) + " |" for row in rows]
    ),
    st.lists(st.just("§"), min_size=2, max_size=3),
    st.lists(_ROW, min_size=1, max_size=4),
)
_HEADING = st.builds(lambda level, line: "#" * level + " " + line, st.integers(1, 6), _LINE)


def _indented(text: str, first: str, rest: str) -> str:
    lines = text.split("\n")
    return "\n".join([first + lines[0], *(rest + line if line else rest.rstrip() for line in lines[1:])])


def _list(items: list[str], ordered: int | None, loose: bool, lazy: bool) -> str:
    said = []
    for at, item in enumerate(items):
        mark = "- " if ordered is None else f"{ordered + (0 if lazy else at)}. "
        said.append(_indented(item, mark, " " * len(mark)))
    return ("\n\n" if loose else "\n").join(said)


def _containers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(inner, min_size=1, max_size=3).map("\n\n".join)
    start = st.sampled_from([None, None, 1, 8, 9, 98])
    return st.one_of(
        st.builds(_list, st.lists(several, min_size=1, max_size=3), start, st.booleans(), st.booleans()),
        several.map(lambda text: _indented(text, "> ", "> ")),
    )


_BLOCK = st.recursive(st.one_of(_PARAGRAPH, _PARAGRAPH, _FENCE, _HEADING, _TABLE), _containers, max_leaves=5)


def _numbered(text: str) -> str:
    counter = iter(range(10**6))
    return re.sub("§", lambda _: f"w{next(counter)}x", text)


# Documents as they should be written: each word stands in them once, so that order and loss can be seen.
DOCUMENTS = st.lists(_BLOCK, min_size=1, max_size=4).map("\n\n".join).map(_numbered)

_TOKENS = [
    *("*", "**", "***", "_", "__", "~~", "~", "`", "``", "```\n", "~~~\n", "````\n"),
    *(
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "\t",
        " ",
        "  ",
        "    ",
        "> ",
        ">",
        "- ",
        "* ",
        "+ ",
        "1. ",
        "2) ",
        "10. ",
        "- [ ] ",
    ),
    *(
        "#",
        "## ",
        "---",
        "===",
        "|",
        " | ",
        "\n|---|---|\n",
        "\n| - |\n",
        "<",
        ">",
        "<div>",
        "<!-- ",
        "-->",
        "</p>",
    ),
    *(
        "[",
        "]",
        "(",
        ")",
        "![",
        "[^n]: ",
        "[^n]",
        "[a]: b",
        "]: ",
        ":",
        "\\",
        "\\*",
        "&",
        "$",
        "!",
        "~/",
        "**/*.",
        "/",
    ),
    *(
        "◈",
        "@everyone",
        "日本",
        "语：",
        "é",
        "👍🏽",
        "👨\u200d👩\u200d👧",
        "\u200b",
        "\u202e",
        "\x1b[31m",
        "\x00",
        "\ud83d",
    ),
    *("\U0001d800", "\U0001d801", "§", "§", "§", "§ § §", "__§__", "§_§", "§*§", "§."),
]


def _no_info(text: str) -> str:
    """The words behind a fence name its language, and are not shown."""
    return re.sub(r"(`{3,}|~{3,})", r"\1\n", text)


NASTY = st.lists(st.sampled_from(_TOKENS), max_size=40).map("".join).map(_no_info).map(_numbered)
LINKED = (
    st.lists(
        st.sampled_from(
            [
                *_TOKENS,
                "](",
                "](https://e.example",
                "[§](https://e.example)",
                "&amp;",
                "&#x27",
                "> [!NOTE]\n",
                "- [x] ",
            ]
        ),
        max_size=40,
    )
    .map("".join)
    .map(_no_info)
    .map(_numbered)
)


# ── what can be seen of them ─────────────────────────────────────────────────────────────────────


def visible(document: md.Document, skip: int = 0) -> str:
    """All words of a document; a head of a table that is said again counts once."""
    out: list[str] = []
    for block in document:
        if isinstance(block, md.Paragraph | md.Heading):
            out.append(md.words(block.spans))
        elif isinstance(block, md.Code):
            out.append(block.text)
        elif isinstance(block, md.Table):
            rows = block.rows[1:] if block.at < skip else block.rows
            out.append(" ".join(md.words(cell) for row in rows for cell in row))
    return "\n".join(out)


def traced(document: md.Document, skip: int = 0) -> list[tuple[str, str, int]]:
    """Each letter with what it stands in and how it looks."""
    out: list[tuple[str, str, int]] = []
    for block in document:
        where = "/".join([*(type(one).__name__ for one in block.inside), type(block).__name__])
        spans: list[tuple[str, int]] = []
        if isinstance(block, md.Paragraph | md.Heading):
            spans = [(span.text, span.style) for span in block.spans]
        elif isinstance(block, md.Code):
            spans = [(block.text, 0)]
        elif isinstance(block, md.Table):
            rows = block.rows[1:] if block.at < skip else block.rows
            spans = [(span.text, span.style) for row in rows for cell in row for span in cell]
        out += [(char, where, style) for text, style in spans for char in text if char.isalnum()]
    return out


def pages(text: str, room: int) -> list[tuple[str, int]]:
    """A text on pages, as they would be sent: each with what of it is not shown."""
    done: list[tuple[str, int]] = []
    skip = 0
    while True:
        place = seam(text, skip, skip + room, "characters")
        if place.length >= len(text):
            return [*done, (text, skip)]
        assert place.length > skip, "no page may be empty"
        done.append((text[: place.length] + place.closing, skip))
        text, skip = place.opening + text[place.length :], len(place.opening)


# ── properties ───────────────────────────────────────────────────────────────────────────────────


@given(st.one_of(NASTY, LINKED, st.text(max_size=80)), st.booleans(), st.integers(0, 30))
def test_no_text_stops_the_parser_and_places_are_in_order(text: str, growing: bool, skip: int) -> None:
    document = md.parse(text, skip, growing)
    md.plain(document)
    before = 0
    for block in document:
        assert before <= block.at <= block.end
        before = block.at
    assert all(block.end <= len(text) + (200 if growing else 0) for block in document)
    assert not [char for char in md.plain(document) if char in "\u202e\u200b\x00\x1b◈\r"]


@given(NASTY)
def test_no_word_is_lost(text: str) -> None:
    lost = Counter(WORD.findall(text)) - Counter(WORD.findall(md.plain(md.parse(text))))
    assert not lost


@given(DOCUMENTS)
def test_the_words_of_a_document_are_shown_once_and_in_order(text: str) -> None:
    assert WORD.findall(visible(md.parse(text))) == WORD.findall(text)


@given(st.one_of(DOCUMENTS, LINKED), st.data())
def test_what_is_complete_stays_as_it_is_while_the_text_grows(text: str, data: st.DataObject) -> None:
    part = text[: data.draw(st.integers(0, len(text)))]
    assume("\r" not in text and part == part.encode("utf-8", "replace").decode())
    assume("\ud83d" not in text)
    early, late = md.parse(part, 0, True), md.parse(text, 0, True)
    last = early[-1] if early else None
    top = None if last is None else last.inside[0].at if last.inside else last.at
    for one, other in zip(early, late, strict=False):
        if (one.inside[0].at if one.inside else one.at) == top:
            break
        assert one == other


@given(DOCUMENTS, st.data())
def test_no_mark_is_left_open_at_the_end_of_a_growing_text(text: str, data: st.DataObject) -> None:
    part = text[: data.draw(st.integers(0, len(text)))]
    shown = md.parse(part, 0, True)
    for block in shown:
        if isinstance(block, md.Paragraph | md.Heading):
            assert not [
                span for span in block.spans if not span.style & md.CODE and re.search(r"[*`~#|]", span.text)
            ]


@given(st.one_of(NASTY, LINKED))
def test_a_text_that_is_healed_keeps_its_words(text: str) -> None:
    # Half an address is left out, whatever its words are.
    assume("\ud83d" not in text and "](" not in text)
    whole = Counter(WORD.findall(visible(md.parse(text))))
    lost = whole - Counter(WORD.findall(visible(md.parse(text, 0, True))))
    assert sum(lost.values()) <= 2
    assert len(heal(text)) <= len(text) + 200


@given(DOCUMENTS, st.data())
def test_a_document_that_is_parted_says_and_means_the_same(text: str, data: st.DataObject) -> None:
    place = seam_at(text, 0, data.draw(st.integers(1, len(text))))
    first = md.parse(text[: place.length] + place.closing)
    second = md.parse(place.opening + text[place.length :], len(place.opening))
    assert traced(first) + traced(second, len(place.opening)) == traced(md.parse(text))


@given(DOCUMENTS, st.integers(1, 60))
def test_a_document_on_pages_says_and_means_the_same(text: str, room: int) -> None:
    told = [letter for page, skip in pages(text, room) for letter in traced(md.parse(page, skip), skip)]
    assert told == traced(md.parse(text))


@given(st.one_of(NASTY, LINKED), st.integers(1, 60))
def test_any_text_on_pages_loses_no_word(text: str, room: int) -> None:
    parted = pages(text, room)
    assert all(skip <= 1200 for _, skip in parted)
    told = "".join(char for page, skip in parted for char in visible(md.parse(page, skip), skip) if char.isalnum())
    for word in WORD.findall(visible(md.parse(text))):
        assert word in told


@given(st.text(st.sampled_from("a\r\n\b\x1b[]0;1K2mhJ?l\x07\\é\x9b\x18 "), max_size=40))
def test_output_of_a_terminal_is_shown_without_its_orders(text: str) -> None:
    shown = md.terminal_text(text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)
    assert md.terminal_text(shown) == shown


@given(st.text(max_size=60))
def test_a_clean_text_stays_as_it_is(text: str) -> None:
    assert md.clean(md.clean(text)) == md.clean(text)
