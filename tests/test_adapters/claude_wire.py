"""A translator of Claude Code's wire, and everything it said; a test writes lines by their fields."""

from __future__ import annotations

import json
from typing import Any

from adapters.claude import requests
from adapters.claude.translate import Translator
from beambot.api import UnifiedMessage
from beambot.testing.adapter_contract import check_stream


class Wire:
    """One session, opened."""

    def __init__(self, resumed: bool = False) -> None:
        self.now = 0.0
        self.translator = Translator(lambda: self.now, "/repo", resumed)
        self.messages: list[UnifiedMessage] = self.translator.opened("s1", requests.Initialized(), "/repo")

    def line(self, type: str, **fields: Any) -> list[UnifiedMessage]:
        said = self.translator.read(json.dumps({"type": type, **fields}).encode())
        self.messages += said
        return said

    def prompt(self, turn: str) -> None:
        self.messages += self.translator.prompted(turn, f"u-{turn}")
        self.line("system", subtype="init", session_id="s1", cwd="/repo")

    def event(self, kind: str, parent: str | None = None, **fields: Any) -> list[UnifiedMessage]:
        return self.line("stream_event", event={"type": kind, **fields}, parent_tool_use_id=parent)

    def text(self, words: str, parent: str | None = None) -> list[UnifiedMessage]:
        return self.event("content_block_delta", parent, index=0, delta={"type": "text_delta", "text": words})

    def call(self, id: str, name: str, parent: str | None = None, **given: Any) -> list[UnifiedMessage]:
        block = {"type": "tool_use", "id": id, "name": name, "input": given}
        return self.line("assistant", message={"content": [block]}, parent_tool_use_id=parent)

    def done(self, id: str, text: Any = "", parent: str | None = None, **more: Any) -> list[UnifiedMessage]:
        block = {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": more.pop("is_error", False)}
        return self.line("user", message={"content": [block]}, parent_tool_use_id=parent, **more)

    def ask(self, id: str, tool: str, name: str = "Bash", **more: Any) -> list[UnifiedMessage]:
        request = {"subtype": "can_use_tool", "tool_name": name, "tool_use_id": tool, "input": {}, **more}
        return self.line("control_request", request_id=id, request=request)

    def result(self, **more: Any) -> list[UnifiedMessage]:
        return self.line("result", **{"subtype": "success", "is_error": False, "result": "", **more})

    def control(self) -> list[Any]:
        found = list(self.translator.control)
        self.translator.control.clear()
        return found

    def end(self) -> None:
        self.messages += self.translator.closed("killed", -9)
        assert check_stream(self.messages, complete=True) == []


def kinds(messages: list[UnifiedMessage]) -> list[str]:
    return [str(message.body.__struct_config__.tag) for message in messages]


def only(messages: list[UnifiedMessage], kind: type) -> Any:
    (found,) = [message.body for message in messages if isinstance(message.body, kind)]
    return found
