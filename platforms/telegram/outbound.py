"""A message as the arguments of sendMessage and editMessageText. Pure; where it goes is said elsewhere."""

from __future__ import annotations

from functools import lru_cache

import msgspec
from msgspec import Struct

from beambot.api import Outgoing
from beambot.api import markdown as md
from beambot.api import outbound as out
from platforms.telegram.drawing import cards
from platforms.telegram.drawing.canvas import Formatted, cut, joined, units
from platforms.telegram.drawing.pings import unpinged
from platforms.telegram.drawing.spans import one_line
from platforms.telegram.entities import render

Json = dict[str, object]

TEXT_LIMIT = 4096
ENTITY_LIMIT = 100
# What one entity takes of a message's room, so that a full message has no more than it may have.
_ENTITY_COST = -(-TEXT_LIMIT // ENTITY_LIMIT)
_BETWEEN = "\n\n"
_NOTHING = "…"
_LONGEST_NAME = 64
_PLACEHOLDER = 64
_BUTTONS, _BUTTONS_IN_ROW, _DATA_BYTES = 100, 8, 64


class Called(Struct, frozen=True):
    """A person who is called by name at the head of a message."""

    id: int
    name: str


def payload(message: Outgoing, called: Called | None = None) -> Json:
    """Text, entities, keyboard and manner of one message."""
    if message.plain:
        words = _plain(message)
        shown = Formatted(words, units=units(words))
    else:
        shown = joined([drawn(block) for block in message.blocks], _BETWEEN)
    name = one_line(called.name)[:_LONGEST_NAME] if called is not None else ""
    lead = units(name) + 1 if name else 0
    shown = cut(shown, TEXT_LIMIT - lead, ENTITY_LIMIT - bool(name))
    entities: list[Json] = msgspec.to_builtins(list(shown.entities))
    if called is not None and name:
        entities = [
            {**one, "offset": entity.offset + lead} for one, entity in zip(entities, shown.entities, strict=True)
        ]
        entities.insert(0, {"type": "text_mention", "offset": 0, "length": lead - 1, "user": {"id": called.id}})
    arguments: Json = {
        "text": f"{name}\n{shown.text}".strip() if name else shown.text or _NOTHING,
        "link_preview_options": {"is_disabled": True},
        "disable_notification": not message.loud,
    }
    if entities:
        arguments["entities"] = entities
    if markup := reply_markup(message):
        arguments["reply_markup"] = markup
    return arguments


def reply_markup(message: Outgoing) -> Json:
    """Buttons, or the field for an answer opened at once: a message has the one or the other."""
    if rows := keyboard(message.buttons):
        return {"inline_keyboard": rows}
    if message.wants_reply:
        return {
            "force_reply": True,
            "input_field_placeholder": one_line(message.wants_reply)[:_PLACEHOLDER] or _NOTHING,
        }
    return {}


def measure(block: out.AnyOutBlock) -> int:
    """How much of the room of a message one block takes, without what stands between blocks."""
    shown = drawn(block)
    return max(shown.units, _ENTITY_COST * len(shown.entities))


@lru_cache(maxsize=128)
def drawn(block: out.AnyOutBlock) -> Formatted:
    """One block, drawn once for being measured and being sent."""
    if isinstance(block, out.Markdown):
        document = md.parse(block.text, block.skip, block.open)
        return render(document, folded=block.folded, under=block.under)
    return cards.draw(block)


def keyboard(rows: tuple[tuple[out.Button, ...], ...]) -> list[list[Json]]:
    """Buttons as Telegram takes them: few enough, and each with data that fits."""
    shown: list[list[Json]] = []
    left = _BUTTONS
    for row in rows:
        # One button that Telegram refuses would cost the whole message.
        buttons = [_button(one) for one in row if 1 <= len(one.data.encode()) <= _DATA_BYTES][:left]
        left -= len(buttons)
        shown += [buttons[at : at + _BUTTONS_IN_ROW] for at in range(0, len(buttons), _BUTTONS_IN_ROW)]
    return shown


def _button(button: out.Button) -> Json:
    face: Json = {"text": one_line(button.label) or _NOTHING, "callback_data": button.data}
    if button.style != "plain":
        face["style"] = button.style
    return face


def _plain(message: Outgoing) -> str:
    """Words only, each link with its address where there is room for it."""
    said = [_plain_block(block) for block in message.blocks]
    text = unpinged(_BETWEEN.join(words for words in said if words))
    if units(text) > TEXT_LIMIT:
        text = unpinged(_BETWEEN.join(words for words in (drawn(block).text for block in message.blocks) if words))
    return cut(Formatted(text, units=units(text)), TEXT_LIMIT, ENTITY_LIMIT).text


def _plain_block(block: out.AnyOutBlock) -> str:
    if not isinstance(block, out.Markdown):
        return drawn(block).text
    text = md.plain(md.parse(block.text, block.skip, block.open)).strip()
    title = one_line(block.under)
    return f"{title}:\n{text}" if title and text else text
