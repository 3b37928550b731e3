"""A real beambot process with the demo agent, and a phone that talks to it over its web chat."""

from __future__ import annotations

import asyncio
import contextlib
import html
import itertools
import json
import os
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import anyio
import pytest
import yaml

PATIENCE = 20.0
_TAG = re.compile(r"<[^>]*>")
_LINK = re.compile(r"web is ready: (\S+)")


async def until(seen: Callable[[], Any], *, seconds: float = PATIENCE, what: Callable[[], Any] = lambda: "") -> Any:
    """The first true thing that `seen` gives."""
    with anyio.move_on_after(seconds):
        while not (found := seen()):
            await anyio.sleep(0.02)
        return found
    raise AssertionError(f"not so within {seconds:g} s: {what() or seen}")


def alive(pid: int) -> bool:
    """Whether it runs; one that ended and was not yet reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def processes_of(folder: Path) -> list[int]:
    """Everything that was started with this folder on its command line."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            mine = entry.name.isdigit() and os.fsencode(folder) in (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if mine and alive(int(entry.name)):
            found.append(int(entry.name))
    return found


class House:
    """One store, one project, and a beambot that can be started, killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.store = folder / "home" / "beambot.db"
        self.config = folder / "beambot.yaml"
        self.history = folder / "demo"
        self.agent: dict[str, Any] = {}
        self.env: dict[str, str] = {}
        self.link = ""
        self.phones: list[Phone] = []
        self._port = 0
        self._runs = 0
        self._pipe = -1
        self._process: asyncio.subprocess.Process | None = None
        self.project.mkdir()
        self.demo()

    def demo(self, pace: float = 0.02) -> None:
        """The next start uses the demo agent."""
        args = ["-P", "-m", "adapters.demo", "--pace", str(pace), "--state", str(self.history)]
        self.agent = {"type": "demo", "args": args}

    def python(self, source: str, **settings: Any) -> None:
        """The next start uses this program as its agent."""
        script = self.folder / "agent.py"
        script.write_text(source)
        self.agent = {"type": "acp", "command": sys.executable, "args": [str(script)], **settings}

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def output(self) -> str:
        """All that every run printed and logged."""
        return "".join(path.read_text() for path in sorted(self.folder.glob("run-*.log")))

    def agents(self) -> list[int]:
        """The agents that run now."""
        return [pid for pid in processes_of(self.folder) if self._process is None or pid != self._process.pid]

    def prompts(self) -> list[str]:
        """What the demo agent was told, in all of its sessions."""
        lines = map(json.loads, b"".join(p.read_bytes() for p in self.history.glob("*.jsonl")).splitlines())
        return [line["text"] for line in lines if line.get("role") == "user"]

    def environment(self) -> dict[str, str]:
        mine = {
            "BEAMBOT_HOME": str(self.folder / "home"),
            "BEAMBOT_CONFIG": str(self.config),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "XDG_DATA_HOME": str(self.folder / "data"),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
        }
        return {**os.environ, **mine, **self.env}

    async def start(self, *, reader: bool = False) -> None:
        """Start it, and wait until its page is served. With `reader`, its output is a pipe that can be closed."""
        self._write_config()
        self._runs += 1
        log = self.folder / f"run-{self._runs}.log"
        words = (sys.executable, "-m", "beambot", "up", "--config", str(self.config))
        self._pipe, end = os.pipe() if reader else (-1, -1)
        with log.open("ab") as out:
            streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": end if reader else out, "stderr": out}
            self._process = await asyncio.create_subprocess_exec(*words, **streams, env=self.environment())
        process = self._process
        if reader:
            os.close(end)
            os.set_blocking(self._pipe, False)

        def printed() -> str:
            with contextlib.suppress(BlockingIOError), log.open("ab") as out:
                out.write(os.read(self._pipe, 65536) if reader else b"")
            return log.read_text()

        found = await until(lambda: _LINK.search(printed()) or process.returncode is not None, what=printed)
        assert isinstance(found, re.Match), log.read_text()
        self.link = found[1]
        self._port = urlsplit(self.link).port or 0

    def _write_config(self) -> None:
        settings = {
            "projects": [{"name": "shop", "path": str(self.project), "adapter": "worker"}],
            "adapters": {"worker": self.agent},
            "platforms": {"web": {"port": self._port}},
            "members": [
                {"name": "ana", "role": "owner", "web": "local"},
                {"name": "ben", "role": "approver", "web": "ben"},
            ],
            "limits": {"stop_grace": "3s"},
        }
        self.config.write_text(yaml.safe_dump(settings))

    def close_output(self) -> None:
        """Nobody reads what it prints any more."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    async def kill(self) -> None:
        """kill -9; its agents end by themselves, because nobody talks to them any more."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        self._process = None
        await until(lambda: not self.agents(), seconds=10, what=lambda: f"agents were left: {self.agents()}")

    async def stop(self) -> int:
        """SIGTERM; gives the exit code."""
        assert self._process is not None
        self._process.terminate()
        with anyio.fail_after(10):
            code = await self._process.wait()
        self._process = None
        return code

    async def run(self, *words: str) -> tuple[int, str]:
        """Another beambot command beside it: its exit code, and all it printed."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "beambot", *words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self.environment(),
        )
        with anyio.fail_after(PATIENCE):
            out, _ = await process.communicate()
        return process.returncode or 0, out.decode()

    async def phone(self, link: str = "") -> Phone:
        """A person's phone, signed in and connected."""
        phone = self.stranger()
        assert await phone.status(link or self.link) == 200
        await phone.connect()
        return phone

    def stranger(self) -> Phone:
        """A phone that is not signed in."""
        self.phones.append(Phone(self))
        return self.phones[-1]

    async def end(self) -> None:
        for phone in self.phones:
            await phone.end()
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        self._process = None
        self.close_output()


