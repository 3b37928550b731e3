"""A whole beambot behind a Telegram bot: what people see, with the limits that Telegram has."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from beambot.api import PluginContext
from beambot.clock import RandomIds, SystemClock
from beambot.model.bodies import AskOption, PermissionRequest, Result, TextDelta, ToolEnded, ToolStarted
from beambot.testing.scripted import Emit, Hang, Script, WaitAnswer, WaitFor
from beambot.testing.world import World
from platforms.telegram import Settings, create
from platforms.telegram.twin import Person, Twin
from platforms.telegram.twin import Settings as TwinSettings

OPTIONS = (AskOption("yes-1", "Allow", "allow_once"), AskOption("no-1", "Deny", "reject_once"))
ASKING: Script = [
    Emit(TextDelta("I will run the **tests**.")),
    Emit(ToolStarted("t1", "Bash", title="pytest", kind="execute")),
    Emit(
        PermissionRequest(
            "a1", "pytest", kind="execute", tool="t1", input={"command": "pytest -q"}, options=OPTIONS
        )
    ),
    WaitAnswer("a1"),
    Emit(ToolEnded("t1")),
    Emit(TextDelta("All tests pass.")),
    Emit(Result()),
]


class House:
    """A twin, its people, and a beambot that can be started several times in the same folder."""

    def __init__(self, twin: Twin, folder: Path) -> None:
        self.twin = twin
        self.folder = folder
        self.owner = twin.person("Ana", 1)
        self.approver = twin.person("Bo", 2)
        self.stranger = twin.person("Eve", 9)

    @asynccontextmanager
    async def beambot(self, script: Script | Sequence[Script], **settings: Any) -> AsyncIterator[World]:
        twin, clock = self.twin, SystemClock()
        mine = Settings(token=twin.token, base_url=twin.base_url, base_file_url=twin.base_file_url, **settings)
        context = PluginContext(home=self.folder / "telegram", clock=clock, ids=RandomIds())
        platform = create(mine, context)
        try:
            async with World(self.folder, script, clock=clock, platforms=[platform]) as world:
                yield world
        finally:
            await platform.close()


@asynccontextmanager
async def house(folder: Path, **settings: Any) -> AsyncIterator[House]:
    async with Twin(settings=TwinSettings(**settings)) as twin:
        yield House(twin, folder)


def reaction(house: House, person: Person) -> str:
    first = next(iter(person.chat.messages.values()))
    return "".join(first.reactions.get(house.twin.bot.id, ()))


@pytest.mark.parametrize("stream", ["edit", "draft"])
async def test_prompt_streams_asks_and_ends(tmp_path: Path, stream: str) -> None:
    async with house(tmp_path) as h, h.beambot(ASKING, stream=stream):
        chat = h.owner.chat
        await h.owner.says(None, "run the tests")
        card = await chat.sees("pytest -q", seconds=10)
        press = await h.owner.presses(card, "Allow")
        assert press.answered
        await chat.sees("All tests pass.", seconds=10)
        await h.twin.until(lambda: "Allowed by user1" in chat.screen(), seconds=10)
        await h.twin.until(lambda: reaction(h, h.owner) == "👍", seconds=10)
        assert h.twin.refusals == 0


async def test_two_chains_in_a_group_are_two_sessions_and_a_restart_forgets_neither(tmp_path: Path) -> None:
    script: Script = [Emit(TextDelta("the answer")), Emit(Result())]
    async with house(tmp_path) as h:
        group = h.twin.group("Work", h.owner, h.stranger)

        def answers() -> list[Any]:
            return [one for one in group.standing if "the answer" in one.text]

        async with h.beambot(script) as world:
            one = await h.owner.says(group, "@beam_twin_bot one")
            await h.twin.until(lambda: len(answers()) == 1, seconds=10)
            await h.owner.says(group, "lunch, anybody?")
            two = await h.owner.says(group, "@beam_twin_bot two")
            await h.twin.until(lambda: len(answers()) == 2, seconds=10)
            assert [answer.reply_to for answer in answers()] == [one, two]
            assert len(world.agent.sessions) == 2
        async with h.beambot(script) as world:
            more = await h.owner.replies(answers()[0], "go on")
            await h.twin.until(lambda: len(answers()) == 3, seconds=10)
            assert answers()[2].reply_to is more
            assert world.agent.last.resumed
            assert [prompt.text for prompt in world.agent.last.prompts] == ["go on"]
        assert h.twin.refusals == 0


async def test_stranger_cannot_press_and_is_told_nothing_in_a_group(tmp_path: Path) -> None:
    async with house(tmp_path) as h, h.beambot(ASKING) as world:
        group = h.twin.group("Work", h.owner, h.stranger)
        await h.owner.says(group, "@beam_twin_bot run the tests")
        card = await group.sees("pytest -q", seconds=10)
        await h.stranger.presses(card, "Allow", seconds=0.3)
        await h.stranger.says(group, "@beam_twin_bot hello")
        assert world.agent.last.answers == []
        assert "do not know you" not in group.screen()
        await h.approver.says(None, "/whoami")
        await h.approver.chat.sees("approver", seconds=10)


async def test_native_stop_button_stops_the_agent(tmp_path: Path) -> None:
    script: Script = [Emit(TextDelta("Working on it.")), Hang()]
    async with house(tmp_path) as h, h.beambot(script, stream="draft") as world:
        await h.owner.says(None, "work")
        await h.twin.until(lambda: h.twin.drafts(h.owner.chat), seconds=10)
        await h.owner.stops_generation()
        await h.twin.until(lambda: "interrupt" in world.agent.last.calls, seconds=10)
        await h.owner.chat.sees("Working on it.", seconds=10)


async def test_outage_in_mid_stream_loses_nothing(tmp_path: Path) -> None:
    words = [f"word{number} " for number in range(40)]
    away = anyio.Event()
    spoken = [Emit(TextDelta(word)) for word in words]
    script: Script = [*spoken[:20], WaitFor(away), *spoken[20:], Emit(Result())]
    async with house(tmp_path) as h, h.beambot(script) as world:
        await h.owner.says(None, "talk")
        await h.owner.chat.sees("word0", seconds=10)
        async with h.twin.away():
            away.set()
            await h.twin.until(lambda: world.rooms.house.delivery.lanes[0]._failures > 1, seconds=10)
        message = await h.owner.chat.sees("word39", seconds=20)
        assert "".join(words).strip() in message.text
        said = [one for one in h.owner.chat.standing if "word0" in one.text]
        assert len(said) == 1
