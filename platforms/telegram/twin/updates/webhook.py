"""Updates pushed to the bot's own server, in order, each until it is taken."""

from __future__ import annotations

import anyio
import msgspec
from aiohttp import ClientError, ClientSession, ClientTimeout

from beambot.api import Clock
from platforms.telegram.twin.updates.queue import Update, Updates

RETRY_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0)


class Webhook:
    """Pushes while an address is set."""

    def __init__(self, updates: Updates, clock: Clock) -> None:
        self.last_error = ""
        self.last_error_at = 0.0
        self.pushed = 0
        self._updates = updates
        self._clock = clock
        self._secret = ""
        self._changed = anyio.Event()

    def set(self, url: str, secret: str) -> None:
        """Push there from now on; no address ends it. Whoever polls is told."""
        self._updates.webhook_url, self._secret = url, secret
        self.last_error = ""
        if url:
            self._updates.end_poll()
        event, self._changed = self._changed, anyio.Event()
        event.set()

    async def run(self) -> None:
        """Push for ever."""
        async with ClientSession(timeout=ClientTimeout(total=60)) as client:
            while True:
                if not self._updates.webhook_url:
                    await self._changed.wait()
                    continue
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._until_changed, tasks.cancel_scope)
                    while self._updates.webhook_url:
                        await self._push(client, await self._updates.next())

    async def _until_changed(self, scope: anyio.CancelScope) -> None:
        await self._changed.wait()
        scope.cancel()

    async def _push(self, client: ClientSession, update: Update) -> None:
        tries = 0
        while not await self._taken(client, update):
            await self._clock.sleep(RETRY_SECONDS[min(tries, len(RETRY_SECONDS) - 1)])
            tries += 1
        self.pushed += 1
        self._updates.confirm(update)

    async def _taken(self, client: ClientSession, update: Update) -> bool:
        headers = {"Content-Type": "application/json"}
        if self._secret:
            headers["X-Telegram-Bot-Api-Secret-Token"] = self._secret
        body = msgspec.json.encode(update.wire())
        try:
            async with client.post(self._updates.webhook_url, data=body, headers=headers) as answer:
                if 200 <= answer.status < 300:
                    return True
                self.last_error = f"Wrong response from the webhook: {answer.status} {answer.reason}"
        except (ClientError, OSError, TimeoutError) as error:
            self.last_error = f"Connection failed: {type(error).__name__}"
        self.last_error_at = self._clock.now()
        return False
