"""Rich messages, and drafts: messages that are seen while they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from platforms.telegram.twin import wire
from platforms.telegram.twin.call import Call
from platforms.telegram.twin.checks.keyboard import read_markup
from platforms.telegram.twin.checks.rich import read_rich
from platforms.telegram.twin.checks.text import TEXT_LIMIT, fitted, read_entities
from platforms.telegram.twin.errors import bad
from platforms.telegram.twin.methods.messages import posted, words_of
from platforms.telegram.twin.methods.places import chat_of, may_write, topic_of
from platforms.telegram.twin.methods.table import Method
from platforms.telegram.twin.world.values import Content, Draft

if TYPE_CHECKING:
    from platforms.telegram.twin.twin import Twin

BLOCKS_SINCE = (10, 2)
STOP_SINCE = (10, 3)


def send_rich(twin: Twin, call: Call) -> object:
    """sendRichMessage."""
    rich = read_rich(call, blocks=twin.settings.api >= BLOCKS_SINCE)
    chat = chat_of(twin, call)
    may_write(twin, chat)
    topic = topic_of(twin, chat, call)
    content = Content(keyboard=read_markup(call.mapping("reply_markup")), rich=rich)
    return wire.message(posted(twin, call, chat, content, topic))


def send_draft(twin: Twin, call: Call) -> object:
    """sendMessageDraft. No text at all is shown as thinking."""
    if call.has("text"):
        text, entities = words_of(twin, call)
    else:
        text, entities = fitted("Thinking…", read_entities([], {}), limit=TEXT_LIMIT, empty="")
    return _draft(twin, call, Content(text, entities))


def send_rich_draft(twin: Twin, call: Call) -> object:
    """sendRichMessageDraft."""
    rich = read_rich(call, blocks=twin.settings.api >= BLOCKS_SINCE, draft=True)
    return _draft(twin, call, Content(rich=rich))


def _draft(twin: Twin, call: Call, content: Content) -> bool:
    chat = chat_of(twin, call)
    if chat.type != "private":
        raise bad("TEXTDRAFT_PEER_INVALID")
    may_write(twin, chat)
    topic = topic_of(twin, chat, call)
    number = call.number("draft_id")
    if not number:
        raise bad("RANDOM_ID_INVALID")
    twin.meter.spend(chat, draft=True)
    stops = twin.settings.api >= STOP_SINCE
    chat.drafts[number] = Draft(
        number,
        topic,
        content,
        twin.clock.monotonic() + twin.settings.draft_seconds,
        can_stop=stops and call.flag("can_stop"),
        keep=stops and call.flag("keep_on_stop"),
    )
    twin.world.note(chat, twin.bot.name, "drafted", topic=topic, content=content)
    return True


METHODS = (
    Method("sendRichMessage", send_rich, (10, 1)),
    Method("sendMessageDraft", send_draft, (9, 3)),
    Method("sendRichMessageDraft", send_rich_draft, (10, 1)),
)
