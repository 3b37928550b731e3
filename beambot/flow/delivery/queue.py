"""Everything that waits for one chat, and what of it may be next: an end before what comes after it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Set
from math import inf
from weakref import WeakKeyDictionary

from msgspec import Struct, field

from beambot.flow.delivery.meters import Meters, Target
from beambot.flow.delivery.rows import Note, Rows
from beambot.flow.delivery.screens import Screen, pause_at
from beambot.model.ids import ThreadRef
from beambot.model.ports import ChatPlatform
from beambot.render import pace
from beambot.render.pace import RESERVED, Priority, Wish
from beambot.store.records import OutboxRow

Small = Callable[[], Awaitable[None]]
Job = OutboxRow | Screen | str


class Offer(Struct, frozen=True):
    """Something that may be next: from when, how urgent, and what call it will probably be."""

    wish: Wish
    target: Target
    job: Job


class Place(Struct):
    """What is known of a thread while something waits for it."""

    served_at: float = -inf
    # The end whose first page is through, and messages that somebody deleted.
    ended: str = ""
    gone: set[str] = field(default_factory=set)


class Queue:
    """Durable rows, screens of running turns, and small things of which only the newest counts."""

    def __init__(self, platform: ChatPlatform, meters: Meters) -> None:
        self.rows = Rows()
        self.screens: dict[tuple[ThreadRef, str], Screen] = {}
        self.small: dict[str, tuple[ThreadRef, Small]] = {}
        # When the last of those things went out that only take turns with the streams.
        self.spared_at = -inf
        self._platform = platform
        self._meters = meters
        self._places: dict[ThreadRef, Place] = {}
        self._of_screens: WeakKeyDictionary[Screen, Note] = WeakKeyDictionary()
        self._of_small: dict[str, Note] = {}

    # ── what is known ────────────────────────────────────────────────────────────────────────────

    def note(self, job: Job) -> Note:
        """What was learnt about it so far."""
        if isinstance(job, OutboxRow):
            return self.rows.note(job.id)
        if isinstance(job, Screen):
            return self._of_screens.setdefault(job, Note())
        return self._of_small.setdefault(job, Note())

    def place(self, thread: ThreadRef) -> Place:
        """What is known of a thread."""
        return self._places.setdefault(thread, Place())

    def small_target(self, key: str) -> Target:
        """The call of a small thing; where the chat does not count those they have limits of their own."""
        counted = self._platform.capabilities.reactions_counted
        return Target(self.small[key][0], "other", apart="" if counted else key.partition(" ")[0])

    def drop_small(self, key: str) -> None:
        """It is done, or nobody needs it any more."""
        self.small.pop(key, None)
        self._of_small.pop(key, None)

    def leave(self, thread: ThreadRef) -> None:
        """The thread is gone."""
        self.rows.leave(thread)
        for key in [key for key in self.screens if key[0] == thread]:
            screen = self.screens.pop(key)
            screen.waiting_since, screen.urgent = None, False

    def forget_quiet(self) -> None:
        """Of a thread for which nothing waits nothing is remembered."""
        for thread in self._places.keys() - self._busy():
            del self._places[thread]

    def _busy(self) -> Set[ThreadRef]:
        return self.rows.threads | {thread for thread, _ in self.screens}

    # ── what may be next ─────────────────────────────────────────────────────────────────────────

    def offers(self, now: float, epoch: float, not_before: float) -> list[Offer]:
        """Each with the moment it may go out. `epoch` is the time of day at which this clock stood at zero."""
        moments: dict[tuple[Target, Priority, bool], float] = {}

        def ready_at(target: Target, priority: Priority, note: Note, *, spare: bool = False) -> float:
            key = (target, priority, spare)
            if key not in moments:
                moments[key] = max(not_before, self._meters.ready_at(target, priority, now, spare=spare))
            return max(moments[key], note.not_before)

        offers: list[Offer] = []
        shown = self._shown_now(now)
        closing = {screen.thread for screen, note in shown if _is_closing(screen, note, now)}
        alone = len(self._busy()) == 1
        for thread in self.rows.threads:
            for row in self.rows.next_in(thread, now, held=thread in closing):
                note = self.rows.note(row.id)
                target = note.target or expected(thread)
                priority, since = self._urgency(row, now, min(now, row.created_at - epoch), alone=alone)
                offers.append(Offer(Wish(ready_at(target, priority, note), priority, since, row.id), target, row))
        gap = self._platform.capabilities.min_interval
        targets = [note.target or expected(screen.thread) for screen, note in shown]
        windows = [self._meters.window(target) for target in targets]
        for (screen, note), target, window in zip(shown, targets, windows, strict=True):
            if screen.urgent:
                wish = Wish(ready_at(target, Priority.ANSWER, note), Priority.ANSWER, 0.0)
                offers.append(Offer(wish, target, screen))
                continue
            priority = Priority.TIDY if screen.tidying else Priority.STREAM
            since = max(screen.waiting_since or 0.0, screen.last_call)
            wish = Wish(max(ready_at(target, priority, note), screen.last_call + gap), priority, since)
            pause = pause_at(screen.turn, screen.heard_at) if window is not None else inf
            if window is not None and wish.at > pause and windows.count(window) == 1:
                # Nothing new comes for a while: what is unseen goes out now, where there is room and nobody waits.
                early = max(pause, ready_at(target, priority, note, spare=True))
                if early < wish.at and not self._meters.is_wanted_elsewhere(window, self):
                    wish = Wish(early, priority, since, spare=True)
            offers.append(Offer(wish, target, screen))
        for number, key in enumerate(self.small):
            note, target = self.note(key), self.small_target(key)
            note.put_at = min(note.put_at, now)
            priority, since = pace.aged(Priority.RECEIPT, note.put_at, self.spared_at, now)
            offers.append(Offer(Wish(ready_at(target, priority, note), priority, since, number), target, key))
        return offers

    def _shown_now(self, now: float) -> list[tuple[Screen, Note]]:
        """The screens that may be next: a turn is not shown before the end of the one that came before it."""
        found: dict[ThreadRef, list[tuple[Screen, Note]]] = {}
        for screen in self.screens.values():
            before = found.setdefault(screen.thread, [])
            if not self.rows.is_ending(screen.thread, now) and not any(_is_closing(*one, now) for one in before):
                before.append((screen, self.note(screen)))
        return [one for screens in found.values() for one in screens]

    def _urgency(self, row: OutboxRow, now: float, since: float, *, alone: bool) -> tuple[Priority, float]:
        """How urgent a row is, and since when it waits. One call of an end is urgent; the rest takes its turn."""
        priority = Priority(row.priority)
        place = self._places.get(row.thread) or Place()
        if priority is Priority.FINAL and not alone and place.ended == family(row):
            priority = Priority.STREAM
        if priority > Priority.STREAM:
            return pace.aged(priority, since, self.spared_at, now)
        return priority, since if priority <= RESERVED else max(since, place.served_at)


def expected(thread: ThreadRef, message: str = "") -> Target:
    """The call that makes a message stand: an edit of the one that is there, or a new one."""
    return Target(thread, "edit", message) if message else Target(thread, "post")


def family(row: OutboxRow) -> str:
    """The pages of one turn share all of their name but its number."""
    return row.key.rpartition(":")[0]


def _is_closing(screen: Screen, note: Note, now: float) -> bool:
    """Whether the words of a turn that is over are still to be shown."""
    return screen.turn.result is not None and not screen.tidying and not note.is_stuck(now)
