"""Who did what: lines that only grow, bound to one another so that a change shows."""

from __future__ import annotations

import sqlite3
import struct
from hashlib import blake2b
from typing import Any

import msgspec

from beambot.log import redact
from beambot.model.ports import Clock
from beambot.store.connection import Database, Row
from beambot.store.records import AuditRow, Verdict


class Audit:
    """Who did what, for ever.

    The database itself refuses to change or delete a line. Whoever gets around that is found out: each line
    carries a hash over itself and over the hash of the line before it.
    """

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    @staticmethod
    def teach(conn: sqlite3.Connection) -> None:
        """Let a connection write lines: the hash is made by the statement that writes, under its lock."""
        conn.create_function("audit_link", 3, _link, deterministic=True)

    async def add(self, what: str, who: str, detail: dict[str, Any]) -> None:
        """One line, secrets redacted."""
        at = float(self._clock.now()) + 0.0  # SQLite knows no negative zero
        who, words = redact(who), msgspec.json.encode(_redacted(detail))
        content = _content(_TYPES, at, _bytes(what), _bytes(who), words)
        if await self._db.write(_APPEND, (at, what, who, words, content)):
            return
        async with self._db.transaction():
            # Another program may have begun the chain meanwhile.
            if not await self._db.write(_APPEND, (at, what, who, words, content)):
                await self._db.write(_BEGIN, (at, what, who, words, (await self._anchor()).encode(), content))

    async def recent(self, limit: int = 100) -> list[AuditRow]:
        """The newest first. A line that somebody damaged is still shown, as far as it can be read."""
        rows = await self._db.read(f"{_LINES} ORDER BY id DESC LIMIT ?", (limit,))
        return [
            AuditRow(id, at, _text(what), _text(who), _facts(detail), _text(chain))
            for id, at, what, who, detail, chain, _ in rows
        ]

    async def verify(self, expect: str = "") -> Verdict:
        """Read every line. `expect` is a value of the chain, or how it begins, that must still be in it."""
        highest, born_chained = await self._history()
        walk, rows = _Walk(born_chained), await self._slice(None)
        seen = not expect
        while rows:
            for row in rows:
                why = walk.step(row)
                if why:
                    return walk.verdict(broken_at=row[0], why=why)
                seen = seen or walk.newest.startswith(expect)
            rows = await self._slice(walk.last)
        if walk.last < highest:
            return walk.verdict(broken_at=walk.last + 1, why=f"the newest {_missing(walk.last, highest + 1)}")
        if not seen:
            return walk.verdict(why="the expected value is not in the chain: lines were removed or written anew")
        return walk.verdict()

    async def _anchor(self) -> str:
        """What the first link hangs on: a hash over every line that is older than the chain."""
        walk, rows = _Walk(born_chained=False), await self._slice(None)
        while rows:
            for row in rows:
                walk.skip(row)
            rows = await self._slice(walk.last)
        return walk.anchor()

    async def _slice(self, after: int | None) -> list[Row]:
        if after is None:
            return await self._db.read(f"{_LINES} ORDER BY id LIMIT ?", (_SLICE,))
        return await self._db.read(f"{_LINES} WHERE id > ? ORDER BY id LIMIT ?", (after, _SLICE))

    async def _history(self) -> tuple[int, bool]:
        """The highest number ever given, and whether the store had the chain from its first day."""
        row = await self._db.first("SELECT max(seq) FROM sqlite_sequence WHERE name = 'audit'")
        # A new store takes all its steps at the same instant.
        steps = await self._db.read("SELECT at FROM schema_version WHERE version IN (1, 3)")
        return (row[0] or 0) if row else 0, len(steps) == 2 and steps[0] == steps[1]


