"""`beambot NAME …`: the commands that plugins bring along."""

from __future__ import annotations

from collections.abc import Sequence

from beambot.cli.parser import COMMANDS
from beambot.cli.setting import store_path
from beambot.errors import BeambotError
from beambot.registry import Registry, nearest


class UnknownCommand(BeambotError):
    """No such word."""

    exit_code = 2


def run_plugin(name: str, words: Sequence[str]) -> int:
    """Gives the plugin its words and its folder."""
    registry = Registry()
    command = registry.command(name)
    if command is not None:
        kind = "adapters" if name in registry.adapter_names() else "platforms"
        home = store_path(None).parent / kind / name
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        return command(words, home)
    known = [*COMMANDS, *registry.commands()]
    hint = nearest(name, known)
    fix = f"{hint} `beambot --help` lists all" if hint else f"there are: {', '.join(known)}"
    raise UnknownCommand(f"there is no command {name!r}", fix=fix)
