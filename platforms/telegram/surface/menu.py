"""What people find in Telegram's own menus: commands, icons of topics, and what BotFather should be told. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from beambot.api import Check, CommandInfo, Receipt, ThreadState
from platforms.telegram.receiving.schema import Me

COMMANDS, DESCRIPTION = 100, 256
_NAME = re.compile(r"[a-z0-9_]{1,32}")
_VARIATION = "\N{VARIATION SELECTOR-16}"

# Of the few emoji that a bot may react with.
REACTIONS: dict[Receipt, str] = {
    "received": "👀",
    "queued": "🫡",
    "working": "✍",
    "waiting": "🤔",
    "done": "👍",
    "failed": "💔",
    "cancelled": "🤷",
}
# Of the emoji that a topic can have as its icon, those that say it best; the first that there is.
_ICONS: dict[ThreadState, tuple[str, ...]] = {
    "idle": ("✅", "☑", "💬", "🏁"),
    "working": ("⚡", "🔥", "💻", "🔝"),
    "waiting": ("❓", "⁉", "❗", "🗣"),
    "failed": ("‼", "❗", "📉", "🔞"),
    "closed": ("🏁", "📁", "🎖"),
}


def listed(commands: Iterable[CommandInfo]) -> list[tuple[str, str]]:
    """The commands that Telegram can list, with what they do."""
    found: list[tuple[str, str]] = []
    for command in commands:
        words = f"{command.args} — {command.help}" if command.args else command.help
        if _NAME.fullmatch(command.name):
            found.append((command.name, " ".join(words.split())[:DESCRIPTION] or command.name))
    return found[:COMMANDS]


def icon(state: ThreadState, known: Mapping[str, str]) -> str:
    """The custom emoji for a state, of those that are known by their plain emoji; nothing where none fits."""
    return next((known[emoji] for emoji in _ICONS[state] if emoji in known), "")


def plain_emoji(emoji: str) -> str:
    """The same emoji without the sign that asks for its colours."""
    return emoji.replace(_VARIATION, "")


def findings(me: Me) -> list[Check]:
    """What the owner of the bot may want to know, and where it is changed."""
    found = [Check("ok", f"the Telegram bot is @{me.username}")]
    if not me.can_join_groups:
        found.append(Check("warn", "the bot cannot be added to groups", "in @BotFather: /setjoingroups, Enable"))
    if not me.can_read_all_group_messages:
        words = (
            "privacy mode is on: in groups the bot hears only commands, replies to it and its own name. That is "
            "enough for reply chains; in a topic people have to reply"
        )
        fix = (
            "make the bot an administrator of the group, or switch privacy mode off in @BotFather (/setprivacy, "
            "Disable) and add the bot to the group again"
        )
        found.append(Check("ok", words, fix))
    if not me.has_topics_enabled:
        words = (
            "private chats have no topics: each person has one session at a time there, and more as reply chains"
        )
        found.append(Check("ok", words, "in @BotFather, Bot Settings, Threaded Mode gives each session a topic"))
    return found


def webhook_findings(address: str, trouble: str, receive: str) -> list[Check]:
    """What stands in the way of receiving."""
    if receive == "polling" and address:
        words = "another program has set a webhook for this bot; beambot takes it away when it starts"
        return [Check("warn", words, "if that program is still needed, give it a bot of its own")]
    if receive == "webhook" and trouble:
        words = f"Telegram could not reach the webhook: {trouble}"
        return [Check("warn", words, "see whether `webhook_url` leads to this machine")]
    return []
