"""What the lines of Claude Code mean, one thing at a time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapters.claude import requests
from adapters.claude.control import Background, HookCall, Reply, SessionId, Strange, ToolCall
from adapters.claude.translate import Translator
from beambot.api import bodies, content, team
from beambot.state.turn import Turn, reduce, spoken
from beambot.testing.adapter_contract import check_stream
from tests.test_adapters.claude_wire import Wire, kinds, only


def test_a_complete_block_does_not_double_what_was_streamed() -> None:
    wire = Wire()
    wire.prompt("t")
    for words in ("one ", "two"):
        wire.text(words)
    wire.line("assistant", message={"content": [{"type": "text", "text": "one two"}]})
    wire.result(result="one two")
    turn = Turn("t")
    for message in wire.messages:
        turn = reduce(turn, message)
    assert spoken(turn) == "one two"


def test_words_that_were_cut_off_are_told_whole_when_the_turn_ends() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.text("half a sent")
    said = wire.result(terminal_reason="aborted_streaming")
    assert only(said, bodies.Assistant).blocks == (content.Text("half a sent"),)
    assert kinds(said) == ["assistant", "result"]


def test_thinking_and_text_are_told_apart_and_by_whom() -> None:
    wire = Wire()
    wire.prompt("t")
    thought = wire.event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "hm"})
    word = wire.text("yes", parent="agent-1")
    assert (kinds(thought), thought[0].parent) == (["thinking_delta"], "")
    assert (kinds(word), word[0].parent, word[0].turn) == (["text_delta"], "agent-1", "t")


def test_a_failed_request_to_the_model_is_the_error_of_the_turn_and_not_its_answer() -> None:
    wire = Wire()
    wire.prompt("t")
    words = {"content": [{"type": "text", "text": "API Error: 500"}]}
    assert wire.line("assistant", message=words, is_api_error_message=True) == []
    result = only(wire.result(is_error=True, result="API Error: 500"), bodies.Result)
    assert (result.outcome, result.error, result.text) == ("error", "API Error: 500", "")


def test_an_error_that_the_turn_survived_is_said_after_all() -> None:
    wire = Wire()
    wire.prompt("t")
    words = {"content": [{"type": "text", "text": "API Error: 500"}]}
    wire.line("assistant", message=words, is_api_error_message=True)
    assert kinds(wire.result(result="fine")) == ["assistant", "result"]


@pytest.mark.parametrize(
    ("fields", "outcome", "error"),
    [
        ({}, "success", ""),
        ({"is_error": True, "result": "no"}, "error", "no"),
        ({"subtype": "error_max_turns"}, "limit", "the agent took as many steps as it may"),
        ({"stop_reason": "refusal"}, "refused", "the agent gave up without saying why"),
        (
            {"subtype": "error_during_execution", "is_error": True, "errors": ["[ede_diagnostic] x", "y"]},
            "error",
            "y",
        ),
        (
            {"is_error": True, "terminal_reason": "aborted_tools", "errors": ["[ede_diagnostic] x"]},
            "interrupted",
            "",
        ),
    ],
)
def test_how_a_turn_went(fields: dict[str, Any], outcome: str, error: str) -> None:
    wire = Wire()
    wire.prompt("t")
    result = only(wire.result(**fields), bodies.Result)
    assert (result.outcome, result.error) == (outcome, error)


def test_an_interrupt_that_an_old_version_calls_an_error_is_an_interrupt() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.translator.interrupted()
    said = wire.result(subtype="error_during_execution", is_error=True)
    assert only(said, bodies.Result).outcome == "interrupted"
    wire.prompt("t2")
    assert only(wire.result(is_error=True), bodies.Result).outcome == "error"


def spent(wire: Wire, turn: str, total: float, tokens: int) -> bodies.Usage:
    wire.prompt(turn)
    usage = {"input_tokens": 5}
    models = {"big": {"inputTokens": tokens, "costUSD": total}}
    result = only(wire.result(total_cost_usd=total, usage=usage, modelUsage=models), bodies.Result)
    assert isinstance(result, bodies.Result)
    return result.usage if not result.models else result.models["big"]


def test_a_turn_costs_what_was_added_to_the_sum() -> None:
    wire = Wire()
    assert spent(wire, "a", 0.5, 10) == bodies.Usage(10, cost_usd=0.5)
    assert spent(wire, "b", 0.75, 14) == bodies.Usage(4, cost_usd=0.25)
    wire.line("conversation_reset", new_conversation_id="x")
    assert spent(wire, "c", 0.1, 2) == bodies.Usage(2, cost_usd=0.1)


def test_what_an_earlier_process_spent_is_not_charged_to_the_first_turn_after_it() -> None:
    wire = Wire(resumed=True)
    assert spent(wire, "a", 0.5, 10) == bodies.Usage(5, cost_usd=None)
    assert spent(wire, "b", 0.6, 12) == bodies.Usage(2, cost_usd=0.1)


def test_an_init_that_comes_again_tells_only_what_is_different() -> None:
    wire = Wire()
    fields = {"subtype": "init", "session_id": "s1", "cwd": "/repo"}
    wire.line("system", **fields, model="big", permissionMode="plan", slash_commands=["a", "b"])
    assert wire.line("system", **fields, model="big", permissionMode="plan", slash_commands=["b", "a"]) == []
    said = wire.line("system", **fields, model="small", permissionMode="default", slash_commands=["a", "c"])
    assert kinds(said) == ["mode_changed", "model_changed", "commands_changed"]


def test_a_setting_that_was_accepted_is_told_once() -> None:
    reply = requests.initialized({"models": [{"value": "opus", "displayName": "Opus", "resolvedModel": "opus-9"}]})
    translator = Translator(lambda: 0.0, "/repo")
    translator.opened("s", reply, "/repo")
    assert only(translator.changed(model="opus"), bodies.ModelChanged).model == "opus-9"
    line = {"type": "system", "subtype": "init", "session_id": "s", "model": "opus-9"}
    assert translator.read(json.dumps(line).encode()) == []


def test_a_cleared_conversation_has_another_id() -> None:
    wire = Wire()
    wire.prompt("t")
    said = wire.line("conversation_reset", new_conversation_id="x", trigger="clear")
    assert only(said, bodies.CompactBoundary).trigger == "clear"
    wire.line("system", subtype="init", session_id="s2")
    assert wire.control() == [SessionId("s2")]
    assert wire.translator.session == "s2"


def test_control_traffic_is_for_the_session_alone() -> None:
    wire = Wire()
    call = {"subtype": "hook_callback", "callback_id": "h1", "input": {"a": 1}, "tool_use_id": "b"}
    assert wire.line("control_request", request_id="1", request=call) == []
    message = {"subtype": "mcp_message", "server_name": "beam", "message": {"id": 0}}
    wire.line("control_request", request_id="2", request=message)
    said = wire.line("control_request", request_id="3", request={"subtype": "unheard_of"})
    assert only(said, bodies.Unknown).kind == "control_request/unheard_of"
    refused = {"subtype": "error", "request_id": "4", "error": "no", "error_code": "why"}
    wire.line("control_response", response=refused)
    wire.line("system", subtype="background_tasks_changed", tasks=[{"task_id": "x"}])
    assert wire.control() == [
        HookCall("1", "h1", {"a": 1}, "b"),
        ToolCall("2", "beam", {"id": 0}),
        Strange("3", "unheard_of"),
        Reply("4", False, {}, "no", "why"),
        Background(("x",)),
    ]


def test_quiet_news() -> None:
    wire = Wire()
    wire.prompt("t")
    retry = {"attempt": 1, "max_retries": 3, "retry_delay_ms": 2400, "error_status": 500}
    status = only(wire.line("system", subtype="api_retry", **retry), bodies.Status)
    assert (status.text, status.state) == (
        "The model's service answers with error 500: trying again in 2 s (1 of 3)",
        "retrying",
    )
    info = {"status": "rejected", "resetsAt": 1800000000, "rateLimitType": "five_hour"}
    limited = only(wire.line("rate_limit_event", rate_limit_info=info), bodies.RateLimited)
    assert (limited.text, limited.resets_at) == ("The account has used up the limit of five hours", 1800000000)
    assert wire.line("rate_limit_event", rate_limit_info={"status": "allowed"}) == []
    assert kinds(wire.line("keep_alive")) == ["keep_alive"]
    assert only(wire.line("tool_use_summary", summary="did it"), bodies.ToolSummary).text == "did it"
    assert only(wire.line("auth_status", error="expired"), bodies.AuthStatus).logged_in is False
    assert wire.line("tool_progress", tool_use_id="nobody", elapsed_time_seconds=3) == []
    wire.call("b", "Bash", command="make")
    assert (
        only(wire.line("tool_progress", tool_use_id="b", elapsed_time_seconds=3), bodies.ToolProgress).text == "3 s"
    )
    hook = {"hook_name": "lint", "hook_event": "Stop", "output": "ok"}
    assert only(wire.line("system", subtype="hook_response", **hook), bodies.HookEvent).hook == "Stop"
    said = wire.line("system", subtype="session_title_changed", title="The bug")
    assert only(said, bodies.TitleChanged).title == "The bug"
    task = {"task_id": "k", "tool_use_id": "a", "status": "completed", "summary": "found it"}
    said = wire.line("system", subtype="task_notification", **task)
    assert only(said, team.TaskNotification) == team.TaskNotification("k", "completed", "found it", "a")
    wire.end()


def test_a_command_in_the_foreground_is_no_task() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.call("b", "Bash", command="make")
    task = {"task_id": "k", "tool_use_id": "b"}
    assert wire.line("system", subtype="task_started", **task, is_backgrounded=False) == []
    progress = wire.line("system", subtype="task_progress", **task, description="half way")
    assert only(progress, bodies.ToolProgress).text == "half way"
    assert wire.line("system", subtype="task_notification", **task, status="completed") == []


def test_words_before_the_session_stands_wait_for_it() -> None:
    translator = Translator(lambda: 0.0, "/repo")
    assert translator.read(b'{"type":"system","subtype":"status","permissionMode":"plan"}') == []
    said = translator.opened("s", requests.Initialized(), "/repo")
    assert kinds(said) == ["session_init", "mode_changed"]


def test_a_session_that_dies_before_it_stands_is_still_a_stream() -> None:
    said = Translator(lambda: 0.0).closed("no licence", 3)
    assert kinds(said) == ["session_init", "error", "session_closed"]
    assert check_stream(said, complete=True) == []


def test_a_session_that_was_closed_on_purpose_is_interrupted_and_no_error() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.call("b", "Bash", command="make")
    said = wire.translator.closed("closed", 0, expected=True)
    assert kinds(said) == ["tool_ended", "result", "session_closed"]
    assert only(said, bodies.Result).outcome == "interrupted"
