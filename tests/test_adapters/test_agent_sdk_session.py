"""One session through the vendor's client, against recordings of the program: what is written to it, and when."""

from __future__ import annotations

import base64
import os
import signal
from pathlib import Path
from typing import Any

import pytest

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
from tests.test_adapters.conftest import World

pytest.importorskip("claude_agent_sdk", reason="the extra agent_sdk is not installed")

from adapters.agent_sdk.session import AgentSdkSession
from tests.test_adapters.agent_sdk_world import adapter, scripted, written
from tests.test_adapters.agent_sdk_world import program as fake_program

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


async def opened(world: World, **more: Any) -> tuple[AgentSdkSession, Listener]:
    return await world.open(more.pop("adapter", None) or adapter(world.home), **more)  # type: ignore[return-value]


def controls(world: World) -> list[dict[str, Any]]:
    return [one["request"] for one in written(world.home) if one["type"] == "control_request"]


def replies(world: World) -> list[dict[str, Any]]:
    return [one["response"]["response"] for one in written(world.home) if one["type"] == "control_response"]


async def ask_of(hears: Listener, kind: type, turn: str = "one") -> Any:
    return (await hears.until_body(kind, turn)).body


async def begun(hears: Listener) -> b.SessionInit:
    found = (await hears.until_body(b.SessionInit)).body
    assert isinstance(found, b.SessionInit)
    return found


async def test_a_session_offers_what_the_adapter_promises(world: World) -> None:
    session, hears = await opened(world)
    for port in PORTS:
        assert isinstance(session, port), port
    first = await begun(hears)
    assert (first.agent, first.version, first.cwd) == ("Claude Code", "2.1.326", str(world.folder))
    assert [command.name for command in session.commands()] == ["compact"]
    assert [choice.id for choice in await session.models()] == ["default"]
    assert (await session.account())["apiKeySource"] == "ANTHROPIC_API_KEY"
    (server,) = await session.mcp_servers()
    assert (server.id, server.description) == ("files", "connected")
    usage = await session.context_usage()
    assert (usage.used, usage.size) == (2694, 1_000_000)


async def test_words_stream_and_the_result_counts_them(world: World) -> None:
    session, hears = await opened(world)
    await session.send(Prompt("one", "play text"))
    result = await ask_of(hears, b.Result)
    deltas = [m.body.text for m in hears.messages if isinstance(m.body, b.TextDelta)]
    assert len(deltas) == 40
    assert "".join(deltas) == hears.text("one")
    assert (result.outcome, result.usage.output_tokens, result.usage.cost_usd) == ("success", 41, 0.00122)


async def test_stop_drops_the_queue_too(world: World) -> None:
    session, hears = await opened(world)
    await session.interrupt()
    await session.send(Prompt("one", "play interrupt"))
    await hears.until_body(b.TextDelta, "one")
    with pytest.raises(AgentError, match="still busy"):
        await session.send(Prompt("two", "play text"))
    await session.interrupt()
    assert (await ask_of(hears, b.Result)).outcome == "interrupted"
    stops = [one for one in controls(world) if one["subtype"] == "interrupt"]
    assert stops == [{"subtype": "interrupt", "cancel_queued": True}]


# ── asks ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ({"verdict": "allow"}, {"behavior": "allow", "command": "echo hi > hi.txt"}),
        ({"verdict": "allow", "input": {"command": "echo ho"}}, {"behavior": "allow", "command": "echo ho"}),
        ({"verdict": "deny", "text": "not here"}, {"behavior": "deny", "message": "not here"}),
        ({"verdict": "deny", "interrupt": True}, {"behavior": "deny", "interrupt": True}),
    ],
)
async def test_an_answer_reaches_the_program(world: World, answer: dict[str, Any], wanted: dict[str, Any]) -> None:
    session, hears = await opened(world)
    await session.send(Prompt("one", "play perm_bash_allow|perm_bash_deny"))
    ask = await ask_of(hears, b.PermissionRequest)
    started = next(n for n, m in enumerate(hears.messages) if isinstance(m.body, b.ToolStarted))
    assert hears.messages.index(await hears.until_body(b.PermissionRequest)) > started
    assert await session.answer(Answer(ask=ask.ask, **answer))
    assert not await session.answer(Answer(ask=ask.ask, **answer))
    await hears.until_body(b.Result, "one")
    (reply,) = replies(world)
    flat = {**reply, **reply.get("updatedInput", {})}
    assert {key: flat[key] for key in wanted} == wanted
    assert "updatedPermissions" not in reply


