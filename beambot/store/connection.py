"""One writer and one reader on one database; what waits to be written together is committed together."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite
import anyio

from beambot.errors import StoreError
from beambot.store import files

END = "\U0010ffff"  # sorts behind every character of an id or a key
Row = tuple[Any, ...]
T = TypeVar("T")
MAX_BATCH = 500


class Connection(aiosqlite.Connection):
    """aiosqlite's thread, with whole pieces of work handed to it at once instead of call by call."""

    async def call(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in the connection's thread; calls run in the order in which they were made."""
        if self._connection is None:
            raise StoreError("the database is closed")
        result: T = await self._execute(work, self._conn)  # type: ignore[no-untyped-call]
        return result


async def connect(path: Path, busy_ms: int) -> Connection:
    """A connection in autocommit mode: a statement outside a transaction is one commit."""

    def connector() -> sqlite3.Connection:
        return sqlite3.connect(path, timeout=busy_ms / 1000, isolation_level=None, cached_statements=256)

    connection = Connection(connector, 64)
    # A store that nobody closed must not keep the process alive; SQLite survives being cut off.
    connection._thread.daemon = True
    await connection
    return connection


class _Job:
    """One statement on its way to the writer."""

    __slots__ = ("args", "done", "many", "sql", "taken")

    def __init__(self, sql: str, args: Sequence[Any], many: bool) -> None:
        self.sql = sql
        self.args = args
        self.many = many
        self.taken = False
        self.done: asyncio.Future[list[Row]] = asyncio.get_running_loop().create_future()

    def execute(self, conn: sqlite3.Connection) -> list[Row]:
        if self.many:
            conn.executemany(self.sql, self.args)
            return []
        return conn.execute(self.sql, self.args).fetchall()


class Database:
    """What the repositories speak to. A transaction belongs to the task that opened it."""

    def __init__(self, path: Path, identity: files.Identity, writer: Connection, reader: Connection) -> None:
        self.path = path
        self.writer = writer
        self.reader = reader
        self._identity = identity
        self._lock = anyio.Lock(fast_acquire=True)
        self._owner: asyncio.Task[Any] | None = None
        self._failed: BaseException | None = None
        self._waiting: list[_Job] = []

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────

    async def read(self, sql: str, args: Sequence[Any] = ()) -> list[Row]:
        """Rows as they are committed; inside a transaction, as it sees them."""
        if self._joined():
            return await self._inside(_Job(sql, args, False))
        return await self._call(self.reader, lambda conn: conn.execute(sql, args).fetchall())

    async def first(self, sql: str, args: Sequence[Any] = ()) -> Row | None:
        """The first row, if any."""
        rows = await self.read(sql, args)
        return rows[0] if rows else None

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────

    async def write(self, sql: str, args: Sequence[Any] = ()) -> list[Row]:
        """One statement, committed on return unless a transaction is open; gives what it RETURNs."""
        return await self._submit(_Job(sql, args, False))

    async def write_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """One statement for many rows: all of them or none."""
        if rows:
            await self._submit(_Job(sql, rows, True))

    async def _submit(self, job: _Job) -> list[Row]:
        if self._joined():
            return await self._inside(job)
        self._waiting.append(job)
        try:
            async with self._lock:
                if not job.taken:
                    await self._write_waiting()
            return await job.done
        finally:
            if not job.taken:
                self._waiting.remove(job)
            job.done.cancel()

    async def _write_waiting(self) -> None:
        """Write everything that gathered while the last commit was on its way to the disk, in one commit."""
        batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
        for job in batch:
            job.taken = True
        loop = asyncio.get_running_loop()

        def work(conn: sqlite3.Connection) -> None:
            # Delivered from here, because the task that awaits this call may be cancelled meanwhile.
            loop.call_soon_threadsafe(self._deliver, batch, self._execute_batch(conn, batch))

        try:
            await self.writer.call(work)
        except StoreError as error:
            self._deliver(batch, [error] * len(batch))

    def _execute_batch(self, conn: sqlite3.Connection, batch: list[_Job]) -> list[list[Row] | Exception]:
        try:
            files.still_there(self.path, self._identity)
            if len(batch) == 1 and not batch[0].many:
                return [batch[0].execute(conn)]
            return list(_in_one_commit(conn, batch))
        except Exception as error:
            if len(batch) == 1 or files.concerns_all(error):
                return [files.explain(error, self.path)] * len(batch)
        # One of them is to blame; the others do not suffer for it.
        return [self._execute_batch(conn, [job])[0] for job in batch]

    @staticmethod
    def _deliver(batch: list[_Job], outcomes: Sequence[list[Row] | Exception]) -> None:
        for job, outcome in zip(batch, outcomes, strict=True):
            if job.done.done():
                continue
            if isinstance(outcome, Exception):
                job.done.set_exception(outcome)
            else:
                job.done.set_result(outcome)

    # ── transactions ─────────────────────────────────────────────────────────────────────────────────

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """All or nothing. Opened again by the same task it joins; tasks started inside wait for its end."""
        if self._joined():
            try:
                yield
            except BaseException as error:
                self._failed = self._failed or error
                raise
            return
        async with self._lock:
            self._owner, self._failed = asyncio.current_task(), None
            try:
                await self._call(self.writer, self._begin)
                yield
                if self._failed is not None:
                    raise StoreError("a part of this transaction failed, so none of it was kept") from self._failed
                with anyio.CancelScope(shield=True):
                    await self._call(self.writer, lambda conn: _drain(conn, "COMMIT"))
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await self._roll_back()
                raise
            finally:
                self._owner = None

    def _begin(self, conn: sqlite3.Connection) -> None:
        files.still_there(self.path, self._identity)
        _drain(conn, "BEGIN IMMEDIATE")

    async def _roll_back(self) -> None:
        # Queued behind whatever was cancelled on its way, so the connection is always left clean.
        try:
            await self.writer.call(sqlite3.Connection.rollback)
        except (sqlite3.Error, StoreError):
            return

    def _joined(self) -> bool:
        return self._owner is not None and self._owner is asyncio.current_task()

    async def _inside(self, job: _Job) -> list[Row]:
        if self._failed is not None:
            # SQLite may have rolled back by itself: what follows would be committed on its own.
            raise StoreError("this transaction has already failed") from self._failed
        try:
            return await self._call(self.writer, job.execute)
        except BaseException as error:
            self._failed = error
            raise

    # ── the connections ──────────────────────────────────────────────────────────────────────────────

    async def _call(self, conn: Connection, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return await conn.call(work)
        except (sqlite3.Error, ValueError, OverflowError) as error:
            raise files.explain(error, self.path) from error

    async def close(self) -> None:
        """Wait for what is being written, then let go of the file."""
        with anyio.CancelScope(shield=True):
            async with self._lock:
                try:
                    await self.reader.close()
                finally:
                    await self.writer.close()


def _in_one_commit(conn: sqlite3.Connection, batch: list[_Job]) -> list[list[Row]]:
    _drain(conn, "BEGIN IMMEDIATE")
    try:
        outcomes = [job.execute(conn) for job in batch]
        _drain(conn, "COMMIT")
    except BaseException:
        conn.rollback()
        raise
    return outcomes


def _drain(conn: sqlite3.Connection, sql: str) -> None:
    conn.execute(sql).fetchall()
