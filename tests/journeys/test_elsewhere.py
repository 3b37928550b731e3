"""Sessions that live in a terminal too, corrections that come late, and what was sent while beambot was away."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio

from beambot.errors import AgentError
from beambot.model.bodies import Result, TextDelta
from beambot.model.inbound import TextIn
from beambot.model.ports import Resumable
from beambot.testing.clock import FakeClock
from beambot.testing.scripted import Emit, ScriptedAdapter, WaitFor
from beambot.testing.world import World

DONE = [Emit(TextDelta("done")), Emit(Result())]


class Terminal(ScriptedAdapter):
    """An agent that also has a terminal."""

    known: Sequence[Resumable] = ()
    broken = False

    async def list_resumable(self, folder: Path) -> Sequence[Resumable]:
        if self.broken:
            raise AgentError("its files cannot be read")
        return self.known

    def continue_command(self, agent_session: str, folder: Path) -> str:
        return f"cd {folder} && agent --resume {agent_session}"


def world_of(folder: Path) -> tuple[World, Terminal]:
    clock = FakeClock()
    agent = Terminal(DONE, clock=clock)
    return World(folder, clock=clock, adapter=agent), agent


async def test_a_session_of_the_terminal_is_offered_and_goes_on_in_the_chat(tmp_path: Path) -> None:
    world, agent = world_of(tmp_path)
    agent.known = (
        Resumable(agent_session="0b5c1e1e-older", title="older", at=1.0),
        Resumable(agent_session="7d444840-9dc0-11d1-b245-5ffdce74fad2", title="fix the login", at=50.0),
    )
    async with world:
        await world.chat.says("/resume")
        await world.sees("Begun elsewhere, newest first")
        labels = world.chat.labels()
        assert labels.index("Take up fix the login") < labels.index("Take up older")
        assert all(len(b.data.encode()) <= 64 for _, m in world.chat.messages() for row in m.buttons for b in row)
        await world.chat.presses("Take up fix the login")
        await world.sees("goes on here: fix the login")
        await world.until(lambda: bool(agent.sessions))
        assert agent.sessions[-1].resumed == "7d444840-9dc0-11d1-b245-5ffdce74fad2"
        other = world.chat.thread("c2")
        await world.chat.says("/resume", thread=other)
        await world.until(lambda: "Take up older" in world.chat.labels(other))
        assert "Take up fix the login" not in world.chat.labels(other)


async def test_a_session_that_is_gone_and_an_agent_that_fails_are_said_and_stop_nothing(tmp_path: Path) -> None:
    world, agent = world_of(tmp_path)
    agent.known = (Resumable(agent_session="abc", title="old", at=1.0),)
    async with world:
        await world.chat.says("/resume")
        await world.sees("Begun elsewhere")
        agent.known = ()
        await world.chat.presses("Take up old")
        await world.sees("There is no such session any more")
        agent.broken = True
        await world.chat.says("/resume", thread=world.chat.thread("c2"))
        await world.until(lambda: world.chat.shows("There are no sessions yet", world.chat.thread("c2")))
        await world.chat.says("/adopt nowhere abc")
        await world.sees("There is no such session. /resume lists them.")


async def test_the_line_that_goes_on_in_a_terminal_is_exact(tmp_path: Path) -> None:
    world, _ = world_of(tmp_path)
    async with world:
        await world.chat.says("go")
        await world.sees("done")
        await world.chat.says("/handoff")
        session = (await world.store.sessions.recent())[0]
        await world.sees(f"cd {tmp_path / 'project'} && agent --resume {session.agent_session}")
    async with World(tmp_path / "2", DONE) as plain:
        await plain.chat.says("go")
        await plain.sees("done")
        await plain.chat.says("/handoff")
        await plain.sees("has no way to go on with this session in a terminal")


async def test_a_correction_of_a_running_prompt_is_sent_by_one_press_and_once(tmp_path: Path) -> None:
    gate = anyio.Event()
    async with World(tmp_path, [WaitFor(gate), *DONE]) as world:
        message = await world.chat.says("delete everyhting")
        await world.until(lambda: bool(world.agent.sessions and world.agent.last.prompts))
        await world.chat.corrects(message, "delete everyhting")
        await world.chat.corrects(message, "delete nothing", who="2")
        await world.chat.corrects(message, "delete nothing")
        await world.sees("That prompt is running already")
        assert world.chat.labels().count("Send the correction") == 1
        await world.chat.presses("Send the correction")
        await world.chat.presses("Send the correction")
        gate.set()
        await world.until(lambda: len(world.agent.last.prompts) == 2)
        await world.quiet()
        assert [prompt.text for prompt in world.agent.last.prompts] == ["delete everyhting", "delete nothing"]


async def test_what_was_sent_while_beambot_was_away_is_counted_and_can_be_dropped(tmp_path: Path) -> None:
    gate = anyio.Event()
    async with World(tmp_path, [WaitFor(gate), *DONE]) as world:
        long_ago = world.clock.now() - 7200
        for number in range(3):
            await world.chat.receive_at(
                TextIn(f"x{number}", f"old {number}"), at=long_ago + number, update=f"x{number}"
            )
        await world.sees("3 messages were sent while beambot was away, the first 2 h 0 min ago")
        await world.until(lambda: bool(world.agent.sessions and world.agent.last.prompts))
        await world.chat.presses("Drop what still waits")
        await world.sees("Dropped 2 of what was queued.")
        gate.set()
        await world.sees("done")
        await world.quiet()
        assert [prompt.text for prompt in world.agent.last.prompts] == ["old 0"]


async def test_one_message_of_a_moment_ago_is_simply_answered(tmp_path: Path) -> None:
    async with World(tmp_path, DONE) as world:
        await world.chat.receive_at(TextIn("x", "hello"), at=world.clock.now() - 5, update="x")
        await world.sees("done")
        assert not world.chat.shows("while beambot was away")