async def test_each_suggestion_is_offered_on_its_own_and_only_the_chosen_one_is_granted(world: World) -> None:
    session, hears = await opened(world)
    await session.send(Prompt("one", "play perm_bash_allow"))
    ask = await ask_of(hears, b.PermissionRequest)
    more = [option for option in ask.options if option.kind == "allow_always"]
    assert len(more) == len(ask.suggestions) >= 1
    assert await session.answer(Answer(ask=ask.ask, verdict="allow", option=more[-1].id))
    await hears.until_body(b.Result, "one")
    (reply,) = replies(world)
    assert reply["updatedPermissions"] == [ask.suggestions[-1]]


async def test_a_question_and_a_plan_are_forms_of_their_own(world: World) -> None:
    session, hears = await opened(world)
    await session.send(Prompt("one", "play ask_user_question"))
    question = await ask_of(hears, b.Question)
    (item,) = question.questions
    chosen = item.options[1].label
    assert await session.answer(Answer(ask=question.ask, verdict="answer", fields={item.id: (chosen,)}))
    await hears.until_body(b.Result, "one")
    await session.send(Prompt("two", "play exit_plan_mode:2"))
    plan = await ask_of(hears, b.PlanReview, "two")
    assert [option.id for option in plan.options] == ["allow", "accept_edits", "deny"]
    assert await session.answer(Answer(ask=plan.ask, verdict="allow", option="accept_edits"))
    await hears.until_body(b.Result, "two")
    first, second = replies(world)
    assert first["updatedInput"]["answers"] == {item.text: chosen}
    assert second["updatedPermissions"] == [{"type": "setMode", "destination": "session", "mode": "acceptEdits"}]


async def test_a_withdrawn_ask_is_cancelled_and_answers_nothing(world: World) -> None:
    session, hears = await opened(world)
    await session.send(Prompt("one", "play perm_interrupt"))
    ask = await ask_of(hears, b.PermissionRequest)
    await session.interrupt()
    cancelled = await ask_of(hears, b.AskCancelled)
    assert (cancelled.ask, cancelled.why) == (ask.ask, "interrupted")
    assert not await session.answer(Answer(ask=ask.ask, verdict="allow"))
    assert (await ask_of(hears, b.Result)).outcome == "interrupted"
    assert replies(world) == []


# ── settings, files, hooks ───────────────────────────────────────────────────────────────────────────


async def test_model_mode_and_thinking_are_told_to_the_program(world: World) -> None:
    session, hears = await opened(world, model="opus", mode="plan")
    assert ((await begun(hears)).mode, (await begun(hears)).model) == ("plan", "opus")
    await session.set_model("sonnet")
    await session.set_mode("acceptEdits")
    await session.set_thinking("high")
    with pytest.raises(AgentError, match="no effort"):
        await session.set_thinking("enormous")
    with pytest.raises(AgentError, match="not allowed here"):
        await session.set_mode("bypassPermissions")
    with pytest.raises(AgentError, match="this run"):
        await session.rewind("nobody")
    assert [one for one in controls(world) if one["subtype"].startswith("set_")] == [
        {"subtype": "set_permission_mode", "mode": "plan"},
        {"subtype": "set_model", "model": "opus"},
        {"subtype": "set_model", "model": "sonnet"},
        {"subtype": "set_permission_mode", "mode": "acceptEdits"},
        {"subtype": "set_max_thinking_tokens", "max_thinking_tokens": 16000},
    ]
    await hears.until(lambda m: isinstance(m.body, b.ModeChanged) and m.body.mode == "acceptEdits")
    await hears.until(lambda m: isinstance(m.body, b.ModelChanged) and m.body.model == "sonnet")


