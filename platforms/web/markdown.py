"""Blocks of an agent's words to harmless HTML, one piece per top-level group, so that growth costs what is new."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape
from itertools import groupby

from msgspec import Struct

from beambot.api import markdown as md

Container = md.Quote | md.Item | md.Note

_TAGS = ((md.BOLD, "strong"), (md.ITALIC, "em"), (md.STRIKE, "del"), (md.CODE, "code"))
# What stands deeper than this is shown at this depth; nobody can read it there, but a page can break of it.
_DEEPEST = 12
# What ends an address: blanks, quotes, punctuation of Chinese and Japanese; and a bracket without its other half.
_END = r"\s<>\"'`\u2018-\u201f\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_PAIR = rf"\([^(){_END}]*\)|\[[^\[\]{_END}]*\]"
_BARE = re.compile(rf"https?://\w(?:(?:{_PAIR}|[^()\[\]{_END}])*(?:{_PAIR}|[\w/=&#%+~-]))?")


class Piece(Struct, frozen=True):
    """A list, a quotation, a paragraph: the blocks it was drawn from, and its HTML."""

    blocks: md.Document
    html: str


class Rendered(Struct, frozen=True):
    """The pieces of a text: what the next rendering of a longer text goes on from."""

    pieces: tuple[Piece, ...] = ()

    @property
    def html(self) -> list[str]:
        """The pieces' HTML."""
        return [piece.html for piece in self.pieces]


def render(document: md.Document, before: Rendered | None = None) -> Rendered:
    """HTML of a document. A piece that is in `before` at the same place is not drawn again."""
    known = before.pieces if before else ()
    pieces: list[Piece] = []
    for index, group in enumerate(_groups(document, 0)):
        if index < len(known) and known[index].blocks == group:
            pieces.append(known[index])
        else:
            pieces.append(Piece(group, _group(group, 0)))
    return Rendered(tuple(pieces))


# ── containers ───────────────────────────────────────────────────────────────────────────────────


def _groups(blocks: Iterable[md.AnyBlock], depth: int) -> Iterator[md.Document]:
    """Blocks parted into what stands by itself at this depth: a block, a quotation, a whole list."""
    group: list[md.AnyBlock] = []
    last: Container | None = None
    for block in blocks:
        container = _container(block, depth)
        if group and not _goes_on(last, container):
            yield tuple(group)
            group = []
        group.append(block)
        last = container
    if group:
        yield tuple(group)


def _container(block: md.AnyBlock, depth: int) -> Container | None:
    return block.inside[depth] if depth < min(len(block.inside), _DEEPEST) else None


def _goes_on(last: Container | None, container: Container | None) -> bool:
    match last, container:
        case md.Quote(), md.Quote():
            return last.at == container.at
        case md.Item(number=None), md.Item(number=None):
            return True
        case md.Item(number=int(number)), md.Item(number=int(after)):
            return last.at == container.at or after == number + 1
        case md.Note(), md.Note():
            return True
        case _:
            return False


def _group(blocks: md.Document, depth: int) -> str:
    container = _container(blocks[0], depth)
    match container:
        case None:
            return _block(blocks[0])
        case md.Quote(alert=""):
            return f"<blockquote>{_inner(blocks, depth)}</blockquote>"
        case md.Quote(alert=alert):
            title = f'<p class="title">{escape(alert.capitalize())}</p>'
            return f'<blockquote class="alert {escape(alert)}">{title}{_inner(blocks, depth)}</blockquote>'
        case md.Item(number=number):
            items = [_item(item, depth) for item in _each(blocks, depth)]
            if number is None:
                return f"<ul>{''.join(items)}</ul>"
            start = "" if number == 1 else f' start="{number}"'
            long = ' class="long"' if number + len(items) > 100 else ""
            return f"<ol{start}{long}>{''.join(items)}</ol>"
        case md.Note():
            return "".join(_note(note, depth) for note in _each(blocks, depth))


def _each(blocks: md.Document, depth: int) -> Iterator[md.Document]:
    """The items of a list, the notes of many, one by one."""
    for _, item in groupby(blocks, key=lambda block: block.inside[depth].at):
        yield tuple(item)


