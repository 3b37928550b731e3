"""Markdown to blocks. The parser is pulldown-cmark; what it would change or drop of a text is put back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, cast

from pyromark import Options, events_with_range

from beambot.model.encoding import well_formed
from beambot.render.markdown.clean import clean
from beambot.render.markdown.heal import heal
from beambot.render.markdown.model import (
    BOLD,
    CODE,
    ITALIC,
    STRIKE,
    Align,
    AnyBlock,
    Code,
    Container,
    Document,
    Heading,
    Item,
    Paragraph,
    Quote,
    Rule,
    Span,
    Table,
)
from beambot.render.markdown.reading.links import destination, is_deceptive, spelled
from beambot.render.markdown.reading.names import is_escape, is_markup
from beambot.render.markdown.reading.spans import notes, one_line, trimmed
from beambot.render.markdown.reading.standins import stand_in

_OPTIONS = Options.ENABLE_TABLES | Options.ENABLE_STRIKETHROUGH | Options.ENABLE_TASKLISTS | Options.ENABLE_GFM
_STYLES = {"Emphasis": (ITALIC, 1), "Strong": (BOLD, 2), "Strikethrough": (STRIKE, 2)}
_FENCE = re.compile(r"(`{3,}|~{3,})([^\r\n]*)")
# "{.python}" and "js{1,3}" name a language too; what is no name is no language.
_LANGUAGE = re.compile(r"\w[\w+#.-]{0,39}")
_SPACE = re.compile(r"\s*")
_NUMBER = re.compile(r"\d{1,9}")
_TICKS = re.compile(r"`*")
_PICTURE = "🖼 "


@lru_cache(maxsize=256)
def parse(text: str, skip: int = 0, growing: bool = False) -> Document:
    """The blocks of a text. The first `skip` characters only say in what it stands, and are not shown.

    With `growing` its end is unfinished: what is half written is completed or left out for now.
    """
    text = well_formed(text)
    return _Reader(heal(text) if growing else text, skip).read()


class _Reader:
    """Reads one text once."""

    def __init__(self, text: str, skip: int) -> None:
        self.source, self.stands = stand_in(text)
        self.skip = skip
        self.data = b"" if self.source.isascii() else self.source.encode()
        self.byte = self.char = 0
        self.blocks: list[AnyBlock] = []
        self.inside: list[Container] = []
        self.numbers: list[int | None] = []
        # The words of the block that is open: finished spans, and the run of one style that still grows.
        self.spans: list[Span] | None = None
        self.run: list[str] = []
        self.run_style, self.run_link, self.run_at = 0, "", 0
        self.begin = self.pos = self.covered = 0
        self.style, self.link = 0, ""
        # For each inline mark that is open: the style and link around it, and what its end has to put back.
        self.open: list[tuple[int, str, int, int, str]] = []
        self.level = 0
        self.code: list[str] | None = None
        self.rows: list[tuple[tuple[Span, ...], ...]] = []
        self.row: list[tuple[Span, ...]] = []
        self.align: tuple[Align, ...] | None = None

    def read(self) -> Document:
        events = cast(Iterator[tuple[Any, dict[str, int]]], events_with_range(self.source, options=_OPTIONS))
        for event, place in events:
            at, end = self._at(place["start"]), place["end"]
            if type(event) is str:
                self._mark(event, at, self._at(end))
                continue
            ((kind, value),) = event.items()
            if kind == "Text":
                self._text(value, at, self._at(end))
            elif kind == "Start":
                tag, detail = next(iter(value.items())) if type(value) is dict else (value, None)
                self._start(tag, detail, at, end)
            elif kind == "End":
                self._end(next(iter(value)) if type(value) is dict else value, self._at(end))
            elif kind == "Code":
                self._code_span(value, at, self._at(end))
            elif kind == "TaskListMarker":
                item = self.inside[-1]
                assert isinstance(item, Item)
                self.inside[-1] = Item(item.at, item.number, value, item.continued)
                self.pos = self._at(end)
            else:
                self._leaf(value, at, self._at(end))
        return tuple(self.blocks)

    def _at(self, byte: int) -> int:
        """The parser counts bytes; texts are cut in characters."""
        if not self.data:
            return byte
        if byte == self.byte:
            return self.char
        if byte > self.byte:
            self.char += len(self.data[self.byte : byte].decode("utf-8", "replace"))
        else:
            self.char -= len(self.data[byte : self.byte].decode("utf-8", "replace"))
        self.byte = byte
        return self.char

    def _said(self, text: str) -> str:
        """Words as they were written, and safe to show."""
        return clean(text.translate(self.stands) if self.stands else text)

    # ── characters ───────────────────────────────────────────────────────────────────────────────

    def _mark(self, kind: str, at: int, end: int) -> None:
        if kind != "Rule":
            self._leaf("\n", at, end)
            return
        self._flush(at)
        if at >= self.skip:
            self.blocks.append(Rule(inside=tuple(self.inside), at=at, end=end))

    def _text(self, text: str, at: int, end: int) -> None:
        if self.code is not None:
            if end > self.skip:
                self.code.append(text if at >= self.skip else text[self.skip - end :])
            return
        if at == self.pos + 1 and self.source[self.pos] == "\\" and not is_escape(self.source, self.pos):
            text, at = "\\" + text, self.pos
        self._leaf(text, at, end)

    def _code_span(self, text: str, at: int, end: int) -> None:
        self._open_spans(at)
        ticks = _TICKS.match(self.source, at)
        self._leaf(one_line(self._said(text)), at + len(ticks.group() if ticks else ""), end, CODE)

    def _leaf(self, text: str, at: int, end: int, style: int = 0) -> None:
        if self.spans is None:
            self._open_spans(at)
        self.pos = end
        if at < self.skip and self.align is None:
            if end <= self.skip:
                return
            text, at = text[self.skip - at :], self.skip
        style |= self.style
        if self.run and (style & CODE or self.run_style != style or self.run_link != self.link):
            self._end_run()
        if not self.run:
            self.run_style, self.run_link, self.run_at = style, self.link, at
        self.run.append(text)

    def _end_run(self) -> None:
        if self.run:
            assert self.spans is not None
            self.spans.append(Span(self._said("".join(self.run)), self.run_style, self.run_link, self.run_at))
            self.run = []

    def _open_spans(self, at: int) -> None:
        if self.spans is None:
            self.spans, self.run, self.begin = [], [], at

    # ── beginnings and ends ──────────────────────────────────────────────────────────────────────

    def _start(self, tag: str, detail: Any, at: int, end: int) -> None:
        if tag in _STYLES:
            self._start_style(tag, at, end)
        elif tag in ("Link", "Image"):
            self._start_link(tag, detail, at)
        elif tag == "TableCell":
            self.spans, self.run = [], []
        elif tag == "TableRow":
            self.row = []
        elif tag == "Table":
            self._flush(at)
            self.begin, self.rows, self.row = at, [], []
            self.align = tuple(cast(Align, "" if a == "None" else a.lower()) for a in detail)
        elif tag != "TableHead":
            self._flush(at)
            self._start_block(tag, detail, at)

    def _start_block(self, tag: str, detail: Any, at: int) -> None:
        if tag == "CodeBlock":
            self.code, self.begin = [], at
        elif tag == "BlockQuote":
            self.inside.append(Quote(at, (detail or "").lower()))
        elif tag == "List":
            self.numbers.append(None if detail is None else detail - 1)
        elif tag == "Item":
            self._start_item(at)
        else:
            self._open_spans(at)
            self.level = int(detail["level"][1]) if tag == "Heading" else 0
        self.pos = at

    def _start_item(self, at: int) -> None:
        """A list counts on where it says the same number again, and follows where it leaves some out."""
        space = _SPACE.match(self.source, at)
        at = space.end() if space else at
        number = self.numbers[-1]
        if number is not None:
            written = _NUMBER.match(self.source, at)
            number = max(number + 1, int(written.group()) if written else 0)
            self.numbers[-1] = number
        self.inside.append(Item(at, number, continued=at < self.skip))

    def _end(self, tag: str, end: int) -> None:
        if tag in _STYLES or tag in ("Link", "Image"):
            self._end_inline(end)
        elif tag == "TableCell":
            self._end_run()
            self.row.append(one_line(trimmed(self.spans or [])))
            self.spans, self.covered = None, end
        elif tag in ("TableHead", "TableRow"):
            self._end_row(end)
        elif tag == "Table":
            assert self.align is not None
            inside = tuple(self.inside)
            self.blocks.append(Table(self.align, tuple(self.rows), inside=inside, at=self.begin, end=end))
            self.align = None
        elif tag == "CodeBlock":
            self._end_code(end)
        elif tag in ("Item", "BlockQuote"):
            self._end_container(end)
        else:
            self._flush(end, heading=self.level if tag == "Heading" else 0)
            if tag == "List":
                self.numbers.pop()

    def _end_container(self, end: int) -> None:
        """An item with nothing in it is still an item; so is a warning."""
        self._flush(end)
        container = self.inside[-1]
        shown = isinstance(container, Item) or (isinstance(container, Quote) and container.alert)
        if shown and container.at >= self.skip and not any(block.at >= container.at for block in self.blocks[-1:]):
            self.blocks.append(Paragraph((), inside=tuple(self.inside), at=container.at, end=end))
        self.inside.pop()

    def _end_code(self, end: int) -> None:
        assert self.code is not None
        text, self.code = "".join(self.code), None
        fence = _FENCE.match(self.source, self.begin)
        named = _LANGUAGE.search(self._said(fence.group(2)).lstrip().split(" ")[0]) if fence else None
        if text or self.begin >= self.skip:
            said = self._said(text).removesuffix("\n")
            language, inside = named.group() if named else "", tuple(self.inside)
            self.blocks.append(Code(said, language, inside=inside, at=self.begin, end=end))

    def _end_row(self, end: int) -> None:
        """Cells beyond the last column would be dropped: they go into the last one, as written."""
        rest = self.source[self.covered : end].strip().strip("|").strip()
        if rest and self.row:
            self.row[-1] = (*self.row[-1], Span(one_line(self._said(f" | {rest}")), 0, "", self.covered))
        self.rows.append(tuple(self.row))
        self.row = []

    # ── inline markup ────────────────────────────────────────────────────────────────────────────

    def _start_style(self, tag: str, at: int, byte: int) -> None:
        bit, width = _STYLES[tag]
        if tag == "Strikethrough" and self.source[at : at + 2] != "~~":
            width = 1
        marks = self.source[at : at + width]
        self._open_spans(at)
        if is_markup(self.source, at, self._at(byte), marks):
            self.open.append((self.style, self.link, 0, -1, ""))
            self.style |= bit
            self.pos = at + width
        else:
            self.open.append((self.style, self.link, width, -1, ""))
            self._leaf(marks, at, at + width)

    def _start_link(self, tag: str, detail: Any, at: int) -> None:
        kind = detail["link_type"]
        target = self._said(detail["dest_url"])
        link = destination(target, email=kind == "Email")
        self._open_spans(at)
        if kind == "Autolink" and not link:
            # A type in angle brackets, a scheme no chat should follow: both are shown as written.
            self.open.append((self.style, self.link, 1, -1, ""))
            self._leaf("<", at, at + 1)
            return
        self._end_run()
        assert self.spans is not None
        self.open.append((self.style, self.link, 0, len(self.spans), target))
        self.link = self.link or link
        self.pos = at + (2 if tag == "Image" else 1)
        if tag == "Image":
            self._leaf(_PICTURE, at, self.pos)

    def _end_inline(self, end: int) -> None:
        style, link, literal, first, target = self.open.pop()
        if literal:
            self._leaf(self.source[end - literal : end], end - literal, end)
        elif first >= 0:
            self._end_link(first, target, end, link)
        self.style, self.link, self.pos = style, link, end

    def _end_link(self, first: int, target: str, end: int, outer: str) -> None:
        """A link that says one place and leads to another says both; so does one that leads to a file."""
        self._end_run()
        assert self.spans is not None
        label = "".join(span.text for span in self.spans[first:])
        here = self.link
        if not label.strip(_PICTURE):
            self._leaf(spelled(target), self.pos, end)
        elif (not here and target not in label) or (here and is_deceptive(label, target)):
            self.link = outer
            self._leaf(f" ({spelled(target)})", max(end - 1, self.skip), end)
        self._end_run()

    # ── blocks ───────────────────────────────────────────────────────────────────────────────────

    def _flush(self, end: int, heading: int = 0) -> None:
        """The words that are open become a block."""
        if self.spans is None:
            return
        self._end_run()
        spans, self.spans = trimmed(self.spans), None
        inside = tuple(self.inside)
        if not spans:
            return
        while end > self.begin and self.source[end - 1].isspace():
            end -= 1
        if heading:
            self.blocks.append(Heading(heading, one_line(spans), inside=inside, at=self.begin, end=end))
            return
        parts = notes(spans, self.begin)
        ends = [*(at for _, at, _ in parts[1:]), end]
        for (note, at, said), until in zip(parts, ends, strict=True):
            around = inside if note is None else (*inside, note)
            self.blocks.append(Paragraph(said, inside=around, at=at, end=until))
