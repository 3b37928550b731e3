"""What the store promises to its neighbours while nothing is wrong."""

from __future__ import annotations

import sqlite3
import stat
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from beambot.errors import StoreError
from beambot.model.bodies import Result, TextDelta
from beambot.model.ids import ThreadRef
from beambot.model.inbound import Inbound, Sender, TextIn
from beambot.model.message import UnifiedMessage
from beambot.model.outbound import Notice, Outgoing
from beambot.store import AskRow, MemberRow, SessionRow, Store, TurnRow, content_hash

HERE = ThreadRef("chat", "room", "topic")


class Clock:
    def __init__(self) -> None:
        self.time = 1000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(tmp_path: Path, clock: Clock) -> AsyncIterator[Store]:
    async with await Store.open(tmp_path / "home" / "beambot.db", clock) as opened:
        await opened.sessions.add(a_session("s1"))
        yield opened


def a_session(id: str, **more: object) -> SessionRow:
    return SessionRow(**{"id": id, "project": "shop", "adapter": "x", "folder": "/src", **more})  # type: ignore[arg-type]


def said(update: str, text: str = "hello", thread: ThreadRef = HERE) -> Inbound:
    return Inbound(update, Sender("7", "Ann"), thread, 5.0, TextIn(f"m{update}", text))


def an_ask(id: str, session: str = "s1") -> AskRow:
    return AskRow(
        id=id, session=session, turn="t", agent_ask=f"a-{id}", kind="permission_request", body=b"{}", created_at=1.0
    )


def note(text: str, key: str = "turn:1:0") -> Outgoing:
    return Outgoing(key, (Notice(text),))


# ── the file ─────────────────────────────────────────────────────────────────────────────────────────


async def test_folder_and_file_are_private_to_the_user(store: Store) -> None:
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700
    for name in ("beambot.db", "beambot.db-wal", "beambot.db-shm"):
        assert stat.S_IMODE((store.path.parent / name).stat().st_mode) == 0o600


async def test_closing_twice_is_safe_and_what_was_written_is_there_on_reopening(store: Store, clock: Clock) -> None:
    await store.inbox.put(said("1"))
    await store.close()
    await store.close()
    async with await Store.open(store.path, clock) as again:
        assert [item.update for _, item in await again.inbox.pending()] == ["1"]


async def test_using_a_closed_store_says_so(store: Store) -> None:
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.inbox.put(said("1"))
    with pytest.raises(StoreError, match="closed"):
        await store.inbox.pending()


async def test_backup_is_a_complete_private_copy_and_replaces_nothing(
    store: Store, clock: Clock, tmp_path: Path
) -> None:
    target = tmp_path / "copy.db"
    await store.inbox.put(said("1"))
    await store.backup(target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "home"]
    before = target.read_bytes()
    with pytest.raises(StoreError, match="exists already"):
        await store.backup(target)
    assert target.read_bytes() == before
    async with await Store.open(target, clock) as copy:
        assert len(await copy.inbox.pending()) == 1


async def test_backup_taken_during_writes_holds_whole_transactions(
    store: Store, clock: Clock, tmp_path: Path
) -> None:
    async def write() -> None:
        for number in range(150):
            async with store.transaction():
                await store.freezes.put("left", number + 10.0)
                await store.freezes.put("right", number + 10.0)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        for number in range(5):
            await store.backup(tmp_path / f"copy{number}.db")
    for number in range(5):
        async with await Store.open(tmp_path / f"copy{number}.db", clock) as copy:
            found = await copy.freezes.all(0.0)
            assert found.get("left") == found.get("right")


# ── transactions ─────────────────────────────────────────────────────────────────────────────────────


async def test_transaction_sees_its_own_writes_and_others_do_not(store: Store) -> None:
    seen: list[int] = []
    async with anyio.create_task_group() as tasks:

        async def look() -> None:
            seen.append(len(await store.inbox.pending()))

        async with store.transaction():
            await store.inbox.put(said("1"))
            assert len(await store.inbox.pending()) == 1
            tasks.start_soon(look)
            while not seen:
                await anyio.sleep(0)
    assert seen == [0]
    assert len(await store.inbox.pending()) == 1


async def test_exception_in_a_transaction_undoes_all_of_it(store: Store) -> None:
    async def fails() -> None:
        async with store.transaction():
            await store.inbox.put(said("1"))
            async with store.transaction():
                await store.inbox.put(said("2"))
            raise KeyError

    with pytest.raises(KeyError):
        await fails()
    assert await store.inbox.pending() == []
    assert await store.inbox.put(said("1")) is not None


