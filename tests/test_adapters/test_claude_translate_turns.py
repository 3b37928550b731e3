"""Whose turn it is: prompts, steers, and work that nobody prompted."""

from __future__ import annotations

import json

from adapters.claude.control import Fate
from beambot.api import Answer, bodies
from tests.test_adapters.claude_wire import Wire, kinds, only


def test_work_after_a_result_is_a_turn_that_nobody_prompted() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.result()
    word = wire.text("by the way")
    assert (word[0].turn, wire.translator.loose, wire.translator.turn) == ("", True, "")
    assert only(wire.result(), bodies.Result).outcome == "success"
    assert not wire.translator.loose
    wire.end()


def test_what_a_subagent_asks_in_the_background_is_asked_again_when_the_turn_ends() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.call("a", "Agent", description="look around")
    wire.done("a", "launched", tool_use_result={"isAsync": True})
    wire.call("b", "Bash", parent="a", command="ls")
    asked = wire.ask("r1", "b", agent_id="x1")
    assert (asked[0].parent, only(asked, bodies.PermissionRequest).agent) == ("a", "look around")
    said = wire.result()
    assert kinds(said) == ["ask_cancelled", "tool_ended", "result", "tool_started", "permission_request"]
    assert [message.turn for message in said] == ["t", "t", "t", "", ""]
    assert list(wire.translator.asks) == ["r1~2"]
    found = wire.translator.answered(Answer(ask="r1~2", verdict="allow"))
    assert found is not None
    assert json.loads(found[0])["response"]["request_id"] == "r1"
    wire.messages += found[1]
    assert kinds(wire.done("b", "out", parent="a")) == ["tool_ended"]
    wire.end()


def test_what_a_subagent_asks_in_the_foreground_is_void_when_the_turn_ends() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.call("a", "Task", description="look around")
    wire.call("b", "Bash", parent="a", command="ls")
    wire.ask("r1", "b")
    assert kinds(wire.result()) == ["ask_cancelled", "tool_ended", "tool_ended", "result"]
    wire.end()


def test_a_prompt_ends_work_that_nobody_prompted() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.result()
    wire.text("sub", parent="a")
    assert wire.translator.loose
    said = wire.translator.prompted("t2", "u2")
    assert kinds(said) == ["assistant", "result"]
    wire.messages += said
    assert wire.text("hello")[0].turn == "t2"
    wire.end()


def test_a_run_of_the_agents_own_does_not_end_the_prompt_that_waits_for_it() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.result()
    wire.line("system", subtype="init", session_id="s1")
    wire.text("a task has ended")
    wire.messages += wire.translator.prompted("t2", "u2")
    assert wire.result(origin={"kind": "task-notification"}) == []
    assert wire.translator.turn == "t2"
    wire.line("user", message={"content": "again"}, uuid="u2", isReplay=True)
    wire.line("system", subtype="init", session_id="s1")
    assert wire.text("and now")[0].turn == "t2"
    assert only(wire.result(), bodies.Result)
    assert wire.translator.turn == ""
    wire.end()


def test_a_prompt_that_joined_a_run_of_the_agents_own_ends_with_it() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.result()
    wire.line("system", subtype="init", session_id="s1")
    wire.text("a task has ended")
    wire.messages += wire.translator.prompted("t2", "u2")
    wire.line("command_lifecycle", command_uuid="u2", state="started")
    assert kinds(wire.result())[-1] == "result"
    wire.end()


def test_a_steer_that_is_taken_in_the_turn_joins_it() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.translator.steered("t2", "u2")
    wire.line("command_lifecycle", command_uuid="u2", state="queued")
    wire.line("user", message={"content": "also"}, uuid="u2", isReplay=True)
    wire.line("command_lifecycle", command_uuid="u2", state="started")
    wire.result()
    wire.line("command_lifecycle", command_uuid="u2", state="completed")
    assert [(fate.prompt, fate.state) for fate in wire.control()] == [
        ("u2", s) for s in ("queued", "joined", "done")
    ]
    assert wire.translator.turn == ""


def test_a_steer_that_is_taken_after_the_result_has_a_turn_of_its_own() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.translator.steered("t2", "u2")
    wire.line("command_lifecycle", command_uuid="u2", state="queued")
    wire.result()
    wire.line("system", subtype="init", session_id="s1")
    assert wire.text("a task")[0].turn == ""
    wire.result()
    wire.line("command_lifecycle", command_uuid="u2", state="started")
    wire.line("system", subtype="init", session_id="s1")
    assert wire.text("and now")[0].turn == "t2"
    assert Fate("u2", "t2", "began") in wire.control()
    wire.end()


def test_two_steers_may_share_the_next_turn() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.translator.steered("t2", "u2")
    wire.translator.steered("t3", "u3")
    for prompt in ("u2", "u3"):
        wire.line("command_lifecycle", command_uuid=prompt, state="queued")
    wire.result()
    wire.control()
    for prompt in ("u2", "u3"):
        wire.line("command_lifecycle", command_uuid=prompt, state="started")
    assert wire.control() == [Fate("u2", "t2", "began"), Fate("u3", "t3", "joined")]
    assert wire.text("both")[0].turn == "t2"
    wire.end()


def test_a_steer_that_was_taken_back_opens_no_turn() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.translator.steered("t2", "u2")
    wire.line("command_lifecycle", command_uuid="u2", state="cancelled")
    wire.result()
    wire.line("system", subtype="init", session_id="s1")
    assert wire.control() == [Fate("u2", "t2", "cancelled")]
    assert wire.translator.turn == ""


def test_a_prompt_that_was_taken_back_before_it_began_is_interrupted() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.result()
    wire.line("system", subtype="init", session_id="s1")
    wire.messages += wire.translator.prompted("t2", "u2")
    said = wire.line("command_lifecycle", command_uuid="u2", state="cancelled")
    assert only(said, bodies.Result).outcome == "interrupted"
    wire.end()


def test_an_ask_is_void_when_its_tool_ends_without_an_answer() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.call("b", "Bash", command="ls")
    wire.ask("r1", "b")
    said = wire.done("b", "the stream was closed", is_error=True)
    assert kinds(said) == ["ask_cancelled", "tool_ended"]
    assert wire.translator.asks == {}
    wire.end()


def test_a_prompt_that_was_taken_back_does_not_lose_what_the_background_asks() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.call("a", "Agent", description="look around")
    wire.done("a", "launched", tool_use_result={"isAsync": True})
    wire.result()
    wire.line("system", subtype="init", session_id="s1")
    wire.messages += wire.translator.prompted("t2", "u2")
    wire.ask("r1", "b", agent_id="x")
    wire.call("b", "Bash", parent="a", command="ls")
    wire.line("control_cancel_request", request_id="r1")
    wire.ask("r2", "b")
    said = wire.line("command_lifecycle", command_uuid="u2", state="cancelled")
    assert kinds(said)[-1] == "permission_request"
    assert list(wire.translator.asks) == ["r2~2"]
    wire.end()
