"""What happens when the bot begins to receive: one way or the other, and its menus brought up to date."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio
import msgspec
from anyio.abc import TaskGroup

from beambot.api import BeambotError, Inbox, PlatformError, get_logger
from platforms.telegram.receiving.polling import Pauses, poll
from platforms.telegram.receiving.updates import ALLOWED, STOPS, Updates
from platforms.telegram.surface.menu import listed

if TYPE_CHECKING:
    from platforms.telegram.client import Client
    from platforms.telegram.platform import TelegramPlatform

_SCOPES = ("default", "all_private_chats", "all_group_chats")
_log = get_logger("telegram")


async def receive(platform: TelegramPlatform, inbox: Inbox, ready: Callable[[], None], tasks: TaskGroup) -> None:
    """Until cancelled."""
    client, settings, me = await platform.client(), platform.settings, platform.me
    assert me is not None
    updates = Updates(
        inbox,
        platform.places,
        me,
        platform.context.clock,
        senders=settings.senders,
        everything=settings.groups == "all",
        forum=platform.topics.note,
    )
    allowed = (*ALLOWED, STOPS) if platform.capabilities.native_stream else ALLOWED
    await updates.take_up()
    tasks.start_soon(updates.watch_albums)
    tasks.start_soon(_menus, platform, client)
    if settings.receive == "webhook":
        await _pushed(platform, client, updates, allowed, ready)
    else:
        pauses = Pauses(platform.context.clock, platform.context.ids)
        # A webhook that another program left would keep every message from us.
        await _insist(pauses, lambda: client.call(lambda: client.bot.delete_webhook(drop_pending_updates=False)))
        ready()
        await poll(client, updates, allowed, pauses)


async def _pushed(
    platform: TelegramPlatform,
    client: Client,
    updates: Updates,
    allowed: tuple[str, ...],
    ready: Callable[[], None],
) -> None:
    # Its server is loaded by those who want it: most poll.
    from platforms.telegram.receiving.webhook import Webhook

    settings, places = platform.settings, platform.places
    secret = settings.webhook_secret or await places.state("webhook_secret")
    if not secret:
        secret = platform.context.ids.new(48)
        await places.set_state("webhook_secret", secret)
    webhook = Webhook(settings, secret, updates)
    async with webhook.serve():
        _log.info("the webhook listens", host=settings.webhook_host, port=webhook.port)
        pauses = Pauses(platform.context.clock, platform.context.ids)
        await _insist(
            pauses,
            # One connection: what is said in a chat comes in its order.
            lambda: client.call(
                lambda: client.bot.set_webhook(
                    settings.webhook_url, max_connections=1, allowed_updates=allowed, secret_token=secret
                )
            ),
        )
        ready()
        await anyio.sleep_forever()


async def _insist(pauses: Pauses, call: Callable[[], object]) -> None:
    """Until it is done: without it nothing is received."""
    while True:
        try:
            await call()  # type: ignore[misc]
            pauses.forget()
            return
        except PlatformError as error:
            if not pauses.failures:
                _log.warning("receiving cannot begin yet", why=error.message)
            await pauses.wait(at_least=getattr(error, "seconds", 0.0))


async def _menus(platform: TelegramPlatform, client: Client) -> None:
    """The commands that people are offered, said again only when they have changed."""
    commands = listed(platform.context.commands)
    digest = hashlib.sha256(msgspec.json.encode(commands)).hexdigest()
    try:
        if not commands or await platform.places.state("commands") == digest:
            return
        for scope in _SCOPES:
            more = {"scope": {"type": scope}}
            await client.call(lambda more=more: client.bot.set_my_commands(commands, api_kwargs=more))  # type: ignore[misc]
        await client.call(lambda: client.bot.set_chat_menu_button(api_kwargs={"menu_button": {"type": "commands"}}))
        await platform.places.set_state("commands", digest)
    except BeambotError as error:
        _log.warning("the list of commands is not up to date", why=error.message)
