"""One chat's lane: everything that goes to it, one call at a time, the most awaited first, within its pace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf
from typing import TypeVar

import anyio
from msgspec.structs import replace

from beambot.errors import MessageGone, PlatformError, Refused, RetryAfter, StoreError, ThreadGone, Unreachable
from beambot.flow.delivery.meters import Meters
from beambot.flow.delivery.screens import Screen
from beambot.flow.waiting import wait_for
from beambot.log import get_logger
from beambot.model.ids import MessageRef, ThreadRef
from beambot.model.outbound import Footer, Outgoing
from beambot.model.ports import ChatPlatform, Clock
from beambot.render.pace import Priority
from beambot.store import Store
from beambot.store.records import OutboxRow, content_hash

log = get_logger("delivery")

_CALL_SECONDS = 30.0
_BACKOFF = (0.5, 1.0, 2.0, 4.0, 5.0)
Small = Callable[[], Awaitable[None]]
Job = OutboxRow | Screen | str
T = TypeVar("T")


class Lane:
    """Durable rows, screens of running turns, and small things of which only the newest counts."""

    def __init__(
        self,
        platform: ChatPlatform,
        chat: str,
        store: Store,
        clock: Clock,
        parked: set[ThreadRef],
        meters: Meters,
        journalled: Callable[[], Awaitable[None]],
        frozen_until: float = 0.0,
    ) -> None:
        self.platform = platform
        self.scope = f"{platform.name}/{chat}"
        self.rows: dict[int, OutboxRow] = {}
        self.screens: dict[tuple[ThreadRef, str], Screen] = {}
        self.small: dict[str, tuple[ThreadRef, Small]] = {}
        self._store = store
        self._clock = clock
        self._parked = parked
        self._wake = anyio.Event()
        self._failures = 0
        self._not_before = -inf
        self._meters = meters
        self._journalled = journalled
        self._posted: dict[tuple[ThreadRef, str], str] = {}
        if frozen_until > clock.now():
            self._not_before = clock.monotonic() + frozen_until - clock.now()

    @property
    def quiet(self) -> bool:
        """Nothing is left to be done."""
        return not self.rows and not self.screens and not self.small

    def wake(self) -> None:
        """There is something new."""
        self._wake.set()

    async def run(self) -> None:
        """For as long as beambot runs."""
        while True:
            job, at = self._choose()
            wait = at - self._clock.monotonic()
            if job is None or wait > 0:
                self._wake = anyio.Event()
                await wait_for(self._wake, self._clock, None if job is None else wait)
            else:
                await self._try(job)

    async def _try(self, job: Job) -> None:
        """Neither a chat nor the database ends a lane."""
        try:
            await self._do(job)
        except Exception as error:
            log.error("a lane stumbled", scope=self.scope, exc_info=error)
            self._back_off(error)

    # ── choosing ─────────────────────────────────────────────────────────────────────────────────

    def _choose(self) -> tuple[Job | None, float]:
        """The next job and the moment it may go out: who is ready by priority and age, else who is ready first."""
        now = self._clock.monotonic()
        best: tuple[tuple[float, int, float], Job] | None = None
        ready: dict[tuple[ThreadRef, Priority], float] = {}

        def consider(job: Job, thread: ThreadRef, priority: Priority, since: float, not_before: float) -> None:
            nonlocal best
            if (thread, priority) not in ready:
                ready[thread, priority] = max(self._not_before, self._meters.ready_at(thread, priority, now))
            at = max(ready[thread, priority], not_before, now)
            rank = (at, int(priority), since)
            if best is None or rank < best[0]:
                best = (rank, job)

        for row in self.rows.values():
            consider(row, row.thread, Priority(row.priority), row.id, -inf)
        gap = self.platform.capabilities.min_interval
        for screen in self.screens.values():
            if screen.urgent:
                consider(screen, screen.thread, Priority.ANSWER, 0.0, -inf)
            else:
                since = screen.waiting_since or 0.0
                priority = Priority.TIDY if screen.tidying else Priority.STREAM
                consider(screen, screen.thread, priority, since, screen.last_call + gap)
        if self.small:
            key, (thread, _) = next(iter(self.small.items()))
            if self.platform.capabilities.reactions_counted:
                consider(key, thread, Priority.RECEIPT, 0.0, -inf)
            elif best is None or best[0][0] > now:
                return key, max(self._not_before, now)
        return (best[1], best[0][0]) if best is not None else (None, inf)

    # ── doing ────────────────────────────────────────────────────────────────────────────────────

    async def _do(self, job: Job) -> None:
        try:
            if isinstance(job, OutboxRow):
                await self._send_row(job)
            elif isinstance(job, Screen):
                await self._send_screen(job)
            else:
                await self._send_small(job)
            self._failures = 0
        except RetryAfter as refusal:
            self._freeze(job, refusal.seconds)
            log.warning("rate limited", scope=self.scope, seconds=refusal.seconds)
            await self._store.freezes.put(self.scope, self._clock.now() + refusal.seconds)
        except ThreadGone as gone:
            await self._park(job, str(gone))
        except (Unreachable, StoreError) as error:
            self._back_off(error)
        except Exception as error:
            # A refusal that will not change, or a plugin's own bug: tried a few times, then given up.
            log.error("a message could not be sent", scope=self.scope, exc_info=error)
            self._back_off(error)
            if isinstance(job, str):
                self.small.pop(job, None)
            elif isinstance(job, OutboxRow) and job.attempts >= 5:
                await self._give_up(job, error)
            elif isinstance(job, OutboxRow) and job.id in self.rows:
                self.rows[job.id] = replace(self.rows[job.id], attempts=job.attempts + 1)

    async def _send_small(self, key: str) -> None:
        thread, call = self.small[key]
        await self._call(thread, call, counted=self.platform.capabilities.reactions_counted)
        if key in self.small and self.small[key][1] is call:
            del self.small[key]

    async def _send_screen(self, screen: Screen) -> None:
        now = self._clock.now()
        key = (screen.thread, screen.turn.id)
        page = screen.next_page(now)
        if page is None:
            screen.urgent = False
            screen.waiting_since = None
            self.screens.pop(key, None)
            return
        screen.last_call = self._clock.monotonic()
        # What a person has seen must be there after a restart too: the journal is never behind the screen.
        await self._journalled()
        message = await self._stand(screen.thread, page, known=screen.message(page))
        screen.confirm(page, message)
        if screen.next_page(now) is None:
            screen.urgent = False
            screen.waiting_since = None
            self.screens.pop(key, None)

    async def _send_row(self, row: OutboxRow) -> None:
        unsure = row.uncertain and not self.platform.capabilities.dedupes_posts
        outgoing = row.outgoing
        if unsure:
            words = Footer("The chat did not confirm the first try: this may stand here twice.")
            outgoing = replace(outgoing, blocks=(*outgoing.blocks, words))
        await self._stand(row.thread, outgoing, row=row)
        await self._store.outbox.done(row.id, if_hash=row.hash)
        newest = self.rows.get(row.id)
        if newest is not None and newest.hash == row.hash:
            del self.rows[row.id]

    async def _stand(
        self, thread: ThreadRef, outgoing: Outgoing, *, row: OutboxRow | None = None, known: str = ""
    ) -> str:
        """Make the message stand in the chat, an edit where it stands already, else a post; gives its id.

        What a running turn shows is not hashed into the store: its end is, and that is what a restart compares.
        """
        digest = content_hash(outgoing) if row is not None else ""
        known = known or self._posted.get((thread, outgoing.key), "")
        if not known and (shown := await self._store.shown.get(thread, outgoing.key)) is not None:
            if row is not None and shown.hash == digest:
                return shown.message
            known = shown.message
        if known:
            ref = MessageRef(thread, known)
            try:
                await self._rich_or_plain(thread, outgoing, lambda message: self.platform.edit(ref, message))
            except MessageGone:
                self._posted.pop((thread, outgoing.key), None)
                await self._store.shown.remove(thread, outgoing.key)
            else:
                if row is not None:
                    await self._store.shown.put(thread, outgoing.key, known, digest)
                return known
        message = await self._post(thread, outgoing, row)
        # Until the store has it, this is what keeps the message from being posted a second time.
        self._posted[(thread, outgoing.key)] = message
        await self._store.shown.put(thread, outgoing.key, message, digest)
        del self._posted[(thread, outgoing.key)]
        return message

    async def _post(self, thread: ThreadRef, outgoing: Outgoing, row: OutboxRow | None) -> str:
        """A post whose answer is lost may stand twice when it is repeated: that is noted before, not after."""
        noted = row is not None and not self.platform.capabilities.dedupes_posts
        if row is not None and noted and not row.uncertain:
            await self._store.outbox.mark(row.id, uncertain=True)
        try:
            ref = await self._rich_or_plain(thread, outgoing, lambda message: self.platform.post(thread, message))
        except PlatformError as error:
            if row is not None and noted:
                unsure = row.uncertain or (isinstance(error, Unreachable) and error.maybe_done)
                await self._store.outbox.mark(row.id, uncertain=unsure)
                self.rows[row.id] = replace(self.rows.get(row.id, row), uncertain=unsure)
            raise
        return ref.message

    async def _rich_or_plain(
        self, thread: ThreadRef, outgoing: Outgoing, send: Callable[[Outgoing], Awaitable[T]]
    ) -> T:
        try:
            return await self._call(thread, lambda: send(outgoing))
        except Refused as refusal:
            log.warning("sent as plain text", scope=self.scope, why=str(refusal))
            return await self._call(thread, lambda: send(replace(outgoing, plain=True)))

    async def _call(self, thread: ThreadRef, call: Callable[[], Awaitable[T]], *, counted: bool = True) -> T:
        if counted:
            self._meters.spend(thread, self._clock.monotonic())
        with anyio.move_on_after(_CALL_SECONDS):
            return await call()
        raise Unreachable(f"no answer within {_CALL_SECONDS:g} s", maybe_done=True)

    # ── when it does not work ────────────────────────────────────────────────────────────────────

    def _freeze(self, job: Job, seconds: float) -> None:
        """The chat is left alone until then; after it one call goes out, not a burst."""
        until = self._clock.monotonic() + seconds
        self._not_before = max(self._not_before, until)
        self._meters.freeze(self.small[job][0] if isinstance(job, str) else job.thread, until)

    def _back_off(self, error: Exception) -> None:
        pause = _BACKOFF[min(self._failures, len(_BACKOFF) - 1)]
        if self._failures == 0:
            log.warning("the chat is not reached", scope=self.scope, why=str(error))
        self._failures += 1
        self._not_before = self._clock.monotonic() + pause

    async def _park(self, job: Job, why: str) -> None:
        """The thread is gone: nothing more is sent there until a person writes there again."""
        if isinstance(job, str):
            self.small.pop(job, None)
            return
        log.warning("thread parked", thread=job.thread.key, why=why)
        self._parked.add(job.thread)
        await self._store.threads.update(job.thread, parked=why)
        for screen in self.screens.values():
            if screen.thread == job.thread:
                screen.waiting_since, screen.urgent = None, False
        self.rows = {id: row for id, row in self.rows.items() if row.thread != job.thread}
        self.screens = {key: screen for key, screen in self.screens.items() if key[0] != job.thread}

    async def _give_up(self, row: OutboxRow, error: Exception) -> None:
        log.error("a message could not be shown", thread=row.thread.key, key=row.key, why=str(error))
        await self._store.audit.add("not_shown", "", {"thread": row.thread.key, "key": row.key, "why": str(error)})
        await self._store.outbox.done(row.id, if_hash=row.hash)
        if self.rows[row.id].hash == row.hash:
            del self.rows[row.id]
