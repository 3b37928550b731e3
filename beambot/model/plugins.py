"""What a plugin is: one constant behind an entry point, and what the core gives it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from beambot.model.ports import BackendAdapter, ChatPlatform, Clock, IdSource

API_VERSION = 1


class ConfigSection(Protocol):
    """A plugin's own part of the configuration. A getter notes a problem and gives the default.

    What no getter asked for is reported as unknown, with a suggestion.
    """

    def text(self, key: str, default: str = "", *, required: bool = False) -> str: ...

    def integer(self, key: str, default: int, *, minimum: int = 0, maximum: int | None = None) -> int: ...

    def number(self, key: str, default: float, *, minimum: float = 0.0, maximum: float | None = None) -> float: ...

    def flag(self, key: str, default: bool) -> bool: ...

    def choice(self, key: str, allowed: Sequence[str], default: str) -> str: ...

    def texts(self, key: str) -> tuple[str, ...]: ...

    def mapping(self, key: str) -> dict[str, str]: ...

    def secret(self, key: str, *, required: bool = False) -> str:
        """A token, from the variable that `KEY_env` names or the file (mode 600) that `KEY_file` names."""
        ...

    def problem(self, key: str, found: str, allowed: str, fix: str) -> None:
        """Note a problem that only the plugin can see."""
        ...


class CommandInfo(Struct, frozen=True):
    """A command of the one table, for platforms that list commands to people."""

    name: str
    help: str
    args: str = ""


class PluginContext(Struct, frozen=True, kw_only=True):
    """What the core gives a plugin: a folder of its own, time, chance, and the commands people have."""

    home: Path
    clock: Clock
    ids: IdSource
    commands: tuple[CommandInfo, ...] = ()


class Found(Struct, frozen=True, kw_only=True):
    """An agent on this machine that an adapter could drive, with the settings that would do it."""

    name: str
    adapter: str
    settings: dict[str, Any]
    detail: str = ""


PluginCommand = Callable[[Sequence[str], Path], int]


class AdapterSpec(Struct, frozen=True, kw_only=True):
    """An adapter behind its entry point: one constant. `create` gets what `configure` made.

    With `base` it is a preset: the settings are handed to that other adapter as its defaults.
    `find` looks for agents on PATH; `command` is run by `beambot NAME …`.
    """

    name: str
    summary: str
    configure: Callable[[ConfigSection], Any] | None = None
    create: Callable[[str, Any, PluginContext], BackendAdapter] | None = None
    base: str = ""
    defaults: dict[str, Any] = {}
    find: Callable[[], Sequence[Found]] | None = None
    command: PluginCommand | None = None
    api_version: int = API_VERSION


class PlatformSpec(Struct, frozen=True, kw_only=True):
    """A platform behind its entry point: one constant. `command` is run by `beambot NAME …`.

    `simulate` is run by `beambot simulate NAME …`: a server of that chat on this machine, to try things with.
    """

    name: str
    summary: str
    configure: Callable[[ConfigSection], Any]
    create: Callable[[Any, PluginContext], ChatPlatform]
    command: PluginCommand | None = None
    simulate: PluginCommand | None = None
    api_version: int = API_VERSION
