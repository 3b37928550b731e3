"""A clock that stands still until a test moves it."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable

import anyio


class FakeClock:
    """Moves only by `advance`; sleepers wake in order, each at its own moment."""

    def __init__(self, start: float = 1_000_000.0) -> None:
        self._now = start
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await anyio.lowlevel.checkpoint()
            return
        self._count += 1
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, self._count, future))
        await future

    async def advance(self, seconds: float) -> None:
        """Let this much time pass; whoever sleeps shorter runs in between."""
        end = self._now + seconds
        await self._settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            due, _, future = heapq.heappop(self._sleepers)
            self._now = max(self._now, due)
            if not future.done():
                future.set_result(None)
                await self._settle()
        self._now = end
        await self._settle()

    @staticmethod
    async def _settle() -> None:
        for _ in range(20):
            await anyio.lowlevel.checkpoint()


class SequentialIds:
    """Ids that a test can foresee."""

    def __init__(self) -> None:
        self.count = 0

    def new(self, length: int = 16) -> str:
        self.count += 1
        return f"id{self.count:06d}"


async def eventually(seen: Callable[[], object], *, seconds: float = 5.0, what: str = "") -> None:
    """Wait in real time until something has become visible: for parts that work in threads and processes."""
    with anyio.move_on_after(seconds) as scope:
        while not seen():  # noqa: ASYNC110 - what is awaited has no event
            await anyio.sleep(0.002)
    if scope.cancelled_caught:
        raise AssertionError(f"not seen within {seconds:g} s: {what or seen}")
