"""Recordings of Claude Code, replayed through reading and answering as a session does it, without the session."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from adapters.claude import requests
from adapters.claude.control import Control
from adapters.claude.translate import Translator
from beambot.api import Answer, UnifiedMessage
from beambot.model.message import encode

RECORDINGS = Path(__file__).parent.parent / "fixtures" / "claude"
ALL = sorted(
    str(path.relative_to(RECORDINGS).with_suffix(""))
    for path in RECORDINGS.glob("*/*.ndjson")
    if path.parent.name != "expected"
)
RESUMED = ("2.1.326/resume_2", "2.1.326/resume_fork", "2.1.326/kill_resume")
KILLED = ("2.1.326/kill_midturn", "2.1.326/sigterm_midturn", "2.1.326/resume_missing", "2.1.326/bypass_root")

Record = dict[str, Any]


def records(name: str) -> list[Record]:
    """What was written and said, without what went to stderr."""
    lines = (RECORDINGS / f"{name}.ndjson").read_text().splitlines()
    return [found for found in map(json.loads, lines) if isinstance(found["data"], dict)]


def said_lines(name: str) -> list[bytes]:
    """What the program wrote, as it wrote it."""
    return [
        json.dumps(one["data"], separators=(",", ":"), ensure_ascii=False).encode()
        for one in records(name)
        if one["dir"] == "out"
    ]


def recorded_answer(ask: Any, response: dict[str, Any]) -> Answer:
    """The answer that a person must have given for this response to be written."""
    given = response.get("updatedInput")
    asked = ask.asked
    if response["behavior"] == "deny":
        interrupt = response.get("interrupt", False)
        return Answer(ask=ask.id, verdict="deny", text=response["message"], interrupt=interrupt, by="ann")
    if asked.tool_name == "AskUserQuestion":
        texts = [one["question"] for one in asked.input["questions"]]
        fields = {f"q{texts.index(text)}": (answer,) for text, answer in given["answers"].items()}
        return Answer(ask=ask.id, verdict="answer", fields=fields, by="ann")
    granted = response.get("updatedPermissions", [])
    if asked.tool_name == "ExitPlanMode":
        return Answer(ask=ask.id, verdict="allow", option="accept_edits" if granted else "allow", by="ann")
    edited = given if given != asked.input else None
    return Answer(ask=ask.id, verdict="allow", input=edited, rules=tuple(granted), by="ann")


class Replay:
    """One translator, fed with a recording."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.records = records(name)
        self.now = 0.0
        self.translator = Translator(lambda: self.now, "/repo", resumed=name in RESUMED)
        self.messages: list[UnifiedMessage] = []
        self.control: list[Control] = []
        self.written: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self.turns = 0
        self._initialize = ""
        self._answers: dict[str, dict[str, Any]] = {
            one["data"]["response"]["request_id"]: one["data"]
            for one in self.records
            if one["dir"] == "in" and one["data"]["type"] == "control_response"
        }

    def play(self, count: int | None = None) -> Replay:
        for one in self.records[:count]:
            self.now = one["t"]
            (self._write if one["dir"] == "in" else self._read)(one["data"])
        return self

    def end(self) -> list[UnifiedMessage]:
        expected = self.name not in KILLED
        self.messages += self.translator.closed("closed" if expected else "killed", 0 if expected else -9, expected)
        return self.messages

    def _session(self) -> str:
        return next((d["data"]["session_id"] for d in self.records if d["data"].get("subtype") == "init"), "")

    def _read(self, data: dict[str, Any]) -> None:
        reply = data.get("response") or {}
        if data["type"] == "control_response" and reply.get("request_id") == self._initialize and self._initialize:
            self._initialize = ""
            self.messages += self.translator.opened(
                self._session(), requests.initialized(reply["response"]), "/repo"
            )
            return
        self.messages += self.translator.read(json.dumps(data, separators=(",", ":")).encode())
        self.control += self.translator.control
        self.translator.control.clear()

    def _write(self, data: dict[str, Any]) -> None:
        translator = self.translator
        if data["type"] == "user":
            self.turns += 1
            turn, uuid = f"turn-{self.turns}", data.get("uuid") or f"prompt-{self.turns}"
            if translator.turn:
                translator.steered(turn, uuid)
            else:
                self.messages += translator.prompted(turn, uuid)
        elif data["type"] == "control_response":
            request = data["response"]["request_id"]
            ask = next((ask for ask in translator.asks.values() if ask.request == request), None)
            if ask is not None:
                found = translator.answered(recorded_answer(ask, data["response"]["response"]))
                assert found is not None
                self.written.append((json.loads(found[0]), data))
                self.messages += found[1]
        elif data["request"]["subtype"] == "interrupt":
            translator.interrupted()
        elif data["request"]["subtype"] == "initialize" and not translator.settings.told:
            self._initialize = data["request_id"]


# ── how a stream is written down ─────────────────────────────────────────────────────────────────────


def written_down(messages: list[UnifiedMessage]) -> str:
    """One line a message: turn, parent, kind, and the rest; what is long by its beginning and its hash."""
    lines = []
    for message in messages:
        data = json.loads(encode(message))
        body = data["body"]
        kind = body.pop("type")
        parent = f" ↳{message.parent[-6:]}" if message.parent else ""
        lines.append(f"{message.turn or '-'}{parent} {kind} {json.dumps(_short(body), ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


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
