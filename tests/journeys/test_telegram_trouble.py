"""When Telegram is slow, silent, strict or changed: everything is said in the end, once, and nobody is flooded."""

from __future__ import annotations

import re
from pathlib import Path

import anyio
import pytest
import structlog.testing

from beambot.model.bodies import Result, TextDelta
from beambot.testing.scripted import Emit, Pause, WaitFor
from beambot.testing.world import World
from platforms.telegram.twin import Chat, Topic, Twin
from tests.journeys.telegram_house import House, answering, by_bot, reaction, said, telegram

FAST = 12.0


def words(name: str, count: int) -> list[str]:
    return [f"{name}{number:04d} " for number in range(count)]


def counted(name: str, twin: Twin, chat: Chat) -> list[int]:
    """The numbers of these words as they stand in a chat, in the order in which a person reads them."""
    return [int(number) for number in re.findall(rf"\b{name}(\d{{4}})\b", said(twin, chat))]


async def test_an_outage_of_a_minute_in_mid_stream_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    pieces = [Emit(TextDelta(word)) for word in words("word", 90)]
    gone = anyio.Event()
    script = [
        *pieces[:20],
        WaitFor(gone),
        *(step for piece in pieces[20:] for step in (piece, Pause(0.5))),
        Emit(Result()),
    ]
    async with telegram(tmp_path, times=FAST) as h, h.beambot(script):
        chat = h.owner.chat
        asked = await h.owner.says(None, "talk")
        await h.sees(chat, "word0010")
        gone.set()
        await h.twin.outage(60)
        await h.sees(chat, "word0089")
        await h.reacts(asked, "👍")
        assert counted("word", h.twin, chat) == list(range(90))
        later = await h.owner.says(None, "/whoami")
        await h.sees(chat, "owner")
        assert later.chat is chat


async def test_what_was_said_during_an_outage_is_answered_after_it_once(tmp_path: Path) -> None:
    async with telegram(tmp_path, times=FAST) as h, h.beambot(answering("the answer")) as world:
        async with h.twin.away():
            asked = await h.owner.says(None, "are you there?")
            await h.clock.sleep(20)
        await h.sees(h.owner.chat, "the answer")
        await h.reacts(asked, "👍")
        assert [prompt.text for prompt in world.agent.last.prompts] == ["are you there?"]
        assert len(by_bot(h.twin, h.owner.chat)) == 1


async def test_a_frozen_chat_is_left_alone_for_as_long_as_telegram_says_and_then_is_complete(
    tmp_path: Path,
) -> None:
    pieces = [step for word in words("word", 60) for step in (Emit(TextDelta(word)), Pause(0.5))]
    async with telegram(tmp_path, times=FAST) as h, h.beambot([*pieces, Emit(Result())]):
        chat = h.owner.chat
        asked = await h.owner.says(None, "talk")
        await h.sees(chat, "word0004")
        h.twin.freeze(chat, 30)
        await h.until(lambda: h.twin.refusals, chat)
        refused_at, seconds = h.twin.meter.refused[0].at, h.twin.meter.refused[0].seconds
        assert 25 <= seconds <= 35
        await h.sees(chat, "word0059")
        await h.reacts(asked, "👍")
        counts = ("sendMessage", "editMessageText")
        early = [
            at for at, call in h.twin.calls if call.method in counts and refused_at < at < refused_at + seconds
        ]
        assert early == []
        assert h.twin.refusals == 1
        assert counted("word", h.twin, chat) == list(range(60))


async def test_three_sessions_in_one_forum_stream_at_once_without_a_refusal(tmp_path: Path) -> None:
    pieces = [step for word in words("word", 70) for step in (Emit(TextDelta(word)), Pause(0.1))]
    async with telegram(tmp_path) as h, h.beambot([*pieces, Emit(Result())]) as world:
        forum = h.twin.forum("Work", h.owner)
        topics = [await h.owner.creates_topic(forum, name) for name in ("one", "two", "three")]
        asked = [await h.owner.says(forum, "@beam_twin_bot talk", topic=topic) for topic in topics]
        for message in asked:
            await h.reacts(message, "👍")
        await h.until(lambda: all(complete(h, forum, topic, 70) for topic in topics), forum)
        assert h.twin.refusals == 0
        assert len(world.agent.sessions) == 3
        for topic in topics:
            (answer,) = [one for one in forum.in_topic(topic.id) if "word" in one.text]
            assert len(answer.revisions) > 1


