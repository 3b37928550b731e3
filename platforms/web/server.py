"""The HTTP side: the way in, the page, files, and one WebSocket for each page."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import msgspec
from aiohttp import WSCloseCode, WSMsgType, web
from aiohttp.typedefs import Handler

from beambot.api import Attachment, BeambotError, Inbox, get_logger
from beambot.api import markdown as md
from platforms.web.chat import Chat
from platforms.web.client import Browser
from platforms.web.gate import COOKIE_SECONDS, HEADERS, Doors, Pace, digest, refusal
from platforms.web.inbound import (
    FRAME_LIMIT,
    TEXT_LIMIT,
    AnyFrame,
    BadFrame,
    Earlier,
    Fill,
    Open,
    Ping,
    Press,
    Say,
    decode,
    filled,
    pressed,
    said,
    update_id,
)
from platforms.web.outbound import frame

if TYPE_CHECKING:
    from platforms.web.platform import WebPlatform

PAGE = Path(__file__).parent / "page"
FILES_BYTES = 1024**3
UPLOAD_BYTES = 10 * 1024 * 1024
_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
_PICTURES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
_STOP = "/stop"
_log = get_logger("web")

NOT_SIGNED_IN = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"><title>beambot</title>
<h1>Not signed in</h1><p>{why}Run <code>beambot web link</code> on the machine where beambot runs, and
open the link it prints in this browser. A link works once, for ten minutes.</p></html>
"""
ENTERED = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=/">
<link rel="icon" href="data:,"><title>beambot</title><p><a href="/">Go on to beambot</a></p></html>
"""


class Server:
    """Serves one `WebPlatform`."""

    def __init__(self, platform: WebPlatform, chat: Chat, inbox: Inbox) -> None:
        self._platform = platform
        self._chat = chat
        self._inbox = inbox
        self._clock = platform.context.clock
        self._ids = platform.context.ids
        self._hub = platform.hub
        self._cookie = ""
        self._doors = Doors("127.0.0.1", 0, ())
        self._sockets: set[web.WebSocketResponse] = set()
        self._tries = Pace(10, 60)
        self._messages = Pace(20, 10)
        self._stops = Pace(10, 10)
        self._frames = Pace(200, 10)
        self._uploads = Pace(20, 60)

    @contextlib.asynccontextmanager
    async def serve(self) -> AsyncIterator[Doors]:
        """Listen; on the way out close every connection, within two seconds."""
        await self._chat.set_state("cookie", f"beambot-{self._ids.new(8)}", keep=True)
        self._cookie = await self._chat.state("cookie")
        app = web.Application(middlewares=[self._guard], client_max_size=FRAME_LIMIT)
        app.router.add_get("/enter", self._enter, allow_head=False)
        app.router.add_get("/", self._page)
        app.router.add_get("/page/{name}", self._page)
        app.router.add_get("/ws", self._socket, allow_head=False)
        app.router.add_get("/files/{id}", self._file)
        app.router.add_post("/upload", self._upload)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5, handle_signals=False)
        await runner.setup()
        try:
            yield await self._listen(runner)
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(2):
                await self._say_goodbye()
                await runner.cleanup()

    async def _say_goodbye(self) -> None:
        with anyio.move_on_after(0.5):
            async with anyio.create_task_group() as tasks:
                for ws in self._sockets:
                    tasks.start_soon(partial(ws.close, code=WSCloseCode.GOING_AWAY, message=b"beambot stops"))

    async def _listen(self, runner: web.AppRunner) -> Doors:
        settings = self._platform.settings
        try:
            await web.TCPSite(runner, settings.host, settings.port, reuse_address=True).start()
        except OSError as error:
            where = f"{settings.host}:{settings.port}"
            if error.errno == errno.EADDRINUSE:
                raise BeambotError(
                    f"the web chat cannot use {where}: another program does",
                    fix="end that program, or set another `port` under `platforms.web` (0 takes any)",
                ) from None
            raise BeambotError(
                f"the web chat cannot use {where}: {error.strerror or error}",
                fix="set `host` under `platforms.web` to an address of this machine, such as 127.0.0.1",
            ) from None
        port = int(runner.addresses[0][1])
        self._doors = Doors(settings.host, port, settings.origins)
        return self._doors

    # ── requests ─────────────────────────────────────────────────────────────────────────────────────

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Nobody gets further without an address of ours, the cookie, and where it acts our own page."""
        acts = request.method != "GET" or request.path == "/ws"
        self._doors.check(request.headers, acts=acts)
        if request.path != "/enter":
            user, _ = await self._who(request)
            if not user:
                return _html(NOT_SIGNED_IN.format(why=""), 401)
        try:
            response = await handler(request)
        except web.HTTPException as error:
            error.headers.update(HEADERS)
            raise
        if not response.prepared:
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
        return response

    async def _who(self, request: web.Request) -> tuple[str, str]:
        """The person behind a request, and the hash of their cookie."""
        cookie = digest(request.cookies.get(self._cookie, ""))
        return await self._chat.cookie_owner(cookie, self._clock.now()), cookie

    async def _enter(self, request: web.Request) -> web.StreamResponse:
        """A one-time code for a cookie. The answer is a page and not a redirect: after a click on a link in
        another site, a redirect would come without the strict cookie that was just set."""
        now = self._clock.now()
        if self._tries.wait("", now):
            raise refusal(429, "Too many tries. Wait a minute, then use a fresh link.")
        who = await self._chat.take_code(digest(request.query.get("code", "")), now)
        if not who:
            return _html(NOT_SIGNED_IN.format(why="This link was used already, is too old, or is not whole. "), 401)
        token = self._ids.new(40)
        await self._chat.add_cookie(digest(token), who, now + COOKIE_SECONDS, now)
        response = _html(ENTERED, 200)
        response.set_cookie(
            self._cookie,
            token,
            max_age=int(COOKIE_SECONDS),
            path="/",
            httponly=True,
            samesite="Strict",
            secure=self._doors.is_secure(request.headers.get("Host", "")),
        )
        return response

    async def _page(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info.get("name", "index.html")
        path = PAGE / name
        if path.parent != PAGE or path.suffix not in _TYPES or not path.is_file():
            raise refusal(404, "There is nothing here.")
        return web.Response(body=path.read_bytes(), content_type=_TYPES[path.suffix], charset="utf-8")

    async def _file(self, request: web.Request) -> web.StreamResponse:
        found = await self._chat.find_files([request.match_info["id"]])
        if not found or not (self._chat.files / found[0].handle).is_file():
            raise refusal(404, "This file is not here any more.")
        picture = found[0].mime in _PICTURES
        headers = {
            "Content-Type": found[0].mime if picture else "application/octet-stream",
            "Content-Disposition": "inline" if picture else "attachment",
            **HEADERS,
            "Content-Security-Policy": "default-src 'none'; sandbox",
        }
        return web.FileResponse(self._chat.files / found[0].handle, headers=headers)

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        """A file, streamed to the disk; the answer names it for the message that will carry it."""
        _, cookie = await self._who(request)
        if self._uploads.wait(cookie, self._clock.now()):
            raise refusal(429, "Too many files at once. Wait a minute.")
        if (request.content_length or 0) > UPLOAD_BYTES:
            raise refusal(413, "A file may have 10 MiB at the most.")
        if await self._chat.files_size() > FILES_BYTES:
            raise refusal(507, "The web chat holds 1 GiB of files already.")
        handle = self._ids.new(24)
        path = self._chat.files / handle
        size = 0
        try:
            async with await anyio.open_file(path, "wb") as target:
                async for part in request.content.iter_chunked(64 * 1024):
                    size += len(part)
                    if size > UPLOAD_BYTES:
                        raise refusal(413, "A file may have 10 MiB at the most.")
                    await target.write(part)
            mime = request.content_type if len(request.content_type) < 100 else ""
            name = md.clean(request.query.get("name", ""))[:200] or "file"
            file = Attachment(handle, name, mime, size)
            await self._chat.add_file(file, self._clock.now())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return web.json_response(msgspec.to_builtins(file), status=201)

    # ── the WebSocket ────────────────────────────────────────────────────────────────────────────────

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        user, cookie = await self._who(request)
        if not self._hub.has_room(cookie):
            raise refusal(503, "Too many pages are open.")
        ws = web.WebSocketResponse(heartbeat=20, max_msg_size=FRAME_LIMIT, timeout=1)
        await ws.prepare(request)
        _send_small_frames_at_once(request)
        browser = Browser(user, cookie)
        self._hub.add(browser)
        self._sockets.add(ws)
        try:
            browser.offer(0, await self._hello(browser.user))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._write, ws, browser)
                await self._read(ws, browser)
                tasks.cancel_scope.cancel()
        finally:
            self._hub.remove(browser)
            self._sockets.discard(ws)
        return ws

    async def _hello(self, user: str) -> str:
        return frame(
            "hello",
            user=user,
            threads=await self._chat.threads(),
            commands=self._platform.commands,
            limits={"text": TEXT_LIMIT, "frame": FRAME_LIMIT, "file": UPLOAD_BYTES},
        )

    async def _write(self, ws: web.WebSocketResponse, browser: Browser) -> None:
        async def allowed() -> bool:
            return bool(await self._chat.cookie_owner(browser.cookie, self._clock.now()))

        with contextlib.suppress(ConnectionError):
            await browser.write(ws.send_str, self._platform.catch_up, allowed)
        await ws.close(code=WSCloseCode.POLICY_VIOLATION, message=b"signed out, or too slow")

    async def _read(self, ws: web.WebSocketResponse, browser: Browser) -> None:
        async for message in ws:
            if message.type is not WSMsgType.TEXT:
                return
            now = self._clock.now()
            if self._frames.wait(browser.cookie, now) or not await self._chat.cookie_owner(browser.cookie, now):
                await ws.close(code=WSCloseCode.POLICY_VIOLATION, message=b"signed out, or much too fast")
                return
            try:
                received = decode(message.data)
            except BadFrame as error:
                browser.offer(0, frame("error", id="", text=str(error), retry=0))
                continue
            await self._handle(browser, received)

    async def _handle(self, browser: Browser, received: AnyFrame) -> None:
        match received:
            case Ping():
                browser.offer(0, frame("pong"))
            case Open(thread=thread, since=since):
                browser.show(thread, since)
            case Earlier(thread=thread, before=before):
                browser.offer(0, await self._platform.earlier(thread, int(before)))
            case Say() | Press() | Fill():
                await self._accept(browser, received)

    async def _accept(self, browser: Browser, received: Say | Press | Fill) -> None:
        """Hand it to beambot, and only then tell the browser that it was received."""
        now = self._clock.now()
        stop = isinstance(received, Say) and received.text.strip() == _STOP
        wait = (self._stops if stop else self._messages).wait(browser.cookie, now)
        if wait:
            text = "That was too fast. It is sent again in a moment."
            browser.offer(0, frame("error", id=received.id, text=text, retry=round(wait + 0.1, 1)))
            return
        try:
            problem = await self._take(browser, received, now)
        except BeambotError as error:
            _log.error("a message of a browser could not be kept", error=str(error))
            text = "beambot could not write this down. It is sent again in a moment."
            browser.offer(0, frame("error", id=received.id, text=text, retry=3))
            return
        if problem:
            browser.offer(0, frame("error", id=received.id, text=problem, retry=0))
        else:
            browser.offer(0, frame("ok", id=received.id))

    async def _take(self, browser: Browser, received: Say | Press | Fill, now: float) -> str:
        """Gives what is wrong with it, or nothing."""
        user = browser.user
        if isinstance(received, Say):
            return await self._take_words(user, received, now)
        if await self._chat.message(received.thread, received.message) is None:
            return "This message is not here any more."
        if isinstance(received, Press):
            await self._inbox.put(pressed(received, user, user, now))
        else:
            await self._inbox.put(filled(received, user, user, now))
        return ""

    async def _take_words(self, user: str, received: Say, now: float) -> str:
        if not received.text.strip() and not received.files:
            return "There is nothing in this message."
        known = await self._chat.thread(received.thread)
        if known is None and not received.new:
            return "This thread is not here any more."
        files = await self._chat.find_files(received.files, use=True)
        if len(files) != len(received.files):
            return "A file of this message is not here any more. Attach it again."
        if known is None:
            line = received.text.strip().split("\n")[0][:60]
            await self._platform.make_thread(received.thread, "" if line.startswith("/") else line)
        body = msgspec.json.encode({"text": md.clean(received.text), "files": files})
        row = await self._platform.note(received.thread, f"in:{update_id(user, received)}", user, body)
        await self._inbox.put(said(received, user, user, str(row.id), row.at, files))
        await self._platform.received(row)
        return ""


def _html(text: str, status: int) -> web.Response:
    return web.Response(text=text, status=status, content_type="text/html", headers=HEADERS)


def _send_small_frames_at_once(request: web.Request) -> None:
    transport = request.transport
    sock = transport.get_extra_info("socket") if transport else None
    if sock is not None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
