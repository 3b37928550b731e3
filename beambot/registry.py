"""Finds plugins by their entry points, loads them when asked, and keeps what went wrong for `doctor`."""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib import metadata
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from beambot.errors import PluginError
from beambot.model.plugins import API_VERSION, AdapterSpec, Found, PlatformSpec, PluginCommand

ADAPTERS = "beambot.adapters"
PLATFORMS = "beambot.platforms"


class PluginProblem(Struct, frozen=True):
    """Something `doctor` shows about a plugin."""

    kind: str
    name: str
    message: str
    fix: str


class _Entry(Protocol):
    @property
    def name(self) -> str: ...

    def load(self) -> Any: ...


Discover = Callable[[str], Iterable[_Entry]]
Spec = TypeVar("Spec", AdapterSpec, PlatformSpec)


def installed(group: str) -> Iterable[_Entry]:
    """The entry points of everything that is installed; nothing is imported."""
    return metadata.entry_points(group=group)


def known_extras() -> tuple[str, ...]:
    """What may stand in the brackets of `pip install 'beambot[…]'`."""
    try:
        return tuple(metadata.metadata("beambot").get_all("Provides-Extra") or ())
    except metadata.PackageNotFoundError:
        return ()


def nearest(name: str, known: Iterable[str]) -> str:
    """“did you mean …?”, or nothing."""
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    return f"did you mean {' or '.join(close)}?" if close else ""


class _Shelf(Generic[Spec]):
    """The plugins of one kind."""

    def __init__(self, kind: str, group: str, spec: type[Spec], given: Sequence[Spec], discover: Discover) -> None:
        self.kind = kind
        self.problems: dict[str, PluginProblem] = {}
        self._type: type[Spec] = spec
        self._loaded: dict[str, Spec] = {one.name: one for one in given}
        self._group = group
        self._discover = discover
        self._entries: dict[str, _Entry] | None = None

    @property
    def entries(self) -> dict[str, _Entry]:
        if self._entries is None:
            self._entries = {}
            for entry in self._discover(self._group):
                if entry.name in self._entries:
                    fix = "uninstall one of the two distributions"
                    self.note(f"{entry.name} (again)", f"{entry.name!r} is offered twice", fix)
                else:
                    self._entries[entry.name] = entry
        return self._entries

    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self._loaded, *self.entries]))

    def get(self, name: str) -> Spec:
        if name in self._loaded:
            return self._loaded[name]
        if name in self.problems:
            known = self.problems[name]
            raise PluginError(known.message, fix=known.fix)
        if name not in self.entries:
            raise PluginError(f"there is no {self.kind} {name!r} here", fix=self._how_to_get(name))
        try:
            loaded = self.entries[name].load()
        except Exception as error:
            raise self.note(name, f"did not load: {_brief(error)}", _reinstall(name)) from error
        self._loaded[name] = self._checked(name, loaded)
        return self._loaded[name]

    def loadable(self) -> list[Spec]:
        """All that load; the others are noted."""
        specs: list[Spec] = []
        for name in self.names():
            with suppress(PluginError):
                specs.append(self.get(name))
        return specs

    def note(self, name: str, message: str, fix: str) -> PluginError:
        problem = PluginProblem(self.kind, name, f"the {self.kind} {name!r} {message}", fix)
        self.problems[name] = problem
        return PluginError(problem.message, fix=fix)

    def _checked(self, name: str, loaded: Any) -> Spec:
        if not isinstance(loaded, self._type):
            found, wanted = type(loaded).__name__, self._type.__name__
            raise self.note(name, f"is a {found}, not a {wanted}", "point its entry point at its spec")
        if loaded.api_version != API_VERSION:
            raise self.note(
                name,
                f"is written for plugin API {loaded.api_version}; this beambot has {API_VERSION}",
                "upgrade the older of the two: pip install --upgrade",
            )
        if loaded.name != name:
            fix = "give its spec and its entry point the same name"
            raise self.note(name, f"calls itself {loaded.name!r}", fix)
        return loaded

    def _how_to_get(self, name: str) -> str:
        if name in known_extras():
            return f"pip install 'beambot[{name}]'"
        have = ", ".join(self.names()) or "none"
        hint = nearest(name, [*self.names(), *known_extras()])
        return f"{hint} installed: {have}".strip()


