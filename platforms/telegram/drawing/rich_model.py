"""The blocks of a rich message as the Bot API names them (10.2 and later, InputRichBlock and RichText)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct


class Styled(Struct, frozen=True, omit_defaults=True):
    """Text in one style; `url` for a link."""

    type: Literal["bold", "italic", "strikethrough", "code", "url"]
    text: RichText
    url: str = ""


RichText = str | Styled | list["str | Styled"]


class RichBlock(Struct, tag_field="type", omit_defaults=True):
    """What every block shares."""


class Paragraph(RichBlock, tag="paragraph"):
    """Words."""

    text: RichText


class Heading(RichBlock, tag="heading"):
    """A heading; 1 is the largest size, 6 the smallest."""

    text: RichText
    size: int


class Preformatted(RichBlock, tag="pre"):
    """Lines as they are."""

    text: str
    language: str = ""


class Divider(RichBlock, tag="divider"):
    """A line across."""


class Footer(RichBlock, tag="footer"):
    """A quiet last line."""

    text: RichText


class Quotation(RichBlock, tag="blockquote"):
    """Blocks that are quoted."""

    blocks: list[RichBlock]


class Details(RichBlock, tag="details"):
    """Blocks that are opened by a tap on their summary."""

    summary: RichText
    blocks: list[RichBlock]


class ListItem(Struct, omit_defaults=True):
    """One item; `value` is its number in a numbered list."""

    blocks: list[RichBlock]
    has_checkbox: bool = False
    is_checked: bool = False
    value: int | None = None
    type: str = ""


class List(RichBlock, tag="list"):
    """Items of one list."""

    items: list[ListItem]


class Cell(Struct, omit_defaults=True):
    """One cell of a table; without a text it would not be drawn."""

    text: RichText
    align: Literal["left", "center", "right"]
    valign: Literal["top", "middle", "bottom"]
    is_header: bool = False


class Table(RichBlock, tag="table"):
    """Rows of cells."""

    cells: list[list[Cell]]
    is_bordered: bool = False


def size(blocks: Sequence[RichBlock]) -> tuple[int, int]:
    """How many characters blocks have, and how many blocks, items and rows they count for."""
    length = count = 0
    for block in blocks:
        count += 1
        more: tuple[int, int] = (0, 0)
        match block:
            case Paragraph(text=text) | Heading(text=text) | Footer(text=text):
                length += _length(text)
            case Preformatted(text=text):
                length += len(text)
            case Quotation(blocks=inner):
                more = size(inner)
            case Details(summary=summary, blocks=inner):
                length += _length(summary)
                more = size(inner)
            case List(items=items):
                count += len(items)
                more = size([one for item in items for one in item.blocks])
            case Table(cells=cells):
                count += len(cells)
                length += sum(_length(cell.text) for row in cells for cell in row)
        length, count = length + more[0], count + more[1]
    return length, count


def _length(text: RichText) -> int:
    if isinstance(text, str):
        return len(text)
    return _length(text.text) if isinstance(text, Styled) else sum(map(_length, text))
