"""Real agents, the model server behind them, and a home folder of their own. What is not installed is skipped."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from adapters.claude.adapter import ClaudeAdapter
from adapters.claude.process.spawn import ClaudeConfig
from adapters.claude.session import ClaudeSession
from beambot.api import OpenOptions, PluginContext, Prompt
from beambot.api import bodies as b
from beambot.testing.adapter_contract import Listener, RandomIds, WallClock, check_stream
from tests.model_server.script import script
from tests.model_server.server import ModelServer

_spec = importlib.util.spec_from_file_location("agents_install", Path(__file__).with_name("install.py"))
assert _spec is not None
assert _spec.loader is not None
install = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(install)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All that is here drives real programs."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.agents)


def program(name: str) -> str:
    """An installed agent; the test is skipped without it."""
    found = install.program(name)
    if found is None:
        pytest.skip(f"{name} is not installed; `make test-agents` installs it")
    return str(found)


class Stage:
    """Opens sessions with the real program and checks every stream when the test is over."""

    def __init__(self, tmp_path: Path, model: ModelServer) -> None:
        self.folder = tmp_path / "project"
        self.folder.mkdir()
        self.home = tmp_path / "home"
        self.home.mkdir()
        self.model = model
        self.listeners: list[Listener] = []
        self._tasks: list[asyncio.Task[None]] = []

    def env(self, **more: str) -> dict[str, str]:
        found = {
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "PATH": os.environ["PATH"],
        }
        return {**found, **more}

    def adapter(self, name: str = "claude", *, env: dict[str, str] | None = None, **settings: Any) -> ClaudeAdapter:
        context = PluginContext(home=self.home / "beambot", clock=WallClock(), ids=RandomIds())
        foreign = tuple(key for key in os.environ if key.startswith(("ANTHROPIC_", "CLAUDE_")))
        config = ClaudeConfig(
            **{
                "command": program(name),
                "env": self.env(**(env or {})),
                "drop_env": foreign,
                "start_timeout": 30.0,
                **settings,
            }
        )
        return ClaudeAdapter("claude", config, context)

    async def open(self, adapter: ClaudeAdapter | None = None, **more: Any) -> tuple[ClaudeSession, Listener]:
        chosen = {key: more.pop(key) for key in ("model", "mode", "env") if key in more}
        options = OpenOptions(session="s", folder=more.pop("folder", self.folder), **chosen)
        session = await (adapter or self.adapter()).open(options, **more)
        listener = Listener(session, patience=30.0)
        self.listeners.append(listener)
        self._tasks.append(asyncio.create_task(listener.listen()))
        return session, listener

    async def play(self, opened: tuple[ClaudeSession, Listener], turn: str, *steps: Any) -> b.Result:
        """One turn, from prompt to result."""
        session, hears = opened
        await session.send(Prompt(turn, script(*steps)))
        return await self.result(hears, turn)

    async def result(self, hears: Listener, turn: str) -> b.Result:
        found = (await hears.until_body(b.Result, turn)).body
        assert isinstance(found, b.Result)
        return found

    async def end(self) -> None:
        with anyio.fail_after(30):
            for listener in self.listeners:
                await listener.session.close()
            await asyncio.gather(*self._tasks)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with ModelServer() as model:
        here = Stage(tmp_path, model)
        yield here
        await here.end()
    for listener in here.listeners:
        assert check_stream(listener.messages, complete=True) == []
