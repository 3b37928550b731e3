"""The methods of the Bot API, by subject; a table finds each by its name."""

from __future__ import annotations

from platforms.telegram.twin.methods import bot, chats, media, messages, presses, rich, topics
from platforms.telegram.twin.methods.table import Method

METHODS: dict[str, Method] = {
    method.name.lower(): method
    for group in (bot, chats, media, messages, presses, rich, topics)
    for method in group.METHODS
}
