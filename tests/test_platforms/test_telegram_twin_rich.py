"""Rich messages, drafts, topics and files of the twin."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from telegram import Bot, InputMediaDocument, InputMediaPhoto
from telegram.error import BadRequest, EndPointNotFound, NetworkError

from beambot.testing.clock import FakeClock
from platforms.telegram.twin import UNLIMITED, Person, Settings, Twin

PICTURE = b"\x89PNG\r\n\x1a\n" + b"0" * 100
TOPICS = Settings(has_topics_enabled=True, allows_users_to_create_topics=True)


@pytest.fixture
async def twin() -> AsyncIterator[Twin]:
    async with Twin(limits=UNLIMITED, settings=TOPICS) as twin:
        yield twin


@pytest.fixture
async def bot(twin: Twin) -> AsyncIterator[Bot]:
    async with Bot(twin.token, base_url=twin.base_url, base_file_url=twin.base_file_url) as bot:
        yield bot


@pytest.fixture
async def ada(twin: Twin) -> Person:
    ada = twin.person("Ada", id=11)
    await ada.starts()
    twin.updates.drop()
    return ada


async def asked(twin: Twin, method: str, **arguments: Any) -> dict[str, Any]:
    """A call as a newer library would make it; the server's own words come back."""
    async with aiohttp.ClientSession() as client:
        async with client.post(f"{twin.base_url}{twin.token}/{method}", json=arguments) as answer:
            return dict(await answer.json())


def paragraph(text: str) -> dict[str, Any]:
    return {"type": "paragraph", "text": text}


BLOCKS: list[dict[str, Any]] = [
    {"type": "heading", "text": "Head", "size": 2},
    paragraph("words"),
    {"type": "list", "items": [{"blocks": [paragraph("one")], "has_checkbox": True, "is_checked": True}]},
    {"type": "table", "cells": [[{"text": "a"}, {"text": ["b", {"type": "bold", "text": "c"}]}]]},
    {"type": "details", "summary": "more", "blocks": [{"type": "pre", "text": "x = 1", "language": "py"}]},
    {"type": "blockquote", "blocks": [paragraph("said")]},
    {"type": "divider"},
    {"type": "footer", "text": "end"},
]


async def test_rich_message_is_sent_edited_and_read(twin: Twin, bot: Bot, ada: Person) -> None:
    sent = await bot.do_api_request("sendRichMessage", {"chat_id": 11, "rich_message": {"blocks": BLOCKS}})
    assert ada.chat.last.text == "Head\nwords\n☑ one\na | bc\n▸ more\n  x = 1\n> said\n———\nend"
    edited = {"chat_id": 11, "message_id": sent["message_id"], "rich_message": {"markdown": "# New"}}
    assert (await asked(twin, "editMessageText", **edited))["ok"]
    assert ada.chat.last.text == "# New"
    again = await asked(twin, "editMessageText", **edited)
    assert again["description"].startswith("Bad Request: message is not modified")
    await bot.edit_message_text("plain", 11, sent["message_id"])
    assert ada.chat.last.content.rich is None


@pytest.mark.parametrize(
    ("rich", "said"),
    [
        ({}, "rich message must be non-empty"),
        ({"blocks": []}, "rich message must be non-empty"),
        ({"markdown": " "}, "RICH_MESSAGE_EMPTY"),
        ({"blocks": [paragraph("")]}, "RICH_MESSAGE_EMPTY"),
        ({"markdown": "x" * 32_769}, "RICH_MESSAGE_TEXT_TOO_LONG"),
        ({"blocks": [paragraph("x" * 32_000), paragraph("x" * 769)]}, "RICH_MESSAGE_TEXT_TOO_LONG"),
        ({"blocks": [paragraph("x")] * 501}, "RICH_MESSAGE_BLOCKS_TOO_MANY"),
        ({"blocks": [{"type": "code", "text": "x"}]}, 'can\'t parse InputRichBlock: type "code" is unsupported'),
        (
            {"blocks": [{"type": "thinking", "text": "x"}]},
            'can\'t parse InputRichBlock: type "thinking" is unsupported',
        ),
        ({"blocks": [{"text": "x"}]}, "can't parse InputRichBlock: Can't find field \"type\""),
        (
            {"blocks": [{"type": "paragraph", "text": {"text": "x"}}]},
            "can't parse InputRichBlock: Can't find field \"type\"",
        ),
        (
            {"markdown": "x", "html": "y"},
            "exactly one of the fields blocks, markdown and html must be specified in the rich message",
        ),
    ],
)
async def test_bad_rich_messages_are_refused(twin: Twin, ada: Person, rich: Any, said: str) -> None:
    answer = await asked(twin, "sendRichMessage", chat_id=11, rich_message=rich)
    assert answer["description"] == f"Bad Request: {said}"


