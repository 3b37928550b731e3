"""The bot as people see it: messages, receipts, topics, drafts, files, menus."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from telegram.constants import ReactionEmoji

from beambot.api import (
    Attachment,
    CommandInfo,
    MessageRef,
    Outgoing,
    PlatformError,
    Refused,
    RetryAfter,
    SelfChecking,
    StreamEnded,
    ThreadRef,
)
from beambot.api import outbound as out
from beambot.testing.clock import FakeClock
from platforms.telegram.receiving.schema import Me
from platforms.telegram.surface.menu import REACTIONS, findings, listed
from platforms.telegram.twin import Settings

Stage = Callable[..., Any]
HERE = ThreadRef("telegram", "11")
TOPICS = Settings(has_topics_enabled=True, allows_users_to_create_topics=True)


def text(words: str, **more: Any) -> Outgoing:
    return Outgoing("k", (out.Markdown(words),), **more)


# ── messages ─────────────────────────────────────────────────────────────────────────────────────────


async def test_only_loud_messages_ring_and_edits_never_say_so(telegram: Stage) -> None:
    async with telegram() as t:
        await t.ana.starts()
        ref = await t.platform.post(HERE, text("quiet"))
        await t.platform.post(HERE, text("loud", loud=True))
        assert [m.silent for m in t.ana.chat.standing if m.sender is t.twin.bot] == [True, False]
        await t.platform.edit(ref, text("still quiet", loud=True))
        (call,) = t.twin.called("editMessageText")
        assert not call.has("disable_notification")


async def test_answer_stands_under_what_it_answers_even_when_that_is_gone(telegram: Stage) -> None:
    async with telegram() as t:
        said = await t.ana.says(None, "fix it")
        await t.platform.post(HERE, text("done", reply_to=str(said.id)))
        assert t.ana.chat.last.reply_to is said
        await t.ana.deletes(said)
        await t.platform.post(HERE, text("done again", reply_to=str(said.id)))
        assert t.ana.chat.last.text == "done again"


async def test_person_is_called_by_name_so_that_their_phone_rings(telegram: Stage) -> None:
    async with telegram() as t:
        await t.ana.says(None, "fix it")
        await t.confirmed()
        await t.platform.post(HERE, text("**All** done 👍", loud=True, mention="11"))
        content = t.ana.chat.last.content
        assert content.text == "Ana\nAll done 👍"
        kinds = {one.type: (one.offset, one.length) for one in content.entities}
        assert kinds["text_mention"] == (0, 3)
        assert kinds["bold"] == (4, 3)
        assert content.entities[0].user == 11


async def test_name_at_the_head_never_makes_a_message_too_long(telegram: Stage) -> None:
    async with telegram() as t:
        await t.ana.starts()
        await t.platform.post(HERE, text("word " * 819, mention="11"))
        await t.platform.post(HERE, text("word " * 819, mention="11", plain=True))
        assert all(len(m.text) <= 4096 for m in t.ana.chat.standing)


async def test_field_for_an_answer_opens_by_itself_where_one_is_wanted(telegram: Stage) -> None:
    async with telegram() as t:
        await t.ana.starts()
        ref = await t.platform.post(HERE, text("Why not?", wants_reply="Because " + "x" * 80))
        markup = t.twin.called("sendMessage")[-1].mapping("reply_markup")
        assert markup["force_reply"] is True
        assert len(str(markup["input_field_placeholder"])) == 64
        await t.platform.edit(ref, text("Thanks", wants_reply="more"))
        assert not t.twin.called("editMessageText")[-1].has("reply_markup")


async def test_buttons_go_when_an_edit_has_none(telegram: Stage) -> None:
    async with telegram() as t:
        await t.ana.starts()
        ref = await t.platform.post(HERE, text("May it?", buttons=((out.Button("Yes", "y"),),)))
        await t.platform.edit(ref, text("May it?"))
        assert t.ana.chat.last.labels == []


async def test_press_is_answered_once_and_one_that_is_too_old_is_no_error(telegram: Stage) -> None:
    async with telegram() as t:
        await t.ana.starts()
        await t.platform.post(HERE, text("May it?", buttons=((out.Button("Yes", "y"),),)))
        press = await t.ana.presses(t.ana.chat.last, "Yes", seconds=0)
        await t.confirmed()
        handle = t.inbox.items[-1].body.handle
        await t.platform.ack(handle, "word " * 100, alert=True)
        assert press.answered
        assert len(press.toast) == 200
        assert press.alert
        description = "Bad Request: query is too old and response timeout expired or query ID is invalid"
        t.twin.fail("refuse", "answerCallbackQuery", status=400, description=description)
        await t.platform.ack(handle, "late")
        t.twin.fail("refuse", "answerCallbackQuery", status=400, description="Bad Request: other")
        with pytest.raises(Refused):
            await t.platform.ack(handle, "late")


async def test_each_receipt_is_a_reaction_that_telegram_has(telegram: Stage) -> None:
    assert set(REACTIONS.values()) <= {emoji.value for emoji in ReactionEmoji}
    assert len(set(REACTIONS.values())) == len(REACTIONS)
    async with telegram() as t:
        said = await t.ana.says(None, "hi")
        ref = MessageRef(HERE, str(said.id))
        for receipt, emoji in REACTIONS.items():
            await t.platform.react(ref, receipt)
            assert said.reactions[t.twin.bot.id] == (emoji,)


async def test_chat_without_reactions_and_a_message_that_is_gone_show_none(telegram: Stage) -> None:
    async with telegram() as t:
        said = await t.ana.says(None, "hi")
        t.twin.fail("refuse", "setMessageReaction", status=400, description="Bad Request: REACTION_INVALID")
        await t.platform.react(MessageRef(HERE, str(said.id)), "done")
        await t.ana.deletes(said)
        await t.platform.react(MessageRef(HERE, str(said.id)), "done")


# ── rich messages ────────────────────────────────────────────────────────────────────────────────────


async def test_rich_messages_where_the_server_takes_them(telegram: Stage) -> None:
    async with telegram(rich="auto") as t:
        await t.ana.starts()
        ref = await t.platform.post(HERE, text("# Head\n\nwords"))
        assert t.ana.chat.last.content.rich is not None
        await t.platform.edit(ref, text("# Head\n\nmore words"))
        await t.platform.edit(ref, text("# Head\n\nmore words"))
        assert "more words" in t.ana.chat.last.text
        assert t.twin.called("sendMessage") == []


async def test_server_that_refuses_rich_messages_gets_none_any_more(telegram: Stage) -> None:
    async with telegram(rich="auto", twin=Settings(api=(10, 0))) as t:
        await t.ana.starts()
        ref = await t.platform.post(HERE, text("**one**"))
        await t.platform.edit(ref, text("**two**"))
        await t.platform.post(HERE, text("three"))
        assert [m.text for m in t.ana.chat.standing if m.sender is t.twin.bot] == ["two", "three"]
        assert len(t.twin.called("sendRichMessage")) == 1


async def test_flood_of_rich_messages_is_a_flood(telegram: Stage) -> None:
    async with telegram(rich="auto") as t:
        await t.ana.starts()
        t.twin.freeze(t.ana.chat, 9)
        with pytest.raises(RetryAfter):
            await t.platform.post(HERE, text("one"))
        assert t.twin.called("sendMessage") == []


# ── drafts ───────────────────────────────────────────────────────────────────────────────────────────


async def test_draft_grows_can_be_stopped_and_ends_as_one_message(telegram: Stage) -> None:
    async with telegram(stream="draft") as t:
        await t.ana.starts()
        stream = await t.platform.open_stream(HERE, text("one"))
        await t.platform.append_stream(stream, text("one two", buttons=((out.Button("Stop", "x"),),)))
        (draft,) = t.twin.drafts(t.ana.chat)
        assert draft.content.text == "one two"
        assert [m for m in t.ana.chat.standing if m.sender is t.twin.bot] == []
        await t.ana.stops_generation()
        await t.confirmed()
        stop = t.inbox.items[-1]
        assert (stop.body.name, stop.sender.id, stop.thread) == ("stop", "11", HERE)
        ref = await t.platform.close_stream(stream, text("one two. Stopped."))
        assert t.ana.chat.last.text == "one two. Stopped."
        assert ref.message == str(t.ana.chat.last.id)
        assert t.twin.drafts(t.ana.chat) == []


async def test_groups_and_chains_have_no_drafts(telegram: Stage) -> None:
    async with telegram(stream="auto") as t:
        for thread in (ThreadRef("telegram", "-100", "5"), ThreadRef("telegram", "11", "r5")):
            assert t.platform.stream_limits(thread) is None
            with pytest.raises(StreamEnded):
                await t.platform.open_stream(thread, text("x"))


async def test_server_without_drafts_is_asked_once(telegram: Stage) -> None:
    async with telegram(stream="draft") as t:
        await t.ana.starts()
        t.twin.fail("refuse", "sendMessageDraft", status=404, description="Not Found")
        with pytest.raises(StreamEnded):
            await t.platform.open_stream(HERE, text("one"))
        assert t.platform.stream_limits(HERE) is None


async def test_draft_that_is_refused_in_mid_stream_goes_on_by_edits(telegram: Stage) -> None:
    async with telegram(stream="draft") as t:
        await t.ana.starts()
        stream = await t.platform.open_stream(HERE, text("one"))
        t.twin.fail("refuse", "sendMessageDraft", status=400, description="Bad Request: TEXTDRAFT_PEER_INVALID")
        with pytest.raises(StreamEnded):
            await t.platform.append_stream(stream, text("one two"))
        with pytest.raises(StreamEnded):
            await t.platform.close_stream(stream, text("one two three"))
        assert t.platform.stream_limits(HERE) is not None


async def test_flood_of_drafts_ends_them_only_where_that_is_left_to_us(telegram: Stage) -> None:
    for stream, still in (("draft", True), ("auto", False)):
        async with telegram(stream=stream) as t:
            await t.ana.starts()
            opened = await t.platform.open_stream(HERE, text("one"))
            t.twin.fail("refuse", "sendMessageDraft", status=429, description="x", parameters={"retry_after": 280})
            with pytest.raises(RetryAfter):
                await t.platform.append_stream(opened, text("one two"))
            assert (t.platform.stream_limits(HERE) is not None) is still


async def test_draft_is_kept_alive_while_nothing_is_said(telegram: Stage) -> None:
    clock = FakeClock()
    async with telegram(stream="draft", clock=clock) as t:
        await t.ana.starts()
        await t.platform.open_stream(HERE, text("thinking"))
        for number in range(1, 4):
            for _ in range(4):
                await clock.advance(5)
            await t.twin.until(lambda count=number: len(t.twin.called("sendMessageDraft")) == 1 + count)


# ── threads ──────────────────────────────────────────────────────────────────────────────────────────


async def test_topic_of_a_private_chat_is_opened_named_and_marked(telegram: Stage) -> None:
    async with telegram(twin=TOPICS) as t:
        await t.ana.starts()
        thread = await t.platform.open_thread(HERE, "A  long\ntitle " + "x" * 200)
        topic = t.ana.chat.topics[int(thread.thread)]
        assert topic.name.startswith("A long title xxx")
        assert len(topic.name) == 128
        await t.platform.rename_thread(thread, "Short")
        await t.platform.rename_thread(thread, "Short")
        assert topic.name == "Short"
        icons = []
        for state in ("working", "waiting", "failed", "idle"):
            await t.platform.mark_thread(thread, state)
            icons.append(topic.emoji)
        assert len(set(icons)) == 4
        calls = len(t.twin.called("editForumTopic"))
        await t.platform.mark_thread(thread, "idle")
        assert len(t.twin.called("editForumTopic")) == calls
        await t.platform.close_thread(thread)


async def test_topic_of_a_forum_is_closed_and_opened_again_with_the_next_work(telegram: Stage) -> None:
    async with telegram() as t:
        forum = t.twin.forum("Work", t.ana)
        thread = await t.platform.open_thread(ThreadRef("telegram", str(forum.id)), "Fix")
        topic = forum.topics[int(thread.thread)]
        await t.platform.close_thread(thread)
        assert topic.closed
        await t.stop()
        await t.start(t.tasks)
        await t.platform.mark_thread(thread, "working")
        assert not topic.closed
        await t.ana.says(forum, "not said to anybody", topic=topic.id)
        await t.confirmed()
        assert t.inbox.items[-1].thread == thread


async def test_forum_without_rights_works_without_icons(
    telegram: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    async with telegram() as t:
        forum = t.twin.forum("Work", t.ana, admin=False)
        topic = await t.ana.creates_topic(forum, "x")
        thread = ThreadRef("telegram", str(forum.id), str(topic.id))
        for state in ("working", "idle", "working"):
            await t.platform.mark_thread(thread, state)
        await t.platform.rename_thread(thread, "y")
        assert len(t.twin.called("editForumTopic")) == 1
        assert capsys.readouterr().out.count("its topics have icons") == 1
        with pytest.raises(PlatformError, match="may not") as caught:
            await t.platform.open_thread(thread, "another")
        assert "administrator" in caught.value.fix


async def test_thread_in_a_plain_group_is_a_chain_that_people_can_answer(telegram: Stage) -> None:
    async with telegram() as t:
        group = t.twin.group("Work", t.ana, t.bo)
        thread = await t.platform.open_thread(ThreadRef("telegram", str(group.id)), "Fix it")
        root = group.last
        assert root.text == "Fix it"
        await t.platform.post(thread, text("how?"))
        assert group.last.reply_to is root
        await t.stop()
        await t.start(t.tasks)
        await t.bo.replies(group.last, "like this")
        await t.confirmed()
        assert t.inbox.items[-1].thread == thread


async def test_nothing_is_said_in_the_main_room_of_a_group_about_titles(telegram: Stage) -> None:
    async with telegram() as t:
        group = t.twin.group("Work", t.ana)
        for thread in (ThreadRef("telegram", str(group.id)), ThreadRef("telegram", str(group.id), "r5"), HERE):
            await t.platform.rename_thread(thread, "x")
            await t.platform.mark_thread(thread, "working")
            await t.platform.close_thread(thread)
        assert t.twin.called("editForumTopic") == t.twin.called("closeForumTopic") == []


async def test_budgets_are_those_of_the_place(telegram: Stage) -> None:
    async with telegram(run=False) as t:
        private, group = t.platform.budgets(HERE), t.platform.budgets(ThreadRef("telegram", "-100", "4"))
        assert (private[0].calls, private[0].seconds) == (3, 3.0)
        assert (group[0].calls, group[0].seconds, group[0].scope) == (20, 60.0, "chat")


# ── files ────────────────────────────────────────────────────────────────────────────────────────────


def png(width: int, height: int) -> bytes:
    size = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return b"\x89PNG\r\n\x1a\n" + (13).to_bytes(4, "big") + b"IHDR" + size + b"\x08\x02\x00\x00\x00" + b"\0" * 64


@pytest.mark.parametrize(
    ("data", "method"),
    [(png(1080, 900), "sendPhoto"), (png(1080, 4000), "sendDocument"), (b"words", "sendDocument")],
)
async def test_picture_that_can_be_read_is_a_photo_and_all_else_a_document(
    telegram: Stage, tmp_path: Path, data: bytes, method: str
) -> None:
    async with telegram() as t:
        await t.ana.starts()
        path = tmp_path / "x"
        path.write_bytes(data)
        ref = await t.platform.upload(HERE, path, "../di:ff.png", "What changed, @ana_k " + "x" * 2000)
        assert len(t.twin.called(method)) == 1
        message = t.ana.chat.messages[int(ref.message)]
        assert message.content.media.file.data == data
        assert len(message.text) <= 1024
        assert not any(one.type == "mention" for one in message.content.entities)
        assert message.silent


async def test_file_that_is_too_large_is_refused_before_it_is_sent(telegram: Stage, tmp_path: Path) -> None:
    async with telegram() as t:
        path = tmp_path / "x"
        with path.open("wb") as file:
            file.truncate(51 * 1024 * 1024)
        with pytest.raises(Refused, match="50 MB"):
            await t.platform.upload(HERE, path, "x")
        assert t.twin.called("sendDocument") == []


async def test_file_of_a_person_is_fetched_under_a_safe_name(telegram: Stage, tmp_path: Path) -> None:
    async with telegram() as t:
        await t.ana.uploads(None, ("../../etc/pass wd", b"words"), caption="see")
        await t.confirmed()
        (file,) = t.inbox.items[-1].body.attachments
        path = await t.platform.download(file, tmp_path)
        assert path == tmp_path / "pass wd"
        assert path.read_bytes() == b"words"


async def test_file_that_telegram_does_not_hand_out_is_told_in_words(telegram: Stage, tmp_path: Path) -> None:
    async with telegram() as t:
        with pytest.raises(PlatformError, match="20 MB"):
            await t.platform.download(Attachment("x", "big", size=21 * 1024 * 1024), tmp_path)
        t.twin.fail("refuse", "getFile", status=400, description="Bad Request: file is too big")
        with pytest.raises(PlatformError, match="20 MB"):
            await t.platform.download(Attachment("x", "unknown size"), tmp_path)
        with pytest.raises(PlatformError, match="any more"):
            await t.platform.download(Attachment("nosuchfile", "x"), tmp_path)


# ── menus and settings ───────────────────────────────────────────────────────────────────────────────

COMMANDS = (CommandInfo("stop", "stop the agent"), CommandInfo("new", "a new session", "[project]"))


async def test_commands_are_listed_and_said_again_only_when_they_change(telegram: Stage) -> None:
    async with telegram(commands=COMMANDS) as t:
        await t.twin.until(lambda: len(t.twin.called("setChatMenuButton")) == 1)
        for scope in ("default", "all_private_chats", "all_group_chats"):
            assert t.twin.commands[f"{scope}|"] == [
                {"command": "stop", "description": "stop the agent"},
                {"command": "new", "description": "[project] — a new session"},
            ]
        await t.stop()
        await t.start(t.tasks)
        await t.ana.says(None, "hello")
        await t.confirmed()
        assert len(t.twin.called("setMyCommands")) == 3


async def test_commands_that_cannot_be_listed_hold_nothing_up(telegram: Stage) -> None:
    async with telegram(commands=COMMANDS, run=False) as t:
        t.twin.fail("status", "setMyCommands", status=500)
        await t.start(t.tasks)
        await t.ana.says(None, "hello")
        await t.confirmed()


def test_only_names_that_telegram_takes_are_listed() -> None:
    many = [CommandInfo(f"c{number}", "x" * 300) for number in range(120)]
    bad = [
        CommandInfo("with-dash", "x"),
        CommandInfo("Upper", "x"),
        CommandInfo("x" * 33, "x"),
        CommandInfo("ok", ""),
    ]
    assert listed(bad) == [("ok", "ok")]
    assert len(listed(many)) == 100
    assert all(len(words) == 256 for _, words in listed(many))


async def test_invitation_leads_to_the_bot(telegram: Stage) -> None:
    async with telegram() as t:
        assert await t.platform.invitation() == "https://t.me/beam_twin_bot"
    async with telegram(run=False) as t:
        assert await t.platform.invitation() == ""


def test_findings_explain_privacy_mode_and_topics() -> None:
    all_well = Me(id=1, username="b", can_read_all_group_messages=True, has_topics_enabled=True)
    assert [check.level for check in findings(all_well)] == ["ok"]
    words = "\n".join(f"{check.text} {check.fix}" for check in findings(Me(id=1, can_join_groups=False)))
    assert "/setprivacy" in words
    assert "Threaded" in words
    assert "/setjoingroups" in words


async def test_doctor_learns_how_the_bot_is_set_up_and_opens_nothing(telegram: Stage) -> None:
    async with telegram(run=False, twin=Settings(can_read_all_group_messages=False)) as t:
        assert isinstance(t.platform, SelfChecking)
        checks = await t.platform.check()
        assert any("@beam_twin_bot" in check.text for check in checks)
        assert any("privacy mode" in check.text for check in checks)
        assert not t.home.exists()
        t.twin.webhook.set("http://127.0.0.1:9/other", "s")
        assert any("webhook" in check.text for check in await t.platform.check())
        t.twin.fail("refuse", "getMe", status=401, description="Unauthorized")
        with pytest.raises(PlatformError) as caught:
            await t.platform.check()
        assert "BotFather" in caught.value.fix


def test_library_is_loaded_only_when_the_platform_is_made() -> None:
    code = "import sys, platforms.telegram, platforms.telegram.limits; sys.exit('telegram' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
