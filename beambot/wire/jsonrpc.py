"""A JSON-RPC 2.0 peer over lines: both sides ask and both sides answer, in the order of the wire."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from beambot.errors import AgentError
from beambot.wire.jsonl import LINE_LIMIT, ByteStream, TooLong, batches

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
CLOSED = -32098

RequestId = int | str | None
T = TypeVar("T")


class RpcError(Exception):
    """The other side's error, or ours to it."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data


class Garbage(Struct, frozen=True):
    """A line that is no message: its beginning as text, and why."""

    text: str
    why: str


class _Error(Struct):
    code: int = INTERNAL_ERROR
    message: str = ""
    data: Any = None


class _Message(Struct):
    id: RequestId | UnsetType = UNSET
    method: str = ""
    params: Raw = Raw()
    result: Raw = Raw()
    error: _Error | None = None


Reply = Raw | RpcError


class Request:
    """A request of the other side, to be answered once, now or hours later."""

    def __init__(self, peer: Peer, id: RequestId, method: str, params: Raw) -> None:
        self._peer = peer
        self.id = id
        self.method = method
        self.params = params
        self.answered = False

    def reply(self, result: Any) -> None:
        """Answer. A second answer is dropped."""
        self._answer({"result": result})

    def fail(self, code: int, message: str, data: Any = None) -> None:
        """Answer with an error."""
        error = {"code": code, "message": message}
        self._answer({"error": error if data is None else {**error, "data": data}})

    def _answer(self, body: dict[str, Any]) -> None:
        if not self.answered:
            self.answered = True
            self._peer.write({"jsonrpc": "2.0", "id": self.id, **body})


class Handler(Protocol):
    """What a peer does with what comes in. All are called in the order of the wire and must not block."""

    def line(self, line: bytes) -> bool:
        """A shortcut for the lines that come by the thousand: true when it took the line."""
        ...

    def notified(self, method: str, params: Raw) -> None:
        """A notification."""
        ...

    def requested(self, request: Request) -> None:
        """A request; answer it when it suits."""
        ...

    def strange(self, found: Garbage | TooLong) -> None:
        """Something that is no message."""
        ...

    async def breathe(self, size: int) -> None:
        """After each batch, of that many bytes: wait here to stop reading for a while."""
        ...


class Peer:
    """One side of the wire."""

    def __init__(self, stream: ByteStream, handler: Handler, *, limit: int = LINE_LIMIT) -> None:
        self._stream = stream
        self._handler = handler
        self._limit = limit
        self._pending: dict[int, Callable[[Reply], None]] = {}
        self._next = 0
        self._closed: RpcError | None = None
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder(_Message).decode

    async def run(self) -> None:
        """Read until the stream ends; then everything that still waits fails."""
        try:
            async for batch in batches(self._stream, self._limit):
                size = 0
                for line in batch:
                    if isinstance(line, TooLong):
                        self._handler.strange(line)
                    else:
                        size += len(line)
                        if not self._handler.line(line):
                            self._receive(line)
                await self._handler.breathe(size)
        finally:
            self.close("the other side has closed the connection")

    def close(self, why: str) -> None:
        """Fail what waits for a reply, with one clear error. Safe twice."""
        if self._closed is None:
            self._closed = RpcError(CLOSED, why)
        pending, self._pending = self._pending, {}
        for done in pending.values():
            done(self._closed)

    def write(self, message: Any) -> None:
        """One message, as one line."""
        self._stream.write(self._encode(message) + b"\n")

    async def flush(self) -> None:
        """Wait until what was written is taken."""
        await self._stream.drain()

    def notify(self, method: str, params: Any) -> None:
        """Say something that needs no reply."""
        self.write({"jsonrpc": "2.0", "method": method, "params": params})

    def call(self, method: str, params: Any, done: Callable[[Reply], None]) -> int:
        """Ask; `done` is called in the order of the wire, before the next line is looked at."""
        self._next += 1
        number = self._next
        if self._closed is not None:
            done(self._closed)
            return number
        self._pending[number] = done
        self.write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    async def request(self, method: str, params: Any, kind: type[T]) -> T:
        """Ask and wait for the reply. Raises `RpcError`, also when the reply has an unexpected form."""
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

        def done(found: Reply) -> None:
            if not reply.done():
                reply.set_result(found)

        number = self.call(method, params, done)
        try:
            await self.flush()
            found = await reply
        except AgentError as error:
            raise RpcError(CLOSED, error.message) from error
        finally:
            self._pending.pop(number, None)
        if isinstance(found, RpcError):
            raise found
        try:
            return read(found, kind)
        except ValueError as error:
            raise RpcError(INTERNAL_ERROR, f"the reply to {method} has an unexpected form: {error}") from error

    def _receive(self, line: bytes) -> None:
        try:
            message = self._message(line)
        except ValueError as error:
            self._handler.strange(Garbage(line[:2000].decode("utf-8", "replace"), str(error)))
            return
        if message.method:
            if isinstance(message.id, UnsetType):
                self._handler.notified(message.method, message.params)
            else:
                self._handler.requested(Request(self, message.id, message.method, message.params))
        elif isinstance(message.id, int) and (done := self._pending.pop(message.id, None)):
            failed = message.error
            done(RpcError(failed.code, failed.message, failed.data) if failed else message.result)
        elif isinstance(message.id, UnsetType) or not (message.result or message.error):
            self._handler.strange(Garbage(line[:2000].decode("utf-8", "replace"), "not a JSON-RPC message"))

    def _message(self, line: bytes) -> _Message:
        if line.isascii():
            return self._decode(line)
        # Raw parts are not looked into, so bad UTF-8 would surface only later: mend it here.
        try:
            line.decode()
        except UnicodeDecodeError:
            line = line.decode("utf-8", "replace").encode()
        return self._decode(line)


def read(raw: Raw, kind: type[T]) -> T:
    """The parameters or the result of a message, as a typed value. Raises `ValueError`."""
    return msgspec.json.decode(raw or b"null", type=kind)