class Phone:
    """What the page does, without a browser: one thread, its messages as text, presses and receipts."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._http = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._reader: asyncio.Task[None] | None = None
        self._settled: dict[str, dict[str, Any]] = {}
        self._messages: dict[int, dict[str, Any]] = {}
        self._loaded = False
        self.thread = secrets.token_hex(8)
        self.acks: list[str] = []

    async def status(self, link: str) -> int:
        """Open an address; a link that lets in leaves its cookie here."""
        async with self._http.get(link) as answer:
            return answer.status

    async def connect(self) -> None:
        """Connect, and load the thread."""
        await self._disconnect()
        address = self._house.address
        self._socket = await self._http.ws_connect(f"{address}/ws", origin=address, max_msg_size=0)
        self._loaded = False
        self._reader = asyncio.create_task(self._read(self._socket))
        await self._socket.send_json({"t": "open", "thread": self.thread, "since": 0})
        await until(lambda: self._loaded)

    async def say(self, text: str, *, id: str = "", wait: bool = True) -> str:
        """Send words; with `wait` until beambot has them. The same id is the same message."""
        id = id or secrets.token_hex(8)
        await self._act({"t": "say", "id": id, "thread": self.thread, "text": text, "new": True}, wait)
        return id

    async def press(self, label: str) -> None:
        """The newest button of this name, as soon as it is there."""
        message, data = await until(lambda: self._button(label), what=lambda: f"[{label}] in\n{self.transcript()}")
        id = secrets.token_hex(8)
        await self._act(
            {"t": "press", "id": id, "thread": self.thread, "message": str(message), "data": data}, True
        )

    async def sees(self, text: str, *, seconds: float = PATIENCE) -> None:
        """Wait until these words stand in the thread."""
        await until(
            lambda: text in self.transcript(), seconds=seconds, what=lambda: f"{text!r}\n{self.transcript()}"
        )

    async def acked(self, text: str) -> None:
        """Wait until a press was answered with these words."""
        await until(lambda: any(text in ack for ack in self.acks), what=lambda: self.acks)

    async def offers(self, *labels: str) -> str:
        """Wait until one of these can be pressed; gives the first that can."""
        wanted = lambda: next((label for label in labels if label in self.labels()), "")  # noqa: E731
        return str(await until(wanted, what=lambda: f"{labels}\n{self.transcript()}"))

    async def receives(self, text: str, receipt: str, *, seconds: float = PATIENCE) -> None:
        """Wait until the message that says this has this receipt."""
        await until(lambda: self.receipts().get(text) == receipt, seconds=seconds, what=self.receipts)

    def receipts(self) -> dict[str, str]:
        return {m["text"]: m["receipt"] for m in self._messages.values() if m["kind"] == "said"}

    def labels(self) -> list[str]:
        """Every button that can be pressed now."""
        return [b["label"] for m in self._messages.values() for row in m.get("buttons", ()) for b in row]

    def transcript(self, *, posts_only: bool = False) -> str:
        """What stands in the thread, as plain text: a message a paragraph, what people said behind `>`."""
        shown = [message for _, message in sorted(self._messages.items())]
        return "\n\n".join(_plain(message) for message in shown if message["kind"] == "post" or not posts_only)

    def count(self, text: str) -> int:
        """How many messages hold these words."""
        return sum(text in _plain(message) for message in self._messages.values())

    async def end(self) -> None:
        await self._disconnect()
        await self._http.close()

    async def _disconnect(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
        if self._socket is not None:
            await self._socket.close()

    def _button(self, label: str) -> tuple[int, str] | None:
        for id in sorted(self._messages, reverse=True):
            for button in itertools.chain(*self._messages[id].get("buttons", ())):
                if button["label"] == label:
                    return id, button["data"]
        return None

    async def _act(self, frame: dict[str, Any], wait: bool) -> None:
        assert self._socket is not None
        await self._socket.send_json(frame)
        if wait:
            answer = await until(lambda: self._settled.get(frame["id"]), what=lambda: frame)
            assert answer["t"] == "ok", answer

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        async for received in socket:
            if received.type is aiohttp.WSMsgType.TEXT:
                self._take(received.json())

    def _take(self, frame: dict[str, Any]) -> None:
        match frame["t"]:
            case "snapshot":
                self._messages = {message["id"]: message for message in frame["messages"]}
                self._loaded = True
            case "post":
                self._messages[frame["message"]["id"]] = frame["message"]
            case "edit":
                _patch(self._messages[frame["id"]], frame["patch"])
            case "gone":
                self._messages.pop(frame["id"], None)
            case "receipt":
                self._messages[frame["id"]]["receipt"] = frame["receipt"]
            case "ok" | "error" if frame["id"]:
                self._settled[frame["id"]] = frame
            case "ack":
                self.acks.append(frame["text"])


def _patch(message: dict[str, Any], patch: dict[str, Any]) -> None:
    blocks = message["blocks"]
    for index, open, count, pieces in patch["grown"]:
        block = blocks[index]
        for piece, keep, rest in pieces:
            block["html"] += [""] * (piece + 1 - len(block["html"]))
            kept = block["html"][piece].encode("utf-16-le")[: 2 * keep].decode("utf-16-le")
            block["html"][piece] = kept + rest
        del block["html"][count:]
        block["open"] = open
    for index, block in patch["whole"]:
        blocks[index : index + 1] = [block]
    del blocks[patch["count"] :]
    message.update(patch.get("rest", {}))


def _plain(message: dict[str, Any]) -> str:
    if message["kind"] != "post":
        return f"> {message['text']}"
    lines = [line for block in message["blocks"] for line in _lines(block)]
    buttons = [f"[{button['label']}]" for row in message["buttons"] for button in row]
    return "\n".join([*lines, *([" ".join(buttons)] if buttons else [])])


def _lines(block: dict[str, Any]) -> list[str]:
    match block["t"]:
        case "text":
            return [html.unescape(_TAG.sub("", piece)).strip() for piece in block["html"]]
        case "tools":
            return [f"{line['state']}: {line['title']}" for line in block["lines"]]
        case "list":
            return [f"{status}: {text}" for text, status in block["items"]]
        case "diff":
            return [block["path"], *block["lines"]]
        case "facts":
            return [f"{name}: {value}" for name, value, _ in block["facts"]]
        case _:
            return [block["text"]]


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """A beambot that is not started yet. Whatever the test did, no process is left behind."""
    here = House(tmp_path)
    try:
        yield here
    finally:
        await here.end()
        try:
            await until(lambda: not processes_of(tmp_path), seconds=10, what=lambda: "processes were left behind")
        finally:
            for pid in processes_of(tmp_path):
                os.kill(pid, signal.SIGKILL)
