"""The beginning of a document, for what is too long in spite of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from beambot.api import markdown as md

MORE = "…"
Drawn = TypeVar("Drawn")


def shortened(
    document: md.Document, room: int, draw: Callable[[md.Document], Drawn], size: Callable[[Drawn], int]
) -> Drawn:
    """As much of a document as takes no more than `room` when it is drawn."""
    count = room
    drawn = draw(head(document, count))
    while (taken := size(drawn)) > room and count > 0:
        count = min(count - 1, count * room * 9 // (taken * 10))
        drawn = draw(head(document, count))
    return drawn


def head(document: md.Document, count: int) -> md.Document:
    """The document itself where it has no more characters than `count`, else its beginning and a sign."""
    kept: list[md.AnyBlock] = []
    for block in document:
        taken = _length(block)
        if taken > count:
            return (*kept, *_beginning(block, count))
        kept.append(block)
        count -= taken
    return document


def _length(block: md.AnyBlock) -> int:
    match block:
        case md.Paragraph(spans=spans) | md.Heading(spans=spans):
            return _spans_length(spans) + 1
        case md.Code(text=text):
            return len(text) + 1
        case md.Table(rows=rows):
            return sum(_row_length(row) for row in rows)
        case md.Rule():
            return 1


def _spans_length(spans: tuple[md.Span, ...]) -> int:
    return sum(len(span.text) + len(span.link) for span in spans)


def _row_length(row: tuple[tuple[md.Span, ...], ...]) -> int:
    return sum(_spans_length(cell) + 1 for cell in row)


def _beginning(block: md.AnyBlock, count: int) -> md.Document:
    more = md.Paragraph((md.Span(MORE),), inside=block.inside, at=block.at, end=block.end)
    match block:
        case md.Paragraph(spans=spans) | md.Heading(spans=spans):
            return (replace(block, spans=_first(spans, count)),)
        case md.Code(text=text):
            return (replace(block, text=text[:count] + MORE),) if count > 0 else (more,)
        case md.Table(rows=rows):
            kept: list[tuple[tuple[md.Span, ...], ...]] = []
            for row in rows:
                count -= _row_length(row)
                if count < 0:
                    break
                kept.append(row)
            return (replace(block, rows=tuple(kept)), more) if kept else (more,)
        case md.Rule():
            return (more,)


def _first(spans: tuple[md.Span, ...], count: int) -> tuple[md.Span, ...]:
    kept: list[md.Span] = []
    for span in spans:
        room = count - len(span.link)
        if len(span.text) > room:
            kept += [replace(span, text=span.text[:room])] if room > 0 else []
            break
        kept.append(span)
        count = room - len(span.text)
    return (*kept, md.Span(MORE))
