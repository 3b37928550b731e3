"""The state of the twin and the only ways to change it. Each change is written down and wakes those who wait."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import anyio

from beambot.api import Clock
from platforms.telegram.twin.world.values import (
    GENERAL,
    Chat,
    Content,
    Json,
    Member,
    Message,
    Step,
    StoredFile,
    Topic,
    User,
)

FIRST_SUPERGROUP = 1_000_000_001
FIRST_GROUP = 4_000_001


class World:
    """Users, chats and files of one bot."""

    def __init__(self, clock: Clock, bot: User) -> None:
        self.clock = clock
        self.bot = bot
        self.started = clock.now()
        self.users: dict[int, User] = {bot.id: bot}
        self.chats: dict[int, Chat] = {}
        self.files: dict[str, StoredFile] = {}
        self.changes = 0
        self._supergroups = itertools.count(FIRST_SUPERGROUP)
        self._groups = itertools.count(FIRST_GROUP)
        self._files = itertools.count(1)
        # Private chats and small groups share one row of message ids, a supergroup has its own.
        self._shared_ids = itertools.count(1)
        self._ids: dict[int, itertools.count[int]] = {}
        self._event = anyio.Event()

    # ── people and chats ─────────────────────────────────────────────────────────────────────────────

    def add_user(self, user: User) -> User:
        """Somebody new."""
        if user.id in self.users:
            raise ValueError(f"there is a user {user.id} already: {self.users[user.id].name}")
        self.users[user.id] = user
        return user

    def private(self, user: User) -> Chat:
        """The chat of one person with the bot."""
        chat = self.chats.get(user.id)
        if chat is None:
            chat = Chat(user.id, "private", self, user=user, username=user.username, started=False)
            chat.members = {user.id: Member(user), self.bot.id: Member(self.bot)}
            self.chats[chat.id] = chat
        return chat

    def group(self, title: str, members: list[User], *, kind: str = "supergroup", forum: bool = False) -> Chat:
        """A group whose first member is its creator."""
        chat_id = -next(self._groups) if kind == "group" else -1_000_000_000_000 - next(self._supergroups)
        type_ = "group" if kind == "group" else "channel" if kind == "channel" else "supergroup"
        chat = Chat(chat_id, type_, self, title=title, is_forum=forum)  # type: ignore[arg-type]
        for number, user in enumerate(members):
            chat.members[user.id] = Member(user, "member" if number else "creator")
        self.chats[chat.id] = chat
        self.changed()
        return chat

    def member(self, chat: Chat, user: User) -> Member:
        """Somebody's place in a chat; who was never there has left."""
        return chat.members.get(user.id) or Member(user, "left")

    # ── messages ─────────────────────────────────────────────────────────────────────────────────────

    def next_id(self, chat: Chat) -> int:
        """The id that the next message of this chat gets."""
        if chat.type in ("private", "group"):
            return next(self._shared_ids)
        return next(self._ids.setdefault(chat.id, itertools.count(2 if chat.is_forum else 1)))

    def post(
        self,
        chat: Chat,
        content: Content,
        *,
        sender: User | None,
        sender_chat: Chat | None = None,
        topic: int = GENERAL,
        reply_to: Message | None = None,
        origin: Message | None = None,
        silent: bool = False,
    ) -> Message:
        """A new message."""
        now = self.clock.now()
        message = Message(
            chat, self.next_id(chat), now, content, sender, sender_chat, topic, reply_to, origin, silent
        )
        chat.messages[message.id] = message
        self.note(chat, message.who, "posted", message=message, content=content)
        return message

    def edit(self, message: Message, content: Content, *, who: str, hidden: bool = False) -> None:
        """A message gets a new content; a change of the keyboard alone does not mark it as edited."""
        message.content = content
        if not hidden:
            message.edited_at = self.clock.now()
        self.note(message.chat, who, "edited", message=message, content=content)

    def delete(self, message: Message, *, who: str) -> None:
        """A message is gone for everybody."""
        message.deleted = True
        self.note(message.chat, who, "deleted", message=message)

    def react(self, message: Message, user: User, emoji: tuple[str, ...]) -> None:
        """Somebody's reaction to a message, in the place of the one before."""
        message.reactions.pop(user.id, None)
        if emoji:
            message.reactions[user.id] = emoji
        self.note(message.chat, user.name, "reacted", message=message, note="".join(emoji))

    def note(
        self,
        chat: Chat,
        who: str,
        what: str,
        *,
        message: Message | None = None,
        topic: int = GENERAL,
        content: Content | None = None,
        note: str = "",
    ) -> None:
        """Write down that something happened."""
        step = Step(
            self.clock.now(),
            who,
            what,
            message.id if message else 0,
            message.topic if message else topic,
            content,
            note,
        )
        chat.steps.append(step)
        if message is not None:
            message.history.append(step)
        self.changed()

    # ── topics ───────────────────────────────────────────────────────────────────────────────────────

    def open_topic(self, chat: Chat, name: str, by: User, *, color: int, emoji: str, implicit: bool) -> Message:
        """A new topic; the id of its first service message is the topic's id."""
        made: Json = {"name": name, "icon_color": color}
        if emoji:
            made["icon_custom_emoji_id"] = emoji
        if implicit:
            made["is_name_implicit"] = True
        message = self.post(chat, Content(service={"forum_topic_created": made}), sender=by)
        message.topic = message.id
        chat.topics[message.id] = Topic(message.id, name, color, emoji, implicit=implicit, creator=by.id)
        return message

    def drop_topic(self, chat: Chat, topic: Topic, who: str) -> None:
        """A topic and its messages are gone."""
        del chat.topics[topic.id]
        for message in chat.in_topic(topic.id):
            message.deleted = True
        self.note(chat, who, "deleted topic", topic=topic.id, note=topic.name)

    # ── files ────────────────────────────────────────────────────────────────────────────────────────

    def keep(self, kind: str, name: str, mime: str, data: bytes) -> StoredFile:
        """A file gets its ids and its place."""
        number = next(self._files)
        ending = name.rpartition(".")[2] if "." in name else "bin"
        file = StoredFile(
            id=f"BQACAgIAAxkBAAM{number:06d}TwinFile",
            unique=f"AgAD{number:06d}",
            name=name,
            mime=mime,
            data=data,
            path=f"{kind}s/file_{number}.{ending}",
        )
        self.files[file.id] = file
        return file

    # ── waiting ──────────────────────────────────────────────────────────────────────────────────────

    def changed(self) -> None:
        """Wake those who wait for a change."""
        self.changes += 1
        event, self._event = self._event, anyio.Event()
        event.set()

    async def wait_for_change(self, seen: int) -> int:
        """Wait until there have been more changes than were seen; how many there have been."""
        while self.changes == seen:
            await self._event.wait()
        return self.changes

    async def until(
        self,
        true: Callable[[], object],
        *,
        seconds: float = 5.0,
        what: str | Callable[[], str] = "",
    ) -> None:
        """Wait, in real time, until something holds. What is not in the world is looked at now and then."""
        with anyio.move_on_after(seconds):
            while not true():
                event = self._event
                with anyio.move_on_after(0.01):
                    await event.wait()
            return
        said = what() if callable(what) else what
        raise AssertionError(f"not seen within {seconds:g} s: {said or true}")
