"""A world for adapters: real agents as processes, in a folder of their own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from adapters.acp.adapter import AcpAdapter
from adapters.acp.handshake import AcpConfig
from adapters.acp.session import AcpSession
from beambot.api import Clock, OpenOptions, PluginContext
from beambot.testing.adapter_contract import Listener, RandomIds, WallClock, check_stream


class World:
    """Opens agents, listens to them, and checks every stream when the test is over."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "project"
        self.folder.mkdir()
        self.home = tmp_path
        self.clock: Clock = WallClock()
        self._tasks: list[asyncio.Task[None]] = []
        self.listeners: list[Listener] = []

    def adapter(self, command: str, *args: str, **settings: Any) -> AcpAdapter:
        context = PluginContext(home=self.home, clock=self.clock, ids=RandomIds())
        config = AcpConfig(command=command, args=args, **{"start_timeout": 20.0, **settings})
        return AcpAdapter("acp", config, context)

    def demo(self, *args: str, **settings: Any) -> AcpAdapter:
        state = str(self.home / "state")
        return self.adapter(
            sys.executable, "-P", "-m", "adapters.demo", "--pace", "0.002", "--state", state, *args, **settings
        )

    def python(self, source: str, **settings: Any) -> AcpAdapter:
        script = self.home / "agent.py"
        script.write_text(source)
        return self.adapter(sys.executable, str(script), **settings)

    async def open(self, adapter: AcpAdapter, **more: Any) -> tuple[AcpSession, Listener]:
        options = OpenOptions(
            session="s", folder=self.folder, **{k: more.pop(k) for k in ("model", "mode", "env") if k in more}
        )
        session = await adapter.open(options, **more)
        listener = Listener(session)
        self.listeners.append(listener)
        self._tasks.append(asyncio.create_task(listener.listen()))
        return session, listener

    async def gone(self, pid: int) -> None:
        """Ended; who reaps an orphan, and when, is the machine's affair."""
        stat = Path(f"/proc/{pid}/stat")
        with anyio.fail_after(5):
            while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "ZX":
                await anyio.sleep(0.01)

    async def end(self) -> None:
        with anyio.fail_after(20):
            for listener in self.listeners:
                await listener.session.close()
            await asyncio.gather(*self._tasks)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    here = World(tmp_path)
    yield here
    await here.end()
    for listener in here.listeners:
        assert check_stream(listener.messages, complete=True) == []