async def test_older_server_knows_no_rich_messages() -> None:
    async with Twin(settings=Settings(api=(10, 0)), limits=UNLIMITED) as twin:
        async with Bot(twin.token, base_url=twin.base_url) as bot:
            ada = twin.person("Ada", id=11)
            await ada.starts()
            with pytest.raises(EndPointNotFound):
                await bot.do_api_request("sendRichMessage", {"chat_id": 11, "rich_message": {"markdown": "x"}})
            sent = await bot.send_message(11, "x")
            answer = await asked(
                twin, "editMessageText", chat_id=11, message_id=sent.message_id, rich_message={"markdown": "y"}
            )
            assert answer["description"] == "Bad Request: message text is empty"


async def test_server_before_blocks_does_not_see_them() -> None:
    async with Twin(settings=Settings(api=(10, 1)), limits=UNLIMITED) as twin:
        await twin.person("Ada", id=11).starts()
        answer = await asked(twin, "sendRichMessage", chat_id=11, rich_message={"blocks": [paragraph("x")]})
        assert answer["description"] == "Bad Request: rich message must be non-empty"


async def test_draft_is_seen_for_half_a_minute_or_until_a_message() -> None:
    clock = FakeClock()
    async with Twin(clock=clock, settings=TOPICS, limits=UNLIMITED) as twin:
        async with Bot(twin.token, base_url=twin.base_url) as bot:
            ada = twin.person("Ada", id=11)
            await ada.starts()
            await bot.send_message_draft(11, 7, "first wor")
            await bot.send_message_draft(11, 7, "first words")
            assert [draft.content.shown for draft in twin.drafts(ada.chat)] == ["first words"]
            await clock.advance(29)
            await bot.send_message_draft(11, 7, "first words and more")
            await clock.advance(29)
            assert len(twin.drafts(ada.chat)) == 1
            await clock.advance(1)
            assert twin.drafts(ada.chat) == []
            topic = await bot.create_forum_topic(11, "T")
            await bot.send_message_draft(11, 8, "here", message_thread_id=topic.message_thread_id)
            await bot.send_message(11, "elsewhere")
            assert len(twin.drafts(ada.chat)) == 1
            await bot.send_message(11, "done", message_thread_id=topic.message_thread_id)
            assert twin.drafts(ada.chat) == []


async def test_draft_has_its_refusals(twin: Twin, ada: Person) -> None:
    group = twin.group("Team", ada)
    for arguments, said in (
        ({"chat_id": group.id, "draft_id": 1, "text": "x"}, "TEXTDRAFT_PEER_INVALID"),
        ({"chat_id": 11, "draft_id": 0, "text": "x"}, "RANDOM_ID_INVALID"),
        ({"chat_id": 11, "draft_id": 1, "text": "x" * 4097}, "message is too long"),
    ):
        assert (await asked(twin, "sendMessageDraft", **arguments))["description"] == f"Bad Request: {said}"


