"""An update on its way into the inbox: where it belongs, whether it is for us, and albums put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import msgspec
from msgspec.structs import replace

from beambot.api import BeambotError, Clock, Inbound, Inbox, ThreadRef, get_logger
from platforms.telegram import inbound as into
from platforms.telegram.inbound import PLATFORM, Place
from platforms.telegram.places import HeldPart, Places
from platforms.telegram.receiving.schema import CallbackQuery, ChatMemberUpdated, Me, Message, Update

# What the receiving side asks for. What it does not name is never sent.
ALLOWED = ("message", "edited_message", "callback_query", "my_chat_member")
STOPS = "stopped_message_generation"
# The parts of an album come as messages of their own, within moments of each other.
ALBUM_SECONDS = 1.0
_GONE = {"kicked": "the bot was removed, or blocked", "left": "the bot is not in the group any more"}
_log = get_logger("telegram")


class Updates:
    """Takes updates one after the other. When `take` returns, the update may be confirmed to Telegram."""

    def __init__(
        self,
        inbox: Inbox,
        places: Places,
        me: Me,
        clock: Clock,
        *,
        senders: dict[str, str] | None = None,
        everything: bool = False,
        forum: Callable[[str, bool], None] = lambda chat, is_forum: None,
    ) -> None:
        self._inbox = inbox
        self._places = places
        self._me = me
        self._clock = clock
        self._senders = senders or {}
        self._everything = everything
        self._forum = forum
        # The last sign of each album that waits, and the chat it was sent in.
        self._albums: dict[str, tuple[float, str]] = {}
        self._order = anyio.Lock()
        self._held = anyio.Event()

    async def take(self, raw: dict[str, Any]) -> None:
        """Write one update down. Raises what the inbox raises: then it is not confirmed, and comes again."""
        try:
            update = msgspec.convert(raw, Update)
        except msgspec.ValidationError as error:
            _log.error(
                "an update cannot be understood and is left out", update=raw.get("update_id"), why=str(error)
            )
            return
        async with self._order:
            message = update.message
            if message is not None and message.media_group_id:
                await self._hold(update, message)
                return
            await self._release(chat=_chat_of(update))
            for inbound in await self._understood(update):
                await self._inbox.put(inbound)

    async def _understood(self, update: Update) -> list[Inbound]:
        """One that trips us up is left out: it would come again for ever, and all others behind it."""
        try:
            return await self._read(update)
        except BeambotError:
            raise
        except Exception as error:
            _log.error("an update could not be read and is left out", update=update.update_id, exc_info=error)
            return []

    async def _read(self, update: Update) -> list[Inbound]:
        number = update.update_id
        found: Inbound | None = None
        if update.message is not None:
            return await self._written(number, [update.message])
        if update.edited_message is not None:
            message = self._counted(update.edited_message)
            place = await self._place(message, new=False)
            found = into.edited(number, message, place, self._me, self._senders) if place else None
        elif update.callback_query is not None:
            found = await self._pressed(number, update.callback_query)
        elif update.stopped_message_generation is not None:
            stop = update.stopped_message_generation
            topic = str(stop.message_thread_id or "")
            place = Place(ThreadRef(PLATFORM, self._places.first_id(str(stop.chat.id)), topic))
            found = into.stopped(number, stop, place, self._me, self._clock.now())
        elif update.my_chat_member is not None:
            self._standing(update.my_chat_member)
        return [found] if found is not None else []

    def _standing(self, change: ChatMemberUpdated) -> None:
        """A chat that is closed to the bot is noticed when something is sent there; this says why in the log."""
        status = change.new_chat_member.status
        words = _GONE.get(status, "the bot stands otherwise in a chat")
        _log.info(words, chat=str(change.chat.id), status=status, by=str(change.from_.id))

    # ── messages ─────────────────────────────────────────────────────────────────────────────────────

    async def _written(self, number: int, parts: list[Message]) -> list[Inbound]:
        parts = [self._counted(part) for part in parts]
        first = parts[0]
        if await self._moved(first) or into.is_for_another(first, self._me):
            return []
        # The words of an album stand at any of its parts.
        place = await self._place(next((part for part in parts if part.caption), first), new=True)
        if place is None:
            return []
        found = into.written(number, parts, place, self._me, self._senders)
        if found is None:
            return []
        if place.thread.thread and not _is_service(first):
            for part in parts if into.root_of(place.thread) else ():
                await self._places.note(place.thread.chat, part.message_id, place.thread.thread)
            await self._places.join(place.thread.chat, place.thread.thread)
        await self._places.meet(found.sender.id, found.sender.name)
        return [found]

    async def _moved(self, message: Message) -> bool:
        """A group that became a supergroup says so twice, in its old place and in the new one."""
        here = str(message.chat.id)
        if message.migrate_to_chat_id:
            await self._places.move(here, str(message.migrate_to_chat_id))
            return True
        if message.migrate_from_chat_id:
            await self._places.move(str(message.migrate_from_chat_id), here)
            return True
        return False

    def _counted(self, message: Message) -> Message:
        """The same message with the numbers that are ours: a supergroup counts anew what a group had counted."""
        chat = str(message.chat.id)
        if self._places.first_id(chat) == chat:
            return message
        replied, root = message.reply_to_message, message.message_thread_id
        if replied is not None:
            replied = replace(replied, message_id=self._places.counted(chat, replied.message_id))
        if root and not message.is_topic_message:
            root = self._places.counted(chat, root)
        number = self._places.counted(chat, message.message_id)
        return replace(message, message_id=number, message_thread_id=root, reply_to_message=replied)

    async def _place(self, message: Message, *, new: bool) -> Place | None:
        """The thread of a message. None: it is talk between people in a group, and not for us."""
        chat = self._places.first_id(str(message.chat.id))
        private = message.chat.type == "private"
        if not private:
            self._forum(chat, message.chat.is_forum)
        if message.is_topic_message and message.message_thread_id:
            thread = str(message.message_thread_id)
        elif (known := await self._chain(chat, message)) is not None:
            thread = known
        elif private or message.chat.is_forum:
            thread = ""
        else:
            thread = into.chain(message.message_id)
        place = Place(ThreadRef(PLATFORM, chat, thread))
        if private or self._everything or await self._places.takes_part(chat, thread):
            # In a group's main room people talk to each other, also after somebody has talked to the bot there.
            main_room = not private and not thread and not self._everything
            if not main_room:
                return place
        return place if not new or _is_service(message) or into.is_addressed(message, self._me) else None

    async def _chain(self, chat: str, message: Message) -> str | None:
        """The chain that a message hangs on: itself noted before, or what it answers."""
        replied = message.reply_to_message
        if replied is None or into.is_opening(replied):
            return await self._places.thread_of(chat, message.message_id) or None
        thread = await self._places.thread_of(chat, replied.message_id)
        if thread or message.chat.is_forum or message.chat.type == "private":
            return thread or None
        own = replied.from_ is not None and replied.from_.id == self._me.id
        # What we wrote so long ago that it was forgotten: Telegram may still know its first message.
        return into.chain(message.message_thread_id or replied.message_id) if own else None

    async def _pressed(self, number: int, query: CallbackQuery) -> Inbound | None:
        if query.message is None:
            return None
        message = self._counted(query.message)
        query = replace(query, message=message)
        chat = self._places.first_id(str(message.chat.id))
        thread = await self._places.thread_of(chat, message.message_id)
        if not thread and message.is_topic_message:
            thread = str(message.message_thread_id or "")
        place = Place(ThreadRef(PLATFORM, chat, thread))
        return into.pressed(number, query, place, self._me, self._clock.now())

    # ── albums ───────────────────────────────────────────────────────────────────────────────────────

    async def _hold(self, update: Update, message: Message) -> None:
        """Keep a part on the disk: it may be confirmed, and is not lost, before the album is whole."""
        album = f"{message.chat.id}/{message.media_group_id}"
        await self._places.hold(HeldPart(update.update_id, album, msgspec.json.encode(update)))
        self._albums[album] = (self._clock.monotonic(), str(message.chat.id))
        self._held.set()

    async def take_up(self) -> None:
        """What an earlier run held: nothing more is to be expected of it."""
        async with self._order:
            await self._release(everything=True)

    async def watch_albums(self) -> None:
        """Put albums into the inbox once no part has come for a while."""
        while True:
            await self._held.wait()
            await self._clock.sleep(ALBUM_SECONDS)
            try:
                async with self._order:
                    await self._release()
                    if not self._albums:
                        self._held = anyio.Event()
            except Exception as error:
                _log.error("an album waits: it could not be written down", why=str(error))

    async def _release(self, chat: str = "", *, everything: bool = False) -> None:
        """Whole albums, and those of a chat in which something else was said meanwhile."""
        quiet = self._clock.monotonic() - ALBUM_SECONDS
        due = {album for album, (at, where) in self._albums.items() if at <= quiet or where == chat}
        if not due and not everything:
            return
        albums: dict[str, list[HeldPart]] = {}
        for part in await self._places.held():
            if everything or part.album in due:
                albums.setdefault(part.album, []).append(part)
        for album, parts in albums.items():
            updates = [msgspec.json.decode(part.body, type=Update) for part in parts]
            messages = [update.message for update in updates if update.message is not None]
            for inbound in await self._written(parts[0].id, messages) if messages else ():
                await self._inbox.put(inbound)
            await self._places.release(album, parts[-1].id)
            self._albums.pop(album, None)


def _is_service(message: Message) -> bool:
    return bool(message.new_chat_members or message.left_chat_member)


def _chat_of(update: Update) -> str:
    message = update.message or update.edited_message
    if message is None and update.callback_query is not None:
        message = update.callback_query.message
    return str(message.chat.id) if message is not None else ""
