"""The browsers that are connected: what each is sent, and what to do when one cannot keep up."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable

import anyio
from msgspec import Struct

QUEUE_FRAMES = 256
QUEUE_BYTES = 1024 * 1024
CHECK_SECONDS = 30.0


class Queued(Struct, frozen=True):
    """A frame that waits. `seq` is 0 when it is not a change of the thread that is shown."""

    seq: int
    text: str


class Browser:
    """One page. Its queue is bounded: a slow one is told the newest state instead, and slows no one."""

    def __init__(self, user: str, cookie: str) -> None:
        self.user = user
        self.cookie = cookie
        self.thread = ""
        self._since: int | None = None
        self._seq = 0
        self._queue: deque[Queued] = deque()
        self._bytes = 0
        self._lost = False
        self._wake = anyio.Event()

    def show(self, thread: str, since: int) -> None:
        """From now on this thread, beginning with what happened after `since`."""
        self.thread = thread
        self._since = since
        self._forget_changes()
        self._wake.set()

    def offer(self, seq: int, text: str) -> None:
        """Send this when it can be taken."""
        self._wake.set()
        if self._is_full(text):
            self._forget_changes()
            self._since = self._seq if self._since is None else self._since
            if seq:
                return
        # Answers cannot be caught up with: a page that takes none of them has to connect again.
        self._lost = self._lost or self._is_full(text)
        if not self._lost:
            self._queue.append(Queued(seq, text))
            self._bytes += len(text)

    def _is_full(self, text: str) -> bool:
        return bool(self._queue) and (len(self._queue) >= QUEUE_FRAMES or self._bytes + len(text) > QUEUE_BYTES)

    def _forget_changes(self) -> None:
        self._queue = deque(queued for queued in self._queue if not queued.seq)
        self._bytes = sum(len(queued.text) for queued in self._queue)

    async def write(
        self,
        send: Callable[[str], Awaitable[None]],
        catch_up: Callable[[str, int], Awaitable[tuple[int, str]]],
        allowed: Callable[[], Awaitable[bool]],
    ) -> None:
        """Send what is offered until the browser is gone, or may not look any more.

        `catch_up` gives the newest state of a thread with its number: what is queued up to there is in it.
        """
        while not self._lost:
            if self._since is not None:
                thread, since, self._since = self.thread, self._since, None
                seq, text = await catch_up(thread, since)
                if thread == self.thread and self._since is None:
                    self._seq = seq
                    await send(text)
            elif self._queue:
                queued = self._queue.popleft()
                self._bytes -= len(queued.text)
                if not queued.seq or queued.seq > self._seq:
                    self._seq = queued.seq or self._seq
                    await send(queued.text)
            else:
                self._wake = anyio.Event()
                with anyio.move_on_after(CHECK_SECONDS):
                    await self._wake.wait()
                if not self._wake.is_set() and not await allowed():
                    return


class Hub:
    """All connected browsers. Nothing here waits."""

    def __init__(self, limit: int = 64, limit_each: int = 16) -> None:
        self._limit = limit
        self._limit_each = limit_each
        self._browsers: set[Browser] = set()

    def has_room(self, cookie: str) -> bool:
        """Whether one more page may connect with this cookie."""
        same = sum(browser.cookie == cookie for browser in self._browsers)
        return len(self._browsers) < self._limit and same < self._limit_each

    def add(self, browser: Browser) -> None:
        """It is there."""
        self._browsers.add(browser)

    def remove(self, browser: Browser) -> None:
        """It is gone."""
        self._browsers.discard(browser)

    def to_thread(self, thread: str, seq: int, text: str) -> None:
        """To all pages that show this thread."""
        for browser in self._browsers:
            if browser.thread == thread:
                browser.offer(seq, text)

    def to_all(self, text: str) -> None:
        """To every page."""
        for browser in self._browsers:
            browser.offer(0, text)

    def to_user(self, user: str, text: str) -> None:
        """To every page of one person."""
        for browser in self._browsers:
            if browser.user == user:
                browser.offer(0, text)