async def test_stop_button_of_a_draft_reaches_the_bot(twin: Twin, bot: Bot, ada: Person) -> None:
    thinking = {"blocks": [{"type": "thinking", "text": "Hm"}]}
    made = {"chat_id": 11, "draft_id": 5, "rich_message": thinking, "can_stop": True}
    assert (await asked(twin, "sendRichMessageDraft", **made))["ok"]
    await ada.stops_generation()
    assert twin.drafts(ada.chat) == []
    update = (await bot.get_updates(timeout=0))[0]
    assert update.api_kwargs["stopped_message_generation"]["draft_id"] == 5
    assert (await asked(twin, "sendMessageDraft", chat_id=11, draft_id=6))["ok"]
    assert twin.drafts(ada.chat)[0].content.text == "Thinking…"
    with pytest.raises(AssertionError, match="no draft with a stop button"):
        await ada.stops_generation()


async def test_topics_are_made_renamed_closed_and_deleted(twin: Twin, bot: Bot, ada: Person) -> None:
    forum = twin.forum("Team", ada)
    icon = (await bot.get_forum_topic_icon_stickers())[0].custom_emoji_id
    topic = await bot.create_forum_topic(forum.id, "Build", icon_custom_emoji_id=icon)
    thread = topic.message_thread_id
    sent = await bot.send_message(forum.id, "in it", message_thread_id=thread)
    assert (sent.message_thread_id, sent.is_topic_message) == (thread, True)
    assert await bot.edit_forum_topic(forum.id, thread, name="Build ✅")
    with pytest.raises(BadRequest, match=r"(?i)TOPIC_NOT_MODIFIED"):
        await bot.edit_forum_topic(forum.id, thread, name="Build ✅")
    assert await bot.close_forum_topic(forum.id, thread)
    await bot.send_message(forum.id, "an administrator may", message_thread_id=thread)
    await ada.demotes_bot(forum)
    with pytest.raises(BadRequest, match=r"(?i)TOPIC_CLOSED"):
        await bot.send_message(forum.id, "x", message_thread_id=thread)
    assert await bot.reopen_forum_topic(forum.id, thread), "its own topics are the bot's to run"
    with pytest.raises(BadRequest, match="Not enough rights to create a topic"):
        await bot.create_forum_topic(forum.id, "x")
    assert await bot.delete_forum_topic(forum.id, thread)
    with pytest.raises(BadRequest, match="Message thread not found"):
        await bot.send_message(forum.id, "x", message_thread_id=thread)
    with pytest.raises(BadRequest, match=r"(?i)TOPIC_ID_INVALID"):
        await bot.edit_forum_topic(forum.id, thread, name="x")
    assert forum.find("in it") is None


async def test_general_topic_is_written_to_without_a_number(twin: Twin, bot: Bot, ada: Person) -> None:
    forum = twin.forum("Team", ada)
    with pytest.raises(BadRequest, match="Message thread not found"):
        await bot.send_message(forum.id, "x", message_thread_id=1)
    assert (await bot.send_message(forum.id, "x")).message_thread_id is None


async def test_topics_of_people_in_groups_and_in_private(twin: Twin, bot: Bot, ada: Person) -> None:
    forum = twin.forum("Team", ada)
    topic = await ada.creates_topic(forum, "Ideas")
    await ada.says(forum, "first", topic=topic)
    mine = await ada.creates_topic(ada.chat)
    await ada.says(None, "private words", topic=mine)
    created, said, implicit, private = (one.message for one in await bot.get_updates(timeout=0))
    assert created.forum_topic_created.name == "Ideas"
    assert said.message_thread_id == topic.id
    assert said.reply_to_message.forum_topic_created.name == "Ideas"
    assert implicit.forum_topic_created.is_name_implicit
    assert (private.message_thread_id, private.reply_to_message) == (mine.id, None)
    await bot.edit_forum_topic(11, mine.id, name="Named")
    assert mine.name == "Named"
    await ada.closes_topic(forum, topic)
    await ada.reopens_topic(forum, topic)
    await ada.deletes_topic(forum, topic)
    services = [one.message for one in await bot.get_updates(offset=-2, timeout=0)]
    assert services[0].forum_topic_closed
    assert services[1].forum_topic_reopened


