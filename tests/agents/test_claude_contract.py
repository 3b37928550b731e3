"""The real Claude Code keeps the contract of every adapter, over pipes and over a WebSocket."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from adapters.claude.adapter import ClaudeAdapter
from adapters.claude.process.spawn import ClaudeConfig
from beambot.api import PluginContext
from beambot.testing.adapter_contract import AdapterContract
from tests.agents.conftest import program
from tests.model_server.script import script
from tests.model_server.server import ModelServer


class _Contract(AdapterContract):
    text_prompt = script("Hello.")
    long_prompt = script({"words": 3000, "pause": 0.01})
    permission_prompt = script({"tools": [{"do": "bash", "command": "touch asked"}]}, "It is there.")
    agent = "claude"
    transport = "stdio"
    timeout = 60.0

    @pytest.fixture(autouse=True)
    def _model(self, tmp_path: Path) -> Iterator[None]:
        """The server has a thread of its own: the contract runs its own loop for each test."""
        ready, done = threading.Event(), threading.Event()

        async def serve() -> None:
            async with ModelServer() as model:
                self._url = model.url
                ready.set()
                await anyio.to_thread.run_sync(done.wait)

        thread = threading.Thread(target=anyio.run, args=(serve,))
        thread.start()
        assert ready.wait(10)
        yield
        done.set()
        thread.join(10)

    def make_adapter(self, context: PluginContext) -> ClaudeAdapter:
        home = context.home / "home"
        home.mkdir(exist_ok=True)
        env = {
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": str(home / ".claude"),
            "ANTHROPIC_BASE_URL": self._url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        foreign = tuple(key for key in os.environ if key.startswith(("ANTHROPIC_", "CLAUDE_")))
        config = ClaudeConfig(
            command=program(self.agent), env=env, drop_env=foreign, transport=self.transport, start_timeout=30.0
        )
        return ClaudeAdapter("claude", config, context)


class TestClaude(_Contract):
    pass


class TestClaudeOverItsSocket(_Contract):
    agent = "claude-sdk-url"
    transport = "sdk_url"


class TestOlderClaude(_Contract):
    agent = "claude-sdk-url"
