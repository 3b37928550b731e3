"""`beambot NAME …`: the commands that plugins bring along."""

from __future__ import annotations

import os
from collections.abc import Sequence

from beambot.cli.parser import COMMANDS
from beambot.config import data_home
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
        return command(words, data_home(os.environ))
    known = [*COMMANDS, *registry.commands()]
    hint = nearest(name, known)
    fix = f"{hint} `beambot --help` lists all" if hint else f"there are: {', '.join(known)}"
    raise UnknownCommand(f"there is no command {name!r}", fix=fix)
