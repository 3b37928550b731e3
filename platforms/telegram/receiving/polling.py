"""The receive loop: long polling whose offset moves only past what is written down."""

from __future__ import annotations

from collections.abc import Sequence

from beambot.api import BeambotError, Clock, IdSource, PlatformError, RetryAfter, get_logger
from platforms.telegram.calling.failures import Conflicting, TokenRejected
from platforms.telegram.client import Client
from platforms.telegram.receiving.updates import Updates

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_CONFLICT_PAUSE = 20.0
CONFLICT_FIX = "end the other program that runs with this bot's token, or give this beambot a bot of its own"
_log = get_logger("telegram")


class Pauses:
    """How long to wait before the next try: longer each time, by chance a little apart from others."""

    def __init__(self, clock: Clock, ids: IdSource) -> None:
        self._clock = clock
        self._ids = ids
        self.failures = 0

    def forget(self) -> None:
        """All is well."""
        self.failures = 0

    async def wait(self, *, at_least: float = 0.0) -> None:
        """One more failure."""
        pause = min(_FIRST_PAUSE * 2.0 ** min(self.failures, 10), _LONGEST_PAUSE)
        self.failures += 1
        chance = sum(map(ord, self._ids.new(8))) % 100 / 100
        await self._clock.sleep(max(pause * (0.5 + 0.5 * chance), at_least))


async def poll(client: Client, updates: Updates, allowed: Sequence[str], pauses: Pauses) -> None:
    """Until cancelled. To ask for the next update confirms all before it: so they are kept first."""
    offset: int | None = None
    conflict = False
    while True:
        try:
            batch = await client.updates(offset, allowed)
            for raw in batch:
                await updates.take(raw)
                offset = int(raw["update_id"]) + 1
        except TokenRejected:
            raise
        except Conflicting as error:
            # Said once: the other program gets what this one does not, and asking more often changes nothing.
            if not conflict:
                _log.error("another program receives this bot's messages", why=error.message, fix=CONFLICT_FIX)
            conflict = True
            await pauses.wait(at_least=_CONFLICT_PAUSE)
        except RetryAfter as error:
            await pauses.wait(at_least=error.seconds)
        except PlatformError as error:
            _complain(pauses, "messages cannot be fetched", error)
            await pauses.wait()
        except BeambotError as error:
            _complain(pauses, "a message could not be written down: it is fetched again", error)
            await pauses.wait()
        else:
            if pauses.failures:
                _log.info("messages are received again")
            pauses.forget()
            conflict = False


def _complain(pauses: Pauses, words: str, error: BeambotError) -> None:
    if not pauses.failures:
        _log.warning(words, why=error.message)
