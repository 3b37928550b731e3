"""Blocks as lines of plain text, and tables in columns: what is left where a chat takes no markup."""

from __future__ import annotations

import unicodedata

from beambot.render.markdown.model import (
    AnyBlock,
    Code,
    Document,
    Heading,
    Item,
    Note,
    Paragraph,
    Quote,
    Rule,
    Span,
    Table,
    shared,
    words,
)

_ZERO = ("Mn", "Me", "Cf")
# Behind a sign of one column it asks for the picture, which takes two.
_EMOJI_FORM = "\ufe0f"


def plain(document: Document) -> str:
    """The whole document, with nothing but characters to shape it."""
    lines: list[str] = []
    before: AnyBlock | None = None
    for block in document:
        if before is not None and is_apart(before, block):
            lines.append(_between(before, block))
        lines += _alerts(before, block)
        first, rest = leads(before, block, quote="> ")
        text = plain_block(block).split("\n")
        lines.append(first + text[0])
        lines += [(rest + line).rstrip() for line in text[1:]]
        before = block
    return "\n".join(lines)


def _between(before: AnyBlock, block: AnyBlock) -> str:
    """An empty line, in the quotation it stands in."""
    inside = block.inside[: shared(before, block)]
    return "".join("> " if isinstance(container, Quote) else "  " for container in inside).rstrip()


def _alerts(before: AnyBlock | None, block: AnyBlock) -> list[str]:
    """The kind of each alert that begins with this block."""
    lines: list[str] = []
    for depth in range(shared(before, block), len(block.inside)):
        container = block.inside[depth]
        if isinstance(container, Quote) and container.alert:
            around = Paragraph((), inside=block.inside[: depth + 1])
            lines.append(leads(before, around, quote="> ")[1] + container.alert.capitalize())
    return lines


def plain_block(block: AnyBlock) -> str:
    """One block without its containers."""
    match block:
        case Paragraph(spans=spans) | Heading(spans=spans):
            return plain_spans(spans)
        case Code(text=text):
            return text
        case Table():
            return "\n".join(columns(block))
        case Rule():
            return "———"


def plain_spans(spans: tuple[Span, ...]) -> str:
    """Words, each link with its address behind it."""
    out: list[str] = []
    label = ""
    for at, span in enumerate(spans):
        out.append(span.text)
        if not span.link:
            label = ""
            continue
        label += span.text
        follows = spans[at + 1] if at + 1 < len(spans) else Span("")
        if follows.link != span.link:
            if span.link.removeprefix("mailto:") not in label and not follows.text.startswith(f" ({span.link})"):
                out.append(f" ({span.link})")
            label = ""
    return "".join(out)


def is_apart(before: AnyBlock, block: AnyBlock) -> bool:
    """Whether a blank line stands between two blocks: not within a list, not between lines of footnotes."""
    one = before.inside[0] if before.inside else None
    other = block.inside[0] if block.inside else None
    both_items = isinstance(one, Item) and isinstance(other, Item)
    both_notes = isinstance(one, Note) and isinstance(other, Note)
    if isinstance(one, Quote) and isinstance(other, Quote) and one.at == other.at:
        inner_before, inner = before.inside[1:2], block.inside[1:2]
        return not (inner_before and inner and isinstance(inner_before[0], Item) and isinstance(inner[0], Item))
    return not (both_items or both_notes)


def leads(before: AnyBlock | None, block: AnyBlock, *, quote: str = "", indent: int = 2) -> tuple[str, str]:
    """What stands in front of a block's first line, and of its other lines: markers and indents.

    `quote` is put for each level of quotation; empty where the chat has a form of its own for it.
    """
    known = shared(before, block)
    first, rest = "", ""
    for depth, container in enumerate(block.inside):
        if isinstance(container, Quote):
            first, rest = first + quote, rest + quote
            continue
        mark = _marker(container)
        space = " " * max(indent, len(mark) if isinstance(container, Item) and container.number is not None else 0)
        fresh = depth >= known and not (isinstance(container, Item) and container.continued)
        first += mark if fresh else space
        rest += space
    return first, rest


def _marker(container: Item | Note) -> str:
    if isinstance(container, Note):
        return f"[{container.label}] "
    number = "" if container.number is None else f"{container.number}. "
    if container.done is not None:
        return number + ("☑ " if container.done else "☐ ")
    return number or "• "


def columns(table: Table) -> list[str]:
    """A table as lines of a monospaced face, each column as wide as its widest cell."""
    rows = [[words(cell).replace("\n", " ") for cell in row] for row in table.rows]
    count = max((len(row) for row in rows), default=0)
    rows = [row + [""] * (count - len(row)) for row in rows]
    widths = [max(width(row[at]) for row in rows) for at in range(count)]
    lines = [
        " │ ".join(_padded(cell, widths[at], _align(table, at)) for at, cell in enumerate(row)) for row in rows
    ]
    ruler = "─┼─".join("─" * size for size in widths)
    return [lines[0].rstrip(), ruler, *(line.rstrip() for line in lines[1:])] if lines else []


def width(text: str) -> int:
    """How many columns a text takes in a monospaced face."""
    if text.isascii():
        return len(text)
    count = last = 0
    joined = False
    for char in text:
        wide = unicodedata.east_asian_width(char) in "WF"
        if char == _EMOJI_FORM and last == 1:
            last, count = 2, count + 1
        elif not (joined and wide) and not _is_tone(char) and unicodedata.category(char) not in _ZERO:
            last = 2 if wide else 1
            count += last
        joined = char == "\u200d"
    return count


def _is_tone(char: str) -> bool:
    return "\U0001f3fb" <= char <= "\U0001f3ff"


def _align(table: Table, at: int) -> str:
    return table.align[at] if at < len(table.align) else ""


def _padded(cell: str, size: int, align: str) -> str:
    space = size - width(cell)
    left = space if align == "right" else space // 2 if align == "center" else 0
    return " " * left + cell + " " * (space - left)
