"""Every recording of Claude Code becomes the stream that stands beside it, and keeps the contract at every point.

`UPDATE_SNAPSHOTS=1 pytest tests/test_adapters/test_claude_recordings.py` writes the streams again; read the
difference before it is committed.
"""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from beambot.api import bodies
from beambot.model.message import decode, encode
from beambot.testing.adapter_contract import check_stream
from tests.test_adapters.claude_replay import ALL, RECORDINGS, Replay, records, said_lines, written_down

EXPECTED = RECORDINGS / "expected"


@pytest.mark.parametrize("name", ALL)
def test_a_recording_becomes_the_stream_that_stands_beside_it(name: str) -> None:
    text = written_down(Replay(name).play().end())
    path = EXPECTED / f"{name.replace('/', '-')}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("name", ALL)
def test_a_recording_keeps_the_contract_and_holds_nothing_unknown(name: str) -> None:
    messages = Replay(name).play().end()
    assert check_stream(messages, complete=True) == []
    assert not any(isinstance(message.body, bodies.Unknown) for message in messages)
    assert [decode(encode(message)) for message in messages] == messages


@pytest.mark.parametrize("name", ALL)
def test_a_recording_that_breaks_off_anywhere_still_ends_whole(name: str) -> None:
    for count in range(len(records(name))):
        replay = Replay(name).play(count)
        replay.messages += replay.translator.closed("killed", -9)
        assert check_stream(replay.messages, complete=True) == [], count
        last = replay.messages[-1].body
        assert isinstance(last, bodies.SessionClosed)


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in sorted(value, reverse=True)}
    return [reordered(one) for one in value] if isinstance(value, list) else value


def with_news(value: Any, depth: int = 0) -> Any:
    """The same message from a later version: fields that nobody knows yet."""
    if isinstance(value, dict) and depth < 2:
        return {"zz_new": {"a": [1]}, **{key: with_news(one, depth + 1) for key, one in value.items()}}
    return value


@pytest.mark.parametrize("change", [reordered, with_news])
@pytest.mark.parametrize("name", ALL)
def test_neither_the_order_of_keys_nor_new_fields_matter(name: str, change: Any) -> None:
    plain, other = Replay(name), Replay(name)
    for one in other.records:
        if one["dir"] == "out" and (change is reordered or one["data"]["type"] != "control_request"):
            one["data"] = change(one["data"])
    assert _told(other.play().end()) == _told(plain.play().end())


def _told(messages: list[Any]) -> list[bytes]:
    return [json.dumps(reordered(json.loads(encode(message)))).encode() for message in messages]


@pytest.mark.parametrize("name", ALL)
def test_several_lines_in_one_frame_are_read_one_by_one(name: str) -> None:
    lines = said_lines(name)
    one, other = Replay(name), Replay(name)
    apart = [message for line in lines for message in one.translator.read(line)]
    assert other.translator.read(b"\n".join(lines) + b"\n") == apart


@pytest.mark.parametrize("name", ALL)
def test_an_answer_is_written_as_it_was_recorded(name: str) -> None:
    for ours, recorded in Replay(name).play().written:
        assert ours == recorded


def test_all_recorded_answers_were_compared() -> None:
    assert sum(len(Replay(name).play().written) for name in ALL) == 47
