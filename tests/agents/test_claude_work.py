"""What the real Claude Code does for a prompt: words, tools, permissions, questions, plans, pictures, subagents."""

from __future__ import annotations

import base64

import pytest

from beambot.api import Answer, File, Prompt
from beambot.api import bodies as b
from beambot.testing.adapter_contract import Listener
from tests.agents.conftest import Stage
from tests.model_server.script import MARKDOWN, script

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


def bash(command: str) -> dict[str, object]:
    return {"tools": [{"do": "bash", "command": command}]}


async def asked(hears: Listener, turn: str) -> b.PermissionRequest:
    found = (await hears.until_body(b.PermissionRequest, turn)).body
    assert isinstance(found, b.PermissionRequest)
    return found


async def test_a_prompt_is_answered_word_by_word_and_counted(stage: Stage) -> None:
    opened = await stage.open()
    result = await stage.play(opened, "one", {"think": 5, "words": 30}, "not reached")
    hears = opened[1]
    deltas = [m.body.text for m in hears.messages if isinstance(m.body, b.TextDelta)]
    assert len(deltas) > 10
    assert "".join(deltas) == hears.text("one")
    assert result.outcome == "success"
    assert result.usage.input_tokens > 0
    first = hears.messages[0].body
    assert isinstance(first, b.SessionInit)
    assert (first.agent, first.version, first.mode) == ("Claude Code", "2.1.326", "default")
    assert {"compact", "context"} <= {command.name for command in first.commands}
    assert first.models


async def test_markdown_arrives_as_it_was_written(stage: Stage) -> None:
    opened = await stage.open()
    await stage.play(opened, "one", {"markdown": True})
    assert opened[1].text("one") == MARKDOWN


async def test_an_allowed_command_runs_and_its_output_reaches_the_model(stage: Stage) -> None:
    session, hears = await stage.open()
    await session.send(Prompt("one", script(bash("echo hi > hi.txt && cat hi.txt"))))
    ask = await asked(hears, "one")
    assert ask.input["command"] == "echo hi > hi.txt && cat hi.txt"
    assert await session.answer(Answer(ask=ask.ask, verdict="allow", by="me"))
    await stage.result(hears, "one")
    assert (stage.folder / "hi.txt").read_text() == "hi\n"
    assert hears.text("one") == "The tool said: hi"
    ended = [m.body for m in hears.messages if isinstance(m.body, b.ToolEnded)]
    assert [one.outcome for one in ended] == ["done"]


async def test_a_refusal_reaches_the_model_in_the_persons_words(stage: Stage) -> None:
    session, hears = await stage.open()
    await session.send(Prompt("one", script(bash("touch no.txt"))))
    ask = await asked(hears, "one")
    assert await session.answer(Answer(ask=ask.ask, verdict="deny", text="Use the tmp folder, please."))
    result = await stage.result(hears, "one")
    assert result.outcome == "success"
    assert not (stage.folder / "no.txt").exists()
    assert "Use the tmp folder, please." in stage.model.requests[-1].text
    ended = [m.body for m in hears.messages if isinstance(m.body, b.ToolEnded)]
    assert [one.outcome for one in ended] == ["denied"]


async def test_a_refusal_can_end_the_turn(stage: Stage) -> None:
    session, hears = await stage.open()
    await session.send(Prompt("one", script(bash("touch no.txt"), "not reached")))
    ask = await asked(hears, "one")
    assert await session.answer(Answer(ask=ask.ask, verdict="deny", text="Stop.", interrupt=True))
    assert (await stage.result(hears, "one")).outcome == "interrupted"
    assert "not reached" not in hears.text("one")
    assert (await stage.play((session, hears), "two", "still here")).outcome == "success"


async def test_an_edited_input_is_what_is_done(stage: Stage) -> None:
    session, hears = await stage.open()
    path = str(stage.folder / "a.txt")
    await session.send(Prompt("one", script({"tools": [{"do": "write", "path": path, "text": "wrong"}]})))
    ask = await asked(hears, "one")
    edited = {**ask.input, "content": "right"}
    assert await session.answer(Answer(ask=ask.ask, verdict="allow", input=edited))
    await stage.result(hears, "one")
    assert (stage.folder / "a.txt").read_text() == "right"


async def test_a_chosen_rule_is_kept_and_no_other(stage: Stage) -> None:
    session, hears = await stage.open()
    await session.send(Prompt("one", script(bash("touch r1"), bash("touch r1 r2"))))
    ask = await asked(hears, "one")
    rules = [one for one in ask.suggestions if one.get("type") == "addRules"]
    assert rules, ask.suggestions
    assert await session.answer(Answer(ask=ask.ask, verdict="allow", rules=(rules[0],)))
    await stage.result(hears, "one")
    assert (stage.folder / "r2").exists()
    assert sum(isinstance(m.body, b.PermissionRequest) for m in hears.messages) == 1
    assert not any(isinstance(m.body, b.ModeChanged) for m in hears.messages)


