"""What each kind of update means, from the JSON that the Bot API sends."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beambot.api import Attachment, Inbound, Sender, ThreadRef
from beambot.api import inbound as into
from beambot.testing.clock import FakeClock
from platforms.telegram.inbound import root_of, topic_of
from platforms.telegram.places import Places
from platforms.telegram.receiving.files import safe_name
from platforms.telegram.receiving.schema import Me
from platforms.telegram.receiving.updates import Updates

ME = Me(id=99, username="beam_bot", first_name="Beam")
ANA = {"id": 11, "is_bot": False, "first_name": "Ana", "last_name": "K", "username": "ana_k", "language_code": "pt"}
BO = {"id": 12, "is_bot": False, "first_name": "Bo"}
BOT = {"id": 99, "is_bot": True, "first_name": "Beam", "username": "beam_bot"}
PRIVATE = {"id": 11, "type": "private", "first_name": "Ana"}
GROUP = {"id": -500, "type": "group", "title": "Work"}
FORUM = {"id": -1001, "type": "supergroup", "title": "Forum", "is_forum": True}


class Inbox:
    def __init__(self) -> None:
        self.items: list[Inbound] = []

    async def put(self, inbound: Inbound) -> bool:
        self.items.append(inbound)
        return True


class Desk:
    """Updates in, inbound values out; a folder keeps what is known of chains."""

    def __init__(self, places: Places, **more: Any) -> None:
        self.inbox = Inbox()
        self.clock = FakeClock()
        self.places = places
        self.updates = Updates(self.inbox, places, ME, self.clock, **more)
        self.number = 500

    async def take(self, **update: Any) -> Inbound | None:
        """What the newest update came to; None where it is not for beambot."""
        before = len(self.inbox.items)
        self.number += 1
        await self.updates.take({"update_id": self.number, **update})
        assert len(self.inbox.items) <= before + 1
        return self.inbox.items[-1] if len(self.inbox.items) > before else None

    async def said(self, **message: Any) -> Inbound | None:
        return await self.take(message=msg(**message))


def msg(**fields: Any) -> dict[str, Any]:
    sender = fields.pop("sender", ANA)
    made = {"message_id": 7, "date": 1_800_000_000, "chat": PRIVATE, **fields}
    return {**made, "from": sender} if sender else made


def entity(kind: str, offset: int, length: int, **more: Any) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length, **more}


def command(text: str, **more: Any) -> dict[str, Any]:
    return {"text": text, "entities": [entity("bot_command", 0, len(text.split()[0]))], **more}


@pytest.fixture
async def desk(tmp_path: Path) -> Any:
    places = await Places.open(tmp_path)
    yield Desk(places)
    await places.close()


# ── words ────────────────────────────────────────────────────────────────────────────────────────────


async def test_words_in_a_private_chat(desk: Desk) -> None:
    got = await desk.said(text="fix the *tests*")
    assert got == Inbound(
        update="99:501",
        sender=Sender("11", "Ana K"),
        thread=ThreadRef("telegram", "11"),
        at=1_800_000_000.0,
        body=into.TextIn("7", "fix the *tests*"),
        private=True,
    )


async def test_topic_of_a_private_chat_is_a_thread(desk: Desk) -> None:
    opening = msg(message_id=5, sender=BOT, forum_topic_created={"name": "x", "icon_color": 1})
    got = await desk.said(text="hi", message_thread_id=5, is_topic_message=True, reply_to_message=opening)
    assert got
    assert got.thread == ThreadRef("telegram", "11", "5")
    assert got.body == into.TextIn("7", "hi")
    assert topic_of(got.thread) == 5
    assert root_of(got.thread) == 0


async def test_reply_names_the_message_it_answers(desk: Desk) -> None:
    got = await desk.said(text="because", reply_to_message=msg(message_id=3, sender=BOT, text="Why?"))
    assert got
    assert got.body == into.TextIn("7", "because", reply_to="3")


async def test_reply_to_somebody_else_quotes_them(desk: Desk) -> None:
    other = msg(message_id=3, sender=BO, text="it broke\nagain")
    got = await desk.said(chat=GROUP, reply_to_message=other, **mention("@beam_bot look"))
    assert got
    assert isinstance(got.body, into.TextIn)
    assert got.body.text == "Bo wrote:\n> it broke\n> again\n\nlook"


async def test_name_of_the_bot_alone_asks_for_help_or_points_at_what_it_answers(desk: Desk) -> None:
    bare = await desk.said(chat=GROUP, **mention("@beam_bot"))
    assert bare
    assert bare.body == into.CommandIn("7", "help")
    other = msg(chat=GROUP, message_id=3, sender=BO, text="it broke")
    pointing = await desk.said(chat=GROUP, message_id=8, reply_to_message=other, **mention("@beam_bot"))
    assert pointing
    assert isinstance(pointing.body, into.TextIn)
    assert pointing.body.text == "Bo wrote:\n> it broke"


async def test_part_that_was_picked_by_hand_is_quoted_whoever_wrote_it(desk: Desk) -> None:
    other = msg(message_id=3, sender=BOT, text="one two three")
    got = await desk.said(text="this?", reply_to_message=other, quote={"text": "two", "position": 4})
    assert got
    assert got.body == into.TextIn("7", "> two\n\nthis?", reply_to="3")


async def test_reply_to_a_message_of_another_chat_quotes_it(desk: Desk) -> None:
    origin = {"type": "user", "date": 1, "sender_user": BO}
    got = await desk.said(text="do that", external_reply={"origin": origin}, quote={"text": "use tabs"})
    assert got
    assert isinstance(got.body, into.TextIn)
    assert got.body.text == "Bo wrote:\n> use tabs\n\ndo that"


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ({"type": "user", "sender_user": BO}, "Bo"),
        ({"type": "hidden_user", "sender_user_name": "Somebody S"}, "Somebody S"),
        ({"type": "chat", "sender_chat": {"id": -5, "type": "group", "title": "Team"}}, "Team"),
        ({"type": "channel", "chat": {"id": -100, "type": "channel", "title": "News"}, "message_id": 1}, "News"),
    ],
)
async def test_forwarded_words_are_quoted_with_their_origin(desk: Desk, origin: dict[str, Any], name: str) -> None:
    got = await desk.said(forward_origin={"date": 1, **origin}, **command("/stop now"))
    assert got
    assert got.body == into.TextIn("7", f"Forwarded from {name}:\n> /stop now")


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        ({"sticker": {"file_id": "s", "emoji": "🔥", "type": "regular"}}, "🔥"),
        ({"location": {"latitude": 52.5, "longitude": 13.25}}, "Location: 52.5, 13.25"),
        ({"contact": {"phone_number": "+49 1", "first_name": "Bo", "last_name": "L"}}, "Contact: Bo L, +49 1"),
        ({"poll": {"question": "Tabs?", "options": [{"text": "yes"}, {"text": "no"}]}}, "Poll: Tabs?\n- yes\n- no"),
        ({"dice": {"emoji": "🎲", "value": 4}}, "🎲 4"),
        (
            {"venue": {"location": {"latitude": 1, "longitude": 2}, "title": "Bar", "address": "Road 1"},
             "location": {"latitude": 1, "longitude": 2}},
            "Place: Bar, Road 1 (1, 2)",
        ),
    ],
)  # fmt: skip
async def test_things_that_are_not_words_are_told_in_a_line(desk: Desk, thing: dict[str, Any], words: str) -> None:
    got = await desk.said(**thing)
    assert got
    assert got.body == into.TextIn("7", words)


async def test_edited_words(desk: Desk) -> None:
    got = await desk.take(edited_message=msg(text="better", edit_date=5))
    assert got
    assert got.body == into.EditedIn("7", "better")
    assert got.update == "99:501"


async def test_place_on_the_map_that_moves_is_not_an_edit(desk: Desk) -> None:
    assert await desk.take(edited_message=msg(location={"latitude": 1.0, "longitude": 2.0})) is None


# ── commands ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "name", "args"),
    [
        ("/stop", "stop", ""),
        ("/new shop  fast", "new", "shop  fast"),
        ("/Stop@beam_bot", "stop", ""),
        ("/model@BEAM_BOT opus", "model", "opus"),
        ("/start 7K3X9PQ2", "start", "7K3X9PQ2"),
        ("/start", "help", ""),
        ("/help me\nplease", "help", "me\nplease"),
    ],
)
async def test_commands(desk: Desk, text: str, name: str, args: str) -> None:
    got = await desk.said(**command(text))
    assert got
    assert got.body == into.CommandIn("7", name, args)


async def test_command_of_another_bot_is_not_ours(desk: Desk) -> None:
    assert await desk.said(chat=GROUP, **command("/stop@other_bot")) is None


async def test_command_in_the_middle_is_only_words(desk: Desk) -> None:
    got = await desk.said(text="say /stop", entities=[entity("bot_command", 4, 5)])
    assert got
    assert got.body == into.TextIn("7", "say /stop")


async def test_stop_button_of_a_draft_is_the_command_stop(desk: Desk) -> None:
    got = await desk.take(stopped_message_generation={"chat": PRIVATE, "draft_id": 4, "message_thread_id": 5})
    assert got
    assert got.body == into.CommandIn("", "stop")
    assert got.sender.id == "11"
    assert got.thread == ThreadRef("telegram", "11", "5")


# ── presses ──────────────────────────────────────────────────────────────────────────────────────────


async def test_press(desk: Desk) -> None:
    query = {
        "id": "4711",
        "from": ANA,
        "message": msg(sender=BOT, text="May it?"),
        "data": "ask:x:1",
        "chat_instance": "1",
    }
    got = await desk.take(callback_query=query)
    assert got
    assert got.body == into.PressIn("7", "ask:x:1", "4711")
    assert got.sender == Sender("11", "Ana K")
    assert got.thread == ThreadRef("telegram", "11")
    assert got.private


async def test_press_on_a_message_that_the_bot_cannot_see_any_more_finds_its_thread(desk: Desk) -> None:
    await desk.places.note("-1001", 70, "5")
    gone = {"chat": FORUM, "message_id": 70, "date": 0}
    got = await desk.take(callback_query={"id": "1", "from": ANA, "message": gone, "data": "x"})
    assert got
    assert got.thread == ThreadRef("telegram", "-1001", "5")


async def test_press_on_a_message_sent_by_way_of_another_chat_is_left_out(desk: Desk) -> None:
    assert await desk.take(callback_query={"id": "1", "from": ANA, "inline_message_id": "x", "data": "x"}) is None


# ── files ────────────────────────────────────────────────────────────────────────────────────────────

SIZES = [
    {"file_id": "small", "file_unique_id": "a", "width": 90, "height": 60, "file_size": 900},
    {"file_id": "large", "file_unique_id": "b", "width": 1280, "height": 853, "file_size": 90_000},
    {"file_id": "middle", "file_unique_id": "c", "width": 320, "height": 213, "file_size": 9_000},
]


@pytest.mark.parametrize(
    ("part", "file"),
    [
        ({"photo": SIZES}, Attachment("large", "photo_7.jpg", "image/jpeg", 90_000)),
        (
            {"document": {"file_id": "d", "file_name": "../../a b.txt", "mime_type": "text/plain", "file_size": 3}},
            Attachment("d", "a b.txt", "text/plain", 3),
        ),
        ({"document": {"file_id": "d"}}, Attachment("d", "document_7", "", 0)),
        (
            {"voice": {"file_id": "v", "duration": 3, "mime_type": "audio/ogg"}},
            Attachment("v", "voice_7.ogg", "audio/ogg"),
        ),
        (
            {"audio": {"file_id": "m", "duration": 3, "file_name": "song.mp3"}},
            Attachment("m", "song.mp3", "audio/mpeg"),
        ),
        ({"video": {"file_id": "w", "duration": 3}}, Attachment("w", "video_7.mp4", "video/mp4")),
        ({"video_note": {"file_id": "n", "length": 240}}, Attachment("n", "video_note_7.mp4", "video/mp4")),
        (
            {
                "animation": {"file_id": "g", "file_name": "x.mp4"},
                "document": {"file_id": "g", "file_name": "x.mp4"},
            },
            Attachment("g", "x.mp4", "video/mp4"),
        ),
    ],
)
async def test_files(desk: Desk, part: dict[str, Any], file: Attachment) -> None:
    bare = await desk.said(**part)
    assert bare
    assert bare.body == into.AttachmentIn("7", (file,))
    worded = await desk.said(caption="what is this?", **part)
    assert worded
    assert worded.body == into.TextIn("7", "what is this?", attachments=(file,))


@given(st.text(max_size=300))
def test_names_of_files_are_safe_anywhere(name: str) -> None:
    safe = safe_name(name)
    assert not set(safe) & set('/\\:*?"<>|\0\n\r\t')
    assert not safe.startswith(".")
    assert len(safe.encode()) <= 120
    assert safe == safe_name(safe)


def test_long_name_keeps_its_ending() -> None:
    assert safe_name("ä" * 300 + ".tar").endswith("ä.tar")


# ── who ──────────────────────────────────────────────────────────────────────────────────────────────

ANONYMOUS = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
CHANNEL = {"id": -1009, "type": "channel", "title": "News"}


async def test_whoever_speaks_as_a_chat_is_nobody_we_know(desk: Desk) -> None:
    admin = await desk.said(chat=GROUP, sender=ANONYMOUS, sender_chat=GROUP, **command("/stop"))
    assert admin
    assert admin.sender == Sender("anonymous:-500", "Work")
    channel = await desk.said(chat=GROUP, sender={**BO, "is_bot": True}, sender_chat=CHANNEL, **command("/stop"))
    assert channel
    assert channel.sender == Sender("channel:-1009", "News")


async def test_linked_channel_is_nobody_we_know(desk: Desk) -> None:
    service = {"id": 777000, "is_bot": False, "first_name": "Telegram"}
    got = await desk.said(
        chat=GROUP, sender=service, sender_chat=CHANNEL, is_automatic_forward=True, **command("/x")
    )
    assert got
    assert got.sender.id == "channel:-1009"


async def test_chat_that_the_configuration_names_speaks_for_a_member(tmp_path: Path) -> None:
    places = await Places.open(tmp_path)
    desk = Desk(places, senders={"-500": "11"})
    got = await desk.said(chat=GROUP, sender=ANONYMOUS, sender_chat=GROUP, **command("/stop"))
    assert got
    assert got.sender == Sender("11", "Work")
    await places.close()


async def test_other_bots_are_told_apart(desk: Desk) -> None:
    got = await desk.said(
        chat=GROUP, sender={"id": 5, "is_bot": True, "first_name": "Other"}, **mention("@beam_bot hi")
    )
    assert got
    assert got.sender.bot


async def test_member_joins_and_leaves(desk: Desk) -> None:
    joined = await desk.said(chat=GROUP, new_chat_members=[BO])
    assert joined
    assert joined.body == into.MemberIn("joined")
    assert joined.sender.id == "12"
    left = await desk.said(chat=GROUP, left_chat_member=BO)
    assert left
    assert left.body == into.MemberIn("left")


# ── groups ───────────────────────────────────────────────────────────────────────────────────────────


def mention(text: str) -> dict[str, Any]:
    at = text.index("@")
    return {"text": text, "entities": [entity("mention", at, len(text[at:].split()[0].rstrip(",")))]}


async def test_first_message_that_names_the_bot_starts_a_chain_and_replies_belong_to_it(desk: Desk) -> None:
    first = await desk.said(chat=GROUP, message_id=40, **mention("@beam_bot, fix it"))
    assert first
    assert first.thread == ThreadRef("telegram", "-500", "r40")
    assert first.body == into.TextIn("40", "fix it")
    assert root_of(first.thread) == 40
    await desk.places.note("-500", 41, "r40")
    answer = msg(chat=GROUP, message_id=41, sender=BOT, text="how?")
    second = await desk.said(chat=GROUP, message_id=42, sender=BO, text="well", reply_to_message=answer)
    assert second
    assert second.thread == first.thread
    own = msg(chat=GROUP, message_id=42, sender=BO, text="well")
    third = await desk.said(chat=GROUP, message_id=43, sender=BO, text="or so", reply_to_message=own)
    assert third
    assert third.thread == first.thread
    edit = await desk.take(edited_message=msg(chat=GROUP, message_id=43, sender=BO, text="or not"))
    assert edit
    assert edit.thread == first.thread


async def test_edited_words_are_read_as_they_were_at_first(desk: Desk) -> None:
    await desk.said(chat=GROUP, message_id=40, **mention("@beam_bot fix it"))
    got = await desk.take(edited_message=msg(chat=GROUP, message_id=40, **mention("@beam_bot fix that")))
    assert got
    assert got.body == into.EditedIn("40", "fix that")
    assert got.thread.thread == "r40"


async def test_second_mention_starts_a_chain_of_its_own(desk: Desk) -> None:
    one = await desk.said(chat=GROUP, message_id=40, **mention("@beam_bot a"))
    two = await desk.said(chat=GROUP, message_id=41, **mention("@beam_bot b"))
    assert one
    assert two
    assert one.thread != two.thread


async def test_talk_between_people_is_not_for_us(desk: Desk) -> None:
    assert await desk.said(chat=GROUP, text="lunch?") is None
    other = msg(chat=GROUP, message_id=3, sender=BO, text="lunch?")
    assert await desk.said(chat=GROUP, message_id=8, text="yes", reply_to_message=other) is None
    assert await desk.said(chat=GROUP, **mention("@beam_bottle no")) is None


async def test_everything_is_for_us_where_that_is_wanted(tmp_path: Path) -> None:
    places = await Places.open(tmp_path)
    desk = Desk(places, everything=True)
    assert await desk.said(chat=GROUP, text="lunch?") is not None
    await places.close()


async def test_reply_to_a_message_of_ours_that_was_forgotten_hangs_on_what_telegram_knows(desk: Desk) -> None:
    old = msg(chat=GROUP, message_id=3, sender=BOT, text="old")
    got = await desk.said(chat=GROUP, message_id=90, text="still?", reply_to_message=old, message_thread_id=2)
    assert got
    assert got.thread.thread == "r2"


async def test_topic_of_a_forum_is_ours_from_the_first_word_to_us_on(desk: Desk) -> None:
    place: dict[str, Any] = {"chat": FORUM, "message_thread_id": 5, "is_topic_message": True}
    assert await desk.said(text="among us", **place) is None
    got = await desk.said(**place, **mention("@beam_bot hi"))
    assert got
    assert got.thread == ThreadRef("telegram", "-1001", "5")
    assert await desk.said(text="go on", **place) is not None


async def test_main_room_of_a_forum_hears_only_what_is_said_to_the_bot(desk: Desk) -> None:
    got = await desk.said(chat=FORUM, **command("/sessions"))
    assert got
    assert got.thread == ThreadRef("telegram", "-1001")
    assert await desk.said(chat=FORUM, text="among us") is None


async def test_name_is_found_behind_emoji(desk: Desk) -> None:
    text = "👍👍 @beam_bot do it"
    got = await desk.said(chat=GROUP, text=text, entities=[entity("mention", 5, 9)])
    assert got
    assert got.body == into.TextIn("7", text)


async def test_mention_of_a_bot_without_a_name_counts(desk: Desk) -> None:
    got = await desk.said(chat=GROUP, text="Beam do it", entities=[entity("text_mention", 0, 4, user=BOT)])
    assert got is not None


async def test_group_that_became_a_supergroup_stays_what_it_was(desk: Desk) -> None:
    first = await desk.said(chat=GROUP, message_id=40, **mention("@beam_bot hi"))
    assert await desk.said(chat=GROUP, migrate_to_chat_id=-100777) is None
    grown = {"id": -100777, "type": "supergroup", "title": "Work"}
    assert await desk.said(chat=grown, migrate_from_chat_id=-500) is None
    assert first
    assert desk.places.newest_id("-500") == -100777
    # A supergroup counts anew: its message 40 is another one.
    other = msg(chat=grown, message_id=40, sender=ANA, text="lunch?")
    assert await desk.said(chat=grown, message_id=41, text="yes", reply_to_message=other) is None
    second = await desk.said(chat=grown, message_id=42, **mention("@beam_bot hi again"))
    assert second
    assert second.thread.chat == first.thread.chat
    assert second.thread != first.thread
    reply = msg(chat=grown, message_id=42, sender=ANA, text="@beam_bot hi again")
    third = await desk.said(chat=grown, message_id=43, text="more", reply_to_message=reply)
    assert third
    assert third.thread == second.thread


# ── what cannot be used ──────────────────────────────────────────────────────────────────────────────


async def test_unknown_updates_are_let_pass(desk: Desk) -> None:
    assert await desk.take(brand_new_thing={"x": 1}) is None
    assert await desk.take(message=msg(giveaway={"chats": []})) is None
    assert await desk.take(message={"message_id": "what"}) is None
    assert (
        await desk.take(my_chat_member={"chat": GROUP, "from": ANA, "new_chat_member": {"status": "kicked"}})
        is None
    )


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_schema_never_fails_with_anything_but_its_own_error(value: object) -> None:
    from platforms.telegram.receiving.schema import Update

    for name in ("message", "callback_query", "edited_message"):
        with contextlib.suppress(msgspec.ValidationError):
            msgspec.convert({"update_id": 1, name: value}, Update)
