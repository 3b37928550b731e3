"""The twin's messages, as the real client library sends them and a person sees them."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from telegram import (
    Bot,
    BotCommand,
    BotCommandScopeAllPrivateChats,
    CopyTextButton,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    MenuButtonCommands,
    MessageEntity,
    ReactionTypeEmoji,
    ReplyParameters,
)
from telegram.error import BadRequest, EndPointNotFound, Forbidden, InvalidToken, NetworkError

from platforms.telegram.twin import UNLIMITED, ApiError, Entity, Person, Twin
from platforms.telegram.twin.checks.markup import parse_text
from platforms.telegram.twin.checks.text import GIVEN, fitted, units


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
    ada = twin.person("Ada", id=11)
    await ada.starts()
    return ada


async def refusal(twin: Twin, method: str, **arguments: Any) -> str:
    """What the server says to a call, in its own letters: the library changes them."""
    async with aiohttp.ClientSession() as client:
        async with client.post(f"{twin.base_url}{twin.token}/{method}", json=arguments) as answer:
            said = await answer.json()
            assert not said["ok"]
            assert answer.status == said["error_code"]
            return str(said["description"])


def row(*buttons: tuple[str, str]) -> InlineKeyboardMarkup:
    return InlineKeyboardMarkup([[InlineKeyboardButton(label, callback_data=data) for label, data in buttons]])


async def test_bot_knows_itself(twin: Twin, bot: Bot) -> None:
    me = await bot.get_me()
    assert (me.id, me.username, me.has_topics_enabled) == (123456789, "beam_twin_bot", False)


async def test_message_is_posted_edited_and_deleted_and_the_transcript_tells_it(
    bot: Bot, ada: Person, twin: Twin
) -> None:
    sent = await bot.send_message(11, "  one  ", reply_markup=row(("Stop", "s"), ("More", "m")))
    assert sent.text == "one"
    assert sent.chat.id == 11
    await bot.edit_message_text("two", 11, sent.message_id)
    edited = await bot.edit_message_reply_markup(11, sent.message_id, reply_markup=row(("Again", "a")))
    assert edited.reply_markup.inline_keyboard[0][0].callback_data == "a"
    await bot.send_message(11, "last", disable_notification=True)
    assert ada.chat.screen() == "Ada: /start\nBeambot: two\n[Again]\nBeambot: last"
    assert [content.text for content in ada.chat.messages[sent.message_id].revisions] == ["one", "two", "two"]
    await bot.delete_message(11, sent.message_id)
    number = sent.message_id
    assert twin.transcript(ada.chat, times=False).splitlines() == [
        "Ada posted #1: /start",
        f"Beambot posted #{number}: one",
        "[Stop] [More]",
        f"Beambot edited #{number}: two",
        f"Beambot edited #{number}: two",
        "[Again]",
        f"Beambot posted #{number + 1}: last",
        f"Beambot deleted #{number}",
    ]
    assert all(re.match(r"\+\d+\.\d \w+ |\[", line) for line in twin.transcript(ada.chat).splitlines())


REFUSED_TEXTS: list[tuple[dict[str, Any], str]] = [
    ({"text": ""}, "message text is empty"),
    ({"text": " \n "}, "text must be non-empty"),
    ({"text": "x" * 4097}, "message is too long"),
    ({"text": "😀" * 2049}, "message is too long"),
    ({"text": "x", "chat_id": 999}, "chat not found"),
    ({"text": "x", "message_thread_id": 77}, "message thread not found"),
    ({"text": "x", "reply_parameters": {"message_id": 999}}, "message to be replied not found"),
    ({"text": "x", "parse_mode": "LaTeX"}, "unsupported parse_mode"),
    (
        {"text": "*x", "parse_mode": "Markdown"},
        "can't parse entities: Can't find end of the entity starting at byte offset 0",
    ),
    (
        {"text": "é*x", "parse_mode": "MarkdownV2"},
        "can't parse entities: Can't find end of Bold entity at byte offset 2",
    ),
    (
        {"text": "a.", "parse_mode": "MarkdownV2"},
        "can't parse entities: Character '.' is reserved and must be escaped with the preceding '\\'",
    ),
    (
        {"text": "<b>x", "parse_mode": "HTML"},
        "can't parse entities: Can't find end tag corresponding to start tag \"b\"",
    ),
    (
        {"text": "<b><i>test</b></i>", "parse_mode": "HTML"},
        'can\'t parse entities: Unmatched end tag at byte offset 10, expected "</i>", found "</b>"',
    ),
    (
        {"text": "<u2>x</u2>", "parse_mode": "HTML"},
        'can\'t parse entities: Unsupported start tag "u2" at byte offset 0',
    ),
    (
        {"text": "hello", "entities": [{"type": "bold", "offset": 0, "length": 6}]},
        "entity beginning at UTF-16 offset 0 ends after the end of the text at UTF-16 offset 6",
    ),
    (
        {"text": "hello", "entities": [{"type": "bold", "offset": 5, "length": 1}]},
        "entity begins after the end of the text at UTF-16 offset 5",
    ),
    (
        {"text": "hello", "entities": [{"type": "bold", "offset": -1, "length": 1}]},
        "receive an entity with incorrect offset -1",
    ),
    (
        {"text": "a😀b", "entities": [{"type": "bold", "offset": 2, "length": 1}]},
        "entity begins in a middle of a UTF-16 symbol at byte offset 1",
    ),
    (
        {"text": "a😀b", "entities": [{"type": "bold", "offset": 0, "length": 2}]},
        "entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at byte offset 1",
    ),
    (
        {
            "text": "abcdef",
            "entities": [{"type": "bold", "offset": 0, "length": 4}, {"type": "italic", "offset": 2, "length": 4}],
        },
        "entity beginning at UTF-16 offset 2 ends after the end of the text at UTF-16 offset 6",
    ),
    (
        {"text": "x", "entities": [{"type": "glow", "offset": 0, "length": 1}]},
        "can't parse MessageEntity: Unsupported type specified",
    ),
    (
        {"text": "x", "entities": [{"type": "text_link", "offset": 0, "length": 1, "url": "nope"}]},
        "entity URL 'nope' is invalid: Wrong HTTP URL",
    ),
    (
        {"text": "x", "entities": [{"type": "text_link", "offset": 0, "length": 1, "url": "ftp://x.org"}]},
        "entity URL 'ftp://x.org' is invalid: Unsupported URL protocol",
    ),
    (
        {"text": "x", "entities": [{"type": "custom_emoji", "offset": 0, "length": 1, "custom_emoji_id": "x"}]},
        'can\'t parse MessageEntity: Field "custom_emoji_id" must be a valid Number',
    ),
    (
        {"text": "x", "entities": [{"type": "text_mention", "offset": 0, "length": 1, "user": {"id": 5}}]},
        "user not found",
    ),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED_TEXTS)
async def test_bad_text_is_refused_in_the_words_of_the_real_server(
    twin: Twin, ada: Person, arguments: Any, said: str
) -> None:
    assert await refusal(twin, "sendMessage", **{"chat_id": 11, **arguments}) == f"Bad Request: {said}"
    assert ada.chat.screen() == "Ada: /start"


@pytest.mark.parametrize(
    ("button", "said"),
    [
        ({"text": "x", "callback_data": "é" * 33}, "BUTTON_DATA_INVALID"),
        ({"text": "x", "url": "nowhere"}, "inline keyboard button URL 'nowhere' is invalid: Wrong HTTP URL"),
        ({"text": "x"}, "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"),
        ({"callback_data": "x"}, "can't parse inline keyboard button: Can't find field \"text\""),
        ({"text": "x", "copy_text": {"text": ""}}, "BUTTON_COPY_TEXT_INVALID"),
        (
            {"text": "x", "web_app": {"url": "http://x.org"}},
            "inline keyboard button Web App URL 'http://x.org' is invalid: Only HTTPS links are allowed",
        ),
        ({"text": "x", "pay": True}, "BUTTON_TYPE_INVALID"),
    ],
)
async def test_bad_buttons_are_refused(twin: Twin, ada: Person, button: Any, said: str) -> None:
    markup = {"inline_keyboard": [[button]]}
    assert await refusal(twin, "sendMessage", chat_id=11, text="x", reply_markup=markup) == f"Bad Request: {said}"


async def test_longest_texts_and_data_pass(bot: Bot, ada: Person) -> None:
    await bot.send_message(11, "😀" * 2048, reply_markup=row(("é", "é" * 32)))
    copied = InlineKeyboardButton("Copy", copy_text=CopyTextButton("x" * 256))
    await bot.send_message(11, "x" * 4096, reply_markup=InlineKeyboardMarkup([[copied]]))
    with pytest.raises(BadRequest, match=r"(?i)REPLY_MARKUP_TOO_LONG"):
        await bot.send_message(11, "x", reply_markup=row(*[("x", "x")] * 9))


async def test_entities_are_tidied_as_the_real_server_does(bot: Bot, ada: Person) -> None:
    given = [MessageEntity("bold", 2, 4), MessageEntity("code", 2, 4), MessageEntity("blockquote", 2, 7)]
    sent = await bot.send_message(11, "  code @ada_l /run", entities=given)
    assert [(one.type, one.offset, one.length) for one in sent.entities] == [
        ("blockquote", 0, 7),
        ("code", 0, 4),
        ("mention", 5, 6),
        ("bot_command", 12, 4),
    ]


async def test_more_than_a_hundred_entities_are_cut_without_a_word(bot: Bot, ada: Person) -> None:
    sent = await bot.send_message(11, "x" * 200, entities=[MessageEntity("bold", at, 1) for at in range(120)])
    assert len(sent.entities) == 100


@pytest.mark.parametrize(
    ("text", "mode", "said", "entities"),
    [
        ("<b>a <i>b</i></b> &lt;c&gt;", "HTML", "a b <c>", [("bold", 0, 3), ("italic", 2, 1)]),
        ('<pre><code class="language-py">x = 1</code></pre>', "html", "x = 1", [("pre", 0, 5)]),
        ('<a href="https://x.org/?a=1&amp;b=2">😀</a>!', "HTML", "😀!", [("text_link", 0, 2)]),
        (
            "<blockquote expandable>q</blockquote><tg-spoiler>s</tg-spoiler>",
            "HTML",
            "qs",
            [("expandable_blockquote", 0, 1), ("spoiler", 1, 1)],
        ),
        (
            "*b _i_* __u__ ~s~ ||p|| `c`",
            "MarkdownV2",
            "b i u s p c",
            [
                ("bold", 0, 3),
                ("italic", 2, 1),
                ("underline", 4, 1),
                ("strikethrough", 6, 1),
                ("spoiler", 8, 1),
                ("code", 10, 1),
            ],
        ),
        ("```py\nx\\`\n``` [a\\.b](https://x.org)", "MarkdownV2", "x`\n a.b", [("pre", 0, 3), ("text_link", 4, 3)]),
        (">a\n>b||\nc", "MarkdownV2", "a\nb\nc", [("expandable_blockquote", 0, 3)]),
        (
            "*b* _i_ `c` [l](https://x.org) \\*",
            "Markdown",
            "b i c l *",
            [("bold", 0, 1), ("italic", 2, 1), ("code", 4, 1), ("text_link", 6, 1)],
        ),
    ],
)
async def test_marks_become_entities(bot: Bot, ada: Person, text: str, mode: str, said: str, entities: Any) -> None:
    sent = await bot.send_message(11, text, parse_mode=mode)
    assert sent.text == said
    assert [(one.type, one.offset, one.length) for one in sent.entities] == entities


async def test_edit_that_changes_nothing_is_refused(bot: Bot, ada: Person) -> None:
    sent = await bot.send_message(11, "x", reply_markup=row(("a", "b")))
    with pytest.raises(BadRequest) as refused:
        await bot.edit_message_text("x", 11, sent.message_id, reply_markup=row(("a", "b")))
    assert refused.value.message == (
        "Message is not modified: specified new message content and reply markup are exactly the same as a "
        "current content and reply markup of the message"
    )
    await bot.edit_message_text("x", 11, sent.message_id)
    assert ada.chat.last.labels == []


async def test_only_ones_own_messages_that_stand_can_be_edited(bot: Bot, ada: Person) -> None:
    with pytest.raises(BadRequest, match="Message to edit not found"):
        await bot.edit_message_text("x", 11, 999)
    with pytest.raises(BadRequest, match="Message can't be edited"):
        await bot.edit_message_text("x", 11, 1)
    sent = await bot.send_message(11, "x")
    await ada.deletes(ada.chat.last)
    with pytest.raises(BadRequest, match="Message to edit not found"):
        await bot.edit_message_text("y", 11, sent.message_id)
    with pytest.raises(BadRequest, match="Message to delete not found"):
        await bot.delete_message(11, sent.message_id)


async def test_many_are_deleted_at_once_and_those_gone_are_skipped(bot: Bot, ada: Person) -> None:
    numbers = [(await bot.send_message(11, f"m{at}")).message_id for at in range(3)]
    assert await bot.delete_messages(11, [*numbers, 555])
    assert ada.chat.screen() == "Ada: /start"


async def test_reply_names_what_it_answers(bot: Bot, ada: Person) -> None:
    sent = await bot.send_message(11, "yes", reply_parameters=ReplyParameters(1))
    assert sent.reply_to_message.text == "/start"
    lax = ReplyParameters(999, allow_sending_without_reply=True)
    assert (await bot.send_message(11, "no", reply_parameters=lax)).reply_to_message is None


async def test_reactions_are_of_the_fixed_list_and_one_at_most(bot: Bot, ada: Person) -> None:
    assert await bot.set_message_reaction(11, 1, "👀")
    assert ada.chat.screen() == "Ada: /start {👀}"
    await bot.set_message_reaction(11, 1, "❤")
    with pytest.raises(BadRequest, match=r"(?i)REACTION_INVALID"):
        await bot.set_message_reaction(11, 1, "✅")
    with pytest.raises(BadRequest, match=r"(?i)REACTIONS_TOO_MANY"):
        await bot.set_message_reaction(11, 1, [ReactionTypeEmoji("👀"), ReactionTypeEmoji("👍")])
    await bot.set_message_reaction(11, 1)
    assert ada.chat.last.reactions == {}


async def test_commands_have_scopes_and_languages(bot: Bot, twin: Twin) -> None:
    scope = BotCommandScopeAllPrivateChats()
    await bot.set_my_commands([BotCommand("new", "a new session")])
    await bot.set_my_commands([BotCommand("neu", "neue Sitzung")], scope=scope, language_code="de")
    assert [one.command for one in await bot.get_my_commands()] == ["new"]
    assert [one.command for one in await bot.get_my_commands(scope, "de")] == ["neu"]
    await bot.delete_my_commands(scope, "de")
    assert await bot.get_my_commands(scope, "de") == ()
    with pytest.raises(BadRequest, match=r"(?i)BOT_COMMAND_INVALID"):
        await bot.set_my_commands([("New", "x")])
    assert await bot.set_chat_menu_button(menu_button=MenuButtonCommands())
    assert await bot.set_my_description("words")


async def test_typing_is_no_part_of_the_transcript(bot: Bot, ada: Person, twin: Twin) -> None:
    assert await bot.send_chat_action(11, "typing")
    assert "typing" not in twin.transcript(ada.chat)
    assert ada.chat.steps[-1].what == "typing"
    with pytest.raises(BadRequest, match="Wrong parameter action in request"):
        await bot.send_chat_action(11, "dancing")


async def test_chats_that_the_bot_may_not_write_to(bot: Bot, ada: Person, twin: Twin) -> None:
    twin.person("Bob", id=12)
    with pytest.raises(Forbidden, match="Forbidden: bot can't initiate conversation with a user"):
        await bot.send_message(12, "x")
    ada.blocks()
    with pytest.raises(Forbidden, match="Forbidden: bot was blocked by the user"):
        await bot.send_message(11, "x")
    group = twin.group("Team", ada)
    await ada.mutes_bot(group)
    with pytest.raises(BadRequest, match="Not enough rights to send text messages to the chat"):
        await bot.send_message(group.id, "x")
    await ada.kicks_bot(group)
    with pytest.raises(Forbidden, match="Forbidden: bot was kicked from the supergroup chat"):
        await bot.send_message(group.id, "x")


async def test_unknown_methods_and_tokens_are_told_apart(bot: Bot, twin: Twin) -> None:
    with pytest.raises(EndPointNotFound):
        await bot.do_api_request("flyToTheMoon")
    with pytest.raises(InvalidToken):
        async with Bot("99:wrong", base_url=twin.base_url):
            pass
    async with aiohttp.ClientSession() as client:
        for token, status in (("99:wrong", 401), ("nonsense", 404)):
            async with client.get(f"{twin.base_url}{token}/getMe") as answer:
                assert answer.status == status
                assert (await answer.json())["error_code"] == status


async def test_arguments_come_in_a_query_a_form_or_json(ada: Person, twin: Twin) -> None:
    url = f"{twin.base_url}{twin.token}/sendMessage"
    keyboard = {"inline_keyboard": [[{"text": "a", "callback_data": "b"}]]}
    async with aiohttp.ClientSession() as client:
        await client.get(url, params={"chat_id": "11", "text": "query"})
        await client.post(url, data={"chat_id": "11", "text": "form", "reply_markup": json.dumps(keyboard)})
        await client.post(url, json={"chat_id": 11, "text": "json", "reply_markup": keyboard})
        async with client.post(url, data=b"{", headers={"Content-Type": "application/json"}) as answer:
            assert (await answer.json())["description"] == "Bad Request: can't parse JSON object"
    assert ada.chat.screen() == "Ada: /start\nBeambot: query\nBeambot: form\n[a]\nBeambot: json\n[a]"


async def test_bad_gateway_is_a_network_error_to_the_library(bot: Bot, ada: Person, twin: Twin) -> None:
    twin.fail("status", "sendMessage", status=502)
    with pytest.raises(NetworkError):
        await bot.send_message(11, "x")
    await bot.send_message(11, "y")
    assert ada.chat.last.text == "y"


WORDS = st.text(alphabet="ab 😀é\n/@#<>*_`[]()&;\"'=|~\\\r\x07", max_size=40)
ENTITIES = st.lists(
    st.builds(
        Entity,
        st.sampled_from(["bold", "italic", "code", "pre", "blockquote", "spoiler"]),
        st.integers(-2, 45),
        st.integers(-2, 45),
    ),
    max_size=5,
)


@given(WORDS, ENTITIES)
def test_what_is_kept_of_any_text_is_sound(text: str, entities: list[Entity]) -> None:
    try:
        kept, found = fitted(text, entities, limit=4096, empty="text must be non-empty")
    except ApiError:
        return
    encoded = kept.encode("utf-16-le")
    for entity in found:
        assert 0 <= entity.offset < entity.end <= len(encoded) // 2
        encoded[entity.offset * 2 : entity.end * 2].decode("utf-16-le")
    assert fitted(kept, [one for one in found if one.type in GIVEN], limit=4096, empty="") == (kept, found)


@given(WORDS, st.sampled_from(["HTML", "Markdown", "MarkdownV2"]))
def test_any_marks_are_parsed_or_refused(text: str, mode: str) -> None:
    try:
        plain, entities = parse_text(text, mode)
    except ApiError:
        return
    assert all(one.offset >= 0 and one.end <= units(plain) for one in entities)
