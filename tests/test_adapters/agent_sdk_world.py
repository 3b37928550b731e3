"""Sessions of the vendor's client with the stand-in for Claude Code, so that it runs without the program."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from adapters.agent_sdk.adapter import AgentSdkAdapter
from adapters.agent_sdk.process.program import SdkConfig
from beambot.api import PluginContext
from beambot.testing.adapter_contract import RandomIds, WallClock

HERE = Path(__file__).parent
RECORDINGS = HERE.parent / "fixtures" / "claude" / "2.1.326"


def program(folder: Path) -> str:
    """An executable `claude` that is the stand-in."""
    path = folder / "claude"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -S {HERE / "fake_claude.py"} "$@"\n')
    path.chmod(0o755)
    return str(path)


def scripted(folder: Path, source: str) -> str:
    """An executable that is this Python source; its first lines answer the client's `initialize`."""
    script = folder / "scripted.py"
    script.write_text(_OPENING + source)
    path = folder / "scripted"
    path.write_text(f"#!/bin/sh\nexec {sys.executable} -S {script}\n")
    path.chmod(0o755)
    return str(path)


_OPENING = """
import json, os, sys
def say(**line): sys.stdout.write(json.dumps(line) + "\\n"); sys.stdout.flush()
def hear(): return json.loads(sys.stdin.readline())
def agree(line, **found):
    reply = {"subtype": "success", "request_id": line["request_id"], "response": found}
    say(type="control_response", response=reply)
agree(hear())
"""


def config(folder: Path, env: dict[str, str] | None = None, **settings: Any) -> SdkConfig:
    """Settings that start it, with a state of its own."""
    whole = {
        "HOME": str(folder),
        "CLAUDE_CONFIG_DIR": str(folder / ".claude"),
        "FAKE_RECORDINGS": str(RECORDINGS),
        "FAKE_STATE": str(folder / "fake"),
        "FAKE_LOG": str(folder / "written.ndjson"),
        **(env or {}),
    }
    return SdkConfig(**{"command": program(folder), "env": whole, "start_timeout": 20.0, **settings})


def adapter(folder: Path, env: dict[str, str] | None = None, **settings: Any) -> AgentSdkAdapter:
    """The adapter under test."""
    context = PluginContext(home=folder / "home", clock=WallClock(), ids=RandomIds())
    return AgentSdkAdapter("agent_sdk", config(folder, env, **settings), context)


def written(folder: Path) -> list[dict[str, Any]]:
    """What the client wrote to the program, in order."""
    return [json.loads(line) for line in (folder / "written.ndjson").read_text().splitlines()]
