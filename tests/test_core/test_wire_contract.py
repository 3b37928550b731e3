"""The check of a stream finds each way of breaking the contract."""

from __future__ import annotations

import pytest

from beambot.model import bodies
from beambot.model.message import UnifiedMessage
from beambot.testing.adapter_contract import check_stream

INIT = UnifiedMessage(bodies.SessionInit("s"))
END = UnifiedMessage(bodies.SessionClosed())


def of(turn: str, *said: object) -> list[UnifiedMessage]:
    return [UnifiedMessage(body, turn=turn) for body in said]  # type: ignore[arg-type]


START, STOP, RESULT = bodies.ToolStarted("a", "Bash"), bodies.ToolEnded("a"), bodies.Result()
ASK, DONE = bodies.PermissionRequest("q", "may I?"), bodies.AskResolved("q", "allowed")


def test_a_good_stream_has_nothing_against_it() -> None:
    good = [INIT, *of("t", bodies.TextDelta("x"), START, ASK, DONE, STOP, RESULT)]
    good += [*of("", bodies.TextDelta("later"), RESULT), *of("u", START, STOP, RESULT), END]
    assert check_stream(good, complete=True) == []
    assert check_stream(good[:3]) == []


@pytest.mark.parametrize(
    ("stream", "complaint"),
    [
        (of("t", RESULT), "not session_init"),
        ([INIT, INIT], "second session_init"),
        ([INIT, END, INIT], "follows session_closed"),
        ([INIT, *of("t", RESULT, RESULT)], "follows the result"),
        ([INIT, *of("t", RESULT, bodies.TextDelta("x"))], "follows the result"),
        ([INIT, *of("", RESULT)], "result of no turn"),
        ([INIT, *of("t", START, START)], "again"),
        ([INIT, *of("t", STOP)], "not running"),
        ([INIT, *of("t", bodies.ToolOutput("a", "x"))], "not running"),
        ([INIT, *of("t", START, RESULT)], "never ended"),
        ([INIT, *of("t", ASK, RESULT)], "was open"),
        ([INIT, *of("t", ASK, DONE, DONE)], "not open"),
        ([INIT, *of("t", bodies.TextDelta("x")), END], "has no result"),
    ],
)
def test_each_breach_is_named(stream: list[UnifiedMessage], complaint: str) -> None:
    assert any(complaint in found for found in check_stream(stream)), check_stream(stream)


def test_a_stream_that_just_stops_is_a_breach_when_it_was_read_to_its_end() -> None:
    assert check_stream([INIT], complete=True) == ["the stream ended without session_closed"]
