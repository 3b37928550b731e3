"""What people do with the real Claude Code while it works: stop, steer, other models, its own commands."""

from __future__ import annotations

import anyio
import pytest

from beambot.api import AgentError, Answer, Prompt
from beambot.api import bodies as b
from tests.agents.conftest import Stage
from tests.model_server.script import script


async def test_stop_ends_a_streaming_turn_and_the_next_one_works(stage: Stage) -> None:
    session, hears = await stage.open()
    await session.send(Prompt("one", script({"words": 3000, "pause": 0.02})))
    await hears.until_body(b.TextDelta, "one")
    await session.interrupt()
    result = await stage.result(hears, "one")
    assert result.outcome == "interrupted"
    assert (await stage.play((session, hears), "two", "back")).outcome == "success"
    assert hears.text("two") == "back"


async def test_stop_ends_a_running_tool(stage: Stage) -> None:
    session, hears = await stage.open()
    await session.send(Prompt("one", script({"tools": [{"do": "bash", "command": "touch on; tail -f /dev/null"}]})))
    ask = (await hears.until_body(b.PermissionRequest, "one")).body
    assert isinstance(ask, b.PermissionRequest)
    assert await session.answer(Answer(ask=ask.ask, verdict="allow"))
    with anyio.fail_after(10):
        while not (stage.folder / "on").exists():
            await anyio.sleep(0.02)
    await session.interrupt()
    assert (await stage.result(hears, "one")).outcome == "interrupted"
    ended = [m.body.outcome for m in hears.messages if isinstance(m.body, b.ToolEnded)]
    assert len(ended) == 1
    assert ended != ["done"]


async def test_stop_while_the_model_does_not_answer(stage: Stage) -> None:
    session, hears = await stage.open()
    await session.send(Prompt("one", script({"wait": 60})))
    await stage.model.until(lambda seen: "wait" in seen.text)
    await session.interrupt()
    assert (await stage.result(hears, "one")).outcome == "interrupted"


async def test_stop_right_after_the_prompt(stage: Stage) -> None:
    session, hears = await stage.open()
    await session.send(Prompt("one", script({"wait": 60})))
    await session.interrupt()
    assert (await stage.result(hears, "one")).outcome == "interrupted"
    assert (await stage.play((session, hears), "two", "fine")).outcome == "success"


async def test_stop_also_drops_what_was_said_meanwhile(stage: Stage) -> None:
    session, hears = await stage.open()
    await session.send(Prompt("one", script({"words": 3000, "pause": 0.02})))
    await hears.until_body(b.TextDelta, "one")
    assert await session.steer(Prompt("later", script("this must not be said")))
    await session.interrupt()
    assert (await stage.result(hears, "one")).outcome == "interrupted"
    assert (await stage.play((session, hears), "two", "only this")).outcome == "success"
    assert not any(
        "this must not be said" in m.body.text for m in hears.messages if isinstance(m.body, b.TextDelta)
    )


async def test_what_is_said_while_a_tool_runs_joins_the_turn(stage: Stage) -> None:
    session, hears = await stage.open()
    wait = "touch on; while [ ! -e go ]; do sleep 0.05; done; echo went"
    await session.send(Prompt("one", script({"tools": [{"do": "bash", "command": wait}]}, "the end")))
    ask = (await hears.until_body(b.PermissionRequest, "one")).body
    assert isinstance(ask, b.PermissionRequest)
    await session.answer(Answer(ask=ask.ask, verdict="allow"))
    with anyio.fail_after(10):
        while not (stage.folder / "on").exists():
            await anyio.sleep(0.02)
    assert await session.steer(Prompt("two", "use blue, not red"))
    (stage.folder / "go").touch()
    await stage.result(hears, "one")
    assert "use blue, not red" in stage.model.requests[-1].text
    assert sum(isinstance(m.body, b.Result) for m in hears.messages) == 1


async def test_what_is_said_while_it_speaks_is_answered_after_it(stage: Stage) -> None:
    session, hears = await stage.open()
    await session.send(Prompt("one", script({"words": 40, "pause": 0.03})))
    await hears.until_body(b.TextDelta, "one")
    assert await session.steer(Prompt("two", script("and now this")))
    await hears.until(lambda m: isinstance(m.body, b.Result) and m.turn != "one")
    whole = "".join(m.body.text for m in hears.messages if isinstance(m.body, b.TextDelta))
    assert whole.endswith("and now this")


async def test_nothing_is_steered_into_a_quiet_session(stage: Stage) -> None:
    session, hears = await stage.open()
    assert not await session.steer(Prompt("x", "hello"))
    await stage.play((session, hears), "one", "hi")
    assert not await session.steer(Prompt("y", "hello"))


