"""Recordings of Claude Code, replayed through the vendor's reading of messages and our translation of them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from claude_agent_sdk._errors import MessageParseError
from claude_agent_sdk._internal.message_parser import parse_message

from adapters.agent_sdk.process.transport import read
from adapters.agent_sdk.reading.asks import Asked
from adapters.agent_sdk.translate import Translator
from beambot.api import Answer, UnifiedMessage
from beambot.model.message import encode

FIXTURES = Path(__file__).parent.parent / "fixtures" / "claude"
VERSION = "2.1.326"
ALL = sorted(path.stem for path in (FIXTURES / VERSION).glob("*.ndjson"))
RESUMED = ("resume_2", "resume_fork", "kill_resume")
KILLED = ("kill_midturn", "sigterm_midturn", "resume_missing", "bypass_root")

Line = dict[str, Any]


def records(name: str) -> list[Line]:
    """What was written and said, without what went to stderr."""
    lines = (FIXTURES / VERSION / f"{name}.ndjson").read_text().splitlines()
    return [found for found in map(json.loads, lines) if isinstance(found["data"], dict)]


class Replay:
    """One translator, fed with a recording as a session feeds it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.records = records(name)
        self.now = 0.0
        self.translator = Translator(lambda: self.now, "/repo", resumed=name in RESUMED)
        self.messages: list[UnifiedMessage] = []
        self.answers: list[tuple[Any, Line]] = []
        self._turns = 0
        about: Line = {}
        session = ""
        for one in self.records:
            reply = one["data"].get("response") or {}
            if one["dir"] == "out" and isinstance(reply, dict) and "commands" in (reply.get("response") or {}):
                about = reply["response"]
            if one["data"].get("subtype") == "init" and not session:
                session = one["data"]["session_id"]
                about = about or _told_by(one["data"])
        self.messages += self.translator.opened(session, about, "/repo")

    def play(self, count: int | None = None) -> Replay:
        for one in self.records[:count]:
            self.now = one["t"]
            if one["dir"] == "in":
                self._write(one["data"])
            else:
                self.hear(json.dumps(one["data"]).encode())
        return self

    def end(self) -> list[UnifiedMessage]:
        expected = self.name not in KILLED
        self.messages += self.translator.closed("closed" if expected else "killed", 0 if expected else -9, expected)
        return self.messages

    def hear(self, line: bytes) -> None:
        """One line, on the way that it takes through the client."""
        for data in read(line):
            if data["type"] == "control_request" and data["request"]["subtype"] == "can_use_tool":
                self.messages += self.translator.asked(_asked(data["request_id"], data["request"]))
            elif data["type"] == "control_cancel_request":
                self.messages += self.translator.withdrawn(data["request_id"])
            elif data["type"] in ("control_request", "control_response"):
                continue
            else:
                self._parsed(data)

    def _parsed(self, data: Line) -> None:
        try:
            message = parse_message(data)
        except MessageParseError as error:
            self.messages += self.translator.strange(str(data["type"]), error.data)
            return
        if message is not None:
            self.messages += self.translator.read(message)

    def _write(self, data: Line) -> None:
        translator = self.translator
        if data["type"] == "user":
            self._turns += 1
            turn, uuid = f"turn-{self._turns}", data.get("uuid") or f"prompt-{self._turns}"
            if translator.turn:
                translator.steered(turn, uuid)
            else:
                self.messages += translator.prompted(turn, uuid)
        elif data["type"] == "control_response":
            request, response = data["response"]["request_id"], data["response"]["response"]
            ask = next((ask for ask in translator.asks.values() if ask.asked.request == request), None)
            if ask is not None:
                found = translator.answered(_answer(ask, response))
                assert found is not None
                assert found[0] == request
                self.answers.append((found[1], response))
                self.messages += found[2]
        elif data["request"]["subtype"] == "interrupt":
            translator.interrupted()


def _told_by(init: Line) -> Line:
    """What `initialize` would have said, for a recording without it."""
    return {
        "current_permission_mode": init["permissionMode"],
        "models": [{"value": "default", "resolvedModel": init["model"]}],
        "commands": [{"name": name} for name in init["slash_commands"]],
    }


def _asked(id: str, request: Line) -> Asked:
    return Asked(
        id,
        request["tool_name"],
        request["input"],
        request.get("tool_use_id") or "",
        request.get("agent_id") or "",
        request.get("description") or "",
        request.get("decision_reason") or "",
        request.get("blocked_path") or "",
        tuple(request["permission_suggestions"]),
    )


def _answer(ask: Any, response: Line) -> Answer:
    """The answer that a person must have given for this response to be written."""
    asked, given = ask.asked, response.get("updatedInput")
    if response["behavior"] == "deny":
        interrupt = response.get("interrupt", False)
        return Answer(ask=ask.id, verdict="deny", text=response["message"], interrupt=interrupt, by="ann")
    if asked.name == "AskUserQuestion":
        texts = [one["question"] for one in asked.input["questions"]]
        fields = {f"q{texts.index(text)}": (answer,) for text, answer in given["answers"].items()}
        return Answer(ask=ask.id, verdict="answer", fields=fields, by="ann")
    granted = response.get("updatedPermissions", [])
    if asked.name == "ExitPlanMode":
        return Answer(ask=ask.id, verdict="allow", option="accept_edits" if granted else "allow", by="ann")
    edited = given if given != asked.input else None
    return Answer(ask=ask.id, verdict="allow", input=edited, rules=tuple(granted), by="ann")


# ── how a stream is written down ─────────────────────────────────────────────────────────────────────


def written_down(messages: list[UnifiedMessage]) -> list[str]:
    """One line a message: turn, parent, kind, and the rest; what is long by its beginning and its hash."""
    lines = []
    for message in messages:
        body = json.loads(encode(message))["body"]
        kind = body.pop("type")
        parent = f" ↳{message.parent[-6:]}" if message.parent else ""
        lines.append(f"{message.turn or '-'}{parent} {kind} {json.dumps(_short(body), ensure_ascii=False)}")
    return lines


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > 300:
        return f"{value[:200]}…⟨{len(value)} characters, {_hash(value)}⟩"
    if isinstance(value, list):
        if len(value) > 12:
            return [*map(_short, value[:3]), f"⟨{len(value)} in all, {_hash(value)}⟩"]
        return [_short(one) for one in value]
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    return value


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:8]
