"""What Telegram shows of an agent's inline markup, the same in both forms of a message."""

from __future__ import annotations

import re

from beambot.api import markdown as md

ALERTS = {
    "note": "ℹ️ Note",
    "tip": "💡 Tip",
    "important": "❗ Important",
    "warning": "⚠️ Warning",
    "caution": "🛑 Caution",
}
_BLANK_LINES = re.compile(r"\A(?:[ \t]*\n)+")
Piece = tuple[str, int, str]


def pieces(spans: tuple[md.Span, ...]) -> list[Piece]:
    """Text, style and link of each span. Telegram has no links to mail: the address is said instead."""
    found: list[Piece] = []
    mail, label = "", ""
    for span in spans:
        if mail and span.link != mail:
            found.append(_address(mail, label))
            mail, label = "", ""
        if span.link.startswith("mailto:"):
            mail, label = span.link, label + span.text
            found.append((span.text, span.style, ""))
        else:
            found.append((span.text, span.style, span.link))
    if mail:
        found.append(_address(mail, label))
    return found


def code_lines(text: str) -> str:
    """Code without the blank lines around it, which Telegram would drop or show as a gap."""
    return _BLANK_LINES.sub("", text.rstrip())


def one_line(text: str) -> str:
    """A string of somebody else in one line."""
    return " ".join(md.clean(text).split())


def hides_links(table: md.Table) -> bool:
    """Whether a cell leads somewhere that its words do not say."""
    return any(
        span.link and span.link.removeprefix("mailto:") not in span.text
        for row in table.rows
        for cell in row
        for span in cell
    )


def _address(mail: str, label: str) -> Piece:
    address = mail.removeprefix("mailto:")
    return ("" if address in label else f" ({address})", 0, "")
