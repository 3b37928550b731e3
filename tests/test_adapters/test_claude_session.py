"""One session with Claude Code, against recordings of it: what is written to the program, and when."""

from __future__ import annotations

import base64
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from adapters.claude.session import ClaudeSession
from beambot.api import (
    AgentError,
    Answer,
    Answering,
    CommandSource,
    Configurable,
    File,
    Interruptible,
    Introspectable,
    Prompt,
    Rewindable,
    Steerable,
    Thinking,
)
from beambot.api import bodies as b
from beambot.testing.adapter_contract import Listener
from tests.test_adapters.claude_fake_world import adapter, written
from tests.test_adapters.claude_fake_world import program as fake_program
from tests.test_adapters.conftest import World

PORTS = (
    Answering,
    CommandSource,
    Configurable,
    Interruptible,
    Introspectable,
    Rewindable,
    Steerable,
    Thinking,
)


async def opened(world: World, **more: Any) -> tuple[ClaudeSession, Listener]:
    return await world.open(more.pop("adapter", None) or adapter(world.home), **more)  # type: ignore[return-value]


def controls(world: World) -> list[dict[str, Any]]:
    return [one["request"] for one in written(world.home) if one["type"] == "control_request"]


def replies(world: World) -> list[dict[str, Any]]:
    return [one["response"]["response"] for one in written(world.home) if one["type"] == "control_response"]


async def ask_of(hears: Listener, kind: type, turn: str = "one") -> Any:
    return (await hears.until_body(kind, turn)).body


async def test_a_session_offers_what_the_adapter_promises(world: World) -> None:
    session, hears = await opened(world)
    for port in PORTS:
        assert isinstance(session, port), port
    first = (await hears.until_body(b.SessionInit)).body
    assert isinstance(first, b.SessionInit)
    assert (first.agent, first.version, first.cwd) == ("Claude Code", "2.1.326", str(world.folder))
    assert [command.name for command in session.commands()] == ["compact"]
    assert [choice.id for choice in await session.models()] == ["default"]
    assert (await session.account())["apiKeySource"] == "ANTHROPIC_API_KEY"
    (server,) = await session.mcp_servers()
    assert (server.id, server.description) == ("files", "connected")
    usage = await session.context_usage()
    assert (usage.used, usage.size) == (2694, 1_000_000)


async def test_a_prompt_carries_an_id_of_its_own_and_is_sent_when_it_is_taken(world: World) -> None:
    session, hears = await opened(world)
    await session.send(Prompt("one", "play text"))
    await hears.until_body(b.Result, "one")
    await session.send(Prompt("two", "play text:2"))
    await hears.until_body(b.Result, "two")
    prompts = [one for one in written(world.home) if one["type"] == "user"]
    assert len({one["uuid"] for one in prompts}) == 2
    assert hears.text("one").startswith("amber1 ")


async def test_a_second_prompt_while_one_runs_is_refused(world: World) -> None:
    session, hears = await opened(world)
    await session.send(Prompt("one", "play interrupt"))
    await hears.until_body(b.TextDelta, "one")
    with pytest.raises(AgentError, match="still busy"):
        await session.send(Prompt("two", "play text"))
    await session.interrupt()
    await hears.until_body(b.Result, "one")


async def test_stop_drops_the_queue_too(world: World) -> None:
    session, hears = await opened(world)
    await session.interrupt()
    await session.send(Prompt("one", "play interrupt"))
    await hears.until_body(b.TextDelta, "one")
    await session.interrupt()
    result = (await hears.until_body(b.Result, "one")).body
    assert isinstance(result, b.Result)
    assert result.outcome == "interrupted"
    stops = [one for one in controls(world) if one["subtype"] == "interrupt"]
    assert stops == [{"subtype": "interrupt", "cancel_queued": True}]


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ({"verdict": "allow"}, {"behavior": "allow", "command": "echo hi > hi.txt"}),
        ({"verdict": "allow", "input": {"command": "echo ho"}}, {"behavior": "allow", "command": "echo ho"}),
        ({"verdict": "deny", "text": "not here"}, {"behavior": "deny", "message": "not here"}),
    ],
)
async def test_an_answer_reaches_the_program(world: World, answer: dict[str, Any], wanted: dict[str, Any]) -> None:
    session, hears = await opened(world)
    await session.send(Prompt("one", "play perm_bash_allow|perm_bash_deny"))
    ask = await ask_of(hears, b.PermissionRequest)
    assert await session.answer(Answer(ask=ask.ask, **answer))
    assert not await session.answer(Answer(ask=ask.ask, **answer))
    await hears.until_body(b.Result, "one")
    (reply,) = replies(world)
    flat = {**reply, **reply.get("updatedInput", {})}
    assert {key: flat[key] for key in wanted} == wanted
    assert "updatedPermissions" not in reply


