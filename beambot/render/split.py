"""Where a text may be cut so that it fits, counted in the platform's own unit."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

Unit = Literal["characters", "utf16", "bytes"]
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n`]*)$", re.MULTILINE)
_MARKS = re.compile(r" {0,3}(?:```|~~~)")
# A wider fence, or a longer name of a language, is a text that happens to look like one.
_WIDEST = 40
_ZWJ = "\u200d"


def measure(text: str, unit: Unit) -> int:
    """How long the platform says it is."""
    if unit == "characters":
        return len(text)
    if unit == "utf16":
        return len(text.encode("utf-16-le", "surrogatepass")) // 2
    return len(text.encode("utf-8", "surrogatepass"))


def fit(text: str, room: int, unit: Unit) -> int:
    """The most characters of the text that fit, never half of what a person sees as one character."""
    room = max(room, 0)
    if unit == "characters":
        count = min(len(text), room)
    elif unit == "utf16":
        count = _count(text[: room + 1], "utf-16-le", room * 2)
    else:
        count = _count(text[: room + 1], "utf-8", room)
    return _whole_grapheme(text, count)


def _count(text: str, encoding: str, size: int) -> int:
    data = text.encode(encoding, "surrogatepass")
    if len(data) <= size:
        return len(text)
    if encoding == "utf-8":
        while size and data[size] & 0xC0 == 0x80:
            size -= 1
    elif size and data[size - 1] & 0xFC == 0xD8 and data[size + 1] & 0xFC == 0xDC:
        size -= 2
    return len(data[:size].decode(encoding, "surrogatepass"))


def cut(text: str, room: int, unit: Unit) -> int:
    """The best place to cut within the room: after a paragraph, a line, a word, else a character."""
    end = fit(text, room, unit)
    if end >= len(text):
        return len(text)
    for boundary, share in (("\n\n", 0.5), ("\n", 0.4), (" ", 0.3)):
        at = text.rfind(boundary, 0, end)
        if at >= end * share:
            return _before_marks(text, at + len(boundary))
    return _before_marks(text, max(end, 1))


def _before_marks(text: str, end: int) -> int:
    """A line that opens or closes a fence is not cut in two, unless it is all there is."""
    line = text.rfind("\n", 0, end) + 1
    return line if 0 < line < end and _MARKS.match(text, line) else end


def open_fence(text: str, fence: str = "") -> str:
    """The opening line of the fence in which the text ends, or nothing. `fence` is the one it began in."""
    for match in _FENCE.finditer(text):
        marks, info = match.group(1), match.group(2)
        if not fence and len(marks) <= _WIDEST:
            fence = marks + "".join(info.split()[:1])[:_WIDEST]
        elif fence and marks[0] == fence[0] and len(marks) >= _width(fence) and not info.strip():
            fence = ""
    return fence


def closing(fence: str) -> str:
    """The line that closes it."""
    return fence[: _width(fence)]


def _width(fence: str) -> int:
    return len(fence) - len(fence.lstrip(fence[0]))


def _whole_grapheme(text: str, count: int) -> int:
    if count >= len(text):
        return count
    start = count
    while count > 0 and (_joins(text[count]) or text[count - 1] == _ZWJ):
        count -= 1
    return count or start


def _joins(char: str) -> bool:
    return (
        char == _ZWJ
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\udc00" <= char <= "\udfff"
        or unicodedata.category(char).startswith("M")
    )
