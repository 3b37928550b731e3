"""A message in Telegram's rich form: the arguments of sendRichMessage, or of editMessageText with `rich_message`.

It holds eight times as much and has headings, lists and tables of its own. Old clients show a placeholder for it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import msgspec

from beambot.api import Outgoing, bodies
from beambot.api import markdown as md
from beambot.api import outbound as out
from platforms.telegram.drawing import cards
from platforms.telegram.drawing import rich_model as rich
from platforms.telegram.drawing.spans import ALERTS, code_lines, one_line, pieces
from platforms.telegram.outbound import Json, drawn, reply_markup

RICH_LIMIT = 32_768
BLOCK_LIMIT = 500
# What one block takes of the room, so that a full message has no more than it may have.
_BLOCK_COST = -(-RICH_LIMIT // BLOCK_LIMIT)
# Telegram takes 16 levels in all; a list takes two, styles and the paragraph the rest.
_DEEPEST = 4
_COLUMNS = 20
_STYLES: tuple[tuple[int, Literal["bold", "italic", "strikethrough"]], ...] = (
    (md.STRIKE, "strikethrough"),
    (md.ITALIC, "italic"),
    (md.BOLD, "bold"),
)
# What ends an address: blanks, quotes, punctuation of Chinese and Japanese; and a bracket without its other half.
_END = r"\s<>\"'`\u2018-\u201f\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_PAIR = rf"\([^(){_END}]*\)|\[[^\[\]{_END}]*\]"
_ADDRESS = re.compile(rf"https?://\w(?:(?:{_PAIR}|[^()\[\]{_END}])*(?:{_PAIR}|[\w/=&#%+~-]))?")
# A longer one stays text: Telegram would refuse it.
_LONGEST_ADDRESS = 2000
_NOTHING = "…"


def rich_payload(message: Outgoing) -> Json:
    """Blocks, keyboard and manner of one message. Telegram looks for no mention, command or tag in it."""
    blocks: list[rich.RichBlock] = []
    room = RICH_LIMIT
    for block in message.blocks:
        taken = rich_measure(block)
        if taken > room:
            text = drawn(block).text[: max(room - _BLOCK_COST, 0)].rstrip()
            blocks.append(rich.Paragraph(text + _NOTHING))
            break
        room -= taken
        blocks += _blocks(block)
    arguments: Json = {
        "rich_message": {
            "blocks": msgspec.to_builtins(blocks or [rich.Paragraph(_NOTHING)]),
            "skip_entity_detection": True,
        },
        "disable_notification": not message.loud,
    }
    if markup := reply_markup(message):
        arguments["reply_markup"] = markup
    return arguments


def fits(message: Outgoing) -> bool:
    """Whether the rich form shows all of it."""
    return sum(map(rich_measure, message.blocks)) <= RICH_LIMIT


def rich_measure(block: out.AnyOutBlock) -> int:
    """How much of the room of a rich message one block takes."""
    length, count = rich.size(_blocks(block))
    return max(length, _BLOCK_COST * count)


@lru_cache(maxsize=128)
def _blocks(block: out.AnyOutBlock) -> tuple[rich.RichBlock, ...]:
    match block:
        case out.Markdown():
            return tuple(_words(block))
        case out.Tools(lines=lines, hidden=hidden):
            return tuple(_paragraph("\n".join(cards.tool_lines(lines, hidden))))
        case out.Checklist(entries=entries):
            return (rich.List([_step(entry) for entry in entries]),) if entries else ()
        case out.Change(path=path, unified=unified):
            shown = cards.diff(unified)
            head = rich.Paragraph([rich.Styled("bold", one_line(path)), cards.counts(block)])
            return (head, rich.Preformatted(shown, "diff")) if shown else (head,)
        case out.Facts(facts=facts):
            return tuple(one for fact in facts for one in _fact(fact))
        case out.Notice():
            return tuple(_paragraph(cards.notice(block)))
        case out.Footer(text=text):
            return (rich.Footer(words),) if (words := md.clean(text).strip()) else ()


def _words(block: out.Markdown) -> list[rich.RichBlock]:
    blocks = _Tree().build(md.parse(block.text, block.skip, block.open))
    title = one_line(block.under)
    if not blocks:
        return []
    if block.folded:
        return [rich.Details(rich.Styled("italic", title or "Thoughts"), blocks)]
    if title:
        return [rich.Paragraph(rich.Styled("italic", title)), rich.Quotation(blocks)]
    return blocks


def _paragraph(text: str) -> list[rich.RichBlock]:
    return [rich.Paragraph(text)] if text.strip() else []


def _step(entry: bodies.PlanEntry) -> rich.ListItem:
    text = one_line(entry.text) or _NOTHING
    words = rich.Styled("bold", text) if entry.status == "in_progress" else text
    return rich.ListItem([rich.Paragraph(words)], has_checkbox=True, is_checked=entry.status == "completed")


def _fact(fact: out.Fact) -> list[rich.RichBlock]:
    name, value = one_line(fact.name), md.clean(fact.value).strip()
    if fact.code and "\n" in value:
        head: list[rich.RichBlock] = [rich.Paragraph([rich.Styled("bold", name), ":"])] if name else []
        return [*head, rich.Preformatted(code_lines(md.clean(fact.value)))]
    words = rich.Styled("code", value) if fact.code and value else value
    if name:
        return [rich.Paragraph([rich.Styled("bold", name), ": ", words])]
    return [rich.Paragraph(words)] if value else []


class _Tree:
    """Flat blocks put back into the lists and quotations they stand in."""

    def __init__(self) -> None:
        self.root: list[rich.RichBlock] = []
        self.inside: list[list[rich.RichBlock]] = []
        self.depth: list[int] = []

    def build(self, document: md.Document) -> list[rich.RichBlock]:
        before: md.AnyBlock | None = None
        for block in document:
            known = md.shared(before, block)
            del self.inside[known:], self.depth[known:]
            lead = ""
            for container in block.inside[known:]:
                lead += self._enter(container)
            target = self.inside[-1] if self.inside else self.root
            if not _is_bare_alert(block):
                target += _drawn(block, lead)
            before = block
        return self.root

    def _enter(self, container: md.Quote | md.Item | md.Note) -> str:
        """Open a container; what has none of its own, or is too deep, is told in front of the text."""
        target = self.inside[-1] if self.inside else self.root
        depth = self.depth[-1] if self.depth else 0
        deep = depth >= _DEEPEST
        lead = ""
        if isinstance(container, md.Note):
            lead = f"[{container.label}] "
        elif isinstance(container, md.Quote):
            if not deep:
                quotation = rich.Quotation([])
                target.append(quotation)
                target, depth = quotation.blocks, depth + 1
            if container.alert:
                target.append(rich.Paragraph(rich.Styled("bold", ALERTS[container.alert])))
        elif deep or container.continued:
            lead = "" if container.continued else _marker(container)
        else:
            target, depth = _item(target, container), depth + 1
        self.inside.append(target)
        self.depth.append(depth)
        return lead


def _is_bare_alert(block: md.AnyBlock) -> bool:
    """Whether only the title of a quotation says something."""
    last = block.inside[-1] if block.inside else None
    return isinstance(block, md.Paragraph) and not block.spans and isinstance(last, md.Quote) and bool(last.alert)


def _marker(item: md.Item) -> str:
    number = "" if item.number is None else f"{item.number}. "
    box = "" if item.done is None else "☑ " if item.done else "☐ "
    return number + box or "• "


def _item(target: list[rich.RichBlock], item: md.Item) -> list[rich.RichBlock]:
    """A new item, in the list that stands last where it is of the same kind."""
    last = target[-1] if target else None
    if not isinstance(last, rich.List) or (last.items[0].value is None) != (item.number is None):
        last = rich.List([])
        target.append(last)
    entry = rich.ListItem([], has_checkbox=item.done is not None, is_checked=bool(item.done))
    if item.number is not None:
        entry.value, entry.type = item.number, "1"
    last.items.append(entry)
    return entry.blocks


def _drawn(block: md.AnyBlock, lead: str) -> list[rich.RichBlock]:
    match block:
        case md.Paragraph(spans=spans):
            return [rich.Paragraph(_text(spans, lead))]
        case md.Heading(spans=spans, level=level):
            return [rich.Heading(_text(spans, lead), level)]
        case md.Code(text=text, language=language):
            lines = code_lines(text)
            marker = _paragraph(lead.rstrip())
            return [*marker, rich.Preformatted(lines, language)] if lines else marker
        case md.Table():
            return [*_paragraph(lead.rstrip()), _table(block)]
        case md.Rule():
            return [*_paragraph(lead.rstrip()), rich.Divider()]


def _table(table: md.Table) -> rich.RichBlock:
    width = max(map(len, table.rows))
    if width > _COLUMNS:
        rows = tuple(tuple((md.Span(md.plain_spans(cell)),) for cell in row) for row in table.rows)
        return rich.Preformatted("\n".join(md.columns(md.Table(table.align, rows))))
    cells: list[list[rich.Cell]] = []
    for row in table.rows:
        cells.append([])
        for at in range(width):
            align = table.align[at] if at < len(table.align) else ""
            text = _text(row[at]) if at < len(row) and row[at] else ""
            cells[-1].append(rich.Cell(text, align or "left", "middle", is_header=len(cells) == 1))
    return rich.Table(cells, is_bordered=True)


def _text(spans: tuple[md.Span, ...], lead: str = "") -> rich.RichText:
    """Inline markup; code has no other style, and an address is a link as Telegram does not look for it."""
    parts: list[str | rich.Styled] = [lead] if lead else []
    for text, style, link in pieces(spans):
        if style & md.CODE:
            parts.append(_linked(rich.Styled("code", text), link))
            continue
        for words, address in [(text, link)] if link else _addresses(text):
            styled: str | rich.Styled = words
            for bit, name in _STYLES:
                if style & bit:
                    styled = rich.Styled(name, styled)
            parts.append(_linked(styled, address))
    return parts[0] if len(parts) == 1 else parts or " "


def _linked(text: str | rich.Styled, link: str) -> str | rich.Styled:
    return rich.Styled("url", text, link) if link else text


def _addresses(text: str) -> list[tuple[str, str]]:
    """Plain text in pieces, each with the address it is."""
    if "://" not in text:
        return [(text, "")] if text else []
    found: list[tuple[str, str]] = []
    at = 0
    for match in _ADDRESS.finditer(text):
        if len(match.group()) > _LONGEST_ADDRESS:
            continue
        found += [(text[at : match.start()], ""), (match.group(), match.group())]
        at = match.end()
    return [piece for piece in (*found, (text[at:], "")) if piece[0]]
