"""Topics: of forums, and of private chats where the bot has them switched on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from platforms.telegram.twin.call import Call
from platforms.telegram.twin.errors import bad
from platforms.telegram.twin.methods.places import chat_of, may_write
from platforms.telegram.twin.methods.table import Method
from platforms.telegram.twin.world.values import Chat, Content, Json, Topic

if TYPE_CHECKING:
    from platforms.telegram.twin.twin import Twin

NAME_LIMIT = 128
COLORS = (0x6FB9F0, 0xFFD67E, 0xCB86DB, 0x8EEE98, 0xFF93B2, 0xFB6F5F)
# Icons as the public set has them; the ids are the twin's own.
ICONS = {
    "5357315181649076022": "📁",
    "5309832892262654231": "🤖",
    "5310029292527164639": "⏳",
    "5237699328843200968": "✅",
    "5379748062124056162": "❗️",
    "5377316857231450742": "❓",
    "5312536423851630001": "💡",
    "5312016608254762256": "⚡️",
    "5348436127038579546": "💻",
    "5310228579009699834": "🎉",
}


def _forum(twin: Twin, call: Call) -> Chat:
    chat = chat_of(twin, call)
    may_write(twin, chat)
    has = twin.settings.has_topics_enabled if chat.type == "private" else chat.is_forum
    if not has:
        raise bad("the chat is not a forum")
    return chat


def _manages(twin: Twin, chat: Chat, topic: Topic | None = None) -> bool:
    member = twin.world.member(chat, twin.bot)
    return (
        chat.type == "private" or member.may_manage_topics or (topic is not None and topic.creator == twin.bot.id)
    )


def _topic(twin: Twin, chat: Chat, call: Call) -> Topic:
    topic = chat.topics.get(call.number("message_thread_id"))
    if topic is None:
        raise bad("TOPIC_ID_INVALID")
    if not _manages(twin, chat, topic):
        raise bad("not enough rights to manage forum topics")  # from memory
    return topic


def _name(call: Call) -> str:
    name = call.text("name").strip()
    if not name:
        raise bad("topic name must be non-empty")  # from memory
    # The server cuts longer names; the documentation allows 128 characters.
    return name[:NAME_LIMIT]


def _icon(call: Call) -> str:
    icon = call.text("icon_custom_emoji_id")
    if icon and icon not in ICONS:
        raise bad("DOCUMENT_INVALID")  # from memory
    return icon


def create(twin: Twin, call: Call) -> object:
    """createForumTopic. It counts as a message."""
    chat = _forum(twin, call)
    if not _manages(twin, chat):
        raise bad("not enough rights to create a topic")
    name, icon = _name(call), _icon(call)
    color = call.number("icon_color", COLORS[0])
    if color not in COLORS:
        raise bad("invalid icon color specified")  # from memory
    twin.meter.spend(chat)
    made = twin.world.open_topic(chat, name, twin.bot, color=color, emoji=icon, implicit=False)
    answer: Json = {"message_thread_id": made.topic, "name": name, "icon_color": color}
    if icon:
        answer["icon_custom_emoji_id"] = icon
    return answer


def edit(twin: Twin, call: Call) -> object:
    """editForumTopic: the name, the icon, or both."""
    chat = _forum(twin, call)
    topic = _topic(twin, chat, call)
    name = _name(call) if call.has("name") else topic.name
    icon = _icon(call) if "icon_custom_emoji_id" in call.arguments else topic.emoji
    if (name, icon) == (topic.name, topic.emoji):
        raise bad("TOPIC_NOT_MODIFIED")
    changed: Json = {}
    if name != topic.name:
        changed["name"] = name
    if icon != topic.emoji:
        changed["icon_custom_emoji_id"] = icon
    twin.meter.spend(chat)
    topic.name, topic.emoji, topic.implicit = name, icon, False
    _serve(twin, chat, topic, {"forum_topic_edited": changed})
    return True


def close(twin: Twin, call: Call) -> object:
    """closeForumTopic, in supergroups."""
    return _set_closed(twin, call, closed=True)


def reopen(twin: Twin, call: Call) -> object:
    """reopenForumTopic, in supergroups."""
    return _set_closed(twin, call, closed=False)


def _set_closed(twin: Twin, call: Call, *, closed: bool) -> bool:
    chat = _forum(twin, call)
    if chat.type == "private":
        raise bad("the chat is not a supergroup")  # from memory
    topic = _topic(twin, chat, call)
    if topic.closed == closed:
        raise bad("TOPIC_NOT_MODIFIED")
    topic.closed = closed
    _serve(twin, chat, topic, {"forum_topic_closed": {}} if closed else {"forum_topic_reopened": {}})
    return True


def delete(twin: Twin, call: Call) -> object:
    """deleteForumTopic, with all its messages."""
    chat = _forum(twin, call)
    twin.world.drop_topic(chat, _topic(twin, chat, call), twin.bot.name)
    return True


def icons(_: Twin, __: Call) -> object:
    """getForumTopicIconStickers."""
    return [
        {
            "file_id": f"CAACAgIAAx{number}",
            "file_unique_id": f"AgAD{number[-8:]}",
            "type": "custom_emoji",
            "width": 512,
            "height": 512,
            "is_animated": True,
            "is_video": False,
            "emoji": emoji,
            "custom_emoji_id": number,
            "set_name": "Topics",
        }
        for number, emoji in ICONS.items()
    ]


def _serve(twin: Twin, chat: Chat, topic: Topic, service: Json) -> None:
    twin.world.post(chat, Content(service=service), sender=twin.bot, topic=topic.id)


METHODS = (
    Method("createForumTopic", create),
    Method("editForumTopic", edit),
    Method("closeForumTopic", close),
    Method("reopenForumTopic", reopen),
    Method("deleteForumTopic", delete),
    Method("getForumTopicIconStickers", icons),
)
