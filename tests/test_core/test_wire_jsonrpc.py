"""Two peers that talk JSON-RPC over a pipe in memory."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest
from msgspec import Raw

from beambot.wire.jsonl import TooLong
from beambot.wire.jsonrpc import CLOSED, METHOD_NOT_FOUND, Garbage, Peer, Request, RpcError, read


class Pipe:
    def __init__(self) -> None:
        self.arrived: asyncio.Queue[bytes] = asyncio.Queue()
        self.other: Pipe | None = None
        self.written: list[bytes] = []

    async def read(self) -> bytes:
        return await self.arrived.get()

    def write(self, data: bytes) -> None:
        self.written.append(data)
        if self.other is not None:
            self.other.arrived.put_nowait(data)

    async def drain(self) -> None:
        return


class Heard:
    """Remembers everything and answers `add` alone."""

    def __init__(self) -> None:
        self.notices: list[tuple[str, Any]] = []
        self.odd: list[Garbage | TooLong] = []
        self.requests: list[Request] = []

    def line(self, line: bytes) -> bool:
        return line.startswith(b"HOT")

    def notified(self, method: str, params: Raw) -> None:
        self.notices.append((method, read(params, object)))

    def requested(self, request: Request) -> None:
        self.requests.append(request)
        if request.method == "add":
            request.reply(sum(read(request.params, list[int])))
        elif request.method != "later":
            request.fail(METHOD_NOT_FOUND, f"{request.method} is not known")

    def strange(self, found: Garbage | TooLong) -> None:
        self.odd.append(found)

    async def breathe(self, size: int) -> None:
        return


class Both:
    def __init__(self) -> None:
        self.pipe, other = Pipe(), Pipe()
        self.pipe.other, other.other = other, self.pipe
        self.heard, self.there = Heard(), Heard()
        self.peer, self.far = Peer(self.pipe, self.heard), Peer(other, self.there)

    async def __aenter__(self) -> Both:
        self.tasks = [asyncio.create_task(self.peer.run()), asyncio.create_task(self.far.run())]
        return self

    async def __aexit__(self, *_: object) -> None:
        for pipe in (self.pipe, self.pipe.other):
            assert pipe is not None
            pipe.arrived.put_nowait(b"")
        await asyncio.gather(*self.tasks)


async def test_both_sides_ask_and_are_answered() -> None:
    async with Both() as both:
        assert await both.peer.request("add", [1, 2], int) == 3
        assert await both.far.request("add", [4, 5], int) == 9


async def test_an_unknown_method_is_an_error_of_its_own() -> None:
    async with Both() as both:
        with pytest.raises(RpcError, match="dance is not known") as caught:
            await both.peer.request("dance", {}, int)
    assert caught.value.code == METHOD_NOT_FOUND


async def test_a_reply_of_another_form_is_told_as_such() -> None:
    async with Both() as both:
        with pytest.raises(RpcError, match="the reply to add has an unexpected form"):
            await both.peer.request("add", [1], str)


async def test_notifications_arrive_in_order_and_get_no_reply() -> None:
    async with Both() as both:
        for number in range(3):
            both.peer.notify("tick", number)
        await both.peer.request("add", [], int)
        assert both.there.notices == [("tick", 0), ("tick", 1), ("tick", 2)]
    assert len(both.pipe.written) == 4


async def test_a_reply_is_seen_before_the_next_line_is_looked_at() -> None:
    order: list[str] = []
    async with Both() as both:
        both.peer.call("later", {}, lambda reply: order.append("reply"))
        await anyio.sleep(0)
        await anyio.wait_all_tasks_blocked()
        both.heard.notified = lambda method, params: order.append(method)  # type: ignore[method-assign]
        request = both.there.requests[0]
        request.reply(None)
        both.far.notify("after", None)
        request.reply("twice")
        await anyio.wait_all_tasks_blocked()
    assert order == ["reply", "after"]


async def test_what_waits_fails_with_one_clear_error_when_the_stream_ends() -> None:
    both = Both()
    async with both:
        waiting = [asyncio.create_task(both.peer.request("later", {}, int)) for _ in range(3)]
        await anyio.wait_all_tasks_blocked()
    for task in waiting:
        with pytest.raises(RpcError, match="closed") as caught:
            await task
        assert caught.value.code == CLOSED
    with pytest.raises(RpcError, match="closed"):
        await both.peer.request("add", [], int)


async def test_garbage_is_told_and_the_next_line_is_read() -> None:
    async with Both() as both:
        both.pipe.arrived.put_nowait(
            b'nonsense\n{"jsonrpc":"2.0"}\n[]\nHOT x\n\xff\n'
            b'{"method":"hi","params":"caf\xe9"}\n{"id":99,"result":1}\n{"id":true,"method":"x"}\n'
        )
        await anyio.wait_all_tasks_blocked()
        assert [found.text for found in both.heard.odd if isinstance(found, Garbage)] == [
            "nonsense",
            '{"jsonrpc":"2.0"}',
            "[]",
            "\N{REPLACEMENT CHARACTER}",
            '{"id":true,"method":"x"}',
        ]
        assert both.heard.notices == [("hi", "caf\N{REPLACEMENT CHARACTER}")]


async def test_a_line_too_long_is_told_as_a_value() -> None:
    pipe, heard = Pipe(), Heard()
    peer = Peer(pipe, heard, limit=20)
    pipe.arrived.put_nowait(b"x" * 100 + b'\n{"method":"hi"}\n')
    pipe.arrived.put_nowait(b"")
    await peer.run()
    assert heard.odd == [TooLong(20)]
    assert heard.notices == [("hi", None)]
