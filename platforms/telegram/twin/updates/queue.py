"""Updates that the bot has not confirmed yet, in their order."""

from __future__ import annotations

import anyio
from msgspec import Struct

from beambot.api import Clock
from platforms.telegram.twin.errors import conflict
from platforms.telegram.twin.world.values import Json

KEPT_SECONDS = 24 * 3600
LONGEST_POLL = 50
# What is sent only to a bot that asks for it by name.
ON_REQUEST = {"chat_member", "message_reaction", "message_reaction_count"}


class Update(Struct, frozen=True):
    """One update."""

    id: int
    kind: str
    body: Json
    at: float

    def wire(self) -> Json:
        """As the bot gets it."""
        return {"update_id": self.id, self.kind: self.body}


class Updates:
    """The queue of one bot."""

    def __init__(self, clock: Clock, first: int = 100_000_001) -> None:
        self.waiting: list[Update] = []
        self.allowed: tuple[str, ...] = ()
        self.webhook_url = ""
        self.polls = 0
        self.conflicts = 0
        self._clock = clock
        self._next = first
        self._arrived = anyio.Event()
        # The newest getUpdates that waits; the one before it is ended when another comes.
        self._poller: anyio.Event | None = None

    def put(self, kind: str, body: Json) -> Update | None:
        """Something happened that the bot is told of, unless it did not ask for such things."""
        wanted = kind in self.allowed if self.allowed else kind not in ON_REQUEST
        if not wanted:
            return None
        update = Update(self._next, kind, body, self._clock.now())
        self._next += 1
        self.waiting.append(update)
        self._wake()
        return update

    def drop(self) -> None:
        """Forget what waits."""
        self.waiting.clear()

    async def poll(self, offset: int, limit: int, seconds: float) -> list[Json]:
        """Long polling: confirm everything before the offset, then the next updates, waiting for the first."""
        self.polls += 1
        if self.webhook_url:
            raise conflict(
                "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
            )
        self.end_poll()
        self._confirm(offset)
        if not self.waiting and seconds > 0:
            await self._wait(min(seconds, LONGEST_POLL))
        return [update.wire() for update in self.waiting[: limit if 1 <= limit <= 100 else 100]]

    async def next(self) -> Update:
        """The oldest update, for pushing it; it stays until it is confirmed."""
        while not self.waiting:
            await self._arrived.wait()
        return self.waiting[0]

    def confirm(self, update: Update) -> None:
        """A pushed update was taken."""
        if self.waiting and self.waiting[0] is update:
            del self.waiting[0]

    def end_poll(self) -> None:
        """Whoever polls is told that somebody else does."""
        if self._poller is not None:
            self._poller.set()
            self._poller = None

    def _confirm(self, offset: int) -> None:
        oldest = self._clock.now() - KEPT_SECONDS
        self.waiting = [update for update in self.waiting if update.at >= oldest]
        if offset < 0:
            # From the end of the queue; what is before it is forgotten.
            self.waiting = self.waiting[offset:]
        elif offset > 0:
            self.waiting = [update for update in self.waiting if update.id >= offset]

    async def _wait(self, seconds: float) -> None:
        ended = anyio.Event()
        self._poller = ended
        try:
            async with anyio.create_task_group() as tasks:

                async def clock() -> None:
                    await self._clock.sleep(seconds)
                    tasks.cancel_scope.cancel()

                async def update() -> None:
                    while not self.waiting:
                        await self._arrived.wait()
                    tasks.cancel_scope.cancel()

                async def other() -> None:
                    await ended.wait()
                    tasks.cancel_scope.cancel()

                for waiter in (clock, update, other):
                    tasks.start_soon(waiter)
        finally:
            if self._poller is ended:
                self._poller = None
        if ended.is_set():
            self.conflicts += 1
            why = (
                "terminated by setWebhook request"
                if self.webhook_url
                else "terminated by other getUpdates request; make sure that only one bot instance is running"
            )
            raise conflict(why)

    def _wake(self) -> None:
        event, self._arrived = self._arrived, anyio.Event()
        event.set()
