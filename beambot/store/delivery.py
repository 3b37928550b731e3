"""What must still reach the chats, what stands there already, and who asked to be left alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from beambot.log import get_logger
from beambot.model import outbound
from beambot.model.ids import ThreadRef
from beambot.model.outbound import Outgoing
from beambot.model.ports import Clock
from beambot.store.connection import END, Database, Row
from beambot.store.records import OutboxRow, ShownRow, content_hash

log = get_logger("store")


class Outbox:
    """Messages that leave only when the platform has confirmed them; the newest content of each wins."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def put(self, thread: ThreadRef, outgoing: Outgoing, priority: int) -> tuple[int, bool]:
        """Its number, and whether it may stand already. One that waits keeps its number, its tries begin anew."""
        rows = await self._db.write(
            "INSERT INTO outbox (platform, chat, thread, key, payload, hash, priority, attempts, uncertain,"
            " created_at) VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, ?)"
            " ON CONFLICT (platform, chat, thread, key) DO UPDATE SET payload = excluded.payload,"
            " hash = excluded.hash, priority = excluded.priority, attempts = 0 RETURNING id, uncertain",
            (
                thread.platform,
                thread.chat,
                thread.thread,
                outgoing.key,
                outbound.encode(outgoing),
                content_hash(outgoing),
                priority,
                self._clock.now(),
            ),
        )
        number, uncertain = rows[0]
        return number, bool(uncertain)

    async def pending(self, thread: ThreadRef | None = None) -> list[OutboxRow]:
        """In the order in which they were first put."""
        select = (
            "SELECT id, platform, chat, thread, key, payload, hash, priority, attempts, uncertain, created_at"
            " FROM outbox"
        )
        if thread is None:
            rows = await self._db.read(f"{select} ORDER BY id")
        else:
            rows = await self._db.read(
                f"{select} WHERE platform = ? AND chat = ? AND thread = ? ORDER BY id",
                (thread.platform, thread.chat, thread.thread),
            )
        return [row for row in map(_outbox, rows) if row is not None]

    async def waiting_in(self, key: str) -> list[ThreadRef]:
        """The threads that this message is still on its way to."""
        rows = await self._db.read("SELECT platform, chat, thread FROM outbox WHERE key = ? ORDER BY id", (key,))
        return [ThreadRef(*row) for row in rows]

    async def done(self, id: int, if_hash: str | None = None) -> bool:
        """Confirmed. With `if_hash` newer content that was put meanwhile stays. True: it left."""
        if if_hash is None:
            return bool(await self._db.write("DELETE FROM outbox WHERE id = ? RETURNING id", (id,)))
        return bool(
            await self._db.write("DELETE FROM outbox WHERE id = ? AND hash = ? RETURNING id", (id, if_hash))
        )

    async def mark(self, id: int, *, attempts: int | None = None, uncertain: bool | None = None) -> None:
        """Remember what was tried."""
        await self._db.write(
            "UPDATE outbox SET attempts = COALESCE(?, attempts), uncertain = COALESCE(?, uncertain) WHERE id = ?",
            (attempts, None if uncertain is None else int(uncertain), id),
        )

    async def count(self) -> int:
        """How many wait."""
        row = await self._db.first("SELECT count(*) FROM outbox")
        return row[0] if row else 0


def _outbox(row: Row) -> OutboxRow | None:
    id, platform, chat, thread, key, payload, hash, priority, attempts, uncertain, created_at = row
    try:
        outgoing = outbound.decode(payload)
    except msgspec.MsgspecError as error:
        log.error("a message in the outbox cannot be read; it stays there", id=id, error=str(error))
        return None
    ref = ThreadRef(platform, chat, thread)
    return OutboxRow(id, ref, key, outgoing, hash, priority, attempts, bool(uncertain), created_at)


class Shown:
    """Which message of the platform shows which message of ours."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def get(self, thread: ThreadRef, key: str) -> ShownRow | None:
        """By our name for it."""
        rows = await self._rows(thread, "AND key = ?", (key,))
        return rows[0] if rows else None

    async def standing_in(self, key: str) -> list[ThreadRef]:
        """The threads in which this message stands."""
        rows = await self._db.read("SELECT platform, chat, thread FROM shown WHERE key = ? ORDER BY at", (key,))
        return [ThreadRef(*row) for row in rows]

    async def by_message(self, thread: ThreadRef, message: str) -> ShownRow | None:
        """By the platform's id."""
        rows = await self._rows(thread, "AND message = ? ORDER BY at DESC LIMIT 1", (message,))
        return rows[0] if rows else None

    async def put(self, thread: ThreadRef, key: str, message: str, hash: str, place: str = "") -> None:
        """It stands there now, with this content. A page that is known to begin somewhere still does."""
        where = (thread.platform, thread.chat, thread.thread)
        await self._db.write(
            "INSERT INTO shown (platform, chat, thread, key, message, hash, at, page_start)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (platform, chat, thread, key) DO UPDATE SET message = excluded.message,"
            " hash = excluded.hash, at = excluded.at, page_start = CASE WHEN excluded.page_start = ''"
            " THEN shown.page_start ELSE excluded.page_start END",
            (*where, key, message, hash, self._clock.now(), place),
        )

    async def of_turn(self, thread: ThreadRef, turn: str) -> list[ShownRow]:
        """The pages of a turn that stand in a thread."""
        first = f"turn:{turn}:"
        return await self._rows(thread, "AND key >= ? AND key < ?", (first, first + END))

    async def remove(self, thread: ThreadRef, key: str) -> None:
        """It stands there no more."""
        await self._db.write(
            "DELETE FROM shown WHERE platform = ? AND chat = ? AND thread = ? AND key = ?",
            (thread.platform, thread.chat, thread.thread, key),
        )

    async def _rows(self, thread: ThreadRef, rest: str, args: Sequence[Any]) -> list[ShownRow]:
        rows = await self._db.read(
            "SELECT key, message, hash, at, page_start FROM shown"  # noqa: S608 the rest is ours
            f" WHERE platform = ? AND chat = ? AND thread = ? {rest}",
            (thread.platform, thread.chat, thread.thread, *args),
        )
        return [ShownRow(thread, *row) for row in rows]


class Freezes:
    """Who asked to be left alone, and until when: it holds over a restart."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def put(self, scope: str, until: float) -> None:
        """Nothing goes there before this time. Who asked for longer before is left alone for longer."""
        await self._db.write(
            "INSERT INTO freezes (scope, until) VALUES (?, ?)"
            " ON CONFLICT (scope) DO UPDATE SET until = max(freezes.until, excluded.until)",
            (scope, until),
        )

    async def all(self, now: float) -> dict[str, float]:
        """Those that still hold; the others are forgotten."""
        rows = await self._db.read("SELECT scope, until FROM freezes")
        if any(until <= now for _, until in rows):
            await self._db.write("DELETE FROM freezes WHERE until <= ?", (now,))
        return {scope: until for scope, until in rows if until > now}