async def test_swallowed_error_inside_a_transaction_still_undoes_it(store: Store) -> None:
    with pytest.raises(StoreError, match="none of it was kept"):  # noqa: PT012
        async with store.transaction():
            await store.inbox.put(said("1"))
            with pytest.raises(StoreError):
                await store.sessions.add(a_session("s1"))
            with pytest.raises(StoreError, match="already failed"):
                await store.inbox.put(said("2"))
    assert await store.inbox.pending() == []


async def test_cancelled_transaction_leaves_nothing_and_blocks_nobody(store: Store) -> None:
    with anyio.move_on_after(0):
        async with store.transaction():
            await store.inbox.put(said("1"))
            await anyio.sleep_forever()
    for _ in range(20):
        with anyio.CancelScope() as scope:
            async with store.transaction():
                scope.cancel()
                await store.inbox.put(said("2"))
    assert await store.inbox.pending() == []
    with anyio.fail_after(5):
        assert await store.inbox.put(said("3"))


async def test_task_started_inside_a_transaction_is_not_part_of_it(store: Store) -> None:
    async with anyio.create_task_group() as tasks:
        with pytest.raises(KeyError):  # noqa: PT012
            async with store.transaction():
                tasks.start_soon(store.inbox.put, said("1"))
                await anyio.sleep(0.01)
                raise KeyError
    assert [item.update for _, item in await store.inbox.pending()] == ["1"]


async def test_one_bad_write_among_many_at_once_spoils_no_other(store: Store) -> None:
    refused: list[str] = []

    async def add(id: str) -> None:
        try:
            await store.sessions.add(a_session(id, title="\ud800" if id == "odd" else ""))
        except StoreError:
            refused.append(id)

    async with anyio.create_task_group() as tasks:
        for id in ("a", "s1", "b", "odd", "c"):
            tasks.start_soon(add, id)
    assert sorted(refused) == ["odd", "s1"]
    assert {row.id for row in await store.sessions.recent()} == {"a", "b", "c", "s1"}


async def test_cancelled_writer_takes_nobody_with_it(store: Store) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(30):

            async def put(number: int = number) -> None:
                with anyio.CancelScope() as scope:
                    if number % 3 == 0:
                        tasks.start_soon(cancel, scope)
                    await store.inbox.put(said(str(number)))

            async def cancel(scope: anyio.CancelScope) -> None:
                scope.cancel()

            tasks.start_soon(put)
    there = {item.update for _, item in await store.inbox.pending()}
    assert {str(number) for number in range(30) if number % 3} <= there


async def test_writer_cancelled_on_the_way_to_the_disk_takes_nobody_with_it(store: Store) -> None:
    go = threading.Event()
    scopes = [anyio.CancelScope() for _ in range(4)]

    async def put(number: int) -> None:
        with scopes[number]:
            await store.inbox.put(said(str(number)))

    async def hold_up() -> None:
        await store._db.writer.call(lambda _: go.wait(5))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            async with store.transaction():
                for number in range(4):
                    tasks.start_soon(put, number)
                await anyio.sleep(0.01)
                tasks.start_soon(hold_up)
            await anyio.sleep(0.01)
            scopes[0].cancel()
            scopes[2].cancel()
            await anyio.sleep(0.01)
            go.set()
    assert {"1", "3"} <= {item.update for _, item in await store.inbox.pending()}
    assert await store.inbox.put(said("9"))


# ── inbox, journal, asks ─────────────────────────────────────────────────────────────────────────────


async def test_update_is_taken_once_however_often_it_comes(store: Store) -> None:
    first = await store.inbox.put(said("1"))
    assert first is not None
    assert await store.inbox.put(said("1", "other words")) is None
    assert await store.inbox.put(said("1", thread=ThreadRef("other", "room"))) is not None
    await store.inbox.done(first, "prompt")
    assert await store.inbox.put(said("1")) is None
    assert [item.platform for _, item in await store.inbox.pending()] == ["other"]


