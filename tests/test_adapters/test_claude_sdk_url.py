"""The WebSocket that the program connects to: who may, what is carried, and what happens when it breaks."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest

from adapters.claude.process import sdk_url
from adapters.claude.process.sdk_url import SocketPipe
from beambot.api import AgentError

SLEEPS = ("sh", "-c", "exec sleep 60")


class Program:
    """The test plays the program; the child only has to be there."""

    def __init__(self, pipe: SocketPipe, http: aiohttp.ClientSession) -> None:
        self.pipe = pipe
        self._http = http
        port = pipe._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}"

    async def connect(self, path: str = "", **headers: str) -> aiohttp.ClientWebSocketResponse:
        given = {"Authorization": f"Bearer {self.pipe._token}", **headers}
        sent = {name.replace("_", "-"): value for name, value in given.items() if value}
        return await self._http.ws_connect(self.url + (path or self.pipe._path), headers=sent)

    async def refused(self, path: str = "", **headers: str) -> int:
        with pytest.raises(aiohttp.WSServerHandshakeError) as raised:
            await self.connect(path, **headers)
        return raised.value.status

    async def apart(self) -> None:
        """Until the pipe has seen that the connection broke."""
        with anyio.fail_after(5):
            await self.pipe._apart.wait()

    async def lines(self, count: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        with anyio.fail_after(5):
            while len(found) < count:
                found += [json.loads(line) for line in (await self.pipe.read()).splitlines()]
        return found


def line(**fields: Any) -> str:
    return json.dumps(fields) + "\n"


@pytest.fixture
async def program(tmp_path: Path) -> AsyncIterator[Program]:
    pipe = await SocketPipe.start(SLEEPS, tmp_path, {"PATH": "/usr/bin:/bin"}, "secret", grace=30.0)
    async with aiohttp.ClientSession() as http:
        yield Program(pipe, http)
        await pipe.stop()
        await pipe.stop()


async def test_lines_go_both_ways_whatever_frames_they_come_in(program: Program) -> None:
    program.pipe.write(b'{"n":1}\n')
    socket = await program.connect()
    assert (await socket.receive_json(timeout=5)) == {"n": 1}
    program.pipe.write('{"n":"é"}\n'.encode())
    await program.pipe.drain()
    assert (await socket.receive_json(timeout=5)) == {"n": "é"}
    await socket.send_str(line(a=1) + line(a=2))
    await socket.send_bytes(line(a=3).encode())
    assert [one["a"] for one in await program.lines(3)] == [1, 2, 3]


async def test_only_the_program_may_connect_and_only_once(program: Program) -> None:
    assert await program.refused("/ws/cli/other") == 403
    assert await program.refused("/") == 403
    assert await program.refused(Authorization="") == 403
    assert await program.refused(Authorization="Bearer wrong") == 403
    assert await program.refused(Origin="http://127.0.0.1") == 403
    first = await program.connect()
    assert await program.refused() == 409
    await first.send_str(line(still="here"))
    assert await program.lines(1) == [{"still": "here"}]


async def test_the_secret_of_the_environment_is_not_on_the_command_line(tmp_path: Path) -> None:
    words = ("sh", "-c", 'printf "%s\\n" "$CLAUDE_CODE_SESSION_ACCESS_TOKEN" "$*"', "sh")
    pipe = await SocketPipe.start(words, tmp_path, {"PATH": "/usr/bin:/bin"}, "secret", grace=30.0)
    with anyio.fail_after(5):
        assert await pipe.read() == b""
    token, line = pipe.stderr.text().splitlines()
    assert token == pipe._token
    assert line.startswith("--sdk-url ws://127.0.0.1:")
    assert line.endswith("/ws/cli/secret")
    assert token not in line
    await pipe.stop()


async def test_what_was_not_confirmed_is_sent_again_and_nothing_twice(program: Program) -> None:
    socket = await program.connect()
    program.pipe.write(b'{"n":1}\n')
    assert (await socket.receive_json(timeout=5)) == {"n": 1}
    # The ping behind it is answered while the next message is awaited.
    with pytest.raises(TimeoutError):
        await socket.receive(timeout=0.05)
    with anyio.fail_after(5):
        while program.pipe._lines:
            await anyio.sleep(0.005)
    await socket.close()
    await program.apart()
    for number in (2, 3):
        program.pipe.write(f'{{"n":{number}}}\n'.encode())
    again = await program.connect()
    assert [await again.receive_json(timeout=5) for _ in range(2)] == [{"n": 2}, {"n": 3}]


async def test_what_the_program_sends_again_is_dropped(program: Program) -> None:
    socket = await program.connect()
    await socket.send_str(line(uuid="a") + line(uuid="b"))
    await program.lines(2)
    await socket.close()
    await program.apart()
    again = await program.connect(X_Last_Request_Id="c")
    assert again._response.headers["X-Last-Request-Id"] == "b"
    await again.send_str(line(uuid="a") + line(uuid="b") + line(uuid="c"))
    assert await program.lines(1) == [{"uuid": "c"}]
    await again.send_str(line(uuid="d"))
    assert await program.lines(1) == [{"uuid": "d"}]


async def test_a_gap_ends_the_session_with_a_word(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk_url, "REPLAY_SECONDS", 0.05)
    socket = await program.connect()
    await socket.send_str(line(uuid="a"))
    await program.lines(1)
    await socket.close()
    await program.apart()
    await program.connect(X_Last_Request_Id="never-seen")
    with anyio.fail_after(5):
        assert await program.pipe.read() == b""
    assert "was lost when its connection broke" in program.pipe.stderr.text()
    with pytest.raises(AgentError):
        await program.pipe.drain()


async def test_a_program_that_does_not_come_back_is_given_up(tmp_path: Path) -> None:
    pipe = await SocketPipe.start(SLEEPS, tmp_path, {"PATH": "/usr/bin:/bin"}, "secret", grace=0.05)
    async with aiohttp.ClientSession() as http:
        program = Program(pipe, http)
        await (await program.connect()).close()
        with anyio.fail_after(5):
            assert await pipe.read() == b""
        assert "did not come back within 0.05 s" in pipe.stderr.text()
        assert await program.refused() == 410
    await pipe.stop()


async def test_the_end_of_the_program_is_the_end(tmp_path: Path) -> None:
    words = ("sh", "-c", "echo it went wrong >&2; exit 3")
    pipe = await SocketPipe.start(words, tmp_path, {"PATH": "/usr/bin:/bin"}, "secret", grace=30.0)
    with anyio.fail_after(5):
        assert await pipe.read() == b""
        assert await pipe.wait() == 3
    assert pipe.returncode == 3
    assert pipe.stderr.text() == "it went wrong"
    pipe.write(b"{}\n")
    await pipe.stop()


async def test_a_program_that_floods_us_waits_until_it_is_read(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sdk_url, "READ_AHEAD", 1000)
    socket = await program.connect()
    async with anyio.create_task_group() as group:

        async def flood() -> None:
            for number in range(200):
                await socket.send_str(line(n=number, text="x" * 100))

        group.start_soon(flood)
        found = await program.lines(200)
    assert [one["n"] for one in found] == list(range(200))
