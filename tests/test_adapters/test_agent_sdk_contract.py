"""The adapter over the vendor's client keeps the contract of every adapter, with recordings of the real program."""

from __future__ import annotations

import pytest

from beambot.api import PluginContext
from beambot.testing.adapter_contract import AdapterContract

pytest.importorskip("claude_agent_sdk", reason="the extra agent_sdk is not installed")

from adapters.agent_sdk.adapter import AgentSdkAdapter
from tests.test_adapters.agent_sdk_world import config


class TestContract(AdapterContract):
    text_prompt = "play text"
    long_prompt = "play interrupt"
    permission_prompt = "play perm_bash_allow|perm_bash_deny|perm_interrupt"
    crash_prompt = "crash"

    def make_adapter(self, context: PluginContext) -> AgentSdkAdapter:
        return AgentSdkAdapter("agent_sdk", config(context.home), context)
