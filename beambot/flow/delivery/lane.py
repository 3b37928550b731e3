"""One chat's lane: everything that goes to it, one call at a time, the most awaited first, within its pace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf
from typing import TypeVar

import anyio
from msgspec.structs import replace

from beambot.errors import MessageGone, PlatformError, Refused, RetryAfter, StoreError, ThreadGone, Unreachable
from beambot.flow.delivery.meters import Meters, Target
from beambot.flow.delivery.queue import Job, Queue, expected, family
from beambot.flow.delivery.screens import Screen
from beambot.flow.delivery.sender import UNSURE, Sender
from beambot.flow.waiting import wait_for
from beambot.log import get_logger
from beambot.model.capabilities import CallKind
from beambot.model.ids import MessageRef, ThreadRef
from beambot.model.outbound import Footer, Notice, Outgoing
from beambot.model.ports import ChatPlatform, Clock
from beambot.render import pace
from beambot.render.pace import Priority
from beambot.store import Store
from beambot.store.records import OutboxRow, content_hash

log = get_logger("delivery")

_CALL_SECONDS = 30.0
_BACKOFF = (0.5, 1.0, 2.0, 4.0, 5.0)
# A call whose budget was not foreseen waits so long where it is; for longer, others go first.
_SHORT = 1.5
# What fails by itself pauses twice as long each time, up to this: an edit, and a message that might stand twice.
_EDIT_PAUSE, _POST_PAUSE = 5.0, 60.0
# A message is given up when the chat refused its plain form so often, or when it failed so often for so long.
_REFUSALS, _FAILURES, _PATIENCE = 3, 10, 600.0
_LOST = "lost:"
T = TypeVar("T")


class _Later(PlatformError):
    """Not sent: the budget of this call, which was not foreseen, has no room before then."""

    def __init__(self, target: Target, at: float) -> None:
        super().__init__("its budget has no room yet")
        self.target = target
        self.at = at


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
        queue = self._queue = Queue(platform, meters)
        self.rows, self.screens, self.small = queue.rows, queue.screens, queue.small
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
        # The call that is made, what the next one to the same message will be, and whether the chat refused it.
        self._target: Target | None = None
        self._next: Target | None = None
        self._refused = False

    @property
    def quiet(self) -> bool:
        """Nothing is left to be done."""
        return not self.rows and not self.screens and not self.small

    def has_stream(self, thread: ThreadRef, key: str) -> bool:
        """Whether this message is a stream of the chat's own that is still open."""
        return self._sender.has_stream(thread, key)

    def wake(self) -> None:
        """There is something new."""
        self._wake.set()

    async def run(self) -> None:
        """For as long as beambot runs: neither a chat, nor a plugin, nor the database ends a lane."""
        while True:
            try:
                await self._step()
            except Exception as error:
                log.error("a lane stumbled", scope=self.scope, exc_info=error)
                self._back_off(error)
                await self._clock.sleep(self._not_before - self._clock.monotonic())

    async def _step(self) -> None:
        self._wake = anyio.Event()
        await self._foresee()
        job, at = self._choose()
        wait = at - self._clock.monotonic()
        if job is None or wait > 0:
            await wait_for(self._wake, self._clock, None if job is None else wait)
        else:
            await self._do(job)

    # ── choosing ─────────────────────────────────────────────────────────────────────────────────

    async def _foresee(self) -> None:
        """What stands already will be edited, the rest are new messages: they have budgets of their own."""
        now = self._clock.monotonic()
        for row in [row for thread in self.rows.threads for row in self.rows.next_in(thread, now)]:
            note = self.rows.note(row.id)
            if note.target is None and self._sender.has_stream(row.thread, row.key):
                note.target = Target(row.thread, "append")
            elif note.target is None:
                shown = await self._store.shown.get(row.thread, row.key)
                note.target = expected(row.thread, shown.message if shown is not None else "")

    def _choose(self) -> tuple[Job | None, float]:
        """The next job and the moment it may go out: who is ready by urgency and age, else who is ready first."""
        now = self._clock.monotonic()
        offers = self._queue.offers(now, self._clock.now() - now, self._not_before)
        best = pace.first([offer.wish for offer in offers], now)
        if best is None:
            self._meters.leave_line(self._queue, now)
            return None, inf
        chosen = next(offer for offer in offers if offer.wish is best)
        return chosen.job, self._meters.in_line(self._queue, chosen.target, best, now, self.wake)

    # ── doing ────────────────────────────────────────────────────────────────────────────────────

    async def _do(self, job: Job) -> None:
        self._next, self._refused = None, False
        try:
            if isinstance(job, OutboxRow):
                await self._send_row(job)
            elif isinstance(job, Screen):
                await self._send_screen(job)
            else:
                await self._send_small(job)
            self._failures = 0
        except _Later as later:
            note = self._queue.note(job)
            note.target, note.not_before = later.target, later.at
            note.plain |= self._refused
            await anyio.lowlevel.checkpoint()
        except RetryAfter as refusal:
            self._queue.note(job).plain |= self._refused
            until = self._clock.now() + refusal.seconds
            for scope in self._freeze(refusal):
                log.warning("rate limited", scope=scope, seconds=refusal.seconds)
                await self._store.freezes.put(scope, until)
        except ThreadGone as gone:
            await self._park(job, str(gone))
        except (Unreachable, StoreError) as error:
            self._queue.note(job).plain |= self._refused
            self._back_off(error)
        except Exception as error:
            log.error("a message could not be sent", scope=self.scope, exc_info=error)
            self._back_off(error)
            await self._stumble(job, error)
        self._queue.forget_quiet()

    async def _send_small(self, key: str) -> None:
        thread, call = self.small[key]
        await self._call(thread, call, apart=self._queue.small_target(key).apart)
        self._queue.spared_at = self._clock.monotonic()
        if key in self.small and self.small[key][1] is call:
            self._queue.drop_small(key)

    async def _send_screen(self, screen: Screen) -> None:
        now, note = self._clock.now(), self._queue.note(screen)
        page = screen.next_page(now)
        if page is None or (screen.urgent and screen.tidying):
            self._rest(screen, page)
            return
        screen.last_call = self._clock.monotonic()
        live = screen.is_live(page)
        # What a person has seen must be there after a restart too: the journal is never behind the screen.
        await self._journalled()
        if live and self._sender.is_leaving(screen.thread, page.key):
            screen.turn_page()
        known, gone = screen.message(page), self._queue.place(screen.thread).gone
        outgoing = replace(page, plain=True) if note.plain else page
        message = await self._sender.stand(screen.thread, outgoing, known="" if known in gone else known, live=live)
        gone.discard(known)
        screen.confirm(page, message)
        note.stood()
        upcoming = screen.next_page(now)
        streamed = self._target is not None and self._target.kind == "append"
        if upcoming is not None and upcoming.key != page.key and not screen.tidying and not streamed:
            self._next = expected(screen.thread, screen.message(upcoming))
        note.target = self._next or note.target
        self._rest(screen, upcoming)

    def _rest(self, screen: Screen, upcoming: Outgoing | None) -> None:
        """What a person waits for stands; what is only untidy is not urgent."""
        screen.urgent = screen.urgent and upcoming is not None and not screen.tidying
        if upcoming is None:
            screen.waiting_since = None
            self.screens.pop((screen.thread, screen.turn.id), None)

    async def _send_row(self, row: OutboxRow) -> None:
        unsure = row.uncertain and not self.platform.capabilities.dedupes_posts
        outgoing = row.outgoing
        if unsure:
            outgoing = replace(outgoing, blocks=(*outgoing.blocks, Footer(UNSURE)))
        if self.rows.note(row.id).plain:
            outgoing = replace(outgoing, plain=True)
        await self._sender.stand(row.thread, outgoing, row=row)
        if row.priority == Priority.FINAL:
            self._queue.place(row.thread).ended = family(row)
        elif row.priority > Priority.STREAM:
            self._queue.spared_at = self._clock.monotonic()
        await self._store.outbox.done(row.id, if_hash=row.hash)
        await self._sender.clean_up(row.outgoing)
        self._left(row)

    def _left(self, row: OutboxRow) -> None:
        """It is not in the outbox any more, except with newer content."""
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
        now = self._queue.place(thread).served_at = self._clock.monotonic()
        self._meters.spend(target, now, self._queue)
        try:
            with anyio.move_on_after(_CALL_SECONDS):
                result = await call()
                if isinstance(result, MessageRef) and kind != "edit":
                    self._meters.count_post(target, result.message, now)
                    target = expected(thread, result.message)
                if kind != "other":
                    self._next = target
                return result
        except MessageGone:
            self._queue.place(thread).gone.add(message)
            raise
        except Refused:
            self._refused = True
            raise
        raise Unreachable(f"no answer within {_CALL_SECONDS:g} s", maybe_done=True)

    async def _until_allowed(self, target: Target) -> None:
        """What it would be was foreseen when it was chosen. Where that was wrong its own budget is waited for."""
        while (wait := self._meters.ready_at(target, Priority.ANSWER, now := self._clock.monotonic()) - now) > 0:
            if wait > _SHORT:
                raise _Later(target, now + wait)
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
            self._queue.drop_small(job)
            return
        log.warning("thread parked", thread=job.thread.key, why=why)
        self._parked.add(job.thread)
        await self._store.threads.update(job.thread, parked=why)
        await self._on_parked(job.thread, why)
        self._queue.leave(job.thread)
        self._sender.forget(job.thread)

    def _unsure(self, row: OutboxRow, uncertain: bool) -> None:
        newest = self.rows.get(row.id)
        if newest is not None:
            self.rows[row.id] = replace(newest, uncertain=uncertain)

    async def _stumble(self, job: Job, error: Exception) -> None:
        """An outage that a plugin does not know as one, or its own bug, is tried for minutes; a refusal is not."""
        if isinstance(job, str):
            self._queue.drop_small(job)
            return
        now, note = self._clock.monotonic(), self._queue.note(job)
        note.fail(now, refused=isinstance(error, Refused))
        most = _POST_PAUSE if isinstance(job, OutboxRow) else _EDIT_PAUSE
        note.not_before = now + min(_BACKOFF[0] * 2.0 ** min(note.failures, 20), most)
        over = note.failures >= _FAILURES and now - note.failing_since >= _PATIENCE
        if isinstance(job, OutboxRow) and (over or note.refusals >= _REFUSALS):
            await self._give_up(job, error)

    async def _give_up(self, row: OutboxRow, error: Exception) -> None:
        """It is told where it was to stand; when not even that can be said, the audit has it."""
        log.error("a message could not be shown", thread=row.thread.key, key=row.key, why=str(error))
        told: OutboxRow | None = None
        async with self._store.transaction():
            detail = {"thread": row.thread.key, "key": row.key, "why": str(error)}
            await self._store.audit.add("not_shown", "", detail)
            left = await self._store.outbox.done(row.id, if_hash=row.hash)
            if left and not row.key.startswith(_LOST) and row.priority != Priority.TIDY:
                notice = _not_shown(row)
                number, _ = await self._store.outbox.put(row.thread, notice, Priority.NOTICE)
                hash, now = content_hash(notice), self._clock.now()
                told = OutboxRow(number, row.thread, notice.key, notice, hash, Priority.NOTICE, 0, False, now)
        await self._sender.clean_up(row.outgoing)
        self._left(row)
        if told is not None:
            self.rows[told.id] = told


def _not_shown(row: OutboxRow) -> Outgoing:
    """One for all pages of a turn."""
    file, (kind, _, rest) = row.outgoing.file, row.key.partition(":")
    if file is not None:
        words = f"The file {file.name} could not be sent here: the chat did not take it."
    elif kind == "turn":
        turn = rest.rpartition(":")[0]
        words = (
            f"A part of this answer could not be shown here: the chat did not take it. /last {turn} shows it again."
        )
    else:
        words = "A message could not be shown here: the chat did not take it. /last shows the last answer again."
    key = family(row) if kind == "turn" else row.key
    return Outgoing(f"{_LOST}{key}", (Notice(words, level="warning"),), plain=True)