async def test_a_mode_that_is_not_allowed_is_told_and_the_session_opens(world: World) -> None:
    _, hears = await opened(world, mode="bypassPermissions")
    failure = (await hears.until_body(b.Failure)).body
    assert isinstance(failure, b.Failure)
    assert "allow_bypass" in failure.fix
    assert (await begun(hears)).mode == "default"


async def test_pictures_go_along_and_other_files_by_their_path(world: World, tmp_path: Path) -> None:
    picture, text = tmp_path / "p.png", tmp_path / "notes.txt"
    picture.write_bytes(b"\x89PNG")
    text.write_text("x")
    files = (File(picture, "p.png", "image/png"), File(text, "notes.txt", "text/plain"))
    lost = File(tmp_path / "gone.png", "gone.png", "image/png")
    session, hears = await opened(world)
    await session.send(Prompt("one", "play text", (*files, lost)))
    await hears.until_body(b.Result, "one")
    (line,) = [one for one in written(world.home) if one["type"] == "user"]
    image, words = line["message"]["content"]
    assert base64.b64decode(image["source"]["data"]) == b"\x89PNG"
    for path in (text, lost.path):
        assert str(path) in words["text"]


HOOKED = """
request = {"subtype": "hook_callback", "callback_id": "hook_0", "input": {"tool_name": "Bash", "session_id": "x"}}
say(type="control_request", request_id="h", request=request)
print(json.dumps(hear()["response"]), file=sys.stderr)
say(type="system", subtype="hook_response", hook_name="Stop", hook_event="Stop", output="all well")
sys.exit(3)
"""


async def test_hooks_are_told(world: World) -> None:
    made = adapter(world.home, command=scripted(world.home, HOOKED), hooks=("PreToolUse",))
    _, hears = await opened(world, adapter=made)
    messages = await hears.until_end()
    found = [m.body for m in messages if isinstance(m.body, b.HookEvent)]
    assert [(one.hook, one.text) for one in found] == [("PreToolUse", "Bash"), ("Stop", "all well")]
    assert found[0].data == {"tool_name": "Bash"}
    (failure,) = [m.body for m in messages if isinstance(m.body, b.Failure)]
    assert '"response": {}' in failure.text


CHATTY = """
first = hear()
for number in range(500):
    say(type="system", subtype="hook_progress", output=str(number))
agree(first)
sys.exit(0)
"""


async def test_a_program_that_talks_much_before_it_is_ready_starts_all_the_same(world: World) -> None:
    program = scripted(world.home, CHATTY)
    source = world.home / "scripted.py"
    source.write_text(source.read_text().replace("agree(hear())\n", ""))
    _, hears = await opened(world, adapter=adapter(world.home, command=program))
    assert isinstance((await hears.until_end())[-1].body, b.SessionClosed)


OLD = """
hear()
say(type="stream_event", event={"type": "message_start", "message": {}})
say(type="assistant", message={"model": "m", "content": [{"type": "text", "text": "hello"}]})
say(type="result", subtype="success", result="hello", is_error=False)
hear()
"""


async def test_a_prompt_is_taken_by_a_program_that_does_not_say_so(world: World) -> None:
    session, hears = await opened(world, adapter=adapter(world.home, command=scripted(world.home, OLD)))
    await session.send(Prompt("one", "hi"))
    assert (await ask_of(hears, b.Result)).outcome == "success"
    assert hears.text("one") == "hello"


# ── beginning and end ────────────────────────────────────────────────────────────────────────────────


async def test_nothing_is_done_with_a_session_that_is_over(world: World) -> None:
    session, hears = await opened(world)
    assert not await session.steer(Prompt("x", "hello"))
    await session.close()
    assert not await session.steer(Prompt("x", "hello"))
    with pytest.raises(AgentError, match="has ended"):
        await session.send(Prompt("y", "hello"))
    with pytest.raises(AgentError, match="has ended"):
        await session.set_model("opus")
    assert not await session.answer(Answer(ask="none", verdict="allow"))
    assert isinstance((await hears.until_end())[-1].body, b.SessionClosed)


