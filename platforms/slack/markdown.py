"""A document as standard markdown, for Slack's `markdown` block and for streamed text.

It is written anew with escapes, so that names survive. Slack reads its own mentions in such a text: outside of code
they are written with entities, inside of code, where entities are not decoded, a sign without width parts them.
"""

from __future__ import annotations

import re

from beambot.api import markdown as md
from platforms.slack import tables
from platforms.slack.harmless import address, names, tokens
from platforms.slack.rich_text import ALERTS, Container
from platforms.slack.shorten import shortened

LIMIT = 12_000

_ESCAPED = re.compile(r"[\\`*\[\]|]|~+|(?<![^\W_])_|_(?![^\W_])")
_ENTITY = re.compile(r"&(?=#?\w+;)")
_LINE_MARK = re.compile(
    r"^([ \t]*)(#(?=#{0,5}(?:\s|$))|[+-](?=\s|$)|[=-](?=[=-]*[ \t]*$)|\d{1,9}(?=[.)](?:\s|$)))", re.MULTILINE
)
_CLOSING = re.compile(r"#(?=#*\s*$)")
_TICKS = re.compile(r"`+")
_MARKS = ((md.BOLD, "**"), (md.STRIKE, "~~"), (md.ITALIC, "_"))


def markdown(document: md.Document, limit: int = LIMIT) -> str:
    """The document within so many characters; what is beyond them is cut."""
    text = render(document)
    return text if len(text) <= limit else shortened(document, limit, render, len)


def render(document: md.Document) -> str:
    """The whole document."""
    lines: list[str] = []
    before: md.AnyBlock | None = None
    table = True
    for block in document:
        known = md.shared(before, block)
        first, rest = _leads(before, block, known)
        if before is not None and _is_apart(before, block, known):
            lines.append(_leads(before, before, known)[1][: _quoted(block, known)].rstrip())
        for one in block.inside[known:]:
            if isinstance(one, md.Quote) and one.alert:
                lines += [f"{first}**{ALERTS.get(one.alert, one.alert)}**", rest.rstrip()]
                first = rest
        if isinstance(block, md.Table):
            real = table and not block.inside and tables.is_real(block)
            table = table and not real
            text = _table(block) if real else _fenced("\n".join(tables.lines(block)), "")
        else:
            text = _block(block)
        lines += [(first if at == 0 else rest) + line for at, line in enumerate(text.split("\n"))]
        before = block
    return "\n".join(lines)


def _block(block: md.Paragraph | md.Heading | md.Code | md.Rule) -> str:
    match block:
        case md.Paragraph(spans=spans):
            return _line_marks(_spans(spans)).replace("\n", "  \n")
        case md.Heading(spans=spans, level=level):
            words = _CLOSING.sub(lambda sign: "\\" + sign.group(), _spans(spans))
            return f"{'#' * level} {words}".replace("\n", " ")
        case md.Code(text=text, language=language):
            return _fenced(text, language)
        case md.Rule():
            return "---"


# ── containers ───────────────────────────────────────────────────────────────────────────────────


def _leads(before: md.AnyBlock | None, block: md.AnyBlock, known: int) -> tuple[str, str]:
    """What stands in front of the first line of a block, and of its other lines."""
    first = rest = ""
    for depth, container in enumerate(block.inside):
        if isinstance(container, md.Quote):
            first, rest = first + "> ", rest + "> "
        elif isinstance(container, md.Note):
            first += f"\\[{escaped(container.label)}\\] " if depth >= known else ""
        elif not container.continued:
            mark = _marker(before, container, depth)
            box = "" if container.done is None else "☑ " if container.done else "☐ "
            first += mark + box if depth >= known else " " * len(mark)
            rest += " " * len(mark)
    return first, rest


def _marker(before: md.AnyBlock | None, item: md.Item, depth: int) -> str:
    if item.number is None:
        return "- "
    sibling = before.inside[depth] if before is not None and depth < len(before.inside) else None
    if not isinstance(sibling, md.Item) or sibling.number is None or sibling.at == item.at:
        return f"{item.number}. "
    # Another number than the next one begins a list of its own, else Slack would count on.
    return f"{item.number}. " if item.number == sibling.number + 1 else f"{item.number}) "


