"""The Telegram platform keeps what every platform keeps, in a private chat, a topic, a forum and a plain group."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar

import pytest

from beambot.api import MessageRef, ThreadRef
from beambot.testing.platform_contract import PlatformContract, PlatformHarness
from platforms.telegram.twin import Chat, Message, Settings


class TelegramHarness(PlatformHarness):
    """A person at one place of the twin."""

    def __init__(self, stage: Any, chat: Chat, topic: int = 0, root: Message | None = None) -> None:
        self.stage = stage
        self.platform = stage.platform
        self.inbox = stage.inbox
        self.chat = chat
        self.topic = topic
        self.root = root
        thread = str(topic) if topic else f"r{root.id}" if root else ""
        self.thread = ThreadRef("telegram", str(chat.id), thread)
        self.missing_thread = (
            ThreadRef("telegram", str(chat.id), "987654") if topic else ThreadRef("telegram", "404")
        )

    async def say(self, text: str) -> None:
        await self.stage.ana.says(self.chat, text, topic=self.topic, reply_to=self.root)
        await self.stage.confirmed()

    async def press(self, ref: MessageRef, data: str) -> None:
        message = self.chat.messages[int(ref.message)]
        (label,) = [b.text for row in message.content.keyboard for b in row if b.data == data]
        await self.stage.ana.presses(message, label, seconds=0)
        await self.stage.confirmed()

    async def repeat(self) -> None:
        twin = self.stage.twin
        last = self.last
        twin.updates.waiting.append(last)
        twin.updates._wake()

    @property
    def last(self) -> Any:
        return self.kept[-1]

    async def shown(self, thread: ThreadRef) -> list[tuple[MessageRef, str]]:
        found = []
        for message in self.chat.standing:
            if message.sender is not self.stage.twin.bot or message.content.service is not None:
                continue
            if thread.thread.startswith("r"):
                inside = message.reply_to is not None and message.reply_to.id == int(thread.thread[1:])
            else:
                chained = message.reply_to is not None or f"r{message.id}" in self.roots
                inside = str(message.topic or "") == thread.thread and not chained
            if inside:
                found.append((MessageRef(thread, str(message.id)), message.text))
        return found

    @property
    def roots(self) -> set[str]:
        return {f"r{m.reply_to.id}" for m in self.chat.standing if m.reply_to is not None}

    async def stop(self) -> None:
        await self.stage.stop()


async def keep_updates(harness: TelegramHarness) -> None:
    """Remember what the twin handed out, so that it can do so again."""
    updates = harness.stage.twin.updates
    harness.kept = []
    put = updates.put

    def keeping(kind: str, body: Any) -> Any:
        made = put(kind, body)
        if made is not None:
            harness.kept.append(made)
        return made

    updates.put = keeping


class _Contract(PlatformContract):
    settings: ClassVar[dict[str, Any]] = {}

    @pytest.fixture(autouse=True)
    def _with(self, telegram: Any) -> None:
        self.telegram = telegram

    async def place(self, stage: Any) -> TelegramHarness:
        raise NotImplementedError

    @contextlib.asynccontextmanager
    async def _made(self) -> AsyncIterator[PlatformHarness]:
        async with self.telegram(**self.settings) as stage:
            harness = await self.place(stage)
            await stage.confirmed()
            stage.inbox.items.clear()
            stage.inbox.puts.clear()
            await keep_updates(harness)
            yield harness

    def harness(self) -> AbstractAsyncContextManager[PlatformHarness]:
        return self._made()


class TestPrivateChat(_Contract):
    async def place(self, stage: Any) -> TelegramHarness:
        await stage.ana.starts()
        return TelegramHarness(stage, stage.ana.chat)


class TestPrivateChatWithDrafts(TestPrivateChat):
    settings: ClassVar[dict[str, Any]] = {"stream": "draft"}


class TestPrivateChatWithRichMessages(TestPrivateChat):
    settings: ClassVar[dict[str, Any]] = {"stream": "auto", "rich": "auto"}


class TestTopicOfAPrivateChat(_Contract):
    settings: ClassVar[dict[str, Any]] = {
        "stream": "auto",
        "twin": Settings(has_topics_enabled=True, allows_users_to_create_topics=True),
    }

    async def place(self, stage: Any) -> TelegramHarness:
        topic = await stage.ana.creates_topic(stage.ana.chat, "A session")
        return TelegramHarness(stage, stage.ana.chat, topic.id)


class TestTopicOfAForum(_Contract):
    settings: ClassVar[dict[str, Any]] = {"stream": "auto"}

    async def place(self, stage: Any) -> TelegramHarness:
        forum = stage.twin.forum("Work", stage.ana)
        topic = await stage.ana.creates_topic(forum, "A session")
        await stage.ana.says(forum, "/new", topic=topic.id)
        return TelegramHarness(stage, forum, topic.id)


class TestChainInAPlainGroup(_Contract):
    async def place(self, stage: Any) -> TelegramHarness:
        group = stage.twin.group("Work", stage.ana, stage.bo)
        root = await stage.ana.says(group, "@beam_twin_bot look at this")
        return TelegramHarness(stage, group, root=root)
