"""What `doctor` looks at, in the order in which things depend on one another."""

from __future__ import annotations

import os
import platform
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import anyio
from msgspec import Struct

import beambot
from beambot.cli.setting import configuration
from beambot.clock import RandomIds, SystemClock
from beambot.config import AdapterEntry, Config
from beambot.config.load import PAIR
from beambot.control.lock import owner_of
from beambot.errors import BeambotError, ConfigError
from beambot.model.plugins import PluginContext
from beambot.model.ports import SelfChecking
from beambot.registry import Registry
from beambot.store import Store

PROBE_SECONDS = 15.0


class Finding(Struct, frozen=True):
    """One line of the report."""

    level: Literal["ok", "warn", "error"]
    area: str
    text: str
    fix: str = ""


async def examine(given: str | None, registry: Registry) -> list[Finding]:
    """Everything, also after something was wrong."""
    findings = [*_program(), *_plugins(registry)]
    config, about = _configuration(given, registry)
    findings += about
    if config is not None:
        findings += await _store(config)
        findings += await _agents(config, registry)
        findings += await _chats(config, registry)
        findings += await _people(config)
    return findings


def _program() -> list[Finding]:
    version = platform.python_version()
    found = [Finding("ok", "program", f"beambot {beambot.__version__}, Python {version}, {sys.platform}")]
    home = Path(beambot.__file__).resolve().parent.parent
    for package in ("adapters", "platforms"):
        spec = find_spec(package)
        origin = Path(spec.origin).resolve() if spec is not None and spec.origin else None
        if origin is None or origin.parent.parent != home:
            where = origin.parent if origin is not None else "nowhere"
            fix = f"take {origin.parent.parent if origin else 'it'} off PYTHONPATH, or install beambot again"
            text = f"the package {package!r} comes from {where}, not from beside beambot ({home})"
            found.append(Finding("error", "program", text, fix))
    return found


def _plugins(registry: Registry) -> list[Finding]:
    problems = registry.problems()
    bad = {(problem.kind, problem.name) for problem in problems}
    found = [Finding("warn", "plugin", problem.message, problem.fix) for problem in problems]
    for name in registry.adapter_names():
        if ("adapter", name) not in bad:
            found.append(Finding("ok", "plugin", f"adapter {name}: {registry.adapter(name).summary}"))
    for name in registry.platform_names():
        if ("platform", name) not in bad:
            found.append(Finding("ok", "plugin", f"platform {name}: {registry.platform(name).summary}"))
    return found


def _configuration(given: str | None, registry: Registry) -> tuple[Config | None, list[Finding]]:
    try:
        config = configuration(given, registry)
    except ConfigError as error:
        return None, [_problem(problem) for problem in error.problems]
    except BeambotError as error:
        return None, [Finding("error", "config", error.message, error.fix)]
    if config.source is None:
        text = f"no file was found; the built-in default serves {config.projects[0].path}"
        return config, [Finding("ok", "config", f"{text} (beambot init writes a file)")]
    found = [Finding("ok", "config", str(config.source))]
    if _open_to_others(config.source):
        fix = f"chmod go-w {config.source}"
        found.append(Finding("warn", "config", f"{config.source} can be changed by other users", fix))
    return config, found


def _problem(problem: str) -> Finding:
    text, _, fix = problem.partition("; fix: ")
    return Finding("error", "config", text, fix)


def _open_to_others(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & 0o022)
    except OSError:
        return False


async def _store(config: Config) -> list[Finding]:
    path = config.store.path
    if not path.exists():
        parent = next(folder for folder in path.parents if folder.exists())
        if os.access(parent, os.W_OK | os.X_OK):
            return [Finding("ok", "store", f"{path} will be made at the first start")]
        fix = "give yourself the right to write there, or set store.path"
        return [Finding("error", "store", f"{path} cannot be made: {parent} is not writable", fix)]
    try:
        async with await Store.open(path, SystemClock(), create=False) as store:
            sessions = len(await store.sessions.recent(limit=1000))
    except BeambotError as error:
        return [Finding("error", "store", error.message, error.fix)]
    owner = owner_of(path)
    state = f"in use by process {owner.pid}" if owner is not None else "not in use"
    return [Finding("ok", "store", f"{path}: {sessions} open sessions, {state}")]


