"""An answer of any shape, laid out for each platform: no message too long, no word lost, nothing sent again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from beambot.api import markdown
from beambot.model.bodies import Result, TextDelta, ToolEnded, ToolStarted
from beambot.model.message import AnyBody, UnifiedMessage
from beambot.model.outbound import AnyOutBlock, Outgoing
from beambot.model.settings import Rendering
from beambot.render.clip import Paper
from beambot.render.layout import Pages, extent, lay_out
from beambot.render.split import Unit, measure
from beambot.state.turn import Turn, reduce
from platforms.discord import components
from platforms.discord import outbound as discord
from platforms.slack import outbound as slack
from platforms.telegram import outbound as telegram
from platforms.telegram import rich
from platforms.web import markdown as web

WORD = re.compile(r"w\d{5}")


class Chat(Struct, frozen=True):
    name: str
    limit: int
    unit: Unit
    size: Callable[[AnyOutBlock], int]
    payload: Callable[[Outgoing], Any]
    fits: Callable[[Any], bool]


def telegram_fits(payload: Any) -> bool:
    return measure(payload["text"], "utf16") <= 4096 and len(payload.get("entities", ())) <= 100


def slack_fits(payload: Any) -> bool:
    return len(payload["blocks"]) <= 50 and len(payload["text"]) <= 4000


def v2_fits(payload: Any) -> bool:
    def texts(part: Any) -> int:
        if isinstance(part, list):
            return sum(map(texts, part))
        if isinstance(part, dict):
            own = len(part["content"]) if part.get("type") == 10 else 0
            return own + sum(texts(inner) for inner in part.values() if isinstance(inner, list | dict))
        return 0

    return texts(payload["components"]) <= 4000


CHATS = [
    Chat("telegram", 4096, "utf16", telegram.measure, telegram.payload, telegram_fits),
    Chat("telegram-rich", 32768, "characters", rich.rich_measure, rich.rich_payload, lambda p: len(str(p)) > 0),
    Chat("discord", 2000, "characters", discord.measure, discord.payload, lambda p: len(p["content"]) <= 2000),
    Chat("discord-v2", 4000, "characters", components.v2_measure, components.v2_payload, v2_fits),
    Chat("slack", 12000, "characters", slack.measure, slack.payload, slack_fits),
]

counter = iter(range(10**9))


def words(count: int) -> str:
    return " ".join(f"w{next(counter) % 100000:05d}" for _ in range(count))


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Markdown of many shapes whose every word is unique."""
    shapes = draw(st.lists(st.sampled_from(sorted(SHAPES)), min_size=1, max_size=14))
    return "\n\n".join(SHAPES[shape](draw(st.integers(1, 60))) for shape in shapes)


SHAPES: dict[str, Callable[[int], str]] = {
    "prose": lambda n: words(n * 3),
    "bold": lambda n: " ".join(f"**{words(1)}** *{words(1)}*" for _ in range(n)),
    "list": lambda n: "\n".join(f"{'  ' * (k % 3)}- {words(4)}" for k in range(n)),
    "numbers": lambda n: "\n".join(f"{k}. {words(3)} `{words(1)}`" for k in range(1, n + 1)),
    "fence": lambda n: "```python\n" + "\n".join(words(5) for _ in range(n)) + "\n```",
    "quote": lambda n: "\n".join(f"> {words(6)}" for _ in range(n)),
    "table": lambda n: "| a | b |\n|---|---|\n" + "\n".join(f"| {words(2)} | {words(1)} |" for _ in range(n)),
    "links": lambda n: " ".join(f"[{words(1)}](https://example.com/{'x' * 60})" for _ in range(n)),
    "emoji": lambda n: " ".join(f"{words(1)} 👩‍👩‍👧‍👦" for _ in range(n)),
    "one word": lambda n: "x" * n * 200 + " " + words(1),
    "tasks": lambda n: "\n".join(f"- [{'x' if k % 2 else ' '}] {words(3)}" for k in range(n)),
    "nested": lambda n: "\n".join(f"> - {words(2)}\n>   ```\n>   {words(2)}\n>   ```" for _ in range(n)),
}


