"""What the Bot API sends, as far as beambot reads it. Unknown fields are let pass."""

from __future__ import annotations

from msgspec import Struct, field


class User(Struct, frozen=True):
    """A person or a bot."""

    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""

    @property
    def name(self) -> str:
        """As people see it."""
        return " ".join(part for part in (self.first_name, self.last_name) if part) or self.username


class Chat(Struct, frozen=True):
    """A private chat, a group, a supergroup or a channel."""

    id: int
    type: str = ""
    title: str = ""
    username: str = ""
    first_name: str = ""
    last_name: str = ""
    is_forum: bool = False

    @property
    def name(self) -> str:
        """As people see it."""
        return self.title or " ".join(p for p in (self.first_name, self.last_name) if p) or self.username


class Entity(Struct, frozen=True):
    """A place in a text that means something; `offset` and `length` count UTF-16 units."""

    type: str
    offset: int
    length: int
    user: User | None = None


class PhotoSize(Struct, frozen=True):
    """One of the sizes of a photo."""

    file_id: str
    file_unique_id: str = ""
    width: int = 0
    height: int = 0
    file_size: int = 0


class Media(Struct, frozen=True):
    """A document, a voice message, a piece of music, a video or an animation."""

    file_id: str
    file_unique_id: str = ""
    file_name: str = ""
    mime_type: str = ""
    file_size: int = 0


class Sticker(Struct, frozen=True):
    """A sticker, known by the emoji it stands for."""

    emoji: str = ""


class Location(Struct, frozen=True):
    """A place on the map."""

    latitude: float
    longitude: float


class Venue(Struct, frozen=True):
    """A place with a name."""

    location: Location
    title: str = ""
    address: str = ""


class Contact(Struct, frozen=True):
    """Somebody's number."""

    phone_number: str = ""
    first_name: str = ""
    last_name: str = ""


class PollOption(Struct, frozen=True):
    """One answer of a poll."""

    text: str = ""


class Poll(Struct, frozen=True):
    """A question with answers."""

    question: str = ""
    options: tuple[PollOption, ...] = ()


class Dice(Struct, frozen=True):
    """A throw."""

    emoji: str = ""
    value: int = 0


class Origin(Struct, frozen=True):
    """Where a forwarded message comes from."""

    type: str = ""
    sender_user: User | None = None
    sender_user_name: str = ""
    sender_chat: Chat | None = None
    chat: Chat | None = None

    @property
    def name(self) -> str:
        """Whoever said it first."""
        where = self.sender_chat or self.chat
        if self.sender_user is not None:
            return self.sender_user.name
        return where.name if where is not None else self.sender_user_name


class TextQuote(Struct, frozen=True):
    """The part of a message that a reply points at."""

    text: str = ""


class ExternalReply(Struct, frozen=True):
    """A reply to a message of another chat."""

    origin: Origin | None = None


class Message(Struct, frozen=True):
    """A message of any kind; one that cannot be seen any more has the date 0."""

    message_id: int
    chat: Chat
    date: int = 0
    from_: User | None = field(default=None, name="from")
    sender_chat: Chat | None = None
    message_thread_id: int = 0
    is_topic_message: bool = False
    text: str = ""
    caption: str = ""
    entities: tuple[Entity, ...] = ()
    caption_entities: tuple[Entity, ...] = ()
    reply_to_message: Message | None = None
    external_reply: ExternalReply | None = None
    quote: TextQuote | None = None
    forward_origin: Origin | None = None
    media_group_id: str = ""
    photo: tuple[PhotoSize, ...] = ()
    document: Media | None = None
    voice: Media | None = None
    audio: Media | None = None
    video: Media | None = None
    video_note: Media | None = None
    animation: Media | None = None
    sticker: Sticker | None = None
    location: Location | None = None
    venue: Venue | None = None
    contact: Contact | None = None
    poll: Poll | None = None
    dice: Dice | None = None
    new_chat_members: tuple[User, ...] = ()
    left_chat_member: User | None = None
    migrate_to_chat_id: int = 0
    migrate_from_chat_id: int = 0
    forum_topic_created: dict[str, object] | None = None


class CallbackQuery(Struct, frozen=True):
    """A press of a button under a message."""

    id: str
    from_: User = field(name="from")
    message: Message | None = None
    data: str = ""


class ChatMember(Struct, frozen=True):
    """How somebody stands in a chat."""

    status: str = ""
    can_send_messages: bool | None = None


class ChatMemberUpdated(Struct, frozen=True):
    """The bot was let in, put out, blocked, or given other rights."""

    chat: Chat
    from_: User = field(name="from")
    new_chat_member: ChatMember


class Stopped(Struct, frozen=True):
    """A person pressed the stop button of a draft."""

    chat: Chat
    draft_id: int = 0
    message_thread_id: int = 0


class Update(Struct, frozen=True):
    """One update; at most one of the rest is there."""

    update_id: int
    message: Message | None = None
    edited_message: Message | None = None
    callback_query: CallbackQuery | None = None
    my_chat_member: ChatMemberUpdated | None = None
    stopped_message_generation: Stopped | None = None


class Me(Struct, frozen=True):
    """What the bot knows of itself: the answer of getMe."""

    id: int
    username: str = ""
    first_name: str = ""
    can_join_groups: bool = True
    can_read_all_group_messages: bool = False
    has_topics_enabled: bool = False
