"""An agent's markdown as text with entities: everything a message of 4096 units can show."""

from __future__ import annotations

import re

from msgspec.structs import replace

from beambot.api import markdown as md
from platforms.telegram.drawing.canvas import UNDERLINE, Canvas, Formatted
from platforms.telegram.drawing.spans import ALERTS, code_lines, hides_links, one_line, pieces

RULE = "──────────"
# A table that is wider wraps on most screens, and is told row by row.
_WIDEST = 55
_INDENT = 4
# Telegram makes a link of such an address by itself.
_OBVIOUS = re.compile(r"https?://[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?:/[A-Za-z0-9/._~%-]*)?(?<=[A-Za-z0-9/])")


def render(document: md.Document, *, folded: bool = False, under: str = "") -> Formatted:
    """The whole document; `folded` to be opened by a tap, `under` the title of who says it."""
    canvas = Canvas()
    if not document:
        return canvas.finish()
    if title := one_line(under):
        canvas.write(title, md.ITALIC)
        canvas.write("\n")
    start = canvas.length
    _Drawing(canvas, quoted=folded or bool(title)).draw(document)
    if folded or title:
        canvas.mark("expandable_blockquote" if folded else "blockquote", start)
    return canvas.finish()


class _Drawing:
    """Draws blocks under each other. Quotations cannot stand in each other, so the outermost is the one shown."""

    def __init__(self, canvas: Canvas, *, quoted: bool) -> None:
        self.canvas = canvas
        self.quoted = quoted
        self.quote = -1
        self.quote_start = 0

    def draw(self, document: md.Document) -> None:
        before: md.AnyBlock | None = None
        for block in document:
            known = md.shared(before, block)
            first, rest = md.leads(before, block, indent=_INDENT)
            alerts = [
                ALERTS[c.alert] for c in block.inside[known:] if isinstance(c, md.Quote) and c.alert in ALERTS
            ]
            if isinstance(block, md.Code) and not block.text.strip() and not first.strip() and not alerts:
                continue
            quote = next((c.at for c in block.inside if isinstance(c, md.Quote)), -1)
            if quote != self.quote:
                self._end_quote()
            if before is not None:
                self.canvas.write("\n\n" if md.is_apart(before, block) else "\n")
            if quote != self.quote:
                self.quote, self.quote_start = quote, self.canvas.length
            if quote >= 0:
                outer = _outer(block)
                first, rest = first.removeprefix(outer), rest.removeprefix(outer)
            for alert in alerts:
                self.canvas.write(alert, md.BOLD)
                self.canvas.write("\n")
            self._block(block, first, rest)
            before = block
        self._end_quote()

    def _end_quote(self) -> None:
        if self.quote >= 0 and not self.quoted:
            self.canvas.mark("blockquote", self.quote_start)
        self.quote = -1

    def _block(self, block: md.AnyBlock, first: str, rest: str) -> None:
        match block:
            case md.Paragraph(spans=spans):
                self.canvas.write(first)
                self._spans(spans, rest)
            case md.Heading(spans=spans, level=level):
                self.canvas.write(first)
                self._spans(spans, rest, md.BOLD | UNDERLINE if level == 1 else md.BOLD)
            case md.Code(text=text, language=language):
                self._lines(code_lines(text), first, language)
            case md.Table():
                self._table(block, first, rest)
            case md.Rule():
                self.canvas.write(first + RULE)

    def _spans(self, spans: tuple[md.Span, ...], rest: str, style: int = 0) -> None:
        for text, own, link in pieces(spans):
            if rest and "\n" in text:
                text = text.replace("\n", "\n" + rest)
            self.canvas.write(text, own | style, "" if link == text and _OBVIOUS.fullmatch(link) else link)

    def _lines(self, text: str, first: str, language: str = "") -> None:
        """Lines in a box of their own, which cannot be indented: a marker stands in the line above."""
        if first.strip():
            self.canvas.write(first.rstrip() + ("\n" if text else ""))
        if text:
            self.canvas.preformatted(text, language)

    def _table(self, table: md.Table, first: str, rest: str) -> None:
        lines = md.columns(table)
        if max(map(md.width, lines), default=0) <= _WIDEST and not hides_links(table):
            self._lines("\n".join(lines).rstrip(), first)
        else:
            self._rows(table, first, rest)

    def _rows(self, table: md.Table, first: str, rest: str) -> None:
        """Row by row, each cell behind the name of its column."""
        head, *rows = table.rows
        if not rows:
            rows, head = [head], ()
        self.canvas.write(first)
        for number, row in enumerate(rows):
            lead = (("\n" + rest) if number else "") + "• "
            for at in range(max(len(row), len(head))):
                cell = row[at] if at < len(row) else ()
                name = head[at] if at < len(head) else ()
                if not cell and not name:
                    continue
                self.canvas.write(lead)
                lead = f"\n{rest}  "
                if name:
                    self._spans(name, "")
                    self.canvas.write(": ")
                self._spans(cell, rest + "  ") if cell else self.canvas.write("–")


def _outer(block: md.AnyBlock) -> str:
    """The indent of the items around a quotation, which is left out: its own form sets it apart."""
    depth = next(at for at, one in enumerate(block.inside) if isinstance(one, md.Quote))
    around = replace(block, inside=block.inside[:depth])
    return md.leads(around, around, indent=_INDENT)[1]