async def test_journal_reads_in_order_by_page_and_by_turn(store: Store) -> None:
    assert await store.journal.last_seq("s1") == 0
    messages = [
        UnifiedMessage(TextDelta(f"w{seq}"), turn="t1" if seq < 6 else "t2", session="s1", seq=seq, at=1.5)
        for seq in range(1, 10)
    ]
    await store.journal.append([*messages, UnifiedMessage(Result(), turn="t2", session="s1", seq=10)])
    assert await store.journal.last_seq("s1") == 10
    assert await store.journal.read("s1", after_seq=2, limit=3) == messages[2:5]
    assert await store.journal.turn("s1", "t1") == messages[:5]


async def test_journal_takes_all_of_a_batch_or_nothing(store: Store) -> None:
    one = UnifiedMessage(TextDelta("a"), session="s1", seq=1)
    await store.journal.append([one])
    await store.journal.append([])
    with pytest.raises(StoreError):
        await store.journal.append([UnifiedMessage(TextDelta("b"), session="s1", seq=2), one])
    assert await store.journal.last_seq("s1") == 1


async def test_fifty_presses_at_once_have_one_winner_who_is_remembered(store: Store) -> None:
    await store.asks.add(an_ask("k"))
    won: list[str] = []

    async def press(who: str) -> None:
        if await store.asks.claim("k", by=who, outcome="allowed", answer=who.encode(), at=9.0):
            won.append(who)

    async with anyio.create_task_group() as tasks:
        for number in range(50):
            tasks.start_soon(press, f"p{number}")
    assert len(won) == 1
    row = await store.asks.get("k")
    assert row is not None
    assert (row.state, row.by, row.answer, row.settled_at) == ("answered", won[0], won[0].encode(), 9.0)


async def test_settled_ask_stays_settled(store: Store) -> None:
    await store.asks.add(an_ask("k1"))
    await store.asks.add(an_ask("k2"))
    assert [row.id for row in await store.asks.open("s1")] == ["k1", "k2"]
    assert await store.asks.by_agent("s1", "a-k1") == an_ask("k1")
    assert await store.asks.settle("k1", state="void", note="agent died", at=2.0)
    assert not await store.asks.claim("k1", by="me", outcome="allowed", answer=b"", at=3.0)
    assert not await store.asks.settle("k1", state="cancelled", at=3.0)
    assert await store.asks.by_agent("s1", "a-k1") is None
    assert [row.id for row in await store.asks.open()] == ["k2"]


# ── sessions, threads, turns ─────────────────────────────────────────────────────────────────────────


async def test_sessions_come_newest_used_first_and_by_their_first_letters(store: Store) -> None:
    await store.sessions.add(a_session("ab1", used_at=5.0))
    await store.sessions.add(a_session("ab2", used_at=9.0, state="closed"))
    await store.sessions.update("s1", used_at=7.0, state="working", title="new")
    assert [row.id for row in await store.sessions.recent()] == ["s1", "ab1"]
    assert [row.id for row in await store.sessions.recent(2, include_closed=True)] == ["ab2", "s1"]
    assert [row.id for row in await store.sessions.starting_with("ab")] == ["ab1", "ab2"]
    found = await store.sessions.get("s1")
    assert found == a_session("s1", used_at=7.0, state="working", title="new")
    assert await store.sessions.get("zz") is None


async def test_only_names_of_fields_can_be_updated(store: Store) -> None:
    for strange in ({"colour": "x"}, {"title = 'x' --": 1}, {}):
        with pytest.raises(ValueError, match="cannot be updated"):
            await store.sessions.update("s1", **strange)


async def test_thread_is_bound_parked_and_found_by_its_session(store: Store) -> None:
    assert await store.threads.get(HERE) is None
    assert (await store.threads.ensure(HERE, True)).private
    await store.threads.bind(HERE, "s1")
    await store.threads.update(HERE, parked="the bot was removed", title="shop")
    row = await store.threads.ensure(HERE, True)
    assert (row.session, row.title, row.parked, row.created_at) == ("s1", "shop", "the bot was removed", 1000.0)
    assert await store.threads.of_session("s1") == [row] == await store.threads.all()
    await store.threads.bind(HERE, None)
    assert await store.threads.of_session("s1") == []


async def test_slashes_in_names_do_not_make_two_threads_one(store: Store) -> None:
    one, other = ThreadRef("chat", "a/b", ""), ThreadRef("chat", "a", "b/")
    assert one.key == other.key
    await store.threads.bind(one, "s1")
    assert await store.threads.get(other) is None


