"""Discord: its dialect of markdown, in `content` or in text displays, as HTML."""

from __future__ import annotations

import re
from html import escape
from typing import Any

Json = dict[str, Any]

ACTION_ROW, TEXT_DISPLAY, SEPARATOR, CONTAINER = 1, 10, 14, 17
_STYLES = {1: "primary", 2: "plain", 3: "success", 4: "danger"}
_FENCE = re.compile(r"```(?:([\w+.-]+)\n)?\n*([\s\S]+?)\n*```")
_ITEM = re.compile(r"( *)([-*]|\d+\.) +(.*)")
_HEADING = re.compile(r"(#{1,3}) +(.*)")
# In the order in which Discord tries them at each place.
_INLINE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("escape", re.compile(r"\\([^0-9A-Za-z\s])")),
    ("code", re.compile(r"(`+)([\s\S]*?[^`])\1(?!`)")),
    ("address", re.compile(r"<(https?://[^ >]+)>")),
    ("link", re.compile(r"\[((?:\\.|[^\]\\])+)\]\(<?(https?://[^\s>)]*)>?\)")),
    ("bare", re.compile(r"(https?://[^\s<]+[^<.,:;\"')\]\s])")),
    ("b", re.compile(r"\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)")),
    ("u", re.compile(r"__((?:\\[\s\S]|[^\\])+?)__(?!_)")),
    ("i", re.compile(r"\*(?=\S)((?:\*\*|\\[\s\S]|[^*\\])+?)(?<!\s)\*(?!\*)|\b_((?:\\[\s\S]|[^\\_])+?)_\b")),
    ("s", re.compile(r"~~((?:\\[\s\S]|[^\\])+?)~~(?!_)")),
    ("spoiler", re.compile(r"\|\|([\s\S]+?)\|\|")),
    ("ping", re.compile(r"(@everyone|@here|<@[!&]?\d+>|<#\d+>)")),
)


def view(payload: Json) -> str:
    """One message: its text or its layout, then rows of buttons."""
    text = f'<div class="content">{_document(payload["content"])}</div>' if "content" in payload else ""
    return text + "".join(_component(one) for one in payload["components"])


def _component(part: Json) -> str:
    if part["type"] == ACTION_ROW:
        buttons = "".join(
            f'<span class="{_STYLES[button["style"]]}">{escape(button["label"])}</span>'
            for button in part["components"]
        )
        return f'<div class="keys">{buttons}</div>'
    if part["type"] == TEXT_DISPLAY:
        return f'<div class="content">{_document(part["content"])}</div>'
    if part["type"] == SEPARATOR:
        return "<hr>"
    assert part["type"] == CONTAINER
    accent = f' style="border-left-color: #{part["accent_color"]:06x}"' if "accent_color" in part else ""
    return f'<div class="container"{accent}>{"".join(map(_component, part["components"]))}</div>'


def _document(text: str) -> str:
    """Fences first, as nothing in them is markup; then line by line."""
    html, at = "", 0
    for fence in _FENCE.finditer(text):
        html += _lines(text[at : fence.start()].split("\n")[:-1])
        html += _code(fence[1] or "", fence[2])
        at = fence.end() + text.startswith("\n", fence.end())
    return html + _lines(text[at:].split("\n") if text[at:] else [])


def _code(language: str, text: str) -> str:
    lines = [escape(line) for line in text.split("\n")]
    if language == "diff":
        kinds = {"+": "add", "-": "del", "@": "hunk"}
        lines = [f'<span class="{kinds.get(line[:1], "")}">{line}</span>' for line in lines]
    return f"<pre>{chr(10).join(lines)}</pre>"


def _lines(lines: list[str]) -> str:
    html, at = "", 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("> "):
            quoted = []
            while at < len(lines) and lines[at].startswith("> "):
                quoted.append(lines[at][2:])
                at += 1
            html += f'<div class="quote">{_lines(quoted)}</div>'
            continue
        at += 1
        html += _line(line)
    return html


def _line(line: str) -> str:
    if heading := _HEADING.fullmatch(line):
        return f'<div class="h{len(heading[1])}">{_inline(heading[2])}</div>'
    if line.startswith("-# "):
        return f'<div class="small">{_inline(line[3:])}</div>'
    if item := _ITEM.fullmatch(line):
        mark = "•" if item[2] in "-*" else item[2]
        level = len(item[1]) // 2
        return f'<div class="item level{level}"><span>{mark}</span><div>{_inline(item[3])}</div></div>'
    return f'<div class="line">{_inline(line) or "<br>"}</div>'


def _inline(text: str) -> str:
    html, at = "", 0
    while at < len(text):
        for kind, pattern in _INLINE:
            found = pattern.match(text, at)
            if found is not None:
                html += _marked(kind, found)
                at = found.end()
                break
        else:
            html += escape(text[at])
            at += 1
    return html


def _marked(kind: str, found: re.Match[str]) -> str:
    match kind:
        case "escape":
            return escape(found[1])
        case "code":
            return f"<code>{escape(found[2].strip() if found[1] == '``' else found[2])}</code>"
        case "address" | "bare":
            return f"<a>{escape(found[1])}</a>"
        case "link":
            return f'<a title="{escape(found[2])}">{_inline(found[1])}</a>'
        case "ping" | "spoiler":
            return f'<span class="{kind}">{escape(found[1])}</span>'
        case _:
            return f"<{kind}>{_inline(found[1] or found[2])}</{kind}>"
