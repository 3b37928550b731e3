"""Claude Code, by its own protocol. One constant; the rest loads when it is used."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Any

from beambot.api import AdapterSpec, BackendAdapter, ConfigSection, Found, PluginContext


def _configure(section: ConfigSection) -> Any:
    from adapters.claude.adapter import configure

    return configure(section)


def _create(name: str, settings: Any, context: PluginContext) -> BackendAdapter:
    from adapters.claude.adapter import ClaudeAdapter

    return ClaudeAdapter(name, settings, context)


def find() -> Sequence[Found]:
    """The program on PATH."""
    path = shutil.which("claude")
    return [Found(name="claude", adapter="claude", settings={}, detail=path)] if path else []


spec = AdapterSpec(
    name="claude",
    summary="Claude Code, by its own protocol",
    configure=_configure,
    create=_create,
    find=find,
)
