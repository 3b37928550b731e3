"""Telegram: a text with entities, or the blocks of a rich message, as HTML."""

from __future__ import annotations

import re
from html import escape
from itertools import pairwise
from typing import Any

Json = dict[str, Any]

_TAGS = {"bold": "b", "italic": "i", "underline": "u", "strikethrough": "s", "code": "code"}
_BOXES = ("pre", "blockquote", "expandable_blockquote")
# What Telegram turns into a link by itself: addresses, names, commands, and file names that could be a domain.
_FOUND = re.compile(
    r"https?://\S+|(?<![\w@])@\w{4,}|(?<![\w/<>])/[A-Za-z]\w*(?![\w/])|(?<!\w)#[A-Za-z]\w*"
    r"|(?<![\w/#@.~-])[A-Za-z0-9-]+\.(?:py|md|sh|rs|pl|org|com|net|io|ai)(?![\w-])"
)


def view(payload: Json) -> str:
    """One message: a bubble, and the keyboard under it."""
    if "rich_message" in payload:
        inside = "".join(_block(block) for block in payload["rich_message"]["blocks"])
    else:
        inside = _text(payload["text"], payload.get("entities", []))
    keyboard = payload.get("reply_markup", {}).get("inline_keyboard", [])
    return f'<div class="bubble">{inside}</div>{_keyboard(keyboard)}'


def _keyboard(rows: list[list[Json]]) -> str:
    drawn = ""
    for row in rows:
        buttons = "".join(f'<span class="{b.get("style", "plain")}">{escape(b["text"])}</span>' for b in row)
        drawn += f'<div class="keys">{buttons}</div>'
    return drawn


def _text(text: str, entities: list[Json]) -> str:
    """Offsets count UTF-16 units, so the text is cut as such."""
    units = text.encode("utf-16-le")
    edges = {0, len(units) // 2}
    for entity in entities:
        edges |= {entity["offset"], entity["offset"] + entity["length"]}
    places = sorted(edges)
    html, open_, after_box = "", list[Json](), False
    for start, end in pairwise(places):
        over = [e for e in entities if e["offset"] <= start and end <= e["offset"] + e["length"]]
        over.sort(key=lambda e: (e["type"] not in _BOXES, -e["length"], e["offset"]))
        while open_ and open_ != over[: len(open_)]:
            closed = open_.pop()
            html += _end(closed)
            after_box = after_box or closed["type"] in _BOXES
        for entity in over[len(open_) :]:
            html += _begin(entity)
            open_.append(entity)
        words = units[2 * start : 2 * end].decode("utf-16-le")
        if after_box:
            words, after_box = words.removeprefix("\n"), False
        plain = not any(e["type"] in ("code", "pre", "text_link") for e in open_)
        html += _found(words) if plain else escape(words)
    return html + "".join(_end(entity) for entity in reversed(open_))


def _begin(entity: Json) -> str:
    match entity["type"]:
        case "pre":
            return f'<pre class="{escape(entity.get("language", ""))}">{_language(entity.get("language", ""))}'
        case "blockquote" | "expandable_blockquote" as kind:
            return f'<blockquote class="{kind}">'
        case "text_link":
            return f'<a title="{escape(entity["url"])}">'
        case kind:
            return f"<{_TAGS[kind]}>"


def _end(entity: Json) -> str:
    tags = {"pre": "pre", "blockquote": "blockquote", "expandable_blockquote": "blockquote", "text_link": "a"}
    return f"</{(tags | _TAGS)[entity['type']]}>"


def _language(name: str) -> str:
    return f'<span class="language">{escape(name)}</span>' if name else ""


def _found(text: str) -> str:
    html, at = "", 0
    for match in _FOUND.finditer(text):
        html += escape(text[at : match.start()]) + f"<a>{escape(match.group())}</a>"
        at = match.end()
    return html + escape(text[at:])


def _block(block: Json) -> str:
    match block["type"]:
        case "paragraph":
            return f"<p>{_rich(block['text'])}</p>"
        case "heading":
            return f'<div class="h h{block["size"]}">{_rich(block["text"])}</div>'
        case "footer":
            return f'<p class="footer">{_rich(block["text"])}</p>'
        case "pre":
            language = block.get("language", "")
            return f'<pre class="{escape(language)}">{_language(language)}{escape(block["text"])}</pre>'
        case "divider":
            return "<hr>"
        case "blockquote":
            return f"<blockquote>{_blocks(block['blocks'])}</blockquote>"
        case "details":
            return f"<details><summary>{_rich(block['summary'])}</summary>{_blocks(block['blocks'])}</details>"
        case "list":
            return f"<ul>{''.join(_item(item) for item in block['items'])}</ul>"
        case "table":
            return f"<table>{''.join(_row(row) for row in block['cells'])}</table>"
        case kind:
            raise ValueError(f"no such block: {kind}")


def _blocks(blocks: list[Json]) -> str:
    return "".join(_block(block) for block in blocks)


def _item(item: Json) -> str:
    if item.get("has_checkbox"):
        mark = f'<i class="box {"checked" if item.get("is_checked") else ""}"></i>'
    else:
        mark = f"{item['value']}." if "value" in item else "•"
    return f'<li><span class="mark">{mark}</span><div>{_blocks(item["blocks"])}</div></li>'


def _row(row: list[Json]) -> str:
    cells = ""
    for cell in row:
        tag = "th" if cell.get("is_header") else "td"
        cells += f'<{tag} style="text-align: {cell["align"]}">{_rich(cell["text"])}</{tag}>'
    return f"<tr>{cells}</tr>"


def _rich(text: Any) -> str:
    if isinstance(text, str):
        return escape(text)
    if isinstance(text, list):
        return "".join(map(_rich, text))
    if text["type"] == "url":
        return f'<a title="{escape(text["url"])}">{_rich(text["text"])}</a>'
    tag = _TAGS[text["type"]]
    return f"<{tag}>{_rich(text['text'])}</{tag}>"
