"""A real `beambot up` between an agent's process and a Telegram on this machine, and what the people there saw.

The Telegram, its people and the watching are in this process, beambot and the agent in processes of their own: the
time and the memory of beambot's process are its own. Moments are those of the machine's clock in all three.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import yaml
from anyio.abc import Process
from msgspec import Struct

from benchmarks.streams import Event, texts
from platforms.telegram.twin import Chat, Twin

BEAMBOT = str(Path(sys.executable).parent / "beambot")
AGENT = Path(__file__).parent / "streams" / "agent.py"
MARK = re.compile(r"<(\d{5})>")
TICKS = os.sysconf("SC_CLK_TCK")
STEP = 0.1


class Bridge:
    """One folder, one Telegram with its one person, and a beambot that can be started, killed and started again."""

    def __init__(self, folder: Path, twin: Twin, work: list[Event]) -> None:
        self.folder = folder
        self.twin = twin
        self.owner = twin.person("Ana", 1)
        self.process: Process | None = None
        self.begun = 0.0
        self._diary = folder / "diary.jsonl"
        (folder / "project").mkdir(parents=True)
        (folder / "work.json").write_text(json.dumps(_spoken(work)))
        (folder / "beambot.yaml").write_text(yaml.safe_dump(self._settings()))

    def _settings(self) -> dict[str, object]:
        agent = [str(AGENT), str(self.folder / "work.json"), str(self._diary)]
        return {
            "projects": [{"name": "here", "path": str(self.folder / "project"), "adapter": "scripted"}],
            "adapters": {"scripted": {"type": "acp", "command": sys.executable, "args": agent}},
            "platforms": {"telegram": {"token_env": "TWIN_TOKEN", "base_url": self.twin.base_url}},
            "members": [{"name": "ana", "role": "owner", "telegram": "1"}],
        }

    async def start(self) -> float:
        """Seconds from the start of the process until it asks Telegram for news."""
        env = {**os.environ, "BEAMBOT_HOME": str(self.folder), "TWIN_TOKEN": self.twin.token}
        command = [BEAMBOT, "up", "--log-level", "error", "--config", str(self.folder / "beambot.yaml")]
        self.begun = time.time()
        # What it prints goes to a file: a pipe that nobody reads would stop it.
        with (self.folder / "output.txt").open("ab") as out:
            self.process = await anyio.open_process(command, cwd=self.folder, env=env, stdout=out, stderr=out)
        await until(lambda: self._asked() or not self.alive, 30)
        if not self.alive:
            raise AssertionError(f"beambot ended: {(self.folder / 'output.txt').read_text()[-2000:]}")
        return self._asked() - self.begun

    def _asked(self) -> float:
        """When this run first asked for news; 0 before that."""
        polls = (at for at, call in self.twin.calls if call.method == "getUpdates" and at >= self.begun)
        return next(polls, 0.0)

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.returncode is None

    async def kill(self) -> float:
        """kill -9; the moment of it."""
        assert self.process is not None
        at = time.time()
        self.process.kill()
        await self.process.wait()
        return at

    async def stop(self) -> None:
        """As somebody who ends it with ctrl-C, or else for sure."""
        if self.process is None or not self.alive:
            return
        with anyio.move_on_after(10, shield=True):
            self.process.terminate()
            await self.process.wait()
        if self.alive:
            with anyio.CancelScope(shield=True):
                await self.kill()

    def cpu(self) -> float:
        """Seconds of processor time of this run, without its agent's."""
        assert self.process is not None
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    async def rest(self) -> float:
        """Until the start is over, whose last calls come after it is ready; the seconds used by then."""
        used = -1.0
        while used != (now := self.cpu()):
            used = now
            await anyio.sleep(0.5)
        return used

    def megabytes(self) -> float:
        """Resident now."""
        assert self.process is not None
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def diary(self) -> list[tuple[float, str]]:
        """What the agent did, and when."""
        lines = self._diary.read_text().splitlines() if self._diary.exists() else []
        return [(at, what) for at, what in map(json.loads, lines)]

    def said(self) -> list[float]:
        """When the agent had said each delta, as often as it said them."""
        return [at for at, what in self.diary() if MARK.search(what)]


@asynccontextmanager
async def bridge(folder: Path, work: list[Event]) -> AsyncIterator[Bridge]:
    """Telegram with its real limits; whatever happens, no process is left behind."""
    async with Twin() as twin:
        mine = Bridge(folder, twin, work)
        try:
            yield mine
        finally:
            await mine.stop()


def _spoken(work: list[Event]) -> list[tuple[float, str, str]]:
    words = iter(texts(work))
    return [
        (at, "text", next(words)[1]) if isinstance(what, int) else (at, what, "make check") for at, what in work
    ]


class Screen:
    """What people saw of the deltas in one chat."""

    def __init__(self, chat: Chat, count: int) -> None:
        self.chat = chat
        self.count = count
        # By mark: when it was first seen.
        self.seen: dict[int, float] = {}
        self._read = 0

    def look(self) -> bool:
        """Whether every delta has been seen by now."""
        steps = self.chat.steps[self._read :]
        self._read += len(steps)
        for step in steps:
            if step.content is not None:
                for mark in map(int, MARK.findall(step.content.shown)):
                    self.seen.setdefault(mark, step.at)
        return len(self.seen) >= self.count

    def standing(self) -> Counter[int]:
        """How often each delta stands in the chat now."""
        return Counter(int(mark) for one in self.chat.standing for mark in MARK.findall(one.text))

    def ages(self, said: list[float]) -> list[float]:
        """The age of the oldest text that was said and not seen, each 100 ms while the stream ran."""
        never = float("inf")
        # A delta and all before it have been seen from this moment on.
        whole: list[float] = []
        for mark in range(len(said)):
            whole.append(max(self.seen.get(mark, never), whole[-1] if whole else 0.0))
        moments = [said[0] + number * STEP for number in range(int((said[-1] - said[0]) / STEP) + 1)]
        ages: list[float] = []
        for now in moments:
            first = bisect_right(whole, now)
            ages.append(max(0.0, now - said[first]) if first < len(said) else 0.0)
        return ages


class Calls(Struct, frozen=True):
    """What was asked of a Telegram."""

    posts: int
    edits: int
    others: int
    refusals: int

    @classmethod
    def of(cls, twin: Twin) -> Calls:
        made = Counter(call.method for _, call in twin.calls if "chat_id" in call.arguments)
        posts, edits = made.pop("sendMessage", 0), made.pop("editMessageText", 0)
        return cls(posts, edits, sum(made.values()), twin.refusals)

    def __str__(self) -> str:
        return f"{self.posts} posts, {self.edits} edits, {self.others} reactions and signs of typing"


async def until(true: Callable[[], object], seconds: float) -> bool:
    """Whether it came true in time."""
    with anyio.move_on_after(seconds):
        while not true():  # noqa: ASYNC110
            await anyio.sleep(0.02)
        return True
    return False
