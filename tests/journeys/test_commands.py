"""The commands people have, the same on every platform."""

from __future__ import annotations

from pathlib import Path

import pytest

from beambot.errors import AgentError
from beambot.model.bodies import AgentCommand, Choice, CommandsChanged, ModelChanged, Result, TextDelta
from beambot.model.inbound import CommandIn
from beambot.model.settings import Project
from beambot.testing.scripted import Emit
from beambot.testing.world import World

HELLO = [Emit(TextDelta("hello")), Emit(Result())]


def two_projects(folder: Path) -> list[Project]:
    projects = []
    for name in ("shop", "site"):
        (folder / name).mkdir()
        projects.append(Project(name=name, path=folder / name, adapter="scripted"))
    return projects


async def test_a_prompt_in_a_thread_without_session_is_kept_until_a_project_is_chosen(tmp_path: Path) -> None:
    async with World(tmp_path, HELLO, projects=two_projects(tmp_path)) as world:
        await world.chat.says("fix the footer")
        await world.sees("In which project?")
        assert world.agent.sessions == []
        await world.chat.presses("site")
        await world.sees("New session")
        await world.sees("hello")
        assert world.agent.last.options.folder == tmp_path / "site"
        assert [prompt.text for prompt in world.agent.last.prompts] == ["fix the footer"]


async def test_a_held_prompt_survives_a_restart(tmp_path: Path) -> None:
    projects = two_projects(tmp_path)
    async with World(tmp_path, HELLO, projects=projects) as first:
        await first.chat.says("fix the footer")
        await first.sees("In which project?")
        await first.crash()
    async with World(tmp_path, HELLO, projects=projects, clock=first.clock, platforms=[first.chat]) as second:
        await second.until(lambda: second.chat.labels().count("shop") == 2)
        await second.chat.presses("shop")
        await second.sees("hello")
        assert [prompt.text for prompt in second.agent.last.prompts] == ["fix the footer"]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("/new nowhere", "There is no project or adapter 'nowhere' for you."),
        ("/new", "Which project?"),
        ("/statsu", "Did you mean one of these?"),
        ("/qqqqqqqq", "/help lists them."),
        ("/status", "There is no session in this thread yet."),
        ("/whoami", "You are user1, owner: you may do everything."),
        ("/projects", "site"),
        ("/sessions", "There are no sessions yet."),
        ("/help", "stop what is running"),
        ("/title", "There is no session"),
        ("/drop nothing", "There is no such prompt."),
        ("/resume zzz", "There is no session 'zzz' for you."),
    ],
)
async def test_a_command_answers_with_what_can_be_done(tmp_path: Path, text: str, seen: str) -> None:
    async with World(tmp_path, HELLO, projects=two_projects(tmp_path)) as world:
        await world.chat.says(text)
        await world.sees(seen)


async def test_new_takes_project_and_adapter_and_leaves_the_old_session_resumable(tmp_path: Path) -> None:
    async with World(tmp_path, HELLO, projects=two_projects(tmp_path)) as world:
        await world.chat.says("/new shop scripted")
        await world.sees("in shop with scripted")
        await world.chat.says("first words")
        await world.sees("hello")
        await world.chat.says("/new site")
        await world.sees("in site with scripted")
        await world.chat.says("/sessions")
        await world.sees("first words")
        await world.chat.presses("Open first words")
        await world.sees("goes on here: first words")
        await world.chat.says("more")
        await world.until(lambda: any(len(session.prompts) == 2 for session in world.agent.sessions))
        session = next(session for session in world.agent.sessions if len(session.prompts) == 2)
        assert session.options.folder == tmp_path / "shop"


async def test_a_native_command_and_a_typed_one_are_the_same(tmp_path: Path) -> None:
    async with World(tmp_path, HELLO) as world:
        await world.chat.receive(CommandIn("u1", "whoami"), "1", None, "n1")
        await world.sees("You are user1")
        await world.chat.says("/whoami@my_bot")
        await world.until(lambda: sum("You are user1" in text for text in world.chat.screen()) == 2)


async def test_the_agents_own_commands_are_passed_through_with_two_slashes(tmp_path: Path) -> None:
    script = [Emit(CommandsChanged((AgentCommand("compact", "fold the history"),))), *HELLO]
    async with World(tmp_path, script) as world:
        await world.chat.says("hi")
        await world.sees("hello")
        await world.chat.says("/compact")
        await world.sees("write //compact to send it there")
        await world.chat.says("//compact now")
        await world.until(lambda: world.agent.last.prompts[-1].text == "/compact now")
        await world.chat.says("/help")
        await world.sees("//compact")


async def test_model_and_mode_are_chosen_from_what_the_agent_offers(tmp_path: Path) -> None:
    models = (Choice("small", "Small one"), Choice("large", "Large one"))
    async with World(tmp_path, [Emit(ModelChanged("small", models)), *HELLO]) as world:
        await world.chat.says("hi")
        await world.sees("hello")
        await world.chat.says("/model")
        await world.sees("The model is small.")
        await world.chat.presses("Large one")
        await world.sees("The model is large.")
        assert "model large" in world.agent.last.calls
        await world.chat.says("/mode careful")
        await world.sees("The mode is careful.")
        assert "mode careful" in world.agent.last.calls
        await world.chat.says("/mode reckless", who="3")
        await world.sees("/mode takes the role approver")


async def test_title_status_and_close(tmp_path: Path) -> None:
    async with World(tmp_path, HELLO) as world:
        await world.chat.says("hi")
        await world.sees("hello")
        await world.chat.says("/title The big one")
        await world.sees("now called The big one")
        await world.quiet()
        assert world.chat.titles[world.chat.thread().key] == "The big one"
        await world.chat.says("/status")
        await world.sees("State: idle")
        await world.chat.says("/close")
        await world.sees("Closed.")
        await world.until(lambda: world.agent.last.closed)
        await world.chat.says("still there?")
        await world.until(lambda: len(world.agent.sessions) == 2)
        assert world.agent.last.resumed


async def test_an_agent_that_does_not_start_says_why_and_can_be_tried_again(tmp_path: Path) -> None:
    async with World(tmp_path, HELLO) as world:
        world.agent.open_error = AgentError("it is not logged in", fix="Run its login once.")
        message = await world.chat.says("hi")
        await world.sees("The agent did not start: it is not logged in\nWhat helps: Run its login once.")
        await world.until(lambda: world.chat.receipts[message][-1] == "failed")
        world.agent.open_error = None
        await world.chat.presses("Try again")
        await world.sees("hello")
