"""Messages to what `chat.postMessage` and `chat.update` take, without the ids. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from beambot.api import Outgoing
from beambot.api import markdown as md
from beambot.api import outbound as out
from platforms.slack import cards, mrkdwn, rich_text, tables
from platforms.slack.shorten import MORE, shortened

Json = dict[str, Any]

# Slack says nowhere how much all blocks of a message may hold. It was seen to refuse them from about 13,200
# characters on, where a block counts for about 100 more (slackapi/bolt-js#2509, #2867), or from 40,000 of JSON on.
TEXT_LIMIT = 12_000
BLOCKS = 50
_JSON = 40_000
# A block takes at least so much of a page: 42 fill it, the other eight are left to buttons.
_BLOCK = 280
_AROUND_BLOCK, _AROUND_ELEMENT = 100, 8
# A table has limits of its own: 100 rows, 10,000 characters.
_ROW, _CELL = TEXT_LIMIT // tables.ROWS, TEXT_LIMIT // (tables.ROWS * tables.COLUMNS)
# `chat.update` was seen to count the bytes of its text, 4,000 of them.
_FALLBACK = 3_900
_SECTION = 2_900
_ROWS_OF_BUTTONS, _BUTTONS = 5, 25
_LABEL, _VALUE = 75, 2_000
_LEAST = 600


def payload(message: Outgoing) -> Json:
    """The body of a call. A text that is too long nevertheless is cut."""
    buttons = _actions(message.buttons)
    blocks, text = (
        _plain(message, bool(buttons)) if message.plain else (_blocks(message), _fallback(message.blocks))
    )
    if buttons and not blocks:
        blocks = [_section(text)]
    return {
        "blocks": _within(blocks, BLOCKS - len(buttons)) + buttons,
        "text": text if text.strip() else MORE,
        # `chat.update` would otherwise look for names of people and channels in the text.
        "parse": "none",
        "unfurl_links": False,
        "unfurl_media": False,
    }


def measure(block: out.AnyOutBlock) -> int:
    """What a block takes of `TEXT_LIMIT`, with its table as a real one or not."""
    drawn, weight = _drawn(block, True)
    return max(weight, _drawn(block, False)[1]) if _has_table(drawn) else weight


# ── blocks ───────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=128)
def _drawn(block: out.AnyOutBlock, table: bool) -> tuple[tuple[Json, ...], int]:
    """The blocks of Slack for one of ours, not to be changed, and what they take."""
    drawn = _draw(block, cards.document(block), table)
    return drawn, _weight(drawn)


def _draw(block: out.AnyOutBlock, document: md.Document, table: bool) -> tuple[Json, ...]:
    if isinstance(block, out.Footer):
        return tuple(_context(md.plain(document))) if document else ()
    return tuple(rich_text.render(document, table=table, under=cards.title(block) if document else ""))


def _context(text: str) -> list[Json]:
    short = text if len(text) <= _SECTION else text[:_SECTION] + MORE
    return [{"type": "context", "elements": [_plain_text(short)]}]


def _blocks(message: Outgoing) -> list[Json]:
    table = True
    parts: list[tuple[tuple[Json, ...], int]] = []
    for block in message.blocks:
        part = _drawn(block, True)
        if _has_table(part[0]):
            part, table = part if table else _drawn(block, False), False
        parts.append(part)
    # The longest is cut first, so that a notice or a footer below it stays.
    for at in sorted(range(len(parts)), key=lambda at: -parts[at][1]):
        rest = sum(weight for _, weight in parts) - parts[at][1]
        if rest + parts[at][1] <= TEXT_LIMIT:
            break
        parts[at] = _cut(message.blocks[at], max(TEXT_LIMIT - rest, _LEAST))
    return [one for drawn, _ in parts for one in drawn]


def _has_table(blocks: Sequence[Json]) -> bool:
    return any(one["type"] == "table" for one in blocks)


def _cut(block: out.AnyOutBlock, room: int) -> tuple[tuple[Json, ...], int]:
    drawn = shortened(cards.document(block), room, lambda document: _draw(block, document, False), _weight)
    return drawn, _weight(drawn)


def _weight(blocks: Sequence[Json]) -> int:
    return sum(max(_table_weight(one) if one["type"] == "table" else _block_weight(one), _BLOCK) for one in blocks)


def _block_weight(block: Json) -> int:
    words: list[str] = []
    count = _gather(block.get("elements", []), words)
    size = len(msgspec.json.encode(block)) * TEXT_LIMIT // _JSON
    return max(_AROUND_BLOCK + _AROUND_ELEMENT * count + tables.escaped_length("".join(words)), size + 1)


def _table_weight(table: Json) -> int:
    words: list[str] = []
    cells = [cell for row in table["rows"] for cell in row]
    for cell in cells:
        _gather(cell["elements"], words)
    taken = tables.escaped_length("".join(words)) * TEXT_LIMIT // tables.CHARACTERS
    return max(_ROW * len(table["rows"]), taken + _CELL * len(cells) + _AROUND_BLOCK)


def _gather(elements: list[Json], words: list[str]) -> int:
    """Add what Slack counts, words and addresses; the number of elements they stand in."""
    count = len(elements)
    for element in elements:
        if "elements" in element:
            count += _gather(element["elements"], words)
        else:
            words += (element["text"], element.get("url", ""))
    return count


def _within(blocks: list[Json], count: int) -> list[Json]:
    return blocks if len(blocks) <= count else [*blocks[: count - 1], *_context(MORE)]


# ── text ─────────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=128)
def _fallback(blocks: tuple[out.AnyOutBlock, ...]) -> str:
    """What a notification shows, and a client without blocks."""
    said: list[str] = []
    room = _FALLBACK
    for block in blocks:
        text = _said(block)
        if not text:
            continue
        if (taken := _bytes(text) + 2) > room:
            if room > _LEAST or not said:
                said.append(shortened(cards.document(block), room, mrkdwn.render, _bytes))
            break
        said.append(text)
        room -= taken
    return "\n\n".join(said)


@lru_cache(maxsize=128)
def _said(block: out.AnyOutBlock) -> str:
    text, title = mrkdwn.render(cards.document(block)), cards.title(block)
    return f"{mrkdwn.escaped(title)}\n{text}" if title and text else text


def _plain(message: Outgoing, buttons: bool) -> tuple[list[Json], str]:
    """No markup at all. Blocks only where the text alone would not hold it, or could not be answered."""
    words = "\n\n".join(filter(None, (_words(block) for block in message.blocks)))
    text = mrkdwn.escaped(words)
    if _bytes(text) <= _FALLBACK and not buttons:
        return [], text
    words = words if len(words) <= TEXT_LIMIT else words[:TEXT_LIMIT] + MORE
    sections = [_section(words[at : at + _SECTION]) for at in range(0, len(words), _SECTION)]
    while _bytes(text) > _FALLBACK:
        words = words[: len(words) * _FALLBACK // _bytes(text) - 1]
        text = mrkdwn.escaped(words) + MORE
    return sections, text


def _words(block: out.AnyOutBlock) -> str:
    return "\n".join(filter(None, (cards.title(block), md.plain(cards.document(block)))))


def _bytes(text: str) -> int:
    return len(text.encode())


# ── buttons ──────────────────────────────────────────────────────────────────────────────────────


def _actions(rows: tuple[tuple[out.Button, ...], ...]) -> list[Json]:
    """A block for each row, as long as there are few; else as few blocks as hold them."""
    rows = tuple(row for row in rows if row)
    if len(rows) > _ROWS_OF_BUTTONS or any(len(row) > _BUTTONS for row in rows):
        every = [button for row in rows for button in row]
        rows = tuple(tuple(every[at : at + _BUTTONS]) for at in range(0, len(every), _BUTTONS))[:_ROWS_OF_BUTTONS]
    return [
        {"type": "actions", "elements": [_button(button, f"press:{number}:{at}") for at, button in enumerate(row)]}
        for number, row in enumerate(rows)
    ]


def _button(button: out.Button, name: str) -> Json:
    label = cards.line(button.label) or MORE
    short = label if len(label) <= _LABEL else label[: _LABEL - 1] + MORE
    element: Json = {"type": "button", "action_id": name, "text": _plain_text(short)}
    if button.data:
        element["value"] = button.data[:_VALUE]
    if button.style != "plain":
        element["style"] = button.style
    return element


def _section(text: str) -> Json:
    return {"type": "section", "text": _plain_text(text if text.strip() else MORE)}


def _plain_text(text: str) -> Json:
    return {"type": "plain_text", "text": text, "emoji": False}
