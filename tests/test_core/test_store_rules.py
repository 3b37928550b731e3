"""Rules and votes as they are kept, and the columns that asks gained beside them."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from beambot.errors import StoreBusy, StoreError, StoreReadOnly
from beambot.store import AskRow, RuleRow, SessionRow, Store, VoteRow

FIXTURES = Path(__file__).parents[1] / "fixtures" / "store"


class Clock:
    def now(self) -> float:
        return 1000.0

    def monotonic(self) -> float:
        return 1000.0

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("the store does not sleep by the clock")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(tmp_path / "beambot.db", Clock(), busy_ms=50) as opened:
        await opened.sessions.add(SessionRow(id="s1", project="shop", adapter="x", folder="/src"))
        await opened.asks.add(an_ask("ask1"))
        yield opened


def an_ask(id: str, **more: object) -> AskRow:
    fields: dict[str, object] = {"session": "s1", "turn": "t", "agent_ask": f"a-{id}", "kind": "permission_request"}
    return AskRow(**{"id": id, "body": b"{}", "created_at": 1.0, **fields, **more})  # type: ignore[arg-type]


def a_rule(id: str, **more: object) -> RuleRow:
    fields: dict[str, object] = {"allow": True, "scope": "prefix", "tool": "execute", "value": "git status"}
    return RuleRow(**{"id": id, "made_by": "Ann", "made_at": 5.0, **fields, **more})  # type: ignore[arg-type]


async def holding(store: Store, project: str = "shop", session: str = "s1", now: float = 100.0) -> list[str]:
    return [rule.id for rule in await store.rules.live(project, session, now)]


# ── rules ────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_rule_comes_back_as_it_was_made(store: Store) -> None:
    whole = a_rule(
        "r1",
        allow=False,
        project="shop",
        session="s1",
        turn="t1",
        until=200.0,
        used_at=6.0,
        used_for="git status -s",
        revoked_by="Bob",
        revoked_at=7.0,
    )
    await store.rules.add(whole)
    await store.rules.add(a_rule("r2"))
    assert await store.rules.get("r1") == whole
    assert await store.rules.all() == [a_rule("r2"), whole]
    assert await store.rules.all(1) == [a_rule("r2")]
    assert {type(rule.allow) for rule in await store.rules.all()} == {bool}
    assert await store.rules.get("r3") is None


async def test_a_rule_holds_where_it_was_made_for(store: Store) -> None:
    await store.rules.add(a_rule("everywhere"))
    await store.rules.add(a_rule("shop", project="shop"))
    await store.rules.add(a_rule("site", project="site"))
    await store.rules.add(a_rule("s1", project="shop", session="s1"))
    await store.rules.add(a_rule("s2", project="shop", session="s2"))
    await store.rules.add(a_rule("turn", project="shop", session="s1", turn="t9"))
    assert await holding(store) == ["everywhere", "shop", "s1", "turn"]
    assert await holding(store, session="s2") == ["everywhere", "shop", "s2"]
    assert await holding(store, "site", "s3") == ["everywhere", "site"]
    assert await holding(store, "other", "s1") == ["everywhere"]


async def test_a_rule_ends_at_its_time(store: Store) -> None:
    await store.rules.add(a_rule("hour", until=100.0))
    assert await holding(store, now=99.9) == ["hour"]
    assert await holding(store, now=100.0) == []


async def test_a_rule_is_revoked_once_and_stays_in_the_list(store: Store) -> None:
    await store.rules.add(a_rule("r1"))
    assert await store.rules.revoke("r1", "Bob", 50.0)
    assert not await store.rules.revoke("r1", "Eve", 60.0)
    assert not await store.rules.revoke("unknown", "Eve", 60.0)
    assert await holding(store) == []
    (rule,) = await store.rules.all()
    assert (rule.revoked_by, rule.revoked_at) == ("Bob", 50.0)


async def test_what_a_rule_last_let_through_is_kept_without_secrets(store: Store) -> None:
    await store.rules.add(a_rule("r1"))
    await store.rules.used("r1", 20.0, "git status")
    await store.rules.used("r1", 30.0, "curl -H sk-abcdefghijklmnopqrstuvwx")
    rule = await store.rules.get("r1")
    assert rule == replace(a_rule("r1"), used_at=30.0, used_for="curl -H [redacted]")


async def test_two_rules_cannot_share_an_id(store: Store) -> None:
    await store.rules.add(a_rule("r1"))
    with pytest.raises(StoreError):
        await store.rules.add(a_rule("r1", allow=False))
    assert [rule.allow for rule in await store.rules.all()] == [True]


names = st.sampled_from(["", "a", "b"])
rules = st.builds(
    RuleRow,
    id=st.uuids().map(str),
    allow=st.booleans(),
    scope=st.just("tool"),
    tool=st.text(max_size=3),
    value=st.text(),
    project=names,
    session=names,
    until=st.none() | st.floats(0, 20),
    revoked_at=st.none() | st.floats(0, 20),
)


@settings(max_examples=30, deadline=None)
@given(st.lists(rules, max_size=8, unique_by=lambda rule: rule.id), names, names, st.floats(0, 20))
def test_no_rule_holds_that_ended_or_belongs_elsewhere(
    made: list[RuleRow], project: str, session: str, now: float
) -> None:
    async def play() -> None:
        async with await Store.open(Path(folder) / "beambot.db", Clock()) as store:
            for rule in made:
                await store.rules.add(rule)
            assert await store.rules.live(project, session, now) == [
                rule
                for rule in made
                if rule.revoked_at is None
                and (rule.until is None or now < rule.until)
                and rule.project in ("", project)
                and rule.session in ("", session)
            ]

    with tempfile.TemporaryDirectory() as folder:
        anyio.run(play)


# ── votes ────────────────────────────────────────────────────────────────────────────────────────────


async def test_each_member_votes_once_and_the_newest_vote_stands(store: Store) -> None:
    assert await store.votes.add("ask1", "Bob", b"yes", 2.0)
    assert await store.votes.add("ask1", "Ann", b"yes", 1.0)
    assert not await store.votes.add("ask1", "Bob", b"no", 3.0)
    assert await store.votes.of("ask1") == [
        VoteRow("ask1", "Ann", b"yes", 1.0),
        VoteRow("ask1", "Bob", b"no", 3.0),
    ]
    assert await store.votes.of("ask2") == []


async def test_a_vote_pressed_twice_at_the_same_instant_counts_once(store: Store) -> None:
    counted: list[bool] = []

    async def vote(opened: Store) -> None:
        counted.append(await opened.votes.add("ask1", "Ann", b"yes", 1.0))

    async with await Store.open(store.path, Clock()) as other, anyio.create_task_group() as tasks:
        for number in range(40):
            tasks.start_soon(vote, (store, other)[number % 2])
    assert sorted(counted) == [False] * 39 + [True]
    assert len(await store.votes.of("ask1")) == 1


async def test_nobody_votes_on_what_was_never_asked(store: Store) -> None:
    with pytest.raises(StoreError):
        await store.votes.add("unknown", "Ann", b"yes", 1.0)


# ── asks ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_ask_keeps_what_was_asked_and_who_may_answer(store: Store) -> None:
    whole = an_ask("ask2", digest="d1", risks='["network"]', may_answer='{"of":["Ann"],"needed":2}', until=9.0)
    await store.asks.add(whole)
    assert await store.asks.get("ask2") == whole
    plain = await store.asks.get("ask1")
    assert plain is not None
    assert (plain.digest, plain.risks, plain.may_answer, plain.until, plain.reminded_at) == ("", "", "", None, None)


async def test_people_are_reminded_of_an_ask_once_and_never_of_a_settled_one(store: Store) -> None:
    await store.asks.add(an_ask("ask2"))
    await store.asks.settle("ask2", state="void", at=2.0)
    assert [await store.asks.remind("ask1", at) for at in (3.0, 4.0)] == [True, False]
    assert not await store.asks.remind("ask2", 3.0)
    assert not await store.asks.remind("unknown", 3.0)
    ask = await store.asks.get("ask1")
    assert ask is not None
    assert ask.reminded_at == 3.0


async def test_there_is_one_draft_for_an_ask_and_the_newest_stands(store: Store) -> None:
    assert await store.drafts.get("ask1") is None
    await store.drafts.put("ask1", b"one", 1.0)
    await store.drafts.put("ask1", b"two", 2.0)
    assert await store.drafts.get("ask1") == b"two"
    with pytest.raises(StoreError):
        await store.drafts.put("unknown", b"x", 1.0)


# ── older stores and failures ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("dump", ["v1.sql", "v2.sql", "v3.sql", "v4.sql"])
async def test_older_stores_take_rules_and_votes(dump: str, tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    connection.executescript((FIXTURES / dump).read_text(encoding="utf-8"))
    connection.close()
    async with await Store.open(path, Clock()) as store:
        before = [rule.id for rule in await store.rules.all()]
        assert before == (["rule1"] if dump >= "v3.sql" else [])
        assert len(await store.votes.of("ask1")) == len(before)
        await store.rules.add(a_rule("new"))
        assert await store.votes.add("ask1", "Bob", b"yes", 1.0)
        assert await store.asks.remind("ask1", 2.0)
        assert await holding(store) == [*before, "new"]


async def test_a_locked_store_refuses_rules_and_votes_and_goes_on_afterwards(store: Store) -> None:
    other = sqlite3.connect(store.path, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy):
            await store.rules.add(a_rule("r1"))
        with pytest.raises(StoreBusy):
            await store.votes.add("ask1", "Ann", b"yes", 1.0)
        other.execute("ROLLBACK")
    finally:
        other.close()
    await store.rules.add(a_rule("r1"))
    assert await store.votes.add("ask1", "Ann", b"yes", 1.0)


async def test_a_read_only_store_still_tells_its_rules(store: Store) -> None:
    await store.rules.add(a_rule("r1"))
    await store._db.writer.call(lambda conn: conn.execute("PRAGMA query_only = ON").fetchall())
    with pytest.raises(StoreReadOnly):
        await store.rules.revoke("r1", "Ann", 1.0)
    assert await holding(store) == ["r1"]
