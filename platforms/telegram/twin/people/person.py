"""A scripted human: says, presses, edits, deletes, uploads, and runs groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from platforms.telegram.twin import wire
from platforms.telegram.twin.checks.text import CAPTION_LIMIT, TEXT_LIMIT, fitted
from platforms.telegram.twin.people.groups import GroupLife
from platforms.telegram.twin.people.hearing import hears
from platforms.telegram.twin.world.values import (
    GENERAL,
    Button,
    Chat,
    Content,
    Entity,
    Media,
    Message,
    Topic,
    User,
)

if TYPE_CHECKING:
    from platforms.telegram.twin.twin import Twin

_MIMES = {"photo": "image/jpeg", "voice": "audio/ogg", "audio": "audio/mpeg", "video": "video/mp4"}


@dataclass(eq=False)
class Press:
    """A press of a button; it spins until the bot answers."""

    id: str
    message: Message = field(repr=False)
    who: User = field(repr=False)
    button: Button = field(repr=False)
    at: float
    answered: bool = False
    toast: str = ""
    alert: bool = False
    url: str = ""


class Person(GroupLife):
    """One human with one account."""

    def __init__(self, twin: Twin, user: User) -> None:
        self.twin = twin
        self.user = user
        self._albums = 0

    @property
    def id(self) -> int:
        """The account's number."""
        return self.user.id

    @property
    def name(self) -> str:
        """The name others see."""
        return self.user.name

    @property
    def chat(self) -> Chat:
        """The private chat with the bot."""
        return self.twin.world.private(self.user)

    # ── words ────────────────────────────────────────────────────────────────────────────────────────

    async def says(
        self,
        chat: Chat | None,
        text: str,
        *,
        topic: Topic | int = GENERAL,
        reply_to: Message | None = None,
        entities: tuple[Entity, ...] = (),
        as_chat: Chat | None = None,
    ) -> Message:
        """Write into a chat; `None` is the private one. `as_chat` writes in the name of a channel, or of the group
        itself, as an anonymous administrator does."""
        where = self._enter(chat)
        said, found = fitted(text, list(entities), limit=TEXT_LIMIT, empty="text must be non-empty")
        return self._post(where, Content(said, found), topic, reply_to=reply_to, as_chat=as_chat)

    async def starts(self, payload: str = "") -> Message:
        """Press Start in the private chat, perhaps by a link with a payload."""
        return await self.says(None, f"/start {payload}".strip())

    async def replies(self, message: Message, text: str) -> Message:
        """Answer a message."""
        return await self.says(message.chat, text, topic=message.topic, reply_to=message)

    async def edits(self, message: Message, text: str) -> Message:
        """Change one's own message."""
        self._check_own(message)
        limit = TEXT_LIMIT if message.content.media is None else CAPTION_LIMIT
        said, found = fitted(text, [], limit=limit, empty="text must be non-empty")
        self.twin.world.edit(message, Content(said, found, media=message.content.media), who=self.name)
        kind = "edited_channel_post" if message.chat.type == "channel" else "edited_message"
        if hears(self.twin, message):
            self.twin.updates.put(kind, wire.message(message))
        return message

    async def deletes(self, message: Message) -> None:
        """Delete a message. Telegram tells bots nothing of it: there is no update for a deletion."""
        self.twin.world.delete(message, who=self.name)

    async def forwards(
        self, message: Message, chat: Chat | None = None, *, topic: Topic | int = GENERAL
    ) -> Message:
        """Pass a message on, its author named."""
        content = message.content
        passed = Content(content.text, content.entities, (), content.media, content.rich)
        return self._post(self._enter(chat), passed, topic, origin=message)

    async def uploads(
        self,
        chat: Chat | None,
        *files: tuple[str, bytes],
        kind: str = "document",
        caption: str = "",
        topic: Topic | int = GENERAL,
        reply_to: Message | None = None,
    ) -> list[Message]:
        """Send files (`photo`, `document`, `voice`, …), several as one album. The caption is the first one's."""
        where = self._enter(chat)
        said, found = fitted(caption, [], limit=CAPTION_LIMIT, empty="")
        self._albums += 1
        album = f"{self.id}{self._albums:08d}" if len(files) > 1 else ""
        sent: list[Message] = []
        for name, data in files:
            file = self.twin.world.keep(kind, name, _MIMES.get(kind, "application/octet-stream"), data)
            words = (said, found) if not sent else ("", ())
            content = Content(words[0], words[1], media=Media(kind, file, album))
            sent.append(self._post(where, content, topic, reply_to=reply_to))
        return sent

    async def reacts(self, message: Message, emoji: str = "") -> None:
        """React to a message; nothing takes the reaction back."""
        old = message.reactions.get(self.id, ())
        new = (emoji,) if emoji else ()
        self.twin.world.react(message, self.user, new)
        self.twin.updates.put(
            "message_reaction",
            {
                "chat": wire.chat(message.chat),
                "message_id": message.id,
                "user": wire.user(self.user),
                "date": int(self.twin.clock.now()),
                "old_reaction": [{"type": "emoji", "emoji": one} for one in old],
                "new_reaction": [{"type": "emoji", "emoji": one} for one in new],
            },
        )

    # ── buttons ──────────────────────────────────────────────────────────────────────────────────────

    async def presses(self, message: Message, label: str, *, seconds: float = 5.0) -> Press:
        """Press a button by its label, or a part of it that only one has, and wait for what the bot says.

        With `seconds` 0 it does not wait. A press that nobody answers spins: it comes back with `answered` false.
        """
        return await self.presses_button(message, _find(message, label), seconds=seconds)

    async def presses_button(self, message: Message, button: Button, *, seconds: float = 5.0) -> Press:
        """Press one button of a message."""
        if not button.data:
            raise AssertionError(f"the button {button.text!r} tells the bot nothing")
        number = str((self.id << 32) + len(self.twin.presses) + 1)
        press = Press(number, message, self.user, button, self.twin.clock.now())
        self.twin.presses[number] = press
        self.twin.world.note(message.chat, self.name, "pressed", topic=message.topic, note=f"[{button.text}]")
        self.twin.updates.put(
            "callback_query",
            {
                "id": number,
                "from": wire.user(self.user),
                "message": wire.message(message),
                "chat_instance": str(abs(message.chat.id) * 7919),
                "data": button.data,
            },
        )
        with anyio.move_on_after(seconds):
            while not press.answered:
                await self.twin.world.wait_for_change(self.twin.world.changes)
        return press

    async def stops_generation(self, chat: Chat | None = None) -> None:
        """Press the stop button of the draft that the bot is writing."""
        where = chat or self.chat
        draft = next((one for one in self.twin.drafts(where) if one.can_stop), None)
        if draft is None:
            raise AssertionError(f"no draft with a stop button in {where.name}")
        if not draft.keep:
            del where.drafts[draft.id]
        self.twin.world.note(where, self.name, "stopped the draft", topic=draft.topic)
        body: dict[str, object] = {"chat": wire.chat(where), "draft_id": draft.id}
        if draft.topic:
            body["message_thread_id"] = draft.topic
        self.twin.updates.put("stopped_message_generation", body)

    # ── within ───────────────────────────────────────────────────────────────────────────────────────

    def _enter(self, chat: Chat | None) -> Chat:
        """The chat they write in. Who writes to the bot has started it and blocks it no longer."""
        where = chat or self.chat
        if where.type == "private":
            if where.user is not self.user:
                raise AssertionError(f"{where.name}'s private chat is not {self.name}'s")
            if where.blocked:
                self.unblocks()
            where.started = True
        elif not self.twin.world.member(where, self.user).is_in:
            raise AssertionError(f"{self.name} is not in {where.name}")
        return where

    def _post(
        self,
        chat: Chat,
        content: Content,
        topic: Topic | int,
        *,
        reply_to: Message | None = None,
        origin: Message | None = None,
        as_chat: Chat | None = None,
    ) -> Message:
        thread = topic.id if isinstance(topic, Topic) else topic
        if thread and thread not in chat.topics:
            raise AssertionError(f"there is no topic {thread} in {chat.name}")
        if thread and chat.topics[thread].closed and not self.twin.world.member(chat, self.user).is_admin:
            raise AssertionError(f"the topic {chat.topics[thread].name} is closed")
        sender: User | None = self.user
        if chat.type == "channel":
            sender, as_chat = None, chat
        elif as_chat is not None:
            sender = wire.GROUP_ANONYMOUS_BOT if as_chat is chat else wire.CHANNEL_BOT
        if not thread and reply_to is not None:
            thread = reply_to.topic
        message = self.twin.world.post(
            chat, content, sender=sender, sender_chat=as_chat, topic=thread, reply_to=reply_to, origin=origin
        )
        if hears(self.twin, message):
            kind = "channel_post" if chat.type == "channel" else "message"
            self.twin.updates.put(kind, wire.message(message))
        return message

    def _check_own(self, message: Message) -> None:
        if message.sender is not self.user and message.chat.type != "channel":
            raise AssertionError(f"{self.name} did not write: {message.text}")


def _find(message: Message, label: str) -> Button:
    """The button with this label, or else the only one whose label has it in it."""
    if message.deleted:
        raise AssertionError(f"the message is gone: {message.text}")
    buttons = [button for row in message.content.keyboard for button in row]
    found = [button for button in buttons if button.text == label] or [
        button for button in buttons if label in button.text
    ]
    if len(found) != 1:
        raise AssertionError(f"{len(found)} buttons say {label!r}: {[button.text for button in buttons]}")
    return found[0]
