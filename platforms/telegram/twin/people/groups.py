"""What people do with chats: topics, members, blocking, growing into a supergroup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from platforms.telegram.twin import wire
from platforms.telegram.twin.people.hearing import hears
from platforms.telegram.twin.world.values import Chat, Content, Json, Member, Message, Status, Topic, User

if TYPE_CHECKING:
    from platforms.telegram.twin.twin import Twin


class GroupLife:
    """The part of a person that runs chats."""

    twin: Twin
    user: User

    # ── topics ───────────────────────────────────────────────────────────────────────────────────────

    async def creates_topic(self, chat: Chat, name: str = "", *, color: int = 0x6FB9F0) -> Topic:
        """Open a topic. Without a name, in a private chat, it is named after nothing until the bot renames it."""
        settings = self.twin.settings
        if chat.type == "private":
            if not (settings.has_topics_enabled and settings.allows_users_to_create_topics):
                raise AssertionError("people may not create topics in their chat with this bot")
            chat.started = True
        elif not chat.is_forum:
            raise AssertionError(f"{chat.name} has no topics")
        made = self.twin.world.open_topic(
            chat, name or "New Chat", self.user, color=color, emoji="", implicit=not name
        )
        self._tell(made)
        return chat.topics[made.topic]

    async def renames_topic(self, chat: Chat, topic: Topic, name: str) -> None:
        """Give a topic another name."""
        topic.name, topic.implicit = name, False
        self._serve(chat, {"forum_topic_edited": {"name": name}}, topic.id)

    async def closes_topic(self, chat: Chat, topic: Topic) -> None:
        """Close a topic: only administrators can write in it."""
        topic.closed = True
        self._serve(chat, {"forum_topic_closed": {}}, topic.id)

    async def reopens_topic(self, chat: Chat, topic: Topic) -> None:
        """Open it again."""
        topic.closed = False
        self._serve(chat, {"forum_topic_reopened": {}}, topic.id)

    async def deletes_topic(self, chat: Chat, topic: Topic) -> None:
        """Delete a topic with all in it. Telegram tells bots nothing of it."""
        self.twin.world.drop_topic(chat, topic, self.user.name)

    # ── members ──────────────────────────────────────────────────────────────────────────────────────

    async def joins(self, chat: Chat) -> None:
        """Come into a group."""
        chat.members[self.user.id] = Member(self.user)
        self._serve(chat, {"new_chat_members": [wire.user(self.user)]})

    async def leaves(self, chat: Chat) -> None:
        """Go out of a group."""
        chat.members[self.user.id] = Member(self.user, "left")
        self._serve(chat, {"left_chat_member": wire.user(self.user)})

    async def adds_bot(self, chat: Chat) -> None:
        """Bring the bot into a group."""
        self._bot_becomes(chat, "member")
        self._serve(chat, {"new_chat_members": [wire.user(self.twin.bot)]})

    async def kicks_bot(self, chat: Chat) -> None:
        """Throw the bot out."""
        self._bot_becomes(chat, "kicked")

    async def promotes_bot(self, chat: Chat, *, topics: bool = True) -> None:
        """Make the bot an administrator."""
        self._bot_becomes(chat, "administrator", topics=topics)

    async def demotes_bot(self, chat: Chat) -> None:
        """An ordinary member again."""
        self._bot_becomes(chat, "member")

    async def mutes_bot(self, chat: Chat) -> None:
        """The bot may read and not write."""
        self._bot_becomes(chat, "restricted", writes=False)

    async def unmutes_bot(self, chat: Chat) -> None:
        """The bot may write again."""
        self._bot_becomes(chat, "member")

    def blocks(self) -> None:
        """Block the bot in the private chat."""
        chat = self.twin.world.private(self.user)
        chat.blocked = True
        self._bot_becomes(chat, "kicked")

    def unblocks(self) -> None:
        """Let the bot write again."""
        chat = self.twin.world.private(self.user)
        chat.blocked = False
        self._bot_becomes(chat, "member")

    async def migrates(self, chat: Chat) -> Chat:
        """A small group becomes a supergroup with another id; the old id answers where it went."""
        if chat.type != "group":
            raise AssertionError(f"{chat.name} is a {chat.type}, not a small group")
        world = self.twin.world
        grown = world.group(chat.title, [])
        grown.members = dict(chat.members)
        self._serve(chat, {"migrate_to_chat_id": grown.id})
        chat.migrated_to = grown.id
        self._serve(grown, {"migrate_from_chat_id": chat.id})
        return grown

    # ── within ───────────────────────────────────────────────────────────────────────────────────────

    def _serve(self, chat: Chat, service: Json, topic: int = 0) -> Message:
        message = self.twin.world.post(chat, Content(service=service), sender=self.user, topic=topic)
        self._tell(message)
        return message

    def _tell(self, message: Message) -> None:
        if hears(self.twin, message):
            self.twin.updates.put("message", wire.message(message))

    def _bot_becomes(self, chat: Chat, status: Status, *, writes: bool = True, topics: bool = False) -> None:
        world = self.twin.world
        old = world.member(chat, world.bot)
        new = Member(world.bot, status, writes, topics)
        chat.members[world.bot.id] = new
        world.note(chat, self.user.name, f"made the bot {status}")
        self.twin.updates.put(
            "my_chat_member",
            {
                "chat": wire.chat(chat),
                "from": wire.user(self.user),
                "date": int(self.twin.clock.now()),
                "old_chat_member": wire.member(old),
                "new_chat_member": wire.member(new),
            },
        )
