"""Slack: Block Kit as HTML."""

from __future__ import annotations

from html import escape
from typing import Any

Json = dict[str, Any]

_TAGS = {"bold": "b", "italic": "i", "strike": "s", "code": "code"}
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_BULLETS = "•◦▪"


def view(payload: Json) -> str:
    """One message: its blocks; without any, its text."""
    if not payload["blocks"]:
        return f'<div class="section">{escape(payload["text"])}</div>'
    return "".join(_block(block) for block in payload["blocks"])


def _block(block: Json) -> str:
    match block["type"]:
        case "rich_text":
            return f'<div class="rich">{"".join(_element(one) for one in block["elements"])}</div>'
        case "table":
            rows = "".join(_row(row, block["column_settings"]) for row in block["rows"])
            return f"<table>{rows}</table>"
        case "context":
            return f'<div class="context">{"".join(escape(one["text"]) for one in block["elements"])}</div>'
        case "section":
            return f'<div class="section">{escape(block["text"]["text"])}</div>'
        case "divider":
            return "<hr>"
        case "actions":
            buttons = "".join(
                f'<span class="{one.get("style", "plain")}">{escape(one["text"]["text"])}</span>'
                for one in block["elements"]
            )
            return f'<div class="keys">{buttons}</div>'
        case kind:
            raise ValueError(f"no such block: {kind}")


def _row(row: list[Json], settings: list[Json]) -> str:
    cells = ""
    for cell, setting in zip(row, settings, strict=True):
        inside = "".join(_element(one) for one in cell["elements"])
        cells += f'<td style="text-align: {setting["align"]}">{inside}</td>'
    return f"<tr>{cells}</tr>"


def _element(element: Json) -> str:
    border = " border" if element.get("border") else ""
    match element["type"]:
        case "rich_text_section":
            return f'<div class="section">{_inline(element["elements"])}</div>'
        case "rich_text_quote":
            return f'<div class="quote">{_inline(element["elements"])}</div>'
        case "rich_text_preformatted":
            return f'<pre class="{border}">{_inline(element["elements"])}</pre>'
        case "rich_text_list":
            items = [
                f'<div class="item"><span>{_mark(element, at)}</span><div>{_inline(item["elements"])}</div></div>'
                for at, item in enumerate(element["elements"])
            ]
            return f'<div class="list level{element.get("indent", 0)}{border}">{"".join(items)}</div>'
        case kind:
            raise ValueError(f"no such element: {kind}")


def _mark(element: Json, at: int) -> str:
    """Slack numbers the first level with digits, the second with letters."""
    indent = element.get("indent", 0)
    if element["style"] == "bullet":
        return _BULLETS[indent % 3]
    number = element.get("offset", 0) + at
    return f"{_LETTERS[number % 26]}." if indent % 3 == 1 else f"{number + 1}."


def _inline(elements: list[Json]) -> str:
    html = ""
    for element in elements:
        match element["type"]:
            case "text":
                words = escape(element["text"])
            case "link":
                words = f'<a title="{escape(element["url"])}">{escape(element["text"])}</a>'
            case kind:
                # A person, a channel, everybody: what pings.
                words = f'<span class="ping">{escape(kind)}</span>'
        for name in element.get("style", {}):
            words = f"<{_TAGS[name]}>{words}</{_TAGS[name]}>"
        html += words
    return html
