"""Agents that misbehave, through the whole flow: one clear message in the chat, and the session lives on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from adapters.acp.adapter import AcpAdapter
from adapters.acp.handshake import AcpConfig
from beambot.api import PluginContext
from beambot.clock import RandomIds, SystemClock
from beambot.model.settings import Limits
from beambot.testing.world import World

SECONDS = 20.0

# A small agent: BODY may replace `prompt`, which is what it does with a prompt.
AGENT = """
import json, os, sys, time
out = sys.stdout.buffer
def say(**message):
    out.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\\n"); out.flush()
def text(words):
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": words}}
    say(method="session/update", params={"sessionId": "s", "update": update})
def prompt(words):
    text("fine: " + words)
#BODY
for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "initialize":
            say(id=message["id"], result={"protocolVersion": 1})
        case "session/new":
            say(id=message["id"], result={"sessionId": "s"})
        case "session/prompt":
            prompt(message["params"]["prompt"][0]["text"])
            say(id=message["id"], result={"stopReason": "end_turn"})
"""


class Workshop:
    """A world whose agent is a Python script that can be replaced while beambot runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.script = folder / "agent.py"

    def becomes(self, body: str) -> None:
        """What the next start of the agent runs."""
        self.script.write_text(AGENT.replace("#BODY", body))

    def world(self, *, start_timeout: float = SECONDS, command: str = sys.executable, **limits: Any) -> World:
        clock = SystemClock()
        config = AcpConfig(command=command, args=(str(self.script),), start_timeout=start_timeout)
        context = PluginContext(home=self.folder, clock=clock, ids=RandomIds())
        adapter = AcpAdapter("worker", config, context)
        return World(self.folder, clock=clock, adapter=adapter, limits=Limits(**limits))


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


async def sees(world: World, text: str) -> None:
    await world.sees(text, seconds=SECONDS)


def count(world: World, text: str) -> int:
    return sum(text in message for message in world.chat.screen())


async def test_an_agent_that_hangs_at_its_start_is_given_up_and_tried_again_on_request(workshop: Workshop) -> None:
    workshop.becomes("time.sleep(600)")
    async with workshop.world(start_timeout=1.0) as world:
        message = await world.chat.says("hello")
        await sees(world, "The agent did not start")
        await sees(world, "did not answer within 1 s")
        await world.until(lambda: world.chat.receipts[message][-1] == "failed", seconds=SECONDS)
        assert count(world, "did not start") == 1
        workshop.becomes("")
        await world.chat.presses("Try again")
        await sees(world, "fine: hello")


async def test_an_agent_that_hangs_at_its_start_can_be_stopped(workshop: Workshop) -> None:
    workshop.becomes("open('started', 'w').close(); time.sleep(600)")
    async with workshop.world() as world:
        await world.chat.says("hello")
        await world.until((workshop.folder / "project" / "started").exists, seconds=SECONDS)
        await world.chat.says("/stop")
        await sees(world, "Stopped before it began.")
        workshop.becomes("")
        await world.chat.says("once more")
        await sees(world, "fine: once more")


async def test_an_agent_that_hangs_in_a_prompt_is_ended_by_stop(workshop: Workshop) -> None:
    workshop.becomes("def prompt(words):\n    text('one moment'); time.sleep(600)")
    async with workshop.world(stop_grace_seconds=0.5) as world:
        await world.chat.says("hello")
        await sees(world, "one moment")
        await world.chat.says("/stop")
        await sees(world, "Stopped. The agent did not react, so it was ended.")
        await world.quiet()
        assert count(world, "ended unexpectedly") == 0
        workshop.becomes("")
        await world.chat.says("again")
        await sees(world, "fine: again")


async def test_garbage_between_valid_lines_does_not_reach_the_chat(workshop: Workshop) -> None:
    workshop.becomes(
        "def prompt(words):\n"
        "    text('before ')\n"
        "    for junk in (b'Loading model...', b'{\"half\": ', b'[1, 2', b'null', b'\\x00\\x01\\x02', b''):\n"
        "        out.write(junk + b'\\n'); out.flush()\n"
        "    text('after')"
    )
    async with workshop.world() as world:
        message = await world.chat.says("hello")
        await sees(world, "before after")
        await world.until(lambda: world.chat.receipts[message][-1] == "done", seconds=SECONDS)
        assert not world.chat.shows("Loading model")
        await world.chat.says("again")
        await world.until(lambda: count(world, "before after") == 2, seconds=SECONDS)


