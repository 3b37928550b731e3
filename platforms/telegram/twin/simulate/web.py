"""The page's server: what stands, what is new, and the acts of the person at the screen."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import anyio
import msgspec
from aiohttp import BodyPartReader, web
from aiohttp.typedefs import Handler

from platforms.telegram.twin.errors import ApiError
from platforms.telegram.twin.people.person import Person
from platforms.telegram.twin.simulate.view import state
from platforms.telegram.twin.twin import Twin
from platforms.telegram.twin.world.values import Chat, Json, Message

PAGE = Path(__file__).parent / "page"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
_PICTURES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
_PRESS_SECONDS = 10.0
# A line now and then, so that a page whose server is gone notices it.
_BEAT_SECONDS = 10.0
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class _Act(msgspec.Struct):
    """What the page asks for; each act reads its own fields."""

    person: int = 0
    chat: int = 0
    topic: int = 0
    message: int = 0
    row: int = 0
    column: int = 0
    text: str = ""
    emoji: str = ""


class Web:
    """Serves the page of one twin on loopback."""

    def __init__(self, twin: Twin, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.twin = twin
        self.host = host
        self.port = port
        self._runner: web.AppRunner | None = None
        self._ending = anyio.Event()

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{self.host}:{self.port}/"

    async def __aenter__(self) -> Web:
        app = web.Application(middlewares=[self._guard], client_max_size=60 * 1024 * 1024)
        app.router.add_get("/", self._page)
        app.router.add_get("/page/{name}", self._page)
        app.router.add_get("/state", self._state)
        app.router.add_get("/events", self._events)
        app.router.add_get("/files/{id}", self._file)
        app.router.add_get("/transcript", self._transcript)
        app.router.add_post("/act/{name}", self._act)
        app.router.add_post("/upload", self._upload)
        self._runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=0.2, handle_signals=False, handler_cancellation=True
        )
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self.host, self.port, reuse_address=True).start()
        except OSError:
            await self._runner.cleanup()
            raise
        self.port = int(self._runner.addresses[0][1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        if self._runner is not None:
            with anyio.CancelScope(shield=True):
                await self._runner.cleanup()

    # ── the gate ─────────────────────────────────────────────────────────────────────────────────────

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """No other site's page may act here, nor read under a name that points to this machine."""
        hosts = {f"{name}:{self.port}" for name in ("127.0.0.1", "localhost")}
        origin = request.headers.get("Origin")
        if request.host not in hosts or (origin is not None and origin.removeprefix("http://") not in hosts):
            raise web.HTTPForbidden(text="not from here\n", headers=_HEADERS)
        if request.method == "POST" and origin is None:
            raise web.HTTPForbidden(text="not from here\n", headers=_HEADERS)
        try:
            response = await handler(request)
        except web.HTTPException as error:
            error.headers.update(_HEADERS)
            raise
        if not response.prepared:
            response.headers.update(_HEADERS)
        return response

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────

    async def _page(self, request: web.Request) -> web.Response:
        path = PAGE / request.match_info.get("name", "index.html")
        if path.parent != PAGE or path.suffix not in _TYPES or not path.is_file():
            raise web.HTTPNotFound
        return web.Response(body=path.read_bytes(), content_type=_TYPES[path.suffix], charset="utf-8")

    async def _state(self, request: web.Request) -> web.Response:
        person = self._person(_number(request, "person"))
        return _json(state(self.twin, person, _number(request, "chat"), _number(request, "topic")))

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events: the number of changes so far, whenever it has grown."""
        response = web.StreamResponse(headers={**_HEADERS, "Content-Type": "text/event-stream"})
        await response.prepare(request)
        seen = self.twin.world.changes
        await response.write(f"data: {seen}\n\n".encode())
        while not self._ending.is_set():
            with anyio.move_on_after(_BEAT_SECONDS):
                seen = await self.twin.world.wait_for_change(seen)
            await response.write(f"data: {seen}\n\n".encode())
            # Many changes at once are told once.
            await anyio.sleep(0.05)
        return response

    async def _file(self, request: web.Request) -> web.Response:
        file = self.twin.world.files.get(request.match_info["id"])
        if file is None:
            raise web.HTTPNotFound
        kind = next((mime for start, mime in _PICTURES.items() if file.data.startswith(start)), "")
        headers = {} if kind else {"Content-Disposition": "attachment"}
        return web.Response(body=file.data, content_type=kind or "application/octet-stream", headers=headers)

    async def _transcript(self, request: web.Request) -> web.Response:
        chat = self.twin.world.chats.get(_number(request, "chat"))
        if chat is None:
            raise web.HTTPNotFound
        return web.Response(text=self.twin.transcript(chat) + "\n")

    # ── acting ───────────────────────────────────────────────────────────────────────────────────────

    async def _act(self, request: web.Request) -> web.Response:
        try:
            act = msgspec.json.decode(await request.read(), type=_Act)
        except msgspec.DecodeError:
            raise web.HTTPBadRequest(text="not understood\n") from None
        person = self._person(act.person)
        try:
            return _json(await self._do(request.match_info["name"], person, act))
        except ApiError as error:
            return _json({"error": error.description})
        except AssertionError as error:
            return _json({"error": str(error)})

    async def _do(self, name: str, person: Person, act: _Act) -> Json:
        chat = self._chat(act.chat)
        match name:
            case "say":
                reply = chat.messages.get(act.message)
                said = await person.says(chat, act.text, topic=act.topic, reply_to=reply)
                return {"message": said.id}
            case "press":
                return await self._press(person, self._message(chat, act.message), act)
            case "edit":
                await person.edits(self._message(chat, act.message), act.text)
            case "delete":
                await person.deletes(self._message(chat, act.message))
            case "react":
                await person.reacts(self._message(chat, act.message), act.emoji)
            case "topic":
                return {"topic": (await person.creates_topic(chat, act.text.strip())).id}
            case "stop":
                await person.stops_generation(chat)
            case _:
                raise web.HTTPNotFound
        return {}

    async def _press(self, person: Person, message: Message, act: _Act) -> Json:
        try:
            button = message.content.keyboard[act.row][act.column]
        except IndexError:
            return {"error": "the button is gone"}
        press = await person.presses_button(message, button, seconds=_PRESS_SECONDS)
        return {"answered": press.answered, "toast": press.toast, "alert": press.alert}

    async def _upload(self, request: web.Request) -> web.Response:
        """A file, with its place in the query."""
        person, chat = self._person(_number(request, "person")), self._chat(_number(request, "chat"))
        part = await (await request.multipart()).next()
        if not isinstance(part, BodyPartReader):
            raise web.HTTPBadRequest(text="not understood\n")
        data = bytes(await part.read(decode=False))
        kind = "photo" if any(data.startswith(start) for start in _PICTURES) else "document"
        caption, topic = request.query.get("caption", ""), _number(request, "topic")
        try:
            await person.uploads(chat, (part.filename or "file", data), kind=kind, caption=caption, topic=topic)
        except (ApiError, AssertionError) as error:
            return _json({"error": str(error)})
        return _json({})

    # ── finding ──────────────────────────────────────────────────────────────────────────────────────

    def _person(self, number: int) -> Person:
        found = next((one for one in self.twin.people if one.id == number), None)
        if found is None:
            if not number and self.twin.people:
                return self.twin.people[0]
            raise web.HTTPNotFound(text="nobody has this number\n")
        return found

    def _chat(self, number: int) -> Chat:
        chat = self.twin.world.chats.get(number)
        if chat is None:
            raise web.HTTPNotFound(text="no such chat\n")
        return chat

    def _message(self, chat: Chat, number: int) -> Message:
        message = chat.messages.get(number)
        if message is None or message.deleted:
            raise AssertionError("the message is gone")
        return message


def _number(request: web.Request, name: str) -> int:
    try:
        return int(request.query.get(name) or 0)
    except ValueError:
        raise web.HTTPBadRequest(text=f"{name} is no number\n") from None


def _json(body: Json) -> web.Response:
    return web.Response(body=msgspec.json.encode(body), content_type="application/json")
