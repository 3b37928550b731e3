"""A document as Block Kit. Slack reads no markup in the texts of these blocks, so nothing in them can ping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from beambot.api import markdown as md
from platforms.slack import tables
from platforms.slack.harmless import address, addresses

Json = dict[str, Any]
Kind = Literal["section", "quote", "list", "preformatted"]
Container = md.Quote | md.Item | md.Note

ALERTS = {
    "note": "ℹ️ Note",
    "tip": "💡 Tip",
    "important": "❗ Important",
    "warning": "⚠️ Warning",
    "caution": "🛑 Caution",
}
_DEEPEST = 8
_INDENT = "    "
_NO_QUOTE = -1
_UNDER = md.Quote(-2)
_STYLES = ((md.BOLD, "bold"), (md.ITALIC, "italic"), (md.STRIKE, "strike"), (md.CODE, "code"))


class _Part(Struct):
    """One element of a rich text while it is written. `key` tells quotations, or the items of a list, apart."""

    kind: Kind
    items: list[list[md.Span]]
    key: int = _NO_QUOTE
    ordered: bool = False
    indent: int = 0
    first: int = 1
    border: bool = False


def render(document: md.Document, *, table: bool = True, under: str = "") -> list[Json]:
    """The blocks of a document; with `table` its first table may be a real one.

    `under` is a title: all of the document then stands below it as a quotation.
    """
    writer = _Writer(table)
    if under:
        writer.say("quote", [md.Span(under, md.BOLD)], "\n", _UNDER.at)
        document = tuple(replace(block, inside=(_UNDER, *block.inside)) for block in document)
    before: md.AnyBlock | None = None
    for block in document:
        writer.block(before, block)
        before = block
    writer.close()
    return writer.blocks


class _Writer:
    """Writes one document."""

    def __init__(self, table: bool) -> None:
        self.blocks: list[Json] = []
        self.parts: list[_Part] = []
        self.table = table

    def block(self, before: md.AnyBlock | None, block: md.AnyBlock) -> None:
        """Add one block, with the marks of what begins with it."""
        known = md.shared(before, block)
        last = len(block.inside) - 1
        words = isinstance(block, md.Paragraph | md.Heading)
        gap = "\n\n" if before is not None and md.is_apart(before, block) else "\n"
        if isinstance(before, md.Heading):
            gap = "\n"
        for depth in range(known, len(block.inside)):
            container, inside = block.inside[depth], block.inside[: depth + 1]
            if isinstance(container, md.Quote):
                if not container.alert:
                    continue
                self._words(inside, [md.Span(_alert(container), md.BOLD)], gap)
            elif (words and depth == last) or _is_continued(container):
                continue
            else:
                self._item(inside, container, [], gap)
            gap = "\n"
        match block:
            case md.Paragraph(spans=spans):
                self._paragraph(block, list(spans), known, gap)
            case md.Heading(spans=spans):
                bold = [replace(span, style=span.style | md.BOLD) for span in spans]
                self._paragraph(block, bold, known, gap)
            case md.Code(text=text):
                self._preformatted(block, text)
            case md.Table():
                self._table(block)
            case md.Rule():
                if block.inside:
                    self._words(block.inside, [md.Span("———")], gap)
                else:
                    self.close()
                    self.blocks.append({"type": "divider"})

    def _paragraph(self, block: md.AnyBlock, spans: list[md.Span], known: int, gap: str) -> None:
        inside = block.inside
        last = inside[-1] if inside else None
        if last is None or isinstance(last, md.Quote):
            if spans or last is None or not last.alert:
                self._words(inside, spans, gap)
        elif known < len(inside) and not _is_continued(last):
            self._item(inside, last, spans, gap)
        elif self.parts and self.parts[-1].kind == "list" and self.parts[-1].key == last.at:
            self.parts[-1].items[-1] += [md.Span("\n"), *spans]
        else:
            self._words(inside, _indented(inside, _indent(inside) + _INDENT, spans), gap)

    def _item(
        self, inside: tuple[Container, ...], container: md.Item | md.Note, spans: list[md.Span], gap: str
    ) -> None:
        """Something with a mark of its own. A list of Slack has only bullets, and numbers from 1 on."""
        box = "" if isinstance(container, md.Note) or container.done is None else "☑ " if container.done else "☐ "
        part = self.parts[-1] if self.parts else None
        if isinstance(container, md.Note) and part and part.kind == "list" and part.key == _around(inside):
            said = [md.Span(f"[{container.label}] "), *spans]
            part.items[-1] += [md.Span("\n"), *said] if part.items[-1] else said
        elif isinstance(container, md.Note):
            self._words(inside, _indented(inside, f"{_indent(inside)}[{container.label}] ", spans), gap)
        elif container.number is None and box:
            self._words(inside, _indented(inside, _indent(inside) + box, spans), gap)
        elif container.number is not None and container.number < 1:
            self._words(inside, _indented(inside, f"{_indent(inside)}{container.number}. {box}", spans), gap)
        else:
            self._list_item(inside, container, [md.Span(box), *spans] if box else spans)

    def _list_item(self, inside: tuple[Container, ...], item: md.Item, spans: list[md.Span]) -> None:
        ordered, number = item.number is not None, item.number or 1
        indent = min(sum(isinstance(one, md.Item) for one in inside) - 1, _DEEPEST)
        border = any(isinstance(one, md.Quote) for one in inside)
        part = self.parts[-1] if self.parts else None
        if (
            part is not None
            and part.kind == "list"
            and (part.ordered, part.indent, part.border) == (ordered, indent, border)
            and (not ordered or part.first + len(part.items) == number)
        ):
            part.items.append(spans)
            part.key = item.at
        else:
            self.parts.append(_Part("list", [spans], item.at, ordered, indent, number, border))

    def _words(self, inside: tuple[Container, ...], spans: list[md.Span], gap: str) -> None:
        quotes = [one for one in inside if isinstance(one, md.Quote)]
        if len(quotes) > 1:
            deeper = "> " * (len(quotes) - 1)
            spans = [replace(span, text=span.text.replace("\n", "\n" + deeper)) for span in spans]
            spans = [md.Span(deeper), *spans]
        if quotes:
            self.say("quote", spans, gap, quotes[0].at)
        else:
            self.say("section", spans, gap)

    def say(self, kind: Kind, spans: list[md.Span], gap: str, key: int = _NO_QUOTE) -> None:
        """Add to the section or quotation that is open, or begin one."""
        part = self.parts[-1] if self.parts else None
        if part is not None and part.kind == kind and part.key == key:
            part.items[0] += [md.Span(gap), *spans]
            return
        if part is not None and part.kind == "list" and kind == "section" and gap == "\n\n":
            spans = [md.Span("\n"), *spans]
        self.parts.append(_Part(kind, [spans], key))

    def _preformatted(self, block: md.AnyBlock, text: str) -> None:
        border = any(isinstance(one, md.Quote) for one in block.inside)
        self.parts.append(_Part("preformatted", [[md.Span(text)]], border=border))

    def _table(self, block: md.Table) -> None:
        if not block.rows:
            return
        if not (self.table and tables.is_real(block)):
            self._preformatted(block, "\n".join(tables.lines(block)))
            return
        self.table = False
        self.close()
        count = tables.columns(block)
        rows = [
            [_cell(row[at] if at < len(row) else (), head=number == 0) for at in range(count)]
            for number, row in enumerate(block.rows)
        ]
        self.blocks.append({"type": "table", "rows": rows, "column_settings": tables.settings(block)})

    def close(self) -> None:
        """End the rich text that is open."""
        elements = [_element(part) for part in self.parts]
        self.parts = []
        if elements:
            self.blocks.append({"type": "rich_text", "elements": elements})


def _is_continued(container: Container) -> bool:
    return isinstance(container, md.Item) and container.continued


def _alert(quote: md.Quote) -> str:
    return ALERTS.get(quote.alert, quote.alert.capitalize())


def _indent(inside: tuple[Container, ...]) -> str:
    return _INDENT * (sum(isinstance(one, md.Item | md.Note) for one in inside) - 1)


def _indented(inside: tuple[Container, ...], lead: str, spans: list[md.Span]) -> list[md.Span]:
    """Words behind a lead, their other lines below them."""
    under = "\n" + _indent(inside) + _INDENT
    return [md.Span(lead), *(replace(span, text=span.text.replace("\n", under)) for span in spans)]


def _around(inside: tuple[Container, ...]) -> int:
    """Where the container begins that the last one stands in."""
    return inside[-2].at if len(inside) > 1 else _NO_QUOTE


def _element(part: _Part) -> Json:
    if part.kind == "list":
        sections = [{"type": "rich_text_section", "elements": inline(_linked(item))} for item in part.items]
        element: Json = {"type": "rich_text_list", "style": "ordered" if part.ordered else "bullet"}
        if part.indent:
            element["indent"] = part.indent
        if part.ordered and part.first > 1:
            element["offset"] = part.first - 1
        if part.border:
            element["border"] = 1
        return {**element, "elements": sections}
    spans = part.items[0] if part.kind == "preformatted" else _linked(part.items[0])
    element = {"type": f"rich_text_{part.kind}", "elements": inline(spans)}
    return {**element, "border": 1} if part.border else element


def _cell(spans: tuple[md.Span, ...], *, head: bool) -> Json:
    if head:
        spans = tuple(replace(span, style=span.style | md.BOLD) for span in spans)
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": inline(_linked(spans))}]}


def _linked(spans: Sequence[md.Span]) -> list[md.Span]:
    """The same words with bare addresses as links: Slack looks for none in such a text."""
    return [
        replace(span, text=words, link=words if is_link else span.link)
        for span in spans
        for words, is_link in ([(span.text, False)] if span.link or span.style & md.CODE else addresses(span.text))
    ]


def inline(spans: Sequence[md.Span]) -> list[Json]:
    """Runs of text and links. Slack refuses an element without a character."""
    elements: list[Json] = []
    text, style = "", 0
    for at, span in enumerate(spans):
        link = address(span.link) if span.link else ""
        if link:
            if text:
                elements.append(_text(text, style))
            text = ""
            if span.text:
                elements.append(_styled({"type": "link", "url": link, "text": span.text}, span.style))
            continue
        said = span.text
        if span.link and (at + 1 == len(spans) or spans[at + 1].link != span.link) and span.link not in said:
            said += f" ({span.link})"
        if text and span.style != style:
            elements.append(_text(text, style))
            text = ""
        text, style = text + said, span.style
    if text or not elements:
        elements.append(_text(text or " ", style if text else 0))
    return elements


def _text(text: str, style: int) -> Json:
    return _styled({"type": "text", "text": text}, style)


def _styled(element: Json, style: int) -> Json:
    if style:
        element["style"] = {name: True for bit, name in _STYLES if style & bit}
    return element
