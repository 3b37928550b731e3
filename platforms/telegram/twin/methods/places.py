"""Where a call acts: the chat, the topic and the message it names, each with the refusals of the real server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from platforms.telegram.twin.call import Call, whole
from platforms.telegram.twin.errors import bad, forbidden
from platforms.telegram.twin.world.values import GENERAL, Chat, Message, Topic

if TYPE_CHECKING:
    from platforms.telegram.twin.twin import Twin


def chat_of(twin: Twin, call: Call, name: str = "chat_id") -> Chat:
    """The chat of a call; the bot must be in it."""
    text = call.text(name)
    if not text:
        raise bad(f"{name} is empty")
    chat = twin.world.chats.get(call.number(name))
    if chat is None and text.startswith("@"):
        chat = next((one for one in twin.world.chats.values() if one.username and one.username == text[1:]), None)
    if chat is None:
        if (user := twin.world.users.get(call.number(name))) and not user.is_bot:
            # A person the bot has heard of, and who never wrote to it.
            raise forbidden("bot can't initiate conversation with a user")
        raise bad("chat not found")
    if chat.migrated_to:
        raise bad("group chat was upgraded to a supergroup chat", migrate_to_chat_id=chat.migrated_to)
    return chat


def may_write(twin: Twin, chat: Chat) -> None:
    """Whether the bot may write here at all."""
    if chat.type == "private":
        if chat.blocked:
            raise forbidden("bot was blocked by the user")
        if not chat.started:
            raise forbidden("bot can't initiate conversation with a user")
        return
    member = twin.world.member(chat, twin.world.bot)
    where = "group" if chat.type == "group" else f"{chat.type}"
    if member.status == "kicked":
        raise forbidden(f"bot was kicked from the {where} chat")
    if not member.is_in:
        raise forbidden(f"bot is not a member of the {where} chat")
    if not member.may_write:
        raise bad("not enough rights to send text messages to the chat")


def topic_of(twin: Twin, chat: Chat, call: Call) -> int:
    """The topic of a call, which must be there and open."""
    number = call.number("message_thread_id")
    if not number:
        return GENERAL
    # General is 1 in every forum, and yet a message for it must name no topic. From memory of many reports.
    topic = chat.topics.get(number)
    if topic is None:
        raise bad("message thread not found")
    check_open(twin, chat, topic)
    return topic.id


def check_open(twin: Twin, chat: Chat, topic: Topic) -> None:
    """A closed topic takes messages of administrators only."""
    if topic.closed and not twin.world.member(chat, twin.world.bot).is_admin:
        raise bad("TOPIC_CLOSED")


def message_of(chat: Chat, call: Call, missing: str) -> Message:
    """The message of a call, which must stand."""
    message = chat.messages.get(call.number("message_id"))
    if message is None or message.deleted:
        raise bad(missing)
    return message


def answered(chat: Chat, call: Call) -> Message | None:
    """The message that this one replies to."""
    parameters = call.mapping("reply_parameters")
    if not parameters:
        if not call.has("reply_to_message_id"):
            return None
        parameters = {"message_id": call.number("reply_to_message_id")}
        parameters["allow_sending_without_reply"] = call.flag("allow_sending_without_reply")
    if "message_id" not in parameters:
        raise bad('can\'t find field "message_id"')
    message = chat.messages.get(whole(parameters, "message_id"))
    if message is None or message.deleted:
        if parameters.get("allow_sending_without_reply"):
            return None
        raise bad("message to be replied not found")
    return message
