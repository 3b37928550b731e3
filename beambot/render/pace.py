"""When a chat may be called next. Pure: times come in, times go out.

A window remembers its last calls, so that no stretch of time ever holds more than the platform allows. What
can wait is spread evenly over it; one call is kept for what a person waits for: an answer, an ask, the end.
"""

from __future__ import annotations

from enum import IntEnum

from msgspec import Struct

from beambot.model.capabilities import Budget

# Clocks and networks jitter: a call that arrives a hair early must not be one too many. Where a call is kept
# in reserve there is room to spare already.
_GUARD, _LITTLE = 1.01, 1.002
_MANY = 10


class Priority(IntEnum):
    """Who goes first. Smaller is sooner."""

    ANSWER = 0
    ASK = 1
    FINAL = 2
    NOTICE = 3
    STREAM = 4
    RECEIPT = 5
    TIDY = 6


RESERVED = Priority.FINAL


class Bucket(Struct, frozen=True):
    """The calls of the last window, oldest first."""

    calls: int
    seconds: float
    times: tuple[float, ...] = ()
    frozen_until: float = 0.0

    @property
    def spread(self) -> int:
        """How many calls a window holds for what can wait."""
        return self.calls - 1 if self.calls >= _MANY else self.calls


def bucket(budget: Budget, now: float) -> Bucket:
    """A budget of which nothing is spent yet."""
    return Bucket(budget.calls, budget.seconds * (_LITTLE if budget.calls >= _MANY else _GUARD))


def ready_at(state: Bucket, priority: Priority, now: float) -> float:
    """The moment from which a call of this priority may go out."""
    patient = priority > RESERVED
    allowed = state.spread if patient else state.calls
    at = max(now, state.frozen_until)
    if len(state.times) >= allowed:
        at = max(at, state.times[-allowed] + state.seconds)
    # For a while after a refusal nothing comes in bursts, not even what is urgent.
    wary = bool(state.frozen_until) and at < state.frozen_until + state.seconds
    if state.times and (patient or wary):
        at = max(at, state.times[-1] + state.seconds / state.spread)
    return at


def spend(state: Bucket, now: float) -> Bucket:
    """After a call."""
    recent = tuple(at for at in state.times if at > now - state.seconds)
    return Bucket(state.calls, state.seconds, (*recent, now)[-state.calls :], state.frozen_until)


def freeze(state: Bucket, until: float) -> Bucket:
    """After a refusal: nothing goes out before `until`, and then one call, not a burst; the chat counts right."""
    return Bucket(state.calls, state.seconds, (), max(until, state.frozen_until))