_SLICE = 500
# The kinds of values are part of what is hashed, and read in a way that no damaged value can upset.
_TYPES = b"real text text blob text"
_LINES = (
    "SELECT id, CASE typeof(at) WHEN 'real' THEN at ELSE 0.0 END, CAST(what AS BLOB), CAST(who AS BLOB),"
    " CAST(detail AS BLOB), CAST(chain AS BLOB), CAST(typeof(at) || ' ' || typeof(what) || ' ' || typeof(who)"
    " || ' ' || typeof(detail) || ' ' || typeof(chain) AS BLOB) FROM audit"
)
# A number is never given twice, also when lines were removed: the gap stays visible.
_NEXT = (
    "(SELECT max(coalesce((SELECT max(id) FROM audit), 0),"
    " coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = 'audit'), 0)) + 1 AS id) AS next"
)
_APPEND = (
    "INSERT INTO audit (id, at, what, who, detail, chain)"  # noqa: S608 our own words
    " SELECT next.id, ?, ?, ?, ?, audit_link(CAST(last.chain AS BLOB), next.id, ?)"
    f" FROM {_NEXT}, (SELECT chain FROM audit ORDER BY id DESC LIMIT 1) AS last"
    " WHERE last.chain <> '' RETURNING id"
)
_BEGIN = (
    "INSERT INTO audit (id, at, what, who, detail, chain)"  # noqa: S608
    f" SELECT next.id, ?, ?, ?, ?, audit_link(?, next.id, ?) FROM {_NEXT}"
)


class _Walk:
    """Reads the lines of the audit in order, and says what is wrong with the first that is not right."""

    def __init__(self, born_chained: bool) -> None:
        self.last = 0
        self.newest = ""
        self._born_chained = born_chained
        self._count = self._before = 0
        self._older = ""

    def step(self, row: Row) -> str:
        """One more line: nothing, or what is wrong with it."""
        id, _, _, _, _, chain, _ = row
        self._count += 1
        if id < 1:
            return "it was put in by another program: numbers begin at 1"
        if id != self.last + 1:
            return f"{_missing(self.last, id)} before it"
        if not chain:
            if self.newest or self._born_chained:
                return "it was written around the chain, by another program or an older beambot"
            self.skip(row)
            self._before += 1
            return ""
        expected = _link((self.newest or self.anchor()).encode(), id, _content_of(row))
        if chain != expected.encode():
            older = (
                f", or one of the {self._before} lines before it is not" if self._before and not self.newest else ""
            )
            return f"it is not what was written{older}"
        self.last, self.newest = id, expected
        return ""

    def skip(self, row: Row) -> None:
        """A line that is older than the chain."""
        self.last = row[0]
        self._older = _link(self._older.encode(), self.last, _content_of(row))

    def anchor(self) -> str:
        """No line has the number 0, so this is the hash of none."""
        return _link(self._older.encode(), 0, b"")

    def verdict(self, broken_at: int | None = None, why: str = "") -> Verdict:
        """What was found."""
        return Verdict(
            whole=not why,
            count=self._count,
            broken_at=broken_at,
            why=why,
            newest=self.newest,
            before=self._before,
        )


def _missing(before: int, after: int) -> str:
    first, last = before + 1, after - 1
    return f"line {first} is missing" if first == last else f"lines {first} to {last} are missing"


def _link(before: bytes, id: int, content: bytes) -> str:
    return blake2b(_packed(before, str(id).encode(), content), digest_size=32).hexdigest()


def _content(types: bytes, at: float, *parts: bytes) -> bytes:
    return blake2b(_packed(types, struct.pack(">d", at), *parts), digest_size=32).digest()


def _content_of(row: Row) -> bytes:
    _, at, what, who, detail, _, types = row
    return _content(types or b"", at, what or b"", who or b"", detail or b"")


def _packed(*parts: bytes) -> bytes:
    """Each with its length, so that no two lists of parts look the same."""
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # what cannot be kept is refused by the database


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


def _facts(data: bytes | None) -> dict[str, Any]:
    try:
        return msgspec.json.decode(data or b"", type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {"unreadable": _text(data)}


def _redacted(value: Any) -> Any:
    match value:
        case str():
            return redact(value)
        case dict():
            return {redact(str(key)): _redacted(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_redacted(item) for item in value]
        case None | bool() | int() | float():
            return value
        case _:
            return redact(str(value))
