"""Tables: one a message is a real one, where it keeps Slack's limits; any other is lines of a monospaced face."""

from __future__ import annotations

from typing import Any

from beambot.api import markdown as md
from platforms.slack.harmless import addresses

Json = dict[str, Any]

ROWS, COLUMNS = 100, 20
# Of all cells of a message together, as Slack counts them: "&", "<" and ">" as entities.
CHARACTERS = 10_000
# Wider lines than this are not padded: one long cell would make every row as long.
_WIDEST = 160
_ALIGN = {"": "left", "left": "left", "center": "center", "right": "right"}


def is_real(table: md.Table) -> bool:
    """Whether Slack takes it as a table."""
    width = columns(table)
    if not (table.rows and 0 < width <= COLUMNS and len(table.rows) <= ROWS):
        return False
    return characters(table) <= CHARACTERS


def columns(table: md.Table) -> int:
    """How many it has."""
    return max((len(row) for row in table.rows), default=0)


def characters(table: md.Table) -> int:
    """What its cells hold; an empty one holds a blank."""
    empty = sum(columns(table) - len(row) for row in table.rows)
    return empty + sum(max(_counted(cell), 1) for row in table.rows for cell in row)


def _counted(cell: tuple[md.Span, ...]) -> int:
    return sum(escaped_length(span.text) + escaped_length(span.link or _bare(span)) for span in cell)


def _bare(span: md.Span) -> str:
    """The addresses among the words, which become links."""
    if span.style & md.CODE or "://" not in span.text:
        return ""
    return "".join(words for words, is_link in addresses(span.text) if is_link)


def escaped_length(text: str) -> int:
    """How long Slack finds a text: it counts "&", "<" and ">" as the entities it keeps them as."""
    return len(text) + 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))


def settings(table: md.Table) -> list[Json]:
    """How each column is aligned; long cells wrap."""
    align = (*table.align, *[""] * COLUMNS)[: columns(table)]
    return [{"align": _ALIGN[side], "is_wrapped": True} for side in align]


def lines(table: md.Table) -> list[str]:
    """The table in columns, or without padding where those would be too wide. Links show where they lead."""
    rows = tuple(tuple((md.Span(md.plain_spans(cell)),) for cell in row) for row in table.rows)
    widest = [0] * columns(table)
    for row in rows:
        for at, cell in enumerate(row):
            widest[at] = max(widest[at], md.width(cell[0].text))
    if sum(widest) + 3 * len(widest) <= _WIDEST:
        return md.columns(md.Table(table.align, rows))
    return [" │ ".join(cell[0].text.replace("\n", " ") for cell in row) for row in rows]
