"""The audit as a chain: what was written is bound together, and whoever changes it is found out."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import struct
import sys
import tempfile
import textwrap
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beambot.errors import StoreBusy, StoreError, StoreReadOnly
from beambot.model.ids import ThreadRef
from beambot.model.inbound import Inbound, Sender, TextIn
from beambot.store import Store, Verdict, audit

FIXTURES = Path(__file__).parents[1] / "fixtures" / "store"


class Clock:
    def __init__(self, time: float = 1000.0) -> None:
        self.time = time

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("the store does not sleep by the clock")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "beambot.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[Store]:
    async with await Store.open(path, Clock(), busy_ms=50) as opened:
        yield opened


@contextmanager
def plain(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def tampering(path: Path) -> Iterator[sqlite3.Connection]:
    """Somebody with the file in their hands: the triggers do not stop them, and are put back."""
    with plain(path) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        yield connection
        for _, sql in triggers:
            connection.execute(sql)


def restore(dump: str, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    with plain(path) as connection:
        connection.executescript((FIXTURES / dump).read_text(encoding="utf-8"))


async def write(store: Store, *words: str) -> None:
    for word in words:
        await store.audit.add("answered", word, {"what": word, "n": 1})


async def verdict(path: Path, expect: str = "") -> Verdict:
    async with await Store.open(path, Clock()) as store:
        return await store.audit.verify(expect)


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────


async def test_an_audit_of_nothing_is_whole(store: Store) -> None:
    assert await store.audit.verify() == Verdict(whole=True, count=0)


async def test_every_line_carries_another_value_and_the_newest_is_told(store: Store) -> None:
    await write(store, "Ann", "Bob", "Ann")
    lines = await store.audit.recent()
    assert len({line.chain for line in lines}) == 3
    assert all(len(line.chain) == 64 for line in lines)
    found = await store.audit.verify()
    assert (found.whole, found.count, found.newest, found.before) == (True, 3, lines[0].chain, 0)


async def test_the_values_are_the_documented_hashes(store: Store) -> None:
    """Computed once more, from the description: a hash over the one before, the number and the content."""

    def packed(*parts: bytes) -> bytes:
        return b"".join(len(part).to_bytes(8, "big") + part for part in parts)

    def digest(data: bytes) -> bytes:
        return hashlib.blake2b(data, digest_size=32).digest()

    await store.audit.add("answered", "Ann", {"n": 1})

    content = digest(
        packed(b"real text text blob text", struct.pack(">d", 1000.0), b"answered", b"Ann", b'{"n":1}')
    )
    anchor = digest(packed(b"", b"0", b"")).hex()
    assert (await store.audit.recent())[0].chain == digest(packed(anchor.encode(), b"1", content)).hex()


@pytest.mark.parametrize("time", [0.0, -0.0, 5, 1e300, -1.5, 1700000000.123456])
async def test_any_time_of_the_clock_is_kept_as_it_was_hashed(tmp_path: Path, time: float) -> None:
    async with await Store.open(tmp_path / "beambot.db", Clock(time)) as store:
        await write(store, "Ann", "Bob")
        assert (await store.audit.verify()).whole


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.text(), st.text(), st.dictionaries(st.text(), st.integers() | st.text())), max_size=6))
def test_whatever_is_written_is_whole(lines: list[tuple[str, str, dict[str, int | str]]]) -> None:
    async def play(path: Path) -> None:
        async with await Store.open(path, Clock()) as store:
            for what, who, detail in lines:
                await store.audit.add(what, who, detail)
            found = await store.audit.verify()
            assert (found.whole, found.count) == (True, len(lines)), found

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder) / "beambot.db"))


async def test_a_text_that_cannot_be_kept_is_refused_and_harms_no_line(store: Store) -> None:
    await write(store, "Ann")
    with pytest.raises(StoreError):
        await store.audit.add("answered", "\ud800", {})
    await write(store, "Bob")
    assert (await store.audit.verify()).count == 2


async def test_lines_that_are_committed_together_are_chained_in_their_order(store: Store) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(200):
            tasks.start_soon(write, store, str(number))
            if number % 3 == 0:
                tasks.start_soon(store.freezes.put, str(number), 1.0)
    found = await store.audit.verify()
    assert (found.whole, found.count) == (True, 200)


async def test_one_failing_write_of_a_batch_leaves_the_chain_whole(store: Store) -> None:
    await write(store, "first")
    failed: list[Exception] = []

    async def vote_on_nothing() -> None:
        try:
            await store.votes.add("no such ask", "Ann", b"{}", 1.0)
        except StoreError as error:
            failed.append(error)

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(write, store, str(number))
            tasks.start_soon(vote_on_nothing)
    assert len(failed) == 20
    found = await store.audit.verify()
    assert (found.whole, found.count) == (True, 21)


async def test_a_transaction_that_fails_takes_its_lines_with_it_and_leaves_no_gap(store: Store) -> None:
    async def fail() -> None:
        async with store.transaction():
            await write(store, "lost", "lost too")
            raise RuntimeError

    await write(store, "kept")
    with pytest.raises(RuntimeError):
        await fail()
    async with store.transaction():
        await write(store, "kept", "kept")
    found = await store.audit.verify()
    assert (found.whole, found.count) == (True, 3)
    assert {line.who for line in await store.audit.recent()} == {"kept"}


async def test_verifying_goes_on_while_lines_are_written(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "_SLICE", 3)
    await write(store, *map(str, range(20)))
    found: list[Verdict] = []

    async def look() -> None:
        for _ in range(10):
            found.append(await store.audit.verify())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(look)
        tasks.start_soon(write, store, *map(str, range(40)))
    assert [one for one in found if not one.whole] == []
    assert (await store.audit.verify()).count == 60


WRITER = """
import asyncio, sys, time
from pathlib import Path
from beambot.store import Store

