"""The embedded chat: a page in the browser, served by beambot itself."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from beambot.api import ChatPlatform, ConfigSection, PlatformSpec, PluginContext

if TYPE_CHECKING:
    from platforms.web.platform import WebPlatform


class Settings(Struct, frozen=True, kw_only=True):
    """Where the page is served, and under which other addresses it may be reached."""

    host: str = "127.0.0.1"
    port: int = 8765
    origins: tuple[str, ...] = ()


def configure(section: ConfigSection) -> Settings:
    """Read the section `platforms.web`."""
    host = section.text("host", "127.0.0.1")
    port = section.integer("port", 8765, minimum=0, maximum=65535)
    remote = section.flag("allow_remote", False)
    origins = section.texts("origins")
    if not _is_loopback(host) and not remote:
        section.problem(
            "host",
            host,
            "a loopback address such as 127.0.0.1",
            "use a tunnel, or set `allow_remote: true` and put the page's address in `origins`",
        )
    for origin in origins:
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.path not in ("", "/"):
            section.problem("origins", origin, "an address such as https://chat.example.org", "leave out the path")
    return Settings(host=host, port=port, origins=tuple(origin.rstrip("/").lower() for origin in origins))


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def create(settings: Settings, context: PluginContext) -> WebPlatform:
    """Make the platform; nothing is opened before it is used."""
    from platforms.web.platform import WebPlatform

    return WebPlatform(settings, context)


def command(args: Sequence[str], home: Path) -> int:
    """`beambot web link` and `beambot web logout`."""
    from platforms.web.gate import run_command

    return run_command(args, home)


def _create(settings: Settings, context: PluginContext) -> ChatPlatform:
    return create(settings, context)


spec = PlatformSpec(
    name="web",
    summary="a chat in your browser, served by beambot itself",
    configure=configure,
    create=_create,
    command=command,
)
