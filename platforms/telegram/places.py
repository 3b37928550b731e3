"""What the Telegram platform keeps in a small database of its own: which message belongs to which thread.

The Bot API tells neither the chain a reply hangs on nor what a group was called before it became a supergroup.
Every statement commits by itself. What is old is dropped: a chain that nobody answered for so long starts anew.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import aiosqlite
import anyio
from msgspec import Struct

from beambot.api import BeambotError, Unreachable

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE state (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE messages (
        number INTEGER PRIMARY KEY, chat TEXT NOT NULL, message INTEGER NOT NULL, thread TEXT NOT NULL,
        UNIQUE (chat, message)
    );
    CREATE TABLE threads (
        number INTEGER PRIMARY KEY, chat TEXT NOT NULL, thread TEXT NOT NULL, closed INTEGER NOT NULL DEFAULT 0,
        UNIQUE (chat, thread)
    );
    CREATE TABLE moves (old TEXT PRIMARY KEY, new TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE names (id TEXT PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE held (id INTEGER PRIMARY KEY, album TEXT NOT NULL, body BLOB NOT NULL);
    """,
)
MESSAGES = 50_000
THREADS = 5_000
NAMES = 2_000
_SWEEP = 500
# A supergroup numbers its messages anew. Those of a group that moved are told apart by a number beyond any other.
_AFTER_MOVE = 1 << 40
Value = str | int | bytes


class HeldPart(Struct, frozen=True):
    """One part of an album that waits for the others: the update as it came."""

    id: int
    album: str
    body: bytes


