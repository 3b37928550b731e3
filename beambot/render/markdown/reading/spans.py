"""Runs of words made ready: without blank ends, on one line, parted into footnotes."""

from __future__ import annotations

import re
from typing import overload

from beambot.render.markdown.model import CODE, Note, Span

_NOTE = re.compile(r"(?:^|(?<=\n))\[\^([^\]\s]{1,40})\]:[ \t]*")


def trimmed(spans: list[Span]) -> tuple[Span, ...]:
    """Without blanks at either end, none that is empty, and no two of one style side by side."""
    spans = [span for span in spans if span.text]
    first, last = 0, len(spans)
    while first < last and not spans[first].style & CODE and not spans[first].text.strip():
        first += 1
    while first < last and not spans[last - 1].style & CODE and not spans[last - 1].text.strip():
        last -= 1
    kept: list[Span] = []
    for span in spans[first:last]:
        before = kept[-1] if kept else None
        alike = before is not None and (before.style, before.link) == (span.style, span.link)
        if before is not None and alike and not span.style & CODE:
            kept[-1] = _with(before, before.text + span.text)
        else:
            kept.append(span)
    if kept and not kept[0].style & CODE:
        kept[0] = _with(kept[0], kept[0].text.lstrip())
    if kept and not kept[-1].style & CODE:
        kept[-1] = _with(kept[-1], kept[-1].text.rstrip())
    return tuple(kept)


@overload
def one_line(said: str) -> str: ...
@overload
def one_line(said: tuple[Span, ...]) -> tuple[Span, ...]: ...
def one_line(said: str | tuple[Span, ...]) -> str | tuple[Span, ...]:
    """Where no line may end: in a heading, in a cell, in a piece of code."""
    if isinstance(said, str):
        return said.replace("\n", " ")
    return tuple(_with(span, span.text.replace("\n", " ")) if "\n" in span.text else span for span in said)


def notes(spans: tuple[Span, ...], begin: int) -> list[tuple[Note | None, int, tuple[Span, ...]]]:
    """A paragraph parted where a line begins with the label of a footnote."""
    parts: list[tuple[Note | None, int, list[Span]]] = [(None, begin, [])]
    for number, span in enumerate(spans):
        done = 0
        if "[^" in span.text and not span.style and not span.link:
            for found in _NOTE.finditer(span.text):
                if found.start() == 0 and number and not spans[number - 1].text.endswith("\n"):
                    continue
                if found.start() > done:
                    parts[-1][2].append(_with(span, span.text[done : found.start()].removesuffix("\n")))
                at = begin if number == found.start() == 0 else max(span.at, begin) + found.start()
                parts.append((Note(at, found.group(1)), at, []))
                done = found.end()
        if done < len(span.text):
            parts[-1][2].append(_with(span, span.text[done:]) if done else span)
    return [(note, at, tuple(said)) for note, at, said in parts if said or note is not None]


def _with(span: Span, text: str) -> Span:
    return Span(text, span.style, span.link, span.at)
