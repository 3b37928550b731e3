"""Nobody gets in without a link, and nobody does much with too little."""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest

from beambot.api import BeambotError, PluginContext
from platforms.web import Settings, configure, spec
from platforms.web.gate import Doors
from platforms.web.platform import WebPlatform


async def status(session: aiohttp.ClientSession, path: str, **more: Any) -> int:
    async with session.get(path, **more) as answer:
        return answer.status


@pytest.mark.parametrize("path", ["/", "/page/app.js", "/page/style.css", "/ws", "/files/x", "/nothing"])
async def test_without_cookie_there_is_only_the_way_in(stage: Any, path: str) -> None:
    async with stage.client(signed_in=False) as session:
        async with session.get(path) as answer:
            assert answer.status == 401
            assert "beambot web link" in await answer.text()
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


async def test_link_lets_in_once_and_the_page_is_well_protected(stage: Any) -> None:
    link = await stage.platform.invitation()
    async with stage.client(signed_in=False) as session:
        async with session.get(link) as answer:
            cookie = answer.headers["Set-Cookie"]
            assert all(part in cookie for part in ("HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=2592000"))
        async with session.get("/") as answer:
            assert answer.status == 200
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Referrer-Policy"] == "no-referrer"
            assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    async with stage.client(signed_in=False) as other:
        assert await status(other, link) == 401
        assert await status(other, "/") == 401


async def test_codes_and_cookies_are_not_in_the_database_as_they_are(stage: Any) -> None:
    link = await stage.platform.invitation()
    code = link.rpartition("=")[2]
    async with stage.client() as session:
        token = next(iter(session.cookie_jar)).value
    await stage.stop()
    kept = b"".join(path.read_bytes() for path in stage.home.glob("web.db*"))
    assert code.encode() not in kept
    assert token.encode() not in kept
    assert (stage.home / "web.db").stat().st_mode & 0o077 == 0
    await stage.start()


async def test_link_and_cookie_end(stage: Any) -> None:
    link = await stage.platform.invitation()
    stage.clock.time += 601
    async with stage.client(signed_in=False) as session:
        assert await status(session, link) == 401
    async with stage.client() as session:
        assert await status(session, "/") == 200
        stage.clock.time += 30 * 86400 + 1
        assert await status(session, "/") == 401


async def test_guessing_is_slowed_down_also_for_the_right_code(stage: Any) -> None:
    link = await stage.platform.invitation()
    async with stage.client(signed_in=False) as session:
        for _ in range(10):
            assert await status(session, "/enter?code=wrong") == 401
        assert await status(session, link) == 429
        stage.clock.time += 61
        assert await status(session, link) == 200


async def test_strange_host_is_refused(stage: Any) -> None:
    async with stage.client() as session:
        assert await status(session, "/", headers={"Host": "evil.example"}) == 403
        assert await status(session, "/", headers={"Host": f"localhost:{stage.port}"}) == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", ""])
async def test_page_of_another_site_cannot_connect_or_send(stage: Any, origin: str) -> None:
    async with stage.client() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect("/ws", headers={"Origin": origin})
        assert refused.value.status == 403
        async with session.post("/upload", data=b"x", headers={"Origin": origin}) as answer:
            assert answer.status == 403


async def test_paths_do_not_lead_out_of_the_page_folder(stage: Any) -> None:
    async with stage.client() as session:
        for path in ("/page/..%2fchat.py", "/page/%2e%2e/gate.py", "/page/nothing.js", "/files/..%2fweb.db"):
            assert await status(session, path) in (403, 404)


async def test_too_large_frame_ends_the_connection_and_nothing_comes_in(stage: Any) -> None:
    async with stage.client() as session, session.ws_connect("/ws") as ws:
        await ws.send_str("x" * 70_000)
        async for _ in ws:
            pass
        assert ws.close_code == 1009
    assert stage.inbox.items == []


async def test_too_large_file_is_refused_and_leaves_nothing(stage: Any) -> None:
    async with stage.client() as session:
        async with session.post("/upload?name=a", data=io.BytesIO(b"x" * (10 * 1024 * 1024 + 1))) as answer:
            assert answer.status == 413

        async def endless() -> Any:
            for _ in range(170):
                yield b"x" * 65536

        async with session.post("/upload?name=a", data=endless()) as answer:
            assert answer.status == 413
    assert list((stage.home / "files").iterdir()) == []


