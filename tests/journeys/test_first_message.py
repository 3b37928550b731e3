"""Prompt → stream → permission → result, and what a person sees on the way."""

from __future__ import annotations

import io
import json
import logging
from pathlib import Path

import structlog

from beambot import log
from beambot.model.bodies import (
    AskOption,
    PermissionRequest,
    Result,
    TextDelta,
    ToolEnded,
    ToolStarted,
)
from beambot.testing.scripted import Emit, WaitAnswer
from beambot.testing.world import World

OPTIONS = (AskOption("yes-1", "Allow", "allow_once"), AskOption("no-1", "Deny", "reject_once"))
ASKING = [
    Emit(TextDelta("I will run the tests.")),
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


async def test_a_prompt_streams_asks_and_ends(tmp_path: Path) -> None:
    async with World(tmp_path, ASKING) as world:
        message = await world.chat.says("run the tests")
        await world.sees("pytest -q")
        assert world.chat.shows("I will run the tests.")
        assert {"Allow", "Deny"} <= set(world.chat.labels())

        await world.chat.presses("Allow", who="2")
        await world.sees("All tests pass.")
        await world.sees("Allowed by user2")
        await world.quiet()

        assert world.agent.last.answers[0].option == "yes-1"
        assert world.chat.receipts[message][-1] == "done"
        assert world.chat.labels() == ["Details"]
        assert world.chat.titles[world.chat.thread().key] == "run the tests"


async def test_a_denial_reaches_the_agent_and_closes_the_card(tmp_path: Path) -> None:
    async with World(tmp_path, ASKING) as world:
        await world.chat.says("run the tests")
        await world.sees("pytest -q")
        await world.chat.presses("Deny")
        await world.sees("Denied by user1")
        assert world.agent.last.answers[0].verdict == "deny"


async def test_one_id_follows_a_message_from_the_inbox_to_the_end_of_its_turn(tmp_path: Path) -> None:
    lines = io.StringIO()
    handlers = list(logging.getLogger().handlers)
    log.configure(stream=lines, json=True)
    try:
        async with World(tmp_path, [Emit(TextDelta("hi")), Emit(Result())]) as world:
            await world.chat.says("hello", update="u-1")
            await world.sees("hi")
            await world.quiet()
    finally:
        structlog.reset_defaults()
        logging.getLogger().handlers[:] = handlers
    said = [json.loads(line) for line in lines.getvalue().splitlines()]
    prompt = next(line for line in said if line["event"] == "prompt")
    assert prompt["inbound"] == "fake:u-1"
    followed = [line["event"] for line in said if line.get("turn") == prompt["turn"]]
    assert followed == ["prompt", "turn handed over", "turn ended"]
