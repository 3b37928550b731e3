"""Presses of buttons, answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from platforms.telegram.twin.call import Call
from platforms.telegram.twin.errors import bad
from platforms.telegram.twin.methods.table import Method

if TYPE_CHECKING:
    from platforms.telegram.twin.twin import Twin

TOAST_LIMIT = 200


def answer_press(twin: Twin, call: Call) -> object:
    """answerCallbackQuery. It costs nothing of any budget."""
    press = twin.presses.get(call.text("callback_query_id"))
    late = press is not None and twin.world.clock.now() - press.at > twin.settings.press_seconds
    if press is None or press.answered or late:
        raise bad("query is too old and response timeout expired or query ID is invalid")
    text = call.text("text")
    if len(text) > TOAST_LIMIT:
        raise bad("MESSAGE_TOO_LONG")  # from memory
    press.answered, press.toast, press.alert = True, text, call.flag("show_alert")
    press.url = call.text("url")
    twin.world.note(
        press.message.chat,
        twin.world.bot.name,
        "alerted" if press.alert else "answered",
        topic=press.message.topic,
        note=text,
    )
    return True


METHODS = (Method("answerCallbackQuery", answer_press),)
