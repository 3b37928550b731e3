"""What a turn did, in full: nothing is told twice, and no more of it than is asked for."""

from __future__ import annotations

from collections.abc import Iterator

from beambot.model.bodies import ToolEnded, ToolOutput, ToolStarted
from beambot.model.message import AnyBody, UnifiedMessage
from beambot.render.details import ToolStory, _tell, details, stories


def told(*bodies: AnyBody) -> list[ToolStory]:
    return stories([UnifiedMessage(body) for body in bodies])


def test_an_end_that_repeats_the_whole_output_is_not_shown_twice() -> None:
    start = ToolStarted("t", "run", title="run")
    (story,) = told(start, ToolOutput("t", "one\n"), ToolOutput("t", "two\n"), ToolEnded("t", text="one\ntwo\n"))
    assert story.said == ["one\n", "two\n"]
    (story,) = told(start, ToolOutput("t", "one\n"), ToolEnded("t", text="two\n"))
    assert story.said == ["one\n", "two\n"]


def test_many_pieces_of_output_are_not_put_together_for_each_new_one() -> None:
    class Counting(list[str]):
        read = 0

        def __iter__(self) -> Iterator[str]:
            Counting.read += 1
            return super().__iter__()

    story = ToolStory("run", {}, Counting())
    for number in range(200):
        _tell(story, ToolOutput("t", f"line {number}\n"), 0.0)
    assert len(story.said) == 200
    assert Counting.read < 10


def test_no_tool_is_told_beyond_what_can_be_shown() -> None:
    tools = (ToolStory(f"tool {number}", {}, ["x" * 100]) for number in range(1_000_000_000))
    text = details(tools, whole=False, most=1000)
    assert 1000 < len(text) < 1300
    assert text.startswith("1. … `tool 0`")
