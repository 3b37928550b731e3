"""One chat's lane: everything that goes to it, one call at a time, the most awaited first, within its pace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf
from typing import TypeVar

import anyio
from msgspec.structs import replace

from beambot.errors import PlatformError, RetryAfter, StoreError, ThreadGone, Unreachable
from beambot.flow.delivery.meters import Meters, Target
from beambot.flow.delivery.screens import Screen, pause_at
from beambot.flow.delivery.sender import Sender
from beambot.flow.waiting import wait_for
from beambot.log import get_logger
from beambot.model.capabilities import CallKind
from beambot.model.ids import MessageRef, ThreadRef
from beambot.model.outbound import Footer
from beambot.model.ports import ChatPlatform, Clock
from beambot.render import pace
from beambot.render.pace import RESERVED, Priority, Wish
from beambot.store import Store
from beambot.store.records import OutboxRow

log = get_logger("delivery")

_CALL_SECONDS = 30.0
_BACKOFF = (0.5, 1.0, 2.0, 4.0, 5.0)
# A call whose budget was not foreseen waits so long where it is; for longer, others go first.
_SHORT = 1.5
Small = Callable[[], Awaitable[None]]
Job = OutboxRow | Screen | str
T = TypeVar("T")


class _Later(PlatformError):
    """Not sent: the budget of this call, which was not foreseen, has no room yet."""

    def __init__(self, target: Target) -> None:
        super().__init__("its budget has no room yet")
        self.target = target


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
        on_parked: Callable[[ThreadRef, str], Awaitable[None]],
        chance: Callable[[], float],
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
        self._on_parked = on_parked
        self._sender = Sender(platform, store, clock, self._call, self._unsure)
        self._chance = chance
        # The call that is made, and how many the job took so far.
        self._target: Target | None = None
        self._calls = 0
        # What the next call will probably be, of a row by its number, of a running turn by its thread.
        self._expected: dict[int | ThreadRef, Target] = {}
        self._served: dict[ThreadRef, float] = {}
        self._ended: dict[ThreadRef, str] = {}

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
        """The next job and the moment it may go out: who is ready by urgency and age, else who is ready first."""
        now = self._clock.monotonic()
        offers = self._offers(now)
        best = pace.first([wish for wish, _, _ in offers], now)
        if best is None:
            self._meters.leave_line(self, now)
            return None, inf
        _, target, job = next(offer for offer in offers if offer[0] is best)
        return job, self._meters.in_line(self, target, best, now, self.wake)

    def _offers(self, now: float) -> list[tuple[Wish, Target, Job]]:
        """Everything that waits here, each with the moment it may go out."""
        offers: list[tuple[Wish, Target, Job]] = []
        ready: dict[tuple[Target, Priority, bool], float] = {}

        def ready_at(target: Target, priority: Priority, spare: bool = False) -> float:
            key = (target, priority, spare)
            if key not in ready:
                ready[key] = max(self._not_before, self._meters.ready_at(target, priority, now, spare=spare))
            return ready[key]

        threads = {row.thread for row in self.rows.values()} | {screen.thread for screen in self.screens.values()}
        for row in self.rows.values():
            priority, since = self._urgency(row, now, alone=len(threads) == 1)
            target = self._expected.get(row.id) or Target(row.thread, _guess(row))
            offers.append((Wish(ready_at(target, priority), priority, since, row.id), target, row))
        gap = self.platform.capabilities.min_interval
        targets = [self._expected.get(thread) or Target(thread, "post") for thread, _ in self.screens]
        windows = [self._meters.window(target) for target in targets]
        for screen, target, window in zip(self.screens.values(), targets, windows, strict=True):
            if screen.urgent:
                offers.append((Wish(ready_at(target, Priority.ANSWER), Priority.ANSWER, 0.0), target, screen))
                continue
            priority = Priority.TIDY if screen.tidying else Priority.STREAM
            since = max(screen.waiting_since or 0.0, screen.last_call)
            wish = Wish(max(ready_at(target, priority), screen.last_call + gap), priority, since)
            pause = pause_at(screen.turn, screen.heard_at) if window is not None else inf
            if window is not None and wish.at > pause and windows.count(window) == 1:
                # Nothing new comes for a while: what is unseen goes out now, where there is room and nobody waits.
                early = max(pause, ready_at(target, priority, True))
                if early < wish.at and not self._meters.is_wanted_elsewhere(window, self):
                    wish = Wish(early, priority, since, spare=True)
            offers.append((wish, target, screen))
        for number, (key, (thread, _)) in enumerate(self.small.items()):
            target = self._small_target(key, thread)
            offers.append((Wish(ready_at(target, Priority.RECEIPT), Priority.RECEIPT, now, number), target, key))
        return offers

    def _urgency(self, row: OutboxRow, now: float, *, alone: bool) -> tuple[Priority, float]:
        """How urgent a row is, and since when it waits. One call of an end is urgent; the rest takes its turn."""
        priority = Priority(row.priority)
        since = now - max(0.0, self._clock.now() - row.created_at)
        if priority is Priority.FINAL and not alone and self._ended.get(row.thread) == _family(row):
            priority = Priority.STREAM
        return priority, since if priority <= RESERVED else max(since, self._served.get(row.thread, since))

    def _small_target(self, key: str, thread: ThreadRef) -> Target:
        counted = self.platform.capabilities.reactions_counted
        return Target(thread, "other", apart="" if counted else key.partition(" ")[0])

    # ── doing ────────────────────────────────────────────────────────────────────────────────────

    async def _do(self, job: Job) -> None:
        self._calls = 0
        try:
            if isinstance(job, OutboxRow):
                await self._send_row(job)
            elif isinstance(job, Screen):
                await self._send_screen(job)
            else:
                await self._send_small(job)
            self._failures = 0
            if isinstance(job, OutboxRow):
                self._expected.pop(job.id, None)
                if job.priority == Priority.FINAL:
                    self._ended[job.thread] = _family(job)
        except _Later as later:
            if not isinstance(job, str):
                self._expected[job.id if isinstance(job, OutboxRow) else job.thread] = later.target
        except RetryAfter as refusal:
            until = self._clock.now() + refusal.seconds
            for scope in self._freeze(refusal):
                log.warning("rate limited", scope=scope, seconds=refusal.seconds)
                await self._store.freezes.put(scope, until)
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
        await self._call(thread, call, apart=self._small_target(key, thread).apart)
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
        live = screen.is_live(page)
        # What a person has seen must be there after a restart too: the journal is never behind the screen.
        await self._journalled()
        if live and self._sender.is_leaving(screen.thread, page.key):
            screen.turn_page()
        message = await self._sender.stand(
            screen.thread, page, known=screen.message(page), begin=screen.begin(page), live=live
        )
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
        await self._sender.stand(row.thread, outgoing, row=row)
        await self._store.outbox.done(row.id, if_hash=row.hash)
        newest = self.rows.get(row.id)
        if newest is not None and newest.hash == row.hash:
            del self.rows[row.id]

    async def _call(
        self,
        thread: ThreadRef,
        call: Callable[[], Awaitable[T]],
        kind: CallKind = "other",
        message: str = "",
        *,
        apart: str = "",
    ) -> T:
        target = self._target = Target(thread, kind, message, apart)
        await self._until_allowed(target)
        now = self._served[thread] = self._clock.monotonic()
        self._calls += 1
        self._meters.spend(target, now, self)
        with anyio.move_on_after(_CALL_SECONDS):
            result = await call()
            if isinstance(result, MessageRef) and kind != "edit":
                self._meters.count_post(target, result.message, now)
                target = Target(thread, "edit", result.message)
            if kind != "other":
                self._expected[thread] = target
            return result
        raise Unreachable(f"no answer within {_CALL_SECONDS:g} s", maybe_done=True)

    async def _until_allowed(self, target: Target) -> None:
        """What it would be was foreseen when it was chosen. Where that was wrong its own budget is waited for."""
        while (wait := self._meters.ready_at(target, Priority.ANSWER, now := self._clock.monotonic()) - now) > 0:
            if wait > _SHORT and not self._calls:
                raise _Later(target)
            await self._clock.sleep(wait)

    # ── when it does not work ────────────────────────────────────────────────────────────────────

    def _freeze(self, refusal: RetryAfter) -> list[str]:
        """What was hit is left alone until then, and nothing else; after it one call goes out, not a burst."""
        assert self._target is not None
        return self._meters.freeze(self._target, refusal.seconds, self._clock.monotonic(), refusal.scope)

    def _back_off(self, error: Exception) -> None:
        """Longer each time, to an end; by chance a little apart, so that not every lane knocks at once."""
        pause = _BACKOFF[min(self._failures, len(_BACKOFF) - 1)] * (0.5 + 0.5 * self._chance())
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
        await self._on_parked(job.thread, why)
        for screen in self.screens.values():
            if screen.thread == job.thread:
                screen.waiting_since, screen.urgent = None, False
        self.rows = {id: row for id, row in self.rows.items() if row.thread != job.thread}
        self.screens = {key: screen for key, screen in self.screens.items() if key[0] != job.thread}
        self._sender.forget(job.thread)

    def _unsure(self, row: OutboxRow, uncertain: bool) -> None:
        self.rows[row.id] = replace(self.rows.get(row.id, row), uncertain=uncertain)

    async def _give_up(self, row: OutboxRow, error: Exception) -> None:
        log.error("a message could not be shown", thread=row.thread.key, key=row.key, why=str(error))
        await self._store.audit.add("not_shown", "", {"thread": row.thread.key, "key": row.key, "why": str(error)})
        await self._store.outbox.done(row.id, if_hash=row.hash)
        if self.rows[row.id].hash == row.hash:
            del self.rows[row.id]


def _guess(row: OutboxRow) -> CallKind:
    """Whether a row will be a new message, as far as its urgency tells."""
    return "post" if row.priority in (Priority.ASK, Priority.NOTICE) else "edit"


def _family(row: OutboxRow) -> str:
    """The pages of one turn share all of their name but its number."""
    return row.key.rpartition(":")[0]
