"""Any agent that speaks the Agent Client Protocol. One constant; the rest loads when it is used."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Any

from beambot.api import AdapterSpec, BackendAdapter, ConfigSection, Found, PluginContext

# Name, program, arguments, of agents that are known to speak it.
KNOWN: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("claude-acp", "claude-agent-acp", ()),
    ("codex-acp", "codex-acp", ()),
    ("gemini", "gemini", ("--acp",)),
    ("goose", "goose", ("acp",)),
    ("opencode", "opencode", ("acp",)),
    ("qwen", "qwen", ("--acp",)),
    ("kimi", "kimi", ("acp",)),
    ("vibe", "vibe-acp", ()),
    ("fast-agent", "fast-agent", ("acp",)),
)


def _configure(section: ConfigSection) -> Any:
    from adapters.acp.adapter import configure

    return configure(section)


def _create(name: str, settings: Any, context: PluginContext) -> BackendAdapter:
    from adapters.acp.adapter import AcpAdapter

    return AcpAdapter(name, settings, context)


def find() -> Sequence[Found]:
    """The known agents on PATH."""
    return [
        Found(name=name, adapter="acp", settings={"command": command, "args": list(args)}, detail=path)
        for name, command, args in KNOWN
        if (path := shutil.which(command))
    ]


spec = AdapterSpec(
    name="acp",
    summary="any agent that speaks the Agent Client Protocol",
    configure=_configure,
    create=_create,
    find=find,
)
