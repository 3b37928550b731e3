"""A turn's parts as blocks: tools folded, reasoning folded, a quiet footer, a plain ending."""

from __future__ import annotations

import pytest

from beambot.log import HIDDEN, remember_secrets
from beambot.model.bodies import (
    Assistant,
    Diff,
    Failure,
    Outcome,
    Plan,
    PlanEntry,
    Result,
    Status,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    Usage,
)
from beambot.model.message import AnyBody, UnifiedMessage
from beambot.model.outbound import Checklist, Footer, Markdown, Notice, Tools, duration
from beambot.model.settings import Rendering
from beambot.render.compose import after_cut, part_block, tail_blocks, turn_buttons
from beambot.state.turn import Turn, reduce

PLAIN = Rendering()


def played(*bodies: AnyBody) -> Turn:
    turn = Turn("turn1")
    for number, body in enumerate(bodies, 1):
        turn = reduce(turn, UnifiedMessage(body, turn="turn1", at=float(number)))
    return turn


def first_block(turn: Turn, settings: Rendering = PLAIN) -> object:
    return part_block(turn, turn.every_part[0], settings, 100.0)


def tools(count: int) -> list[AnyBody]:
    return [ToolStarted(f"t{number}", "run", title=f"tool {number}") for number in range(count)]


@pytest.mark.parametrize(
    ("lines", "count", "shown", "hidden"),
    [
        (3, 5, ["tool 2", "tool 3", "tool 4"], 2),
        (3, 2, ["tool 0", "tool 1"], 0),
        (0, 4, [], 4),
        (1, 1, ["tool 0"], 0),
    ],
)
def test_the_newest_tools_are_shown_and_the_rest_counted(
    lines: int, count: int, shown: list[str], hidden: int
) -> None:
    block = first_block(played(*tools(count)), Rendering(tool_lines=lines))
    assert isinstance(block, Tools)
    assert [line.title for line in block.lines] == shown
    assert block.hidden == hidden


def test_a_tool_that_runs_shows_no_time_so_that_looking_at_it_is_no_change() -> None:
    turn = played(*tools(1))
    assert part_block(turn, turn.every_part[0], PLAIN, 10.0) == part_block(turn, turn.every_part[0], PLAIN, 99.0)


def test_a_tool_that_ended_shows_its_state_and_its_time() -> None:
    block = first_block(played(*tools(1), TextDelta("x"), ToolEnded("t0", "denied")))
    assert isinstance(block, Tools)
    assert (block.lines[0].state, block.lines[0].seconds) == ("denied", 2.0)


def test_a_title_is_one_short_line_without_secrets() -> None:
    remember_secrets(["open-sesame"])
    block = first_block(played(ToolStarted("a", "run", title="echo open-sesame\n" + "very " * 100)))
    assert isinstance(block, Tools)
    title = block.lines[0].title
    assert title.startswith(f"echo {HIDDEN} very")
    assert "\n" not in title
    assert len(title) == 120
    assert title.endswith("…")


def test_reasoning_is_folded_to_its_newest_words_or_hidden() -> None:
    short, long = played(ThinkingDelta("hm")), played(ThinkingDelta("old " * 500 + "newest"))
    assert first_block(short) == Markdown("hm", folded=True)
    block = first_block(long)
    assert isinstance(block, Markdown)
    assert block.text.startswith("… ")
    assert block.text.endswith("newest")
    assert len(block.text) <= 1002
    assert first_block(short, Rendering(thinking="hide")) is None


def test_reasoning_is_not_shown_from_the_middle_of_a_secret() -> None:
    remember_secrets(["abcdefghijklmnop"])
    for after in range(980, 1010):
        block = first_block(played(ThinkingDelta("x " * 600 + "abcdefghijklmnop" + "y" * after)))
        assert isinstance(block, Markdown)
        assert "p" + "y" * 900 not in block.text