async def answers(ws: aiohttp.ClientWebSocketResponse, kinds: set[str], count: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while len(found) < count:
        frame = (await ws.receive(timeout=5)).json()
        if frame["t"] in kinds:
            found.append(frame)
    return found


def say(thread: str, number: int, text: str = "hello", **more: Any) -> dict[str, Any]:
    return {"t": "say", "id": f"client-{number:04}", "thread": thread, "text": text, **more}


async def test_too_fast_is_said_and_stop_still_works(stage: Any) -> None:
    thread = (await stage.thread()).chat
    async with stage.client() as session, session.ws_connect("/ws") as ws:
        for number in range(21):
            await ws.send_json(say(thread, number))
        replies = await answers(ws, {"ok", "error"}, 21)
        assert [reply["t"] for reply in replies] == ["ok"] * 20 + ["error"]
        assert replies[-1]["retry"] > 0
        await ws.send_json(say(thread, 99, "/stop"))
        assert (await answers(ws, {"ok", "error"}, 1))[0]["t"] == "ok"
        stage.clock.time += 11
        await ws.send_json(say(thread, 20))
        assert (await answers(ws, {"ok", "error"}, 1))[0]["t"] == "ok"
    assert len(stage.inbox.items) == 22


async def test_nonsense_is_answered_and_the_connection_stays(stage: Any) -> None:
    thread = (await stage.thread()).chat
    async with stage.client() as session, session.ws_connect("/ws") as ws:
        await ws.send_str("{")
        assert "understood" in (await answers(ws, {"error"}, 1))[0]["text"]
        for frame in (say("nosuchthread", 1), say(thread, 2, " "), say(thread, 3, files=["nosuchfile"])):
            await ws.send_json(frame)
            assert (await answers(ws, {"ok", "error"}, 1))[0]["t"] == "error"
        await ws.send_json({"t": "press", "id": "client-0004", "thread": thread, "message": "99", "data": "a"})
        assert (await answers(ws, {"ok", "error"}, 1))[0]["t"] == "error"
    assert stage.inbox.items == []


async def test_core_that_cannot_write_is_not_acknowledged(stage: Any) -> None:
    async def fail(_: Any) -> None:
        raise BeambotError("disk full")

    thread = (await stage.thread()).chat
    stage.inbox.on_put = fail
    async with stage.client() as session, session.ws_connect("/ws") as ws:
        await ws.send_json(say(thread, 1))
        assert (await answers(ws, {"ok", "error"}, 1))[0]["retry"] > 0
        stage.inbox.on_put = None
        await ws.send_json(say(thread, 1))
        assert (await answers(ws, {"ok", "error"}, 1))[0]["t"] == "ok"
    assert len(stage.inbox.items) == 1


async def test_too_many_pages_are_refused(stage: Any) -> None:
    async with stage.client() as session:
        pages = [await session.ws_connect("/ws") for _ in range(16)]
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect("/ws")
        assert refused.value.status == 503
        for page in pages:
            await page.close()


async def test_port_in_use_is_a_clear_error(stage: Any, tmp_path: Path) -> None:
    context = PluginContext(home=tmp_path / "other", clock=stage.clock, ids=stage.platform.context.ids)
    other = WebPlatform(Settings(port=stage.port), context)
    try:
        with pytest.raises(BeambotError, match="another program") as error:
            await other.run(stage.inbox, lambda: None)
        assert "port" in error.value.fix
    finally:
        await other.close()


class Section:
    """A configuration section with given values."""

    def __init__(self, **values: Any) -> None:
        self.values = values
        self.problems: list[str] = []

    def text(self, key: str, default: str = "", *, required: bool = False) -> str:
        return str(self.values.get(key, default))

    def integer(self, key: str, default: int, *, minimum: int = 0, maximum: int | None = None) -> int:
        return int(self.values.get(key, default))

    def flag(self, key: str, default: bool) -> bool:
        return bool(self.values.get(key, default))

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(self.values.get(key, ()))

    def problem(self, key: str, found: str, allowed: str, fix: str) -> None:
        self.problems.append(key)


@pytest.mark.parametrize(
    ("values", "problems"),
    [
        ({}, []),
        ({"host": "::1"}, []),
        ({"host": "0.0.0.0"}, ["host"]),
        ({"host": "chat.example.org"}, ["host"]),
        ({"host": "0.0.0.0", "allow_remote": True, "origins": ["https://chat.example.org"]}, []),
        ({"origins": ["chat.example.org"]}, ["origins"]),
        ({"origins": ["https://chat.example.org/page"]}, ["origins"]),
    ],
)
def test_only_loopback_unless_asked_for(values: dict[str, Any], problems: list[str]) -> None:
    section = Section(**values)
    configure(section)  # type: ignore[arg-type]
    assert section.problems == problems


async def test_command_prints_a_link_for_a_person_and_signs_them_out(stage: Any, capfd: Any) -> None:

    assert spec.command is not None
    assert await anyio.to_thread.run_sync(spec.command, ["link", "--user", "ana"], stage.home) == 0
    link = capfd.readouterr().out.strip().splitlines()[-1]
    assert link.startswith(f"{stage.url}/enter?code=")

    stage.clock.time = time.time()
    async with stage.client(signed_in=False) as session:
        assert await status(session, link) == 200
        async with session.ws_connect("/ws") as ws:
            assert (await answers(ws, {"hello"}, 1))[0]["user"] == "ana"
            assert await anyio.to_thread.run_sync(spec.command, ["logout", "--user", "ana"], stage.home) == 0
            await ws.send_json({"t": "ping"})
            async for _ in ws:
                pass
        assert await status(session, "/") == 401


def test_command_says_what_to_do_before_the_first_start(tmp_path: Path, capfd: Any) -> None:
    assert spec.command is not None
    assert spec.command(["link"], tmp_path) == 1
    assert "beambot up" in capfd.readouterr().err
    assert spec.command(["link", "--user", "a b"], tmp_path) == 1


def test_link_leads_to_an_address_that_is_served() -> None:
    assert Doors("127.0.0.1", 1, ()).address == "http://127.0.0.1:1"
    assert Doors("::1", 1, ()).address == "http://[::1]:1"
    assert Doors("0.0.0.0", 1, ()).address == "http://127.0.0.1:1"
    behind = Doors("0.0.0.0", 1, ("https://chat.example.org",))
    assert behind.address == "https://chat.example.org"
    behind.check({"Host": "chat.example.org", "Origin": "https://chat.example.org"}, acts=True)
    assert behind.is_secure("chat.example.org")
    assert not behind.is_secure("localhost:1")
