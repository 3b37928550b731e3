"""The HTTP side of the Bot API: reads a request, meets the planned faults, answers."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import anyio
import msgspec
from aiohttp import BodyPartReader, MultipartReader, web

from platforms.telegram.twin.call import Call, Upload
from platforms.telegram.twin.errors import ApiError
from platforms.telegram.twin.faults import Fault
from platforms.telegram.twin.methods import METHODS
from platforms.telegram.twin.world.values import Json

if TYPE_CHECKING:
    from platforms.telegram.twin.twin import Twin

_TOKEN = re.compile(r"\d+:[A-Za-z0-9_-]+")
_LARGEST = 60 * 1024 * 1024


class Server:
    """Listens on loopback; can go down and come up again at the same port."""

    def __init__(self, twin: Twin, host: str, port: int) -> None:
        self.twin = twin
        self.host = host
        self.port = port
        self._runner: web.AppRunner | None = None
        self._site: web.TCPSite | None = None

    async def start(self) -> None:
        """Listen."""
        app = web.Application(client_max_size=_LARGEST)
        app.router.add_route("*", "/bot{token:[^/]+}/{method}", self._call)
        app.router.add_get("/file/bot{token:[^/]+}/{path:.+}", self._file)
        app.router.add_route("*", "/{rest:.*}", self._nothing)
        # A poller that hangs up is forgotten at once.
        self._runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=0.2, handle_signals=False, handler_cancellation=True
        )
        await self._runner.setup()
        await self.up()

    async def up(self) -> None:
        """Take connections."""
        if self._site is None and self._runner is not None:
            site = web.TCPSite(self._runner, self.host, self.port, reuse_address=True)
            await site.start()
            self._site = site
            self.port = int(self._runner.addresses[0][1])

    async def down(self) -> None:
        """Refuse connections, and break those that there are."""
        if self._site is not None and self._runner is not None:
            site, self._site = self._site, None
            await site.stop()
            if self._runner.server is not None:
                for connection in list(self._runner.server.connections):
                    if connection.transport is not None:
                        connection.transport.abort()

    @property
    def is_up(self) -> bool:
        """Whether connections are taken."""
        return self._site is not None

    async def stop(self) -> None:
        """End for good."""
        with anyio.CancelScope(shield=True):
            await self.down()
            if self._runner is not None:
                await self._runner.cleanup()

    # ── requests ─────────────────────────────────────────────────────────────────────────────────────

    async def _nothing(self, _: web.Request) -> web.Response:
        return _answer(ApiError(404, "Not Found").answer(), 404)

    async def _call(self, request: web.Request) -> web.StreamResponse:
        token = request.match_info["token"]
        method = METHODS.get(request.match_info["method"].lower())
        fault: Fault | None = None
        try:
            if not _TOKEN.fullmatch(token):
                raise ApiError(404, "Not Found")
            if token != self.twin.settings.token:
                raise ApiError(401, "Unauthorized")
            call = await read_call(request, request.match_info["method"] if method is None else method.name)
            self.twin.calls.append((self.twin.world.clock.now(), call))
            fault = self.twin.faults.take(call)
            if fault is not None and fault.kind != "drop_after":
                broken = await self._meet(fault, request)
                if broken is not None:
                    return broken
            if method is None or self.twin.settings.api < method.since:
                raise ApiError(404, "Not Found")
            result = method.answer(self.twin, call)
            if inspect.isawaitable(result):
                result = await result
            answer = _answer({"ok": True, "result": result})
        except ApiError as error:
            wait = error.parameters.get("retry_after")
            answer = _answer(error.answer(), error.code, {"Retry-After": str(wait)} if wait else None)
        return _dropped(request) if fault is not None and fault.kind == "drop_after" else answer

    async def _meet(self, fault: Fault, request: web.Request) -> web.Response | None:
        """The answer of a call that goes wrong; one that is only late has none here."""
        match fault.kind:
            case "drop_before":
                return _dropped(request)
            case "delay":
                await self.twin.world.clock.sleep(fault.seconds)
                return None
            case "status":
                # A proxy in between speaks HTML.
                page = f"<html><body><h1>{fault.status}</h1></body></html>"
                return web.Response(status=fault.status, text=page, content_type="text/html")
            case "conflict":
                said = "terminated by other getUpdates request; make sure that only one bot instance is running"
                raise ApiError(409, f"Conflict: {said}")
            case _:
                raise ApiError(fault.status, fault.description or "Bad Gateway", **fault.parameters)

    async def _file(self, request: web.Request) -> web.Response:
        if request.match_info["token"] != self.twin.settings.token:
            return _answer(ApiError(401, "Unauthorized").answer(), 401)
        fault = self.twin.faults.take(Call("file", {}))
        try:
            if fault is not None and (broken := await self._meet(fault, request)) is not None:
                return broken
        except ApiError as error:
            return _answer(error.answer(), error.code)
        for file in self.twin.world.files.values():
            if file.path == request.match_info["path"]:
                return web.Response(body=file.data, content_type="application/octet-stream")
        return _answer(ApiError(404, "Not Found").answer(), 404)


async def read_call(request: web.Request, method: str) -> Call:
    """The arguments of a request, from its address and its body."""
    arguments: dict[str, object] = dict(request.query)
    files: dict[str, Upload] = {}
    kind = request.content_type
    try:
        if kind == "application/json":
            body = await request.read()
            if body.strip():
                arguments.update(msgspec.json.decode(body, type=dict[str, object]))
        elif kind == "application/x-www-form-urlencoded":
            arguments.update({name: str(value) for name, value in (await request.post()).items()})
        elif kind == "multipart/form-data":
            await _read_parts(await request.multipart(), arguments, files)
    except msgspec.DecodeError:
        raise ApiError(400, "Bad Request: can't parse JSON object") from None
    except web.HTTPRequestEntityTooLarge:
        raise ApiError(413, "Request Entity Too Large") from None
    return Call(method, arguments, files)


async def _read_parts(parts: MultipartReader, arguments: dict[str, object], files: dict[str, Upload]) -> None:
    taken = 0
    while (part := await parts.next()) is not None:
        if not isinstance(part, BodyPartReader) or part.name is None:
            continue
        data = bytes(await part.read(decode=False))
        taken += len(data)
        if taken > _LARGEST:
            raise ApiError(413, "Request Entity Too Large")
        if part.filename is not None:
            files[part.name] = Upload(part.filename, part.headers.get("Content-Type", ""), data)
        else:
            arguments[part.name] = data.decode("utf-8", "replace")


def _answer(body: Json, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(
        body=msgspec.json.encode(body), status=status, headers=headers, content_type="application/json"
    )


def _dropped(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
