"""Delivery: one lane a chat, so that a busy or broken chat slows nobody else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import anyio
from anyio.abc import TaskGroup

from beambot.flow.delivery.lane import Lane
from beambot.flow.delivery.meters import Meters
from beambot.flow.delivery.queue import Small
from beambot.flow.delivery.screens import Screen
from beambot.log import get_logger
from beambot.model.ids import MessageRef, ThreadRef
from beambot.model.outbound import Notice, Outgoing, Receipt, ThreadState
from beambot.model.ports import ChatPlatform, Clock, Topical
from beambot.render.pace import Priority
from beambot.state.turn import Work
from beambot.store import Store
from beambot.store.records import OutboxRow, content_hash

log = get_logger("delivery")


class Delivery:
    """What the rest of the flow calls; nothing here ever waits for a chat."""

    def __init__(
        self,
        store: Store,
        platforms: Mapping[str, ChatPlatform],
        clock: Clock,
        journalled: Callable[[], Awaitable[None]],
        chance: Callable[[], float],
    ) -> None:
        self._store = store
        self._platforms = platforms
        self._clock = clock
        self._journalled = journalled
        self._chance = chance
        self._lanes: dict[tuple[str, str], Lane] = {}
        self._tasks: TaskGroup | None = None
        self._frozen: dict[str, float] = {}
        self._parked: set[ThreadRef] = set()
        self._meters: dict[str, Meters] = {}

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """Every chat that something was sent to."""
        return tuple(self._lanes.values())

    async def start(self, tasks: TaskGroup) -> None:
        """Take up what an earlier run left in the outbox."""
        self._tasks = tasks
        self._frozen = await self._store.freezes.all(self._clock.now())
        self._parked.update(thread.ref for thread in await self._store.threads.all() if thread.parked)
        for row in await self._store.outbox.pending():
            self._take(row)

    async def put(
        self, threads: Sequence[ThreadRef], outgoing: Outgoing, priority: Priority = Priority.NOTICE
    ) -> None:
        """Write a message down, then send it, in each of these threads. It leaves the outbox when it stands."""
        rows: list[OutboxRow] = []
        async with self._store.transaction():
            for thread in threads:
                rows.append(await self._row(thread, outgoing, priority))
        for row in rows:
            self._take(row)

    async def finish(
        self,
        screens: Sequence[Screen],
        also: Callable[[], Awaitable[object]],
        words: Callable[[], Awaitable[Sequence[tuple[ThreadRef, Outgoing]]]],
    ) -> None:
        """A turn has ended: what its screens still owe becomes durable, and nothing overtakes it.

        `words` are what is said about the end, once the pages are known, and `also` what is noted of it: all of it
        is kept in one step, so that a turn is over when its end is kept, and not before.
        """
        owed = [(screen.thread, page, untidy) for screen in screens for page, untidy in self._owed(screen)]
        said = await words()
        rows: list[OutboxRow] = []
        async with self._store.transaction():
            for thread, page, untidy in owed:
                rows.append(await self._row(thread, page, Priority.TIDY if untidy else Priority.FINAL))
            for thread, outgoing in said:
                rows.append(await self._row(thread, outgoing, Priority.NOTICE))
            await also()
        for screen in screens:
            lane = self._lane(screen.thread)
            if lane is not None:
                lane.screens.pop((screen.thread, screen.turn.id), None)
        for row in rows:
            self._take(row)

    def _owed(self, screen: Screen) -> list[tuple[Outgoing, bool]]:
        """What a screen still has to show; a stream that is open is closed, though nothing new is in it."""
        try:
            owed = screen.pending(self._clock.now())
            lane, newest = self._lane(screen.thread), screen.newest()
            streamed = newest is not None and lane is not None and lane.has_stream(screen.thread, newest.key)
            if newest is not None and streamed and newest.key not in {page.key for page, _ in owed}:
                owed.append((newest, False))
            return owed
        except Exception as error:
            log.error("the end of a turn cannot be drawn", thread=screen.thread.key, exc_info=error)
            words = Notice("The end of this turn could not be drawn. /last shows the answer.", level="error")
            return [(Outgoing(f"undrawn:{screen.turn.id}", (words,)), False)]

    def touch(self, screen: Screen, *, urgent: bool = False) -> None:
        """A running turn has something new to show. Costs nothing beyond a note."""
        lane = self._lane(screen.thread)
        if lane is None or screen.thread in self._parked:
            return
        screen.tidying = False
        now = self._clock.monotonic()
        tool = False
        if screen.turn.live is not screen.heard:
            screen.heard, screen.heard_at = screen.turn.live, now
            tool = isinstance(screen.heard, Work)
        if screen.waiting_since is None:
            screen.waiting_since = now
            lane.screens[(screen.thread, screen.turn.id)] = screen
            lane.wake()
        elif tool:
            lane.wake()
        if urgent and not screen.urgent:
            screen.urgent = True
            lane.wake()

    def receipt(self, ref: MessageRef, receipt: Receipt) -> None:
        """What became of somebody's message."""
        platform = self._platforms.get(ref.thread.platform)
        if platform is not None and platform.capabilities.reactions:
            self._small(ref.thread, f"receipt {ref.message}", lambda: platform.react(ref, receipt))

    def mark(self, thread: ThreadRef, state: ThreadState) -> None:
        """How the session of a thread stands."""
        platform = self._platforms.get(thread.platform)
        if platform is not None:
            self._small(thread, f"state {thread.key}", lambda: platform.mark_thread(thread, state))

    def rename(self, thread: ThreadRef, title: str) -> None:
        """A thread's title."""
        platform = self._platforms.get(thread.platform)
        if platform is not None and platform.capabilities.threads:
            self._small(thread, f"title {thread.key}", lambda: platform.rename_thread(thread, title))

    def typing(self, thread: ThreadRef) -> None:
        """Somebody works there, though nothing new stands yet."""
        platform = self._platforms.get(thread.platform)
        if platform is not None and platform.capabilities.typing and thread not in self._parked:
            self._small(thread, f"typing {thread.key}", lambda: platform.typing(thread))

    def end_thread(self, thread: ThreadRef) -> None:
        """Nothing more is expected there, where each session has a place of its own."""
        platform: object = self._platforms.get(thread.platform)
        if isinstance(platform, Topical) and platform.has_topics(thread):
            chat = self._platforms[thread.platform]
            self._small(thread, f"end {thread.key}", lambda: chat.close_thread(thread))

    async def unpark(self, thread: ThreadRef) -> None:
        """A person wrote in a thread that had been given up: what waited for it goes out."""
        self._parked.discard(thread)
        await self._store.threads.update(thread, parked="")
        for row in await self._store.outbox.pending(thread):
            self._take(row)

    async def _say_parked(self, thread: ThreadRef, why: str) -> None:
        """What cannot be said in a thread any more is said in the others that show the same session."""
        row = await self._store.threads.get(thread)
        if row is None or not row.session:
            return
        shown_in = await self._store.threads.of_session(row.session)
        others = [other.ref for other in shown_in if other.ref != thread and not other.parked]
        name = f"{thread.platform} {row.title!r}" if row.title else thread.platform
        words = f"This session was also shown on {name}. That thread cannot be written to any more: {why}"
        notice = Notice(words, level="warning")
        await self.put(others, Outgoing(f"parked:{thread.key}:{self._clock.now():.0f}", (notice,)))

    async def drain(self, seconds: float) -> bool:
        """Wait until everything stands, for a while. False: something is left, and stays in the outbox."""
        with anyio.move_on_after(seconds):
            while not all(lane.quiet for lane in self._lanes.values()):  # noqa: ASYNC110
                await anyio.sleep(0.01)
            return True
        return False

    async def _row(self, thread: ThreadRef, outgoing: Outgoing, priority: Priority) -> OutboxRow:
        now = self._clock.now()
        number, uncertain = await self._store.outbox.put(thread, outgoing, int(priority))
        return OutboxRow(
            id=number,
            thread=thread,
            key=outgoing.key,
            outgoing=outgoing,
            hash=content_hash(outgoing),
            priority=int(priority),
            attempts=0,
            uncertain=uncertain,
            created_at=now,
        )

    def _take(self, row: OutboxRow) -> None:
        lane = self._lane(row.thread)
        if lane is not None and row.thread not in self._parked:
            lane.rows[row.id] = row
            lane.wake()

    def _small(self, thread: ThreadRef, key: str, call: Small) -> None:
        lane = self._lane(thread)
        if lane is not None:
            lane.small[key] = (thread, call)
            lane.wake()

    def _lane(self, thread: ThreadRef) -> Lane | None:
        platform = self._platforms.get(thread.platform)
        if platform is None or self._tasks is None:
            return None
        key = (thread.platform, thread.chat)
        lane = self._lanes.get(key)
        if lane is None:
            meters = self._meters.get(platform.name)
            if meters is None:
                gone = self._clock.now() - self._clock.monotonic()
                frozen = {scope: until - gone for scope, until in self._frozen.items()}
                meters = self._meters[platform.name] = Meters(platform, frozen)
            lane = self._lanes[key] = Lane(
                platform,
                thread.chat,
                self._store,
                self._clock,
                self._parked,
                meters,
                self._journalled,
                self._say_parked,
                self._chance,
            )
            self._tasks.start_soon(lane.run)
        return lane