def complete(h: House, chat: Chat, topic: Topic, count: int) -> bool:
    text = "\n".join(one.text for one in chat.in_topic(topic.id))
    return re.findall(r"word(\d{4})", text) == [f"{number:04d}" for number in range(count)]


def long_answer(count: int) -> str:
    """So many numbered words in paragraphs, lists, tables and code."""
    left = iter(words("word", count))
    parts: list[str] = []
    while True:
        some = [word.strip() for _, word in zip(range(60), left, strict=False)]
        if len(some) < 60:
            return "\n\n".join([*parts, " ".join(some)])
        rows = "\n".join("| " + " | ".join(some[at : at + 4]) + " |" for at in range(24, 36, 4))
        code = "\n".join(f"    {word}()" for word in some[36:50])
        parts += [
            f"## {some[0]}",
            " ".join(some[1:12]),
            "\n".join(f"- **{word}**" for word in some[12:20]),
            f"| {' | '.join(some[20:24])} |\n|---|---|---|---|\n{rows}",
            f"```python\ndef f():\n{code}\n```",
            " ".join(some[50:]),
        ]


@pytest.mark.parametrize("place", ["private", "group"])
async def test_five_thousand_words_with_tables_and_code_arrive_intact(tmp_path: Path, place: str) -> None:
    text = long_answer(5000)
    deltas = [Emit(TextDelta(text[at : at + 400])) for at in range(0, len(text), 400)]
    async with telegram(tmp_path, times=FAST) as h, h.beambot([*deltas, Emit(Result())]):
        chat = h.owner.chat if place == "private" else h.twin.group("Work", h.owner)
        asked = await h.owner.says(chat, "@beam_twin_bot write")
        await h.reacts(asked, "👍")
        await h.until(lambda: len(counted("word", h.twin, chat)) >= 5000, chat)
        assert counted("word", h.twin, chat) == list(range(5000))
        kinds = {entity.type for one in by_bot(h.twin, chat) for entity in one.content.entities}
        assert {"bold", "pre"} <= kinds
        assert "```" not in said(h.twin, chat)


async def test_a_topic_that_somebody_deletes_parks_the_session_and_loses_nothing(tmp_path: Path) -> None:
    go = anyio.Event()
    first = [Emit(TextDelta("half of it, ")), WaitFor(go), Emit(TextDelta("and the rest.")), Emit(Result())]
    async with telegram(tmp_path) as h, h.beambot([first, answering("going on")]) as world:
        forum = h.twin.forum("Work", h.owner)
        topic = await h.owner.creates_topic(forum, "tests")
        await h.owner.says(forum, "@beam_twin_bot look", topic=topic)
        await h.sees(forum, "half of it")
        await h.owner.deletes_topic(forum, topic)
        go.set()
        await world.until(lambda: parked(world), seconds=15)
        calls = len(h.twin.called("sendMessage"))
        (session,) = await world.store.sessions.recent(5)
        await h.owner.says(None, f"/resume {session.id}")
        await h.sees(h.owner.chat, "goes on here")
        await h.owner.says(None, "/last")
        await h.sees(h.owner.chat, "half of it, and the rest.")
        await h.owner.says(None, "and now?")
        await h.sees(h.owner.chat, "going on")
        assert len(world.agent.sessions) == 1
        after = h.twin.called("sendMessage")[calls:]
        assert {call.text("chat_id") for call in after} == {"1"}


def parked(world: World) -> bool:
    return bool(world.rooms.house.delivery._parked)


