"""Telegram from the first word on: strangers, pairing, a prompt and its answer wherever people write, and stop."""

from __future__ import annotations

from pathlib import Path

import pytest

from beambot.model.bodies import TextDelta
from beambot.model.settings import CODE_ALPHABET, CODE_LENGTH, Role
from beambot.testing.scripted import Emit, Hang
from beambot.testing.world import World
from platforms.telegram.twin import Message
from tests.journeys.telegram_house import House, answering, by_bot, reaction, said, telegram

CODE = CODE_ALPHABET[3 : 3 + CODE_LENGTH]


async def invite(h: House, world: World, role: Role | None = "participant") -> str:
    """What `beambot pair` does."""
    await world.store.pairings.create(CODE, role=role, expires_at=h.clock.now() + 600)
    return CODE


async def test_a_stranger_gets_one_line_and_nothing_else(tmp_path: Path) -> None:
    async with telegram(tmp_path) as h, h.beambot(answering("secret work")) as world:
        chat = h.stranger.chat
        await h.stranger.starts()
        await h.sees(chat, "I do not know you.")
        await h.stranger.says(None, "what can you do?")
        await h.stranger.says(None, "/sessions")
        await h.stranger.uploads(None, ("a.txt", b"hello"))
        await h.owner.says(None, "work")
        await h.sees(h.owner.chat, "secret work")
        assert said(h.twin, chat) == "◈ ℹ️ I do not know you."
        assert all(not reaction(h.twin, message) for message in chat.standing)
        assert len(world.agent.sessions) == 1


@pytest.mark.parametrize("how", ["/start {}", "{}", "  {}  "])
async def test_a_code_makes_a_stranger_a_member_who_is_answered(tmp_path: Path, how: str) -> None:
    async with telegram(tmp_path) as h, h.beambot(answering("hello, Eve")) as world:
        chat = h.stranger.chat
        await h.stranger.says(None, how.format(await invite(h, world)).strip("\n"))
        await h.sees(chat, "Welcome, Eve. You are participant here.")
        asked = await h.stranger.says(None, "hi")
        await h.sees(chat, "hello, Eve")
        await h.reacts(asked, "👍")
        assert "I do not know you" not in chat.screen()


async def test_a_wrong_code_is_the_one_line_and_a_code_without_a_role_waits_for_the_owner(tmp_path: Path) -> None:
    async with telegram(tmp_path) as h, h.beambot() as world:
        code = await invite(h, world, None)
        await h.stranger.starts(code[::-1])
        await h.sees(h.stranger.chat, "I do not know you.")
        await h.stranger.starts(code)
        await h.sees(h.stranger.chat, "The owner sees who you are and gives you a role.")
        await h.stranger.says(None, "hi")
        await h.owner.says(None, "/whoami")
        await h.sees(h.owner.chat, "owner")
        assert world.agent.sessions == []


async def test_in_a_private_chat_a_prompt_is_seen_worked_on_and_answered(tmp_path: Path) -> None:
    async with telegram(tmp_path) as h, h.beambot(answering("The answer ", "is **42**.")):
        asked = await h.owner.says(None, "what is it?")
        await h.sees(h.owner.chat, "The answer is 42.")
        await h.reacts(asked, "👍")
        reactions = [step.note for step in h.owner.chat.steps if step.what == "reacted"]
        assert reactions[0] == "👀"
        (answer,) = by_bot(h.twin, h.owner.chat)
        assert [entity.type for entity in answer.content.entities][:1] == ["bold"]
        assert h.twin.refusals == 0


async def test_each_topic_is_a_session_of_its_own_and_named_after_its_work(tmp_path: Path) -> None:
    async with telegram(tmp_path) as h, h.beambot(answering("the answer")) as world:
        forum = h.twin.forum("Work", h.owner)
        topics = [await h.owner.creates_topic(forum, name) for name in ("one", "two")]
        for topic in topics:
            await h.owner.says(forum, f"@beam_twin_bot look at {topic.name}", topic=topic)
            await forum.sees("the answer", topic=topic.id, seconds=15)
        assert len(world.agent.sessions) == 2
        # From then on the bot is spoken to without its name.
        more = await h.owner.says(forum, "go on", topic=topics[0])
        await h.reacts(more, "👍")
        assert [prompt.text for prompt in world.agent.sessions[0].prompts] == ["look at one", "go on"]
        answers = [[one for one in forum.in_topic(topic.id) if "the answer" in one.text] for topic in topics]
        assert [len(found) for found in answers] == [2, 1]
        await h.until(lambda: topics[0].name == "look at one", forum)
        assert h.twin.refusals == 0


async def test_in_a_plain_group_the_answer_hangs_on_the_prompt_and_people_talk_undisturbed(tmp_path: Path) -> None:
    async with telegram(tmp_path) as h, h.beambot([answering("first answer"), answering("second")]) as world:
        group = h.twin.group("Work", h.owner, h.approver, h.stranger)
        asked = await h.owner.says(group, "@beam_twin_bot look")
        answer = await h.sees(group, "first answer")
        assert answer.reply_to is asked
        talk = [await h.approver.says(group, "lunch?"), await h.stranger.says(group, "@beam_twin_bot me too")]
        more = await h.approver.replies(answer, "and now?")
        again = await h.sees(group, "second")
        assert again.reply_to is more
        await h.reacts(more, "👍")
        assert len(world.agent.sessions) == 1
        assert world.agent.last.prompts[1].text == "and now?"
        assert [reaction(h.twin, message) for message in talk] == ["", ""]
        assert len(by_bot(h.twin, group)) == 2


async def test_stop_is_shown_at_once_and_the_next_prompt_is_answered(tmp_path: Path) -> None:
    script = [[Emit(TextDelta("Working on it.")), Hang()], answering("fresh")]
    async with telegram(tmp_path) as h, h.beambot(script) as world:
        chat = h.owner.chat
        asked = await h.owner.says(None, "work")
        await h.sees(chat, "Working on it.")
        await h.owner.says(None, "/stop")
        stopped: Message = await h.sees(chat, "Stopped")
        assert "Working on it." in stopped.text
        assert world.agent.last.calls == ["interrupt"]
        await h.until(lambda: reaction(h.twin, asked) not in ("👀", "✍"), chat)
        assert "Stop" not in stopped.labels
        await h.owner.says(None, "again")
        await h.sees(chat, "fresh")


async def test_the_stop_button_stops_too_and_a_second_stop_says_that_nothing_runs(tmp_path: Path) -> None:
    async with telegram(tmp_path) as h, h.beambot([Emit(TextDelta("Working.")), Hang()]) as world:
        asked = await h.owner.says(None, "work")
        message = await h.sees(h.owner.chat, "Working.")
        press = await h.owner.presses(message, "Stop")
        assert press.answered
        await h.sees(h.owner.chat, "Stopped.")
        assert world.agent.last.calls == ["interrupt"]
        await h.reacts(asked, "🤷")
        await h.owner.says(None, "/stop")
        await h.sees(h.owner.chat, "Nothing is running here.")