async def test_a_line_of_64_mebibytes_is_left_out_and_said_once(workshop: Workshop) -> None:
    workshop.becomes(
        "def prompt(words):\n"
        "    for _ in range(64):\n"
        "        out.write(b'x' * 1048576)\n"
        "    out.write(b'\\n'); out.flush()\n"
        "    text('after the long line')"
    )
    async with workshop.world() as world:
        message = await world.chat.says("hello")
        await sees(world, "after the long line")
        await world.until(lambda: world.chat.receipts[message][-1] == "done", seconds=SECONDS)
        assert count(world, "a line longer than 16 MiB; it was skipped") == 1
        assert not world.chat.shows("xxxxx")


async def test_invalid_utf8_is_mended_and_the_rest_of_the_line_stands(workshop: Workshop) -> None:
    workshop.becomes(
        "def prompt(words):\n"
        "    content = {'type': 'text', 'text': 'caf@ au lait'}\n"
        "    update = {'sessionUpdate': 'agent_message_chunk', 'content': content}\n"
        "    line = json.dumps({'jsonrpc': '2.0', 'method': 'session/update',\n"
        "                       'params': {'sessionId': 's', 'update': update}})\n"
        "    out.write(line.encode().replace(b'@', b'\\xe9') + b'\\n'); out.flush()"
    )
    async with workshop.world() as world:
        message = await world.chat.says("hello")
        await sees(world, "caf\N{REPLACEMENT CHARACTER} au lait")
        await world.until(lambda: world.chat.receipts[message][-1] == "done", seconds=SECONDS)


async def test_an_agent_that_ends_at_once_is_quoted_with_its_last_words(workshop: Workshop) -> None:
    workshop.becomes("sys.stderr.write('no licence was found\\n'); sys.exit(3)")
    async with workshop.world() as world:
        await world.chat.says("hello")
        await sees(world, "no licence was found")
        assert count(world, "The agent did not start") == 1
        assert world.chat.shows("exit code 3")
        workshop.becomes("")
        await world.chat.presses("Try again")
        await sees(world, "fine: hello")


async def test_an_agent_that_ends_in_a_prompt_is_reported_once_and_the_next_prompt_is_heard(
    workshop: Workshop,
) -> None:
    workshop.becomes("def prompt(words):\n    text('oh'); sys.stderr.write('out of memory'); sys.exit(9)")
    async with workshop.world() as world:
        message = await world.chat.says("hello")
        await sees(world, "The agent ended unexpectedly")
        await world.until(lambda: world.chat.receipts[message][-1] == "failed", seconds=SECONDS)
        await world.quiet()
        assert count(world, "The agent ended unexpectedly") == 1
        assert world.chat.shows("out of memory")
        workshop.becomes("")
        await world.chat.says("again")
        await sees(world, "fine: again")


async def test_an_agent_that_dies_again_and_again_is_not_started_in_a_loop(workshop: Workshop) -> None:
    workshop.becomes("with open('starts', 'a') as file: file.write('x')\ndef prompt(words):\n    sys.exit(9)")
    async with workshop.world(restarts=1) as world:
        for number in range(2):
            await world.chat.says(f"try {number}")
            await world.until(lambda n=number: count(world, "ended unexpectedly") == n + 1, seconds=SECONDS)
        starts = (workshop.folder / "project" / "starts").read_text()
        await world.chat.says("try 2")
        await sees(world, "it ended unexpectedly 2 times")
        assert (workshop.folder / "project" / "starts").read_text() == starts


async def test_a_missing_program_says_what_to_install(workshop: Workshop) -> None:
    async with workshop.world(command="no-such-agent") as world:
        await world.chat.says("hello")
        await sees(world, "The agent did not start")
        assert count(world, "no-such-agent") == 1
        assert world.chat.shows("install")
        await world.chat.says("/status")
        await world.until(lambda: len(world.chat.screen()) > 1, seconds=SECONDS)
