"""Whatever the program writes, in whatever order, the stream keeps its contract and nothing breaks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.claude import requests
from adapters.claude.control import Strange
from adapters.claude.translate import Translator
from beambot.api import Answer, UnifiedMessage, bodies
from beambot.model.message import decode, encode
from beambot.testing.adapter_contract import check_stream
from tests.test_adapters.claude_replay import ALL, Replay, said_lines
from tests.test_adapters.claude_wire import Wire, kinds, only

ids = st.sampled_from(["a", "b", "c"])
parents = st.sampled_from([None, "a", "b"])
words = st.text(max_size=4)
block = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": words}),
    st.fixed_dictionaries({"type": st.just("thinking"), "thinking": words}),
    st.fixed_dictionaries(
        {
            "type": st.just("tool_use"),
            "id": ids,
            "name": st.sampled_from(["Bash", "Write", "Agent", "TodoWrite", "mcp__x__y", ""]),
            "input": st.sampled_from([{}, {"command": "ls"}, {"file_path": "/r/a", "content": "x"}, None, 7]),
        }
    ),
    st.fixed_dictionaries({"type": st.just("unheard_of")}),
)
result_block = st.fixed_dictionaries(
    {"type": st.just("tool_result"), "tool_use_id": ids, "content": words, "is_error": st.booleans()}
)
event = st.one_of(
    st.fixed_dictionaries({"type": st.just("content_block_start"), "content_block": block}),
    st.fixed_dictionaries(
        {
            "type": st.just("content_block_delta"),
            "delta": st.one_of(
                st.fixed_dictionaries({"type": st.just("text_delta"), "text": words}),
                st.fixed_dictionaries({"type": st.just("thinking_delta"), "thinking": words}),
                st.fixed_dictionaries({"type": st.just("input_json_delta"), "partial_json": words}),
                st.fixed_dictionaries({"type": st.just("signature_delta"), "signature": words}),
            ),
        }
    ),
    st.sampled_from([{"type": kind} for kind in ("message_start", "message_stop", "content_block_stop", "new")]),
)
uuids = st.sampled_from(["u1", "u2", "u3", "u9"])
wire_line = st.one_of(
    st.fixed_dictionaries({"type": st.just("stream_event"), "event": event, "parent_tool_use_id": parents}),
    st.fixed_dictionaries(
        {
            "type": st.just("assistant"),
            "message": st.fixed_dictionaries({"content": st.lists(block, max_size=2)}),
            "parent_tool_use_id": parents,
        },
        optional={"user_message_uuids": st.lists(uuids, max_size=1), "is_api_error_message": st.booleans()},
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("user"),
            "message": st.fixed_dictionaries({"content": st.lists(result_block, max_size=2)}),
            "parent_tool_use_id": parents,
        },
        optional={
            "tool_use_result": st.sampled_from([None, "x", {"isAsync": True}, {"filePath": "/r", "content": "y"}]),
            "uuid": uuids,
            "isReplay": st.booleans(),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.just("result"), "is_error": st.booleans()},
        optional={
            "terminal_reason": st.sampled_from([None, "aborted_tools"]),
            "total_cost_usd": st.floats(0, 1),
            "user_message_uuids": st.lists(uuids, max_size=2),
        },
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("control_request"),
            "request_id": st.sampled_from(["r1", "r2"]),
            "request": st.fixed_dictionaries(
                {
                    "subtype": st.sampled_from(["can_use_tool", "unheard_of"]),
                    "tool_name": st.sampled_from(["Bash", "AskUserQuestion", "ExitPlanMode"]),
                    "tool_use_id": ids,
                    "input": st.sampled_from([{}, {"questions": [{"question": "?"}]}, None]),
                },
                optional={"agent_id": st.just("x"), "permission_suggestions": st.sampled_from([None, 1, [1]])},
            ),
        }
    ),
    st.fixed_dictionaries({"type": st.just("control_cancel_request"), "request_id": st.sampled_from(["r1", "r9"])}),
    st.fixed_dictionaries(
        {
            "type": st.just("command_lifecycle"),
            "command_uuid": uuids,
            "state": st.sampled_from(["queued", "started", "completed", "cancelled", "new"]),
        }
    ),
    st.sampled_from(
        [
            {"type": "system", "subtype": "init", "session_id": "s", "model": "m", "slash_commands": ["a"]},
            {"type": "system", "subtype": "init", "session_id": "s2", "permissionMode": "plan"},
            {"type": "system", "subtype": "status", "status": "compacting", "user_message_uuids": ["u2"]},
            {"type": "system", "subtype": "task_notification", "task_id": "k", "tool_use_id": "a"},
            {"type": "system", "subtype": "compact_boundary"},
            {"type": "system", "subtype": "unheard_of"},
            {"type": "system", "subtype": "api_retry", "attempt": "odd"},
            {"type": "conversation_reset"},
            {"type": "tool_progress", "tool_use_id": "a", "elapsed_time_seconds": 2},
            {"type": "unheard_of", "a": [1]},
        ]
    ),
)
acts = st.sampled_from(["prompt", "steer", "interrupt", "allow", "deny", "settle"])


class Chaos:
    """A session in which anything may happen at any time."""

    def __init__(self, opened: bool) -> None:
        self.translator = Translator(lambda: 1.0, "/repo")
        self.stream: list[UnifiedMessage] = []
        self.prompts = 0
        if opened:
            self.stream += self.translator.opened("s", requests.Initialized())

    def do(self, act: Any) -> None:
        translator = self.translator
        if isinstance(act, dict):
            self.stream += translator.read(json.dumps(act).encode())
        elif act in ("prompt", "steer"):
            self.prompts += 1
            turn, uuid = f"t{self.prompts}", f"u{self.prompts}"
            if act == "prompt":
                self.stream += translator.prompted(turn, uuid)
            elif translator.turn:
                translator.steered(turn, uuid)
        elif act == "interrupt":
            translator.interrupted()
        elif act == "settle":
            self.stream += translator.settle()
        elif translator.asks:
            ask = next(iter(translator.asks))
            found = translator.answered(Answer(ask=ask, verdict=act, input={"command": "pwd"}))
            assert found is not None
            self.stream += found[1]


@settings(max_examples=400, deadline=None)
@given(st.booleans(), st.lists(st.one_of(wire_line, wire_line, acts), max_size=40))
def test_any_order_of_lines_and_acts_keeps_the_contract(opened: bool, everything: list[Any]) -> None:
    chaos = Chaos(opened)
    for act in everything:
        chaos.do(act)
    stream = chaos.stream + chaos.translator.closed("gone", 1)
    assert check_stream(stream, complete=True) == []
    assert [decode(encode(message)) for message in stream] == stream


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=40), st.text(max_size=20).map(str.encode)), max_size=10))
def test_bytes_that_are_no_messages_pass_as_unknown(lines: list[bytes]) -> None:
    translator = Translator(lambda: 1.0)
    stream = translator.opened("s", requests.Initialized())
    for line in lines:
        stream += translator.read(line)
    assert {type(message.body) for message in stream[1:]} <= {bodies.Unknown}
    assert [decode(encode(message)) for message in stream] == stream


json_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
LINES = [json.loads(line) for name in ALL[:30] for line in said_lines(name)[:60]]


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(LINES), st.data())
def test_a_field_with_any_value_breaks_nothing(line: dict[str, Any], data: st.DataObject) -> None:
    changed = json.loads(json.dumps(line))
    place: Any = changed
    for _ in range(data.draw(st.integers(0, 3))):
        inner = [value for value in place.values() if isinstance(value, dict) and value]
        if not inner:
            break
        place = data.draw(st.sampled_from(inner))
    place[data.draw(st.sampled_from(sorted(place)))] = data.draw(json_value)
    translator = Translator(lambda: 1.0)
    stream = translator.opened("s", requests.Initialized()) + translator.prompted("t", "u")
    stream += translator.read(json.dumps(changed).encode())
    assert check_stream(stream + translator.closed("gone"), complete=True) == []


@pytest.mark.parametrize("name", ["2.1.326/perm_bash_allow", "2.1.326/subagent", "2.1.75/sdk_url"])
def test_a_line_that_is_cut_anywhere_is_garbage_and_no_more(name: str) -> None:
    for line in said_lines(name)[:40]:
        translator = Translator(lambda: 1.0)
        translator.opened("s", requests.Initialized())
        for cut in (1, len(line) // 3, len(line) // 2, len(line) - 1):
            found = only(translator.read(line[:cut]), bodies.Unknown)
            assert (found.kind, found.raw) == ("garbage", line[:cut][:2000].decode(errors="replace"))


@pytest.mark.parametrize("name", ALL)
def test_noise_between_the_lines_changes_nothing_else(name: str) -> None:
    replay = Replay(name)
    noisy = []
    for record in replay.records:
        noisy += [{"dir": "out", "t": record["t"], "data": {"type": "brand_new", "n": [1]}}, record]
    other = Replay(name)
    other.records = noisy
    found = [message for message in other.play().end() if not isinstance(message.body, bodies.Unknown)]
    assert found == replay.play().end()


def test_a_kind_nobody_knows_passes_with_its_raw_data() -> None:
    wire = Wire()
    said = wire.line("brand_new", subtype="thing", data={"a": 1})
    assert only(said, bodies.Unknown) == bodies.Unknown(
        "brand_new/thing", {"type": "brand_new", "subtype": "thing", "data": {"a": 1}}
    )
    assert only(wire.line("system", subtype="brand_new"), bodies.Unknown).kind == "system/brand_new"


def test_a_request_of_an_odd_form_is_still_to_be_refused() -> None:
    wire = Wire()
    wire.line("control_request", request_id="r1", request={"subtype": "can_use_tool", "tool_name": 7})
    wire.line("control_request", request_id="r2", request=7)
    wire.line("control_request", request_id="r3")
    assert [(one.request, type(one)) for one in wire.control()] == [(id, Strange) for id in ("r1", "r2", "r3")]


def test_a_result_of_an_odd_form_still_ends_the_turn() -> None:
    wire = Wire()
    wire.prompt("t")
    said = wire.line("result", is_error=True, result="too much", total_cost_usd="free", usage=[])
    assert only(said, bodies.Result).error == "too much"
    wire.end()


def test_a_second_result_and_one_for_nobody_are_not_told() -> None:
    wire = Wire()
    assert wire.result() == []
    wire.prompt("t")
    wire.result()
    assert wire.result() == []
    assert kinds(wire.result(is_error=True, result="lost")) == ["error"]
    wire.end()


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (rb'"half \ud83d of it"', "half ? of it"),
        (b'"bad \xff byte"', "bad \N{REPLACEMENT CHARACTER} byte"),
        (rb'"whole \ud83d\ude00"', "whole \N{GRINNING FACE}"),
    ],
)
def test_broken_characters_do_not_lose_the_line(raw: bytes, text: str) -> None:
    wire = Wire()
    wire.prompt("t")
    delta = b'{"type":"text_delta","text":' + raw + b"}"
    line = b'{"type":"stream_event","event":{"type":"content_block_delta","delta":' + delta + b"}}"
    assert only(wire.translator.read(line), bodies.TextDelta).text == text


def test_a_line_of_sixteen_mebibytes_is_read() -> None:
    wire = Wire()
    wire.prompt("t")
    wire.call("b", "Bash", command="cat big")
    ended = only(wire.done("b", "x" * (16 << 20)), bodies.ToolEnded)
    assert len(ended.text) < 100_000


def test_deep_nesting_is_garbage() -> None:
    wire = Wire()
    said = wire.translator.read(b'{"type":"x","a":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    assert only(said, bodies.Unknown).kind == "garbage"


def test_a_long_input_is_read_in_linear_time() -> None:
    wire = Wire()
    wire.prompt("t")
    block = {"type": "tool_use", "id": "w", "name": "Grep", "input": {}}
    wire.event("content_block_start", index=0, content_block=block)
    delta = {"type": "input_json_delta", "partial_json": '"' * 50}
    told = sum(len(wire.event("content_block_delta", index=0, delta=delta)) for _ in range(20_000))
    assert told == 20_000 * 50 // 4096
