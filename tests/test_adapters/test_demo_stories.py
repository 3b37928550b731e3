"""The demo agent as a real process, driven as a person would through the ACP adapter."""

from __future__ import annotations

import os
import signal
from typing import Any

import anyio
import pytest

from beambot.api import Answer, Prompt, SessionGone, bodies


def of(listener: Any, kind: type) -> list[Any]:
    return [message.body for message in listener.messages if isinstance(message.body, kind)]


async def test_a_plain_prompt_is_answered_with_the_words_it_knows(world):
    session, hears = await world.open(world.demo())
    await session.send(Prompt("t", "hello there"))
    result = await hears.until_body(bodies.Result)
    assert result.turn == "t"
    assert result.body.outcome == "success"
    assert result.body.usage.output_tokens > 0
    assert "`write FILE`" in hears.text("t")
    assert "".join(d.text for d in of(hears, bodies.TextDelta)) == hears.text("t")


async def test_the_session_tells_what_can_be_chosen_and_which_commands_there_are(world):
    session, hears = await world.open(world.demo())
    init = (await hears.until_body(bodies.SessionInit)).body
    assert (init.agent, init.mode, init.model, init.resumed) == ("Demo agent", "default", "demo-small", False)
    assert [mode.id for mode in init.modes] == ["default", "auto"]
    assert [model.id for model in await session.models()] == ["demo-small", "demo-large"]
    await hears.until(lambda message: bool(getattr(message.body, "commands", ())))
    assert [command.name for command in session.commands()] == ["compact", "clear", "echo"]


async def test_a_file_is_written_after_permission_and_its_change_is_shown(world):
    session, hears = await world.open(world.demo())
    await session.send(Prompt("t", "write notes.txt"))
    asked = (await hears.until_body(bodies.PermissionRequest)).body
    assert asked.kind == "edit"
    assert asked.diffs[0].old is None
    assert "Written by the demo agent" in (asked.diffs[0].new or "")
    assert [option.kind for option in asked.options] == ["allow_once", "allow_always", "reject_once"]
    assert not (world.folder / "notes.txt").exists()
    assert await session.answer(Answer(ask=asked.ask, verdict="allow", by="ann"))
    result = (await hears.until_body(bodies.Result)).body
    assert (world.folder / "notes.txt").read_text().startswith("Written by the demo agent")
    assert (result.lines_added, result.lines_removed) == (1, 0)
    assert [diff.path for diff in of(hears, bodies.Diff)] == [str(world.folder / "notes.txt")]
    assert of(hears, bodies.ToolEnded)[0].outcome == "done"
    assert of(hears, bodies.AskResolved)[0].by == "ann"


async def test_a_denied_write_leaves_no_file_and_the_tool_ends_as_denied(world):
    session, hears = await world.open(world.demo())
    await session.send(Prompt("t", "write notes.txt"))
    asked = (await hears.until_body(bodies.PermissionRequest)).body
    assert await session.answer(Answer(ask=asked.ask, verdict="deny"))
    await hears.until_body(bodies.Result)
    assert not (world.folder / "notes.txt").exists()
    assert of(hears, bodies.ToolEnded)[0].outcome == "denied"
    assert of(hears, bodies.AskResolved)[0].outcome == "denied"


async def test_an_option_of_the_agents_own_is_chosen_by_its_id(world):
    session, hears = await world.open(world.demo())
    await session.send(Prompt("t", "write a.txt write b.txt"))
    asked = (await hears.until_body(bodies.PermissionRequest)).body
    await session.answer(Answer(ask=asked.ask, verdict="allow", option="session"))
    await hears.until_body(bodies.Result)
    assert (world.folder / "b.txt").exists()
    assert len(of(hears, bodies.PermissionRequest)) == 1
    assert of(hears, bodies.ModeChanged)[0].mode == "auto"


async def test_a_command_runs_after_permission_and_its_output_is_shown(world):
    session, hears = await world.open(world.demo())
    await session.send(Prompt("t", "run echo one; echo two >&2; pwd then words 1"))
    asked = (await hears.until_body(bodies.PermissionRequest)).body
    assert asked.input["command"] == "echo one; echo two >&2; pwd"
    await session.answer(Answer(ask=asked.ask, verdict="allow"))
    await hears.until_body(bodies.Result)
    expected = f"one\ntwo\n{world.folder}\n"
    assert of(hears, bodies.ToolEnded)[0].text == expected
    assert "".join(output.text for output in of(hears, bodies.ToolOutput)) == expected
    assert "amber1" in hears.text("t")


