"""From a file to a `Config`: the sections in their order, the plugins' own by the plugins themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from beambot.config.places import data_home
from beambot.config.section import Section
from beambot.config.sections import (
    read_asks,
    read_limits,
    read_members,
    read_projects,
    read_rendering,
    read_store,
)
from beambot.config.source import MAX_BYTES, Source, suggest
from beambot.config.values import AdapterEntry, Config, PlatformEntry, StoreConfig
from beambot.errors import ConfigError, PluginError
from beambot.log import redact
from beambot.model.settings import Project
from beambot.registry import Registry

PAIR = "run `beambot pair`, or add `- {name: …, role: owner, PLATFORM: YOUR-ID}` under members"


def load(path: Path, registry: Registry, environ: Mapping[str, str], *, need_members: bool = True) -> Config:
    """Read a file. Raises `ConfigError` with every problem at once.

    A caller that knows of people who were paired, or wants to pair one, does not `need_members`.
    """
    text = _read(path)
    return read(text, str(path), path.absolute().parent, registry, environ, need_members=need_members, path=path)


def read(
    text: str,
    name: str,
    folder: Path,
    registry: Registry,
    environ: Mapping[str, str],
    *,
    need_members: bool = True,
    path: Path | None = None,
) -> Config:
    """As `load`, from text that is at hand."""
    source = Source(text, name, folder, environ)
    node = source.root()
    source.check()
    root = Section(source, node, "")
    store = read_store(root.section("store"), data_home(environ) / "beambot.db")
    adapters = _adapters(root.section("adapters"), registry)
    platforms = _platforms(root.section("platforms"), registry)
    known = dict.fromkeys([*registry.platform_names(), *platforms])
    members = read_members(root, known)
    if need_members and not members:
        root.problem("members", "nobody", "one member or more", PAIR)
    asks = read_asks(root.section("asks"), members)
    projects = read_projects(root, adapters, members, asks)
    for section, project in projects:
        _use(section, project, adapters, registry)
    config = Config(
        store=StoreConfig(store),
        projects=tuple(project for _, project in projects),
        adapters=adapters,
        platforms=platforms,
        members=members,
        rendering=read_rendering(root.section("rendering")),
        asks=asks,
        limits=read_limits(root.section("limits")),
        source=path,
        secret_variables=tuple(source.secret_variables),
    )
    root.finish()
    source.check()
    return config


def load_store(path: Path | None, environ: Mapping[str, str]) -> StoreConfig:
    """The store alone, for commands that need neither plugins nor tokens."""
    default = data_home(environ) / "beambot.db"
    if path is None:
        return StoreConfig(default)
    source = Source(_read(path), str(path), path.absolute().parent, environ)
    node = source.root()
    source.check()
    store = read_store(Section(source, node, "").section("store"), default)
    source.check()
    return StoreConfig(store)


def nobody(config: Config) -> ConfigError:
    """For a caller that found nobody in the store either."""
    where = config.source if config.source is not None else "(built-in default)"
    return ConfigError([f"{where}:1: members: found nobody; allowed one member or more; fix: {PAIR}"])


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        fix = "correct the path, or run `beambot init` to write one"
        reason = (error.strerror or "unreadable").lower()
        raise ConfigError([f"{path}:1: (file): found {reason}; allowed a readable file; fix: {fix}"]) from None
    if len(raw) > MAX_BYTES:
        raise ConfigError([f"{path}:1: (file): found over 1 MiB; allowed a small file; fix: check the path"])
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        fix = "save the file as UTF-8"
        raise ConfigError([f"{path}:{line}: (file): found other bytes; allowed UTF-8; fix: {fix}"]) from None


def _adapters(root: Section, registry: Registry) -> dict[str, AdapterEntry]:
    entries: dict[str, AdapterEntry] = {}
    for name in root.names():
        section = root.section(name)
        plugin = section.text("type", name) or name
        key = "type" if section.has("type") else ""
        entries[name] = _adapter(section, key, name, plugin, registry)
    return entries


def _adapter(section: Section, key: str, name: str, plugin: str, registry: Registry) -> AdapterEntry:
    entry = AdapterEntry(name=name, type=plugin)
    try:
        spec, defaults = registry.resolve_adapter(plugin)
    except PluginError as error:
        _plugin_problem(section, key, plugin, error, registry.adapter_names())
        return entry
    section.beneath(defaults)
    if spec.configure is None:
        return entry
    return AdapterEntry(name=name, type=plugin, settings=_configure(section, spec.configure))


def _platforms(root: Section, registry: Registry) -> dict[str, PlatformEntry]:
    entries: dict[str, PlatformEntry] = {}
    for name in root.names():
        section = root.section(name)
        if not section.flag("enabled", True):
            entries[name] = PlatformEntry(name=name, enabled=False)
            continue
        try:
            spec = registry.platform(name)
        except PluginError as error:
            _plugin_problem(section, "", name, error, registry.platform_names())
            entries[name] = PlatformEntry(name=name)
            continue
        entries[name] = PlatformEntry(name=name, settings=_configure(section, spec.configure))
    if not any(entry.enabled for entry in entries.values()):
        have = ", ".join(registry.platform_names()) or "none is installed"
        root.problem("", "no enabled platform", f"one or more ({have})", "add one, or set `enabled: true`")
    return entries


def _use(section: Section, project: Project, adapters: dict[str, AdapterEntry], registry: Registry) -> None:
    """A project may name an adapter nobody configured, if that one needs no settings."""
    name = project.adapter
    if not name or name in adapters:
        return
    if name not in registry.adapter_names():
        known = list(dict.fromkeys([*adapters, *registry.adapter_names()]))
        fix = suggest(name, known, f"configure it under adapters, or use one of: {', '.join(known)}")
        section.problem("adapter", repr(name), ", ".join(known) or "none is installed", fix)
        return
    empty = Section(section.source, None, f"adapters.{name}")
    before = len(section.source.problems)
    entry = _adapter(empty, "", name, name, registry)
    if len(section.source.problems) == before:
        adapters[name] = entry
        return
    why = section.source.problems[before:]
    del section.source.problems[before:]
    needs = "; ".join(problem.split(": ", 1)[1] for problem in why)
    section.problem("adapter", f"{name!r} without settings", "one that is configured", f"under adapters: {needs}")


def _configure(section: Section, configure: Callable[[Any], Any]) -> Any:
    try:
        settings = configure(section)
    except Exception as error:
        says = redact(f"{type(error).__name__}: {error}")
        section.problem("", f"what its plugin fails on ({says})", "what its plugin accepts", "report it")
        return None
    section.finish()
    return settings


def _plugin_problem(section: Section, key: str, name: str, error: PluginError, known: tuple[str, ...]) -> None:
    section.problem(key, error.message, ", ".join(known) or "none is installed", error.fix or "correct it")
