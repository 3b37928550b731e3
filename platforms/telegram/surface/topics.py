"""Threads that are topics: opened, named, closed, and marked with an icon that says how the session stands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from beambot.api import PlatformError, ThreadRef, ThreadState, get_logger
from beambot.api import markdown as md
from platforms.telegram.calling.failures import NO_RIGHTS, NO_TOPICS, RIGHTS, UNCHANGED
from platforms.telegram.client import Answered, Client
from platforms.telegram.inbound import PLATFORM, chain, is_private, topic_of
from platforms.telegram.places import Places
from platforms.telegram.surface.menu import icon, plain_emoji

NAME = 128
_REMEMBERED = 2000
_log = get_logger("telegram")


class Topics:
    """Of private chats with threads, and of forums in which the bot may manage them."""

    def __init__(self, client: Client, places: Places, *, icons: bool = True) -> None:
        self._client = client
        self._places = places
        self._icons = icons
        self._known: dict[str, str] | None = None
        self._shown: dict[ThreadRef, str] = {}
        self._forums: dict[str, bool] = {}
        self._without_rights: set[str] = set()

    def note(self, chat: str, is_forum: bool) -> None:
        """A message told whether this group has topics."""
        self._forums[chat] = is_forum

    def is_forum(self, chat: str) -> bool:
        """As its messages told."""
        return self._forums.get(chat, False)

    async def open(self, chat: str, title: str, has_topics: bool | None = None) -> ThreadRef:
        """A new topic, or a new chain where there are none."""
        name, bot = title_of(title), self._client.bot
        if await self._has_topics(chat) if has_topics is None else has_topics:
            try:
                made = await self._client.ask(chat, lambda where: bot.create_forum_topic(where, name))
                await self._places.join(chat, str(made.message_thread_id))
                return ThreadRef(PLATFORM, chat, str(made.message_thread_id))
            except Answered as answer:
                if not answer.failure.says(*NO_TOPICS):
                    raise self._client.error(answer.failure, "chat") from None
        root = await self._client.in_chat(
            chat,
            lambda where: bot.send_message(
                where, name, api_kwargs={"entities": [{"type": "bold", "offset": 0, "length": _units(name)}]}
            ),
        )
        number = self._places.counted(str(self._places.newest_id(chat)), root.message_id)
        thread = ThreadRef(PLATFORM, chat, chain(number))
        await self._places.note(chat, number, thread.thread)
        await self._places.join(chat, thread.thread)
        return thread

    async def rename(self, thread: ThreadRef, title: str) -> None:
        """Its name."""
        topic, name = topic_of(thread), title_of(title)
        if topic:
            await self._manage(
                thread,
                lambda chat: self._client.bot.edit_forum_topic(chat, topic, name=name),
                "its topics are named",
            )

    async def close(self, thread: ThreadRef) -> None:
        """Nobody but administrators writes there; private chats cannot close theirs."""
        topic = topic_of(thread)
        if topic and not is_private(thread.chat):
            done = await self._manage(
                thread, lambda chat: self._client.bot.close_forum_topic(chat, topic), "its topics are closed"
            )
            if done:
                await self._places.set_closed(thread.chat, thread.thread, True)

    async def mark(self, thread: ThreadRef, state: ThreadState) -> None:
        """Its icon; a topic that we closed is opened again when there is work in it."""
        topic = topic_of(thread)
        if not topic:
            return
        if state != "closed" and await self._places.set_closed(thread.chat, thread.thread, False):
            await self._manage(
                thread, lambda chat: self._client.bot.reopen_forum_topic(chat, topic), "its topics are opened"
            )
        emoji = icon(state, await self._emoji()) if self._icons else ""
        if not emoji or self._shown.get(thread) == emoji:
            return
        done = await self._manage(
            thread,
            lambda chat: self._client.bot.edit_forum_topic(chat, topic, icon_custom_emoji_id=emoji),
            "its topics have icons",
        )
        if done:
            while len(self._shown) >= _REMEMBERED:
                del self._shown[next(iter(self._shown))]
            self._shown[thread] = emoji

    async def _manage(self, thread: ThreadRef, call: Callable[[int], Awaitable[bool]], otherwise: str) -> bool:
        """Without the right to it nothing is done, which is said once: the conversation goes on all the same."""
        if thread.chat in self._without_rights:
            return False
        try:
            await self._client.ask(thread.chat, call)
        except Answered as answer:
            if answer.failure.says(*UNCHANGED):
                return True
            if not answer.failure.says(*NO_RIGHTS, *NO_TOPICS):
                raise self._client.error(answer.failure, "chat") from None
            self._without_rights.add(thread.chat)
            _log.warning(f"in a group where the bot may manage topics, {otherwise}", chat=thread.chat, fix=RIGHTS)
            return False
        return True

    async def _has_topics(self, chat: str) -> bool:
        if chat not in self._forums:
            found = await self._client.in_chat(chat, self._client.bot.get_chat)
            self._forums[chat] = bool(found.is_forum)
        return self._forums[chat]

    async def _emoji(self) -> dict[str, str]:
        """The icons there are, by their plain emoji. They are asked for once."""
        if self._known is None:
            try:
                stickers = await self._client.call(self._client.bot.get_forum_topic_icon_stickers)
            except PlatformError as error:
                _log.info("the icons of topics are not known", why=error.message)
                return {}
            self._known = {
                plain_emoji(one.emoji): one.custom_emoji_id for one in stickers if one.emoji and one.custom_emoji_id
            }
        return self._known


def title_of(title: str) -> str:
    """A name in one line that is neither empty nor too long."""
    words = " ".join(md.clean(title).split())
    if _units(words) > NAME:
        words = words.encode("utf-16-le")[: 2 * (NAME - 1)].decode("utf-16-le", "ignore").rstrip() + "…"
    return words or "New session"


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
