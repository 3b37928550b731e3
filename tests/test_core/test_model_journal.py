"""Journals of earlier versions stay readable: these files are never changed, only joined by newer ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from beambot.model import message
from beambot.model.bodies import Result, TextDelta, Unknown, Usage
from beambot.model.message import AnyBody, UnifiedMessage

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "journal"
LINES = [line for journal in sorted(FOLDER.glob("v*.ndjson")) for line in journal.read_bytes().splitlines()]


def tag_of(line: bytes) -> str:
    return str(json.loads(line)["body"]["type"])


@pytest.mark.parametrize("line", LINES, ids=tag_of)
def test_a_line_of_the_first_version_is_read_whole(line: bytes) -> None:
    read = message.decode(line)
    assert read.body.__struct_config__.tag == tag_of(line)
    assert message.encode(read) == line
    assert json.loads(msgspec.json.encode(read)) == json.loads(line)


def test_the_journals_hold_everything_that_can_be_said() -> None:
    assert {tag_of(line) for line in LINES} >= {str(kind.__struct_config__.tag) for kind in get_args(AnyBody)}


def test_no_field_was_taken_away() -> None:
    for line in LINES:
        body = message.decode(line).body
        assert set(json.loads(line)["body"]) <= {"type", *body.__struct_fields__}


def test_the_values_are_the_ones_that_were_written() -> None:
    read = {tag_of(line): message.decode(line) for line in LINES}
    envelope = ("toolu_1", "turn1", "session1")
    assert read["text_delta"] == UnifiedMessage(TextDelta("text ☃"), *envelope, 3, 1700000003.5)
    result = read["result"].body
    assert isinstance(result, Result)
    assert result.outcome == "interrupted"
    assert result.usage == Usage(54, 55, 59, 60, 8.25)
    assert list(result.models) == ["a", "b"]
    unknown = read["unknown"].body
    assert unknown == Unknown("kind ☃", {"zwei": [1, 2.5, None, True, "drei ☃"]})
