"""Messages of words: sent, edited, deleted, reacted to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from platforms.telegram.twin import wire
from platforms.telegram.twin.call import Call, field
from platforms.telegram.twin.checks.keyboard import read_markup
from platforms.telegram.twin.checks.markup import parse_text
from platforms.telegram.twin.checks.reactions import known
from platforms.telegram.twin.checks.rich import read_rich
from platforms.telegram.twin.checks.text import CAPTION_LIMIT, TEXT_LIMIT, fitted, read_entities
from platforms.telegram.twin.errors import bad
from platforms.telegram.twin.methods.places import answered, chat_of, may_write, message_of, topic_of
from platforms.telegram.twin.methods.table import Method
from platforms.telegram.twin.world.values import Chat, Content, Entity, Message

if TYPE_CHECKING:
    from platforms.telegram.twin.twin import Twin

NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same as a current "
    "content and reply markup of the message"
)
DELETED_AT_ONCE = 100
DELETABLE_SECONDS = 48 * 3600
ACTIONS = {
    "typing",
    "upload_photo",
    "record_video",
    "upload_video",
    "record_voice",
    "upload_voice",
    "upload_document",
    "choose_sticker",
    "find_location",
    "record_video_note",
    "upload_video_note",
}


def words_of(
    twin: Twin, call: Call, *, name: str = "text", entities: str = "entities", limit: int = TEXT_LIMIT
) -> tuple[str, tuple[Entity, ...]]:
    """The text of a call with its entities, whichever way they were given."""
    text = call.text(name)
    if not text and limit == TEXT_LIMIT:
        raise bad("message text is empty")
    if mode := call.text("parse_mode"):
        plain, found = parse_text(text, mode)
    else:
        plain, found = text, read_entities(call.array(entities), twin.world.users)
    return fitted(plain, found, limit=limit, empty="text must be non-empty")


def posted(twin: Twin, call: Call, chat: Chat, content: Content, topic: int) -> Message:
    """What every sending method ends with: the budget, the message, and the end of a draft."""
    reply = answered(chat, call)
    if not topic and reply is not None:
        topic = reply.topic
    twin.meter.spend(chat)
    message = twin.world.post(
        chat,
        content,
        sender=None if chat.type == "channel" else twin.world.bot,
        topic=topic,
        reply_to=reply,
        silent=call.flag("disable_notification"),
    )
    twin.end_drafts(chat, topic)
    return message


def send_message(twin: Twin, call: Call) -> object:
    """sendMessage."""
    text, entities = words_of(twin, call)
    chat = chat_of(twin, call)
    may_write(twin, chat)
    topic = topic_of(twin, chat, call)
    content = Content(text, entities, read_markup(call.mapping("reply_markup")))
    return wire.message(posted(twin, call, chat, content, topic))


def edit_text(twin: Twin, call: Call) -> object:
    """editMessageText; its rich form is newer."""
    if call.has("rich_message") and twin.settings.api >= (10, 1):
        content = Content(rich=read_rich(call, blocks=twin.settings.api >= (10, 2)))
    else:
        text, entities = words_of(twin, call)
        content = Content(text, entities)
    message = _own(twin, call)
    if message.content.media is not None or message.content.service is not None:
        raise bad("there is no text in the message to edit")
    keyboard = read_markup(call.mapping("reply_markup"))
    return _edited(twin, message, Content(content.text, content.entities, keyboard, rich=content.rich))


def edit_keyboard(twin: Twin, call: Call) -> object:
    """editMessageReplyMarkup."""
    message = _own(twin, call)
    old = message.content
    keyboard = read_markup(call.mapping("reply_markup"))
    return _edited(twin, message, Content(old.text, old.entities, keyboard, old.media, old.rich), hidden=True)


def edit_caption(twin: Twin, call: Call) -> object:
    """editMessageCaption."""
    text, entities = words_of(twin, call, name="caption", entities="caption_entities", limit=CAPTION_LIMIT)
    message = _own(twin, call)
    if message.content.media is None:
        raise bad("there is no caption in the message to edit")
    keyboard = read_markup(call.mapping("reply_markup"))
    return _edited(twin, message, Content(text, entities, keyboard, message.content.media))


def _own(twin: Twin, call: Call) -> Message:
    """The bot's own message that a call edits."""
    chat = chat_of(twin, call)
    may_write(twin, chat)
    message = message_of(chat, call, "message to edit not found")
    mine = message.sender is twin.world.bot or (chat.type == "channel" and message.sender is None)
    if not mine or message.content.service is not None:
        raise bad("message can't be edited")
    return message


