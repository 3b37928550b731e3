"""What the program inside the vendor's package does through its client: words, asks, hooks, forms; and its life."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import anyio
import pytest

from beambot.api import AgentLogin, Answer, PluginContext, Prompt, SessionGone
from beambot.api import bodies as b
from beambot.api import content as c
from beambot.testing.adapter_contract import Listener, RandomIds, WallClock
from tests.agents.conftest import Stage
from tests.model_server.script import script

pytest.importorskip("claude_agent_sdk", reason="the extra agent_sdk is not installed")

from adapters.agent_sdk.adapter import AgentSdkAdapter
from adapters.agent_sdk.process.program import SdkConfig, bundled
from adapters.agent_sdk.session import AgentSdkSession

MISSING = "11111111-1111-4111-8111-111111111111"
Opened = tuple[AgentSdkSession, Listener]


def made(stage: Stage, env: dict[str, str] | None = None, **settings: Any) -> AgentSdkAdapter:
    if bundled() is None:
        pytest.skip("this build of the package has no program inside")
    context = PluginContext(home=stage.home / "beambot", clock=WallClock(), ids=RandomIds())
    foreign = tuple(key for key in os.environ if key.startswith(("ANTHROPIC_", "CLAUDE_")))
    config = SdkConfig(env=stage.env(**(env or {})), drop_env=foreign, start_timeout=30.0, **settings)
    return AgentSdkAdapter("agent_sdk", config, context)


async def opened(stage: Stage, adapter: AgentSdkAdapter | None = None, **more: Any) -> Opened:
    return await stage.open(adapter or made(stage), **more)  # type: ignore[arg-type, return-value]


async def play(stage: Stage, here: Opened, turn: str, *steps: Any) -> b.Result:
    return await stage.play(here, turn, *steps)  # type: ignore[arg-type]


def bash(command: str) -> dict[str, Any]:
    return {"tools": [{"do": "bash", "command": command}]}


async def asked(hears: Listener, turn: str) -> b.PermissionRequest:
    found = (await hears.until_body(b.PermissionRequest, turn)).body
    assert isinstance(found, b.PermissionRequest)
    return found


async def begun(hears: Listener) -> b.SessionInit:
    found = (await hears.until_body(b.SessionInit)).body
    assert isinstance(found, b.SessionInit)
    return found


async def until_there(path: Path) -> None:
    with anyio.fail_after(10):
        while not path.exists():
            await anyio.sleep(0.02)


# ── words ────────────────────────────────────────────────────────────────────────────────────────────


async def test_reasoning_and_words_stream_and_are_counted(stage: Stage) -> None:
    here = await opened(stage)
    result = await play(stage, here, "one", {"think": 5, "words": 30})
    hears = here[1]
    for delta, whole in ((b.TextDelta, c.Text), (b.ThinkingDelta, c.Thinking)):
        parts = [m.body.text for m in hears.messages if isinstance(m.body, delta)]
        said = [
            block.text
            for m in hears.messages
            if isinstance(m.body, b.Assistant)
            for block in m.body.blocks
            if isinstance(block, whole)
        ]
        assert len(parts) > 3
        assert "".join(parts) == "".join(said)
    assert (result.outcome, result.usage.input_tokens > 0) == ("success", True)
    assert {"compact", "context"} <= {command.name for command in (await begun(hears)).commands}


async def test_an_answer_has_the_form_that_was_asked_for(stage: Stage) -> None:
    form = stage.home / "form.json"
    form.write_text(json.dumps({"type": "object", "properties": {"colour": {"type": "string"}}}))
    here = await opened(stage, made(stage, output_schema=str(form)))
    call = {"tools": [{"tool": "StructuredOutput", "input": {"colour": "blue"}}]}
    result = await play(stage, here, "one", call, "Done.")
    assert result.outcome == "success"
    assert json.loads(result.text) == {"colour": "blue"}
    shown = [block for m in here[1].messages if isinstance(m.body, b.Assistant) for block in m.body.blocks]
    assert any(isinstance(one, c.Code) and json.loads(one.code) == {"colour": "blue"} for one in shown)


async def test_a_failing_service_is_a_failed_turn_and_no_login_is_told(stage: Stage) -> None:
    here = await opened(stage)
    result = await play(stage, here, "one", {"error": 401, "message": "who are you?"})
    assert result.outcome == "error"
    assert any(isinstance(m.body, b.AuthStatus) and not m.body.logged_in for m in here[1].messages)
    result = await play(stage, here, "two", {"error": 529, "times": 1, "say": "late"})
    assert any(isinstance(m.body, b.Status) and m.body.state == "retrying" for m in here[1].messages)
    assert (await play(stage, here, "three", "fine")).outcome == "success"


# ── asks ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_allowed_command_runs_and_a_refusal_reaches_the_model(stage: Stage) -> None:
    session, hears = await opened(stage)
    await session.send(Prompt("one", script(bash("echo hi > hi.txt && cat hi.txt"))))
    ask = await asked(hears, "one")
    assert (ask.kind, ask.title) == ("execute", "echo hi > hi.txt && cat hi.txt")
    assert await session.answer(Answer(ask=ask.ask, verdict="allow", by="me"))
    await stage.result(hears, "one")
    assert hears.text("one") == "The tool said: hi"
    await session.send(Prompt("two", script(bash("touch no.txt"))))
    ask = await asked(hears, "two")
    assert await session.answer(Answer(ask=ask.ask, verdict="deny", text="Use the tmp folder, please."))
    assert (await stage.result(hears, "two")).outcome == "success"
    assert "Use the tmp folder, please." in stage.model.requests[-1].text
    ended = [m.body.outcome for m in hears.messages if isinstance(m.body, b.ToolEnded)]
    assert ended == ["done", "denied"]


async def test_a_refusal_can_end_the_turn(stage: Stage) -> None:
    session, hears = await opened(stage)
    await session.send(Prompt("one", script(bash("touch no.txt"), "not reached")))
    ask = await asked(hears, "one")
    assert await session.answer(Answer(ask=ask.ask, verdict="deny", text="Stop.", interrupt=True))
    assert (await stage.result(hears, "one")).outcome == "interrupted"
    assert (await play(stage, (session, hears), "two", "still here")).outcome == "success"


async def test_an_edited_input_is_what_is_done_and_the_change_is_shown(stage: Stage) -> None:
    session, hears = await opened(stage)
    path = str(stage.folder / "a.txt")
    await session.send(Prompt("one", script({"tools": [{"do": "write", "path": path, "text": "wrong"}]})))
    ask = await asked(hears, "one")
    assert (ask.title, [diff.new for diff in ask.diffs]) == ("Write a.txt", ["wrong"])
    assert await session.answer(Answer(ask=ask.ask, verdict="allow", input={**ask.input, "content": "right"}))
    result = await stage.result(hears, "one")
    assert (stage.folder / "a.txt").read_text() == "right"
    assert [(m.body.path, m.body.new) for m in hears.messages if isinstance(m.body, b.Diff)] == [(path, "right")]
    assert (result.lines_added, result.lines_removed) == (1, 0)


async def test_a_chosen_rule_is_kept_and_no_other(stage: Stage) -> None:
    session, hears = await opened(stage)
    await session.send(Prompt("one", script(bash("touch r1"), bash("touch r1 r2"))))
    ask = await asked(hears, "one")
    rules = [one for one in ask.suggestions if one.get("type") == "addRules"]
    assert len(ask.suggestions) > len(rules) > 0
    assert await session.answer(Answer(ask=ask.ask, verdict="allow", rules=(rules[0],)))
    await stage.result(hears, "one")
    assert (stage.folder / "r2").exists()
    assert sum(isinstance(m.body, b.PermissionRequest) for m in hears.messages) == 1
    assert not any(isinstance(m.body, b.ModeChanged) for m in hears.messages)


async def test_a_question_is_answered_and_a_plan_waits_for_a_word(stage: Stage) -> None:
    session, hears = await opened(stage)
    asking = {"do": "ask", "question": "Which colour?", "options": ["Red", "Blue"]}
    await session.send(Prompt("one", script({"tools": [asking]})))
    question = (await hears.until_body(b.Question, "one")).body
    assert isinstance(question, b.Question)
    (item,) = question.questions
    assert await session.answer(Answer(ask=question.ask, verdict="answer", fields={item.id: ("Blue",)}))
    await stage.result(hears, "one")
    assert "Blue" in hears.text("one")
    await session.set_mode("plan")
    write = {"tools": [{"do": "write", "path": "$PLAN", "text": "1. paint it blue"}]}
    await session.send(Prompt("two", script(write, {"tools": [{"do": "plan"}]})))
    plan = (await hears.until_body(b.PlanReview, "two")).body
    assert isinstance(plan, b.PlanReview)
    assert "paint it blue" in plan.plan
    assert await session.answer(Answer(ask=plan.ask, verdict="allow", option="accept_edits"))
    await stage.result(hears, "two")
    assert [m.body.mode for m in hears.messages if isinstance(m.body, b.ModeChanged)] == ["plan", "acceptEdits"]


async def test_what_a_subagent_asks_behind_an_ended_turn_is_asked_again_and_answered(stage: Stage) -> None:
    session, hears = await opened(stage)
    inner = script(bash("touch inner"), "Inner done.")
    task = {"do": "task", "prompt": inner, "background": True}
    await session.send(Prompt("one", script({"tools": [task]}, {"wait": 1, "say": "It runs."})))
    first = await asked(hears, "one")
    assert first.agent == "a scripted task"
    await stage.result(hears, "one")
    again = (await hears.until(lambda m: isinstance(m.body, b.PermissionRequest) and m.turn != "one")).body
    assert isinstance(again, b.PermissionRequest)
    assert not await session.answer(Answer(ask=first.ask, verdict="allow"))
    assert await session.answer(Answer(ask=again.ask, verdict="allow"))
    await until_there(stage.folder / "inner")
    await hears.until(lambda m: isinstance(m.body, b.Result) and m.turn != "one")


# ── stop, steer, settings, hooks ─────────────────────────────────────────────────────────────────────


async def test_stop_ends_a_running_tool_and_drops_what_was_said_meanwhile(stage: Stage) -> None:
    session, hears = await opened(stage)
    await session.send(Prompt("one", script(bash("touch on; tail -f /dev/null"))))
    ask = await asked(hears, "one")
    assert await session.answer(Answer(ask=ask.ask, verdict="allow"))
    await until_there(stage.folder / "on")
    assert await session.steer(Prompt("later", script("this must not be said")))
    await session.interrupt()
    assert (await stage.result(hears, "one")).outcome == "interrupted"
    assert (await play(stage, (session, hears), "two", "only this")).outcome == "success"
    assert not any("must not be" in m.body.text for m in hears.messages if isinstance(m.body, b.TextDelta))


async def test_what_is_said_while_it_speaks_has_the_next_turn(stage: Stage) -> None:
    session, hears = await opened(stage)
    await session.send(Prompt("one", script({"words": 40, "pause": 0.03})))
    await hears.until_body(b.TextDelta, "one")
    assert await session.steer(Prompt("two", script("and now this")))
    await stage.result(hears, "two")
    assert hears.text("two") == "and now this"


async def test_model_and_mode_change_for_the_next_turn_and_files_go_back(stage: Stage) -> None:
    session, hears = await opened(stage, model="sonnet", mode="acceptEdits")
    path = stage.folder / "a.txt"
    path.write_text("old\n")
    read, write = {"do": "read", "path": str(path)}, {"do": "write", "path": str(path), "text": "new\n"}
    await play(stage, (session, hears), "one", {"tools": [read]}, {"tools": [write]})
    assert "sonnet" in stage.model.requests[-1].body["model"]
    assert path.read_text() == "new\n"
    await session.rewind("one")
    assert path.read_text() == "old\n"
    await session.set_model("haiku")
    await session.set_thinking("low")
    await play(stage, (session, hears), "two", "hi")
    assert "haiku" in stage.model.requests[-1].body["model"]


async def test_hooks_of_the_person_and_of_the_configuration_are_told(stage: Stage) -> None:
    settings = stage.home / ".claude" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    hook = {"type": "command", "command": "echo from the shell"}
    settings.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}))
    here = await opened(stage, made(stage, hooks=("PostToolUse",)), mode="acceptEdits")
    path = str(stage.folder / "a.txt")
    await play(stage, here, "one", {"tools": [{"do": "write", "path": path, "text": "x"}]})
    told = [(m.body.hook, m.body.text) for m in here[1].messages if isinstance(m.body, b.HookEvent)]
    assert ("PostToolUse", "Write") in told
    assert any(hook == "UserPromptSubmit" and "from the shell" in text for hook, text in told)


# ── life ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_session_is_listed_resumed_and_copied(stage: Stage) -> None:
    adapter = made(stage)
    here = await opened(stage, adapter)
    first = await begun(here[1])
    await play(stage, here, "one", "the word is walrus")
    await here[0].close()
    assert [one.agent_session for one in await adapter.list_resumable(stage.folder)] == [first.agent_session]
    assert await adapter.list_resumable(stage.home) == []
    again = await opened(stage, adapter, resume=first.agent_session)
    assert ((await begun(again[1])).agent_session, (await begun(again[1])).resumed) == (first.agent_session, True)
    await play(stage, again, "two", "yes")
    assert "walrus" in stage.model.requests[-1].text
    copy = await opened(stage, adapter, resume=first.agent_session, fork=True)
    assert (await begun(copy[1])).agent_session != first.agent_session
    await play(stage, copy, "three", "only in the copy")
    assert "walrus" in stage.model.requests[-1].text
    await play(stage, again, "four", "the original goes on")
    assert "only in the copy" not in stage.model.requests[-1].text


async def test_a_cleared_conversation_is_resumed_under_its_new_id(stage: Stage) -> None:
    adapter = made(stage)
    session, hears = await opened(stage, adapter)
    first = await begun(hears)
    await play(stage, (session, hears), "one", "the word is walrus")
    await session.send(Prompt("two", "/clear"))
    await stage.result(hears, "two")
    await play(stage, (session, hears), "three", "the word is otter")
    await session.close()
    again = await opened(stage, adapter, resume=first.agent_session)
    await play(stage, again, "four", "yes")
    assert "otter" in stage.model.requests[-1].text
    assert "walrus" not in stage.model.requests[-1].text


async def test_a_killed_agent_is_told_its_commands_end_and_it_resumes(stage: Stage) -> None:
    adapter = made(stage)
    session, hears = await opened(stage, adapter)
    first = await begun(hears)
    await play(stage, (session, hears), "zero", "hello")
    await session.send(Prompt("one", script(bash("echo $$ > on; exec tail -f /dev/null"))))
    ask = await asked(hears, "one")
    await session.answer(Answer(ask=ask.ask, verdict="allow"))
    await until_there(stage.folder / "on")
    os.killpg(session._pipe.pid, signal.SIGKILL)
    messages = await hears.until_end()
    assert any(isinstance(m.body, b.Failure) and not m.body.recoverable for m in messages)
    last = messages[-1].body
    assert isinstance(last, b.SessionClosed)
    assert (last.expected, last.code) == (False, -9)
    await session.close()
    left = Path("/proc") / (stage.folder / "on").read_text().strip()
    with anyio.fail_after(5):
        while left.exists() and " Z " not in (left / "stat").read_text():
            await anyio.sleep(0.02)
    again = await opened(stage, adapter, resume=first.agent_session)
    assert (await play(stage, again, "two", "I go on")).outcome == "success"


async def test_doctor_learns_of_the_program_inside_the_package(stage: Stage) -> None:
    probe = await made(stage).probe()
    assert (probe.installed, probe.logged_in) == (True, True)
    assert probe.version.startswith("2.")
    assert str(bundled()) in probe.detail
    probe = await made(stage, {"ANTHROPIC_API_KEY": ""}).probe()
    assert (probe.installed, probe.logged_in) == (True, False)
    with pytest.raises(AgentLogin):
        await opened(stage, made(stage, {"ANTHROPIC_API_KEY": ""}))
    with pytest.raises(SessionGone):
        await opened(stage, resume=MISSING)
