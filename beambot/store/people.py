"""Who is known, who is being invited, and what they chose."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Sequence
from hashlib import blake2b

from beambot.log import get_logger
from beambot.model.ports import Clock
from beambot.store.connection import Database, Row
from beambot.store.records import MemberRow, PairingRow

log = get_logger("store")
MAX_TRIES = 5


class Members:
    """People with their roles. The configuration's own are replaced at each start; paired ones stay."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def sync(self, members: Sequence[MemberRow]) -> None:
        """What the configuration says now."""
        names = {member.name for member in members}
        async with self._db.transaction():
            known = await self.all()
            for row in known:
                if row.source == "config" and row.name not in names:
                    await self.remove(row.name)
                elif row.source == "paired" and row.name in names:
                    # Somebody else chose this name while pairing, and must not inherit the role given here.
                    log.warning("a paired member gives way to one of the configuration", name=row.name)
                    await self.remove(row.name)
            await self._db.write("DELETE FROM identities WHERE source = 'config'")
            for member in members:
                await self._put(member, "config")

    async def put(self, row: MemberRow) -> None:
        """Add or change one. Its identities are exactly these; an identity of another member moves here."""
        async with self._db.transaction():
            known = await self.by_name(row.name)
            for platform in known.identities if known else ():
                if platform not in row.identities:
                    await self._db.write(
                        "DELETE FROM identities WHERE member = ? AND platform = ?", (row.name, platform)
                    )
            await self._put(row, known.source if known else row.source)

    async def _put(self, row: MemberRow, source: str) -> None:
        await self._db.write(
            "INSERT INTO members (name, role, source, added_at) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (name) DO UPDATE SET role = excluded.role, source = excluded.source",
            (row.name, row.role, source, row.added_at or self._clock.now()),
        )
        for platform, identity in row.identities.items():
            same = await self._db.first(
                "SELECT 1 FROM identities WHERE platform = ? AND identity = ? AND member = ?",
                (platform, identity, row.name),
            )
            if same and row.source == "paired":
                continue
            await self._db.write(
                "DELETE FROM identities WHERE platform = ? AND (identity = ? OR member = ?)",
                (platform, identity, row.name),
            )
            await self._db.write(
                "INSERT INTO identities (platform, identity, member, source) VALUES (?, ?, ?, ?)",
                (platform, identity, row.name, row.source),
            )

    async def find(self, platform: str, identity: str) -> MemberRow | None:
        """Who is this?"""
        row = await self._db.first(
            "SELECT member FROM identities WHERE platform = ? AND identity = ?", (platform, identity)
        )
        return await self.by_name(row[0]) if row else None

    async def by_name(self, name: str) -> MemberRow | None:
        """One of them."""
        rows = await self._db.read(f"{_MEMBERS} WHERE m.name = ?", (name,))
        return next(iter(_grouped(rows)), None)

    async def all(self) -> list[MemberRow]:
        """Everyone, by name."""
        return _grouped(await self._db.read(f"{_MEMBERS} ORDER BY m.name, i.platform"))

    async def remove(self, name: str) -> None:
        """Not known any more."""
        await self._db.write("DELETE FROM members WHERE name = ?", (name,))


_MEMBERS = (
    "SELECT m.name, m.role, m.source, m.added_at, i.platform, i.identity"
    " FROM members m LEFT JOIN identities i ON i.member = m.name"
)


def _grouped(rows: Sequence[Row]) -> list[MemberRow]:
    found: dict[str, MemberRow] = {}
    for name, role, source, added_at, platform, identity in rows:
        member = found.setdefault(name, MemberRow(name, role, {}, source, added_at))
        if platform is not None:
            member.identities[platform] = identity
    return list(found.values())


class Pairings:
    """Invitations by one-time code. One is live at a time; five wrong tries end it."""

    _COLUMNS = "id, state, role, platform, identity, name, expires_at"

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def create(self, code: str, *, role: str | None, expires_at: float) -> int:
        """A new invitation; an earlier one that nobody used is void."""
        salt = secrets.token_bytes(16)
        async with self._db.transaction():
            await self._db.write("UPDATE pairings SET state = 'void' WHERE state = 'open'")
            rows = await self._db.write(
                "INSERT INTO pairings (state, salt, code, tries, role, platform, identity, name, expires_at)"
                " VALUES ('open', ?, ?, 0, ?, '', '', '', ?) RETURNING id",
                (salt, _digest(code, salt), role, expires_at),
            )
        number: int = rows[0][0]
        return number

    async def live(self) -> bool:
        """Does any code work now?"""
        row = await self._db.first(
            "SELECT 1 FROM pairings WHERE state = 'open' AND expires_at > ?", (self._clock.now(),)
        )
        return row is not None

    async def attempt(
        self, code: str, sender_platform: str, sender_id: str, sender_name: str, at: float
    ) -> PairingRow | None:
        """The right code claims the invitation for this sender; a wrong one counts."""
        async with self._db.transaction():
            live = await self._db.read(
                "SELECT id, salt, code FROM pairings WHERE state = 'open' AND expires_at > ?", (at,)
            )
            for id, salt, digest in live:
                if hmac.compare_digest(_digest(code, salt), digest):
                    rows = await self._db.write(
                        "UPDATE pairings SET state = 'claimed', platform = ?, identity = ?, name = ?,"
                        " claimed_at = ? WHERE id = ? AND state = 'open'"
                        " RETURNING id, state, role, platform, identity, name, expires_at",
                        (sender_platform, sender_id, sender_name, at, id),
                    )
                    return PairingRow(*rows[0]) if rows else None
                await self._db.write(
                    "UPDATE pairings SET tries = tries + 1,"
                    " state = CASE WHEN tries + 1 >= ? THEN 'void' ELSE state END WHERE id = ?",
                    (MAX_TRIES, id),
                )
        return None

    async def get(self, id: int) -> PairingRow | None:
        """By its number."""
        row = await self._db.first(f"SELECT {self._COLUMNS} FROM pairings WHERE id = ?", (id,))  # noqa: S608
        return PairingRow(*row) if row else None

    async def settle(self, id: int, role: str | None) -> None:
        """The owner has decided: a role, or none. An invitation that nobody used can only be withdrawn."""
        if role is None:
            await self._db.write(
                "UPDATE pairings SET state = CASE WHEN state = 'open' THEN 'void' ELSE 'refused' END"
                " WHERE id = ? AND state IN ('open', 'claimed')",
                (id,),
            )
        else:
            await self._db.write(
                "UPDATE pairings SET state = 'granted', role = ? WHERE id = ? AND state = 'claimed'",
                (role, id),
            )


def _digest(code: str, salt: bytes) -> bytes:
    # People type codes with spaces, dashes and small letters; strangers type novels.
    plain = "".join(letter for letter in code[:200].upper() if letter.isalnum())
    return blake2b(plain.encode(), salt=salt).digest()


class Preferences:
    """What a person chose for themselves."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def put(self, member: str, name: str, value: str) -> None:
        """From now on."""
        await self._db.write(
            "INSERT INTO preferences (member, name, value) VALUES (?, ?, ?)"
            " ON CONFLICT (member, name) DO UPDATE SET value = excluded.value",
            (member, name, value),
        )

    async def get(self, member: str, name: str) -> str:
        """What was chosen, or nothing."""
        row = await self._db.first("SELECT value FROM preferences WHERE member = ? AND name = ?", (member, name))
        return row[0] if row else ""
