"""The program that comes with the vendor's package keeps the contract of every adapter."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from beambot.api import PluginContext
from beambot.testing.adapter_contract import AdapterContract
from tests.model_server.script import script
from tests.model_server.server import ModelServer

pytest.importorskip("claude_agent_sdk", reason="the extra agent_sdk is not installed")

from adapters.agent_sdk.adapter import AgentSdkAdapter
from adapters.agent_sdk.process.program import SdkConfig, bundled


class TestAgentSdk(AdapterContract):
    text_prompt = script("Hello.")
    long_prompt = script({"words": 3000, "pause": 0.01})
    permission_prompt = script({"tools": [{"do": "bash", "command": "touch asked"}]}, "It is there.")
    timeout = 60.0

    @pytest.fixture(autouse=True)
    def _model(self, tmp_path: Path) -> Iterator[None]:
        """The server has a thread of its own: the contract runs its own loop for each test."""
        if bundled() is None:
            pytest.skip("this build of the package has no program inside")
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

    def make_adapter(self, context: PluginContext) -> AgentSdkAdapter:
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
        return AgentSdkAdapter("agent_sdk", SdkConfig(env=env, drop_env=foreign, start_timeout=30.0), context)