async def test_only_the_chosen_rule_is_passed_on(world: World) -> None:
    session, hears = await opened(world)
    await session.send(Prompt("one", "play perm_bash_allow"))
    ask = await ask_of(hears, b.PermissionRequest)
    assert len(ask.suggestions) == 2
    assert await session.answer(Answer(ask=ask.ask, verdict="allow", rules=(ask.suggestions[0],)))
    await hears.until_body(b.Result, "one")
    (reply,) = replies(world)
    assert reply["updatedPermissions"] == [ask.suggestions[0]]


async def test_a_question_is_answered_by_its_words(world: World) -> None:
    session, hears = await opened(world)
    await session.send(Prompt("one", "play ask_user_question"))
    question = await ask_of(hears, b.Question)
    chosen = question.questions[0]
    label = chosen.options[0].label
    assert await session.answer(Answer(ask=question.ask, verdict="answer", fields={chosen.id: (label,)}))
    await hears.until_body(b.Result, "one")
    assert replies(world)[-1]["updatedInput"]["answers"] == {chosen.text: label}


async def test_modes_models_and_thinking_are_set_and_told(world: World) -> None:
    session, hears = await opened(world, mode="plan", model="opus")
    await session.set_mode("acceptEdits")
    await session.set_model("haiku")
    for effort in ("low", "medium", "high", "max"):
        await session.set_thinking(effort)
    changed = (await hears.until_body(b.ModeChanged)).body
    assert isinstance(changed, b.ModeChanged)
    assert changed.mode == "acceptEdits"
    assert [(one["subtype"], one.get("mode") or one.get("model")) for one in controls(world)[1:5]] == [
        ("set_permission_mode", "plan"),
        ("set_model", "opus"),
        ("set_permission_mode", "acceptEdits"),
        ("set_model", "haiku"),
    ]
    budgets = [one["max_thinking_tokens"] for one in controls(world) if "max_thinking_tokens" in one]
    assert budgets == [4_000, 8_000, 16_000, 32_000]
    with pytest.raises(AgentError, match="no effort"):
        await session.set_thinking("vast")


async def test_skipping_permissions_is_refused_before_the_program_hears_of_it(world: World) -> None:
    session, _ = await opened(world)
    with pytest.raises(AgentError, match="not allowed here"):
        await session.set_mode("bypassPermissions")
    assert [one["subtype"] for one in controls(world)] == ["initialize"]
    free, _ = await opened(world, adapter=adapter(world.home, allow_bypass=True))
    await free.set_mode("bypassPermissions")
    assert controls(world)[-1] == {"subtype": "set_permission_mode", "mode": "bypassPermissions"}


async def test_a_mode_that_is_not_allowed_is_told_and_the_session_begins_without_it(world: World) -> None:
    _, hears = await opened(world, mode="bypassPermissions")
    trouble = (await hears.until_body(b.Failure)).body
    assert isinstance(trouble, b.Failure)
    assert trouble.recoverable
    assert "allow_bypass" in trouble.fix


async def test_pictures_go_along_and_other_files_are_named(world: World, tmp_path: Path) -> None:
    session, hears = await opened(world)
    picture, text, huge = tmp_path / "p.png", tmp_path / "n.txt", tmp_path / "big.png"
    picture.write_bytes(b"\x89PNG")
    text.write_text("x")
    with huge.open("wb") as file:
        file.truncate(5_000_000)
    files = (
        File(picture, "p.png", "image/png"),
        File(text, "n.txt", "text/plain"),
        File(huge, "big.png", "image/png"),
        File(tmp_path / "gone.png", "gone.png", "image/png"),
    )
    await session.send(Prompt("one", "play text", files))
    await hears.until_body(b.Result, "one")
    (line,) = [one for one in written(world.home) if one["type"] == "user"]
    image, words = line["message"]["content"]
    assert base64.b64decode(image["source"]["data"]) == b"\x89PNG"
    for path in (text, huge, tmp_path / "gone.png"):
        assert str(path) in words["text"]


async def test_nothing_is_steered_where_nothing_runs(world: World) -> None:
    session, hears = await opened(world)
    assert not await session.steer(Prompt("x", "hello"))
    await session.close()
    assert not await session.steer(Prompt("x", "hello"))
    with pytest.raises(AgentError, match="has ended"):
        await session.send(Prompt("y", "hello"))
    assert not await session.answer(Answer(ask="none", verdict="allow"))
    assert isinstance((await hears.until_end())[-1].body, b.SessionClosed)


async def test_a_crash_is_told_with_what_the_program_printed(world: World) -> None:
    session, hears = await opened(world)
    await session.send(Prompt("one", "crash"))
    messages = await hears.until_end()
    (failure,) = [m.body for m in messages if isinstance(m.body, b.Failure)]
    assert "it went wrong (scripted)" in failure.text
    assert "send a message" in failure.fix
    result = next(m.body for m in messages if isinstance(m.body, b.Result))
    assert result.outcome == "error"
    closed = messages[-1].body
    assert isinstance(closed, b.SessionClosed)
    assert (closed.code, closed.expected) == (1, False)


