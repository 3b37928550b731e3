"""How long it takes until beambot is there: help, a first start, a start with a long past; and its memory."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import aiohttp
import anyio
import yaml

from beambot.clock import SystemClock
from beambot.model import message as message_model
from beambot.model.bodies import TextDelta
from beambot.model.message import UnifiedMessage
from beambot.store import Store
from beambot.testing.world import World
from benchmarks.figures import Figure

BEAMBOT = str(Path(sys.executable).parent / "beambot")
SESSIONS, MESSAGES, CUT_OFF = 1000, 1_000_000, 10


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        ready, rss = _first_start(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        past = anyio.run(_start_with_a_past, Path(folder))
    how = f"{SESSIONS} sessions, {MESSAGES} messages, {CUT_OFF} turns cut off; until a first command is answered"
    return [
        Figure("help_seconds", min(_help() for _ in range(5)), "s", 0.3, note="best of 5"),
        Figure("ready_seconds", ready, "s", 0.8, note="best of 3"),
        Figure("rss_mb", rss, "MB", 80.0, note="one session, after an answer of the demo agent"),
        Figure("startup_ready", past, "s", 2.0, note=how),
    ]


def _help() -> float:
    begun = time.perf_counter()
    subprocess.run([BEAMBOT, "--help"], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun


# ── a first start ────────────────────────────────────────────────────────────────────────────────────


def _first_start(folder: Path) -> tuple[float, float]:
    """Seconds until the chat is ready, and megabytes after a first answer."""
    times, rss = [], 0.0
    for number in range(3):
        home = folder / str(number)
        home.mkdir()
        with _up(home) as (process, link, seconds):
            times.append(seconds)
            if number == 2:
                anyio.run(_ask, link)
                status = Path(f"/proc/{process.pid}/status").read_text()
                rss = int(status.split("VmRSS:")[1].split()[0]) / 1024
    return min(times), rss


@contextmanager
def _up(home: Path) -> Iterator[tuple[subprocess.Popen[str], str, float]]:
    """What somebody without a configuration gets, on a free port."""
    config = home / "beambot.yaml"
    values = {
        "projects": [{"name": "here", "path": str(home), "adapter": "demo"}],
        "adapters": {"demo": {}},
        "platforms": {"web": {"port": 0}},
        "members": [{"name": "me", "role": "owner", "web": "local"}],
    }
    config.write_text(yaml.safe_dump(values))
    begun = time.perf_counter()
    process = subprocess.Popen(
        [BEAMBOT, "up", "--log-level", "warning", "--config", str(config)],
        cwd=home,
        env={**os.environ, "BEAMBOT_HOME": str(home)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if (found := re.search(r"is ready: (\S+)", line)) is not None:
                yield process, found.group(1), time.perf_counter() - begun
                break
        else:
            raise AssertionError("beambot ended before it was ready")
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)


async def _ask(link: str) -> None:
    """A browser comes in, asks, and reads the answer to its end."""
    origin = re.match(r"https?://[^/]+", link)
    assert origin is not None
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar, headers={"Origin": origin.group()}) as client:
        (await client.get(link)).raise_for_status()
        async with client.ws_connect(origin.group() + "/ws") as socket:
            thread = "benchmarkthread"
            await socket.send_json({"t": "open", "thread": thread})
            say = {"t": "say", "id": "benchmark-1", "thread": thread, "text": "words 300", "new": True}
            await socket.send_json(say)
            await socket.send_json({"t": "open", "thread": thread})
            with anyio.fail_after(30):
                async for frame in socket:
                    if '"done"' in frame.data:
                        return
    raise AssertionError("the demo agent did not answer")


# ── a start with a long past ─────────────────────────────────────────────────────────────────────────


async def _start_with_a_past(folder: Path) -> float:
    path = folder / "beambot.db"
    await (await Store.open(path, SystemClock())).close()
    _fill(path, time.time())
    world = World(folder, clock=SystemClock())
    begun = time.perf_counter()
    async with world:
        await world.chat.says("/whoami")
        await world.sees("user1", seconds=60)
        return time.perf_counter() - begun


def _fill(path: Path, now: float) -> None:
    """A database as it is after long use and a sudden end."""
    each = MESSAGES // SESSIONS
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA synchronous = OFF")
        for n in range(SESSIONS):
            session, cut = f"s{n}", n < CUT_OFF
            state = "working" if cut else "idle"
            row = (session, "shop", "scripted", str(path.parent), f"Title {n}", state, f"a{n}", "", "", "user1")
            db.execute("INSERT INTO sessions VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", (*row, now - n, now - n))
            db.execute(
                "INSERT INTO threads VALUES ('fake', ?, '', ?, '', 1, '', ?)", (f"past{n}", session, now - n)
            )
            for turn in range(10):
                ended = "running" if cut and turn == 9 else "done"
                head = (f"{session}t{turn}", session, "person", ended, "go", b"", "user1")
                db.execute(
                    "INSERT INTO turns (id, session, origin, state, text, files, member, platform, chat, thread,"
                    " message, note, created_at, started_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                    (*head, "fake", f"past{n}", "", f"m{turn}", "", now - n, now - n),
                )
            db.executemany("INSERT INTO journal VALUES (?,?,?,?)", _journal(session, each, now))
        db.commit()


def _journal(session: str, count: int, now: float) -> Iterator[tuple[str, int, str, bytes]]:
    for seq in range(1, count + 1):
        turn = f"{session}t{(seq - 1) * 10 // count}"
        said = UnifiedMessage(TextDelta(f"Words of a past answer, number {seq}. "), "", turn, session, seq, now)
        yield session, seq, turn, message_model.encode(said)