class Registry:
    """Every adapter and platform there is. `adapters` and `platforms` add specs without an entry point."""

    def __init__(
        self,
        *,
        adapters: Sequence[AdapterSpec] = (),
        platforms: Sequence[PlatformSpec] = (),
        discover: Discover = installed,
    ) -> None:
        self._adapters = _Shelf("adapter", ADAPTERS, AdapterSpec, adapters, discover)
        self._platforms = _Shelf("platform", PLATFORMS, PlatformSpec, platforms, discover)

    def adapter_names(self) -> tuple[str, ...]:
        """Without importing any."""
        return self._adapters.names()

    def platform_names(self) -> tuple[str, ...]:
        """Without importing any."""
        return self._platforms.names()

    def adapter(self, name: str) -> AdapterSpec:
        """Loads it; raises `PluginError` with the fix."""
        return self._adapters.get(name)

    def platform(self, name: str) -> PlatformSpec:
        """Loads it; raises `PluginError` with the fix."""
        return self._platforms.get(name)

    def resolve_adapter(self, name: str) -> tuple[AdapterSpec, dict[str, Any]]:
        """The adapter that does the work, and the defaults of the presets on the way to it."""
        spec = self.adapter(name)
        defaults: dict[str, Any] = dict(spec.defaults)
        seen = [name]
        while spec.base:
            if spec.base in seen:
                raise self._adapters.note(name, "is a preset of itself", "correct its base")
            seen.append(spec.base)
            spec = self.adapter(spec.base)
            defaults = {**spec.defaults, **defaults}
        if spec.configure is None or spec.create is None:
            raise self._adapters.note(spec.name, "cannot be configured or created", "correct its spec")
        return spec, defaults

    def find_agents(self) -> list[Found]:
        """Agents on this machine; those of presets come last, so that a real one is preferred."""
        found: list[Found] = []
        for spec in sorted(self._adapters.loadable(), key=lambda one: bool(one.base)):
            if spec.find is None:
                continue
            try:
                found += spec.find()
            except Exception as error:
                self._adapters.note(spec.name, f"failed to look for agents: {_brief(error)}", "report it")
        names: dict[str, Found] = {}
        for one in found:
            names.setdefault(one.name, one)
        return list(names.values())

    def ready_preset(self) -> AdapterSpec | None:
        """The first preset whose program is here: what serves when no agent was found."""
        for spec in self._adapters.loadable():
            command = spec.defaults.get("command")
            if spec.base and isinstance(command, str) and shutil.which(command):
                return spec
        return None

    def problems(self) -> tuple[PluginProblem, ...]:
        """Loads everything, and tells what went wrong."""
        for spec in self._adapters.loadable():
            with suppress(PluginError):
                self.resolve_adapter(spec.name)
        self._platforms.loadable()
        return (*self._adapters.problems.values(), *self._platforms.problems.values())

    def command(self, name: str) -> PluginCommand | None:
        """What `beambot NAME …` runs, if a plugin of that name has a command."""
        if name in self.adapter_names() and (command := self.adapter(name).command) is not None:
            return command
        return self.platform(name).command if name in self.platform_names() else None

    def simulator(self, name: str) -> PluginCommand | None:
        """What `beambot simulate NAME …` runs, if a platform of that name has such a server."""
        return self.platform(name).simulate if name in self.platform_names() else None

    def simulators(self) -> list[str]:
        """The platforms that can be simulated."""
        return [spec.name for spec in self._platforms.loadable() if spec.simulate is not None]

    def commands(self) -> dict[str, str]:
        """Names that `beambot NAME …` may run, with their summaries."""
        specs: list[AdapterSpec | PlatformSpec] = [*self._adapters.loadable(), *self._platforms.loadable()]
        return {spec.name: spec.summary for spec in specs if spec.command is not None}


def _brief(error: Exception) -> str:
    from beambot.log import redact

    return redact(f"{type(error).__name__}: {error}".splitlines()[0])


def _reinstall(name: str) -> str:
    return f"pip install 'beambot[{name}]'" if name in known_extras() else "install what it needs, or remove it"
