"""In what a block stands, said again with nothing to show, so that the text behind it means the same."""

from __future__ import annotations

import re

from msgspec import Struct

from beambot.render.markdown.model import AnyBlock, Item, Quote

_MARKER = re.compile(r"(?:[-*+]|(\d{1,9})[.)])(?:[ \t]{1,4}(?![ \t])|[ \t])?")
# A list that takes more than this to say again is not worth it.
_LONGEST = 500


class Context(Struct, frozen=True):
    """What opens again the containers of a block, each item with a hidden dot in it.

    `items` are the list items, `apart` the same with an empty line behind. `lead` opens everything up to a
    paragraph's first word; `rest` stands in front of every further line.
    """

    items: str = ""
    apart: str = ""
    lead: str = ""
    rest: str = ""


def context(head: str, block: AnyBlock) -> Context:
    """The containers of a block that stands in the text before a cut."""
    lines: list[str] = []
    quotes = 0
    before, done = -1, 0
    for container in block.inside:
        if isinstance(container, Quote):
            quotes += 1
        found = _MARKER.match(head, container.at) if isinstance(container, Item) else None
        if found is None or not isinstance(container, Item):
            continue
        quotes = 0
        start = head.rfind("\n", 0, container.at) + 1
        marker = found.group() if found.group()[-1] in " \t" else found.group() + " "
        lead = lines.pop() + head[done : container.at] if start == before and lines else head[start : container.at]
        lines += _numbered(lead, marker, found.group(1), container.number)
        before, done = start, found.end()
    lines = _merged(lines)
    items = "".join(f"{line}.\n" for line in lines)
    if len(items) > _LONGEST:
        return Context()
    outer = lines[-1] if lines else ""
    lead = "".join(f"{line}.\n" for line in lines[:-1]) + outer + "> " * quotes
    rest = "".join(char if char in ">\t" else " " for char in outer) + "> " * quotes
    empty = "".join(char if char == ">" else " " for char in outer).rstrip()
    return Context(items, f"{items}{empty}\n" if items else "", lead, rest)


def _numbered(lead: str, marker: str, digits: str | None, number: int | None) -> list[str]:
    """An item's own number; where that needs more digits than were written, the item before it says it."""
    if digits is None or number is None or int(digits) == number:
        return [lead + marker]
    if len(str(number)) <= len(digits):
        return [lead + str(number).rjust(len(digits), "0") + marker[len(digits) :]]
    indent = "".join(char if char in ">\t" else " " for char in lead)
    return [f"{lead}{number - 1}{marker[len(digits)]} ", indent + marker]


def _merged(lines: list[str]) -> list[str]:
    """Items that begin where the words of the one before begin share its line."""
    merged: list[str] = []
    for line in lines:
        size = len(merged[-1]) if merged else 0
        outer = "".join(char if char in ">\t" else " " for char in merged[-1]) if merged else ""
        if merged and line[:size] == outer and line[size : size + 1] not in ("", " ", "\t"):
            merged[-1] += line[size:]
        else:
            merged.append(line)
    return merged
