"""Claude Code through its vendor's Python package, which brings the program along. Loads lazily."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from beambot.api import AdapterSpec, BackendAdapter, ConfigSection, Found, PluginContext


def _configure(section: ConfigSection) -> Any:
    from adapters.agent_sdk.adapter import configure

    return configure(section)


def _create(name: str, settings: Any, context: PluginContext) -> BackendAdapter:
    from adapters.agent_sdk.adapter import AgentSdkAdapter

    return AgentSdkAdapter(name, settings, context)


def find() -> Sequence[Found]:
    """The package, where it is installed with a program inside."""
    if find_spec("claude_agent_sdk") is None:
        return []
    from adapters.agent_sdk.process.program import bundled

    path = bundled()
    return [Found(name="agent_sdk", adapter="agent_sdk", settings={}, detail=str(path))] if path else []


spec = AdapterSpec(
    name="agent_sdk",
    summary="Claude Code, by its vendor's Python package",
    configure=_configure,
    create=_create,
    find=find,
)
