"""`beambot up`."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import anyio

from beambot import log
from beambot.cli.setting import built_in
from beambot.clock import SystemClock
from beambot.config import Config, find, load, nobody
from beambot.errors import StoreMissing
from beambot.registry import Registry


def run(args: argparse.Namespace) -> int:
    """Start, and stay until a signal."""
    log.configure(level=args.log_level)
    registry = Registry()
    path = find(args.config, os.environ, Path.cwd())
    if path is None:
        config = _without_a_file(registry)
    else:
        config = load(path, registry, os.environ, need_members=False)
        _announce(f"configuration: {path}")
    anyio.run(partial(_up, config, registry))
    return 0


def _without_a_file(registry: Registry) -> Config:
    found = registry.find_agents()
    config = built_in(registry, found)
    project = config.projects[0]
    _announce(f"no configuration was found (beambot init writes one): working in {project.path}")
    if found:
        _announce(f"agent: {project.adapter} {found[0].detail}".rstrip())
    else:
        _announce(f"no agent was found on PATH: the built-in {project.adapter} answers instead")
    return config


async def _up(config: Config, registry: Registry) -> None:
    from beambot import app

    if not config.members and not await anybody_paired(config.store.path):
        raise nobody(config)
    await app.run(config, registry, announce=_announce)


async def anybody_paired(path: Path) -> bool:
    """Whether the store knows somebody, or waits for somebody right now."""
    from beambot.store import Store

    try:
        store = await Store.open(path, SystemClock(), create=False)
    except StoreMissing:
        return False
    async with store:
        paired = [row for row in await store.members.all() if row.source == "paired"]
        return bool(paired) or await store.pairings.live()


def _announce(text: str) -> None:
    with suppress(OSError):  # nobody reads any more: no reason to stop
        sys.stdout.write(text + "\n")  # not redacted: an invitation is a secret that must be shown
        sys.stdout.flush()
