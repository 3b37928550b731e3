"""What there is in this little Telegram: people, chats, topics, messages with their whole history, files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from platforms.telegram.twin.world.words import words

if TYPE_CHECKING:
    from platforms.telegram.twin.world.world import World

Json = dict[str, object]
ChatType = Literal["private", "group", "supergroup", "channel"]
Status = Literal["creator", "administrator", "member", "restricted", "left", "kicked"]
GENERAL = 0


class Entity(Struct, frozen=True, omit_defaults=True):
    """A stretch of text with a meaning, counted in UTF-16 units."""

    type: str
    offset: int
    length: int
    url: str = ""
    language: str = ""
    custom_emoji_id: str = ""
    user: int = 0

    @property
    def end(self) -> int:
        """The unit after the last one."""
        return self.offset + self.length


class Button(Struct, frozen=True):
    """One button under a message; `raw` is what the bot sent."""

    text: str
    data: str
    raw: Json

    def __hash__(self) -> int:
        return hash((self.text, self.data))


Keyboard = tuple[tuple[Button, ...], ...]


class StoredFile(Struct, frozen=True):
    """A file as the server keeps it."""

    id: str
    unique: str
    name: str
    mime: str
    data: bytes
    path: str


class Media(Struct, frozen=True):
    """A file in a message; an album shares its `group`."""

    kind: str
    file: StoredFile
    group: str = ""


class Content(Struct, frozen=True):
    """What a message shows. Equal contents look the same, which is what "not modified" means."""

    text: str = ""
    entities: tuple[Entity, ...] = ()
    keyboard: Keyboard = ()
    media: Media | None = None
    rich: Json | None = None
    service: Json | None = None

    @property
    def shown(self) -> str:
        """The words a person reads, also where they are in a rich message or a file."""
        if self.rich is not None:
            return words(self.rich)
        return self.text

    def labels(self) -> Iterator[str]:
        """The labels of all buttons, row by row."""
        for row in self.keyboard:
            for button in row:
                yield button.text


class Step(Struct, frozen=True):
    """One thing that happened to a message, or in its chat."""

    at: float
    who: str
    what: str
    message: int = 0
    topic: int = GENERAL
    content: Content | None = None
    note: str = ""


@dataclass(eq=False)
class User:
    """A person or a bot."""

    id: int
    first_name: str
    username: str = ""
    last_name: str = ""
    language: str = "en"
    is_bot: bool = False

    @property
    def name(self) -> str:
        """The whole name."""
        return f"{self.first_name} {self.last_name}".strip()


@dataclass(eq=False)
class Member:
    """Somebody's place in a chat."""

    user: User
    status: Status = "member"
    may_write: bool = True
    may_manage_topics: bool = False

    @property
    def is_admin(self) -> bool:
        """Whether the chat is theirs to run."""
        return self.status in ("creator", "administrator")

    @property
    def is_in(self) -> bool:
        """Whether they are in the chat at all."""
        return self.status not in ("left", "kicked")


@dataclass(eq=False)
class Topic:
    """A thread of a forum, or of a private chat with topics."""

    id: int
    name: str
    color: int = 0x6FB9F0
    emoji: str = ""
    closed: bool = False
    implicit: bool = False
    creator: int = 0


@dataclass(eq=False)
class Draft:
    """A message that is still being written, shown to one person for a short while."""

    id: int
    topic: int
    content: Content
    until: float
    can_stop: bool = False
    keep: bool = False


@dataclass(eq=False)
class Message:
    """A message, with all that ever happened to it."""

    chat: Chat = field(repr=False)
    id: int
    at: float
    content: Content
    sender: User | None = None
    sender_chat: Chat | None = field(default=None, repr=False)
    topic: int = GENERAL
    reply_to: Message | None = field(default=None, repr=False)
    origin: Message | None = field(default=None, repr=False)
    silent: bool = False
    deleted: bool = False
    edited_at: float = 0.0
    reactions: dict[int, tuple[str, ...]] = field(default_factory=dict)
    history: list[Step] = field(default_factory=list, repr=False)

    @property
    def text(self) -> str:
        """The words as they stand."""
        return self.content.shown

    @property
    def labels(self) -> list[str]:
        """The labels of the buttons as they stand."""
        return list(self.content.labels())

    @property
    def who(self) -> str:
        """Whose name stands above it."""
        if self.sender_chat is not None:
            return self.sender_chat.name
        return self.sender.name if self.sender else self.chat.name

    @property
    def revisions(self) -> list[Content]:
        """Every content it has had, oldest first."""
        return [step.content for step in self.history if step.content is not None]


@dataclass(eq=False)
class Chat:
    """A place where people and the bot meet."""

    id: int
    type: ChatType
    world: World = field(repr=False)
    title: str = ""
    user: User | None = None
    is_forum: bool = False
    username: str = ""
    members: dict[int, Member] = field(default_factory=dict, repr=False)
    topics: dict[int, Topic] = field(default_factory=dict, repr=False)
    messages: dict[int, Message] = field(default_factory=dict, repr=False)
    drafts: dict[int, Draft] = field(default_factory=dict, repr=False)
    steps: list[Step] = field(default_factory=list, repr=False)
    started: bool = True
    blocked: bool = False
    migrated_to: int = 0
    menu_button: Json = field(default_factory=lambda: {"type": "commands"})

    @property
    def name(self) -> str:
        """What stands above the chat."""
        return self.user.name if self.user else self.title

    @property
    def standing(self) -> list[Message]:
        """The messages that can be seen now, oldest first."""
        return [message for message in self.messages.values() if not message.deleted]

    @property
    def last(self) -> Message:
        """The newest message that can be seen."""
        return self.standing[-1]

    def in_topic(self, topic: int) -> list[Message]:
        """The messages of one topic that can be seen."""
        return [message for message in self.standing if message.topic == topic]

    def find(self, text: str, topic: int | None = None) -> Message | None:
        """The newest message that says this."""
        for message in reversed(self.messages.values()):
            if not message.deleted and (topic is None or message.topic == topic) and text in message.text:
                return message
        return None

    async def sees(self, text: str, *, topic: int | None = None, seconds: float = 5.0) -> Message:
        """Wait until a message says this; the message."""
        found: list[Message] = []

        def there() -> bool:
            message = self.find(text, topic)
            found[:] = [message] if message else []
            return bool(found)

        await self.world.until(there, seconds=seconds, what=lambda: f"{text!r} in\n{self.screen()}")
        return found[0]

    def screen(self) -> str:
        """What stands in the chat now, as text."""
        from platforms.telegram.twin.people.transcript import screen

        return screen(self)