async def _agents(config: Config, registry: Registry) -> list[Finding]:
    used = {project.adapter for project in config.projects}
    found: list[Finding] = []
    for entry in config.adapters.values():
        found.append(await _probe(entry, config, registry, needed=entry.name in used))
    for agent in registry.find_agents():
        if agent.name not in config.adapters:
            text = f"{agent.name} is here, but not configured {agent.detail}".rstrip()
            settings = "".join(f", {key}: {value}" for key, value in agent.settings.items())
            fix = f"to use it, add under adapters: `{agent.name}: {{type: {agent.adapter}{settings}}}`"
            found.append(Finding("ok", "agent", text, fix))
    return found


async def _probe(entry: AdapterEntry, config: Config, registry: Registry, *, needed: bool) -> Finding:
    bad: Literal["warn", "error"] = "error" if needed else "warn"
    context = PluginContext(home=config.home / "plugins" / entry.type, clock=SystemClock(), ids=RandomIds())
    spec, _ = registry.resolve_adapter(entry.type)
    assert spec.create is not None
    try:
        with anyio.fail_after(PROBE_SECONDS):
            probe = await spec.create(entry.name, entry.settings, context).probe()
    except TimeoutError:
        fix = "run the agent by hand and see what it waits for"
        return Finding(bad, "agent", f"{entry.name} said nothing within {PROBE_SECONDS:g} s", fix)
    except BeambotError as error:
        return Finding(bad, "agent", f"{entry.name}: {error.message}", error.fix)
    except Exception as error:
        return Finding(bad, "agent", f"{entry.name}: {type(error).__name__}: {error}", "report it")
    if not probe.installed:
        text = f"{entry.name} is not installed. {probe.detail}".rstrip(". ")
        return Finding(bad, "agent", text, probe.fix or "install it, or remove it from adapters")
    text = " ".join(part for part in (entry.name, probe.version, probe.detail) if part)
    if probe.logged_in is False:
        return Finding("warn", "agent", f"{text}: not logged in", probe.fix or "log in with its own program")
    return Finding("ok", "agent", text, probe.fix)


async def _chats(config: Config, registry: Registry) -> list[Finding]:
    """What the enabled platforms find out about themselves."""
    found: list[Finding] = []
    for entry in config.platforms.values():
        if not entry.enabled:
            continue
        context = PluginContext(home=config.home / "platforms" / entry.name, clock=SystemClock(), ids=RandomIds())
        try:
            chat: object = registry.platform(entry.name).create(entry.settings, context)
            if not isinstance(chat, SelfChecking):
                continue
            with anyio.fail_after(PROBE_SECONDS):
                found += [Finding(check.level, "chat", check.text, check.fix) for check in await chat.check()]
        except TimeoutError:
            fix = "see whether this machine reaches the chat's server"
            found.append(Finding("error", "chat", f"{entry.name} said nothing within {PROBE_SECONDS:g} s", fix))
        except BeambotError as error:
            found.append(Finding("error", "chat", f"{entry.name}: {error.message}", error.fix))
        except Exception as error:
            found.append(Finding("error", "chat", f"{entry.name}: {type(error).__name__}: {error}", "report it"))
    return found


async def _people(config: Config) -> list[Finding]:
    known = {member.name: (member.role, member.identities) for member in config.members}
    pairing = False
    if config.store.path.exists():
        try:
            async with await Store.open(config.store.path, SystemClock(), create=False) as store:
                pairing = await store.pairings.live()
                for row in await store.members.all():
                    if row.source == "paired":
                        known.setdefault(row.name, (row.role, row.identities))
        except BeambotError:
            pairing = False  # the store's own finding says what is wrong
    if not known:
        text = "nobody may talk to it" + ("; a code waits for somebody" if pairing else "")
        return [Finding("warn" if pairing else "error", "people", text, PAIR)]
    chats = {entry.name for entry in config.platforms.values() if entry.enabled}
    found: list[Finding] = []
    for name, (role, identities) in known.items():
        reach = ", ".join(f"{chat} {identity}" for chat, identity in identities.items())
        if chats & set(identities):
            found.append(Finding("ok", "people", f"{name} is {role}: {reach}"))
        else:
            text = f"{name} ({role}) is on no enabled platform" + (f": {reach}" if reach else "")
            fix = f"add an id for {' or '.join(sorted(chats))}, or run `beambot pair`"
            found.append(Finding("warn", "people", text, fix))
    if not any(role == "owner" for role, _ in known.values()):
        fix = "give somebody the role owner"
        found.append(Finding("warn", "people", "there is no owner: nobody can configure or share", fix))
    for project in config.projects:
        for name in project.members:
            if name not in known:
                fix = f"known are: {', '.join(known)}"
                found.append(Finding("warn", "people", f"project {project.name} names {name!r}: unknown", fix))
    return found
