"""A turn as its messages tell it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beambot.model.bodies import (
    AskCancelled,
    AskResolved,
    Assistant,
    Diff,
    Failure,
    KeepAlive,
    PermissionRequest,
    Plan,
    PlanEntry,
    PlanReview,
    Question,
    RateLimited,
    Result,
    SessionInit,
    Status,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolProgress,
    ToolStarted,
    Unknown,
)
from beambot.model.content import Block, Code, Image, Text, Thinking, ToolUse
from beambot.model.message import AnyBody, UnifiedMessage
from beambot.state.turn import FileChange, Trouble, Turn, Words, Work, reduce


def played(*said: AnyBody | tuple[AnyBody, str], turn: Turn | None = None) -> Turn:
    """The turn after these bodies, each a second after the one before; a pair gives the parent too."""
    turn = turn or Turn("t1")
    for number, one in enumerate(said, 1):
        body, parent = one if isinstance(one, tuple) else (one, "")
        turn = reduce(turn, UnifiedMessage(body, parent, "t1", "s1", number, float(number)))
    return turn


def story(turn: Turn) -> list[str]:
    """The parts in a few letters: ~ thinking, ! trouble, [..] work."""
    told: list[str] = []
    for part in turn.every_part:
        match part:
            case Words(text=text, thinking=thinking):
                told.append(("~" if thinking else "") + text.whole())
            case Work(tools=tools):
                told.append(f"[{' '.join(tools)}]")
            case Trouble(text=text):
                told.append(f"!{text}")
    return told


def said(*blocks: Block) -> Assistant:
    return Assistant(tuple(blocks))


def test_parts_stand_in_the_order_in_which_they_were_said() -> None:
    turn = played(
        ThinkingDelta("let"),
        ThinkingDelta(" me"),
        TextDelta("I "),
        TextDelta("look"),
        ToolStarted("a", "read"),
        ToolStarted("b", "read"),
        TextDelta("found"),
        Failure("lost", fix="find"),
        TextDelta("again"),
    )
    assert story(turn) == ["~let me", "I look", "[a b]", "found", "!lost", "again"]
    assert len(turn.parts) == 5


def test_tools_are_nested_under_their_callers() -> None:
    turn = played(
        ToolStarted("a", "task"),
        (ToolStarted("b", "read"), "a"),
        (ToolStarted("c", "read"), "b"),
        (ToolStarted("d", "read"), "nobody knows"),
    )
    assert [turn.tools[tool].depth for tool in "abcd"] == [0, 1, 2, 1]


def test_a_tool_tells_its_state_its_times_and_its_newest_title() -> None:
    turn = played(
        ToolStarted("a", "bash", title="run"),
        ToolProgress("a", title="run the tests", paths=("x.py",)),
        ToolProgress("a", text="half"),
        ToolEnded("a", "failed"),
    )
    tool = turn.tools["a"]
    assert (tool.title, tool.state, tool.started_at, tool.ended_at) == ("run the tests", "failed", 1.0, 4.0)
    assert tool.paths == ("x.py",)
    assert played(ToolStarted("a", "bash")).tools["a"].title == "bash"


def test_only_the_first_end_of_a_tool_counts() -> None:
    once = played(ToolStarted("a", "bash"), ToolEnded("a", "cancelled"))
    assert played(ToolEnded("a", "done"), ToolEnded("a", "failed"), turn=once) is once


def test_news_of_a_tool_that_never_started_change_nothing() -> None:
    before = played(TextDelta("x"))
    assert played(ToolEnded("ghost"), ToolProgress("ghost", title="boo"), turn=before) is before


def test_the_complete_text_replaces_what_was_streamed() -> None:
    assert story(played(TextDelta("hel"), said(Text("hello")))) == ["hello"]
    assert story(played(TextDelta("hello"), said(Text("hello")))) == ["hello"]
    assert story(played(said(Text("hello")))) == ["hello"]


def test_a_blank_at_the_end_is_no_reason_to_replace_what_stands() -> None:
    assert story(played(TextDelta("\n\nhello \n"), said(Text("hello")))) == ["\n\nhello \n"]
    assert story(played(TextDelta("hello"), said(Text("hello \n")))) == ["hello \n"]


def test_words_after_a_complete_message_are_a_part_of_their_own() -> None:
    turn = played(TextDelta("one"), said(Text("one")), TextDelta("two"), said(Text("two")), said(Text("two")))
    assert story(turn) == ["one", "two", "two"]


def test_a_message_of_several_blocks_completes_each_where_it_was_streamed() -> None:
    streamed = (ThinkingDelta("hm"), TextDelta("first"), ToolStarted("a", "read"), TextDelta("second"))
    whole = said(Thinking("hm"), Text("first"), ToolUse("a", "read"), Text("second"))
    turn = played(*streamed, whole)
    assert story(turn) == ["~hm", "first", "[a]", "second"]
    assert all(part.complete for part in turn.every_part if isinstance(part, Words))
    assert story(played(*streamed, ToolStarted("b", "read"), whole)) == ["~hm", "first", "[a]", "second", "[b]"]


def test_a_message_that_was_never_streamed_does_not_replace_an_earlier_one() -> None:
    assert story(played(TextDelta("kept"), ToolStarted("a", "read"), said(Text("new")))) == ["kept", "[a]", "new"]


def test_a_message_does_not_complete_words_from_before_the_last_complete_message() -> None:
    old = (
        TextDelta("ok"),
        ToolStarted("a", "read"),
        TextDelta("then"),
        said(Text("then")),
        ToolStarted("b", "read"),
    )
    assert story(played(*old, said(Text("ok")))) == ["ok", "[a]", "then", "[b]", "ok"]


def test_a_message_without_words_replaces_no_words() -> None:
    turn = played(TextDelta("kept"), said(Image("image/png", "AA==")), said(Text("")), TextDelta(" on"))
    assert story(turn) == ["kept on"]


def test_code_that_comes_apart_from_prose_stands_in_a_fence() -> None:
    assert story(played(said(Text("see"), Code("x = 1", "python")))) == ["see", "```python\nx = 1\n```\n"]


def test_thinking_never_mixes_with_text() -> None:
    turn = played(ThinkingDelta("a"), TextDelta("b"), ThinkingDelta("c"), said(Thinking("c!")))
    assert story(turn) == ["~a", "b", "~c!"]


def test_the_words_of_a_subagent_do_not_mix_with_the_words_of_its_caller() -> None:
    turn = played(TextDelta("mine "), (TextDelta("its"), "a"), (said(Text("its")), "a"), said(Text("mine ")))
    assert story(turn) == ["mine ", "its"]
    assert [part.parent for part in turn.every_part if isinstance(part, Words)] == ["", "a"]


def test_asks_are_open_until_they_are_settled() -> None:
    asked = (PermissionRequest("p", "may I"), Question("q", ()), PlanReview("r", "plan"))
    assert played(*asked).asks == ("p", "q", "r")
    assert played(*asked, asked[0]).asks == ("p", "q", "r")
    assert played(*asked, AskResolved("q", "answered"), AskCancelled("p")).asks == ("r",)
    assert played(*asked, AskCancelled("nobody")).asks == ("p", "q", "r")
    assert played(*asked, Result()).asks == ()


def test_the_newest_plan_is_the_plan() -> None:
    first, second = (PlanEntry("a"), PlanEntry("b")), (PlanEntry("a", "completed"),)
    assert played(Plan(first), Plan(second)).plan == second


def test_a_status_stands_until_there_is_something_better_to_show() -> None:
    assert played(Status("starting")).status == "starting"
    assert played(RateLimited("wait a minute")).status == "wait a minute"
    for better in (TextDelta("x"), ToolStarted("a", "read"), Result()):
        assert played(Status("starting"), better).status == ""


def test_a_result_seals_the_turn() -> None:
    turn = played(TextDelta("done"), Result("limit", error="too long"))
    assert turn.live is None
    assert story(turn) == ["done"]
    assert turn.result == Result("limit", error="too long")
    assert turn.ended_at == 2.0


def test_an_answer_that_comes_only_with_the_result_is_words_like_any_other() -> None:
    assert story(played(ThinkingDelta("hm"), Result(text="forty-two"))) == ["~hm", "forty-two"]
    assert story(played(TextDelta("42"), Result(text="forty-two"))) == ["42"]


def test_files_are_counted_over_all_their_changes() -> None:
    turn = played(Diff("a", added=2, removed=1), Diff("b", added=1), Diff("a", added=3))
    assert turn.files == {"a": FileChange("a", 5, 1), "b": FileChange("b", 1, 0)}


def test_the_model_is_the_one_that_answered_last() -> None:
    assert played(Assistant((), model="one"), Assistant((), model="two"), Assistant(())).model == "two"


@pytest.mark.parametrize(
    "body", [Unknown("x", {"y": 1}), KeepAlive(), SessionInit("a")], ids=["?", "alive", "init"]
)
def test_what_does_not_belong_to_a_turn_changes_nothing(body: AnyBody) -> None:
    before = played(TextDelta("x"), ToolStarted("a", "read"))
    assert played(body, turn=before) is before


def test_an_earlier_state_is_never_changed() -> None:
    before = played(TextDelta("x"), ToolStarted("a", "read"))
    copy = (before.parts, before.live, dict(before.tools), dict(before.files))
    played(ToolEnded("a"), Diff("f", added=1), TextDelta("y"), Result(), turn=before)
    assert (before.parts, before.live, before.tools, before.files) == copy


words = st.text("ab \n`☃", max_size=6)
deltas = st.builds(TextDelta, words) | st.builds(ThinkingDelta, words)
others = st.sampled_from(
    [
        ToolStarted("a", "read"),
        ToolStarted("b", "edit"),
        ToolEnded("a"),
        Failure("oh"),
        Plan((PlanEntry("x"),)),
        PermissionRequest("p", "may I"),
        AskCancelled("p"),
        Unknown("x"),
        Status("busy"),
    ]
)


@settings(max_examples=150, deadline=None)
@given(stream=st.lists(st.tuples(deltas | others, st.sampled_from(["", "", "", "a"])), max_size=40))
def test_no_word_of_a_stream_is_lost_or_moved(stream: Sequence[tuple[AnyBody, str]]) -> None:
    turn = played(*stream, Result())
    for thinking, kind in ((False, TextDelta), (True, ThinkingDelta)):
        told = "".join(
            part.text.whole() for part in turn.every_part if isinstance(part, Words) and part.thinking is thinking
        )
        assert told == "".join(body.text for body, _ in stream if isinstance(body, kind))


@settings(max_examples=100, deadline=None)
@given(stream=st.lists(deltas | others, max_size=30))
def test_sealed_parts_never_change_while_a_turn_streams(stream: Sequence[AnyBody]) -> None:
    turn = Turn("t1")
    for body in stream:
        after = played(body, turn=turn)
        assert after.parts[: len(turn.parts)] == turn.parts
        turn = after
