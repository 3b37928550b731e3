"""The beginning of a text that is too long, cut where no markup is torn apart."""

from __future__ import annotations

import re
import unicodedata

_FENCE = re.compile(r"(> )?```")
# What Discord reads as one: an escape, code, an address, a masked link, marks.
_TOKEN = re.compile(
    r"\\.|(?P<ticks>`{1,2})(?!`).*?[^`](?P=ticks)(?!`)|<[^\s<>]+>|\[[^\[\]]*\]\(<[^\s<>]*>\)|\*{1,3}|~~|.",
    re.DOTALL,
)
_MORE = "…"
# The longest of: marks of three styles that are still open; the end of a fence in a quotation.
_CLOSING = 8
_JOINERS = "\u200d\ufe0f\ufe0e"


def shorten(text: str, limit: int) -> str:
    """The text itself where it fits, else as many characters of it as do, with a sign that there is more."""
    if len(text) <= limit:
        return text
    room = limit - len(_MORE) - _CLOSING
    kept: list[str] = []
    fence: str | None = None
    for line in text.split("\n"):
        if len(line) + 1 > room:
            break
        if (mark := _FENCE.match(line)) is not None:
            fence = (mark.group(1) or "") if fence is None else None
        kept.append(line)
        room -= len(line) + 1
    if fence is not None and _FENCE.match(line):
        return "\n".join([*kept, line, _MORE])
    if fence is not None:
        part = line[: max(room, len(fence))] if line.startswith(fence) else fence
        return "\n".join([*kept, part + _MORE, fence + "```"])
    part = "" if _FENCE.match(line) else _part(line, room)
    return "\n".join([*kept, part]) if part else "\n".join(kept).rstrip() + _MORE


def _part(line: str, room: int) -> str:
    """The beginning of one line with its marks closed."""
    opened: list[str] = []
    best: tuple[int, str] = (0, "")
    word: tuple[int, str] = (0, "")
    for token in _TOKEN.finditer(line):
        if token.start() > room:
            break
        best = (token.start(), "".join(reversed(opened)))
        text = token.group()
        if text.isspace():
            word = best
        elif text[0] == "*" or text == "~~":
            for mark in ("**", "*") if text == "***" else (text,):
                if mark in opened:
                    opened.remove(mark)
                else:
                    opened.append(mark)
    end, closing = word if word[0] > best[0] * 0.8 else best
    while end and (unicodedata.combining(line[end]) or line[end] in _JOINERS or line[end - 1] in _JOINERS):
        end -= 1
    return line[:end] + _MORE + closing if end else ""
