"""How much the bot may say, as data, and the book that holds it to that."""

from __future__ import annotations

import math
from collections import deque

from msgspec import Struct

from beambot.api import Clock
from platforms.telegram.twin.errors import too_many
from platforms.telegram.twin.world.values import Chat


class Rate(Struct, frozen=True):
    """So many calls in any so many seconds."""

    calls: int
    seconds: float


class Limits(Struct, frozen=True):
    """The limits of one server.

    Telegram publishes one message a second in a chat with short bursts, 20 a minute in a group, 30 a second for a
    bot. Sends, edits and new topics count alike, all topics of a chat together. The rate of drafts is a guess.
    """

    private: Rate = Rate(3, 3.0)
    group: Rate = Rate(20, 60.0)
    whole_bot: Rate = Rate(30, 1.0)
    drafts: Rate = Rate(60, 30.0)
    # Who goes over a limit waits until there is room, and so much longer.
    penalty: float = 0.0
    # Each call during that time lengthens it.
    extension: float = 5.0


FREE = Rate(10**9, 1.0)
UNLIMITED = Limits(FREE, FREE, FREE, FREE)


class Refusal(Struct, frozen=True):
    """One 429: when, to which chat, how long."""

    at: float
    chat: int
    seconds: int


class _Window:
    """The calls of one bucket within its time, and until when it is frozen."""

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self.calls: deque[float] = deque()
        self.frozen_until = -math.inf

    def free_at(self, now: float, count: int) -> float:
        """When so many calls more would fit; a count larger than the window waits until it is empty."""
        while self.calls and self.calls[0] <= now - self.rate.seconds:
            self.calls.popleft()
        over = min(len(self.calls) + count - self.rate.calls, len(self.calls))
        return now if over <= 0 else self.calls[over - 1] + self.rate.seconds


class Meter:
    """Counts calls and refuses those that are too many."""

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self.limits = limits
        self.refused: list[Refusal] = []
        self._clock = clock
        self._windows: dict[tuple[str, int], _Window] = {}

    def spend(self, chat: Chat, *, count: int = 1, draft: bool = False) -> None:
        """Take so many calls from the chat's budget and the bot's, or refuse with 429."""
        now = self._clock.monotonic()
        windows = [self._chat_window(chat, draft=draft), self._window("bot", 0, self.limits.whole_bot)]
        for window in windows:
            if window.frozen_until > now:
                window.frozen_until += self.limits.extension
                self._refuse(chat, window.frozen_until - now)
            free = window.free_at(now, count)
            if free > now:
                window.frozen_until = free + self.limits.penalty
                self._refuse(chat, window.frozen_until - now)
        for window in windows:
            window.calls.extend([now] * count)

    def freeze(self, chat: Chat, seconds: float) -> None:
        """Refuse everything in a chat for a while, as after too many calls."""
        for draft in (False, True):
            self._chat_window(chat, draft=draft).frozen_until = self._clock.monotonic() + seconds

    def _refuse(self, chat: Chat, seconds: float) -> None:
        # A hair under a whole second is that second: floating point must not cost the caller one more.
        wait = max(1, math.ceil(seconds - 1e-6))
        self.refused.append(Refusal(self._clock.now(), chat.id, wait))
        raise too_many(wait)

    def _chat_window(self, chat: Chat, *, draft: bool) -> _Window:
        if draft:
            return self._window("draft", chat.id, self.limits.drafts)
        rate = self.limits.private if chat.type == "private" else self.limits.group
        return self._window("chat", chat.id, rate)

    def _window(self, kind: str, number: int, rate: Rate) -> _Window:
        window = self._windows.get((kind, number))
        if window is None or window.rate != rate:
            window = self._windows[kind, number] = _Window(rate)
        return window
