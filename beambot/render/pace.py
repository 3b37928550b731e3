"""When a chat may be called next. Pure: times come in, times go out.

A scope's bucket holds a small burst and refills so that burst plus refill never exceeds what the platform
allows in any window. One token is kept for what a person waits for: an answer, an ask, the end of a turn.
"""

from __future__ import annotations

from enum import IntEnum

from msgspec import Struct

from beambot.model.capabilities import Budget


class Priority(IntEnum):
    """Who goes first. Smaller is sooner."""

    ANSWER = 0
    ASK = 1
    FINAL = 2
    NOTICE = 3
    STREAM = 4
    RECEIPT = 5


RESERVED = Priority.FINAL


class Bucket(Struct, frozen=True):
    """Tokens at a moment."""

    burst: float
    rate: float
    tokens: float
    at: float
    frozen_until: float = 0.0

    @property
    def reserve(self) -> float:
        """What is kept back from the stream."""
        return 1.0 if self.burst >= 2 else 0.0


def bucket(budget: Budget, now: float) -> Bucket:
    """A full bucket for a budget, sized so that no window of it can be overrun."""
    burst = 3.0 if budget.calls >= 10 else 1.0
    spare = budget.calls - burst
    rate = spare / budget.seconds if spare > 0 else budget.calls / budget.seconds * 0.98
    return Bucket(burst, rate, burst, now)


def ready_at(state: Bucket, priority: Priority, now: float) -> float:
    """The moment from which a call of this priority may go out."""
    needed = 1.0 if priority <= RESERVED else 1.0 + state.reserve
    tokens = _refilled(state, now)
    wait = max(0.0, (needed - tokens) / state.rate)
    return max(now + wait, state.frozen_until)


def spend(state: Bucket, now: float) -> Bucket:
    """After a call."""
    return Bucket(state.burst, state.rate, _refilled(state, now) - 1.0, now, state.frozen_until)


def freeze(state: Bucket, until: float) -> Bucket:
    """After a refusal: nothing goes out before `until`, and then one call, not a burst."""
    until = max(until, state.frozen_until)
    return Bucket(state.burst, state.rate, 1.0, until, until)


def _refilled(state: Bucket, now: float) -> float:
    return min(state.burst, state.tokens + max(0.0, now - state.at) * state.rate)