def test_trouble_says_what_helps() -> None:
    assert first_block(played(Failure("no network", fix="plug it in"))) == Notice(
        "no network\nWhat helps: plug it in", level="error"
    )


def test_a_running_turn_shows_its_plan_and_its_status() -> None:
    entries = (PlanEntry("a"),)
    assert tail_blocks(played(Plan(entries), Status("compacting")), PLAIN, 0.0) == (
        Checklist(entries),
        Footer("compacting"),
    )
    assert tail_blocks(played(TextDelta("x")), PLAIN, 0.0) == ()


@pytest.mark.parametrize(
    ("outcome", "error", "words", "level"),
    [
        ("interrupted", "", "Stopped.", "warning"),
        ("interrupted", "Stopped by Ann.", "Stopped by Ann.", "warning"),
        ("refused", "", "The agent refused to go on.", "warning"),
        ("limit", "", "The agent reached its limit for one turn.", "warning"),
        ("error", "", "The agent failed.", "error"),
        ("error", "out of money", "out of money", "error"),
    ],
)
def test_an_ending_that_is_no_success_is_said(outcome: Outcome, error: str, words: str, level: str) -> None:
    notice = tail_blocks(played(TextDelta("x"), Result(outcome, error=error)), PLAIN, 0.0)[0]
    assert isinstance(notice, Notice)
    assert (notice.text, notice.level) == (words, level)


def test_a_success_says_nothing_more_unless_nothing_was_said() -> None:
    off = Rendering(footer="off")
    assert tail_blocks(played(TextDelta("x"), Result()), off, 0.0) == ()
    assert tail_blocks(played(Result()), off, 0.0) == (Notice("The agent ended without a word."),)


def test_an_error_that_was_told_in_its_place_is_not_told_twice() -> None:
    off = Rendering(footer="off")
    assert tail_blocks(played(Failure("boom"), Result("error", error="boom")), off, 0.0) == ()
    assert tail_blocks(played(Failure("boom"), Result("error")), off, 0.0) == ()
    told = tail_blocks(played(Failure("boom"), Result("error", error="and more")), off, 0.0)
    assert told == (Notice("and more", level="error"),)


def footer(turn: Turn, settings: Rendering) -> str:
    block = tail_blocks(turn, settings, 0.0)[-1]
    assert isinstance(block, Footer)
    return block.text


def test_the_footer_is_quiet_full_or_off() -> None:
    turn = played(
        Assistant((), model="m-1"),
        Diff("a", added=3, removed=1),
        Diff("b", added=1),
        TextDelta("x"),
        Result(usage=Usage(1000, 234, cost_usd=0.126)),
    )
    assert footer(turn, PLAIN) == "5.0 s · 2 files +4 −1 · $0.13"
    assert footer(turn, Rendering(footer="full")) == "m-1 · 5.0 s · 2 files +4 −1 · 1,234 tokens · $0.13"
    assert tail_blocks(turn, Rendering(footer="off"), 0.0) == ()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0.0 s"),
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (42, "42 s"),
        (89, "89 s"),
        (120, "2 min"),
        (5400, "1 h 30 min"),
    ],
)
def test_a_time_is_said_as_people_say_it(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_what_can_be_done_about_a_turn() -> None:
    def labels(turn: Turn, *, stop: bool = True) -> list[str]:
        return [b.label for row in turn_buttons(turn, "s" * 16, stop_button=stop) for b in row]

    assert labels(played(TextDelta("x"))) == ["Stop"]
    assert labels(played(TextDelta("x")), stop=False) == []
    assert labels(played(Result())) == []
    assert labels(played(Result("error"))) == ["Send again"]
    assert labels(played(Result("limit"))) == ["Send again"]
    rows = (*turn_buttons(played(), "s" * 16, stop_button=True), *after_cut("s" * 16, "t" * 16, prompted=True))
    assert all(len(button.data.encode()) <= 64 for row in rows for button in row)
    assert [button.label for row in after_cut("s", "t", prompted=False) for button in row] == ["Go on"]
