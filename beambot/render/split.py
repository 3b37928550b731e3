"""Where a text may be cut so that it fits, counted in the platform's own unit."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

Unit = Literal["characters", "utf16", "bytes"]
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n`]*)$", re.MULTILINE)
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
    if unit == "characters":
        count = min(len(text), room)
    elif unit == "utf16":
        count = len(text.encode("utf-16-le", "surrogatepass")[: room * 2].decode("utf-16-le", "ignore"))
    else:
        count = len(text.encode("utf-8", "surrogatepass")[:room].decode("utf-8", "ignore"))
    return _whole_grapheme(text, count)


def cut(text: str, room: int, unit: Unit) -> int:
    """The best place to cut within the room: after a paragraph, a line, a word, else a character."""
    end = fit(text, room, unit)
    if end >= len(text):
        return len(text)
    for boundary, share in (("\n\n", 0.5), ("\n", 0.4), (" ", 0.3)):
        at = text.rfind(boundary, 0, end)
        if at >= end * share:
            return at + len(boundary)
    return max(end, 1)


def open_fence(text: str, fence: str = "") -> str:
    """The opening line of the fence in which the text ends, or nothing. `fence` is the one it began in."""
    for match in _FENCE.finditer(text):
        marks, info = match.group(1), match.group(2)
        if not fence:
            fence = marks + info.rstrip()
        elif marks[0] == fence[0] and len(marks) >= _width(fence) and not info.strip():
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
        or "\ufe00" <= char <= "\ufe0f"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or unicodedata.combining(char) != 0
    )
