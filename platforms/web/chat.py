"""What the web chat keeps: threads, messages, files, codes and cookies, in a small database of its own.

Every statement commits by itself; one sequence numbers every change, so a page can ask for what it missed.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import aiosqlite
from msgspec import Struct

from beambot.api import Attachment, BeambotError, Unreachable

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE state (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE threads (
        id TEXT PRIMARY KEY, title TEXT NOT NULL, state TEXT NOT NULL, at REAL NOT NULL
    );
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY, thread TEXT NOT NULL REFERENCES threads (id), key TEXT NOT NULL,
        kind TEXT NOT NULL, who TEXT NOT NULL, at REAL NOT NULL, seq INTEGER NOT NULL,
        body BLOB NOT NULL, receipt TEXT NOT NULL, gone INTEGER NOT NULL DEFAULT 0, UNIQUE (thread, key)
    );
    CREATE INDEX messages_by_change ON messages (thread, seq);
    CREATE INDEX messages_by_place ON messages (thread, id);
    CREATE TABLE files (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, mime TEXT NOT NULL, size INTEGER NOT NULL,
        at REAL NOT NULL, used INTEGER NOT NULL DEFAULT 0
    );
    CREATE TABLE codes (hash TEXT PRIMARY KEY, who TEXT NOT NULL, ends REAL NOT NULL) WITHOUT ROWID;
    CREATE TABLE cookies (hash TEXT PRIMARY KEY, who TEXT NOT NULL, ends REAL NOT NULL) WITHOUT ROWID;
    """,
)

Kind = Literal["post", "said", "file"]
SEQ_GAP = 1000


class ThreadRow(Struct, frozen=True):
    """A thread in the list."""

    id: str
    title: str
    state: str
    at: float


class MessageRow(Struct, frozen=True):
    """A message as it stands; `body` depends on its kind. A message that is gone keeps its row."""

    id: int
    thread: str
    key: str
    kind: Kind
    who: str
    at: float
    seq: int
    body: bytes
    receipt: str
    gone: int


_COLUMNS = "id, thread, key, kind, who, at, seq, body, receipt, gone"
# What a person sent is shown to others only when beambot has it.
_VISIBLE = "(kind != 'said' OR receipt != '')"


class _Change(Struct):
    seq: int
    done: bool = False


