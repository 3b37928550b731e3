"""Tools of Claude Code: their titles, their changes, their ends, and what they ask for."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.claude.control import SendAgain
from adapters.claude.tools import changes, titles
from beambot.api import Answer, UnifiedMessage, bodies
from tests.test_adapters.claude_wire import Wire, kinds, only


def test_a_tool_is_told_as_its_call_is_written() -> None:
    wire = Wire()
    wire.prompt("t")
    block = {"type": "tool_use", "id": "w", "name": "Write", "input": {}}
    started = only(wire.event("content_block_start", index=0, content_block=block), bodies.ToolStarted)
    assert (started.title, started.kind) == ("Write", "edit")

    def piece(text: str) -> list[UnifiedMessage]:
        return wire.event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": text})

    assert piece('{"file_path": "/repo/src/a') == []
    named = only(piece('.py", "content": "'), bodies.ToolProgress)
    assert (named.title, named.paths) == ("Write src/a.py", ("/repo/src/a.py",))
    told = [piece("x" * 100) for _ in range(100)]
    assert 1 <= sum(len(said) for said in told) <= 3
    whole = only(wire.call("w", "Write", file_path="/repo/src/a.py", content="x\ny\n"), bodies.ToolProgress)
    assert (whole.title, whole.input) == ("", {"file_path": "/repo/src/a.py", "content": "x\ny\n"})
    last = wire.done("w", "File created", tool_use_result={"filePath": "/repo/src/a.py", "content": "x\ny\n"})
    assert [(body.body.added, body.body.tool) for body in last[:1]] == [(2, "w")]  # type: ignore[union-attr]
    assert only(last, bodies.ToolEnded) == bodies.ToolEnded("w")
    assert only(wire.result(), bodies.Result).lines_added == 2


@pytest.mark.parametrize(
    ("name", "given", "title"),
    [
        ("Bash", {"command": "git status"}, "git status"),
        ("Read", {"file_path": "/repo/src/a.py"}, "Read src/a.py"),
        ("Read", {"file_path": "/etc/passwd"}, "Read /etc/passwd"),
        ("Read", {"file_path": "/repo/../etc/passwd"}, "Read /repo/../etc/passwd"),
        ("Grep", {"pattern": "todo", "path": "/repo/src"}, "Search for todo in src"),
        ("Glob", {"pattern": "*.py", "path": "/repo"}, "Find *.py"),
        ("Glob", {}, "Find files"),
        ("WebFetch", {"url": "https://example.org"}, "Fetch https://example.org"),
        ("Agent", {"description": "find the bug"}, "Delegate: find the bug"),
        ("SendMessage", {"type": "broadcast"}, "Write to everyone"),
        ("mcp__tracker__create_issue", {"title": "x"}, "Create issue (tracker)"),
        ("CronCreate", {}, "Cron create"),
        ("Read", {"file_path": 7}, "Read"),
    ],
)
def test_a_tool_has_a_title_that_fits_a_phone(name: str, given: dict[str, Any], title: str) -> None:
    assert titles.title(name, given, "/repo") == title


def test_changes_are_shown_before_and_after() -> None:
    edit = {"file_path": "/repo/a", "old_string": "x\n", "new_string": "y\nz\n"}
    assert changes.planned("Edit", edit, "t") == (bodies.Diff("/repo/a", "x\n", "y\nz\n", "t", "", 2, 1),)
    several = {"file_path": "/repo/a", "edits": [edit, {"old_string": 1}, "odd", edit]}
    assert len(changes.planned("MultiEdit", several, "t")) == 2
    assert changes.planned("NotebookEdit", {"notebook_path": "/n", "new_source": "1"}, "t")[0].path == "/n"
    assert changes.planned("Read", edit, "t") == ()
    hunk = {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" a", "-b", "+c"]}
    found = {"filePath": "/repo/a", "originalFile": "a\nb\n", "structuredPatch": [hunk]}
    patch = "@@ -1,2 +1,2 @@\n a\n-b\n+c"
    assert changes.made("Edit", edit, found, "t") == (bodies.Diff("/repo/a", None, None, "t", patch, 1, 1),)
    assert changes.made("Edit", edit, None, "t") == changes.planned("Edit", edit, "t")
    shell = {"bashEditDiff": {"files": [{"filePath": "/repo/a", "hunks": [hunk]}, {"filePath": 1}, 2]}}
    assert changes.made("Bash", {}, shell, "t") == (bodies.Diff("/repo/a", None, None, "t", patch, 1, 1),)


def test_the_checklist_is_a_plan() -> None:
    wire = Wire()
    wire.prompt("t")
    todos = [{"content": "a", "status": "completed"}, {"content": "b", "status": "odd"}, "odd"]
    said = wire.call("p", "TodoWrite", todos=todos)
    assert only(said, bodies.Plan).entries == (bodies.PlanEntry("a", "completed"), bodies.PlanEntry("b"))


@pytest.mark.parametrize(
    ("more", "outcome", "text"),
    [
        ({"text": "out"}, "done", "out"),
        ({"text": "(Bash completed with no output)"}, "done", ""),
        ({"text": "<tool_use_error>bad</tool_use_error>", "is_error": True}, "failed", "bad"),
        ({"text": [{"type": "text", "text": "a"}, {"type": "image"}, "odd"]}, "done", "a"),
        (
            {"text": "no", "is_error": True, "tool_result_meta": [{"id": "b", "non_execution_kind": "r"}]},
            "denied",
            "no",
        ),
    ],
)
def test_how_a_tool_went(more: dict[str, Any], outcome: str, text: str) -> None:
    wire = Wire()
    wire.prompt("t")
    wire.call("b", "Bash", command="ls")
    wire.now = 1.5
    ended = only(wire.done("b", **more), bodies.ToolEnded)
    assert (ended.outcome, ended.text, ended.duration_ms) == (outcome, text, 1500)


def test_a_permission_offers_each_suggestion_on_its_own() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.call("e", "Edit", file_path="/repo/a", old_string="x", new_string="y")
    suggestions = [
        {"type": "addRules", "behavior": "allow", "destination": "localSettings", "rules": [{"toolName": "Edit"}]},
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
        {"type": "unheard of"},
    ]
    given = {"file_path": "/repo/a", "old_string": "x", "new_string": "y"}
    asked = only(
        wire.ask("r1", "e", "Edit", input=given, permission_suggestions=suggestions, blocked_path="/etc/x"),
        bodies.PermissionRequest,
    )
    assert [(option.id, option.name, option.kind) for option in asked.options] == [
        ("allow", "Allow once", "allow_once"),
        ("suggestion-0", "Always allow Edit in this project", "allow_always"),
        ("suggestion-1", "Allow, and accept all edits from now on", "allow_always"),
        ("deny", "Deny", "reject_once"),
    ]
    assert (asked.title, asked.blocked_path, asked.tool) == ("Edit a", "/etc/x", "e")
    assert [(diff.old, diff.new) for diff in asked.diffs] == [("x", "y")]
    assert len(asked.suggestions) == 2


def test_a_path_inside_the_folder_is_not_called_blocked() -> None:
    wire = Wire()
    wire.prompt("t")
    asked = only(wire.ask("r1", "b", blocked_path="/repo/a.txt"), bodies.PermissionRequest)
    assert asked.blocked_path == ""


def test_a_question_has_its_choices_and_free_words() -> None:
    wire = Wire()
    wire.prompt("t")
    question = {
        "question": "Which?",
        "header": "W",
        "multiSelect": True,
        "options": [{"label": "A", "description": "first"}, {"label": ""}, "odd"],
    }
    asked = only(wire.ask("r1", "q", "AskUserQuestion", input={"questions": [question]}), bodies.Question)
    (item,) = asked.questions
    assert (item.id, item.text, item.multiple, item.free_text) == ("q0", "Which?", True, True)
    assert item.options == (bodies.QuestionOption("A", "first"),)


def test_a_question_without_questions_is_a_permission() -> None:
    wire = Wire()
    wire.prompt("t")
    assert kinds(wire.ask("r1", "q", "AskUserQuestion", input={"questions": "odd"})) == ["permission_request"]


def test_a_plan_that_was_not_written_down_is_still_reviewed() -> None:
    wire = Wire()
    wire.prompt("t")
    review = only(wire.ask("r1", "p", "ExitPlanMode"), bodies.PlanReview)
    assert "no plan" in review.plan
    assert [option.kind for option in review.options] == ["allow_once", "allow_always", "reject_once"]


def test_a_request_that_is_repeated_is_asked_once_and_answered_again() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.ask("r1", "b")
    assert wire.ask("r1", "b") == []
    answered = wire.translator.answered(Answer(ask="r1", verdict="allow"))
    assert answered is not None
    wire.messages += answered[1]
    assert wire.translator.answered(Answer(ask="r1", verdict="deny")) is None
    assert wire.ask("r1", "b") == []
    assert wire.control() == [SendAgain(answered[0])]
    wire.end()


def test_an_ask_that_was_withdrawn_and_comes_again_is_another_ask() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.ask("r1", "b")
    cancelled = wire.line("control_cancel_request", request_id="r1")
    assert only(cancelled, bodies.AskCancelled).ask == "r1"
    assert only(wire.ask("r1", "b"), bodies.PermissionRequest).ask == "r1~2"
    assert wire.translator.answered(Answer(ask="r1", verdict="allow")) is None
    wire.end()


def test_a_denied_tool_ends_as_denied_with_the_reason() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.call("b", "Bash", command="rm x")
    wire.ask("r1", "b")
    found = wire.translator.answered(Answer(ask="r1", verdict="deny", text="not this", by="ann"))
    assert found is not None
    resolved = only(found[1], bodies.AskResolved)
    assert (resolved.outcome, resolved.by, resolved.reason) == ("denied", "ann", "not this")
    words = "The user doesn't want to proceed with this tool use. STOP"
    ended = only(wire.done("b", words, is_error=True), bodies.ToolEnded)
    assert (ended.outcome, ended.text) == ("denied", "not this")