def _is_apart(before: md.AnyBlock, block: md.AnyBlock, known: int) -> bool:
    """Whether a blank line has to stand between two blocks, so that they do not run together."""
    fresh = block.inside[known] if known < len(block.inside) else None
    if not isinstance(fresh, md.Item) or fresh.continued:
        return True
    if known < len(before.inside) and isinstance(before.inside[known], md.Item):
        return False
    # A list below the words of an item: only one that begins with 1, and with words, may follow at once.
    nested = known > 0 and isinstance(before.inside[known - 1], md.Item) and isinstance(before, md.Paragraph)
    return not (nested and fresh.number in (None, 1) and isinstance(block, md.Paragraph) and block.spans)


def _quoted(block: md.AnyBlock, known: int) -> int:
    """How much of a lead the blank line between two blocks shares: up to the last quotation both stand in."""
    length = end = 0
    for container in block.inside[:known]:
        length += _width(container)
        if isinstance(container, md.Quote):
            end = length
    return end


def _width(container: Container) -> int:
    if isinstance(container, md.Item):
        return 0 if container.continued else 2 if container.number is None else len(str(container.number)) + 2
    return 2 if isinstance(container, md.Quote) else 0


# ── blocks and words ─────────────────────────────────────────────────────────────────────────────


def _fenced(text: str, language: str) -> str:
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    name = re.sub(r"[^\w.+#-]", "", language)
    return f"{fence}{name}\n{tokens(text)}\n{fence}"


def _table(table: md.Table) -> str:
    count = tables.columns(table)
    rows = [
        "| " + " | ".join(_spans(row[at]).replace("\n", " ") if at < len(row) else "" for at in range(count)) + " |"
        for row in table.rows
    ]
    sides = {"": "---", "left": ":--", "center": ":-:", "right": "--:"}
    align = (*table.align, *[""] * count)[:count]
    return "\n".join([rows[0], "| " + " | ".join(sides[side] for side in align) + " |", *rows[1:]])


def escaped(text: str) -> str:
    """Words that are read as they stand."""
    text = _ESCAPED.sub(lambda mark: "".join("\\" + char for char in mark.group()), text)
    if "&" in text:
        text = _ENTITY.sub("&amp;", text)
    if "<" in text or ">" in text:
        text = text.replace("<", "&lt;").replace(">", "&gt;")
    return names(text)


def _line_marks(text: str) -> str:
    """What would open a heading, a list or a rule at the beginning of a line."""

    def kept(mark: re.Match[str]) -> str:
        space, sign = mark.groups()
        return f"{space}{sign}\\" if sign[0].isdigit() else f"{space}\\{sign}"

    return _LINE_MARK.sub(kept, text)


def _spans(spans: tuple[md.Span, ...]) -> str:
    out = ""
    opened: list[tuple[int, str]] = []
    for at, span in enumerate(spans):
        style = span.style & ~md.CODE
        while any(not style & bit for bit, _ in opened):
            out = _behind(out, opened.pop()[1])
        piece = _piece(span)
        if span.link and out.endswith("!"):
            out = out[:-1] + "\\!"
        core = piece.lstrip()
        out += piece[: len(piece) - len(core)]
        for bit, mark in _MARKS:
            if (
                core
                and style & bit
                and bit not in [held for held, _ in opened]
                and not _is_amid(out, spans, at, bit)
            ):
                out += mark
                opened.append((bit, mark))
        out += core
    while opened:
        out = _behind(out, opened.pop()[1])
    return out


def _is_amid(out: str, spans: tuple[md.Span, ...], at: int, bit: int) -> bool:
    """Whether marks around a style would stand within a word, where they may not be read as marks."""
    if out[-1:].isalnum() and not spans[at].text[:1].isspace():
        return True
    while at < len(spans) and spans[at].style & bit:
        at += 1
    return at < len(spans) and spans[at].text[:1].isalnum() and not spans[at - 1].text[-1:].isspace()


def _behind(out: str, mark: str) -> str:
    """A closing mark stands close behind a word."""
    core = out.rstrip()
    return core + mark + out[len(core) :]


def _piece(span: md.Span) -> str:
    if span.style & md.CODE:
        longest = max((len(run) for run in _TICKS.findall(span.text)), default=0)
        ticks, pad = "`" * (longest + 1), " " if "`" in (span.text[:1], span.text[-1:]) else ""
        text = f"{ticks}{pad}{tokens(span.text)}{pad}{ticks}" if span.text.strip() else span.text
    else:
        text = escaped(span.text)
    if span.link and (link := address(span.link)):
        return f"[{text.replace(chr(10), ' ')}]({link})"
    return text if not span.link or span.link in span.text else f"{text} ({escaped(span.link)})"
