"""The Anthropic Messages wire: streamed and whole answers, and the counting of tokens."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.model_server.script import Conversation, Said, Step, spoken, thought
from tests.model_server.tools import Call, call

if TYPE_CHECKING:
    from tests.model_server.server import ModelServer

_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_ids = itertools.count(1)
_USAGE = {"input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def routes(server: ModelServer) -> list[web.RouteDef]:
    """Where an agent with this wire knocks."""

    async def messages(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        conversation = read(body)
        server.seen(request, body, conversation)
        step = await server.step(conversation)
        if step.error:
            return _error(step)
        if not body.get("stream"):
            return web.json_response(await _whole(step, conversation, body))
        response = web.StreamResponse(headers={"content-type": "text/event-stream", "request-id": _id("req")})
        await response.prepare(request)
        async for event in _events(step, conversation, body):
            await response.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        if step.hang:
            await asyncio.Event().wait()
        if step.cut and request.transport is not None:
            request.transport.abort()
        return response

    async def count(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        server.seen(request, body, read(body))
        return web.json_response({"input_tokens": len(json.dumps(body)) // 4})

    return [web.post("/v1/messages", messages), web.post("/v1/messages/count_tokens", count)]


def read(body: dict[str, Any]) -> Conversation:
    """A request in neutral words."""
    said: list[Said] = []
    for message in body.get("messages", ()):
        content = message.get("content") or ""
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if message.get("role") == "assistant":
            said.append(Said("model", _words(blocks)))
            continue
        said += [Said("tool", _words(block.get("content") or "")) for block in blocks if _is(block, "tool_result")]
        said += [Said("person", block["text"]) for block in blocks if _is(block, "text")]
    tools = {tool["name"]: tool.get("input_schema", {}) for tool in body.get("tools") or () if "name" in tool}
    return Conversation(tuple(said), tools, json.dumps(body))


def _is(block: Any, kind: str) -> bool:
    return isinstance(block, dict) and block.get("type") == kind


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block["text"] for block in content if _is(block, "text"))


def _error(step: Step) -> web.Response:
    words = step.message or f"a scripted error {step.error}"
    error = {"type": _ERRORS.get(step.error, "api_error"), "message": words}
    waiting = {} if step.retry_after is None else {"retry-after": f"{step.retry_after:g}"}
    body = {"type": "error", "error": error, "request_id": _id("req")}
    return web.json_response(body, status=step.error, headers={**waiting, **step.headers})


async def _events(step: Step, conversation: Conversation, body: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """The answer as the wire streams it; one that hangs or is cut lacks its end."""
    message = {"id": _id("msg"), "type": "message", "role": "assistant", "model": body.get("model", "")}
    rest = {"content": [], "stop_reason": None, "stop_sequence": None, "usage": {**_USAGE, "output_tokens": 1}}
    yield {"type": "message_start", "message": {**message, **rest}}
    number = itertools.count()
    spoke = 0
    calls, excuses = _calls(step, conversation)
    if thoughts := thought(step):
        at = next(number)
        yield _start(at, {"type": "thinking", "thinking": "", "signature": ""})
        for piece in thoughts:
            yield _delta(at, {"type": "thinking_delta", "thinking": piece})
        yield _delta(at, {"type": "signature_delta", "signature": "c2NyaXB0"})
        yield {"type": "content_block_stop", "index": at}
    if words := [*spoken(step), *excuses]:
        at = next(number)
        yield _start(at, {"type": "text", "text": ""})
        for piece in words:
            if step.pause:
                await asyncio.sleep(step.pause)
            spoke += 1
            yield _delta(at, {"type": "text_delta", "text": piece})
        if step.hang or step.cut:
            return
        yield {"type": "content_block_stop", "index": at}
    for one in calls:
        at = next(number)
        text = json.dumps(one.input)
        yield _start(at, {"type": "tool_use", "id": _id("toolu"), "name": one.name, "input": {}})
        for part in (text[: len(text) // 2], text[len(text) // 2 :]):
            yield _delta(at, {"type": "input_json_delta", "partial_json": part})
        yield {"type": "content_block_stop", "index": at}
    if step.hang or step.cut:
        return
    ending = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": spoke + len(calls)}}
    yield {"type": "message_stop"}


async def _whole(step: Step, conversation: Conversation, body: dict[str, Any]) -> dict[str, Any]:
    """The same answer in one piece."""
    if step.hang:
        await asyncio.Event().wait()
    calls, excuses = _calls(step, conversation)
    text = "".join([*spoken(step), *excuses])
    content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    content += [{"type": "tool_use", "id": _id("toolu"), "name": one.name, "input": one.input} for one in calls]
    return {
        "id": _id("msg"),
        "type": "message",
        "role": "assistant",
        "model": body.get("model", ""),
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {**_USAGE, "output_tokens": len(text.split())},
    }


def _calls(step: Step, conversation: Conversation) -> tuple[list[Call], list[str]]:
    made = [call(asked, conversation.tools, conversation.whole) for asked in step.tools]
    return [one for one in made if isinstance(one, Call)], [one for one in made if isinstance(one, str)]


def _start(index: int, block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def _delta(index: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def _id(kind: str) -> str:
    return f"{kind}_{next(_ids):024d}"
