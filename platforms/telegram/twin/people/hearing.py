"""Which messages of people the bot hears."""

from __future__ import annotations

from typing import TYPE_CHECKING

from platforms.telegram.twin.world.values import Message

if TYPE_CHECKING:
    from platforms.telegram.twin.twin import Twin


def hears(twin: Twin, message: Message) -> bool:
    """Privacy mode: in a group only commands, mentions, replies and service messages, unless it is off."""
    chat, bot = message.chat, twin.world.bot
    member = twin.world.member(chat, bot)
    if not member.is_in:
        return False
    if chat.type in ("private", "channel"):
        return True
    username = f"@{bot.username}".lower()
    text = message.content.text
    command = text.split(maxsplit=1)[0].lower() if text.startswith("/") else ""
    if "@" in command and not command.endswith(username):
        # A command that names another bot.
        return member.is_admin or twin.settings.can_read_all_group_messages
    if twin.settings.can_read_all_group_messages or member.is_admin or message.content.service is not None:
        return True
    answers = message.reply_to is not None and message.reply_to.sender is bot
    return bool(command) or answers or username in text.lower()