async def test_chats_without_topics_say_so(twin: Twin, bot: Bot, ada: Person) -> None:
    group = twin.group("Team", ada)
    with pytest.raises(BadRequest, match="The chat is not a forum"):
        await bot.create_forum_topic(group.id, "x")
    with pytest.raises(AssertionError, match="Team has no topics"):
        await ada.creates_topic(group, "x")


async def test_files_go_up_and_down(twin: Twin, bot: Bot, ada: Person) -> None:
    sent = await bot.send_document(11, b"abc", filename="notes.txt", caption="my notes")
    assert (sent.document.file_name, sent.document.mime_type, sent.caption) == (
        "notes.txt",
        "text/plain",
        "my notes",
    )
    assert ada.chat.screen().endswith("Beambot: <document notes.txt> my notes")
    assert await (await bot.get_file(sent.document.file_id)).download_as_bytearray() == b"abc"
    again = await bot.send_document(11, sent.document.file_id)
    assert again.document.file_unique_id == sent.document.file_unique_id
    await bot.edit_message_caption(11, sent.message_id, caption="other words")
    with pytest.raises(BadRequest, match="There is no text in the message to edit"):
        await bot.edit_message_text("x", 11, sent.message_id)
    assert (await bot.send_photo(11, PICTURE)).photo[-1].width == 1280
    assert (await bot.send_voice(11, b"ogg")).voice.file_size == 3
    with pytest.raises(BadRequest, match=r"(?i)IMAGE_PROCESS_FAILED"):
        await bot.send_photo(11, b"no picture")
    with pytest.raises(BadRequest, match="File must be non-empty"):
        await bot.send_document(11, b"", filename="x")
    with pytest.raises(BadRequest, match="Message caption is too long"):
        await bot.send_document(11, b"x", filename="x", caption="x" * 1025)


async def test_albums_share_their_group(twin: Twin, bot: Bot, ada: Person) -> None:
    sent = await bot.send_media_group(11, [InputMediaPhoto(PICTURE, caption="two"), InputMediaPhoto(PICTURE)])
    assert sent[0].media_group_id == sent[1].media_group_id
    assert [one.caption for one in sent] == ["two", None]
    with pytest.raises(BadRequest, match="Can't mix documents"):
        await bot.send_media_group(11, [InputMediaPhoto(PICTURE), InputMediaDocument(b"x", filename="x")])
    mine = await ada.uploads(None, ("a.jpg", b"1"), ("b.jpg", b"2"), kind="photo", caption="look")
    first, second = (one.message for one in await bot.get_updates(timeout=0))
    assert first.media_group_id == second.media_group_id
    assert (first.caption, second.caption) == ("look", None)
    data = await (await bot.get_file(first.photo[-1].file_id)).download_as_bytearray()
    assert data == b"1"
    assert mine[0].content.media is not None


async def test_files_that_are_too_big_are_refused() -> None:
    settings = Settings(upload_bytes=1000, photo_bytes=200, download_bytes=500)
    async with Twin(settings=settings, limits=UNLIMITED) as twin, Bot(twin.token, base_url=twin.base_url) as bot:
        ada = twin.person("Ada", id=11)
        await ada.uploads(None, ("big.bin", b"x" * 501))
        await ada.uploads(None, ("a.ogg", b"x"), kind="voice")
        big, voice = (one.message for one in await bot.get_updates(timeout=0))
        with pytest.raises(BadRequest, match="File is too big"):
            await bot.get_file(big.document.file_id)
        assert (await bot.get_file(voice.voice.file_id)).file_size == 1
        with pytest.raises(NetworkError, match="Request Entity Too Large"):
            await bot.send_document(11, b"x" * 1001, filename="x")
        with pytest.raises(BadRequest, match="is too big for a photo"):
            await bot.send_photo(11, PICTURE + b"x" * 200)
        with pytest.raises(BadRequest, match="Invalid file_id"):
            await bot.get_file("nothing")