async def test_turn_changes_state_only_from_the_expected_one(store: Store) -> None:
    await store.turns.add(TurnRow(id="t1", session="s1", thread=HERE, message="m1", files=b"\x00x"))
    await store.turns.add(TurnRow(id="t2", session="s1", origin="agent"))
    assert [row.id for row in await store.turns.queued("s1")] == ["t1", "t2"]
    assert await store.turns.update("t1", expect=("queued",), state="handed", started_at=4.0)
    assert not await store.turns.update("t1", expect="queued", state="cancelled")
    assert not await store.turns.update("nobody", state="cancelled")
    assert await store.turns.update("t2", expect=("queued", "handed"), state="done", ended_at=5.0)
    assert [row.id for row in await store.turns.unfinished()] == ["t1"]
    found = await store.turns.by_message(HERE, "m1")
    assert found is not None
    assert (found.id, found.thread, found.files, found.started_at) == ("t1", HERE, b"\x00x", 4.0)
    last = await store.turns.last("s1")
    assert last is not None
    assert (last.id, last.thread) == ("t2", None)


async def test_projects_are_exactly_those_of_the_configuration(store: Store, tmp_path: Path) -> None:
    await store.projects.sync([("shop", tmp_path), ("old", tmp_path)])
    await store.projects.sync([("shop", tmp_path / "x")])
    assert await store.projects.all() == [("shop", str(tmp_path / "x"))]


# ── outbox, shown, freezes ───────────────────────────────────────────────────────────────────────────


async def test_newest_content_keeps_its_place_in_the_outbox(store: Store) -> None:
    (first, _) = await store.outbox.put(HERE, note("one"), 1)
    (second, _) = await store.outbox.put(HERE, note("card", "ask:1"), 0)
    await store.outbox.mark(first, attempts=3, uncertain=True)
    assert await store.outbox.put(HERE, note("two"), 2) == (first, True)
    rows = await store.outbox.pending(HERE)
    assert [row.id for row in rows] == [first, second]
    assert (rows[0].outgoing, rows[0].attempts, rows[0].uncertain) == (note("two"), 0, True)
    assert await store.outbox.pending(ThreadRef("chat", "elsewhere")) == []


async def test_confirmation_of_old_content_leaves_the_newer_in_the_outbox(store: Store) -> None:
    (number, _) = await store.outbox.put(HERE, note("one"), 1)
    await store.outbox.put(HERE, note("two"), 1)
    assert not await store.outbox.done(number, content_hash(note("one")))
    assert await store.outbox.count() == 1
    assert await store.outbox.done(number, content_hash(note("two")))
    assert not await store.outbox.done(number)
    assert (await store.outbox.put(HERE, note("three"), 1))[0] > number


async def test_what_is_shown_is_found_by_name_by_message_and_by_thread(store: Store) -> None:
    for page in range(2):
        await store.shown.put(HERE, f"turn:1:{page}", f"m{page}", "h")
    await store.shown.put(HERE, "turn:10:0", "m9", "h")
    await store.shown.put(HERE, "turn:1:0", "m0", "h2")
    found = await store.shown.get(HERE, "turn:1:0")
    assert found is not None
    assert (found.message, found.hash) == ("m0", "h2")
    assert await store.shown.by_message(HERE, "m0") == found
    assert await store.shown.standing_in("turn:1:0") == [HERE]
    await store.shown.remove(HERE, "turn:1:0")
    assert await store.shown.get(HERE, "turn:1:0") is None


async def test_freeze_holds_until_its_time(store: Store) -> None:
    await store.freezes.put("chat/room", 50.0)
    await store.freezes.put("chat/other", 10.0)
    await store.freezes.put("chat/room", 60.0)
    assert await store.freezes.all(10.0) == {"chat/room": 60.0}
    assert await store.freezes.all(0.0) == {"chat/room": 60.0}


# ── people ───────────────────────────────────────────────────────────────────────────────────────────


async def test_members_of_the_configuration_are_replaced_and_paired_ones_stay(store: Store, clock: Clock) -> None:
    await store.members.sync([MemberRow("me", "owner", {"chat": "1"}), MemberRow("old", "observer", {"chat": "2"})])
    await store.members.put(MemberRow("ann", "participant", {"chat": "3"}, "paired"))
    clock.time = 2000.0
    await store.members.sync([MemberRow("me", "owner", {"chat": "9", "web": "1"})])
    assert await store.members.find("chat", "1") is None
    assert await store.members.find("chat", "2") is None
    me = await store.members.find("web", "1")
    assert me == MemberRow("me", "owner", {"chat": "9", "web": "1"}, "config", 1000.0)
    assert [row.name for row in await store.members.all()] == ["ann", "me"]
    await store.members.remove("ann")
    assert await store.members.by_name("ann") is None
    assert await store.members.find("chat", "3") is None


