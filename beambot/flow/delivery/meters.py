"""What a platform's budgets still allow, each counted in its own scope."""

from __future__ import annotations

from beambot.model.capabilities import Budget, PlatformCapabilities
from beambot.model.ids import ThreadRef
from beambot.render import pace
from beambot.render.pace import Bucket, Priority


class Meters:
    """One for each platform: lanes of the same platform share what is counted for the whole of it."""

    def __init__(self, capabilities: PlatformCapabilities) -> None:
        self._budgets = [budget for budget in capabilities.budgets if budget.scope != "message"]
        self._buckets: dict[tuple[int, str], Bucket] = {}

    def ready_at(self, thread: ThreadRef, priority: Priority, now: float) -> float:
        """The moment from which a call to this thread may go out."""
        buckets = self._of(thread, now).values()
        return max((pace.ready_at(bucket, priority, now) for bucket in buckets), default=now)

    def spend(self, thread: ThreadRef, now: float) -> None:
        """A call goes out."""
        self._buckets.update({key: pace.spend(bucket, now) for key, bucket in self._of(thread, now).items()})

    def freeze(self, thread: ThreadRef, until: float) -> None:
        """The chat refused: its own buckets hold one call when it opens again. The others are not touched."""
        for key, bucket in self._of(thread, until).items():
            if self._budgets[key[0]].scope != "platform":
                self._buckets[key] = pace.freeze(bucket, until)

    def _of(self, thread: ThreadRef, now: float) -> dict[tuple[int, str], Bucket]:
        keys = [(number, _counted_in(budget, thread)) for number, budget in enumerate(self._budgets)]
        return {key: self._buckets.get(key) or pace.bucket(self._budgets[key[0]], now) for key in keys}


def _counted_in(budget: Budget, thread: ThreadRef) -> str:
    return {"platform": "", "chat": thread.chat, "thread": f"{thread.chat}/{thread.thread}"}[budget.scope]
