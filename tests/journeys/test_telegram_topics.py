"""A place for each session on Telegram: /new opens one, its icon tells how it stands, and typing shows the work."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from beambot.model.bodies import Result, TextDelta
from beambot.testing.scripted import Emit, WaitFor
from platforms.telegram.twin import Chat
from tests.journeys.telegram_house import House, answering, by_bot, telegram


async def opened(h: House, chat: Chat) -> int:
    """The topic that the bot has opened."""
    await h.until(lambda: chat.topics, chat)
    (topic,) = [one.id for one in chat.topics.values() if one.creator == h.twin.bot.id]
    return topic


@pytest.mark.parametrize("place", ["private", "forum"])
async def test_new_opens_a_topic_and_the_session_lives_in_it(tmp_path: Path, place: str) -> None:
    async with (
        telegram(tmp_path, has_topics_enabled=True, allows_users_to_create_topics=True) as h,
        h.beambot(answering("the answer")) as world,
    ):
        chat = h.owner.chat if place == "private" else h.twin.forum("Work", h.owner)
        await h.owner.says(chat, "/new")
        topic = await opened(h, chat)
        await chat.sees("New session", topic=topic, seconds=15)
        asked = await h.owner.says(chat, "look", topic=topic)
        await chat.sees("the answer", topic=topic, seconds=15)
        await h.reacts(asked, "👍")
        assert [prompt.text for prompt in world.agent.last.prompts] == ["look"]
        await h.until(lambda: chat.topics[topic].name == "look", chat)
        told = await h.sees(chat, "has a place of its own beside this one")
        assert told.topic != topic
        outside = [one for one in by_bot(h.twin, chat) if one.topic != topic and one.text]
        assert outside == [told]


async def test_where_there_are_no_topics_new_begins_in_the_same_chat(tmp_path: Path) -> None:
    async with telegram(tmp_path) as h, h.beambot(answering("the answer")) as world:
        chat = h.owner.chat
        for number in (1, 2):
            await h.owner.says(None, "/new")
            await h.until(lambda number=number: chat.screen().count("New session") == number, chat)  # type: ignore[misc]
            await h.reacts(await h.owner.says(None, "look"), "👍")
        assert len(world.agent.sessions) == 2


async def test_typing_is_shown_while_the_agent_is_silent_and_ends_with_the_turn(tmp_path: Path) -> None:
    go = anyio.Event()
    script = [Emit(TextDelta("Let me think.")), WaitFor(go), Emit(TextDelta(" Done.")), Emit(Result())]
    async with telegram(tmp_path, times=12.0) as h, h.beambot(script):
        asked = await h.owner.says(None, "think")
        await h.sees(h.owner.chat, "Let me think.")
        await h.until(lambda: len(h.twin.called("sendChatAction")) >= 3, h.owner.chat)
        go.set()
        await h.reacts(asked, "👍")
        await h.sees(h.owner.chat, "Done.")
        shown = len(h.twin.called("sendChatAction"))
        await h.clock.sleep(20)
        assert len(h.twin.called("sendChatAction")) <= shown + 1
        assert h.twin.refusals == 0


async def test_start_tells_a_member_what_there_is(tmp_path: Path) -> None:
    async with telegram(tmp_path) as h, h.beambot() as world:
        await h.owner.starts()
        shown = await h.sees(h.owner.chat, "/new")
        assert "/stop" in shown.text
        await h.observer.starts("ABCDEF")
        shown = await h.sees(h.observer.chat, "/")
        assert "Welcome" not in h.observer.chat.screen()
        assert world.agent.sessions == []
