"""Waiting for something, or for a while, by the clock that came in as an argument."""

from __future__ import annotations

import anyio

from beambot.model.ports import Clock


async def wait_for(event: anyio.Event, clock: Clock, seconds: float | None) -> bool:
    """True when the event came, False when the time ran out first."""
    if seconds is None:
        await event.wait()
        return True
    async with anyio.create_task_group() as tasks:

        async def nap() -> None:
            await clock.sleep(seconds)
            tasks.cancel_scope.cancel()

        tasks.start_soon(nap)
        await event.wait()
        tasks.cancel_scope.cancel()
    return event.is_set()
