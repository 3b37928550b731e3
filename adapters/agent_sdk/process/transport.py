"""The program below the vendor's client: a process group of its own, a clean environment, lines that break nothing.

The client takes any `Transport`. Its own one hands this process's whole environment to the agent, gives up on one
bad line, and leaves a busy agent at work for seconds after it was closed; hence this one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from claude_agent_sdk import CLIConnectionError, ProcessError, Transport

from beambot.api import AgentError
from beambot.wire.jsonl import TooLong, batches
from beambot.wire.process import Child, Tail

Line = dict[str, Any]
# What the client cannot read travels through it as news of the program under such a name, in its place.
ODD = "line/"
TOO_LONG, GARBAGE, ASKED, NOT_RUN = f"{ODD}too_long", f"{ODD}garbage", f"{ODD}asked", f"{ODD}not_run"
_KNOWN = frozenset(
    {"user", "assistant", "system", "result", "stream_event", "rate_limit_event", "conversation_reset"}
)
# What the program tells about itself and nobody needs. The client holds a hundred messages and no more until the
# session stands: a hook that prints much while it starts would stop it.
_SILENT = frozenset({"thinking_tokens", "ui_invalidate", "session_state_changed", "hook_progress"})
_RESULT: Line = {
    "subtype": "",
    "duration_ms": 0,
    "duration_api_ms": 0,
    "is_error": False,
    "num_turns": 0,
    "session_id": "",
}
_LONGEST = 2000
_decode = msgspec.json.Decoder().decode


class Pipe(Transport):
    """One run of the program. Its end is always an error to the client: what waits for a reply is told at once."""

    def __init__(self, words: Sequence[str], folder: Path, env: dict[str, str]) -> None:
        self._words = words
        self._folder = folder
        self._env = env
        self._child: Child | None = None
        self.stderr = Tail()
        self._requests: dict[str, asyncio.Future[Line | None]] = {}
        self._next = 0

    @property
    def pid(self) -> int:
        """Of the process, which leads its group."""
        return self._child.pid if self._child else 0

    @property
    def returncode(self) -> int | None:
        """How it ended; None while it runs."""
        return self._child.returncode if self._child else None

    async def connect(self) -> None:
        """Start it. Raises `AgentMissing` with the fix."""
        self._child = await Child.start(self._words, cwd=self._folder, env=self._env)
        self.stderr = self._child.stderr

    async def write(self, data: str) -> None:
        """One line of the client's."""
        if self._child is None:
            raise CLIConnectionError("the program was not started")
        self._child.write(data.encode())
        try:
            await self._child.drain()
        except AgentError as error:
            raise CLIConnectionError(error.message) from error

    async def read_messages(self) -> AsyncIterator[Line]:
        """What it says, until it is gone."""
        if self._child is None:
            raise CLIConnectionError("the program was not started")
        try:
            async for batch in batches(self._child):
                for line in batch:
                    for message in read(line):
                        if message["type"] != "control_response" or not self._replied(message["response"]):
                            yield message
        finally:
            for reply in self._requests.values():
                if not reply.done():
                    reply.set_result(None)
        raise ProcessError("the program has ended", exit_code=await self._child.wait())

    async def request(self, subtype: str, **params: Any) -> Line:
        """What the client has no call for, or one that does less. Raises `CLIConnectionError` with what it said."""
        self._next += 1
        id = f"beambot-{self._next}"
        reply: asyncio.Future[Line | None] = asyncio.get_running_loop().create_future()
        self._requests[id] = reply
        try:
            request = {"subtype": subtype, **params}
            await self.write(json.dumps({"type": "control_request", "request_id": id, "request": request}) + "\n")
            found = await reply
        finally:
            del self._requests[id]
        if found is None:
            raise CLIConnectionError("the program has ended")
        if found.get("subtype") != "success":
            raise CLIConnectionError(str(found.get("error")))
        data = found.get("response")
        return data if isinstance(data, dict) else {}

    def _replied(self, found: Line) -> bool:
        reply = self._requests.get(str(found.get("request_id")))
        if reply is not None and not reply.done():
            reply.set_result(found)
        return reply is not None

    async def close(self) -> None:
        """End it and its children. Safe twice."""
        if self._child is not None:
            await self._child.stop()

    def is_ready(self) -> bool:
        """Whether it takes lines."""
        return self._child is not None and self._child.returncode is None

    async def end_input(self) -> None:
        """Nothing: a session ends by `close`."""


def read(line: bytes | TooLong) -> list[Line]:
    """A line as the client can take it. Nothing that is read ends the session."""
    if isinstance(line, TooLong):
        return [_odd(TOO_LONG, line.limit)]
    found = _parsed(line)
    if not isinstance(found, dict):
        return [_odd(GARBAGE, line[:_LONGEST].decode(errors="replace"))]
    kind = found.get("type")
    match kind:
        case "control_request":
            return _requested(found)
        case "control_response" if isinstance(found.get("response"), dict):
            return [found]
        case "control_cancel_request":
            return [found]
        case "result":
            return [{**_RESULT, **found}]
        case "user":
            return [*_not_run(found), found]
        case "stream_event":
            return [{"uuid": "", "session_id": "", **found}]
        case "system" if found.get("subtype") in _SILENT:
            return []
        case "system" if isinstance(found.get("subtype"), str) and isinstance(found.get("task_id", ""), str):
            return [found]
        case "system":
            return [_odd(f"{ODD}system", found)]
    return [found] if kind in _KNOWN else [_odd(f"{ODD}{kind}", found)]


def _requested(found: Line) -> list[Line]:
    """The client answers a request at once, ahead of what it was told before: its place is marked in the stream."""
    request = found.get("request")
    if not isinstance(found.get("request_id"), str) or not isinstance(request, dict) or "subtype" not in request:
        return [_odd(f"{ODD}control_request", found)]
    if request["subtype"] != "can_use_tool":
        return [found]
    asked = {**request, "permission_suggestions": _suggestions(request.get("permission_suggestions"))}
    asked["input"] = request["input"] if isinstance(request.get("input"), dict) else {}
    return [_odd(ASKED, str(request.get("tool_use_id") or "")), {**found, "request": asked}]


def _not_run(found: Line) -> list[Line]:
    """Which tools were refused, which the client leaves out of a result."""
    metas = found.get("tool_result_meta")
    metas = [one for one in metas if isinstance(one, dict)] if isinstance(metas, list) else []
    return [_odd(NOT_RUN, str(one.get("id"))) for one in metas if one.get("non_execution_kind")]


def _suggestions(found: Any) -> list[Line]:
    """Those that the client can read; one that it cannot would make it refuse the whole request."""
    kept = []
    for one in found if isinstance(found, list) else ():
        rules = one.get("rules") or [] if isinstance(one, dict) and isinstance(one.get("type"), str) else None
        if isinstance(rules, list) and all(isinstance(rule, dict) and "toolName" in rule for rule in rules):
            kept.append(one)
    return kept


def _odd(name: str, raw: Any) -> Line:
    return {"type": "system", "subtype": name, "raw": raw}


def _parsed(line: bytes) -> Any:
    try:
        return _decode(line)
    except (ValueError, RecursionError):
        pass
    try:
        # Halves of characters and numbers that are none: read as well as it can be.
        text = json.dumps(json.loads(line.decode(errors="replace")), ensure_ascii=False)
        return _decode(text.encode(errors="replace"))
    except (ValueError, RecursionError):
        return None
