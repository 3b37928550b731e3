"""The durable messages of one lane, by thread, and which of them may be next: an end is read in its order."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Set
from math import inf

from msgspec import Struct

from beambot.flow.delivery.meters import Target
from beambot.model.ids import ThreadRef
from beambot.render.pace import Priority
from beambot.store.records import OutboxRow

# What goes out although an older end of its thread still waits: what a person waits for, and what stands already.
_MAY_OVERTAKE = (Priority.ANSWER, Priority.ASK, Priority.FINAL, Priority.TIDY)
# What fails by itself for longer than this holds back nothing of its thread any more.
_HOLDS = 60.0


class Note(Struct):
    """What was learnt about one thing that waits: since when, what its next call will be, how often it failed."""

    put_at: float = inf
    target: Target | None = None
    not_before: float = -inf
    failing_since: float = inf
    failures: int = 0
    refusals: int = 0
    plain: bool = False

    def fail(self, now: float, *, refused: bool) -> None:
        """It did not work, and not because the chat was away."""
        self.failing_since = min(self.failing_since, now)
        self.failures += 1
        self.refusals += refused

    def stood(self) -> None:
        """It worked: what went wrong before counts no more."""
        self.failing_since, self.failures, self.refusals, self.plain = inf, 0, 0, False

    def is_stuck(self, now: float) -> bool:
        """Whether it has failed for so long that others need not wait for it."""
        return now - self.failing_since > _HOLDS


class Rows:
    """The first of each thread are found without looking at the rest, however many wait."""

    def __init__(self) -> None:
        self._rows: dict[int, OutboxRow] = {}
        self._threads: dict[ThreadRef, dict[Priority, list[int]]] = {}
        self._notes: dict[int, Note] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, id: int) -> bool:
        return id in self._rows

    def __setitem__(self, id: int, row: OutboxRow) -> None:
        before = self._rows.get(id)
        if before is not None and before.hash != row.hash:
            del self[id]
            before = None
        if before is None or before.priority != row.priority:
            if before is not None:
                self._leave(before)
            insort(self._threads.setdefault(row.thread, {}).setdefault(Priority(row.priority), []), id)
        self._rows[id] = row

    def __delitem__(self, id: int) -> None:
        self._leave(self._rows.pop(id))
        self._notes.pop(id, None)

    def get(self, id: int) -> OutboxRow | None:
        """By its number."""
        return self._rows.get(id)

    def note(self, id: int) -> Note:
        """What was learnt about this row; it is forgotten with the row, and with its content."""
        return self._notes.setdefault(id, Note()) if id in self._rows else Note()

    @property
    def threads(self) -> Set[ThreadRef]:
        """Those in which something waits."""
        return self._threads.keys()

    def is_ending(self, thread: ThreadRef, now: float) -> bool:
        """Whether the end of a turn is still on its way to this thread."""
        return self._end(thread, now) is not None

    def next_in(self, thread: ThreadRef, now: float, *, held: bool = False) -> Iterator[OutboxRow]:
        """Of each priority the oldest, and nothing before the end it comes after. Held: an end waits elsewhere."""
        end = -1 if held else self._end(thread, now)
        for priority, ids in self._threads.get(thread, {}).items():
            for id in ids:
                if end is not None and id > end and priority not in _MAY_OVERTAKE:
                    break
                yield self._rows[id]
                if not self._is_stuck(id, now):
                    break

    def leave(self, thread: ThreadRef) -> None:
        """Nothing more goes to this thread."""
        for ids in list(self._threads.get(thread, {}).values()):
            for id in list(ids):
                del self[id]

    def _end(self, thread: ThreadRef, now: float) -> int | None:
        """The oldest page of an end that waits."""
        ids = self._threads.get(thread, {}).get(Priority.FINAL, ())
        return next((id for id in ids if not self._is_stuck(id, now)), None)

    def _is_stuck(self, id: int, now: float) -> bool:
        note = self._notes.get(id)
        return note is not None and note.is_stuck(now)

    def _leave(self, row: OutboxRow) -> None:
        queues = self._threads[row.thread]
        ids = queues[Priority(row.priority)]
        del ids[bisect_left(ids, row.id)]
        if not ids:
            del queues[Priority(row.priority)]
        if not queues:
            del self._threads[row.thread]