async def test_a_session_in_which_nothing_was_said_begins_again_under_its_id(world: World) -> None:
    made = adapter(world.home)
    session, hears = await opened(world, adapter=made)
    first = (await hears.until_body(b.SessionInit)).body
    assert isinstance(first, b.SessionInit)
    await session.close()
    again, later = await opened(world, adapter=made, resume=first.agent_session)
    begun = (await later.until_body(b.SessionInit)).body
    assert isinstance(begun, b.SessionInit)
    assert (begun.agent_session, begun.resumed) == (first.agent_session, False)
    await again.send(Prompt("one", "play text"))
    await later.until_body(b.Result, "one")
    await again.close()
    _, last = await opened(world, adapter=made, resume=first.agent_session)
    begun = (await last.until_body(b.SessionInit)).body
    assert isinstance(begun, b.SessionInit)
    assert begun.resumed


async def test_a_copy_has_an_id_of_its_own(world: World) -> None:
    made = adapter(world.home)
    session, hears = await opened(world, adapter=made)
    first = (await hears.until_body(b.SessionInit)).body
    assert isinstance(first, b.SessionInit)
    await session.send(Prompt("one", "play text"))
    await hears.until_body(b.Result, "one")
    _, copy = await opened(world, adapter=made, resume=first.agent_session, fork=True)
    begun = (await copy.until_body(b.SessionInit)).body
    assert isinstance(begun, b.SessionInit)
    assert begun.agent_session != first.agent_session
    assert not begun.resumed


ODD = """
import json, sys
def say(**line): sys.stdout.write(json.dumps(line) + "\\n"); sys.stdout.flush()
first = json.loads(sys.stdin.readline())
say(type="control_response", response={"subtype": "success", "request_id": first["request_id"], "response": {}})
sys.stdout.write("x" * (17 * 1024 * 1024) + "\\n")
say(type="control_request", request_id="q1", request={"subtype": "make_coffee"})
say(type="control_request", request_id="q2", request={"subtype": "mcp_message", "server_name": "s", "message": {}})
say(type="control_request", request_id="q3", request={"subtype": "hook_callback", "callback_id": "h", "input": {}})
say(type="a_new_kind", data=1)
for _ in range(3):
    print(sys.stdin.readline().strip(), file=sys.stderr)
sys.exit(7)
"""


async def test_what_nobody_knows_is_answered_and_breaks_nothing(world: World) -> None:
    script = world.home / "odd.py"
    script.write_text(ODD)
    program = world.home / "odd"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {script}\n")
    program.chmod(0o755)
    _, hears = await opened(world, adapter=adapter(world.home, command=str(program)))
    messages = await hears.until_end()
    codes = [m.body.code for m in messages if isinstance(m.body, b.Failure)]
    assert codes == ["line_too_long", "agent_ended"]
    (told,) = [m.body for m in messages if isinstance(m.body, b.Failure) and not m.body.recoverable]
    replies = [json.loads(line) for line in told.text[told.text.index("{") :].splitlines()]
    assert [one["response"]["request_id"] for one in replies] == ["q1", "q2", "q3"]
    assert [one["response"]["subtype"] for one in replies] == ["error", "error", "success"]
    assert any(isinstance(m.body, b.Unknown) and "a_new_kind" in m.body.kind for m in messages)


async def test_a_command_that_outlives_the_program_is_ended(world: World) -> None:
    pid = world.home / "pid"
    program = world.home / "leaves"
    start = f"setsid sh -c 'echo $$ > {pid}; exec sleep 60' &"
    program.write_text(f"#!/bin/sh\n{start}\nwhile [ ! -s {pid} ]; do sleep 0.01; done\necho broken >&2; exit 1\n")
    program.chmod(0o755)
    with pytest.raises(AgentError, match="broken"):
        await opened(world, adapter=adapter(world.home, command=str(program)))
    await world.gone(int(pid.read_text()))


async def test_what_a_quiet_agent_left_running_runs_on(world: World) -> None:
    pid = world.home / "pid"
    real = fake_program(world.home)
    program = world.home / "starts"
    start = f"setsid sh -c 'echo $$ > {pid}; exec sleep 60' >/dev/null 2>&1 &"
    program.write_text(f'#!/bin/sh\n{start}\nwhile [ ! -s {pid} ]; do sleep 0.01; done\nexec {real} "$@"\n')
    program.chmod(0o755)
    session, hears = await opened(world, adapter=adapter(world.home, command=str(program)))
    await session.send(Prompt("one", "play text"))
    await hears.until_body(b.Result, "one")
    await session.close()
    os.kill(int(pid.read_text()), signal.SIGKILL)
