"""Sessions with the stand-in for Claude Code, so that the adapter runs without the program."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from adapters.claude.adapter import ClaudeAdapter
from adapters.claude.process.spawn import ClaudeConfig
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


def config(folder: Path, env: dict[str, str] | None = None, **settings: Any) -> ClaudeConfig:
    """Settings that start it, with a state of its own."""
    whole = {
        "HOME": str(folder),
        "CLAUDE_CONFIG_DIR": str(folder / ".claude"),
        "FAKE_RECORDINGS": str(RECORDINGS),
        "FAKE_STATE": str(folder / "fake"),
        "FAKE_LOG": str(folder / "written.ndjson"),
        **(env or {}),
    }
    return ClaudeConfig(**{"command": program(folder), "env": whole, "start_timeout": 20.0, **settings})


def adapter(folder: Path, env: dict[str, str] | None = None, **settings: Any) -> ClaudeAdapter:
    """The adapter under test."""
    context = PluginContext(home=folder / "home", clock=WallClock(), ids=RandomIds())
    return ClaudeAdapter("claude", config(folder, env, **settings), context)


def written(folder: Path) -> list[dict[str, Any]]:
    """What the adapter wrote to the program, in order."""
    return [json.loads(line) for line in (folder / "written.ndjson").read_text().splitlines()]
