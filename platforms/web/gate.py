"""Who may in: one-time links, cookies, the addresses the page answers to, and how fast a browser may ask."""

from __future__ import annotations

import argparse
import hashlib
import re
import secrets
import sys
import time
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

import anyio
from aiohttp import web

from beambot.api import BeambotError
from platforms.web.chat import Chat, opened

DEFAULT_USER = "local"
CODE_SECONDS = 600.0
COOKIE_SECONDS = 30 * 86400.0
_USER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data: blob:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def digest(secret: str) -> str:
    """What is kept of a code or a cookie. They are long and random: a plain hash is enough."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


class Pace:
    """At most `calls` in `seconds` for each name. Remembers a bounded number of names."""

    def __init__(self, calls: int, seconds: float, names: int = 1000) -> None:
        self.calls = calls
        self.seconds = seconds
        self._names = names
        self._seen: OrderedDict[str, deque[float]] = OrderedDict()

    def wait(self, name: str, now: float) -> float:
        """0 if it may go on now (and is counted), else the seconds to wait."""
        times = self._seen.setdefault(name, deque())
        self._seen.move_to_end(name)
        if len(self._seen) > self._names:
            self._seen.popitem(last=False)
        while times and times[0] <= now - self.seconds:
            times.popleft()
        if len(times) >= self.calls:
            return times[0] + self.seconds - now
        times.append(now)
        return 0.0


class Doors:
    """The addresses under which the page may be reached; any other name may be a rebound DNS entry."""

    def __init__(self, host: str, port: int, origins: Sequence[str]) -> None:
        shown = f"[{host}]" if ":" in host else host
        everywhere = shown in ("0.0.0.0", "[::]")  # noqa: S104 - compared, not bound
        self.address = origins[0] if origins else f"http://{'127.0.0.1' if everywhere else shown}:{port}"
        names = {shown, "127.0.0.1", "localhost", "[::1]"} - {"0.0.0.0", "[::]"}  # noqa: S104 - left out
        own = {f"http://{name}:{port}" for name in names}
        if port == 80:
            own |= {f"http://{name}" for name in names}
        self._origins = own | set(origins)
        self._hosts = {urlsplit(origin).netloc for origin in self._origins}
        self._secure = {urlsplit(origin).netloc for origin in origins if origin.startswith("https:")}

    def check(self, headers: Mapping[str, str], *, acts: bool) -> None:
        """Refuse a request to a strange name; with `acts` also one that another site's page makes."""
        if headers.get("Host", "").lower() not in self._hosts:
            raise refusal(403, "This address is not served here. Add it to `origins` of `platforms.web`.")
        if acts and headers.get("Origin", "").lower() not in self._origins:
            raise refusal(403, "This request comes from another site's page.")

    def is_secure(self, host: str) -> bool:
        """Whether the browser came over TLS, through somebody's proxy."""
        return host.lower() in self._secure


def refusal(status: int, text: str, **headers: str) -> web.HTTPException:
    """A plain answer that says what is wrong."""

    class Refusal(web.HTTPException):
        status_code = status

    return Refusal(text=text + "\n", headers={**HEADERS, **headers}, content_type="text/plain")


async def new_link(chat: Chat, address: str, who: str, code: str, now: float) -> str:
    """A link that lets one browser in, once."""
    await chat.add_code(digest(code), who, now + CODE_SECONDS)
    return f"{address}/enter?code={code}"


def run_command(args: Sequence[str], home: Path) -> int:
    """`beambot web …`; `home` is the platform's own folder."""
    parser = argparse.ArgumentParser(
        prog="beambot web",
        epilog="examples: beambot web link · beambot web link --user ana · beambot web logout --user ana",
    )
    actions = parser.add_subparsers(dest="action", required=True)
    link = actions.add_parser("link", help="print a fresh one-time link, good for 10 minutes")
    logout = actions.add_parser("logout", help="sign a person out in every browser")
    for action in (link, logout):
        action.add_argument("--user", default=DEFAULT_USER, help="web identity, as in the member list")
    options = parser.parse_args(args)
    try:
        if not _USER.fullmatch(options.user):
            _refuse_user(options.user)
        done = anyio.run(_link if options.action == "link" else _logout, home, options.user)
    except BeambotError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.write(done + "\n")
    return 0


def _refuse_user(user: str) -> NoReturn:
    raise BeambotError(f"{user!r} is no web user", fix="use letters, digits, dots, dashes, underscores or @")


async def _link(home: Path, user: str) -> str:
    async with opened(home) as chat:
        address = await chat.state("address")
        if not address:
            raise BeambotError("the web chat has not run yet", fix="start it with `beambot up`")
        return await new_link(chat, address, user, secrets.token_urlsafe(24), time.time())


async def _logout(home: Path, user: str) -> str:
    async with opened(home) as chat:
        count = await chat.drop_cookies(user)
    return f"{user} is signed out of {count} browser{'' if count == 1 else 's'}"