async def test_an_interrupt_closes_an_open_question(stage: Stage) -> None:
    session, hears = await stage.open()
    await session.send(
        Prompt("one", script({"tools": [{"do": "ask", "question": "Which?", "options": ["A", "B"]}]}))
    )
    question = (await hears.until_body(b.Question, "one")).body
    assert isinstance(question, b.Question)
    await session.interrupt()
    cancelled = (await hears.until_body(b.AskCancelled, "one")).body
    assert isinstance(cancelled, b.AskCancelled)
    assert cancelled.ask == question.ask
    assert (await stage.result(hears, "one")).outcome == "interrupted"
    assert not await session.answer(Answer(ask=question.ask, verdict="answer", text="A"))


async def test_model_mode_and_thinking_can_be_set(stage: Stage) -> None:
    session, hears = await stage.open(model="sonnet", mode="acceptEdits")
    first = (await hears.until_body(b.SessionInit)).body
    assert isinstance(first, b.SessionInit)
    assert first.mode == "acceptEdits"
    await stage.play((session, hears), "one", "hi")
    assert "sonnet" in stage.model.requests[-1].body["model"]
    await session.set_model("haiku")
    await session.set_mode("default")
    await session.set_thinking("low")
    await stage.play((session, hears), "two", "hi")
    assert "haiku" in stage.model.requests[-1].body["model"]
    assert any(isinstance(m.body, b.ModeChanged) and m.body.mode == "default" for m in hears.messages)
    assert any(isinstance(m.body, b.ModelChanged) for m in hears.messages)
    with pytest.raises(AgentError, match="no effort"):
        await session.set_thinking("enormous")


async def test_skipping_permissions_needs_the_owners_word(stage: Stage) -> None:
    session, _ = await stage.open()
    with pytest.raises(AgentError) as refused:
        await session.set_mode("bypassPermissions")
    assert "allow_bypass" in refused.value.fix
    allowed = stage.adapter(allow_bypass=True, env={"IS_SANDBOX": "1"})
    session, hears = await stage.open(allowed)
    await session.set_mode("bypassPermissions")
    await stage.play((session, hears), "one", {"tools": [{"do": "bash", "command": "touch free"}]})
    assert (stage.folder / "free").exists()


async def test_its_own_commands_pass_through(stage: Stage) -> None:
    session, hears = await stage.open()
    await stage.play((session, hears), "one", "hi")
    await session.send(Prompt("two", "/context"))
    result = await stage.result(hears, "two")
    assert result.outcome == "success"
    assert "token" in hears.text("two").lower()
    assert any(command.name == "compact" for command in session.commands())


async def test_clear_changes_the_id_and_the_old_one_still_leads_there(stage: Stage) -> None:
    adapter = stage.adapter()
    session, hears = await stage.open(adapter)
    first = (await hears.until_body(b.SessionInit)).body
    assert isinstance(first, b.SessionInit)
    await stage.play((session, hears), "one", "the first walrus")
    await session.send(Prompt("two", "/clear"))
    await stage.result(hears, "two")
    await stage.play((session, hears), "three", "the second badger")
    await session.close()
    again = await stage.open(adapter, resume=first.agent_session)
    resumed = (await again[1].until_body(b.SessionInit)).body
    assert isinstance(resumed, b.SessionInit)
    assert resumed.agent_session != first.agent_session
    await stage.play(again, "four", "later")
    assert "second badger" in stage.model.requests[-1].text
    assert "first walrus" not in stage.model.requests[-1].text


async def test_it_tells_about_itself(stage: Stage) -> None:
    session, _ = await stage.open()
    assert [choice.id for choice in await session.models()]
    assert (await session.account())["apiKeySource"] == "ANTHROPIC_API_KEY"
    assert await session.mcp_servers() == []
    usage = await session.context_usage()
    assert 0 < usage.used < usage.size


async def test_files_are_taken_back_to_before_a_prompt(stage: Stage) -> None:
    path = stage.folder / "a.txt"
    path.write_text("old\n")
    session, hears = await stage.open(mode="acceptEdits")
    read, write = {"do": "read", "path": str(path)}, {"do": "write", "path": str(path), "text": "new\n"}
    await stage.play((session, hears), "one", {"tools": [read]}, {"tools": [write]})
    assert path.read_text() == "new\n"
    await session.rewind("one")
    assert path.read_text() == "old\n"
    with pytest.raises(AgentError, match="this run"):
        await session.rewind("nobody")
