"""Telegram: a bot in private chats, groups and topics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from beambot.api import ChatPlatform, ConfigSection, PlatformSpec, PluginContext

if TYPE_CHECKING:
    from platforms.telegram.platform import TelegramPlatform

_TOKEN = re.compile(r"[0-9]{1,20}:[A-Za-z0-9_-]{10,200}")
_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
_PORTS = (443, 80, 88, 8443)


class Settings(Struct, frozen=True, kw_only=True):
    """The section `platforms.telegram`, read and checked."""

    token: str
    base_url: str = ""
    base_file_url: str = ""
    local: bool = False
    receive: str = "polling"
    webhook_url: str = ""
    webhook_host: str = "127.0.0.1"
    webhook_port: int = 8443
    webhook_secret: str = ""
    stream: str = "edit"
    rich: str = "off"
    groups: str = "addressed"
    icons: bool = True
    senders: dict[str, str] = {}


def configure(section: ConfigSection) -> Settings:
    """Read the section `platforms.telegram`."""
    token = section.secret("token", required=True)
    if token and not _TOKEN.fullmatch(token):
        section.problem("token", "something else", "a token such as 123456:ABC…", "copy it from @BotFather again")
    settings = Settings(
        token=token,
        base_url=_address(section, "base_url"),
        base_file_url=_address(section, "base_file_url"),
        local=section.flag("local", False),
        receive=section.choice("receive", ("polling", "webhook"), "polling"),
        webhook_url=section.text("webhook_url"),
        webhook_host=section.text("webhook_host", "127.0.0.1"),
        webhook_port=section.integer("webhook_port", 8443, minimum=0, maximum=65535),
        webhook_secret=section.secret("webhook_secret"),
        stream=section.choice("stream", ("edit", "draft", "auto"), "edit"),
        rich=section.choice("rich", ("off", "auto"), "off"),
        groups=section.choice("groups", ("addressed", "all"), "addressed"),
        icons=section.flag("icons", True),
        senders=section.mapping("senders"),
    )
    _check_webhook(section, settings)
    _check_senders(section, settings.senders)
    return settings


def _address(section: ConfigSection, key: str) -> str:
    """Where a Bot API server is: as the library wants it, up to the word `bot` before the token."""
    text = section.text(key)
    parts = urlsplit(text)
    if text and (parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment):
        section.problem(
            key, text, "an address such as http://127.0.0.1:8081/bot", "leave it out for Telegram's own"
        )
        return ""
    return text


def _check_webhook(section: ConfigSection, settings: Settings) -> None:
    if settings.receive == "polling":
        return
    parts = urlsplit(settings.webhook_url)
    good = parts.scheme == "https" and (parts.port or 443) in _PORTS
    if not settings.base_url and not good:
        section.problem(
            "webhook_url",
            settings.webhook_url or "nothing",
            "an https address at port 443, 80, 88 or 8443",
            "write where Telegram reaches this machine, or `receive: polling`, which needs no address",
        )
    if settings.webhook_secret and not _SECRET.fullmatch(settings.webhook_secret):
        fix = "leave it out, and one is made"
        section.problem("webhook_secret", "something else", "1 to 256 letters, digits, _ and -", fix)


def _check_senders(section: ConfigSection, senders: dict[str, str]) -> None:
    for chat, person in senders.items():
        if not re.fullmatch(r"-[0-9]+", chat) or not re.fullmatch(r"[0-9]+", person):
            section.problem(
                "senders",
                f"{chat}: {person}",
                "the id of a group or channel, and the id of the member it speaks for",
                'write it as "-1001234567890": "11111"',
            )


def create(settings: Settings, context: PluginContext) -> TelegramPlatform:
    """Make the platform; the vendor's library is loaded here and nothing is opened before it is used."""
    from platforms.telegram.platform import TelegramPlatform
    from platforms.telegram.surface.drafts import DraftingPlatform

    kind = TelegramPlatform if settings.stream == "edit" else DraftingPlatform
    return kind(settings, context)


def _create(settings: Settings, context: PluginContext) -> ChatPlatform:
    return create(settings, context)


def _simulate(args: Sequence[str], home: Path) -> int:
    from platforms.telegram.twin.simulate import run_command

    return run_command(args, home)


spec = PlatformSpec(
    name="telegram",
    summary="a Telegram bot, in private chats, groups and topics",
    configure=configure,
    create=_create,
    simulate=_simulate,
)