class Chat:
    """The database `web.db`. One process serves from it; the command line only adds codes."""

    def __init__(self, db: aiosqlite.Connection, home: Path, seq: int) -> None:
        self._db = db
        self._seq = seq
        self.files = home / "files"

    @classmethod
    async def open(cls, home: Path) -> Chat:
        """Open or make it. Raises `BeambotError` when that cannot be."""
        path = home / "web.db"
        try:
            (home / "files").mkdir(mode=0o700, parents=True, exist_ok=True)
            db = await aiosqlite.connect(path, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise BeambotError(f"{path} cannot be opened: {error}", fix="make its folder writable") from None
        try:
            await db.execute("PRAGMA busy_timeout = 5000")
            await db.execute("PRAGMA journal_mode = WAL")
            await db.execute("PRAGMA synchronous = NORMAL")
            await _migrate(db, path)
            os.chmod(path, 0o600)
            async with db.execute("SELECT max(seq) FROM messages") as cursor:
                row = await cursor.fetchone()
            # A number may have been given and not been kept; after a restart none of them comes again.
            seq = (int(row[0] or 0) if row else 0) + SEQ_GAP
        except (OSError, sqlite3.Error) as error:
            await db.close()
            fix = "move the file away to start with an empty chat, or restore it from a backup"
            raise BeambotError(f"{path} cannot be used: {error}", fix=fix) from None
        except BaseException:
            await db.close()
            raise
        return cls(db, home, seq)

    async def close(self) -> None:
        """Let go of the file."""
        await self._db.close()

    @contextlib.contextmanager
    def _numbered(self) -> Iterator[_Change]:
        """The number of a change; it is given again when nothing changed. One change at a time, please."""
        self._seq += 1
        change = _Change(self._seq)
        yield change
        if not change.done:
            self._seq -= 1

    @property
    def seq(self) -> int:
        """The number of the newest change."""
        return self._seq

    async def _rows(self, sql: str, args: Sequence[Any] = ()) -> list[sqlite3.Row]:
        with _reported():
            async with self._db.execute(sql, args) as cursor:
                return list(await cursor.fetchall())

    async def _change(self, sql: str, args: Sequence[Any] = ()) -> int:
        with _reported():
            async with self._db.execute(sql, args) as cursor:
                return cursor.rowcount

    # ── state ────────────────────────────────────────────────────────────────────────────────────────

    async def state(self, name: str) -> str:
        """A remembered word, or nothing."""
        rows = await self._rows("SELECT value FROM state WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else ""

    async def set_state(self, name: str, value: str, *, keep: bool = False) -> None:
        """Remember a word; with `keep` only if there is none yet."""
        how = "NOTHING" if keep else "UPDATE SET value = excluded.value"
        await self._change(
            f"INSERT INTO state VALUES (?, ?) ON CONFLICT (name) DO {how}",  # noqa: S608 - one of two constants
            (name, value),
        )

    # ── threads ──────────────────────────────────────────────────────────────────────────────────────

    async def threads(self, limit: int = 200) -> list[ThreadRow]:
        """The newest threads, newest first."""
        sql = "SELECT id, title, state, at FROM threads ORDER BY at DESC, rowid DESC LIMIT ?"
        return [ThreadRow(*row) for row in await self._rows(sql, (limit,))]

    async def thread(self, thread: str) -> ThreadRow | None:
        """One thread."""
        rows = await self._rows("SELECT id, title, state, at FROM threads WHERE id = ?", (thread,))
        return ThreadRow(*rows[0]) if rows else None

    async def add_thread(self, thread: str, title: str, at: float) -> None:
        """A new thread; one that is there stays as it is."""
        await self._change(
            "INSERT INTO threads VALUES (?, ?, 'idle', ?) ON CONFLICT DO NOTHING", (thread, title, at)
        )

    async def set_thread(
        self, thread: str, *, title: str | None = None, state: str | None = None, at: float | None = None
    ) -> ThreadRow | None:
        """Change what is given."""
        await self._change(
            "UPDATE threads SET title = coalesce(?, title), state = coalesce(?, state), at = coalesce(?, at)"
            " WHERE id = ?",
            (title, state, at, thread),
        )
        return await self.thread(thread)

    # ── messages ─────────────────────────────────────────────────────────────────────────────────────

    async def add(
        self, thread: str, key: str, kind: Kind, who: str, at: float, body: bytes, receipt: str = ""
    ) -> MessageRow | None:
        """A new message; nothing if this key is there already."""
        with self._numbered() as change:
            rows = await self._rows(
                "INSERT INTO messages (thread, key, kind, who, at, seq, body, receipt)"  # noqa: S608 - constants
                f" VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING {_COLUMNS}",
                (thread, key, kind, who, at, change.seq, body, receipt),
            )
            change.done = bool(rows)
        return _message(rows[0]) if rows else None

    async def message(self, thread: str, message: str) -> MessageRow | None:
        """One message by its id."""
        if not message.isascii() or not message.isdigit() or len(message) > 18:
            return None
        sql = f"SELECT {_COLUMNS} FROM messages WHERE thread = ? AND id = ?"  # noqa: S608 - constant columns
        rows = await self._rows(sql, (thread, int(message)))
        return _message(rows[0]) if rows else None

    async def by_key(self, thread: str, key: str) -> MessageRow | None:
        """One message by its key."""
        sql = f"SELECT {_COLUMNS} FROM messages WHERE thread = ? AND key = ?"  # noqa: S608 - constant columns
        rows = await self._rows(sql, (thread, key))
        return _message(rows[0]) if rows else None

    async def rewrite(self, message: int, body: bytes, *, gone: bool = False) -> int:
        """What stands there now. Gives the number of the change."""
        with self._numbered() as change:
            sql = "UPDATE messages SET body = ?, seq = ?, gone = ? WHERE id = ?"
            change.done = bool(await self._change(sql, (body, change.seq, int(gone), message)))
        return change.seq

    async def set_receipt(self, message: int, receipt: str, *, first: bool = False) -> int:
        """What became of somebody's message; with `first` only if nothing is known yet. 0: no change."""
        unless = "receipt = ''" if first else "receipt != ?2"
        sql = f"UPDATE messages SET seq = ?1, receipt = ?2 WHERE id = ?3 AND {unless}"  # noqa: S608 - constants
        with self._numbered() as change:
            change.done = bool(await self._change(sql, (change.seq, receipt, message)))
        return change.seq if change.done else 0

    async def newest(self, thread: str, limit: int, before: int | None = None) -> list[MessageRow]:
        """The last messages of a thread, or those above one, oldest first."""
        sql = (
            f"SELECT {_COLUMNS} FROM messages WHERE thread = ? AND id < ? AND NOT gone AND {_VISIBLE}"  # noqa: S608
            " ORDER BY id DESC LIMIT ?"
        )
        rows = await self._rows(sql, (thread, before if before is not None else 2**62, limit))
        return [_message(row) for row in reversed(rows)]

    async def changed(self, thread: str, since: int, limit: int) -> list[MessageRow]:
        """Messages that changed after `since`, in their places, gone ones included."""
        sql = (
            f"SELECT {_COLUMNS} FROM messages WHERE thread = ? AND seq > ? AND {_VISIBLE}"  # noqa: S608 - constants
            " ORDER BY id LIMIT ?"
        )
        return [_message(row) for row in await self._rows(sql, (thread, since, limit))]

    # ── files ────────────────────────────────────────────────────────────────────────────────────────

    async def add_file(self, file: Attachment, at: float, *, used: bool = False) -> None:
        """A file that lies in the folder `files` under its handle."""
        await self._change(
            "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?)",
            (file.handle, file.name, file.mime, file.size, at, int(used)),
        )

    async def find_files(self, handles: Iterable[str], *, use: bool = False) -> tuple[Attachment, ...]:
        """The files of these handles that are there."""
        found: list[Attachment] = []
        for handle in handles:
            for row in await self._rows("SELECT id, name, mime, size FROM files WHERE id = ?", (handle,)):
                found.append(Attachment(*row))
            if use:
                await self._change("UPDATE files SET used = 1 WHERE id = ?", (handle,))
        return tuple(found)

    async def files_size(self) -> int:
        """Bytes of all files together."""
        return int((await self._rows("SELECT coalesce(sum(size), 0) FROM files"))[0][0])

    async def drop_unused_files(self, before: float) -> None:
        """Take away files that were sent up and never used in a message."""
        for row in await self._rows("DELETE FROM files WHERE NOT used AND at < ? RETURNING id", (before,)):
            (self.files / str(row[0])).unlink(missing_ok=True)

    # ── who may in ───────────────────────────────────────────────────────────────────────────────────

    async def add_code(self, digest: str, who: str, ends: float) -> None:
        """A one-time code, by its hash."""
        await self._change("INSERT INTO codes VALUES (?, ?, ?)", (digest, who, ends))

    async def take_code(self, digest: str, now: float) -> str:
        """Whose code it is; it is used up by this. Nothing if it is unknown, used or too old."""
        await self._change("DELETE FROM codes WHERE ends <= ?", (now,))
        rows = await self._rows("DELETE FROM codes WHERE hash = ? RETURNING who", (digest,))
        return str(rows[0][0]) if rows else ""

    async def add_cookie(self, digest: str, who: str, ends: float, now: float) -> None:
        """A browser that may in, by the hash of its cookie."""
        await self._change("DELETE FROM cookies WHERE ends <= ?", (now,))
        await self._change("INSERT INTO cookies VALUES (?, ?, ?)", (digest, who, ends))

    async def cookie_owner(self, digest: str, now: float) -> str:
        """Whose cookie it is, or nothing."""
        rows = await self._rows("SELECT who FROM cookies WHERE hash = ? AND ends > ?", (digest, now))
        return str(rows[0][0]) if rows else ""

    async def drop_cookies(self, who: str) -> int:
        """Sign a person out everywhere, and void their open links. Gives the number of browsers."""
        await self._change("DELETE FROM codes WHERE who = ?", (who,))
        return await self._change("DELETE FROM cookies WHERE who = ?", (who,))


def _message(row: sqlite3.Row) -> MessageRow:
    return MessageRow(*row)


@contextlib.contextmanager
def _reported() -> Any:
    try:
        yield
    except (sqlite3.Error, ValueError) as error:
        raise Unreachable(f"the web chat's database does not answer: {error}") from None


async def _migrate(db: aiosqlite.Connection, path: Path) -> None:
    async with db.execute("PRAGMA user_version") as cursor:
        row = await cursor.fetchone()
    version = int(row[0]) if row else 0
    if version > len(MIGRATIONS):
        raise BeambotError(f"{path} was written by a newer beambot", fix="update beambot")
    for number, step in enumerate(MIGRATIONS[version:], start=version + 1):
        await db.executescript(f"BEGIN IMMEDIATE; {step} PRAGMA user_version = {number}; COMMIT;")


@contextlib.asynccontextmanager
async def opened(home: Path) -> AsyncIterator[Chat]:
    """For the command line: open, use, close."""
    chat = await Chat.open(home)
    try:
        yield chat
    finally:
        await chat.close()
