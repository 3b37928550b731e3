"""A whole beambot with the real Claude Code behind it: what a person sees in the chat."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from beambot.clock import SystemClock
from beambot.testing.platform import FakePlatform
from beambot.testing.world import World
from tests.agents.conftest import Stage
from tests.model_server.script import script


def world(stage: Stage, chat: FakePlatform | None = None) -> World:
    clock = SystemClock()
    return World(
        stage.home / "world", clock=clock, adapter=stage.adapter(), platforms=[chat or FakePlatform(clock)]
    )


def project(stage: Stage) -> Path:
    return stage.home / "world" / "project"


def bash(command: str) -> dict[str, object]:
    return {"tools": [{"do": "bash", "command": command}]}


async def test_a_prompt_a_card_a_press_and_the_answer(stage: Stage) -> None:
    async with world(stage) as here:
        await here.chat.says(script({"say": "I will touch it.", **bash("touch made")}, "It is made."))
        await here.sees("touch made", seconds=20)
        await here.until(lambda: "Allow once" in here.chat.labels(), seconds=20)
        await here.chat.presses("Allow once")
        await here.sees("It is made.", seconds=20)
        await here.quiet()
        assert (project(stage) / "made").exists()
        assert "Allow once" not in here.chat.labels()


async def test_a_stop_in_mid_stream_and_a_second_prompt(stage: Stage) -> None:
    async with world(stage) as here:
        await here.chat.says(script({"words": 3000, "pause": 0.02}))
        await here.sees("amber1", seconds=20)
        await here.chat.says("/stop")
        await here.sees("Stopped", seconds=20)
        await here.chat.says(script("Ready again."))
        await here.sees("Ready again.", seconds=20)


async def test_what_is_said_into_a_running_turn_reaches_it(stage: Stage) -> None:
    async with world(stage) as here:
        wait = "touch on; while [ ! -e go ]; do sleep 0.05; done"
        await here.chat.says(script(bash(wait), "The end."))
        await here.until(lambda: "Allow once" in here.chat.labels(), seconds=20)
        await here.chat.presses("Allow once")
        await here.until(lambda: (project(stage) / "on").exists(), seconds=20)
        message = await here.chat.says("use blue, not red")
        await here.until(lambda: here.chat.receipts.get(message, [])[-1:] == ["working"], seconds=20)
        (project(stage) / "go").touch()
        await here.sees("The end.", seconds=20)
        assert "use blue, not red" in stage.model.requests[-1].text


async def test_a_killed_agent_and_a_restarted_beambot_both_remember(stage: Stage) -> None:
    async with world(stage) as here:
        await here.chat.says(script("The word is walrus."))
        await here.sees("walrus", seconds=20)
        await here.quiet()
        live = next(iter(here.rooms.sessions._live.values()))  # type: ignore[attr-defined]
        os.killpg(live.agent.backend._pipe.pid, signal.SIGKILL)
        await here.sees("ended unexpectedly", seconds=20)
        await here.chat.says(script("Back again."))
        await here.sees("Back again.", seconds=20)
        assert "walrus" in stage.model.requests[-1].text
        await here.quiet()
        chat = here.chat
    async with world(stage, chat) as again:
        await again.chat.says(script("And after a restart."))
        await again.sees("And after a restart.", seconds=20)
        assert "walrus" in stage.model.requests[-1].text
        assert not again.chat.shows("without its memory")