class Places:
    """The database `telegram.db`."""

    def __init__(self, db: aiosqlite.Connection) -> None:
        self._db = db
        self._moves: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._notes = 0

    @classmethod
    async def open(cls, home: Path) -> Places:
        """Open or make it. Raises `BeambotError` when that cannot be."""
        path = home / "telegram.db"
        try:
            await anyio.Path(home).mkdir(mode=0o700, parents=True, exist_ok=True)
            db = await aiosqlite.connect(path, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise BeambotError(f"{path} cannot be opened: {error}", fix="make its folder writable") from None
        try:
            await db.execute("PRAGMA busy_timeout = 5000")
            await db.execute("PRAGMA journal_mode = WAL")
            # Parts of albums are confirmed to Telegram once they are here.
            await db.execute("PRAGMA synchronous = FULL")
            await _migrate(db, path)
            os.chmod(path, 0o600)
            places = cls(db)
            places._moves = {row[0]: row[1] for row in await places._rows("SELECT old, new FROM moves")}
            names = await places._rows("SELECT id, name FROM names ORDER BY rowid")
            places._names = {row[0]: row[1] for row in names}
            await places._sweep()
        except (OSError, sqlite3.Error, Unreachable) as error:
            await db.close()
            fix = "move the file away: only which reply belongs to which thread is forgotten with it"
            raise BeambotError(f"{path} cannot be used: {error}", fix=fix) from None
        except BaseException:
            await db.close()
            raise
        return places

    async def close(self) -> None:
        """Let go of the file."""
        await self._db.close()

    # ── state ────────────────────────────────────────────────────────────────────────────────────────

    async def state(self, name: str) -> str:
        """A remembered word, or nothing."""
        rows = await self._rows("SELECT value FROM state WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else ""

    async def set_state(self, name: str, value: str) -> None:
        """Remember a word."""
        await self._change("INSERT OR REPLACE INTO state VALUES (?, ?)", (name, value))

    # ── messages and threads ─────────────────────────────────────────────────────────────────────────

    async def thread_of(self, chat: str, message: int) -> str:
        """The thread that a message belongs to, or nothing."""
        rows = await self._rows("SELECT thread FROM messages WHERE chat = ? AND message = ?", (chat, message))
        return str(rows[0][0]) if rows else ""

    async def note(self, chat: str, message: int, thread: str) -> None:
        """This message belongs to that thread."""
        await self._change(
            "INSERT OR REPLACE INTO messages (chat, message, thread) VALUES (?, ?, ?)", (chat, message, thread)
        )
        self._notes += 1
        if self._notes % _SWEEP == 0:
            await self._sweep()

    async def join(self, chat: str, thread: str) -> None:
        """beambot takes part there from now on."""
        await self._change("INSERT OR IGNORE INTO threads (chat, thread) VALUES (?, ?)", (chat, thread))

    async def takes_part(self, chat: str, thread: str) -> bool:
        """Whether beambot was spoken to there, or has written there."""
        return bool(await self._rows("SELECT 1 FROM threads WHERE chat = ? AND thread = ?", (chat, thread)))

    async def set_closed(self, chat: str, thread: str, closed: bool) -> bool:
        """Note whether we closed a topic. False: it was so before."""
        await self.join(chat, thread)
        sql = "UPDATE threads SET closed = ?1 WHERE chat = ?2 AND thread = ?3 AND closed != ?1"
        return bool(await self._change(sql, (int(closed), chat, thread)))

    # ── groups that moved ────────────────────────────────────────────────────────────────────────────

    async def move(self, old: str, new: str) -> None:
        """A group has become a supergroup and has another id. For beambot it stays what it was."""
        if old == new or self._moves.get(old) == new or self.first_id(old) == new:
            return
        old = self.first_id(old)
        self._moves[old] = new
        await self._change("INSERT OR REPLACE INTO moves VALUES (?, ?)", (old, new))

    def first_id(self, chat: str) -> str:
        """What a chat was called when beambot met it."""
        return next((old for old, new in self._moves.items() if new == chat), chat)

    def newest_id(self, chat: str) -> int:
        """What Telegram calls it now."""
        return int(self._moves.get(chat, chat))

    def counted(self, chat: str, number: int) -> int:
        """How beambot counts a message that Telegram numbers so, in the chat that Telegram calls so."""
        return number + _AFTER_MOVE if self.first_id(chat) != chat else number

    def number(self, chat: str, counted: int) -> int:
        """How Telegram numbers it where the chat is now; 0 for one that stayed behind when the group moved."""
        return counted if chat not in self._moves else max(0, counted - _AFTER_MOVE)

    # ── people ───────────────────────────────────────────────────────────────────────────────────────

    def name(self, person: str) -> str:
        """What a person is called, where they have been heard of."""
        return self._names.get(person, "")

    async def meet(self, person: str, name: str) -> None:
        """Somebody wrote."""
        if name and self._names.get(person) != name:
            self._names[person] = name
            await self._change("INSERT OR REPLACE INTO names VALUES (?, ?)", (person, name))

    # ── albums ───────────────────────────────────────────────────────────────────────────────────────

    async def hold(self, part: HeldPart) -> None:
        """Keep a part of an album until the others are there."""
        await self._change("INSERT OR REPLACE INTO held VALUES (?, ?, ?)", (part.id, part.album, part.body))

    async def held(self) -> list[HeldPart]:
        """All that wait, in their order."""
        return [HeldPart(*row) for row in await self._rows("SELECT id, album, body FROM held ORDER BY id")]

    async def release(self, album: str, last: int) -> None:
        """The parts of an album up to this one are in the inbox."""
        await self._change("DELETE FROM held WHERE album = ? AND id <= ?", (album, last))

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────

    async def _sweep(self) -> None:
        for table, most in (("messages", MESSAGES), ("threads", THREADS)):
            sql = f"DELETE FROM {table} WHERE number <= (SELECT max(number) FROM {table}) - ?"  # noqa: S608 - ours
            await self._change(sql, (most,))
        while len(self._names) > NAMES:
            person = next(iter(self._names))
            del self._names[person]
            await self._change("DELETE FROM names WHERE id = ?", (person,))

    async def _rows(self, sql: str, args: Sequence[Value] = ()) -> list[sqlite3.Row]:
        with _reported():
            async with self._db.execute(sql, args) as cursor:
                return list(await cursor.fetchall())

    async def _change(self, sql: str, args: Sequence[Value] = ()) -> int:
        with _reported():
            async with self._db.execute(sql, args) as cursor:
                return cursor.rowcount


@contextlib.contextmanager
def _reported() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, ValueError) as error:
        raise Unreachable(f"the database of the Telegram platform does not answer: {error}") from None


async def _migrate(db: aiosqlite.Connection, path: Path) -> None:
    async with db.execute("PRAGMA user_version") as cursor:
        row = await cursor.fetchone()
    version = int(row[0]) if row else 0
    if version > len(MIGRATIONS):
        raise BeambotError(f"{path} was written by a newer beambot", fix="update beambot")
    for number, step in enumerate(MIGRATIONS[version:], start=version + 1):
        await db.executescript(f"BEGIN IMMEDIATE; {step} PRAGMA user_version = {number}; COMMIT;")