async def test_several_tools_of_one_answer_are_each_asked_and_ended(stage: Stage) -> None:
    session, hears = await stage.open()
    tools = [{"do": "bash", "command": f"touch p{number}"} for number in range(3)]
    await session.send(Prompt("one", script({"tools": tools})))
    seen: set[str] = set()
    for _ in tools:
        found = (
            await hears.until(lambda m: isinstance(m.body, b.PermissionRequest) and m.body.ask not in seen)
        ).body
        assert isinstance(found, b.PermissionRequest)
        seen.add(found.ask)
        assert await session.answer(Answer(ask=found.ask, verdict="allow"))
    await stage.result(hears, "one")
    assert sorted(path.name for path in stage.folder.glob("p*")) == ["p0", "p1", "p2"]


async def test_a_question_is_answered_with_the_chosen_option(stage: Stage) -> None:
    session, hears = await stage.open()
    asking = {"do": "ask", "question": "Which colour?", "options": ["Red", "Blue"]}
    await session.send(Prompt("one", script({"tools": [asking]})))
    question = (await hears.until_body(b.Question, "one")).body
    assert isinstance(question, b.Question)
    (item,) = question.questions
    assert [option.label for option in item.options] == ["Red", "Blue"]
    assert await session.answer(Answer(ask=question.ask, verdict="answer", fields={item.id: ("Blue",)}))
    await stage.result(hears, "one")
    assert "Blue" in hears.text("one")


@pytest.mark.parametrize("verdict", ["allow", "deny"])
async def test_a_plan_waits_for_a_word(stage: Stage, verdict: str) -> None:
    session, hears = await stage.open(mode="plan")
    write = {"tools": [{"do": "write", "path": "$PLAN", "text": "1. paint it blue"}]}
    await session.send(Prompt("one", script(write, {"tools": [{"do": "plan"}]})))
    plan = (await hears.until_body(b.PlanReview, "one")).body
    assert isinstance(plan, b.PlanReview)
    assert "paint it blue" in plan.plan
    answer = Answer(ask=plan.ask, verdict="allow" if verdict == "allow" else "deny", text="make it red")
    assert await session.answer(answer)
    await stage.result(hears, "one")
    left = [m.body.mode for m in hears.messages if isinstance(m.body, b.ModeChanged)]
    if verdict == "allow":
        assert left == ["default"]
    else:
        assert left == []
        assert "make it red" in stage.model.requests[-1].text


async def test_a_picture_reaches_the_model_and_another_file_by_its_path(stage: Stage) -> None:
    session, hears = await stage.open()
    picture, notes = stage.folder / "p.png", stage.folder / "notes.txt"
    picture.write_bytes(PNG)
    notes.write_text("remember")
    files = (File(picture, "p.png", "image/png"), File(notes, "notes.txt", "text/plain"))
    await session.send(Prompt("one", script("I see."), files))
    await stage.result(hears, "one")
    seen = stage.model.requests[-1].text
    assert '"media_type": "image/png"' in seen
    assert str(notes) in seen


async def test_a_subagent_works_behind_the_turn_and_reports_in_a_turn_nobody_prompted(stage: Stage) -> None:
    session, hears = await stage.open()
    task = {"do": "task", "prompt": script("The subagent is done."), "background": True}
    await session.send(Prompt("one", script({"tools": [task]}, "It runs in the background.")))
    await stage.result(hears, "one")
    await hears.until(lambda m: isinstance(m.body, b.Result) and m.turn != "one")
    assert "It runs in the background." in hears.text("one")
    assert any("subagent is done" in request.text for request in stage.model.requests)


async def test_a_subagents_work_is_marked_as_its_callers(stage: Stage) -> None:
    session, hears = await stage.open()
    inner = script(bash("touch inner"), "Inner done.")
    await session.send(Prompt("one", script({"tools": [{"do": "task", "prompt": inner, "background": False}]})))
    ask = await asked(hears, "one")
    assert await session.answer(Answer(ask=ask.ask, verdict="allow"))
    await stage.result(hears, "one")
    assert (stage.folder / "inner").exists()
    inner_tools = [m for m in hears.messages if isinstance(m.body, b.ToolStarted) and m.parent]
    assert len(inner_tools) == 1


async def test_a_prompt_while_a_subagent_works_behind_is_answered_at_once(stage: Stage) -> None:
    session, hears = await stage.open()
    behind = {"do": "task", "prompt": script({"wait": 3, "say": "Late, but done."}), "background": True}
    await session.send(Prompt("one", script({"tools": [behind]}, "It runs.")))
    await stage.result(hears, "one")
    assert (await stage.play((session, hears), "two", "Meanwhile.")).outcome == "success"
    assert hears.text("two") == "Meanwhile."
    await stage.model.until(lambda seen: "Late, but done." in seen.conversation.said[-1].text)
    await hears.until(lambda m: isinstance(m.body, b.Result) and m.turn not in ("one", "two"))
    assert (await stage.play((session, hears), "three", "Still here.")).outcome == "success"
