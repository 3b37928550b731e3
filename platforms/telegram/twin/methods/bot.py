"""The bot itself: who it is, its commands, how it hears."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from platforms.telegram.twin import wire
from platforms.telegram.twin.call import Call, field
from platforms.telegram.twin.errors import bad
from platforms.telegram.twin.methods.places import chat_of
from platforms.telegram.twin.methods.table import Method
from platforms.telegram.twin.world.values import Json

if TYPE_CHECKING:
    from platforms.telegram.twin.twin import Twin

COMMANDS = 100
_COMMAND = re.compile(r"[a-z0-9_]{1,32}")
_SCOPES = {
    "default",
    "all_private_chats",
    "all_group_chats",
    "all_chat_administrators",
    "chat",
    "chat_administrators",
    "chat_member",
}


def get_me(twin: Twin, _: Call) -> object:
    """getMe."""
    settings = twin.settings
    return {
        **wire.user(twin.world.bot),
        "can_join_groups": True,
        "can_read_all_group_messages": settings.can_read_all_group_messages,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
        "has_topics_enabled": settings.has_topics_enabled,
        "allows_users_to_create_topics": settings.allows_users_to_create_topics,
    }


def _scope(call: Call) -> str:
    scope = call.mapping("scope") or {"type": "default"}
    kind = field(scope, "type")
    if kind not in _SCOPES:
        raise bad("can't parse BotCommandScope: Unsupported type specified")
    place = f":{scope.get('chat_id', '')}:{scope.get('user_id', '')}" if kind.startswith("chat") else ""
    return f"{kind}{place}|{call.text('language_code')}"


def set_commands(twin: Twin, call: Call) -> object:
    """setMyCommands."""
    scope = _scope(call)
    commands: list[Json] = []
    for one in call.array("commands"):
        if not isinstance(one, dict):
            raise bad("expected an Object as BotCommand")
        name, description = field(one, "command").removeprefix("/"), field(one, "description")
        if not _COMMAND.fullmatch(name):
            raise bad("BOT_COMMAND_INVALID")
        if not 1 <= len(description) <= 256:
            raise bad("BOT_COMMAND_DESCRIPTION_INVALID")
        commands.append({"command": name, "description": description})
    if len(commands) > COMMANDS:
        raise bad("BOT_COMMANDS_TOO_MUCH")
    twin.commands[scope] = commands
    return True


def get_commands(twin: Twin, call: Call) -> object:
    """getMyCommands."""
    return twin.commands.get(_scope(call), [])


def delete_commands(twin: Twin, call: Call) -> object:
    """deleteMyCommands."""
    twin.commands.pop(_scope(call), None)
    return True


def set_menu_button(twin: Twin, call: Call) -> object:
    """setChatMenuButton: for one chat, or for all."""
    button = call.mapping("menu_button") or {"type": "default"}
    if call.has("chat_id"):
        chat_of(twin, call).menu_button = button
    else:
        twin.menu_button = button
    return True


def get_menu_button(twin: Twin, call: Call) -> object:
    """getChatMenuButton."""
    return chat_of(twin, call).menu_button if call.has("chat_id") else twin.menu_button


def describe(twin: Twin, call: Call) -> object:
    """setMyDescription, setMyShortDescription, setMyName: kept as they are."""
    twin.described[call.method.lower()] = (
        call.text("description") or call.text("short_description") or call.text("name")
    )
    return True


def set_webhook(twin: Twin, call: Call) -> object:
    """setWebhook. Unlike the public server this one takes http, as a local Bot API server does."""
    url = call.text("url")
    if url and not url.startswith(("http://", "https://")):
        raise bad("bad webhook: An HTTPS URL must be provided for webhook")
    secret = call.text("secret_token")
    if len(secret) > 256:
        raise bad("secret token is too long")
    if not re.fullmatch(r"[A-Za-z0-9_-]*", secret):
        raise bad("secret token contains unallowed characters")
    _allow(twin, call)
    if call.flag("drop_pending_updates"):
        twin.updates.drop()
    twin.webhook.set(url, secret)
    return True


def delete_webhook(twin: Twin, call: Call) -> object:
    """deleteWebhook."""
    if call.flag("drop_pending_updates"):
        twin.updates.drop()
    twin.webhook.set("", "")
    return True


def webhook_info(twin: Twin, _: Call) -> object:
    """getWebhookInfo."""
    made: Json = {
        "url": twin.updates.webhook_url,
        "has_custom_certificate": False,
        "pending_update_count": len(twin.updates.waiting),
        "max_connections": 40,
    }
    if twin.webhook.last_error:
        made["last_error_date"] = int(twin.webhook.last_error_at)
        made["last_error_message"] = twin.webhook.last_error
    if twin.updates.allowed:
        made["allowed_updates"] = list(twin.updates.allowed)
    return made


async def get_updates(twin: Twin, call: Call) -> object:
    """getUpdates."""
    _allow(twin, call)
    return await twin.updates.poll(call.number("offset"), call.number("limit", 100), call.number("timeout"))


def _allow(twin: Twin, call: Call) -> None:
    """What the bot wants to hear of from now on; nothing said, nothing changed."""
    if call.arguments.get("allowed_updates") is not None:
        twin.updates.allowed = tuple(msgspec.convert(call.array("allowed_updates"), list[str]))


METHODS = (
    Method("getMe", get_me),
    Method("getUpdates", get_updates),
    Method("setWebhook", set_webhook),
    Method("deleteWebhook", delete_webhook),
    Method("getWebhookInfo", webhook_info),
    Method("setMyCommands", set_commands),
    Method("getMyCommands", get_commands),
    Method("deleteMyCommands", delete_commands),
    Method("setChatMenuButton", set_menu_button),
    Method("getChatMenuButton", get_menu_button),
    Method("setMyDescription", describe),
    Method("setMyShortDescription", describe),
    Method("setMyName", describe),
    Method("logOut", lambda _twin, _call: True),
    Method("close", lambda _twin, _call: True),
)