def play(chat: Chat, text: str, step: int) -> tuple[list[Outgoing], Turn]:
    """Hear a text in steps, showing it after each, as a lane does; gives the pages as they stand in the end."""
    turn, pages, seq = Turn("t"), Pages(), 0
    paper = Paper(chat.limit, chat.unit, chat.size)
    shown: dict[int, tuple[AnyOutBlock, ...]] = {}
    seen = None

    def hear(body: AnyBody) -> None:
        nonlocal turn, seq
        seq += 1
        turn = reduce(turn, UnifiedMessage(body, "", "t", "s", seq, float(seq)))

    for at in range(0, len(text), step):
        hear(TextDelta(text[at : at + step]))
        sealed = len(pages.starts) - 1
        before = {number: shown[number] for number in range(sealed) if number in shown}
        pages, painted = lay_out(turn, pages, paper, Rendering(file_above=0), float(seq), seen)
        shown.update(painted)
        assert {number: shown[number] for number in before} == before, "a sealed page changed"
        seen = extent(turn)
        for _, blocks in painted:
            assert chat.fits(chat.payload(Outgoing("k", blocks))), "a message is too long"
    hear(ToolStarted("x", "run"))
    hear(ToolEnded("x"))
    hear(Result())
    pages, painted = lay_out(turn, pages, paper, Rendering(file_above=0), float(seq), seen)
    shown.update(painted)
    return [Outgoing("k", shown[number]) for number in sorted(shown)], turn


def test_a_page_does_not_end_within_a_word_that_was_half_heard() -> None:
    chat = next(chat for chat in CHATS if chat.name == "telegram")
    words = " ".join(f"**w{2 * n:05d}** *w{2 * n + 1:05d}*" for n in range(60))
    text = "plain " * 350 + words
    for heard in range(2700, 3100):
        messages, _ = play(chat, text, heard)
        shown = [word for message in messages for word in WORD.findall(visible(chat, chat.payload(message)))]
        assert shown == WORD.findall(text)


@pytest.mark.parametrize("chat", CHATS, ids=lambda chat: chat.name)
@settings(max_examples=40, deadline=None)
@given(text=documents(), step=st.sampled_from([97, 400, 3000]))
def test_every_word_stands_once_and_in_order_in_messages_that_fit(chat: Chat, text: str, step: int) -> None:
    messages, _ = play(chat, text, step)
    said = []
    for message in messages:
        payload = chat.payload(message)
        assert chat.fits(payload)
        said += WORD.findall(visible(chat, payload))
    heads = {"a", "b"}
    assert [word for word in said if word not in heads] == WORD.findall(text)


def visible(chat: Chat, payload: Any) -> str:
    """What a reader sees of a payload, more or less."""
    if "text" in payload and chat.name == "telegram":
        return str(payload["text"])
    if chat.name == "discord":
        return str(payload["content"])
    body = payload["blocks"] if chat.name == "slack" else payload
    return json.dumps(body, ensure_ascii=False)


@pytest.mark.parametrize("chat", CHATS, ids=lambda chat: chat.name)
@pytest.mark.parametrize(
    "text",
    ["x" * 10_000, "word " + "y" * 9_000 + " end", "\n".join(["z" * 500] * 40), "**a** " * 500, "`b` *c* " * 500],
    ids=["line", "word", "lines", "bold", "mixed"],
)
def test_what_has_no_good_place_to_be_cut_arrives_all_the_same(chat: Chat, text: str) -> None:
    messages, _ = play(chat, text, 700)
    drawn = "".join(visible(chat, chat.payload(message)) for message in messages)
    for letter in "xyzabc":
        if letter * 3 in text or f"**{letter}**" in text or f"`{letter}`" in text or f"*{letter}*" in text:
            wanted = text.count(letter)
            assert drawn.count(letter) >= wanted, f"{letter}: {drawn.count(letter)} of {wanted}"


def test_the_page_of_the_browser_takes_it_too() -> None:
    text = "\n\n".join(shape(5) for shape in SHAPES.values())
    html = "".join(web.render(markdown.parse(text)).html)
    assert WORD.findall(re.sub(r"<[^>]+>", " ", html)) == WORD.findall(text)
