"""What an update of the Bot API means to beambot. Pure: where it belongs is looked up before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from beambot.api import Inbound, Sender, ThreadRef
from beambot.api import inbound as into
from platforms.telegram.receiving.files import attachments
from platforms.telegram.receiving.schema import CallbackQuery, Chat, Entity, Me, Message, Stopped, User
from platforms.telegram.receiving.words import said, without_mention

PLATFORM = "telegram"
# A thread that is a chain of replies is named after the message at its root; a topic by its number alone.
_CHAIN = "r"


class Place(Struct, frozen=True):
    """Where a message belongs; `ours` says that beambot takes part there already."""

    thread: ThreadRef
    ours: bool = False


def chain(root: int | str) -> str:
    """The thread that hangs on this message."""
    return f"{_CHAIN}{root}"


def root_of(thread: ThreadRef) -> int:
    """The message that a chain hangs on; 0 for a topic or a whole chat."""
    number = thread.thread.removeprefix(_CHAIN)
    return int(number) if number != thread.thread and number.isdigit() else 0


def topic_of(thread: ThreadRef) -> int:
    """The number of a topic; 0 for a chain or a whole chat."""
    return int(thread.thread) if thread.thread.isdigit() else 0


def is_private(chat: str) -> bool:
    """A private chat has the positive id of its person; the ids of groups are negative."""
    return not chat.startswith("-")


# ── who ──────────────────────────────────────────────────────────────────────────────────────────────


def sender_of(message: Message, senders: Mapping[str, str]) -> Sender:
    """Who wrote it. Whoever speaks as a chat is nobody beambot knows, unless `senders` says whom it stands for."""
    chat = message.sender_chat
    if chat is not None:
        kind = "anonymous" if chat.id == message.chat.id else "channel"
        return Sender(senders.get(str(chat.id), f"{kind}:{chat.id}"), chat.name)
    if message.from_ is None:
        return Sender(f"nobody:{message.chat.id}", message.chat.name)
    return person(message.from_)


def person(user: User) -> Sender:
    """A user, by the id that never changes."""
    return Sender(str(user.id), user.name, user.is_bot)


# ── for whom ─────────────────────────────────────────────────────────────────────────────────────────


def is_addressed(message: Message, me: Me) -> bool:
    """Whether it speaks to the bot: a command, its name, or a reply to it."""
    replied = message.reply_to_message
    if replied is not None and replied.from_ is not None and replied.from_.id == me.id and not is_opening(replied):
        return True
    text = message.text or message.caption
    for entity in message.entities or message.caption_entities:
        words = cut_out(text, entity)
        if entity.type == "bot_command" and entity.offset == 0 and is_for(words, me):
            return True
        if entity.type == "mention" and words.casefold() == f"@{me.username}".casefold():
            return True
        if entity.type == "text_mention" and entity.user is not None and entity.user.id == me.id:
            return True
    return False


def is_opening(message: Message) -> bool:
    """Every message of a topic seems to answer the one that opened it."""
    return message.forum_topic_created is not None


def is_for(command: str, me: Me) -> bool:
    """`/stop@other_bot` is not for us."""
    name = command.partition("@")[2]
    return not name or name.casefold() == me.username.casefold()


def cut_out(text: str, entity: Entity) -> str:
    """The words of an entity, which is counted in UTF-16 units."""
    units = text.encode("utf-16-le")
    return units[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le", "replace")


# ── what ─────────────────────────────────────────────────────────────────────────────────────────────


def written(
    update: int, parts: Sequence[Message], place: Place, me: Me, senders: Mapping[str, str]
) -> Inbound | None:
    """A message, or an album as one message with all its files. None: it is not for beambot."""
    first = parts[0]
    body = _moved(first) or _command(first, me) or _message(parts, me)
    if body is None:
        return None
    who = sender_of(first, senders)
    if isinstance(body, into.MemberIn):
        moved = first.left_chat_member or first.new_chat_members[0]
        who = person(moved)
    return _inbound(f"{me.id}:{update}", who, place, float(first.date), body, first.chat)


def edited(update: int, message: Message, place: Place, me: Me, senders: Mapping[str, str]) -> Inbound | None:
    """The words of a message have changed; a place on the map that moves has none."""
    if not (message.text or message.caption):
        return None
    body = into.EditedIn(str(message.message_id), said(without_mention(message, me), me))
    who = sender_of(message, senders)
    return _inbound(f"{me.id}:{update}", who, place, float(message.date), body, message.chat)


def pressed(update: int, query: CallbackQuery, place: Place, me: Me, now: float) -> Inbound | None:
    """A button. Its message can be gone for the bot; its number is still told."""
    if query.message is None:
        return None
    body = into.PressIn(str(query.message.message_id), query.data, query.id)
    return _inbound(f"{me.id}:{update}", person(query.from_), place, now, body, query.message.chat)


def stopped(update: int, stop: Stopped, place: Place, me: Me, now: float) -> Inbound:
    """The stop button of a draft says what /stop says. Drafts are in private chats, so it was that person."""
    body = into.CommandIn("", "stop")
    return _inbound(f"{me.id}:{update}", Sender(str(stop.chat.id), stop.chat.name), place, now, body, stop.chat)


def _inbound(update: str, who: Sender, place: Place, at: float, body: into.AnyInbound, chat: Chat) -> Inbound:
    private = chat.type == "private" or chat.id > 0
    return Inbound(update=update, sender=who, thread=place.thread, at=at, body=body, private=private)


def _moved(message: Message) -> into.MemberIn | None:
    if message.left_chat_member is not None:
        return into.MemberIn("left")
    return into.MemberIn("joined") if message.new_chat_members else None


def _command(message: Message, me: Me) -> into.CommandIn | None:
    """A line that Telegram itself calls a command. In a forwarded message it is only quoted."""
    first = message.entities[0] if message.entities else None
    if first is None or first.type != "bot_command" or first.offset or message.forward_origin is not None:
        return None
    words = cut_out(message.text, first)
    name = words[1:].partition("@")[0].lower()
    args = message.text.removeprefix(words).strip()
    if name == "start" and not args:
        # What Telegram sends when a person opens the bot for the first time.
        name = "help"
    return into.CommandIn(str(message.message_id), name, args)


def _message(parts: Sequence[Message], me: Me) -> into.AnyInbound | None:
    first = parts[0]
    files = tuple(file for part in parts for file in attachments(part))
    spoken = [part for part in parts if part.text or part.caption] or [first]
    text = "\n\n".join(words for part in spoken if (words := said(without_mention(part, me), me)))
    message = str(first.message_id)
    if not text and not files and first.text:
        # Nothing but the bot's name.
        return into.CommandIn(message, "help")
    if not text:
        return into.AttachmentIn(message, files) if files else None
    replied = first.reply_to_message
    reply_to = str(replied.message_id) if replied is not None and not is_opening(replied) else ""
    return into.TextIn(message, text, reply_to, files)


def is_for_another(message: Message, me: Me) -> bool:
    """A command that names another bot."""
    first = message.entities[0] if message.entities else None
    return (
        first is not None
        and first.type == "bot_command"
        and first.offset == 0
        and not is_for(cut_out(message.text, first), me)
    )
