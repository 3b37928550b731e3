"""Sessions, the threads that show them, their turns, and the projects they work in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from beambot.model.ids import ThreadRef
from beambot.model.ports import Clock
from beambot.store.connection import END, Database, Row
from beambot.store.records import SessionRow, ThreadRow, TurnRow


def assignments(fields: dict[str, Any], allowed: Iterable[str]) -> str:
    """The SET part of an UPDATE. Only names of columns pass; values stay parameters."""
    strange = set(fields) - set(allowed)
    if strange or not fields:
        raise ValueError(f"cannot be updated: {', '.join(sorted(strange)) or 'nothing given'}")
    return ", ".join(f"{name} = ?" for name in fields)


class Projects:
    """The named folders of the configuration, for programs that only see the store."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def sync(self, projects: Sequence[tuple[str, str | Path]]) -> None:
        """Exactly these."""
        async with self._db.transaction():
            await self._db.write("DELETE FROM projects")
            await self._db.write_many(
                "INSERT INTO projects (name, path) VALUES (?, ?)",
                [(name, str(path)) for name, path in projects],
            )

    async def all(self) -> list[tuple[str, str]]:
        """By name."""
        return [(name, path) for name, path in await self._db.read("SELECT name, path FROM projects ORDER BY name")]


class Sessions:
    """Conversations with agents."""

    _FIELDS = SessionRow.__struct_fields__
    _SELECT = f"SELECT {', '.join(_FIELDS)} FROM sessions"  # noqa: S608 names of columns

    def __init__(self, db: Database) -> None:
        self._db = db

    async def add(self, row: SessionRow) -> None:
        """A new one."""
        names, marks = ", ".join(self._FIELDS), ", ".join("?" for _ in self._FIELDS)
        await self._db.write(
            f"INSERT INTO sessions ({names}) VALUES ({marks})",  # noqa: S608 names of columns
            [getattr(row, name) for name in self._FIELDS],
        )

    async def get(self, id: str) -> SessionRow | None:
        """By its id."""
        rows = await self._rows("WHERE id = ?", (id,))
        return rows[0] if rows else None

    async def update(self, id: str, **fields: Any) -> None:
        """Change some fields."""
        setting = assignments(fields, self._FIELDS[1:])
        await self._db.write(f"UPDATE sessions SET {setting} WHERE id = ?", [*fields.values(), id])  # noqa: S608

    async def recent(self, limit: int = 50, include_closed: bool = False) -> list[SessionRow]:
        """The newest used first."""
        which = "" if include_closed else "WHERE state <> 'closed' "
        return await self._rows(f"{which}ORDER BY used_at DESC, created_at DESC LIMIT ?", (limit,))

    async def starting_with(self, prefix: str) -> list[SessionRow]:
        """Those whose id begins like this: people type the first letters."""
        return await self._rows("WHERE id >= ? AND id < ? ORDER BY id", (prefix, prefix + END))

    async def _rows(self, rest: str, args: Sequence[Any]) -> list[SessionRow]:
        rows = await self._db.read(f"{self._SELECT} {rest}", args)
        return [SessionRow(**dict(zip(self._FIELDS, row, strict=True))) for row in rows]


class Threads:
    """Places in chats."""

    _SELECT = "SELECT platform, chat, thread, session, title, private, parked, created_at FROM threads"
    _THIS = "WHERE platform = ? AND chat = ? AND thread = ?"

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def get(self, ref: ThreadRef) -> ThreadRow | None:
        """What is known of this place."""
        row = await self._db.first(f"{self._SELECT} {self._THIS}", (ref.platform, ref.chat, ref.thread))
        return _thread(row) if row else None

    async def ensure(self, ref: ThreadRef, private: bool) -> ThreadRow:
        """Known from now on. `private` follows what the platform says last."""
        known = await self.get(ref)
        if known is not None and known.private == private:
            return known
        rows = await self._db.write(
            "INSERT INTO threads (platform, chat, thread, session, title, private, parked, created_at)"
            " VALUES (?, ?, ?, NULL, '', ?, '', ?)"
            " ON CONFLICT (platform, chat, thread) DO UPDATE SET private = excluded.private"
            " RETURNING platform, chat, thread, session, title, private, parked, created_at",
            (ref.platform, ref.chat, ref.thread, int(private), self._clock.now()),
        )
        return _thread(rows[0])

    async def bind(self, ref: ThreadRef, session_id: str | None) -> None:
        """From now on this place shows that session, or none."""
        await self._db.write(
            "INSERT INTO threads (platform, chat, thread, session, title, private, parked, created_at)"
            " VALUES (?, ?, ?, ?, '', 0, '', ?)"
            " ON CONFLICT (platform, chat, thread) DO UPDATE SET session = excluded.session",
            (ref.platform, ref.chat, ref.thread, session_id or None, self._clock.now()),
        )

    async def of_session(self, session_id: str) -> list[ThreadRow]:
        """Every place that shows it."""
        rows = await self._db.read(f"{self._SELECT} WHERE session = ? ORDER BY created_at", (session_id,))
        return [_thread(row) for row in rows]

    async def all(self) -> list[ThreadRow]:
        """Every place, oldest first."""
        return [_thread(row) for row in await self._db.read(f"{self._SELECT} ORDER BY created_at")]

    async def update(self, ref: ThreadRef, **fields: Any) -> None:
        """Change title, private or parked; `bind` changes the session."""
        if "private" in fields:
            fields["private"] = int(fields["private"])
        if "session" in fields:
            fields["session"] = fields["session"] or None
        setting = assignments(fields, ("session", "title", "private", "parked"))
        await self._db.write(
            f"UPDATE threads SET {setting} {self._THIS}",  # noqa: S608 names of columns
            [*fields.values(), ref.platform, ref.chat, ref.thread],
        )


