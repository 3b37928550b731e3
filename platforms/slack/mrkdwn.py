"""A document in Slack's own markup, for notifications and for clients that show no blocks.

The markup has no escapes for its marks: a word that begins or ends with one is shown as code, where they mean
nothing, and a backtick becomes a character that looks like it.
"""

from __future__ import annotations

import re

from beambot.api import markdown as md
from platforms.slack import tables
from platforms.slack.harmless import JOINER, address, entities, names
from platforms.slack.rich_text import ALERTS

_MARKS = ((md.STRIKE, "~"), (md.ITALIC, "_"), (md.BOLD, "*"))
_BACKTICK = "ˋ"
_BAR = "¦"
_QUOTE = "\0"
_MARKED = re.compile(r"[^\s*_~]*(?:(?<!\w)[*_~]+(?=\S)|(?<=\S)[*_~]+(?!\w))\S*")
_LINE_START = re.compile(r"^(?=&gt;)", re.MULTILINE)


def render(document: md.Document) -> str:
    """The whole document."""
    lines: list[str] = []
    before: md.AnyBlock | None = None
    for block in document:
        if before is not None and md.is_apart(before, block) and not isinstance(before, md.Heading):
            lines.append("")
        first, rest = (_lead(lead) for lead in md.leads(before, block, quote=_QUOTE))
        lines += [_lead(_QUOTE) + f"*{title}*" for title in _alerts(before, block)]
        if isinstance(block, md.Code | md.Table):
            lines += [first.rstrip()] if first != rest else []
            lines += ["```", _block(block), "```"]
        else:
            text = _block(block).split("\n")
            lines.append(first + text[0])
            lines += [rest + line for line in text[1:]]
        before = block
    return "\n".join(lines)


def escaped(text: str) -> str:
    """A text without any markup, as written."""
    return _LINE_START.sub(JOINER, names(entities(text)))


def _lead(lead: str) -> str:
    """Slack knows quotations at the beginning of a line only, and one level of them."""
    lead = entities(lead.replace("`", _BACKTICK))
    if lead.startswith(_QUOTE):
        lead = "> " + lead[1:]
    return lead.replace(_QUOTE, "&gt; ")


def _alerts(before: md.AnyBlock | None, block: md.AnyBlock) -> list[str]:
    fresh = block.inside[md.shared(before, block) :]
    return [ALERTS.get(one.alert, one.alert) for one in fresh if isinstance(one, md.Quote) and one.alert]


def _block(block: md.AnyBlock) -> str:
    match block:
        case md.Paragraph(spans=spans):
            return _spans(spans, 0)
        case md.Heading(spans=spans):
            return _spans(spans, md.BOLD)
        case md.Code(text=text):
            return _code(text)
        case md.Table():
            return _code("\n".join(tables.lines(block)))
        case md.Rule():
            return "———"


def _code(text: str) -> str:
    return names(entities(text)).replace("```", f"``{JOINER}`") or " "


def _spans(spans: tuple[md.Span, ...], style: int) -> str:
    out = ""
    for at, span in enumerate(spans):
        after = spans[at + 1].text[:1] if at + 1 < len(spans) else ""
        piece = _span(span, span.style | style, out[-1:], after)
        if out.endswith("`") and piece.startswith("`"):
            piece = JOINER + piece
        out += piece
    return _LINE_START.sub(JOINER, out)


def _span(span: md.Span, style: int, before: str, after: str) -> str:
    if span.link and (link := address(span.link)):
        label = names(entities(span.text.replace("\n", " "))).replace("|", _BAR).replace("`", _BACKTICK)
        return _styled(f"<{link.replace('&', '&amp;')}|{label}>", style & ~md.CODE, before, after)
    text = span.text
    if span.link and span.link not in text:
        text += f" ({span.link})"
    text = names(entities(text.replace("`", _BACKTICK)))
    if style & md.CODE:
        return _styled(f"`{text}`", style, before, after) if text.strip() else text
    if "*" in text or "_" in text or "~" in text:
        text = _MARKED.sub(_as_code, text)
    if not style:
        return text
    lines = text.split("\n")
    return "\n".join(
        _styled(line, style, before if at == 0 else "", after if at == len(lines) - 1 else "")
        for at, line in enumerate(lines)
    )


def _as_code(word: re.Match[str]) -> str:
    said = word.group()
    return f"`{said}`" if said.strip("*_~") or len(said) > 1 else said


def _styled(text: str, style: int, before: str, after: str) -> str:
    """Marks count only at the edges of words, and close to what they mark."""
    core = text.strip()
    if not core or (core == text and (before.isalnum() or after.isalnum())):
        return text
    marked = core
    for bit, mark in _MARKS:
        if style & bit:
            marked = mark + marked + mark
    return text.replace(core, marked, 1)