def _edited(twin: Twin, message: Message, content: Content, *, hidden: bool = False) -> object:
    twin.meter.spend(message.chat)
    if content == message.content:
        raise bad(NOT_MODIFIED)
    twin.world.edit(message, content, who=twin.world.bot.name, hidden=hidden)
    return wire.message(message)


def delete_message(twin: Twin, call: Call) -> object:
    """deleteMessage."""
    chat = chat_of(twin, call)
    message = message_of(chat, call, "message to delete not found")
    _check_deletable(twin, message)
    twin.world.delete(message, who=twin.world.bot.name)
    return True


def _check_deletable(twin: Twin, message: Message) -> None:
    chat = message.chat
    mine = message.sender is twin.world.bot
    admin = chat.type != "private" and twin.world.member(chat, twin.world.bot).is_admin
    if not (mine or admin or chat.type == "private"):
        raise bad("message can't be deleted for everyone")
    if not admin and twin.world.clock.now() - message.at > DELETABLE_SECONDS:
        raise bad("message can't be deleted for everyone")


def delete_messages(twin: Twin, call: Call) -> object:
    """deleteMessages; those that are gone are skipped."""
    chat = chat_of(twin, call)
    numbers = call.array("message_ids")
    if not numbers:
        raise bad("message identifiers are not specified")
    if len(numbers) > DELETED_AT_ONCE:
        raise bad("too many message identifiers specified")
    for number in numbers:
        message = chat.messages.get(number) if isinstance(number, int) else None
        if message is not None and not message.deleted:
            _check_deletable(twin, message)
            twin.world.delete(message, who=twin.world.bot.name)
    return True


def set_reaction(twin: Twin, call: Call) -> object:
    """setMessageReaction: one emoji of the fixed list, or none."""
    chat = chat_of(twin, call)
    message = message_of(chat, call, "message to react not found")
    wanted: list[str] = []
    for one in call.array("reaction"):
        if not isinstance(one, dict) or field(one, "type") != "emoji":
            raise bad("REACTION_INVALID")
        wanted.append(field(one, "emoji"))
    if not all(map(known, wanted)):
        raise bad("REACTION_INVALID")
    if len(wanted) > 1:
        raise bad("REACTIONS_TOO_MANY")  # from memory
    twin.world.react(message, twin.world.bot, tuple(wanted))
    return True


def send_action(twin: Twin, call: Call) -> object:
    """sendChatAction: "typing" for five seconds."""
    chat = chat_of(twin, call)
    may_write(twin, chat)
    topic = topic_of(twin, chat, call)
    action = call.text("action").lower()
    if not action:
        raise bad("parameter action is required")  # from memory
    if action not in ACTIONS:
        raise bad("wrong parameter action in request")
    twin.world.note(chat, twin.world.bot.name, "typing", topic=topic, note=action)
    return True


METHODS = (
    Method("sendMessage", send_message),
    Method("editMessageText", edit_text),
    Method("editMessageReplyMarkup", edit_keyboard),
    Method("editMessageCaption", edit_caption),
    Method("deleteMessage", delete_message),
    Method("deleteMessages", delete_messages),
    Method("setMessageReaction", set_reaction),
    Method("sendChatAction", send_action),
)