async def test_stopping_a_running_command_ends_it_and_its_children(world):
    session, hears = await world.open(world.demo())
    await session.send(Prompt("t", "run sleep 300 & echo $!; wait"))
    asked = (await hears.until_body(bodies.PermissionRequest)).body
    await session.answer(Answer(ask=asked.ask, verdict="allow"))
    pid = int((await hears.until_body(bodies.ToolOutput)).body.text)
    await session.interrupt()
    result = (await hears.until_body(bodies.Result)).body
    assert result.outcome == "interrupted"
    assert of(hears, bodies.ToolEnded)[0].outcome == "cancelled"
    await world.gone(pid)


async def test_closing_the_session_ends_its_terminals_too(world):
    session, hears = await world.open(world.demo())
    await session.send(Prompt("t", "run sleep 300 & echo $!; wait"))
    asked = (await hears.until_body(bodies.PermissionRequest)).body
    await session.answer(Answer(ask=asked.ask, verdict="allow"))
    pid = int((await hears.until_body(bodies.ToolOutput)).body.text)
    await session.close()
    await world.gone(pid)


@pytest.mark.parametrize(("verdict", "words"), [("allow", "I am logged in"), ("deny", "without an account")])
async def test_a_page_to_log_in_on_is_an_ask_and_the_agent_hears_how_it_ended(world, verdict, words):
    session, hears = await world.open(world.demo())
    await session.send(Prompt("t", "login"))
    asked = (await hears.until_body(bodies.LoginRequest)).body
    assert asked.url.startswith("https://example.org/device")
    assert await session.answer(Answer(ask=asked.ask, verdict=verdict, by="ann"))
    await hears.until_body(bodies.Result)
    assert words in hears.text("t")


async def test_a_question_is_asked_as_a_question_and_its_answer_reaches_the_agent(world):
    session, hears = await world.open(world.demo())
    await session.send(Prompt("t", "ask"))
    asked = (await hears.until_body(bodies.Question)).body
    assert [option.label for option in asked.questions[0].options] == ["Red", "Green", "Blue"]
    item = asked.questions[0].id
    assert await session.answer(Answer(ask=asked.ask, verdict="answer", fields={item: ("Green",)}))
    await hears.until_body(bodies.Result)
    assert "**Green**" in hears.text("t")
    assert of(hears, bodies.AskResolved)[0].outcome == "answered"


async def test_a_plan_is_reviewed_then_worked_through(world):
    session, hears = await world.open(world.demo())
    await session.send(Prompt("t", "plan fast"))
    asked = (await hears.until_body(bodies.PlanReview)).body
    assert "1. Read the code" in asked.plan
    await session.answer(Answer(ask=asked.ask, verdict="allow"))
    await hears.until_body(bodies.Result)
    statuses = [entry.status for entry in of(hears, bodies.Plan)[-1].entries]
    assert statuses == ["completed"] * 3


async def test_helpers_nest_under_the_tool_that_called_them(world):
    session, hears = await world.open(world.demo())
    await session.send(Prompt("t", "team fast"))
    await hears.until_body(bodies.Result)
    lead, *helpers = [m for m in hears.messages if isinstance(m.body, bodies.ToolStarted)]
    assert [helper.parent for helper in helpers] == [lead.body.tool] * 3


async def test_interrupt_while_streaming_ends_the_turn_at_once(world):
    session, hears = await world.open(world.demo())
    await session.send(Prompt("t", "words 5000"))
    await hears.until_body(bodies.TextDelta)
    with anyio.fail_after(1):
        await session.interrupt()
        result = (await hears.until_body(bodies.Result)).body
    assert result.outcome == "interrupted"
    assert hears.text("t").startswith("amber1 ")


async def test_a_failing_turn_says_why_and_the_session_goes_on(world):
    session, hears = await world.open(world.demo())
    await session.send(Prompt("a", "words 2 fail"))
    result = (await hears.until_body(bodies.Result, "a")).body
    assert (result.outcome, result.error) == ("error", "the demo agent was told to fail")
    await session.send(Prompt("b", "words 1"))
    assert (await hears.until_body(bodies.Result, "b")).body.outcome == "success"


