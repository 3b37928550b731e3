"""Real time and real chance, for the composition root; everything below gets them as arguments."""

from __future__ import annotations

import secrets
import time

import anyio

_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"


class SystemClock:
    """The machine's own time."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(max(0.0, seconds))


def chance() -> float:
    """Any number from 0 up to 1."""
    return secrets.randbelow(1 << 30) / (1 << 30)


class RandomIds:
    """Ids that nobody can guess."""

    def new(self, length: int = 16) -> str:
        return "".join(secrets.choice(_ALPHABET) for _ in range(length))
