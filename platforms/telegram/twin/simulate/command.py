"""The command: which people there are, which server it plays, and where it listens."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio

from beambot.api import BeambotError
from platforms.telegram.twin.limits import UNLIMITED, Limits
from platforms.telegram.twin.settings import TOKEN, Settings
from platforms.telegram.twin.simulate.web import Web
from platforms.telegram.twin.twin import Twin

PEOPLE = ("Ada:11", "Bob:12")
_TEXT = """Telegram is simulated on this machine. Open {web} to write to the bot.

Put this into the configuration, and the token into the environment:

    TELEGRAM_BOT_TOKEN={token}

    platforms:
      telegram: {{token_env: TELEGRAM_BOT_TOKEN, base_url: "{base}", base_file_url: "{files}"}}
    members:
{members}
"""


def run(args: Sequence[str], home: Path) -> int:
    """Parse, serve, and end quietly when interrupted. Nothing is kept in `home`: each run starts anew."""
    options = _parser().parse_args(args)
    try:
        anyio.run(partial(serve, options))
    except KeyboardInterrupt:
        return 0
    except OSError as error:
        raise BeambotError(
            f"the simulated Telegram cannot listen: {error.strerror or error}",
            fix="choose other ports with --port and --web-port (0 takes any)",
        ) from None
    return 0


async def serve(options: argparse.Namespace, *, started: anyio.Event | None = None) -> None:
    """Run until cancelled."""
    settings = Settings(
        token=options.token,
        api=options.api,
        has_topics_enabled=options.topics,
        allows_users_to_create_topics=options.topics,
        can_read_all_group_messages=not options.privacy,
    )
    limits = UNLIMITED if options.unlimited else Limits()
    async with Twin(settings=settings, limits=limits, port=options.port) as twin:
        people = [twin.person(name, number) for name, number in options.person or map(_person, PEOPLE)]
        twin.forum("Team", *people)
        twin.group("Small group", *people, kind="group")
        for person in people:
            twin.world.private(person.user)
        async with Web(twin, port=options.web_port) as page:
            members = "\n".join(
                f"      - {{name: {one.name.lower()}, role: owner, telegram: {one.id}}}" for one in people
            )
            sys.stdout.write(
                _TEXT.format(
                    web=page.url, token=twin.token, base=twin.base_url, files=twin.base_file_url, members=members
                )
            )
            sys.stdout.flush()
            if started is not None:
                started.set()
            await anyio.sleep_forever()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="beambot simulate telegram", description="A Telegram on this machine, to try the bot without a token."
    )
    parser.add_argument("--port", type=_port, default=8081, help="where the Bot API listens (8081; 0 takes any)")
    parser.add_argument("--web-port", type=_port, default=8082, help="where the page listens (8082; 0 takes any)")
    parser.add_argument(
        "--person", type=_person, action="append", metavar="NAME:ID", help="somebody in it; repeat it"
    )
    parser.add_argument("--token", type=_token, default=TOKEN, help="the bot's token, if it should be another")
    parser.add_argument("--api", type=_version, default=(10, 3), help="the version of the Bot API it plays (10.3)")
    parser.add_argument("--no-topics", dest="topics", action="store_false", help="private chats have no topics")
    parser.add_argument("--privacy", action="store_true", help="in groups the bot hears commands and replies only")
    parser.add_argument("--unlimited", action="store_true", help="no rate limits")
    return parser


def _person(text: str) -> tuple[str, int]:
    name, _, number = text.rpartition(":")
    if not name or not number.isdecimal() or not int(number):
        raise argparse.ArgumentTypeError(f"write a name and a number, such as Ada:11, not {text}")
    return name, int(number)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"a port is a number up to 65535, not {text}")
    return int(text)


def _token(text: str) -> str:
    if not text.partition(":")[0].isdecimal() or not text.partition(":")[2]:
        raise argparse.ArgumentTypeError("a token looks like 123456:ABC")
    return text


def _version(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    if not (major.isdecimal() and minor.isdecimal()):
        raise argparse.ArgumentTypeError(f"a version looks like 10.3, not {text}")
    return int(major), int(minor)
