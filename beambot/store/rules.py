"""What people decided for later, what they answer together, and what they have begun to answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from beambot.log import redact
from beambot.store.connection import Database
from beambot.store.records import RuleRow, VoteRow


class Rules:
    """Standing answers. A rule ends by its time or by being revoked; its line stays."""

    _FIELDS = RuleRow.__struct_fields__
    _COLUMNS = ", ".join(_FIELDS)

    def __init__(self, db: Database) -> None:
        self._db = db

    async def add(self, row: RuleRow) -> None:
        """From now on."""
        marks = ", ".join("?" for _ in self._FIELDS)
        await self._db.write(
            f"INSERT INTO rules ({self._COLUMNS}) VALUES ({marks})",  # noqa: S608 names of columns
            [getattr(row, name) for name in self._FIELDS],
        )

    async def get(self, id: str) -> RuleRow | None:
        """By its own id."""
        rows = await self._rows("WHERE id = ?", (id,))
        return rows[0] if rows else None

    async def live(self, project: str, session: str, now: float) -> list[RuleRow]:
        """Those that hold in this session now, oldest first. Rules of a single turn are among them."""
        return await self._rows(
            "WHERE revoked_at IS NULL AND (until IS NULL OR until > ?)"
            " AND project IN ('', ?) AND session IN ('', ?) ORDER BY n",
            (now, project, session),
        )

    async def all(self, limit: int = 100) -> list[RuleRow]:
        """The newest first, also those that have ended."""
        return await self._rows("ORDER BY n DESC LIMIT ?", (limit,))

    async def revoke(self, id: str, by: str, at: float) -> bool:
        """End it. False: there is no such rule, or it was revoked already."""
        rows = await self._db.write(
            "UPDATE rules SET revoked_by = ?, revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING n",
            (by, at, id),
        )
        return bool(rows)

    async def used(self, id: str, at: float, for_what: str) -> None:
        """What it decided last, secrets redacted."""
        await self._db.write("UPDATE rules SET used_at = ?, used_for = ? WHERE id = ?", (at, redact(for_what), id))

    async def _rows(self, rest: str, args: Sequence[Any]) -> list[RuleRow]:
        rows = await self._db.read(f"SELECT {self._COLUMNS} FROM rules {rest}", args)  # noqa: S608
        found = (dict(zip(self._FIELDS, row, strict=True)) for row in rows)
        return [RuleRow(**{**row, "allow": bool(row["allow"])}) for row in found]


class Votes:
    """Answers to asks that need more than one person. Nobody counts twice."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def add(self, ask: str, member: str, answer: bytes, at: float) -> bool:
        """True: their first. Else it stands in place of the one before."""
        rows = await self._db.write(
            "INSERT INTO votes (ask, member, answer, at) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (ask, member) DO NOTHING RETURNING ask",
            (ask, member, answer, at),
        )
        if not rows:
            await self._db.write(
                "UPDATE votes SET answer = ?, at = ? WHERE ask = ? AND member = ?", (answer, at, ask, member)
            )
        return bool(rows)

    async def of(self, ask: str) -> list[VoteRow]:
        """In the order in which they were given."""
        rows = await self._db.read(
            "SELECT ask, member, answer, at FROM votes WHERE ask = ? ORDER BY at, member", (ask,)
        )
        return [VoteRow(*row) for row in rows]


class Drafts:
    """Answers that are not given yet, one for each ask."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def get(self, ask: str) -> bytes | None:
        """What was begun."""
        row = await self._db.first("SELECT content FROM drafts WHERE ask = ?", (ask,))
        return row[0] if row else None

    async def put(self, ask: str, content: bytes, at: float) -> None:
        """In place of what was there."""
        await self._db.write(
            "INSERT INTO drafts (ask, content, at) VALUES (?, ?, ?)"
            " ON CONFLICT (ask) DO UPDATE SET content = excluded.content, at = excluded.at",
            (ask, content, at),
        )
