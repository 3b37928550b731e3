"""What is written to the program: prompts, answers to its requests, requests of our own. Pure, one line each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from adapters.claude.reading.asks import ACCEPT_EDITS, PLAN, QUESTION, OpenAsk, offered, questions
from beambot.api import Answer, bodies

Priority = Literal["", "now", "next", "later"]

_encode = msgspec.json.Encoder().encode
_ACCEPT_EDITS = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
_NO = "The user said no."
_KEEP_PLANNING = "The user wants to keep planning."


# ── prompts ──────────────────────────────────────────────────────────────────────────────────────────


def prompt(
    text: str,
    uuid: str,
    pictures: Iterable[tuple[str, str]] = (),
    files: Sequence[tuple[str, str]] = (),
    priority: Priority = "",
) -> bytes:
    """A prompt with its pictures (mime type and base64) and files (name and path on this machine)."""
    content: list[dict[str, Any]] = [
        {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}} for mime, data in pictures
    ]
    if files:
        lines = [f"The file {name} is at {path}" for name, path in files]
        text = "\n".join([text, "", *lines]) if text else "\n".join(lines)
    if text or not content:
        content.append({"type": "text", "text": text})
    line: dict[str, Any] = {
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": None,
        "session_id": "",
        "uuid": uuid,
    }
    if priority:
        line["priority"] = priority
    return _line(line)


# ── answers to asks ──────────────────────────────────────────────────────────────────────────────────


def answer(ask: OpenAsk, said: Answer) -> tuple[bytes, bodies.AskResolved]:
    """A person's answer as the program takes it, and how the ask ended."""
    data, outcome = _decision(ask, said)
    resolved = bodies.AskResolved(ask.id, outcome, said.by, said.option, said.text)
    return reply(ask.request, data), resolved


def _decision(ask: OpenAsk, said: Answer) -> tuple[dict[str, Any], Literal["allowed", "denied", "answered"]]:
    asked = ask.asked
    given: dict[str, Any] = asked.input if isinstance(asked.input, dict) else {}
    if said.verdict == "deny":
        return _denied(said, _KEEP_PLANNING if asked.tool_name == PLAN else _NO), "denied"
    if asked.tool_name == QUESTION and questions(given):
        return _allowed({**given, "answers": chosen(given, said)}), "answered"
    if asked.tool_name == PLAN:
        granted = [_ACCEPT_EDITS] if said.option == ACCEPT_EDITS else []
        return _allowed(given if said.input is None else said.input, granted), "allowed"
    return _allowed(given if said.input is None else said.input, _granted(ask, said)), "allowed"


def chosen(given: dict[str, Any], said: Answer) -> dict[str, str]:
    """The answers by the text of their questions. Several answers to one question are joined by commas."""
    items = questions(given)
    fields = dict(said.fields)
    if not fields and len(items) == 1 and (said.option or said.text):
        fields = {items[0].id: (said.option or said.text,)}
    answers: dict[str, str] = {}
    for item in items:
        if values := [value for value in fields.get(item.id, ()) if value]:
            answers[item.text] = ", ".join(values if item.multiple else values[:1])
    return answers


def _granted(ask: OpenAsk, said: Answer) -> list[dict[str, Any]]:
    """The suggestions that were chosen, and no others: one by its option, several as rules."""
    suggestions = offered(ask.asked)
    wanted = [one for number, one in enumerate(suggestions) if said.option == f"suggestion-{number}"]
    wanted += [one for one in suggestions if one in said.rules and one not in wanted]
    return wanted


def _allowed(given: dict[str, Any], granted: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    decision: dict[str, Any] = {"behavior": "allow", "updatedInput": given}
    if granted:
        decision["updatedPermissions"] = list(granted)
    return decision


def _denied(said: Answer, words: str) -> dict[str, Any]:
    decision: dict[str, Any] = {"behavior": "deny", "message": said.text or words}
    if said.interrupt:
        decision["interrupt"] = True
    return decision


# ── replies to other requests ────────────────────────────────────────────────────────────────────────


def reply(request: str, data: dict[str, Any]) -> bytes:
    """What was asked for."""
    response = {"subtype": "success", "request_id": request, "response": data}
    return _line({"type": "control_response", "response": response})


def hook_reply(request: str, data: dict[str, Any] | None = None) -> bytes:
    """What a hook of ours says; by default that the work goes on."""
    return reply(request, {"continue": True} if data is None else data)


def tool_reply(request: str, message: dict[str, Any]) -> bytes:
    """The JSON-RPC reply of a tool server of ours."""
    return reply(request, {"mcp_response": message})


def refusal(request: str, words: str) -> bytes:
    """A request that cannot be served."""
    response = {"subtype": "error", "request_id": request, "error": words}
    return _line({"type": "control_response", "response": response})


# ── requests of our own ──────────────────────────────────────────────────────────────────────────────


def request(id: str, subtype: str, **fields: Any) -> bytes:
    """Any control request."""
    return _line({"type": "control_request", "request_id": id, "request": {"subtype": subtype, **fields}})


def initialize(id: str, hooks: dict[str, Any] | None = None, servers: Sequence[str] = ()) -> bytes:
    """The first of all. Hooks and tool servers of ours are named here."""
    fields: dict[str, Any] = {"hooks": hooks} if hooks else {}
    if servers:
        fields["sdkMcpServers"] = list(servers)
    return request(id, "initialize", **fields)


def interrupt(id: str, cancel_queued: bool = False) -> bytes:
    """Stop what runs; with `cancel_queued` also what waits, where the program can do that."""
    return request(id, "interrupt", cancel_queued=True) if cancel_queued else request(id, "interrupt")


def cancel_prompt(id: str, uuid: str) -> bytes:
    """Take back a prompt that waits."""
    return request(id, "cancel_async_message", message_uuid=uuid)


def set_model(id: str, model: str) -> bytes:
    """Another model; nothing means the default one."""
    return request(id, "set_model", model=model or "default")


def set_mode(id: str, mode: str) -> bytes:
    """Another mode."""
    return request(id, "set_permission_mode", mode=mode)


def set_thinking(id: str, tokens: int | None) -> bytes:
    """How much the model may think; None: as it likes."""
    return request(id, "set_max_thinking_tokens", max_thinking_tokens=tokens)


def _line(value: dict[str, Any]) -> bytes:
    return _encode(value) + b"\n"
