"""Blocks of markdown in Discord's own dialect: three headings, no tables, quotations that do not nest."""

from __future__ import annotations

import re
from typing import assert_never

from beambot.api import markdown as md
from platforms.discord.inline import escape, styled

# About what a phone shows of a monospaced line.
COLUMNS = 55
_RULE = "─" * 12
_LANGUAGE = re.compile(r"[A-Za-z0-9_+.-]+")
_TICKS = re.compile(r"`{3,}")
_APART = "\N{ZERO WIDTH SPACE}"
# Discord indents no further.
_DEEPEST = 10


def render(document: md.Document) -> str:
    """The whole document."""
    lines: list[str] = []
    before: md.AnyBlock | None = None
    for block in document:
        # Discord leaves room under a heading by itself.
        if before is not None and not isinstance(before, md.Heading) and md.is_apart(before, block):
            lines.append("> " if _is_same_quote(before, block) else "")
        first, rest = _leads(before, block)
        if alert := _alert(before, block):
            lines.append(f"{first}**{alert}**")
            first = rest
        lines += _block(block, first, rest)
        before = block
    return "\n".join(lines)


def fence(text: str, language: str = "") -> list[str]:
    """Lines of a code block that nothing in it can end. Discord knows no longer fence than three."""
    # Where a back-tick cannot be escaped only an invisible character keeps three of them apart.
    text = _TICKS.sub(lambda run: _APART.join(re.findall("`{1,2}", run.group())), text)
    language = language if _LANGUAGE.fullmatch(language) else ""
    return [f"```{language}", *(text if text.strip() else " ").split("\n"), "```"]


def _block(block: md.AnyBlock, first: str, rest: str) -> list[str]:
    match block:
        case md.Paragraph(spans=spans):
            return _led(styled(spans), first, rest)
        case md.Heading(level=level, spans=spans):
            inner = any(not isinstance(container, md.Quote) for container in block.inside)
            return _led([_heading(level, spans, inner=inner)], first, rest)
        case md.Code(text=text, language=language):
            return _fenced(fence(text, language), block, first, rest)
        case md.Table():
            lines = md.columns(block)
            if max(map(md.width, lines), default=0) <= COLUMNS and not _has_links(block):
                return _fenced(fence("\n".join(lines)), block, first, rest)
            return _led(_rows(block), first, rest)
        case md.Rule():
            return [first + _RULE]
        case _:
            assert_never(block)


def _heading(level: int, spans: tuple[md.Span, ...], *, inner: bool) -> str:
    one_line = tuple(md.Span(span.text.replace("\n", " "), span.style, span.link) for span in spans)
    if level > 3 or inner:
        return styled(one_line, md.BOLD)[0]
    text = styled(one_line)[0]
    return f"{'#' * level} {text}" if text else ""


def _led(lines: list[str], first: str, rest: str) -> list[str]:
    out = [first + lines[0] if lines else first]
    out += [rest + line for line in lines[1:]]
    # A quotation's empty line is one only with the blank behind its sign.
    return [line if line.strip() else "" for line in out] if ">" not in rest else out


def _fenced(lines: list[str], block: md.AnyBlock, first: str, rest: str) -> list[str]:
    """A fence stands at the left edge: inside of a list item an empty line would end the item and the fence."""
    edge = "> " if block.inside and isinstance(block.inside[0], md.Quote) else ""
    marker = [first.replace("- ", "• ").rstrip()] if first != rest else []
    return marker + [edge + line for line in lines]


def _leads(before: md.AnyBlock | None, block: md.AnyBlock) -> tuple[str, str]:
    """What stands in front of a block's first line, and of its other lines."""
    known = md.shared(before, block)
    first = rest = ""
    quoted, items = False, 0
    for depth, container in enumerate(block.inside):
        if isinstance(container, md.Quote):
            sign = "\\> " if quoted else "> "
            first, rest, quoted = first + sign, rest + sign, True
            continue
        items += 1
        space = "  " if items <= _DEEPEST else ""
        is_continued = isinstance(container, md.Item) and container.continued
        first += space if depth < known or is_continued else _marker(container)
        rest += space
    return first, rest


def _marker(container: md.Item | md.Note) -> str:
    if isinstance(container, md.Note):
        return f"{escape(f'[{container.label}]')} "
    sign = "- " if container.number is None else f"{container.number}. "
    if container.done is not None:
        return sign + ("☑ " if container.done else "☐ ")
    return sign


def _alert(before: md.AnyBlock | None, block: md.AnyBlock) -> str:
    """The kind of a quotation that begins here."""
    kinds = [
        container.alert for container in block.inside[md.shared(before, block) :] if isinstance(container, md.Quote)
    ]
    return next((kind.capitalize() for kind in kinds if kind), "")


def _is_same_quote(before: md.AnyBlock, block: md.AnyBlock) -> bool:
    return md.shared(before, block) > 0 and isinstance(block.inside[0], md.Quote)


def _has_links(table: md.Table) -> bool:
    return any(span.link and span.link not in span.text for row in table.rows for cell in row for span in cell)


def _rows(table: md.Table) -> list[str]:
    """A table that is too wide, or has links: each row as lines "column: value"."""
    names = [" ".join(styled(cell, md.BOLD)) for cell in table.rows[0]]
    if len(table.rows) == 1:
        return [" · ".join(name for name in names if name)]
    lines: list[str] = []
    for row in table.rows[1:]:
        for at, cell in enumerate(row):
            name = names[at] if at < len(names) else ""
            value = " ".join(styled(cell)) or "–"
            lines.append(("  " if at else "- ") + (f"{name}: {value}" if name else value))
    return lines
