"""How the twin's people reach the bot: polling, webhooks, and what they do."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest
from aiohttp import web
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, Update
from telegram.error import BadRequest, ChatMigrated, Conflict

from beambot.testing.clock import FakeClock
from platforms.telegram.twin import UNLIMITED, Person, Settings, Twin

KEYBOARD = InlineKeyboardMarkup(
    [[InlineKeyboardButton("Allow", callback_data="a:1"), InlineKeyboardButton("Deny", callback_data="a:2")]]
)


@pytest.fixture
async def twin() -> AsyncIterator[Twin]:
    async with Twin(limits=UNLIMITED) as twin:
        yield twin


@pytest.fixture
async def bot(twin: Twin) -> AsyncIterator[Bot]:
    async with Bot(twin.token, base_url=twin.base_url, base_file_url=twin.base_file_url) as bot:
        yield bot


@pytest.fixture
async def ada(twin: Twin) -> Person:
    ada = twin.person("Ada", id=11, username="ada_l")
    await ada.starts("code-1")
    twin.updates.drop()
    return ada


async def heard(bot: Bot, offset: int = 0) -> list[Update]:
    return list(await bot.get_updates(offset=offset, timeout=0, allowed_updates=Update.ALL_TYPES))


async def test_updates_stay_until_a_later_offset_confirms_them(bot: Bot, ada: Person) -> None:
    for number in range(3):
        await ada.says(None, f"m{number}")
    first = await bot.get_updates(limit=2, timeout=0)
    assert [one.message.text for one in first] == ["m0", "m1"]
    assert [one.message.text for one in await bot.get_updates(timeout=0)] == ["m0", "m1", "m2"]
    rest = await bot.get_updates(offset=first[-1].update_id + 1, timeout=0)
    assert [one.message.text for one in rest] == ["m2"]
    assert [one.message.text for one in await bot.get_updates(timeout=0)] == ["m2"], (
        "what is confirmed is forgotten"
    )
    await ada.says(None, "m3")
    assert [one.message.text for one in await bot.get_updates(offset=-1, timeout=0)] == ["m3"]
    assert [one.message.text for one in await bot.get_updates(timeout=0)] == ["m3"]


async def test_poll_waits_for_the_next_update(twin: Twin, bot: Bot, ada: Person) -> None:
    got: list[Update] = []

    async def poll() -> None:
        got.extend(await bot.get_updates(timeout=20))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(poll)
        await twin.until(lambda: twin.updates.polls == 1)
        await ada.says(None, "now")
    assert [one.message.text for one in got] == ["now"]


async def test_poll_that_hears_nothing_ends_with_its_time(bot: Bot) -> None:
    clock = FakeClock()
    async with Twin(clock=clock) as twin, Bot(twin.token, base_url=twin.base_url) as bot:
        async with anyio.create_task_group() as tasks:
            done = anyio.Event()

            async def poll() -> None:
                assert await bot.get_updates(timeout=30) == ()
                done.set()

            tasks.start_soon(poll)
            await twin.until(lambda: twin.updates.polls == 1)
            while not done.is_set():
                await clock.advance(30)
                await anyio.sleep(0.001)


async def test_second_poller_ends_the_first(twin: Twin, bot: Bot, ada: Person) -> None:
    ended: list[Conflict] = []

    async def poll() -> None:
        try:
            await bot.get_updates(timeout=20)
        except Conflict as conflict:
            ended.append(conflict)

    async with Bot(twin.token, base_url=twin.base_url) as other, anyio.create_task_group() as tasks:
        tasks.start_soon(poll)
        await twin.until(lambda: twin.updates.polls == 1)
        assert await other.get_updates(timeout=0) == ()
        await twin.until(lambda: ended)
    assert ended[0].message == (
        "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
    )


async def test_webhook_ends_a_poll_and_can_drop_what_waits(twin: Twin, bot: Bot, ada: Person) -> None:
    ended: list[Conflict] = []

    async def poll() -> None:
        try:
            await bot.get_updates(timeout=20)
        except Conflict as conflict:
            ended.append(conflict)

    async with Bot(twin.token, base_url=twin.base_url) as other, anyio.create_task_group() as tasks:
        tasks.start_soon(poll)
        await twin.until(lambda: twin.updates.polls == 1)
        await other.set_webhook("http://127.0.0.1:9/nobody")
        await twin.until(lambda: ended)
        await ada.says(None, "never told")
        await twin.until(lambda: twin.webhook.last_error)
        await other.delete_webhook(drop_pending_updates=True)
        assert await other.get_updates(timeout=0) == ()
    assert ended[0].message == "Conflict: terminated by setWebhook request"


async def test_updates_nobody_asked_for_are_not_kept(twin: Twin, bot: Bot, ada: Person) -> None:
    await bot.get_updates(timeout=0, allowed_updates=["callback_query"])
    message = await ada.says(None, "unheard")
    await bot.get_updates(timeout=0, allowed_updates=[])
    await ada.reacts(message, "👍")
    await ada.says(None, "heard")
    assert [one.message.text for one in await bot.get_updates(timeout=0)] == ["heard"]
    await bot.get_updates(timeout=0, allowed_updates=["message", "message_reaction"])
    await ada.reacts(message, "🔥")
    changed = (await bot.get_updates(timeout=0))[-1].message_reaction
    assert (changed.old_reaction[0].emoji, changed.new_reaction[0].emoji) == ("👍", "🔥")


async def test_updates_are_kept_for_a_day(ada: Person) -> None:
    clock = FakeClock()
    async with Twin(clock=clock) as twin, Bot(twin.token, base_url=twin.base_url) as bot:
        eve = twin.person("Eve")
        await eve.says(None, "old")
        await clock.advance(23 * 3600)
        await eve.says(None, "new")
        assert len(await bot.get_updates(timeout=0)) == 2
        await clock.advance(2 * 3600)
        assert [one.message.text for one in await bot.get_updates(timeout=0)] == ["new"]


async def test_webhook_gets_updates_in_order_until_it_takes_them(twin: Twin, bot: Bot, ada: Person) -> None:
    got: list[tuple[str, str]] = []
    failures = [500, 503]

    async def take(request: web.Request) -> web.Response:
        body = await request.json()
        if failures:
            return web.Response(status=failures.pop())
        got.append((body["message"]["text"], request.headers["X-Telegram-Bot-Api-Secret-Token"]))
        return web.Response()

    app = web.Application()
    app.router.add_post("/hook", take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    try:
        await bot.set_webhook(url, secret_token="sesame")
        with pytest.raises(Conflict, match="can't use getUpdates method while webhook is active"):
            await bot.get_updates(timeout=0)
        for text in ("one", "two", "three"):
            await ada.says(None, text)
        await twin.until(lambda: len(got) == 3)
        assert got == [("one", "sesame"), ("two", "sesame"), ("three", "sesame")]
        info = await bot.get_webhook_info()
        assert (info.url, info.pending_update_count) == (url, 0)
        assert "Wrong response from the webhook: 500" in (info.last_error_message or "")
        await bot.delete_webhook()
        await ada.says(None, "four")
        assert [one.message.text for one in await bot.get_updates(timeout=0)] == ["four"]
    finally:
        await runner.cleanup()


async def test_press_returns_what_the_bot_answers(twin: Twin, bot: Bot, ada: Person) -> None:
    sent = await bot.send_message(11, "May it?", reply_markup=KEYBOARD)
    card = ada.chat.messages[sent.message_id]

    async def answer() -> None:
        query = (await bot.get_updates(timeout=20))[-1].callback_query
        assert (query.data, query.from_user.id, query.message.message_id) == ("a:1", 11, card.id)
        await bot.answer_callback_query(query.id, "Noted", show_alert=True)
        with pytest.raises(
            BadRequest, match="Query is too old and response timeout expired or query id is invalid"
        ):
            await bot.answer_callback_query(query.id)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(answer)
        press = await ada.presses(card, "Allow")
    assert (press.answered, press.toast, press.alert) == (True, "Noted", True)
    assert twin.transcript(ada.chat, times=False).endswith("Ada pressed: [Allow]\nBeambot alerted: Noted")


async def test_press_that_nobody_answers_spins_and_is_too_old_later(ada: Person) -> None:
    clock = FakeClock()
    async with Twin(clock=clock, limits=UNLIMITED) as twin, Bot(twin.token, base_url=twin.base_url) as bot:
        eve = twin.person("Eve", id=12)
        await eve.starts()
        await bot.send_message(12, "May it?", reply_markup=KEYBOARD)
        press = await eve.presses(eve.chat.last, "Allow", seconds=0)
        assert not press.answered
        await clock.advance(61)
        with pytest.raises(BadRequest, match="Query is too old"):
            await bot.answer_callback_query(press.id)
        with pytest.raises(AssertionError, match="0 buttons say 'Maybe'"):
            await eve.presses(eve.chat.last, "Maybe")


async def test_edits_replies_forwards_and_deletions(bot: Bot, ada: Person, twin: Twin) -> None:
    said = await ada.says(None, "first")
    await ada.edits(said, "second")
    await ada.replies(said, "third")
    await ada.forwards(said)
    await ada.deletes(said)
    updates = await heard(bot)
    assert [one.effective_message.text for one in updates] == ["first", "second", "third", "second"]
    assert updates[1].edited_message.message_id == said.id
    assert updates[2].message.reply_to_message.text == "second"
    assert updates[3].message.forward_origin.sender_user.username == "ada_l"
    assert len(updates) == 4, "no bot is told of a deletion"
    assert ada.chat.find("second") is not said


async def test_start_carries_its_payload(bot: Bot, twin: Twin) -> None:
    eve = twin.person("Eve")
    await eve.starts("pair-123")
    message = (await heard(bot))[0].message
    assert message.text == "/start pair-123"
    assert message.entities[0].type == "bot_command"


async def test_privacy_mode_hides_most_of_a_group() -> None:
    settings = Settings(can_read_all_group_messages=False)
    async with Twin(settings=settings, limits=UNLIMITED) as twin, Bot(twin.token, base_url=twin.base_url) as bot:
        ada = twin.person("Ada")
        group = twin.group("Team", ada)
        sent = await bot.send_message(group.id, "hello")
        for text in ("just talk", "/status", "/status@other_bot", "/status@beam_twin_bot", "hey @Beam_Twin_Bot"):
            await ada.says(group, text)
        await ada.replies(group.messages[sent.message_id], "an answer")
        said = [one.message.text for one in await heard(bot)]
        assert said == ["/status", "/status@beam_twin_bot", "hey @Beam_Twin_Bot", "an answer"]


async def test_anonymous_admin_and_channel_write_without_a_person(bot: Bot, ada: Person, twin: Twin) -> None:
    group, channel = twin.group("Team", ada), twin.channel("News", ada)
    await ada.says(group, "as the group", as_chat=group)
    await ada.says(group, "as a channel", as_chat=channel)
    await ada.says(channel, "a post")
    first, second, third = await heard(bot)
    assert (first.message.from_user.username, first.message.sender_chat.id) == ("GroupAnonymousBot", group.id)
    assert (second.message.from_user.username, second.message.sender_chat.id) == ("Channel_Bot", channel.id)
    assert third.channel_post.from_user is None
    assert third.channel_post.sender_chat.id == channel.id


async def test_members_come_and_go_and_the_bot_is_told_of_itself(bot: Bot, ada: Person, twin: Twin) -> None:
    bob = twin.person("Bob")
    group = twin.group("Team", ada)
    await bob.joins(group)
    await bob.leaves(group)
    await ada.promotes_bot(group)
    await ada.kicks_bot(group)
    await ada.adds_bot(group)
    updates = await heard(bot)
    assert updates[0].message.new_chat_members[0].first_name == "Bob"
    assert updates[1].message.left_chat_member.first_name == "Bob"
    changes = [one.my_chat_member for one in updates if one.my_chat_member]
    assert [one.new_chat_member.status for one in changes] == ["administrator", "kicked", "member"]
    ada.blocks()
    await ada.says(None, "back again")
    changes = [one.my_chat_member for one in await heard(bot, updates[-1].update_id + 1) if one.my_chat_member]
    assert [one.new_chat_member.status for one in changes] == ["kicked", "member"]


async def test_group_that_grew_tells_its_new_id(bot: Bot, ada: Person, twin: Twin) -> None:
    small = twin.group("Team", ada, kind="group")
    assert -1_000_000_000_000 < small.id < 0
    grown = await ada.migrates(small)
    assert str(grown.id).startswith("-100")
    with pytest.raises(ChatMigrated) as moved:
        await bot.send_message(small.id, "x")
    assert moved.value.new_chat_id == grown.id
    updates = await heard(bot)
    assert updates[0].message.migrate_to_chat_id == grown.id
    assert updates[1].message.migrate_from_chat_id == small.id
    await bot.send_message(grown.id, "y")
    assert (await grown.sees("y")).who == "Beambot"


async def test_chats_and_members_can_be_asked_for(bot: Bot, ada: Person, twin: Twin) -> None:
    group = twin.forum("Team", ada)
    found = await bot.get_chat(group.id)
    assert (found.title, found.is_forum) == ("Team", True)
    assert (await bot.get_chat_member(group.id, 11)).status == "creator"
    assert (await bot.get_chat_member(group.id, twin.bot.id)).can_manage_topics
    assert await bot.get_chat_member_count(group.id) == 2
    assert await bot.leave_chat(group.id)
    with pytest.raises(BadRequest, match="Chat not found"):
        await bot.get_chat(-5)


async def test_waiting_says_what_was_there_instead(ada: Person, twin: Twin) -> None:
    with pytest.raises(AssertionError, match="'unicorn' in\nAda: /start code-1"):
        await ada.chat.sees("unicorn", seconds=0.01)
    with pytest.raises(AssertionError, match=r"not seen within 0\.01 s: a miracle"):
        await twin.until(lambda: False, seconds=0.01, what="a miracle")
