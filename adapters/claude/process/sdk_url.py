"""The program connected by a WebSocket on loopback (`--sdk-url`), for the versions that do that.

The path holds a secret of this session alone, compared in constant time, and the program must also show the token
that only its environment has: a command line can be read by every user of a machine. A browser (Origin) is
refused, and so is a second connection. When the connection breaks, the program may come back within a grace time:
what it did not confirm is sent again, what it sends again is dropped, and if something of its own is missing, the
session ends with an error rather than with a gap.
"""

from __future__ import annotations

import asyncio
import hmac
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import anyio
import msgspec
from aiohttp import WSMsgType, web
from msgspec import Struct

from beambot.api import AgentError, get_logger
from beambot.wire.jsonl import LINE_LIMIT
from beambot.wire.process import Child, Tail

READ_AHEAD = 4 * 1024 * 1024
REPLAY_SECONDS = 2.0
_REMEMBERED = 4000
_log = get_logger("claude")


class _Marked(Struct):
    uuid: str = ""


_mark = msgspec.json.Decoder(_Marked).decode


class SocketPipe:
    """A child without pipes, and the one connection it makes to us."""

    def __init__(self, secret: str, grace: float) -> None:
        self._path = f"/ws/cli/{secret}"
        self._token = sha256(f"token {secret}".encode()).hexdigest()
        self._grace = grace
        self.stderr = Tail()
        self._child: Child | None = None
        self._socket: web.WebSocketResponse | None = None
        self._connected_before = False
        self._apart = asyncio.Event()
        self._apart.set()
        self._over = False
        self._stopping = False
        self._stopped = asyncio.Event()
        self._why = ""
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        # Lines that the program has not confirmed, each with its number.
        self._lines: deque[tuple[int, str]] = deque()
        self._number = 0
        self._more = asyncio.Event()
        self._seen: dict[str, None] = {}
        self._last = ""
        self._replaying = False
        self._owed = ""
        self._timer: asyncio.TimerHandle | None = None

    @classmethod
    async def start(
        cls, words: Sequence[str], folder: Path, env: Mapping[str, str], secret: str, grace: float
    ) -> SocketPipe:
        """Listen on a port of chance, then start the program and tell it where. Raises `AgentMissing`."""
        pipe = cls(secret, grace)
        app = web.Application()
        app.router.add_get("/{path:.*}", pipe._connect)
        pipe._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await pipe._runner.setup()
        try:
            await web.TCPSite(pipe._runner, "127.0.0.1", 0).start()
            port = pipe._runner.addresses[0][1]
            url = f"ws://127.0.0.1:{port}{pipe._path}"
            whole = {**env, "CLAUDE_CODE_SESSION_ACCESS_TOKEN": pipe._token}
            argv = [*words, "--sdk-url", url]
            pipe._child = await Child.start(argv, cwd=folder, env=whole, merge_stderr=True, stdin=False)
        except BaseException:
            await pipe._runner.cleanup()
            raise
        pipe._watching = asyncio.create_task(pipe._watch(pipe._child))
        return pipe

    _runner: web.AppRunner
    _watching: asyncio.Task[None]

    # ── as a pipe ────────────────────────────────────────────────────────────────────────────────────

    @property
    def returncode(self) -> int | None:
        """How the program ended, None while it runs."""
        return self._child.returncode if self._child else None

    async def read(self) -> bytes:
        """What came, at least one byte; nothing once it is over."""
        await self._news.wait()
        data = b"".join(self._chunks)
        self._chunks.clear()
        self._size = 0
        self._room.set()
        if not self._over:
            self._news.clear()
        return data

    def write(self, data: bytes) -> None:
        """Hand over a line; it waits while the connection is broken."""
        if not self._over:
            self._number += 1
            self._lines.append((self._number, data.decode()))
            self._more.set()

    async def drain(self) -> None:
        """Nothing waits here; says when the program is gone."""
        if self._over:
            raise AgentError("the program has ended", fix="open the session again")

    async def wait(self) -> int:
        """Until it has exited."""
        assert self._child is not None
        return await self._child.wait()

    async def stop(self, grace: float = 3.0) -> None:
        """End the program, then the server. Safe twice."""
        assert self._child is not None
        if self._stopping:
            await self._stopped.wait()
            return
        self._stopping = True
        with anyio.CancelScope(shield=True):
            socket = self._socket
            self._end("")
            if socket is not None:
                with anyio.move_on_after(0.3):
                    await socket.close()
            await self._child.stop(grace)
            await asyncio.wait((self._watching,))
            await self._runner.cleanup()
            self._stopped.set()

    # ── the program's side ───────────────────────────────────────────────────────────────────────────

    async def _watch(self, child: Child) -> None:
        """What it prints is for error reports; its end is the end."""
        while data := await child.read():
            self.stderr.feed(data)
        # What is still in the socket was sent before the program ended.
        with anyio.move_on_after(0.5):
            await self._apart.wait()
        self._end("")

    def _end(self, why: str) -> None:
        if why and not self._over:
            self._why = why
            self.stderr.feed(f"{why}\n".encode())
        self._over = True
        self._news.set()
        self._room.set()
        self._more.set()
        if self._timer is not None:
            self._timer.cancel()

    def _refusal(self, request: web.Request) -> web.Response | None:
        shown = request.headers.get("Authorization", "")
        known = hmac.compare_digest(request.path.encode(), self._path.encode())
        known &= hmac.compare_digest(shown.encode(), f"Bearer {self._token}".encode())
        if "Origin" in request.headers or not known:
            return web.Response(status=403)
        if self._over:
            return web.Response(status=410)
        return web.Response(status=409) if self._socket is not None else None

    async def _connect(self, request: web.Request) -> web.StreamResponse:
        refusal = self._refusal(request)
        if refusal is not None:
            _log.warning("a connection to a session was refused", status=refusal.status)
            return refusal
        socket = web.WebSocketResponse(max_msg_size=LINE_LIMIT, autoping=False, compress=False)
        self._socket = socket
        self._apart.clear()
        if self._timer is not None:
            self._timer.cancel()
        if self._connected_before:
            self._back(socket, request.headers.get("X-Last-Request-Id", ""))
        self._connected_before = True
        try:
            await socket.prepare(request)
            async with anyio.create_task_group() as group:
                group.start_soon(self._send, socket)
                await self._receive(socket)
                group.cancel_scope.cancel()
        finally:
            self._socket = None
            self._apart.set()
            if not self._over:
                self._timer = asyncio.get_running_loop().call_later(self._grace, self._expired)
        return socket

    def _back(self, socket: web.WebSocketResponse, last: str) -> None:
        """It says what it sent last. If that never came, it has to come now."""
        if self._last:
            socket.headers["X-Last-Request-Id"] = self._last
        self._replaying = True
        self._owed = last if last not in self._seen else ""
        if self._owed:
            self._timer = asyncio.get_running_loop().call_later(REPLAY_SECONDS, self._missing)

    def _expired(self) -> None:
        self._end(f"the program did not come back within {self._grace:g} s after its connection broke")

    def _missing(self) -> None:
        if self._owed:
            self._end("a part of what the program said was lost when its connection broke")

    async def _receive(self, socket: web.WebSocketResponse) -> None:
        async for message in socket:
            match message.type:
                case WSMsgType.TEXT:
                    self._arrived(message.data.encode())
                case WSMsgType.BINARY:
                    self._arrived(message.data)
                case WSMsgType.PING:
                    await socket.pong(message.data)
                case WSMsgType.PONG:
                    self._confirmed(bytes(message.data))
            while self._size > READ_AHEAD and not self._over:
                self._room.clear()
                await self._room.wait()

    def _arrived(self, frame: bytes) -> None:
        for line in frame.split(b"\n"):
            if not line.strip():
                continue
            uuid = ""
            with suppress(msgspec.DecodeError):
                uuid = _mark(line).uuid
            if uuid:
                if self._replaying and uuid in self._seen:
                    continue
                self._note(uuid)
            self._chunks.append(line + b"\n")
            self._size += len(line) + 1
        if self._chunks:
            self._news.set()

    def _note(self, uuid: str) -> None:
        self._last = uuid
        self._seen[uuid] = None
        if len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]
        if uuid == self._owed:
            self._owed = ""

    async def _send(self, socket: web.WebSocketResponse) -> None:
        """All that is not confirmed, in order; a pong confirms what went before its ping."""
        sent = 0
        with suppress(ConnectionError):
            while not self._over:
                self._more.clear()
                waiting = [one for one in self._lines if one[0] > sent]
                for number, line in waiting:
                    await socket.send_str(line)
                    sent = number
                if waiting:
                    await socket.ping(str(sent).encode())
                await self._more.wait()

    def _confirmed(self, data: bytes) -> None:
        if data.isdigit():
            while self._lines and self._lines[0][0] <= int(data):
                self._lines.popleft()