async def test_a_crash_is_told_with_what_the_agent_last_printed(world):
    session, hears = await world.open(world.demo())
    await session.send(Prompt("t", "words 2 slow 0.001 crash"))
    messages = await hears.until_end()
    result, closed = (message.body for message in messages[-2:])
    failure = of(hears, bodies.Failure)[0]
    assert not failure.recoverable
    assert "told to crash" in failure.text
    assert result.outcome == "error"
    assert (closed.code, closed.expected) == (1, False)
    with pytest.raises(Exception, match="ended"):
        await session.send(Prompt("u", "hello"))


async def test_a_killed_agent_ends_its_open_ask_and_can_be_resumed(world):
    session, hears = await world.open(world.demo())
    await session.send(Prompt("t", "words 3 write notes.txt"))
    asked = (await hears.until_body(bodies.PermissionRequest)).body
    agent = hears.messages[0].body.agent_session
    os.kill(session._child.pid, signal.SIGKILL)
    await hears.until_end()
    assert of(hears, bodies.AskCancelled)[0].ask == asked.ask
    assert not await session.answer(Answer(ask=asked.ask, verdict="allow"))
    again, hears = await world.open(world.demo(), resume=agent)
    assert (await hears.until_body(bodies.SessionInit)).body.resumed
    await again.send(Prompt("u", "hello"))
    await hears.until_body(bodies.Result)
    assert "prompt number 2" in hears.text("u")
    assert not of(hears, bodies.UserMessage)


async def test_an_unknown_session_is_said_to_be_gone(world):
    with pytest.raises(SessionGone, match="nothere"):
        await world.open(world.demo(), resume="nothere00000")


async def test_sessions_are_listed_forked_and_found_by_folder(world):
    session, hears = await world.open(world.demo())
    await session.send(Prompt("t", "words 1"))
    await hears.until_body(bodies.Result)
    listed = await world.demo().list_resumable(world.folder)
    assert [(one.title, one.folder) for one in listed] == [("words 1", str(world.folder))]
    assert listed[0].at > 1_000_000_000
    forked = await session.fork()
    assert forked not in ("", listed[0].agent_session)
    _, hears = await world.open(world.demo(), resume=listed[0].agent_session, fork=True)
    init = (await hears.until_body(bodies.SessionInit)).body
    assert init.agent_session != listed[0].agent_session
    assert not init.resumed


async def test_mode_and_model_can_be_chosen_at_the_start_and_later(world):
    session, hears = await world.open(world.demo(), mode="auto", model="demo-large")
    init = (await hears.until_body(bodies.SessionInit)).body
    assert (init.mode, init.model) == ("auto", "demo-large")
    await session.set_model("demo-small")
    await session.set_mode("default")
    assert [changed.model for changed in of(hears, bodies.ModelChanged)] == ["demo-small"]
    assert [changed.mode for changed in of(hears, bodies.ModeChanged)] == ["default"]


async def test_a_mode_that_does_not_exist_is_reported_and_the_session_stands(world):
    _, hears = await world.open(world.demo(), mode="reckless")
    failure = (await hears.until_body(bodies.Failure)).body
    assert failure.recoverable
    assert "'reckless' is not one of default, auto" in failure.text


async def test_steering_is_used_only_where_it_is_offered(world):
    plain, _ = await world.open(world.demo())
    await plain.send(Prompt("t", "slow 1"))
    assert not await plain.steer(Prompt("u", "hurry"))
    session, hears = await world.open(world.demo("--steer"))
    assert not await session.steer(Prompt("u", "too early"))
    await session.send(Prompt("t", "slow 0.3"))
    await hears.until_body(bodies.ToolStarted)
    assert await session.steer(Prompt("u", "hurry"))
    await hears.until_body(bodies.Result)
    assert "I heard you: hurry" in hears.text("t")


async def test_slash_commands_of_the_agent_pass(world):
    session, hears = await world.open(world.demo())
    await session.send(Prompt("t", "/echo good morning"))
    await hears.until_body(bodies.Result)
    assert hears.text("t") == "good morning"


async def test_probe_tells_the_version_and_a_missing_program(world):
    found = await world.demo().probe()
    assert (found.installed, found.version, found.detail) == (True, "1.0", "Demo agent")
    missing = await world.adapter("no-such-agent-anywhere").probe()
    assert not missing.installed
    assert "install" in missing.fix


def test_the_words_are_explained(capsys):
    from adapters.demo import spec

    assert spec.command is not None
    assert spec.command(["--list"], None) == 0  # type: ignore[arg-type]
    assert "slow SECONDS" in capsys.readouterr().out
