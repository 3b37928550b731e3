"""Messages to what the page draws, and the difference between two states of one. Pure."""

from __future__ import annotations

from typing import Any, assert_never

import msgspec
from msgspec import Struct

from beambot.api import Outgoing
from beambot.api import markdown as md
from beambot.api import outbound as out
from platforms.web.markdown import Rendered, render

Json = dict[str, Any]


class Shown(Struct, frozen=True):
    """A message as the page draws it, and what its next state is rendered from."""

    blocks: tuple[Json, ...]
    texts: tuple[Rendered | None, ...]
    rest: Json

    @property
    def payload(self) -> Json:
        """The whole message."""
        return {"blocks": list(self.blocks), **self.rest}


def show(message: Outgoing, before: Shown | None = None) -> Shown:
    """Draw a message; of a text that grew since `before`, only what is new is drawn."""
    blocks: list[Json] = []
    texts: list[Rendered | None] = []
    for index, block in enumerate(message.blocks):
        if isinstance(block, out.Markdown):
            known = before.texts[index] if before and index < len(before.texts) else None
            text = render(md.parse(block.text, block.skip, block.open), known)
            blocks.append(_words(block, text))
            texts.append(text)
        else:
            blocks.append(_block(block))
            texts.append(None)
    rest = {
        "buttons": [[_button(button) for button in row] for row in message.buttons],
        "form": _form(message.form) if message.form else None,
        "loud": message.loud,
    }
    return Shown(tuple(blocks), tuple(texts), rest)


def patch(before: Shown, after: Shown) -> Json | None:
    """What a page that shows `before` needs to show `after`, or nothing if they are alike."""
    whole: list[list[Any]] = []
    grown: list[list[Any]] = []
    for index, block in enumerate(after.blocks):
        was = before.blocks[index] if index < len(before.blocks) else None
        if was == block:
            continue
        if was is not None and was["t"] == block["t"] == "text" and _frame(was) == _frame(block):
            grown.append([index, block["open"], len(block["html"]), _pieces(was["html"], block["html"])])
        else:
            whole.append([index, block])
    same_rest = before.rest == after.rest
    if not whole and not grown and same_rest and len(before.blocks) == len(after.blocks):
        return None
    change: Json = {"count": len(after.blocks), "whole": whole, "grown": grown}
    if not same_rest:
        change["rest"] = after.rest
    return change


def _words(block: out.Markdown, text: Rendered) -> Json:
    under = md.clean(block.under)
    return {"t": "text", "html": text.html, "open": block.open, "folded": block.folded, "under": under}


def _frame(block: Json) -> tuple[bool, str]:
    """What stands around a text; where it changes the text is drawn anew."""
    return block["folded"], block["under"]


def _pieces(was: list[str], now: list[str]) -> list[list[Any]]:
    """Each changed piece as: its index, how much of its HTML stays (in UTF-16 units), what follows."""
    changes: list[list[Any]] = []
    for index, html in enumerate(now):
        old = was[index] if index < len(was) else ""
        if old != html:
            keep = _common(old, html)
            changes.append([index, len(html[:keep].encode("utf-16-le")) // 2, html[keep:]])
    return changes


def _common(a: str, b: str) -> int:
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _block(
    block: out.Tools | out.Checklist | out.Change | out.Facts | out.Notice | out.Footer,
) -> Json:
    match block:
        case out.Tools(lines=lines, hidden=hidden):
            return {"t": "tools", "lines": [_line(line) for line in lines], "hidden": hidden}
        case out.Checklist(entries=entries):
            return {"t": "list", "items": [[md.clean(entry.text), entry.status] for entry in entries]}
        case out.Change(path=path, unified=unified, added=added, removed=removed):
            changed = [_diff_line(line) for line in _changed_lines(unified)]
            return {"t": "diff", "path": md.clean(path), "lines": changed, "added": added, "removed": removed}
        case out.Facts(facts=facts):
            return {"t": "facts", "facts": [[md.clean(f.name), md.clean(f.value), f.code] for f in facts]}
        case out.Notice(text=text, level=level):
            return {"t": "notice", "text": md.clean(text), "level": level}
        case out.Footer(text=text):
            return {"t": "footer", "text": md.clean(text)}
        case _:
            assert_never(block)


def _changed_lines(unified: str) -> list[str]:
    """Without the lines that only name the file: they are no change."""
    lines = unified.removesuffix("\n").split("\n")
    first = next((at for at, line in enumerate(lines) if line.startswith("@@")), 0)
    return lines[first:]


def _diff_line(line: str) -> str:
    """One line stays one line, whatever stands in it."""
    return md.clean(line.removesuffix("\r")).replace("\n", "\N{RETURN SYMBOL}")


def _line(line: out.ToolLine) -> Json:
    return {
        "title": md.clean(line.title),
        "kind": line.kind,
        "state": line.state,
        "seconds": line.seconds,
        "depth": line.depth,
    }


def _button(button: out.Button) -> Json:
    return {"label": md.clean(button.label), "data": button.data, "style": button.style}


def _form(form: out.Form) -> Json:
    fields = [
        {
            "id": field.id,
            "label": md.clean(field.label),
            "kind": field.kind,
            "options": [[option, md.clean(option)] for option in field.options],
            "help": md.clean(field.help),
            "secret": field.secret,
            "value": field.value,
        }
        for field in form.fields
    ]
    return {"data": form.data, "fields": fields, "submit": md.clean(form.submit)}


_encoder = msgspec.json.Encoder()


def frame(kind: str, **parts: Any) -> str:
    """One WebSocket message to the page."""
    return _encoder.encode({"t": kind, **parts}).decode()
