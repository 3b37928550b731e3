"""Recorded streams of real agents, replayed through schema and translation: each keeps the contract."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.acp import schema
from adapters.acp.client import asks
from adapters.acp.translate import Translator
from beambot.api import Answer, UnifiedMessage, bodies
from beambot.testing.adapter_contract import check_stream

RECORDINGS = Path(__file__).parent.parent / "fixtures" / "acp"
ALL = sorted(str(path.relative_to(RECORDINGS).with_suffix("")) for path in RECORDINGS.glob("*/*.ndjson"))


def convert(value: Any, kind: Any) -> Any:
    import msgspec

    return msgspec.json.decode(json.dumps(value).encode(), type=kind)


class Replay:
    """What a session does with a recording's lines, without the session."""

    def __init__(self) -> None:
        self.translator = Translator(lambda: 0.0)
        self.messages: list[UnifiedMessage] = []
        self.waiting: dict[Any, str] = {}
        self.open: dict[Any, tuple[str, schema.Permission]] = {}
        self.prompts: set[Any] = set()
        self.cancelled = False
        self.init = False

    def play(self, name: str) -> list[UnifiedMessage]:
        for record in (RECORDINGS / f"{name}.ndjson").read_text().splitlines():
            entry = json.loads(record)
            if isinstance(entry["data"], dict):
                (self.written if entry["dir"] == "in" else self.said)(entry["data"], entry["dir"])
        if not self.translator.turn:
            self.emit(self.translator.settle())
        return self.messages

    def emit(self, messages: list[UnifiedMessage]) -> None:
        if self.init:
            self.messages += messages

    def written(self, data: dict[str, Any], _: str) -> None:
        method = data.get("method", "")
        if method == "session/prompt" and not self.translator.turn:
            self.cancelled = False
            self.emit(self.translator.begin(f"turn-{data['id']}"))
            self.prompts = {data["id"]}
        elif method == "session/cancel":
            self.cancelled = True
        elif method:
            self.waiting[data.get("id")] = method
        elif data.get("id") in self.open:
            ask, asked = self.open.pop(data["id"])
            chosen = data["result"]["outcome"].get("optionId", "")
            if chosen:
                answer = Answer(ask=ask, verdict="allow", option=chosen)
                self.emit(self.translator.say([asks.resolved(ask, asks.choose(asked.options, answer), answer)]))
            else:
                self.emit(self.translator.say([bodies.AskCancelled(ask, "interrupted")]))

    def said(self, data: dict[str, Any], where: str) -> None:
        if where != "out":
            return
        if data.get("method") == "session/update":
            params = schema.read_update_line(json.dumps(data).encode()).params
            if self.init and "session/fork" not in self.waiting.values():
                self.emit(self.translator.update(params.update))
        elif data.get("method") == "session/request_permission":
            asked = convert(data["params"], schema.Permission)
            self.emit(self.translator.asked(asked.tool_call))
            tool = self.translator.tools.known(asked.tool_call)
            ask = str(data["id"])
            self.open[data["id"]] = (ask, asked)
            self.emit(self.translator.work([asks.permission(ask, asked, tool)], tool.parent))
        elif data.get("id") in self.prompts and "method" not in data:
            if "error" in data:
                self.emit(self.translator.finish("error", data["error"]["message"]))
            else:
                self.emit(self.translator.end(convert(data["result"], schema.Prompted), self.cancelled))
        elif self.waiting.pop(data.get("id"), "") in ("session/new", "session/load") and "result" in data:
            self.translator.settings.opened(convert(data["result"], schema.Opened))
            if not self.init:
                self.init = True
                self.emit(self.translator.say([bodies.SessionInit("x")]))


# A second prompt into a running turn is what beambot never does: its turn has no reply of its own here.
@pytest.mark.parametrize("name", [name for name in ALL if not name.endswith("second_prompt")])
def test_a_recorded_stream_keeps_the_contract(name: str) -> None:
    messages = Replay().play(name)
    assert check_stream(messages) == []
    assert not any(isinstance(message.body, bodies.Unknown) for message in messages)