def _item(blocks: md.Document, depth: int) -> str:
    item = blocks[0].inside[depth]
    assert isinstance(item, md.Item)
    inner = _inner(blocks, depth, is_tight=True)
    if item.continued:
        return f'<li class="continued">{inner}</li>'
    if item.done is None:
        return f"<li>{inner}</li>"
    mark, state = ("☑", "done") if item.done else ("☐", "not done")
    return f'<li class="task"><span class="box" role="img" aria-label="{state}">{mark} </span>{inner}</li>'


def _note(blocks: md.Document, depth: int) -> str:
    note = blocks[0].inside[depth]
    assert isinstance(note, md.Note)
    return f'<div class="footnote"><b>[{_text(note.label)}]</b> {_inner(blocks, depth, is_tight=True)}</div>'


def _inner(blocks: md.Document, depth: int, *, is_tight: bool = False) -> str:
    """What stands inside of a container; the first words of a list item stand next to its marker."""
    html = [_group(group, depth + 1) for group in _groups(blocks, depth + 1)]
    first = blocks[0]
    if is_tight and isinstance(first, md.Paragraph) and _container(first, depth + 1) is None:
        html[0] = _spans(first.spans)
    return "".join(html)


# ── blocks ───────────────────────────────────────────────────────────────────────────────────────


def _block(block: md.AnyBlock) -> str:
    match block:
        case md.Paragraph(spans=spans):
            return f"<p>{_spans(spans)}</p>"
        case md.Heading(level=level, spans=spans):
            return f"<h{level}>{_spans(spans)}</h{level}>"
        case md.Code(text=text, language=language):
            named = f' class="language-{escape(language)}"' if language else ""
            return f"<pre><code{named}>{_text(text)}\n</code></pre>"
        case md.Table():
            return _table(block)
        case md.Rule():
            return "<hr>"


def _table(table: md.Table) -> str:
    """Alignment as a class: the page allows no style attributes."""
    classes = [f' class="{align}"' if align else "" for align in table.align]
    rows: list[str] = []
    for number, row in enumerate(table.rows):
        tag = "td" if number else "th"
        cells = zip(row, classes + [""] * (len(row) - len(classes)), strict=False)
        rows.append("<tr>" + "".join(f"<{tag}{kind}>{_spans(cell)}</{tag}>" for cell, kind in cells) + "</tr>")
    body = f"<tbody>{''.join(rows[1:])}</tbody>" if rows[1:] else ""
    return f'<div class="table"><table><thead>{"".join(rows[:1])}</thead>{body}</table></div>'


# ── words ────────────────────────────────────────────────────────────────────────────────────────


def _spans(spans: tuple[md.Span, ...]) -> str:
    html: list[str] = []
    for link, run in groupby(spans, key=lambda span: span.link):
        if link:
            html.append(_link(link, "".join(_span(span) for span in run)))
        else:
            html += [_bare(span) for span in run]
    return "".join(html)


def _bare(span: md.Span) -> str:
    """Words of no link; an address among them is one."""
    if span.style & md.CODE or "://" not in span.text:
        return _span(span)
    html: list[str] = []
    at = 0
    for found in _BARE.finditer(span.text):
        html.append(_span(md.Span(span.text[at : found.start()], span.style)))
        html.append(_link(found.group(), _span(md.Span(found.group(), span.style))))
        at = found.end()
    return "".join([*html, _span(md.Span(span.text[at:], span.style))])


def _span(span: md.Span) -> str:
    html = _text(span.text).replace("\n", "<br>")
    if not span.style or not html:
        return html
    for bit, tag in reversed(_TAGS):
        if span.style & bit:
            html = f"<{tag}>{html}</{tag}>"
    return html


def _link(target: str, words: str) -> str:
    href = escape(target)
    return f'<a href="{href}" target="_blank" rel="noopener noreferrer nofollow" title="{href}">{words}</a>'


def _text(text: str) -> str:
    return escape(text, quote=False)