class Clock:
    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(asyncio.sleep)

async def main():
    async with await Store.open(Path(sys.argv[1]), Clock()) as store:
        async def lane(number):
            for count in range(15):
                await store.audit.add("answered", sys.argv[2], {"lane": number, "count": count})
        await asyncio.gather(*(lane(number) for number in range(4)))

asyncio.run(main())
"""


@pytest.mark.parametrize("old", [False, True], ids=["new store", "store from before the chain"])
async def test_programs_that_write_at_once_make_one_chain(path: Path, old: bool) -> None:
    if old:
        restore("v2.sql", path)
    processes = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", textwrap.dedent(WRITER), str(path), name)
        for name in ("a", "b", "c")
    ]
    with anyio.fail_after(60):
        assert [await process.wait() for process in processes] == [0, 0, 0]
    found = await verdict(path)
    assert (found.whole, found.count, found.before) == (True, 180 + old, int(old))


async def test_two_connections_that_take_turns_see_each_others_lines(store: Store, path: Path) -> None:
    async with await Store.open(path, Clock()) as other:
        for _ in range(10):
            await write(store, "here")
            await write(other, "there")
        assert (await other.audit.verify()) == (await store.audit.verify())
        assert (await store.audit.verify()).count == 20


# ── changing what was written ────────────────────────────────────────────────────────────────────────


FIELDS = ("id", "at", "what", "who", "detail", "chain")
VALUES = st.one_of(
    st.text(max_size=5),
    st.binary(max_size=5),
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False),
    st.sampled_from(["", "0" * 64, "Ann", b"Ann", b'{"n":1}', 1000.0, 7]),
)


@pytest.mark.parametrize("dump", ["", "v1.sql", "v2.sql"], ids=["new", "v1", "v2"])
@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.sampled_from(FIELDS), VALUES)
def test_any_change_of_any_field_of_any_line_is_found(
    dump: str, line: int, field: str, value: str | bytes | int | float
) -> None:
    async def play(path: Path) -> None:
        if dump:
            restore(dump, path)
        async with await Store.open(path, Clock()) as store:
            await write(store, "Ann", "Bob", "Ann", "Eve", "Ann", "Bob")
        kinds = ", ".join(f"typeof({name}), {name}" for name in FIELDS)
        with tampering(path) as connection:
            before = connection.execute(f"SELECT {kinds} FROM audit ORDER BY id").fetchall()
            try:
                connection.execute(f"UPDATE audit SET {field} = ? WHERE id = ?", (value, line))
            except sqlite3.IntegrityError:
                return  # a number that is taken, or a number that is none
            after = connection.execute(f"SELECT {kinds} FROM audit ORDER BY id").fetchall()
        found = await verdict(path)
        assert found.whole == (before == after), found
        assert found.whole == (found.broken_at is None)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder) / "beambot.db"))


def every_order() -> list[tuple[int, int]]:
    return [(one, other) for one in range(1, 6) for other in range(one + 1, 6)]


@pytest.mark.parametrize(("one", "other"), every_order())
async def test_two_lines_that_changed_places_are_found(path: Path, one: int, other: int) -> None:
    async with await Store.open(path, Clock()) as store:
        await write(store, "a", "b", "c", "d", "e")
    with tampering(path) as connection:
        for old, new in ((one, 99), (other, one), (99, other)):
            connection.execute("UPDATE audit SET id = ? WHERE id = ?", (new, old))
    found = await verdict(path)
    assert (found.whole, found.broken_at) == (False, one)


Tampering = Callable[[sqlite3.Connection], object]


def run(*statements: str) -> Tampering:
    return lambda connection: [connection.execute(statement) for statement in statements]


@pytest.mark.parametrize(
    ("tamper", "at", "why"),
    [
        (run("DELETE FROM audit WHERE id = 3"), 4, "line 3 is missing before it"),
        (run("DELETE FROM audit WHERE id IN (1, 2)"), 3, "lines 1 to 2 are missing before it"),
        (run("DELETE FROM audit WHERE id = 3", "UPDATE audit SET id = id - 1 WHERE id > 3"), 3, "not what was"),
        (run("DELETE FROM audit WHERE id > 3"), 4, "the newest lines 4 to 5 are missing"),
        (run("DELETE FROM audit"), 1, "the newest lines 1 to 5 are missing"),
        (run("UPDATE audit SET chain = ''"), 1, "around the chain"),
        (run("UPDATE audit SET chain = '' WHERE id = 5"), 5, "around the chain"),
        (run("INSERT INTO audit SELECT 0, at, what, who, detail, chain FROM audit WHERE id = 1"), 0, "put in"),
        (
            run("INSERT INTO audit SELECT -9223372036854775808, at, what, who, detail, '' FROM audit WHERE id = 1"),
            -(2**63),
            "put in",
        ),
        (
            run("INSERT INTO audit (at, what, who, detail) SELECT at, what, who, detail FROM audit WHERE id = 5"),
            6,
            "around",
        ),
        (run("INSERT INTO audit SELECT 6, at, what, who, detail, chain FROM audit WHERE id = 5"), 6, "not what"),
        (run("UPDATE audit SET what = CAST(what AS BLOB) WHERE id = 2"), 2, "not what was written"),
        (run("UPDATE audit SET who = CAST(X'FF00FE' AS TEXT) WHERE id = 2"), 2, "not what was written"),
        (run("UPDATE audit SET at = 'never' WHERE id = 2"), 2, "not what was written"),
        (run("UPDATE audit SET what = who, who = what WHERE id = 2"), 2, "not what was written"),
    ],
)
async def test_what_was_done_to_the_lines_is_said(path: Path, tamper: Tampering, at: int, why: str) -> None:
    async with await Store.open(path, Clock()) as store:
        await write(store, "a", "b", "c", "d", "e")
    with tampering(path) as connection:
        tamper(connection)
    found = await verdict(path)
    assert (found.whole, found.broken_at) == (False, at)
    assert why in found.why


async def test_a_line_put_between_two_others_is_found(path: Path) -> None:
    async with await Store.open(path, Clock()) as store:
        await write(store, "a", "b", "c")
    with tampering(path) as connection:
        connection.execute("UPDATE audit SET id = 4 WHERE id = 3")
        connection.execute("INSERT INTO audit SELECT 3, at, what, 'Eve', detail, chain FROM audit WHERE id = 2")
    found = await verdict(path)
    assert (found.whole, found.broken_at) == (False, 3)


async def test_removed_newest_lines_stay_visible_after_others_were_written(path: Path) -> None:
    async with await Store.open(path, Clock()) as store:
        await write(store, "a", "b", "c")
    with tampering(path) as connection:
        connection.execute("DELETE FROM audit WHERE id > 1")
    async with await Store.open(path, Clock()) as store:
        await write(store, "d", "e")
    found = await verdict(path)
    assert (found.broken_at, found.why) == (4, "lines 2 to 3 are missing before it")


async def test_a_noted_value_finds_what_the_file_alone_cannot_show(path: Path) -> None:
    async with await Store.open(path, Clock()) as store:
        await write(store, "a", "b")
        noted = (await store.audit.verify()).newest
        await write(store, "c")
        assert (await store.audit.verify(noted)).whole
        assert (await store.audit.verify(noted[:16])).whole
    with tampering(path) as connection:
        connection.execute("DELETE FROM audit WHERE id > 1")
        connection.execute("UPDATE sqlite_sequence SET seq = 1 WHERE name = 'audit'")
    assert (await verdict(path)).whole
    found = await verdict(path, noted)
    assert (found.whole, found.broken_at) == (False, None)
    assert "expected value" in found.why


async def test_a_break_is_found_however_far_away_it_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "_SLICE", 4)
    async with await Store.open(path, Clock()) as store:
        async with store.transaction():
            await write(store, *map(str, range(21)))
    for line in (4, 5, 8, 21):
        with tampering(path) as connection:
            connection.execute("UPDATE audit SET who = who || '!' WHERE id = ?", (line,))
        found = await verdict(path)
        assert (found.broken_at, found.count) == (line, line)
        with tampering(path) as connection:
            connection.execute("UPDATE audit SET who = rtrim(who, '!') WHERE id = ?", (line,))
        assert (await verdict(path)).whole


@pytest.mark.parametrize("chain", ["X'FF00'", "X''", "CAST(X'FF' AS TEXT)", "''", "7"])
async def test_a_damaged_end_does_not_keep_new_lines_from_being_written(path: Path, chain: str) -> None:
    async with await Store.open(path, Clock()) as store:
        await write(store, "a", "b")
    with tampering(path) as connection:
        connection.execute(f"UPDATE audit SET chain = {chain} WHERE id = 2")
    async with await Store.open(path, Clock()) as store:
        await write(store, "c", "d")
        assert [line.who for line in await store.audit.recent()] == ["d", "c", "b", "a"]
        assert (await store.audit.verify()).broken_at == 2


async def test_damaged_lines_are_still_shown(path: Path) -> None:
    async with await Store.open(path, Clock()) as store:
        await write(store, "a", "b", "c", "d")
    with tampering(path) as connection:
        connection.execute("UPDATE audit SET detail = X'FF7B', who = CAST(X'FF' AS TEXT) WHERE id = 1")
        connection.execute("UPDATE audit SET detail = '[1]', at = 'never' WHERE id = 2")
        connection.execute("UPDATE audit SET detail = ? WHERE id = 3", (b"[" * 100_000,))
    async with await Store.open(path, Clock()) as store:
        four, three, two, one = await store.audit.recent()
    assert four.detail == {"what": "d", "n": 1}
    assert all("unreadable" in line.detail for line in (one, two, three))
    assert (one.who, two.at) == ("\ufffd", 0.0)


# ── stores from before the chain ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("dump", ["v1.sql", "v2.sql", "v3.sql", "v4.sql"])
async def test_lines_from_before_the_chain_are_bound_by_the_first_link(dump: str, path: Path) -> None:
    restore(dump, path)
    async with await Store.open(path, Clock()) as store:
        found = await store.audit.verify()
        assert (found.whole, found.count, found.before, found.newest) == (True, 1, 1, "")
        await write(store, "Ann", "Bob")
        found = await store.audit.verify()
        assert (found.whole, found.count, found.before) == (True, 3, 1)
        assert [line.chain != "" for line in await store.audit.recent()] == [True, True, False]
    with tampering(path) as connection:
        connection.execute("UPDATE audit SET who = 'you' WHERE id = 1")
    found = await verdict(path)
    assert (found.whole, found.broken_at) == (False, 2)
    assert "one of the 1 lines before it" in found.why


async def test_many_old_lines_are_bound_in_slices(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "_SLICE", 3)
    restore("v2.sql", path)
    with plain(path) as connection:
        line = ("INSERT INTO audit (at, what, who, detail) VALUES (1.0, 'x', ?, X'7B7D')",)
        for number in range(10):
            connection.execute(*line, (str(number),))
    async with await Store.open(path, Clock()) as store:
        await write(store, "Ann")
        found = await store.audit.verify()
        assert (found.whole, found.count, found.before) == (True, 12, 11)
    for old in range(1, 12):
        with tampering(path) as connection:
            connection.execute("UPDATE audit SET what = what || '!' WHERE id = ?", (old,))
        assert (await verdict(path)).broken_at == 12
        with tampering(path) as connection:
            connection.execute("UPDATE audit SET what = rtrim(what, '!') WHERE id = ?", (old,))


# ── failures ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("lines", [0, 2], ids=["first line", "later line"])
async def test_a_locked_store_takes_no_line_and_goes_on_afterwards(store: Store, path: Path, lines: int) -> None:
    await write(store, *map(str, range(lines)))
    with plain(path) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy):
            await write(store, "Ann")
        assert (await store.audit.verify()).count == lines
        other.execute("ROLLBACK")
    await write(store, "Ann")
    found = await store.audit.verify()
    assert (found.whole, found.count) == (True, lines + 1)


@pytest.mark.parametrize("lines", [0, 2], ids=["first line", "later line"])
async def test_a_read_only_store_can_still_be_verified(store: Store, lines: int) -> None:
    await write(store, *map(str, range(lines)))
    await store._db.writer.call(lambda conn: conn.execute("PRAGMA query_only = ON").fetchall())
    with pytest.raises(StoreReadOnly):
        await write(store, "Ann")
    found = await store.audit.verify()
    assert (found.whole, found.count) == (True, lines)
    await store._db.writer.call(lambda conn: conn.execute("PRAGMA query_only = OFF").fetchall())
    await write(store, "Ann")
    assert (await store.audit.verify()).count == lines + 1


async def test_a_line_cancelled_on_its_way_is_there_whole_or_not_at_all(store: Store) -> None:
    await write(store, "first")
    for _ in range(20):
        with anyio.move_on_after(0):
            await write(store, "maybe")
        await write(store, "surely")
    found = await store.audit.verify()
    assert found.whole
    assert found.count >= 21


async def test_a_copy_is_verified_like_the_original(store: Store, tmp_path: Path) -> None:
    await write(store, "Ann", "Bob")
    await store.backup(tmp_path / "copy.db")
    assert await verdict(tmp_path / "copy.db") == await store.audit.verify()


async def test_other_tables_do_not_disturb_the_numbers(store: Store) -> None:
    for number in range(5):
        await store.inbox.put(Inbound(str(number), Sender("7"), ThreadRef("chat", "c"), 1.0, TextIn("m", "hi")))
    await write(store, "Ann")
    assert [line.id for line in await store.audit.recent()] == [1]


async def test_a_line_reads_as_a_sentence(store: Store) -> None:
    detail = {
        "ask": "a1",
        "outcome": "allowed",
        "taken": True,
        "what": "run\n  git push",
        "who else": ["Bob", None],
    }
    await store.audit.add("answered_late", "Ann", detail)
    (line,) = await store.audit.recent()
    assert line.in_words() == "answered late · allowed · run git push · ask a1 · taken yes · who else Bob, -"
