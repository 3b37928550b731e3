"""What an agent's markdown says, as a flat list of blocks. Each block carries the containers it stands in.

Flat, because that is how chats show it: a block can be put on the next page without anything being reopened.
`at` and `end` are places in the source, in characters.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

BOLD, ITALIC, STRIKE, CODE = 1, 2, 4, 8
Align = Literal["", "left", "center", "right"]


class Span(Struct, frozen=True):
    """A run of characters of one style. A line break is a "\\n" in its text; no span has one inside of code."""

    text: str
    style: int = 0
    link: str = ""
    at: int = 0


class Quote(Struct, frozen=True):
    """Inside a quotation; `alert` is its kind where it has one: note, tip, important, warning or caution."""

    at: int
    alert: str = ""


class Item(Struct, frozen=True):
    """Inside a list item. `number` for a numbered list, `done` for a task; `at` tells two items apart.

    `continued`: its marker stands on an earlier page.
    """

    at: int
    number: int | None = None
    done: bool | None = None
    continued: bool = False


class Note(Struct, frozen=True):
    """Inside the text of a footnote."""

    at: int
    label: str


Container = Quote | Item | Note


class Block(Struct, frozen=True, kw_only=True):
    """What every block shares."""

    inside: tuple[Container, ...] = ()
    at: int = 0
    end: int = 0


class Paragraph(Block, frozen=True):
    """Words."""

    spans: tuple[Span, ...]


class Heading(Block, frozen=True):
    """A heading of level 1 to 6."""

    level: int
    spans: tuple[Span, ...]


class Code(Block, frozen=True):
    """Lines as they are, without the last line break."""

    text: str
    language: str = ""


class Table(Block, frozen=True):
    """Rows of cells, the first row is the head."""

    align: tuple[Align, ...]
    rows: tuple[tuple[tuple[Span, ...], ...], ...]


class Rule(Block, frozen=True):
    """A line across."""


AnyBlock = Paragraph | Heading | Code | Table | Rule
Document = tuple[AnyBlock, ...]


def shared(before: AnyBlock | None, block: AnyBlock) -> int:
    """How many of a block's containers were already open in the block before it."""
    count = 0
    if before is not None:
        for one, other in zip(before.inside, block.inside, strict=False):
            if one.at != other.at or type(one) is not type(other):
                break
            count += 1
    return count


def words(spans: tuple[Span, ...]) -> str:
    """Spans without their style."""
    return "".join(span.text for span in spans)
