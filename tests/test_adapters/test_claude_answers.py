"""What is written to Claude Code: answers, prompts and requests, as its wire wants them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapters.claude import answers, requests
from adapters.claude.reading.asks import OpenAsk
from beambot.api import Answer

RULE = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "ls *"}],
    "behavior": "allow",
    "destination": "localSettings",
}
MODE = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
GIVEN = {"command": "ls"}


def ask(name: str = "Bash", given: Any = GIVEN, suggestions: Any = None) -> OpenAsk:
    asked = requests.CanUseTool(name, given, permission_suggestions=suggestions, tool_use_id="b")
    return OpenAsk("r1~2", "r1", asked)


def written(found: OpenAsk, **fields: Any) -> tuple[dict[str, Any], str]:
    """What goes to the program, and how the ask ended."""
    line, resolved = answers.answer(found, Answer(ask=found.id, by="ann", **fields))
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    data = json.loads(line)
    assert (data["type"], data["response"]["subtype"], data["response"]["request_id"]) == (
        "control_response",
        "success",
        "r1",
    )
    assert (resolved.ask, resolved.by) == ("r1~2", "ann")
    return data["response"]["response"], resolved.outcome


def test_a_yes_gives_back_the_input_as_it_was_asked() -> None:
    assert written(ask(), verdict="allow") == ({"behavior": "allow", "updatedInput": GIVEN}, "allowed")


def test_a_yes_to_something_else_replaces_the_input() -> None:
    said, _ = written(ask(), verdict="allow", input={"command": "ls -l"})
    assert said == {"behavior": "allow", "updatedInput": {"command": "ls -l"}}


@pytest.mark.parametrize(
    ("fields", "granted"),
    [
        ({"option": "allow"}, None),
        ({"option": "suggestion-0"}, [RULE]),
        ({"option": "suggestion-1"}, [MODE]),
        ({"option": "suggestion-2"}, None),
        ({"rules": (MODE,)}, [MODE]),
        ({"rules": (MODE, RULE)}, [RULE, MODE]),
        ({"option": "suggestion-1", "rules": (MODE,)}, [MODE]),
        ({"rules": ({**MODE, "mode": "bypassPermissions"},)}, None),
    ],
)
def test_only_the_suggestions_that_were_chosen_are_granted(fields: dict[str, Any], granted: Any) -> None:
    said, _ = written(ask(suggestions=[RULE, MODE]), verdict="allow", **fields)
    assert said.get("updatedPermissions") == granted


def test_a_suggestion_that_cannot_be_put_in_words_does_not_move_the_others() -> None:
    said, _ = written(ask(suggestions=[{"type": "odd"}, "odd", MODE]), verdict="allow", option="suggestion-0")
    assert said["updatedPermissions"] == [MODE]


def test_a_no_has_a_reason_and_may_stop_the_turn() -> None:
    assert written(ask(), verdict="deny", text="use printf") == (
        {"behavior": "deny", "message": "use printf"},
        "denied",
    )
    said, _ = written(ask(), verdict="deny", interrupt=True)
    assert said == {"behavior": "deny", "message": "The user said no.", "interrupt": True}


QUESTIONS = {
    "questions": [
        {"question": "Which colour?", "options": [{"label": "Red"}, {"label": "Blue"}]},
        {"question": "Which sizes?", "multiSelect": True, "options": [{"label": "S"}, {"label": "M"}]},
    ]
}


def test_answers_go_by_the_text_of_their_questions() -> None:
    found = ask("AskUserQuestion", QUESTIONS)
    said, outcome = written(found, verdict="answer", fields={"q0": ("Blue",), "q1": ("S", "M"), "forged": ("x",)})
    assert outcome == "answered"
    assert said["updatedInput"] == {**QUESTIONS, "answers": {"Which colour?": "Blue", "Which sizes?": "S, M"}}


def test_words_of_ones_own_answer_a_single_question() -> None:
    found = ask("AskUserQuestion", {"questions": QUESTIONS["questions"][:1]})
    said, _ = written(found, verdict="answer", text="green")
    assert said["updatedInput"]["answers"] == {"Which colour?": "green"}
    said, _ = written(found, verdict="answer", fields={"q0": ()})
    assert said["updatedInput"]["answers"] == {}


def test_a_question_can_be_refused() -> None:
    said, outcome = written(ask("AskUserQuestion", QUESTIONS), verdict="deny", text="ask me later")
    assert (said, outcome) == ({"behavior": "deny", "message": "ask me later"}, "denied")


def test_a_plan_is_approved_with_or_without_edits_or_kept() -> None:
    plan = ask("ExitPlanMode", {"plan": "# Plan"})
    assert written(plan, verdict="allow", option="allow")[0] == {
        "behavior": "allow",
        "updatedInput": {"plan": "# Plan"},
    }
    assert written(plan, verdict="allow", option="accept_edits")[0]["updatedPermissions"] == [MODE]
    kept, outcome = written(plan, verdict="deny", option="deny")
    assert (kept["message"], outcome) == ("The user wants to keep planning.", "denied")
    assert written(plan, verdict="deny", text="mind the tests")[0]["message"] == "mind the tests"


def test_an_input_that_is_no_mapping_is_answered_all_the_same() -> None:
    assert written(ask(given=None), verdict="allow")[0] == {"behavior": "allow", "updatedInput": {}}


def test_a_prompt_has_its_words_pictures_and_files() -> None:
    line = answers.prompt("look", "u1", [("image/png", "AAAA")], [("a.pdf", "/tmp/a.pdf")], "now")
    assert json.loads(line) == {
        "type": "user",
        "message": {
            "role": "user",
            "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                {"type": "text", "text": "look\n\nThe file a.pdf is at /tmp/a.pdf"},
            ],
        },
        "parent_tool_use_id": None,
        "session_id": "",
        "uuid": "u1",
        "priority": "now",
    }
    assert json.loads(answers.prompt("", "u1"))["message"]["content"] == [{"type": "text", "text": ""}]
    assert "priority" not in json.loads(answers.prompt("x", "u1"))
    alone = json.loads(answers.prompt("", "u1", files=[("a", "/a")]))["message"]["content"]
    assert alone == [{"type": "text", "text": "The file a is at /a"}]


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        (answers.initialize("1"), {"subtype": "initialize"}),
        (answers.initialize("1", {"Stop": []}, ["b"]), {"hooks": {"Stop": []}, "sdkMcpServers": ["b"]}),
        (answers.interrupt("1"), {"subtype": "interrupt"}),
        (answers.interrupt("1", True), {"subtype": "interrupt", "cancel_queued": True}),
        (answers.cancel_prompt("1", "u"), {"subtype": "cancel_async_message", "message_uuid": "u"}),
        (answers.set_model("1", "opus"), {"subtype": "set_model", "model": "opus"}),
        (answers.set_model("1", ""), {"subtype": "set_model", "model": "default"}),
        (answers.set_mode("1", "plan"), {"subtype": "set_permission_mode", "mode": "plan"}),
        (answers.set_thinking("1", 9), {"subtype": "set_max_thinking_tokens", "max_thinking_tokens": 9}),
    ],
)
def test_a_request_of_our_own(line: bytes, request_: dict[str, Any]) -> None:
    data = json.loads(line)
    assert (data["type"], data["request_id"]) == ("control_request", "1")
    assert request_.items() <= data["request"].items()


def test_other_requests_of_the_program_are_served_or_refused() -> None:
    assert json.loads(answers.hook_reply("1"))["response"]["response"] == {"continue": True}
    assert json.loads(answers.hook_reply("1", {}))["response"]["response"] == {}
    served = json.loads(answers.tool_reply("1", {"id": 0}))["response"]
    assert served == {"subtype": "success", "request_id": "1", "response": {"mcp_response": {"id": 0}}}
    refused = json.loads(answers.refusal("1", "no"))["response"]
    assert refused == {"subtype": "error", "request_id": "1", "error": "no"}
