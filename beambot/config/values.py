"""A whole configuration, once it has been read: frozen values without a trace of YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from beambot.model.settings import AskSettings, Limits, Member, Project, Rendering


class StoreConfig(Struct, frozen=True):
    """Where the database is; the lock, the state file and the plugins' folders stand beside it."""

    path: Path


class AdapterEntry(Struct, frozen=True, kw_only=True):
    """An agent as it was configured. `type` is the plugin behind it; `settings` are that plugin's own."""

    name: str
    type: str
    settings: Any = None


class PlatformEntry(Struct, frozen=True, kw_only=True):
    """A chat as it was configured. Settings of a disabled one are not read."""

    name: str
    enabled: bool = True
    settings: Any = None


class Config(Struct, frozen=True, kw_only=True):
    """Everything the composition root needs. `source` is the file it came from, if one did.

    `secret_variables` are the environment variables that held tokens: no agent inherits them.
    """

    store: StoreConfig
    projects: tuple[Project, ...]
    adapters: dict[str, AdapterEntry]
    platforms: dict[str, PlatformEntry]
    members: tuple[Member, ...]
    rendering: Rendering = Rendering()
    asks: AskSettings = AskSettings()
    limits: Limits = Limits()
    source: Path | None = None
    secret_variables: tuple[str, ...] = ()

    @property
    def home(self) -> Path:
        """The folder that holds the store and what belongs to it."""
        return self.store.path.parent
