"""A database that is locked, full, read-only, gone or damaged: one clear error, nothing acknowledged is lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from beambot.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreMissing,
    StoreReadOnly,
    StoreTooNew,
)
from beambot.model.ids import ThreadRef
from beambot.model.inbound import Inbound, Sender, TextIn
from beambot.store import Store, migrations

NAME = r"home/beambot\.db"
FIXTURES = Path(__file__).parents[1] / "fixtures" / "store"


class Clock:
    def now(self) -> float:
        return 1000.0

    def monotonic(self) -> float:
        return 1000.0

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("the store does not sleep by the clock")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "beambot.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[Store]:
    async with await Store.open(path, Clock(), busy_ms=50) as opened:
        assert await opened.inbox.put(said(0)) == 1
        yield opened


def said(number: int, text: str = "hello") -> Inbound:
    return Inbound(str(number), Sender("7"), ThreadRef("chat", "room"), 5.0, TextIn(f"m{number}", text))


async def updates(store: Store) -> list[str]:
    return [item.update for _, item in await store.inbox.pending()]


@contextmanager
def plain(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


async def refused(store: Store, kind: type[StoreError]) -> None:
    """Every way of writing says the same, names the file and gives a fix; reading what is there goes on."""
    with pytest.raises(kind, match=NAME) as single:
        await store.inbox.put(said(99, "x" * 100_000))
    with pytest.raises(kind):
        async with store.transaction():
            await store.inbox.put(said(98, "x" * 100_000))
    assert single.value.fix
    failed: list[StoreError] = []

    async def put(number: int) -> None:
        try:
            await store.inbox.put(said(number, "x" * 100_000))
        except kind as error:
            failed.append(error)

    async with anyio.create_task_group() as tasks:
        for number in range(90, 95):
            tasks.start_soon(put, number)
    assert len(failed) == 5
    assert await updates(store) == ["0"]


async def works_again(store: Store) -> None:
    for number in (99, 98, 1):
        assert await store.inbox.put(said(number)) is not None
    async with store.transaction():
        await store.inbox.put(said(2))
    assert await updates(store) == ["0", "99", "98", "1", "2"]


async def test_locked_database_is_busy_until_it_is_let_go(store: Store, path: Path) -> None:
    with plain(path) as other:
        other.execute("BEGIN IMMEDIATE")
        await refused(store, StoreBusy)
        other.execute("ROLLBACK")
    await works_again(store)


async def test_opening_a_locked_database_says_that_it_is_busy(path: Path) -> None:
    async with await Store.open(path, Clock()):
        pass
    with plain(path) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreBusy, match=NAME):
            await Store.open(path, Clock(), busy_ms=50)
    async with await Store.open(path, Clock()) as store:
        assert await store.inbox.put(said(1))


async def test_full_disk_refuses_writes_until_there_is_room(store: Store) -> None:
    await store._db.writer.call(lambda conn: conn.execute("PRAGMA max_page_count = 1").fetchall())
    await refused(store, StoreFull)
    await store._db.writer.call(lambda conn: conn.execute("PRAGMA max_page_count = 1000000").fetchall())
    await works_again(store)


async def test_read_only_database_refuses_writes_until_it_can_be_written(store: Store) -> None:
    await store._db.writer.call(lambda conn: conn.execute("PRAGMA query_only = ON").fetchall())
    await refused(store, StoreReadOnly)
    await store._db.writer.call(lambda conn: conn.execute("PRAGMA query_only = OFF").fetchall())
    await works_again(store)


async def test_opening_what_the_user_may_not_write_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("beambot.store.files.os.open", forbidden)
        with pytest.raises(StoreReadOnly, match=NAME):
            await Store.open(path, Clock())
    with monkeypatch.context() as patch:
        patch.setattr("beambot.store.connection.sqlite3.connect", _connect_read_only)
        with pytest.raises(StoreReadOnly, match=NAME):
            await Store.open(path, Clock())


def _connect_read_only(path: Path, **options: object) -> sqlite3.Connection:
    return sqlite3.Connection(f"{path.as_uri()}?mode=ro", uri=True, **options)  # type: ignore[arg-type]


async def test_folder_moved_away_under_the_store_refuses_writes_until_it_is_back(store: Store, path: Path) -> None:
    away = path.parent.with_name("away")
    path.parent.rename(away)
    await refused(store, StoreMissing)
    away.rename(path.parent)
    await works_again(store)


async def test_file_replaced_under_the_store_refuses_writes(store: Store, path: Path) -> None:
    kept = path.with_name("kept")
    path.rename(kept)
    path.write_bytes(kept.read_bytes())
    with pytest.raises(StoreMissing, match="replaced"):
        await store.inbox.put(said(1))
    os.replace(kept, path)
    assert await store.inbox.put(said(1))


async def test_folder_deleted_under_the_store_is_an_error_and_not_a_silent_loss(store: Store, path: Path) -> None:
    shutil.rmtree(path.parent)
    with pytest.raises(StoreMissing, match="removed while beambot was running"):
        await store.inbox.put(said(1))


async def test_opening_without_making_says_how_to_make_one(path: Path) -> None:
    with pytest.raises(StoreMissing, match="no database"):
        await Store.open(path, Clock(), create=False)
    assert not path.parent.exists()


async def test_log_without_its_database_is_not_thrown_away(path: Path, store: Store) -> None:
    log = path.with_name("beambot.db-wal")
    before = log.read_bytes()
    assert before
    path.rename(path.with_name("lost"))
    with pytest.raises(StoreMissing, match="its log"):
        await Store.open(path, Clock())
    assert not path.exists()
    path.touch()
    with pytest.raises(StoreMissing, match="its log"):
        await Store.open(path, Clock())
    assert log.read_bytes() == before
    path.with_name("lost").rename(path)
    assert await updates(store) == ["0"]


@pytest.mark.parametrize("content", [b"garbage" * 1000, b"x", b"SQLite format 3\x00" + b"\xff" * 5000])
async def test_file_that_is_no_database_is_refused_and_left_as_it_is(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt, match=NAME):
        await Store.open(path, Clock())
    assert path.read_bytes() == content


async def test_truncated_database_is_refused_and_left_as_it_is(path: Path) -> None:
    async with await Store.open(path, Clock()) as store:
        for number in range(50):
            await store.inbox.put(said(number, "x" * 1000))
    whole = path.read_bytes()
    for length in (100, 4096, 4096 * 3, len(whole) - 4096):
        path.write_bytes(whole[:length])
        with pytest.raises(StoreCorrupt, match=NAME):
            await Store.open(path, Clock())
        assert path.read_bytes() == whole[:length]
    path.write_bytes(whole)
    async with await Store.open(path, Clock()) as store:
        assert len(await updates(store)) == 50


async def test_damaged_page_is_reported_when_it_is_read(path: Path) -> None:
    async with await Store.open(path, Clock()) as store:
        for number in range(200):
            await store.inbox.put(said(number, "x" * 1000))
    with path.open("r+b") as file:
        file.seek(-10 * 4096, os.SEEK_END)
        file.write(b"\xff" * 10 * 4096)
    async with await Store.open(path, Clock()) as store:
        with pytest.raises(StoreCorrupt, match=NAME):
            await store.inbox.pending()


async def test_database_of_another_program_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    with plain(path) as other:
        other.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with pytest.raises(StoreCorrupt, match="another program"):
        await Store.open(path, Clock())
    assert path.read_bytes() == before


@pytest.mark.parametrize("table", ["journal", "schema_version"])
async def test_missing_table_is_damage(path: Path, table: str) -> None:
    async with await Store.open(path, Clock()):
        pass
    with plain(path) as other:
        other.execute(f"DROP TABLE {table}")
    with pytest.raises(StoreCorrupt, match=NAME):
        await Store.open(path, Clock())


async def test_path_that_cannot_be_a_file_is_explained(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        await Store.open(tmp_path, Clock())
    (tmp_path / "file").touch()
    with pytest.raises(StoreMissing, match="not a folder"):
        await Store.open(tmp_path / "file" / "beambot.db", Clock())


async def test_backup_that_cannot_be_made_leaves_nothing_behind(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreMissing, match="not a folder"):
        await store.backup(tmp_path / "nowhere" / "copy.db")
    shutil.copy(store.path, tmp_path / "kept")
    store.path.rename(tmp_path / "away.db")
    with pytest.raises(StoreError):
        await store.backup(tmp_path / "copy.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["away.db", "home", "kept"]


# ── versions ─────────────────────────────────────────────────────────────────────────────────────────


def restore(dump: Path, path: Path) -> None:
    path.parent.mkdir()
    with plain(path) as connection:
        connection.executescript(dump.read_text(encoding="utf-8"))


def shape(path: Path) -> set[tuple[str, str]]:
    with plain(path) as connection:
        return set(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))


async def test_newer_database_is_refused_with_what_to_do_and_left_as_it_is(path: Path) -> None:
    async with await Store.open(path, Clock()):
        pass
    with plain(path) as other:
        other.execute("INSERT INTO schema_version VALUES (99, 0)")
    with pytest.raises(StoreTooNew, match="version 99") as error:
        await Store.open(path, Clock())
    assert "newer beambot" in error.value.fix


def test_every_released_version_has_a_dump() -> None:
    dumps = sorted(int(dump.stem[1:]) for dump in FIXTURES.glob("v*.sql"))
    assert dumps == list(range(1, len(migrations.STEPS) + 1))


@pytest.mark.parametrize("dump", sorted(FIXTURES.glob("v*.sql")), ids=lambda dump: dump.stem)
async def test_database_of_every_version_opens_with_everything_in_it(
    dump: Path, path: Path, tmp_path: Path
) -> None:
    restore(dump, path)
    async with await Store.open(path, Clock()) as store:
        (session,) = await store.sessions.recent(include_closed=True)
        assert [message.body.__class__.__name__ for message in await store.journal.read(session.id)] == [
            "SessionInit",
            "TextDelta",
            "Result",
        ]
        assert await updates(store) == ["u2"]
        assert [turn.id for turn in await store.turns.unfinished()] == ["turn1"]
        assert [ask.id for ask in await store.asks.open()] == ["ask1"]
        assert [row.key for row in await store.outbox.pending()] == ["turn:turn1:0"]
        assert [thread.session for thread in await store.threads.all()] == [session.id]
        assert (await store.members.find("chat", "7")) is not None
        assert [line.what for line in await store.audit.recent(5)] == ["session opened"]
        assert await store.inbox.put(said(1)) is not None
    async with await Store.open(tmp_path / "fresh" / "beambot.db", Clock()):
        pass
    assert shape(path) == shape(tmp_path / "fresh" / "beambot.db")


async def test_step_that_fails_leaves_the_old_version_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    restore(FIXTURES / "v1.sql", path)
    later = ("ALTER TABLE sessions ADD COLUMN colour TEXT", "ALTER TABLE nowhere ADD COLUMN x TEXT")
    before = shape(path)
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "STEPS", [*migrations.STEPS, later])
        with pytest.raises(StoreError, match="nowhere"):
            await Store.open(path, Clock())
    assert shape(path) == before
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "STEPS", [*migrations.STEPS, later[:1]])
        async with await Store.open(path, Clock()) as store:
            assert len(await store.sessions.recent(include_closed=True)) == 1
    with pytest.raises(StoreTooNew):
        await Store.open(path, Clock())