@pytest.mark.parametrize("name", ALL)
def test_every_recorded_update_decodes(name: str) -> None:
    for record in (RECORDINGS / f"{name}.ndjson").read_text().splitlines():
        data = json.loads(record)["data"]
        if isinstance(data, dict) and data.get("method") == "session/update":
            schema.read_update_line(json.dumps(data).encode())


@pytest.mark.parametrize("agent", ["claude-agent-acp", "codex-acp", "gemini-acp", "goose-acp", "opencode-acp"])
def test_a_recorded_answer_is_whole_in_the_complete_message(agent: str) -> None:
    messages = Replay().play(f"{agent}/text")
    first = messages[[isinstance(m.body, bodies.Result) for m in messages].index(True)].turn
    deltas = "".join(m.body.text for m in messages if m.turn == first and isinstance(m.body, bodies.TextDelta))
    whole = "".join(
        block.text
        for m in messages
        if m.turn == first and isinstance(m.body, bodies.Assistant)
        for block in m.body.blocks
        if type(block).__name__ == "Text"
    )
    assert "amber1 basin2 cedar3 " in whole
    assert deltas == whole


@pytest.mark.parametrize("agent", ["claude-agent-acp", "codex-acp", "gemini-acp", "goose-acp", "opencode-acp"])
def test_a_recorded_permission_names_the_tool_and_offers_yes_and_no(agent: str) -> None:
    messages = Replay().play(f"{agent}/perm_allow")
    asked = [m.body for m in messages if isinstance(m.body, bodies.PermissionRequest)]
    assert asked
    for ask in asked:
        kinds = {option.kind for option in ask.options}
        assert {"allow_once", "reject_once"} <= kinds
        assert ask.title
    ended = [m.body for m in messages if isinstance(m.body, bodies.ToolEnded)]
    assert {end.outcome for end in ended} == {"done"}


def test_a_permission_shows_the_change_it_is_about() -> None:
    messages = Replay().play("gemini-acp/perm_allow")
    asked = [m.body for m in messages if isinstance(m.body, bodies.PermissionRequest)][-1]
    assert [(diff.path, diff.new, diff.added) for diff in asked.diffs] == [("/repo/new.txt", "hello\n", 1)]


@pytest.mark.parametrize("agent", ["claude-agent-acp", "codex-acp", "gemini-acp", "goose-acp", "opencode-acp"])
def test_a_cancelled_turn_is_interrupted_whatever_the_agent_calls_it(agent: str) -> None:
    messages = Replay().play(f"{agent}/cancel")
    results = [m.body.outcome for m in messages if isinstance(m.body, bodies.Result)]
    assert results[0] == "interrupted"


def test_the_price_of_a_turn_is_the_growth_of_the_sessions_price() -> None:
    messages = Replay().play("claude-agent-acp/text")
    costs = [m.body.usage.cost_usd for m in messages if isinstance(m.body, bodies.Result)]
    assert costs == [pytest.approx(0.00122), pytest.approx(0.00298 - 0.00122)]


def test_an_answer_is_chosen_by_id_then_by_kind_the_narrowest_first() -> None:
    once, always, no = (
        schema.PermissionOption(option_id=id, name=id, kind=kind)
        for id, kind in (("once", "allow_once"), ("ever", "allow_always"), ("no", "reject_once"))
    )
    assert asks.choose([always, once, no], Answer(ask="a", verdict="allow")) is once
    assert asks.choose([always, no], Answer(ask="a", verdict="allow")) is always
    assert asks.choose([always, once, no], Answer(ask="a", verdict="allow", option="ever")) is always
    assert asks.choose([always, once, no], Answer(ask="a", verdict="deny")) is no
    assert asks.choose([always, once], Answer(ask="a", verdict="deny")) is None
    assert asks.choose([once], Answer(ask="a", verdict="allow", option="gone")) is None
