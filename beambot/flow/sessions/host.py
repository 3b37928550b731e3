"""The embedded host: agents run in this process's care. A remote host is the same port over a broker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from beambot.errors import AgentError
from beambot.model.abilities import HandsOff
from beambot.model.capabilities import AdapterCapabilities
from beambot.model.ports import BackendAdapter, BackendSession, OpenOptions, Resumable


class EmbeddedHost:
    """Every configured adapter, by its name."""

    def __init__(self, adapters: Mapping[str, BackendAdapter]) -> None:
        self._adapters = adapters

    def names(self) -> Sequence[str]:
        return tuple(self._adapters)

    def capabilities(self, adapter: str) -> AdapterCapabilities:
        found = self._adapters.get(adapter)
        return found.capabilities if found is not None else AdapterCapabilities()

    async def open(
        self, adapter: str, options: OpenOptions, resume: str | None = None, fork: bool = False
    ) -> BackendSession:
        return await self._adapter(adapter).open(options, resume, fork)

    async def list_resumable(self, adapter: str, folder: Path) -> Sequence[Resumable]:
        return await self._adapter(adapter).list_resumable(folder)

    def continue_command(self, adapter: str, agent_session: str, folder: Path) -> str:
        found = self._adapters.get(adapter)
        return found.continue_command(agent_session, folder) if isinstance(found, HandsOff) else ""

    def _adapter(self, name: str) -> BackendAdapter:
        found = self._adapters.get(name)
        if found is None:
            known = ", ".join(self._adapters) or "none"
            raise AgentError(
                f"there is no adapter {name!r} here",
                fix=f"Configured are: {known}. Add it under `adapters` in the configuration.",
            )
        return found