async def test_a_crash_is_told_with_what_the_program_printed(world: World) -> None:
    session, hears = await opened(world)
    await session.send(Prompt("one", "crash"))
    messages = await hears.until_end()
    (failure,) = [m.body for m in messages if isinstance(m.body, b.Failure)]
    assert "it went wrong (scripted)" in failure.text
    assert "send a message" in failure.fix
    assert [m.body.outcome for m in messages if isinstance(m.body, b.Result)] == ["error"]
    closed = messages[-1].body
    assert isinstance(closed, b.SessionClosed)
    assert (closed.code, closed.expected) == (1, False)


async def test_a_killed_program_closes_its_open_ask(world: World) -> None:
    session, hears = await opened(world)
    await session.send(Prompt("one", "play perm_bash_allow"))
    ask = await ask_of(hears, b.PermissionRequest)
    os.killpg(session._pipe.pid, signal.SIGKILL)
    messages = await hears.until_end()
    assert [m.body.ask for m in messages if isinstance(m.body, b.AskCancelled)] == [ask.ask]
    last = messages[-1].body
    assert isinstance(last, b.SessionClosed)
    assert (last.code, last.expected) == (-9, False)


async def test_a_session_in_which_nothing_was_said_begins_again_under_its_id(world: World) -> None:
    made = adapter(world.home)
    session, hears = await opened(world, adapter=made)
    first = await begun(hears)
    await session.close()
    again, later = await opened(world, adapter=made, resume=first.agent_session)
    assert ((await begun(later)).agent_session, (await begun(later)).resumed) == (first.agent_session, False)
    await again.send(Prompt("one", "play text"))
    await later.until_body(b.Result, "one")
    await again.close()
    _, last = await opened(world, adapter=made, resume=first.agent_session)
    assert (await begun(last)).resumed
    _, copy = await opened(world, adapter=made, resume=first.agent_session, fork=True)
    assert (await begun(copy)).agent_session != first.agent_session
    assert not (await begun(copy)).resumed


ODD = """
sys.stdout.write("x" * (17 * 1024 * 1024) + "\\n")
sys.stdout.write("warning: not JSON\\n")
say(type="control_request", request_id="q1", request={"subtype": "make_coffee"})
say(type="control_request", request={"subtype": "no id"})
say(type="control_request", request_id="q2", request={"subtype": "hook_callback", "callback_id": "x", "input": {}})
say(type="control_response", response="nothing")
say(type="a_new_kind", data=1)
say(type="assistant", message="none")
say(type="system", subtype=7)
say(type="system", subtype="a_new_subtype")
say(type="result", result="odd")
for _ in range(2):
    print(sys.stdin.readline().strip(), file=sys.stderr)
sys.exit(7)
"""


async def test_what_nobody_knows_is_answered_and_breaks_nothing(world: World) -> None:
    _, hears = await opened(world, adapter=adapter(world.home, command=scripted(world.home, ODD)))
    messages = await hears.until_end()
    codes = [m.body.code for m in messages if isinstance(m.body, b.Failure)]
    assert codes == ["line_too_long", "agent_ended"]
    kinds = [m.body.kind for m in messages if isinstance(m.body, b.Unknown)]
    assert kinds[:3] == ["garbage", "control_request", "control_response"]
    assert kinds[3] == "a_new_kind"
    assert kinds[-2:] == ["system", "system/a_new_subtype"]
    assert len(kinds) == 7
    told = next(m.body for m in messages if isinstance(m.body, b.Failure) and not m.body.recoverable)
    assert "make_coffee" in told.text
    closed = messages[-1].body
    assert isinstance(closed, b.SessionClosed)
    assert closed.code == 7


async def test_no_variable_of_ours_reaches_the_program(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BEAMBOT_HOME", "CLAUDECODE", "CHAT_TOKEN"):
        monkeypatch.setenv(name, "x")
    seen = "print(sorted(os.environ), file=sys.stderr); sys.exit(1)"
    made = adapter(world.home, command=scripted(world.home, seen), drop_env=("CHAT_TOKEN",))
    _, hears = await opened(world, adapter=made, env={"GIVEN": "1"})
    (failure,) = [m.body for m in await hears.until_end() if isinstance(m.body, b.Failure)]
    assert "'GIVEN'" in failure.text
    assert not any(name in failure.text for name in ("BEAMBOT_", "'CLAUDECODE'", "CHAT_TOKEN"))


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
