"""Small tools for tasks: waiting by the clock that came in as an argument, and failing alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from beambot.errors import StoreError
from beambot.log import get_logger
from beambot.model.ports import Clock

log = get_logger("flow")

_RETRY_SECONDS = 1.0


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


async def alone(work: Callable[..., Awaitable[object]], *args: Any) -> None:
    """A task whose failure is logged and takes nobody else along."""
    try:
        await work(*args)
    except Exception as error:
        log.error("a task failed", task=getattr(work, "__qualname__", str(work)), exc_info=error)


async def insist(clock: Clock, work: Callable[..., Awaitable[object]], *args: Any) -> None:
    """For what must follow from something that is done already: tried until the database takes it."""
    while True:
        try:
            await work(*args)
            return
        except StoreError as error:
            log.error("the database does not answer", why=str(error))
            await clock.sleep(_RETRY_SECONDS)
