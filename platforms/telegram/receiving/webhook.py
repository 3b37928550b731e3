"""The other way to receive: Telegram sends each update to an address of ours, and waits for our yes."""

from __future__ import annotations

import contextlib
import errno
import hmac
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import anyio
import msgspec
from aiohttp import web

from beambot.api import BeambotError, get_logger
from platforms.telegram import Settings
from platforms.telegram.receiving.updates import Updates

LARGEST = 1024 * 1024
HEADER = "X-Telegram-Bot-Api-Secret-Token"
_log = get_logger("telegram")
_decoder = msgspec.json.Decoder(dict[str, Any])


class Webhook:
    """Takes what carries our secret, one after the other, and nothing else."""

    def __init__(self, settings: Settings, secret: str, updates: Updates) -> None:
        self._settings = settings
        self._secret = secret.encode()
        self._updates = updates
        self.port = settings.webhook_port

    @contextlib.asynccontextmanager
    async def serve(self) -> AsyncIterator[None]:
        """Listen; on the way out close every connection, within two seconds."""
        app = web.Application(client_max_size=LARGEST)
        app.router.add_post(urlsplit(self._settings.webhook_url).path or "/", self._receive)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5, handle_signals=False)
        await runner.setup()
        try:
            await self._listen(runner)
            yield
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(2):
                await runner.cleanup()

    async def _listen(self, runner: web.AppRunner) -> None:
        where = f"{self._settings.webhook_host}:{self._settings.webhook_port}"
        try:
            site = web.TCPSite(runner, self._settings.webhook_host, self._settings.webhook_port, reuse_address=True)
            await site.start()
        except OSError as error:
            busy = error.errno == errno.EADDRINUSE
            raise BeambotError(
                f"the webhook cannot use {where}: {'another program does' if busy else error.strerror}",
                fix="set another `webhook_port` or `webhook_host` under `platforms.telegram`",
            ) from None
        self.port = int(runner.addresses[0][1])

    async def _receive(self, request: web.Request) -> web.Response:
        given = request.headers.get(HEADER, "").encode("utf-8", "replace")
        if not hmac.compare_digest(given, self._secret):
            return web.Response(status=403)
        try:
            raw = _decoder.decode(await request.read())
        except msgspec.DecodeError:
            return web.Response(status=400)
        if not isinstance(raw.get("update_id"), int):
            return web.Response(status=400)
        try:
            await self._updates.take(raw)
        except BeambotError as error:
            _log.warning("a message could not be written down: Telegram sends it again", why=error.message)
            return web.Response(status=503)
        return web.Response()