async def test_identity_paired_to_a_configured_member_survives_the_next_start(store: Store) -> None:
    await store.members.sync([MemberRow("me", "owner", {"chat": "1"})])
    await store.members.put(MemberRow("me", "owner", {"chat": "1", "web": "w"}, "paired"))
    await store.members.sync([MemberRow("me", "approver", {"chat": "1"})])
    found = await store.members.find("web", "w")
    assert found is not None
    assert (found.name, found.role, found.source) == ("me", "approver", "config")


async def test_stranger_who_paired_under_a_name_does_not_inherit_that_name_s_role(store: Store) -> None:
    await store.members.put(MemberRow("boss", "observer", {"web": "666"}, "paired"))
    await store.members.sync([MemberRow("boss", "owner", {"chat": "1"})])
    assert await store.members.find("web", "666") is None


async def test_identity_belongs_to_one_member(store: Store) -> None:
    await store.members.put(MemberRow("ann", "observer", {"chat": "1"}, "paired"))
    await store.members.put(MemberRow("bob", "observer", {"chat": "1"}, "paired"))
    found = await store.members.find("chat", "1")
    assert found is not None
    assert found.name == "bob"


async def test_right_code_claims_an_invitation_once_however_it_is_typed(store: Store) -> None:
    number = await store.pairings.create("K7PQ-22", role=None, expires_at=1100.0)
    assert await store.pairings.live()
    row = await store.pairings.attempt(" k7pq 22", "chat", "7", "Ann", 1001.0)
    assert row is not None
    assert (row.id, row.state, row.platform, row.identity, row.name) == (number, "claimed", "chat", "7", "Ann")
    assert not await store.pairings.live()
    assert await store.pairings.attempt("K7PQ-22", "chat", "8", "Eve", 1001.0) is None
    await store.pairings.settle(number, "participant")
    settled = await store.pairings.get(number)
    assert settled is not None
    assert (settled.state, settled.role) == ("granted", "participant")
    await store.pairings.settle(number, None)
    assert await store.pairings.get(number) == settled


async def test_five_wrong_tries_end_an_invitation(store: Store) -> None:
    number = await store.pairings.create("RIGHT", role="owner", expires_at=1100.0)
    for _ in range(5):
        assert await store.pairings.attempt("WRONG" * 1000, "chat", "7", "Eve", 1001.0) is None
    assert await store.pairings.attempt("RIGHT", "chat", "7", "Eve", 1001.0) is None
    row = await store.pairings.get(number)
    assert row is not None
    assert row.state == "void"


async def test_expired_or_replaced_code_opens_nothing(store: Store, clock: Clock) -> None:
    await store.pairings.create("FIRST", role=None, expires_at=1100.0)
    second = await store.pairings.create("SECOND", role=None, expires_at=1100.0)
    assert await store.pairings.attempt("FIRST", "chat", "7", "Ann", 1001.0) is None
    clock.time = 1100.0
    assert not await store.pairings.live()
    assert await store.pairings.attempt("SECOND", "chat", "7", "Ann", clock.now()) is None
    await store.pairings.settle(second, "owner")
    row = await store.pairings.get(second)
    assert row is not None
    assert row.state == "open"


async def test_codes_are_not_in_the_file(store: Store) -> None:
    await store.pairings.create("K7PQ22XY", role=None, expires_at=1100.0)
    path = store.path
    await store.close()
    assert b"K7PQ22XY" not in path.read_bytes()


async def test_audit_only_grows_and_holds_no_secret(store: Store) -> None:
    await store.audit.add("paired", "me", {"token": ["sk-abcdefghijklmnopqrstuvwx"], "n": 1})
    await store.audit.add("asked", "me", {})
    newest, oldest = await store.audit.recent(10)
    assert (newest.what, oldest.what, oldest.at) == ("asked", "paired", 1000.0)
    assert oldest.detail == {"token": ["[redacted]"], "n": 1}
    other = sqlite3.connect(store.path)
    try:
        for sql in ("DELETE FROM audit", "UPDATE audit SET who = 'x'"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                other.execute(sql)
            other.rollback()
    finally:
        other.close()
