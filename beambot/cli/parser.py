"""Words and options of the command line. Imports nothing heavy, so that `--help` comes at once."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module

from beambot import __version__

# name: (module:function, summary, examples)
COMMANDS: dict[str, tuple[str, str, str]] = {
    "up": (
        "beambot.cli.up:run",
        "start beambot and stay until it is stopped",
        "beambot up\nbeambot up --config team.yaml\nBEAMBOT_HOME=/srv/beambot beambot up",
    ),
    "init": (
        "beambot.cli.init:run",
        "write a commented configuration",
        "beambot init\nbeambot init ~/.config/beambot/config.yaml\nbeambot init --force",
    ),
    "doctor": (
        "beambot.cli.doctor:run",
        "check everything, and say how to fix what is wrong",
        "beambot doctor\nbeambot doctor --json",
    ),
    "pair": (
        "beambot.cli.pair:run",
        "let a person in, by a code they send to the bot",
        "beambot pair\nbeambot pair --role approver --minutes 5\nbeambot pair --role participant --no-wait",
    ),
    "ps": ("beambot.cli.store:run_ps", "list sessions and their states", "beambot ps\nbeambot ps --json"),
    "backup": (
        "beambot.cli.store:run_backup",
        "copy the store, also while beambot runs",
        "beambot backup beambot-monday.db",
    ),
    "simulate": (
        "beambot.cli.plugin:run_simulate",
        "run a server of a chat on this machine, to try beambot without an account",
        "beambot simulate NAME\nbeambot simulate NAME --help",
    ),
    "audit": (
        "beambot.cli.audit:run",
        "who did what, and whether anybody changed that since",
        "beambot audit\nbeambot audit --last 500\nbeambot audit --verify --expect 9f86d081884c7d65",
    ),
}
_ENVIRONMENT = """\
environment:
  BEAMBOT_CONFIG   the configuration file
  BEAMBOT_HOME     the folder of the store
  BEAMBOT_DEBUG=1  show where an error came from

`beambot NAME …` runs the command of a plugin that has one."""


def build() -> argparse.ArgumentParser:
    """The whole parser."""
    parser = argparse.ArgumentParser(
        prog="beambot",
        description="Work with coding agents from the chat you already live in.",
        epilog=_epilog("beambot up\nbeambot doctor\nbeambot pair --role owner") + "\n\n" + _ENVIRONMENT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"beambot {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    made: dict[str, argparse.ArgumentParser] = {}
    for name, (_, summary, examples) in COMMANDS.items():
        made[name] = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=_epilog(examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name not in ("init", "simulate"):
            made[name].add_argument("--config", metavar="FILE", help="the configuration to use")
    _options(made)
    return parser


def command(name: str) -> Callable[[argparse.Namespace], int]:
    """The function behind a word, imported now."""
    module, _, function = COMMANDS[name][0].partition(":")
    run: Callable[[argparse.Namespace], int] = getattr(import_module(module), function)
    return run


def _options(made: dict[str, argparse.ArgumentParser]) -> None:
    levels = ("debug", "info", "warning", "error")
    made["up"].add_argument("--log-level", choices=levels, default="info", help="how much is logged (info)")
    made["init"].add_argument("file", nargs="?", default="beambot.yaml", help="where to (beambot.yaml)")
    made["init"].add_argument("--force", action="store_true", help="replace a file that is there")
    made["doctor"].add_argument("--json", action="store_true", help="findings as JSON")
    roles = ("observer", "participant", "approver", "owner")
    made["pair"].add_argument("--role", choices=roles, help="what the person may do")
    made["pair"].add_argument("--minutes", type=_minutes, default=10, help="how long the code holds, 1 to 10 (10)")
    made["pair"].add_argument("--no-wait", action="store_true", help="print the code and leave")
    made["ps"].add_argument("--json", action="store_true", help="one JSON document")
    made["backup"].add_argument("file", metavar="FILE", help="the copy; must not exist yet")
    made["simulate"].add_argument("platform", metavar="PLATFORM", help="which chat")
    made["simulate"].add_argument("words", nargs=argparse.REMAINDER, metavar="…", help="options of that server")
    made["audit"].add_argument("--last", type=_count, default=50, metavar="N", help="how many lines (50)")
    made["audit"].add_argument("--verify", action="store_true", help="print no lines, only verify them all")
    made["audit"].add_argument("--json", action="store_true", help="one JSON document")
    made["audit"].add_argument(
        "--expect", type=_chain_value, metavar="HASH", help="a noted value that must still be there"
    )


def _minutes(text: str) -> int:
    if text.isdigit() and 1 <= int(text) <= 10:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 10")


def _count(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 7 and 1 <= int(text) <= 1_000_000:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 1000000")


def _chain_value(text: str) -> str:
    value = text.strip().lower()
    if 16 <= len(value) <= 64 and not set(value) - set("0123456789abcdef"):
        return value
    raise argparse.ArgumentTypeError(f"{text!r} is not 16 to 64 digits of a value that `beambot audit` printed")


def _epilog(examples: str) -> str:
    return "examples:\n" + "\n".join(f"  {line}" for line in examples.splitlines())
