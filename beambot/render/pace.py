"""When a chat may be called next, and who goes first. Pure: times come in, times go out.

A window remembers its last calls, so that no stretch of time ever holds more than the platform allows. What
can wait is spread evenly over it, whoever it is for; one call is kept for what a person waits for: an answer,
an ask, the end. After a refusal a window holds still to the second, and its calls stand further apart for a while.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from math import inf

from msgspec import Struct

from beambot.model.capabilities import Budget

# Clocks and networks jitter: a call that arrives a hair early must not be one too many. Where a call is kept
# in reserve there is room to spare already.
_GUARD, _LITTLE = 1.01, 1.002
# Of fewer calls than these, one in reserve would cost more than it gives: an urgent call waits a moment at most.
_MANY = 10
# By which part later calls may stand further apart for the sake of one that goes out before its time.
_SPARE = 0.1
# After a refusal calls stand twice as far apart, up to this; each such stretch of peace takes half of it back.
_WIDEST, _PEACE = 10.0, 60.0
# What is passed over for so long is as awaited as a stream: nothing waits for ever.
_FORGOTTEN = 30.0


class Priority(IntEnum):
    """Who goes first. Smaller is sooner. The numbers stand in the outbox: they keep their meaning."""

    ANSWER = 0
    ASK = 1
    FINAL = 2
    NOTICE = 3
    STREAM = 4
    RECEIPT = 5
    TIDY = 6
    DIGEST = 7


RESERVED = Priority.FINAL


# ── one window ───────────────────────────────────────────────────────────────────────────────────────


class Bucket(Struct, frozen=True):
    """The calls of the last window, oldest first. One of no calls is not limited, but can be asked to be still."""

    calls: int
    seconds: float
    times: tuple[float, ...] = ()
    frozen_until: float = -inf
    gap: float = 0.0
    spare_at: float = -inf
    slow: float = 1.0

    @property
    def spread(self) -> int:
        """How many calls a window holds for what can wait."""
        return self.calls - 1 if self.calls >= _MANY else self.calls

    @property
    def even(self) -> float:
        """The seconds between two calls that are spread evenly."""
        return self.seconds / max(1, self.spread)


def bucket(budget: Budget) -> Bucket:
    """A budget of which nothing is spent yet."""
    return Bucket(budget.calls, budget.seconds * (_LITTLE if budget.calls >= _MANY else _GUARD))


def unlimited(interval: float) -> Bucket:
    """A scope without a budget, in which calls of one message stand this far apart."""
    return Bucket(0, interval)


def ready_at(state: Bucket, priority: Priority, now: float, *, spare: bool = False) -> float:
    """The moment from which a call of this priority may go out.

    A spare one goes out before its even time where that does not spoil the pace of those after it.
    """
    urgent_at = _allowed_at(state, state.calls, now)
    if not state.times or state.times[-1] < state.frozen_until:
        return urgent_at if priority <= RESERVED else _allowed_at(state, state.spread, now)
    last = state.times[-1]
    if urgent_at < state.frozen_until + state.seconds:
        # For a while after a refusal nothing comes in bursts, not even what is urgent.
        urgent_at = max(urgent_at, last + state.even)
    if priority <= RESERVED:
        return urgent_at
    at = max(urgent_at, _allowed_at(state, state.spread, now))
    slow = slowness(state, at)
    if slow > 1:
        return max(at, last + state.even * slow)
    even = last + state.gap
    return max(at, min(even, state.spare_at) if spare else even)


def _allowed_at(state: Bucket, calls: int, now: float) -> float:
    """The moment from which the window holds fewer calls than so many, and is not asked to be still."""
    at = max(now, state.frozen_until)
    return max(at, state.times[-calls] + state.seconds) if calls and len(state.times) >= calls else at


def slowness(state: Bucket, now: float) -> float:
    """How much further apart calls stand since the last refusal: halved by each minute without another."""
    if state.slow == 1 or now <= state.frozen_until:
        return state.slow
    return float(max(1.0, state.slow / 2 ** int((now - state.frozen_until) / _PEACE)))


def interval(state: Bucket, now: float) -> float:
    """The seconds from one patient call to the next, as things stand."""
    slow = slowness(state, now)
    return max(state.gap, state.even) if slow == 1 else max(state.gap, state.even * slow)


def spend(state: Bucket, now: float, sharing: int = 1) -> Bucket:
    """After a call. So many share the window: the more they are, the less of it is given before its time."""
    recent = tuple(at for at in state.times if at > now - state.seconds)
    times = (*recent, now)[-max(1, state.calls) :]
    gap, spare_at = _foresee(state, times, now, sharing)
    return Bucket(state.calls, state.seconds, times, state.frozen_until, gap, spare_at, state.slow)


def _foresee(state: Bucket, times: tuple[float, ...], now: float, sharing: int) -> tuple[float, float]:
    """The distance at which calls can go on and on, and from when a call more leaves them within a wider one.

    After a burst they stand further apart, so that no silence follows it: the m-th call from now needs the place
    of one that has left the window by then, for every m.
    """
    gap, spare_at, widest = 0.0, -inf, state.even * (1 + _SPARE / sharing**2)
    for m, at in enumerate(times, state.spread - len(times)):
        if m >= 0:
            leaves = at + state.seconds
            gap = max(gap, (leaves - now) / (m + 1))
            spare_at = max(spare_at, leaves - m * widest)
    return gap, spare_at


def freeze(state: Bucket, until: float, now: float) -> Bucket:
    """After a refusal: nothing goes out before `until`, then one call, for the chat counts right, and no burst."""
    slow = state.slow
    if now >= state.frozen_until:
        # Several calls that were on their way together are refused once.
        slow = min(2 * slowness(state, now), max(1.0, _WIDEST / state.even))
    kept = state.times[-(state.spread - 1) :] if state.spread > 1 else ()
    until = max(until, state.frozen_until)
    return Bucket(state.calls, state.seconds, kept, until, state.gap, state.spare_at, slow)


def is_fresh(state: Bucket, now: float) -> bool:
    """Whether nothing is left of it that a new one would not have."""
    over = not state.times or state.times[-1] <= now - max(state.seconds, state.gap)
    return over and now >= state.frozen_until + state.seconds and slowness(state, now) == 1


# ── who goes first ───────────────────────────────────────────────────────────────────────────────────


class Wish(Struct, frozen=True):
    """Somebody has something to show: from when it may go out, how urgent it is, since when its reader waits."""

    at: float
    priority: Priority
    since: float
    order: int = 0
    spare: bool = False

    def rank(self, now: float) -> tuple[int, float, int]:
        """Smaller goes first: the more urgent, then whose reader has waited longer."""
        priority = self.priority
        if priority > Priority.STREAM and now - self.since > _FORGOTTEN:
            priority = Priority.STREAM
        return int(priority), self.since, self.order


def aged(priority: Priority, since: float, served_at: float, now: float) -> tuple[Priority, float]:
    """Small things that were passed over for too long take turns with the streams, one of them at a time."""
    if priority > Priority.STREAM and now - since > _FORGOTTEN:
        return Priority.STREAM, max(since, served_at)
    return priority, since


def first(wishes: Iterable[Wish], now: float) -> Wish | None:
    """Of those that may go out now the one of the best rank, else the one that may go out soonest."""
    return min(wishes, key=lambda wish: (max(wish.at, now), wish.rank(now)), default=None)


def in_line(state: Bucket, mine: Wish, others: Iterable[Wish], now: float) -> float:
    """The moment for my wish when others want calls of the same window: those of a better rank come before it."""
    at = max(mine.at, ready_at(state, mine.priority, now, spare=mine.spare))
    if mine.priority <= RESERVED:
        return at
    rank = mine.rank(now)
    ahead = sum(other.at <= at and other.rank(now) < rank for other in others)
    return at + ahead * interval(state, now)
