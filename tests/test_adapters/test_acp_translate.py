"""Whatever an agent sends, in whatever order, the stream keeps its contract; and forms find their answers."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.acp import schema
from adapters.acp.client import asks
from adapters.acp.tools import count_lines
from adapters.acp.translate import Translator
from beambot.api import Answer, UnifiedMessage, bodies
from beambot.model.message import decode, encode
from beambot.testing.adapter_contract import check_stream

text = st.fixed_dictionaries({"type": st.just("text"), "text": st.text(max_size=5)})
content = st.lists(
    st.one_of(
        st.fixed_dictionaries({"type": st.just("content"), "content": text}),
        st.fixed_dictionaries({"type": st.just("diff"), "path": st.just("/a"), "newText": st.text(max_size=5)}),
        st.fixed_dictionaries({"type": st.just("terminal"), "terminalId": st.just("term-1")}),
    ),
    max_size=2,
)
meta = st.sampled_from([None, {"agent": {"parentToolUseId": "a"}}, {"agent": {"toolName": "Bash"}}, {"x": 1}])
chunk = st.fixed_dictionaries(
    {
        "sessionUpdate": st.sampled_from(["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]),
        "content": text,
    },
    optional={"_meta": meta, "messageId": st.sampled_from(["m1", "m2"])},
)
tool = st.fixed_dictionaries(
    {
        "sessionUpdate": st.sampled_from(["tool_call", "tool_call_update"]),
        "toolCallId": st.sampled_from(["a", "b", "c"]),
    },
    optional={
        "_meta": meta,
        "status": st.sampled_from(["pending", "in_progress", "completed", "failed", "unheard of"]),
        "title": st.text(max_size=5),
        "kind": st.sampled_from(["edit", "switch_mode", "unheard of"]),
        "content": content,
        "rawInput": st.sampled_from([None, {"command": "ls"}, "ls", 7]),
        "rawOutput": st.sampled_from([None, "out", {"stdout": "x"}, [1]]),
    },
)
state = st.sampled_from(
    [
        {"sessionUpdate": "plan", "entries": [{"content": "x", "status": "unheard of"}]},
        {"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": 0.1}},
        {"sessionUpdate": "current_mode_update", "currentModeId": "m"},
        {"sessionUpdate": "session_info_update", "title": "t"},
        {"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "c"}]},
    ]
)
event = st.one_of(chunk, tool, state, st.sampled_from(["begin", "end", "print"]))


@settings(max_examples=300, deadline=None)
@given(st.lists(event, max_size=30))
def test_any_order_of_updates_keeps_the_contract(events: list[Any]) -> None:
    translator = Translator(lambda: 1.0)
    stream: list[UnifiedMessage] = translator.say([bodies.SessionInit("x")])
    turns = 0
    for one in events:
        if one == "begin":
            if not translator.turn:
                turns += 1
                stream += translator.begin(f"t{turns}")
        elif one == "end":
            if translator.turn:
                stream += translator.end(schema.Prompted(), False)
        elif one == "print":
            stream += translator.printed("term-1", "hello")
        else:
            line = {"method": "session/update", "params": {"sessionId": "s", "update": one}}
            stream += translator.update(schema.read_update_line(json.dumps(line).encode()).params.update)
    if translator.turn or translator.loose:
        stream += translator.finish("error", "gone")
    stream += translator.say([bodies.SessionClosed("gone")])
    assert check_stream(stream, complete=True) == []
    assert [decode(encode(message)) for message in stream] == stream


def test_the_output_of_a_terminal_that_came_before_its_tool_is_shown_with_it() -> None:
    translator = Translator(lambda: 1.0)
    translator.begin("t")
    assert translator.printed("term-1", "early ") == []
    shown = [schema.ToolContent(type="terminal", terminal_id="term-1")]
    said = translator.update(schema.ToolCall(tool_call_id="a", status="in_progress", content=shown))
    said += translator.printed("term-1", "late")
    assert [m.body.text for m in said if isinstance(m.body, bodies.ToolOutput)] == ["early ", "late"]


def test_lines_are_counted_and_a_moved_line_counts_as_neither() -> None:
    assert count_lines(None, "a\nb\n") == (2, 0)
    assert count_lines("a\nb\nc\n", "c\na\nd\n") == (1, 1)


def test_a_form_is_asked_field_by_field_and_answered_in_the_agents_types() -> None:
    asked = msgspec.convert(
        {
            "message": "Settings",
            "requestedSchema": {
                "properties": {
                    "name": {"type": "string", "title": "Name"},
                    "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}]},
                    "parts": {"type": "array", "items": {"enum": ["a", "b"]}},
                    "count": {"type": "integer"},
                    "sure": {"type": "boolean", "description": "Really?"},
                    "odd": 7,
                }
            },
        },
        schema.Elicitation,
    )
    form = asks.question("q", asked)
    assert [(item.id, item.free_text, item.multiple) for item in form.questions] == [
        ("name", True, False),
        ("size", False, False),
        ("parts", False, True),
        ("count", True, False),
        ("sure", False, False),
    ]
    fields = {"name": ("Ann",), "size": ("Small",), "parts": ("a", "b"), "count": ("3",), "sure": ("Yes",)}
    answer = Answer(ask="q", verdict="answer", fields={**fields, "forged": ("x",)})
    assert asks.filled(asks.form_fields(asked), answer) == {
        "action": "accept",
        "content": {"name": "Ann", "size": "s", "parts": ["a", "b"], "count": 3, "sure": True},
    }
    assert asks.filled({"x": {}}, Answer(ask="q", verdict="deny")) == {"action": "decline"}
    assert asks.filled({"x": {}}, Answer(ask="q", verdict="answer", text="hi"))["content"] == {"x": "hi"}


def test_modes_and_models_come_from_options_where_the_calls_for_them_are_gone() -> None:
    reply = msgspec.convert(
        {
            "configOptions": [
                {
                    "id": "m",
                    "category": "model",
                    "currentValue": "big",
                    "options": [{"group": "g", "name": "G", "options": [{"value": "big", "name": "Big"}]}],
                },
                {"id": "mode", "category": "mode", "currentValue": "plan", "options": [{"value": "plan"}]},
                {"id": "x", "category": "thought_level", "currentValue": "low", "options": []},
            ],
            "modes": {"currentModeId": "plan", "availableModes": [{"id": "plan", "name": "Plan"}]},
        },
        schema.Opened,
    )
    translator = Translator(lambda: 0.0)
    translator.settings.opened(reply)
    assert (translator.settings.model, translator.settings.mode) == ("big", "plan")
    assert [choice.id for choice in translator.settings.models] == ["big"]
    assert translator.settings.config_ids == {"model": "m"}
