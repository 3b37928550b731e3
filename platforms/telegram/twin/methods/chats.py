"""Chats and who is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from platforms.telegram.twin import wire
from platforms.telegram.twin.call import Call
from platforms.telegram.twin.errors import bad
from platforms.telegram.twin.methods.places import chat_of, may_write
from platforms.telegram.twin.methods.table import Method
from platforms.telegram.twin.world.values import Json, Member

if TYPE_CHECKING:
    from platforms.telegram.twin.twin import Twin


def get_chat(twin: Twin, call: Call) -> object:
    """getChat."""
    chat = chat_of(twin, call)
    made: Json = {
        **wire.chat(chat),
        "accent_color_id": 0,
        "max_reaction_count": 11,
        "accepted_gift_types": {
            "unlimited_gifts": True,
            "limited_gifts": True,
            "unique_gifts": True,
            "premium_subscription": True,
            "gifts_from_channels": True,
        },
    }
    if chat.type in ("group", "supergroup"):
        made["permissions"] = {"can_send_messages": True, "can_manage_topics": True}
    return made


def get_member(twin: Twin, call: Call) -> object:
    """getChatMember."""
    chat = chat_of(twin, call)
    may_write(twin, chat)
    user = twin.world.users.get(call.number("user_id"))
    if user is None:
        raise bad("invalid user_id specified")
    return wire.member(twin.world.member(chat, user))


def get_admins(twin: Twin, call: Call) -> object:
    """getChatAdministrators."""
    chat = chat_of(twin, call)
    if chat.type == "private":
        raise bad("there are no administrators in the private chat")
    return [wire.member(member) for member in chat.members.values() if member.is_admin]


def count_members(twin: Twin, call: Call) -> object:
    """getChatMemberCount."""
    return sum(member.is_in for member in chat_of(twin, call).members.values())


def leave(twin: Twin, call: Call) -> object:
    """leaveChat."""
    chat = chat_of(twin, call)
    if chat.type == "private":
        raise bad("chat member status can't be changed in private chats")  # from memory
    chat.members[twin.bot.id] = Member(twin.bot, "left")
    twin.world.note(chat, twin.bot.name, "left")
    return True


METHODS = (
    Method("getChat", get_chat),
    Method("getChatMember", get_member),
    Method("getChatAdministrators", get_admins),
    Method("getChatMemberCount", count_members),
    Method("leaveChat", leave),
)
