"""What is kept: one SQLite database, behind one repository for each kind of thing."""

from __future__ import annotations

import sqlite3
import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio
import anyio.to_thread

from beambot.model.ports import Clock
from beambot.store import files, migrations
from beambot.store.audit import Audit
from beambot.store.connection import Connection, Database, connect
from beambot.store.delivery import Freezes, Outbox, Shown
from beambot.store.messages import Asks, InboxRepo, Journal
from beambot.store.people import Members, Pairings, Preferences
from beambot.store.records import (
    AskRow,
    AuditRow,
    MemberRow,
    OutboxRow,
    PairingRow,
    RuleRow,
    SessionRow,
    ShownRow,
    ThreadRow,
    TurnRow,
    Verdict,
    VoteRow,
    content_hash,
)
from beambot.store.rules import Drafts, Rules, Votes
from beambot.store.sessions import Projects, Sessions, Threads, Turns

__all__ = [
    "AskRow",
    "AuditRow",
    "MemberRow",
    "OutboxRow",
    "PairingRow",
    "RuleRow",
    "SessionRow",
    "ShownRow",
    "Store",
    "ThreadRow",
    "TurnRow",
    "Verdict",
    "VoteRow",
    "content_hash",
]


class Store:
    """The one owner of the database. Several programs may have it open at once."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self.path = db.path
        self.inbox = InboxRepo(db, clock)
        self.members = Members(db, clock)
        self.projects = Projects(db)
        self.sessions = Sessions(db)
        self.threads = Threads(db, clock)
        self.turns = Turns(db)
        self.journal = Journal(db)
        self.asks = Asks(db)
        self.votes = Votes(db)
        self.drafts = Drafts(db)
        self.rules = Rules(db)
        self.outbox = Outbox(db, clock)
        self.shown = Shown(db, clock)
        self.audit = Audit(db, clock)
        self.pairings = Pairings(db, clock)
        self.preferences = Preferences(db)
        self.freezes = Freezes(db)

    @classmethod
    async def open(cls, path: Path, clock: Clock, *, busy_ms: int = 5000, create: bool = True) -> Store:
        """Make it if need be, bring it to this version, and check it as far as that is cheap."""
        path, identity = await anyio.to_thread.run_sync(files.prepare, path, create)
        opened: list[Connection] = []
        try:
            for _ in range(2):
                opened.append(await connect(path, busy_ms))
            writer, reader = opened
            await _set_up(writer, path, busy_ms, clock.now())
            await reader.call(lambda conn: _look_around(conn, path))
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                for connection in opened:
                    await connection.close()
            if isinstance(error, sqlite3.Error):
                raise files.explain(error, path) from error
            raise
        return cls(Database(path, identity, writer, reader), clock)

    async def close(self) -> None:
        """Let go of the file, when what is being written is written. Safe to call twice."""
        await self._db.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def transaction(self) -> AbstractAsyncContextManager[None]:
        """Everything that this task writes inside is kept together or not at all."""
        return self._db.transaction()

    async def backup(self, target: Path) -> None:
        """A consistent copy while others write. Replaces nothing; a half-made copy never has the name."""
        await anyio.to_thread.run_sync(files.copy, self.path, target)


async def _set_up(writer: Connection, path: Path, busy_ms: int, now: float) -> None:
    await writer.call(lambda conn: migrations.recognise(conn, path))
    await writer.call(lambda conn: _log_ahead(conn, time.monotonic() + busy_ms / 1000))
    await writer.call(lambda conn: migrations.migrate(conn, path, now))
    await writer.call(Audit.teach)


def _log_ahead(conn: sqlite3.Connection, deadline: float) -> None:
    while True:
        try:
            conn.execute("PRAGMA journal_mode = WAL").fetchall()
            break
        except sqlite3.OperationalError as error:
            # Two programs that make the same database at once: SQLite does not wait for this switch itself.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    conn.execute("PRAGMA synchronous = FULL")
    conn.execute("PRAGMA foreign_keys = ON")
    conn.execute("PRAGMA journal_size_limit = 67108864")


def _look_around(conn: sqlite3.Connection, path: Path) -> None:
    conn.execute("PRAGMA query_only = ON")
    migrations.inspect(conn, path)
