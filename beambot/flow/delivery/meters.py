"""What a platform's budgets still allow, each counted in its own scope, and who is next where lanes share one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from beambot.model.capabilities import Budget, CallKind, Scope
from beambot.model.ids import ThreadRef
from beambot.model.ports import ChatPlatform
from beambot.render import pace
from beambot.render.pace import Bucket, Priority, Wish

_NARROW_TO_WIDE: tuple[Scope, ...] = ("thread", "chat", "platform")
# So many calls after each other, those windows are dropped in which nothing is left to be counted.
_SWEEP = 500
Key = tuple[str, int, float]


class Target(Struct, frozen=True):
    """Where a call goes, and its kind. One that is `apart` uses up no budget and has a limit of its own."""

    thread: ThreadRef
    kind: CallKind
    message: str = ""
    apart: str = ""


class _Waiting(Struct, frozen=True):
    """A lane that wants a call which others may want too."""

    wish: Wish
    shared: frozenset[Key]
    wake: Callable[[], None]


class Meters:
    """One for each platform: lanes of the same platform share what is counted for the whole of it."""

    def __init__(self, platform: ChatPlatform, frozen: Mapping[str, float] | None = None) -> None:
        self._platform = platform
        self._buckets: dict[Key, Bucket] = {}
        self._callers: dict[Key, dict[ThreadRef, float]] = {}
        self._line: dict[object, _Waiting] = {}
        self._spent = 0
        # Scopes that asked to be left alone without being budgets, by name; those of an earlier run too.
        self._open = {name: self._unlimited(until) for name, until in (frozen or {}).items()}

    def ready_at(self, target: Target, priority: Priority, now: float, *, spare: bool = False) -> float:
        """The moment from which such a call may go out."""
        at = now
        for bucket in self._of(target).values():
            at = max(at, bucket.frozen_until if target.apart else pace.ready_at(bucket, priority, now, spare=spare))
        for name in self._quiet_names(target):
            at = max(at, pace.ready_at(self._open[name], priority, now, spare=spare))
        return at

    def window(self, target: Target) -> Key | None:
        """The window that limits such calls most; None where no budget does."""
        windows = self._of(target)
        return max(windows, key=lambda key: windows[key].even, default=None)

    def is_wanted_elsewhere(self, window: Key, lane: object) -> bool:
        """Whether another lane waits for a call in it."""
        return any(window in waiting.shared for other, waiting in self._line.items() if other is not lane)

    def spend(self, target: Target, now: float, lane: object = None) -> None:
        """A call goes out: this lane has had its turn."""
        self._line.pop(lane, None)
        for name in self._quiet_names(target):
            self._open[name] = pace.spend(self._open[name], now)
        if target.apart:
            return
        spent = self._of(target)
        for key, bucket in spent.items():
            callers = self._callers[key] = {
                thread: at for thread, at in self._callers.get(key, {}).items() if at > now - bucket.seconds
            }
            callers[target.thread] = now
            self._buckets[key] = pace.spend(bucket, now, len(callers))
        self._wake_next(frozenset(spent))
        self._spent += 1
        if self._spent % _SWEEP == 0:
            self._sweep(now)

    def count_post(self, target: Target, message: str, now: float) -> None:
        """The message that a call made counts as one of the calls to that message."""
        made = Target(target.thread, target.kind, message)
        own = {key: pace.spend(bucket, now) for key, bucket in self._of(made, ("message",)).items()}
        self._buckets.update(own)

    def freeze(self, target: Target, seconds: float, now: float, scope: Scope | None = None) -> list[str]:
        """The chat refused: what was hit holds still until then, nothing else does. Gives the scopes by name."""
        until = now + seconds
        counted = {} if target.apart else self._of(target, (scope,) if scope else self._narrowest(target))
        for key, bucket in counted.items():
            self._buckets[key] = pace.freeze(bucket, until, now)
        if counted:
            return sorted({name for name, _, _ in counted})
        name = (
            _name(scope or "chat", target) if scope or not target.apart else f"{target.thread.key} {target.apart}"
        )
        self._open[name] = pace.freeze(self._open.get(name) or self._unlimited(), until, now)
        return [name]

    # ── where lanes share a budget ───────────────────────────────────────────────────────────────

    def in_line(self, lane: object, target: Target, wish: Wish, now: float, wake: Callable[[], None]) -> float:
        """The moment for this lane's wish, given what the other lanes of the platform wish."""
        mine = {} if target.apart else self._of(target, ("platform",))
        self._leave(lane, wish, now)
        at = wish.at
        for key, bucket in mine.items():
            others = [waiting.wish for waiting in self._line.values() if key in waiting.shared]
            at = max(at, pace.in_line(bucket, wish, others, now))
        if mine:
            self._line[lane] = _Waiting(wish, frozenset(mine), wake)
        return at

    def leave_line(self, lane: object, now: float) -> None:
        """This lane wishes for nothing now."""
        self._leave(lane, None, now)

    def _leave(self, lane: object, better: Wish | None, now: float) -> None:
        """Whoever stood behind a wish that is gone or less urgent now may be next."""
        before = self._line.pop(lane, None)
        if before is not None and (better is None or before.wish.rank(now) < better.rank(now)):
            self._wake_next(before.shared)

    def _wake_next(self, keys: frozenset[Key]) -> None:
        waiting = [waiting for waiting in self._line.values() if waiting.shared & keys]
        if waiting:
            min(waiting, key=lambda waiting: (waiting.wish.priority, waiting.wish.since)).wake()

    # ── windows ──────────────────────────────────────────────────────────────────────────────────

    def _of(self, target: Target, scopes: tuple[Scope, ...] = ()) -> dict[Key, Bucket]:
        found: dict[Key, Bucket] = {}
        for budget in self._platform.budgets(target.thread):
            if not budget.counts(target.kind) or (scopes and budget.scope not in scopes):
                continue
            if budget.scope == "message" and not target.message:
                continue
            key = (_named(budget, target), budget.calls, budget.seconds)
            found[key] = self._buckets.get(key) or pace.bucket(budget)
        return found

    def _narrowest(self, target: Target) -> tuple[Scope, ...]:
        """A chat that does not say what was too much means the smallest place in which it counts such calls."""
        budgets = self._platform.budgets(target.thread)
        scopes = {budget.scope for budget in budgets if budget.counts(target.kind)}
        return next(((scope,) for scope in _NARROW_TO_WIDE if scope in scopes), ("chat",))

    def _quiet_names(self, target: Target) -> Iterator[str]:
        """The names under which something asked to be left alone that this call would disturb."""
        if not self._open:
            return
        names = {_name(scope, target) for scope in _NARROW_TO_WIDE}
        names |= {
            _named(budget, target) for budget in self._platform.budgets(target.thread) if budget.counts(target.kind)
        }
        names.add(_name("message", target))
        if target.apart:
            names.add(f"{target.thread.key} {target.apart}")
        yield from names & self._open.keys()

    def _unlimited(self, until: float = float("-inf")) -> Bucket:
        bucket = pace.unlimited(self._platform.capabilities.min_interval)
        return Bucket(bucket.calls, bucket.seconds, frozen_until=until)

    def _sweep(self, now: float) -> None:
        for key in [key for key, bucket in self._buckets.items() if pace.is_fresh(bucket, now)]:
            del self._buckets[key]
            self._callers.pop(key, None)
        for name in [name for name, bucket in self._open.items() if pace.is_fresh(bucket, now)]:
            del self._open[name]


def _name(scope: Scope, target: Target) -> str:
    thread = target.thread
    match scope:
        case "platform":
            return thread.platform
        case "chat":
            return f"{thread.platform}/{thread.chat}"
        case "thread":
            return thread.key
        case "message":
            return f"{thread.key}/{target.message}"


def _named(budget: Budget, target: Target) -> str:
    """A budget of some kinds of call is another than that of all."""
    return " ".join((_name(budget.scope, target), *budget.kinds))
