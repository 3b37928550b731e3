"""The same messages as laid-out components: twice the room, an accent for beambot's own voice. Pure.

A message that was once sent in this form keeps it: Discord takes no edit back to `content`.
"""

from __future__ import annotations

from beambot.api import Outgoing
from beambot.api import outbound as out
from platforms.discord.outbound import Component, Payload, button_rows, plain, quiet, shown
from platforms.discord.shorten import shorten

IS_COMPONENTS_V2 = 1 << 15
V2_TEXT, V2_COMPONENTS = 4000, 40
TEXT_DISPLAY, SEPARATOR, CONTAINER = 10, 14, 17

_BETWEEN = "\n\n"
_COLOURS = {"info": 0x5865F2, "ask": 0xFAA61A, "success": 0x3BA55D, "warning": 0xF57C00, "error": 0xED4245}
_URGENCY = ("info", "success", "ask", "warning", "error")


def v2_payload(message: Outgoing) -> Payload:
    """A message as one container with a text for each block."""
    rows = button_rows(message)
    taken = 1 + sum(1 + len(row["components"]) for row in rows)
    parts = _fitting(_texts(message), V2_COMPONENTS - taken)
    container: Component = {"type": CONTAINER, "components": [*parts, *rows]}
    levels = [block.level for block in message.blocks if isinstance(block, out.Notice)]
    if levels:
        container["accent_color"] = _COLOURS[max(levels, key=_URGENCY.index)]
    return {
        "components": [container],
        "flags": IS_COMPONENTS_V2 | quiet(message),
        "allowed_mentions": {"parse": []},
    }


def v2_measure(block: out.AnyOutBlock) -> int:
    """What one block takes of the text of all parts, with what joins it to the next where parts are too many."""
    return len(shown(block)) + len(_BETWEEN)


def _texts(message: Outgoing) -> list[tuple[str, bool]]:
    """Each part's text, and whether a line is drawn above it."""
    if message.plain:
        return [(plain(message), False)]
    texts = [(shown(block), isinstance(block, out.Footer)) for block in message.blocks]
    return [(text, ruled) for text, ruled in texts if text.strip()] or [("…", False)]


def _fitting(texts: list[tuple[str, bool]], most: int) -> list[Component]:
    """As many parts as are allowed, with as much text: the first ones are joined where there are too many."""
    lines = sum(ruled for _, ruled in texts[1:])
    if len(texts) + lines > most:
        texts = [(text, False) for text, _ in texts]
        joined = len(texts) - most + 1
        if joined > 1:
            texts = [(_BETWEEN.join(text for text, _ in texts[:joined]), False), *texts[joined:]]
    parts: list[Component] = []
    room = V2_TEXT
    for at, (text, ruled) in enumerate(texts):
        if room < min(len(text), 40):
            break
        if ruled and at:
            parts.append({"type": SEPARATOR, "divider": True, "spacing": 1})
        short = shorten(text, room)
        parts.append({"type": TEXT_DISPLAY, "content": short})
        room -= len(short)
    return parts