def _thread(row: Row) -> ThreadRow:
    platform, chat, thread, session, title, private, parked, created_at = row
    return ThreadRow(ThreadRef(platform, chat, thread), session or "", title, bool(private), parked, created_at)


class Turns:
    """Prompts, and what became of them. In the order in which they were added."""

    _FIELDS = tuple(name for name in TurnRow.__struct_fields__ if name != "thread")
    _COLUMNS = ", ".join((*_FIELDS, "platform", "chat", "thread"))

    def __init__(self, db: Database) -> None:
        self._db = db

    async def add(self, row: TurnRow) -> None:
        """At the end of the queue."""
        marks = ", ".join("?" for _ in range(len(self._FIELDS) + 3))
        ref = row.thread
        place = (ref.platform, ref.chat, ref.thread) if ref else (None, None, None)
        await self._db.write(
            f"INSERT INTO turns ({self._COLUMNS}) VALUES ({marks})",  # noqa: S608 names of columns
            [*(getattr(row, name) for name in self._FIELDS), *place],
        )

    async def get(self, id: str) -> TurnRow | None:
        """By its id."""
        rows = await self._rows("WHERE id = ?", (id,))
        return rows[0] if rows else None

    async def update(self, id: str, *, expect: str | Sequence[str] | None = None, **fields: Any) -> bool:
        """Change some fields; with `expect`, only from one of these states, in one step. True: it was."""
        setting = assignments(fields, set(self._FIELDS) - {"id", "session"})
        states = (expect,) if isinstance(expect, str) else tuple(expect or ())
        guard = f" AND state IN ({', '.join('?' for _ in states)})" if expect is not None else ""
        rows = await self._db.write(
            f"UPDATE turns SET {setting} WHERE id = ?{guard} RETURNING n",  # noqa: S608 names of columns
            [*fields.values(), id, *states],
        )
        return bool(rows)

    async def queued(self, session: str) -> list[TurnRow]:
        """What waits in this session."""
        return await self._rows("WHERE session = ? AND state = 'queued' ORDER BY n", (session,))

    async def unfinished(self) -> list[TurnRow]:
        """What waits or was under way, everywhere: the first thing to look at after a restart."""
        return await self._rows("WHERE state IN ('queued', 'handed', 'running') ORDER BY n", ())

    async def last(self, session: str) -> TurnRow | None:
        """The newest of this session."""
        rows = await self._rows("WHERE session = ? ORDER BY n DESC LIMIT 1", (session,))
        return rows[0] if rows else None

    async def recent(self, session: str, limit: int) -> list[TurnRow]:
        """The newest of this session first."""
        return await self._rows("WHERE session = ? ORDER BY n DESC LIMIT ?", (session, limit))

    async def by_message(self, thread: ThreadRef, message: str) -> TurnRow | None:
        """The newest turn that this message prompted."""
        rows = await self._rows(
            "WHERE platform = ? AND chat = ? AND thread = ? AND message = ? ORDER BY n DESC LIMIT 1",
            (thread.platform, thread.chat, thread.thread, message),
        )
        return rows[0] if rows else None

    async def _rows(self, rest: str, args: Sequence[Any]) -> list[TurnRow]:
        rows = await self._db.read(f"SELECT {self._COLUMNS} FROM turns {rest}", args)  # noqa: S608
        return [_turn(self._FIELDS, row) for row in rows]


def _turn(fields: tuple[str, ...], row: Row) -> TurnRow:
    *values, platform, chat, thread = row
    ref = ThreadRef(platform, chat, thread) if platform is not None else None
    return TurnRow(**dict(zip(fields, values, strict=True)), thread=ref)