async def test_a_group_that_becomes_a_supergroup_in_mid_turn_is_answered_in_its_new_place(tmp_path: Path) -> None:
    go = anyio.Event()
    first = [Emit(TextDelta("half of it, ")), WaitFor(go), Emit(TextDelta("and the rest.")), Emit(Result())]
    async with telegram(tmp_path) as h, h.beambot([first, answering("going on")]) as world:
        group = h.twin.group("Work", h.owner, kind="group")
        await h.owner.says(group, "@beam_twin_bot look")
        await h.sees(group, "half of it")
        grown = await h.owner.migrates(group)
        go.set()
        answer = await h.sees(grown, "half of it, and the rest.")
        more = await h.owner.replies(answer, "and now?")
        again = await h.sees(grown, "going on")
        await h.reacts(more, "👍")
        assert len(world.agent.sessions) == 1
        assert len(world.agent.last.prompts) == 2
        # The new group counts its messages anew: nothing is done to one that has an old one's number.
        assert (answer.reply_to, again.reply_to) == (None, more)
        assert reaction(h.twin, grown.standing[0]) == ""
        other = await h.owner.says(grown, "@beam_twin_bot something else")
        await h.reacts(other, "👍")
        assert len(world.agent.sessions) == 2


async def test_what_was_sent_while_beambot_was_away_is_worked_off_in_order_with_a_line_that_counts_it(
    tmp_path: Path,
) -> None:
    async with telegram(tmp_path, times=FAST) as h:
        async with h.beambot(answering("first answer")):
            asked = await h.owner.says(None, "zero")
            await h.reacts(asked, "👍")
        backlog = [await h.owner.says(None, text) for text in ("one", "two", "three")]
        await h.clock.sleep(70)
        async with h.beambot([answering("A1"), answering("A2"), answering("A3")]) as world:
            chat = h.owner.chat
            line = await h.sees(chat, "3 messages were sent while beambot was away")
            assert line.labels == ["Drop what still waits", "Queue"]
            for message in backlog:
                await h.reacts(message, "👍")
            await h.sees(chat, "A3")
            assert [prompt.text for prompt in world.agent.last.prompts] == ["one", "two", "three"]
            order = [one.text[:2] for one in by_bot(h.twin, chat) if re.match(r"A\d", one.text)]
            assert order == ["A1", "A2", "A3"]
            assert said(h.twin, chat).count("while beambot was away") == 1


async def test_a_backlog_can_be_dropped(tmp_path: Path) -> None:
    go = anyio.Event()
    async with telegram(tmp_path, times=FAST) as h:
        async with h.beambot(answering("first answer")):
            await h.reacts(await h.owner.says(None, "zero"), "👍")
        backlog = [await h.owner.says(None, text) for text in ("one", "two", "three")]
        async with h.beambot([[Emit(TextDelta("A1")), WaitFor(go), Emit(Result())], answering("A2")]) as world:
            line = await h.sees(h.owner.chat, "3 messages were sent while beambot was away")
            await h.owner.presses(line, "Drop what still waits")
            await h.until(lambda: reaction(h.twin, backlog[2]) == "🤷", h.owner.chat)
            go.set()
            await h.reacts(backlog[0], "👍")
            assert [prompt.text for prompt in world.agent.last.prompts] == ["one"]


async def test_two_programs_with_one_token_are_told_apart_once(tmp_path: Path) -> None:
    with structlog.testing.capture_logs() as logs:
        async with telegram(tmp_path, times=FAST) as h, h.beambot(answering("still here")):
            h.twin.fail("conflict", "getUpdates", times=4)
            await h.owner.says(None, "wake up")
            await h.sees(h.owner.chat, "still here", seconds=25)
            polls = len(h.twin.called("getUpdates"))
    conflicts = [line for line in logs if "another program" in line["event"]]
    assert len(conflicts) == 1
    assert "end the other program" in conflicts[0]["fix"]
    assert polls <= 8
    assert h.twin.token not in str(logs)
