"""Every recording of Claude Code becomes the same stream through the vendor's client as over the program's wire.

The streams stand in tests/fixtures/claude/expected; only the first message, which each adapter makes from what it
learns while it opens, is not compared.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from beambot.api import bodies as b
from beambot.testing.adapter_contract import check_stream

pytest.importorskip("claude_agent_sdk", reason="the extra agent_sdk is not installed")

from tests.test_adapters.agent_sdk_replay import ALL, FIXTURES, VERSION, Replay, records, written_down


@pytest.mark.parametrize("name", ALL)
def test_a_recording_becomes_the_stream_that_stands_beside_it(name: str) -> None:
    messages = Replay(name).play().end()
    expected = (FIXTURES / "expected" / f"{VERSION}-{name}.txt").read_text().split("\n")[:-1]
    assert written_down(messages)[1:] == expected[1:]
    assert check_stream(messages, complete=True) == []


@pytest.mark.parametrize("name", ALL)
def test_an_answer_is_what_was_recorded(name: str) -> None:
    for result, response in Replay(name).play().answers:
        assert result.behavior == response["behavior"]
        if result.behavior == "deny":
            assert (result.message, result.interrupt) == (response["message"], response.get("interrupt", False))
            continue
        assert result.updated_input == response["updatedInput"]
        granted = [one.to_dict() for one in result.updated_permissions or ()]
        assert granted == response.get("updatedPermissions", [])


@pytest.mark.parametrize("name", ALL)
def test_a_recording_that_breaks_off_anywhere_still_ends_whole(name: str) -> None:
    whole = len(records(name))
    for count in range(0, whole, max(1, whole // 60)):
        replay = Replay(name).play(count)
        replay.messages += replay.translator.closed("killed", -9)
        assert check_stream(replay.messages, complete=True) == [], count


def with_news(value: Any) -> Any:
    """The same with a field in every object that nobody knows."""
    if isinstance(value, dict):
        return {**{key: with_news(one) for key, one in value.items()}, "a_new_field": {"of": ["a", "kind"]}}
    return [with_news(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", ["text", "perm_bash_allow", "subagent", "edits", "error_429"])
def test_unknown_kinds_and_broken_lines_between_the_others_change_nothing_else(name: str) -> None:
    plain = written_down(Replay(name).play().end())
    replay = Replay(name)
    for one in replay.records:
        replay.now = one["t"]
        if one["dir"] == "in":
            replay._write(one["data"])
            continue
        line = json.dumps(one["data"]).encode()
        if b'"input"' not in line and b'"tool_use_result"' not in line and b'"rules"' not in line:
            line = json.dumps(with_news(one["data"])).encode()
        replay.hear(b'{"type":"a_new_kind","data":1}')
        replay.hear(line[: len(line) // 2])
        replay.hear(b'{"type":"user"}')
        replay.hear(line)
    messages = replay.end()
    odd = [m for m in messages if isinstance(m.body, b.Unknown)]
    assert {m.body.kind for m in odd if isinstance(m.body, b.Unknown)} == {"a_new_kind", "garbage", "user"}
    assert written_down([m for m in messages if m not in odd]) == plain
