"""The demo agent, through the ACP adapter, keeps the contract of every adapter."""

from __future__ import annotations

import sys

from adapters.acp.adapter import AcpAdapter
from adapters.acp.handshake import AcpConfig
from beambot.api import PluginContext
from beambot.testing.adapter_contract import AdapterContract


class TestDemoOverAcp(AdapterContract):
    text_prompt = "words 5 fast"
    long_prompt = "think then words 5000"
    permission_prompt = "write notes.txt"
    crash_prompt = "words 3 and crash"

    def make_adapter(self, context: PluginContext) -> AcpAdapter:
        args = ("-P", "-m", "adapters.demo", "--pace", "0.002", "--state", str(context.home / "state"))
        return AcpAdapter("demo", AcpConfig(command=sys.executable, args=args), context)
