"""What Telegram answers as the core's own errors, and a token that nobody ever reads."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from beambot.api import (
    MessageGone,
    MessageRef,
    Outgoing,
    PlatformError,
    Refused,
    RetryAfter,
    ThreadGone,
    ThreadRef,
    Unreachable,
)
from beambot.api import outbound as out
from platforms.telegram.calling.failures import Conflicting, Failure, TokenRejected, as_error
from platforms.telegram.places import MESSAGES, HeldPart, Places

Stage = Callable[..., Any]
HERE = ThreadRef("telegram", "11")


def text(words: str, **more: Any) -> Outgoing:
    return Outgoing("k", (out.Markdown(words),), **more)


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("code", "said", "kind"),
    [
        (400, "Bad Request: can't parse entities: Unsupported start tag", Refused),
        (400, "Bad Request: message is too long", Refused),
        (400, "Bad Request: BUTTON_DATA_INVALID", Refused),
        (413, "Request Entity Too Large", Refused),
        (400, "Bad Request: message to edit not found", MessageGone),
        (400, "Bad Request: message can't be edited", MessageGone),
        (400, "Bad Request: MESSAGE_ID_INVALID", MessageGone),
        (400, "Bad Request: chat not found", ThreadGone),
        (400, "Bad Request: message thread not found", ThreadGone),
        (400, "Bad Request: TOPIC_CLOSED", ThreadGone),
        (400, "Bad Request: TOPIC_DELETED", ThreadGone),
        (400, "Bad Request: not enough rights to send text messages to the chat", ThreadGone),
        (400, "Bad Request: CHAT_WRITE_FORBIDDEN", ThreadGone),
        (403, "Forbidden: bot was blocked by the user", ThreadGone),
        (403, "Forbidden: bot was kicked from the supergroup chat", ThreadGone),
        (403, "Forbidden: bot is not a member of the channel chat", ThreadGone),
        (403, "Forbidden: user is deactivated", ThreadGone),
        (403, "Forbidden: something new", ThreadGone),
        (401, "Unauthorized", TokenRejected),
        (409, "Conflict: terminated by other getUpdates request", Conflicting),
        (500, "Internal Server Error", Unreachable),
        (502, "", Unreachable),
    ],
)
def test_answers_as_errors(code: int, said: str, kind: type[PlatformError]) -> None:
    assert type(as_error(Failure(code, said))) is kind


def test_flood_carries_its_seconds_and_its_scope() -> None:
    error = as_error(Failure(429, "Too Many Requests: retry after 35", retry_after=35.0), "chat")
    assert isinstance(error, RetryAfter)
    assert (error.seconds, error.scope) == (35.0, "chat")


def test_gateway_that_broke_may_have_let_the_call_through() -> None:
    error = as_error(Failure(504, "Gateway Timeout"))
    assert isinstance(error, Unreachable)
    assert error.maybe_done


async def failing(stage: Any, kind: type[PlatformError]) -> Any:
    with pytest.raises(kind) as caught:
        await stage.platform.post(HERE, text("hello"))
    return caught.value


async def test_flood_freezes_the_chat_for_as_long_as_it_says(telegram: Stage) -> None:
    async with telegram() as t:
        await t.ana.starts()
        t.twin.freeze(t.ana.chat, 35)
        error = await failing(t, RetryAfter)
        assert error.scope == "chat"
        assert 30 <= error.seconds <= 45


async def test_flood_of_reactions_does_not_freeze_messages(telegram: Stage) -> None:
    async with telegram() as t:
        said = await t.ana.says(None, "hi")
        t.twin.fail("refuse", "setMessageReaction", status=429, description="x", parameters={"retry_after": 3})
        with pytest.raises(RetryAfter) as caught:
            await t.platform.react(MessageRef(HERE, str(said.id)), "done")
        assert caught.value.scope is None


async def test_nobody_there_is_surely_not_done(telegram: Stage) -> None:
    async with telegram() as t:
        await t.ana.starts()
        async with t.twin.away():
            error = await failing(t, Unreachable)
            assert not error.maybe_done


async def test_answer_that_is_lost_may_be_done(telegram: Stage) -> None:
    async with telegram() as t:
        await t.ana.starts()
        t.twin.fail("drop_after", "sendMessage")
        error = await failing(t, Unreachable)
        assert error.maybe_done
        assert t.ana.chat.find("hello") is not None


async def test_answer_that_is_not_json_is_told(telegram: Stage) -> None:
    async with telegram() as t:
        await t.ana.starts()
        t.twin.fail("status", "sendMessage", status=502)
        assert (await failing(t, Unreachable)).maybe_done


async def test_person_who_blocks_the_bot(telegram: Stage) -> None:
    async with telegram() as t:
        await t.ana.starts()
        t.ana.blocks()
        assert "blocked" in (await failing(t, ThreadGone)).message
        t.ana.unblocks()
        await t.platform.post(HERE, text("hello again"))


async def test_person_who_never_started_the_bot(telegram: Stage) -> None:
    async with telegram() as t:
        await failing(t, ThreadGone)


async def test_group_that_threw_the_bot_out_or_silenced_it(telegram: Stage) -> None:
    async with telegram() as t:
        group = t.twin.group("Work", t.ana)
        there = ThreadRef("telegram", str(group.id))
        await t.ana.mutes_bot(group)
        with pytest.raises(ThreadGone, match="may not write"):
            await t.platform.post(there, text("hello"))
        await t.ana.kicks_bot(group)
        with pytest.raises(ThreadGone):
            await t.platform.post(there, text("hello"))
        await t.ana.adds_bot(group)
        await t.platform.post(there, text("hello"))


async def test_topic_that_was_deleted_or_closed(telegram: Stage) -> None:
    async with telegram() as t:
        forum = t.twin.forum("Work", t.ana, admin=False)
        topic = await t.ana.creates_topic(forum, "x")
        there = ThreadRef("telegram", str(forum.id), str(topic.id))
        ref = await t.platform.post(there, text("hello"))
        await t.ana.closes_topic(forum, topic)
        with pytest.raises(ThreadGone, match="closed"):
            await t.platform.post(there, text("more"))
        await t.ana.deletes_topic(forum, topic)
        with pytest.raises(ThreadGone, match="deleted"):
            await t.platform.post(there, text("more"))
        with pytest.raises(MessageGone):
            await t.platform.edit(ref, text("more"))


async def test_markup_that_is_refused_goes_as_plain_text(telegram: Stage) -> None:
    async with telegram() as t:
        await t.ana.starts()
        t.twin.fail("refuse", "sendMessage", status=400, description="Bad Request: can't parse entities: no")
        message = text("**bold** words")
        with pytest.raises(Refused, match="can't parse entities"):
            await t.platform.post(HERE, message)
        await t.platform.post(HERE, text("**bold** words", plain=True))
        assert t.ana.chat.last.text == "bold words"
        assert t.ana.chat.last.content.entities == ()


async def test_group_that_moved_is_followed_for_good(telegram: Stage) -> None:
    async with telegram() as t:
        group = t.twin.group("Work", t.ana, kind="group")
        there = ThreadRef("telegram", str(group.id))
        t.twin.updates.allowed = ("nothing",)
        grown = await t.ana.migrates(group)
        ref = await t.platform.post(there, text("hello"))
        assert ref.thread == there
        assert grown.last.text == "hello"
        await t.platform.edit(ref, text("still here"))
        assert grown.last.text == "still here"
        await t.stop()
        await t.start(t.tasks)
        calls = len(t.twin.called("sendMessage"))
        await t.platform.post(there, text("after a restart"))
        assert len(t.twin.called("sendMessage")) == calls + 1
        said = await t.ana.says(grown, "/stop")
        await t.confirmed()
        assert t.inbox.items[-1].thread.chat == str(group.id)
        await t.platform.react(MessageRef(there, t.inbox.items[-1].body.message), "done")
        assert said.reactions


async def test_message_that_stayed_in_the_old_group_is_not_taken_for_another_with_its_number(
    telegram: Stage,
) -> None:
    async with telegram() as t:
        group = t.twin.group("Work", t.ana, kind="group")
        there = ThreadRef("telegram", str(group.id))
        old = [await t.platform.post(there, text(f"old {number}")) for number in range(3)]
        grown = await t.ana.migrates(group)
        new = [await t.platform.post(there, text(f"new {number}")) for number in range(3)]
        assert not {ref.message for ref in old} & {ref.message for ref in new}
        with pytest.raises(MessageGone):
            await t.platform.edit(old[1], text("changed"))
        with pytest.raises(MessageGone):
            await t.platform.delete(old[1])
        await t.platform.react(old[1], "done")
        await t.platform.post(there, replace(text("an answer"), reply_to=old[1].message))
        assert [one.text for one in grown.standing if one.text] == ["new 0", "new 1", "new 2", "an answer"]
        assert all(not one.reactions and one.reply_to is None for one in grown.standing)
        await t.platform.edit(new[1], text("changed"))
        assert grown.find("changed") is not None


# ── the token ────────────────────────────────────────────────────────────────────────────────────────


async def test_token_is_nowhere_to_be_read(
    telegram: Stage, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    errors: list[str] = []
    async with telegram() as t:
        for name in ("httpx", "httpcore", "telegram"):
            # As somebody would who looks for a fault.
            logging.getLogger(name).setLevel(logging.DEBUG)
        try:
            await t.ana.starts()
            await t.platform.post(HERE, text("hello"))
            token = t.twin.token
            for fault in ({"kind": "status", "status": 502}, {"kind": "drop_before"}, {"kind": "drop_after"}):
                t.twin.fail(fault.pop("kind"), "sendMessage", **fault)
            t.twin.fail("refuse", "sendMessage", status=404, description=f"no such bot{token}")
            t.twin.fail("refuse", "sendMessage", status=400, description=f"Bad Request: bot{token}")
            for _ in range(5):
                with pytest.raises(PlatformError) as caught:
                    await t.platform.post(HERE, text("hello"))
                errors += [repr(caught.value), str(caught.value), *traceback.format_exception(caught.value)]
            async with t.twin.away():
                with pytest.raises(PlatformError) as caught:
                    await t.platform.post(HERE, text("hello"))
                errors += [str(caught.value), *traceback.format_exception(caught.value)]
            await t.platform.post(HERE, text("hello again"))
            (_sent,) = await t.ana.uploads(None, ("a.txt", b"words"))
            await t.confirmed()
            await t.platform.download(t.inbox.items[-1].body.attachments[0], tmp_path)
        finally:
            for name in ("httpx", "httpcore", "telegram"):
                logging.getLogger(name).setLevel(logging.WARNING)
    logged = [record.getMessage() for record in caplog.records]
    assert any("sendMessage" in line for line in logged)
    everything = "\n".join([*logged, caplog.text, *errors, *capsys.readouterr()])
    assert "hello" in everything
    assert token not in everything
    assert token.partition(":")[2] not in everything


async def test_http_clients_say_nothing_about_requests_by_themselves(
    telegram: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with telegram() as t:
        await t.ana.starts()
        await t.platform.post(HERE, text("hello"))
    assert not [record for record in caplog.records if record.name.startswith(("httpx", "httpcore", "telegram"))]


async def test_error_of_the_http_client_that_nobody_foresaw_is_told_without_the_token(
    telegram: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with telegram() as t:

        async def broken(*args: Any, **kwargs: Any) -> Any:
            raise httpx.InvalidURL(f"bad address {kwargs.get('url')}")

        monkeypatch.setattr(httpx.AsyncClient, "request", broken)
        error = await failing(t, Unreachable)
        assert t.twin.token not in str(error)
        monkeypatch.undo()


# ── what is kept ─────────────────────────────────────────────────────────────────────────────────────


async def test_places_outlive_a_restart_and_are_bounded(tmp_path: Path) -> None:
    places = await Places.open(tmp_path)
    await places.note("-5", 7, "r7")
    await places.join("-5", "r7")
    await places.move("-5", "-1005")
    await places.meet("11", "Ana")
    await places.hold(HeldPart(3, "a", b"x"))
    await places.close()
    places = await Places.open(tmp_path)
    assert await places.thread_of("-5", 7) == "r7"
    assert await places.takes_part("-5", "r7")
    assert (places.first_id("-1005"), places.newest_id("-5")) == ("-5", -1005)
    assert places.name("11") == "Ana"
    assert [part.id for part in await places.held()] == [3]
    await places._change("UPDATE messages SET number = 1")
    await places._change("INSERT INTO messages VALUES (?, '-5', 8, 'r7')", (MESSAGES + 2,))
    await places._sweep()
    assert await places.thread_of("-5", 7) == ""
    assert await places.thread_of("-5", 8) == "r7"
    await places.close()
    assert (tmp_path / "telegram.db").stat().st_mode & 0o077 == 0


async def test_database_that_is_broken_or_newer_is_told(tmp_path: Path) -> None:
    (tmp_path / "telegram.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(Exception, match="cannot be used"):
        await Places.open(tmp_path)
