"""`beambot NAME …`: the commands that plugins bring along."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from beambot.cli.parser import COMMANDS
from beambot.cli.setting import store_path
from beambot.errors import BeambotError
from beambot.registry import Registry, nearest


class UnknownCommand(BeambotError):
    """No such word."""

    exit_code = 2


def run_simulate(args: Namespace) -> int:
    """Hands over to the platform's own server."""
    registry = Registry()
    simulate = registry.simulator(args.platform)
    if simulate is None:
        known = registry.simulators()
        fix = nearest(args.platform, known) or f"there are: {', '.join(known) or 'none here'}"
        raise UnknownCommand(f"there is no server to simulate {args.platform!r}", fix=fix)
    return simulate(args.words, _home("platforms", args.platform))


def _home(kind: str, name: str) -> Path:
    home = store_path(None).parent / kind / name
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    return home


def run_plugin(name: str, words: Sequence[str]) -> int:
    """Gives the plugin its words and its folder."""
    registry = Registry()
    command = registry.command(name)
    if command is not None:
        return command(words, _home("adapters" if name in registry.adapter_names() else "platforms", name))
    known = [*COMMANDS, *registry.commands()]
    hint = nearest(name, known)
    fix = f"{hint} `beambot --help` lists all" if hint else f"there are: {', '.join(known)}"
    raise UnknownCommand(f"there is no command {name!r}", fix=fix)
