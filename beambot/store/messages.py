"""What came in, what agents said, and what they ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from beambot.log import get_logger
from beambot.model import inbound as inbound_model
from beambot.model import message as message_model
from beambot.model.ids import ThreadRef
from beambot.model.inbound import AttachmentIn, CommandIn, Inbound, TextIn
from beambot.model.message import UnifiedMessage
from beambot.model.ports import Clock
from beambot.store.connection import Database
from beambot.store.records import AskRow

log = get_logger("store")

# What became of an answer: the words in which it is noted.
TAKEN, NOT_TAKEN, RESTARTED, GIVEN_AGAIN = (
    "taken",
    "the agent did not take the answer",
    "beambot was restarted",
    "given again",
)


class InboxRepo:
    """Updates of the chats: written down first, acknowledged and handled afterwards."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def put(self, inbound: Inbound) -> int | None:
        """Its number here; None when this update was seen before. On return it is on the disk."""
        body, ref = inbound.body, inbound.thread
        # A press, an edit and a deletion name a message too, but are not that message.
        message = body.message if isinstance(body, TextIn | CommandIn | AttachmentIn) else None
        rows = await self._db.write(
            "INSERT INTO inbox (platform, update_id, chat, thread, message, payload, state, note,"
            " received_at) VALUES (?, ?, ?, ?, ?, ?, 'pending', '', ?)"
            " ON CONFLICT (platform, update_id) DO NOTHING RETURNING id",
            (
                ref.platform,
                inbound.update,
                ref.chat,
                ref.thread,
                message,
                inbound_model.encode(inbound),
                self._clock.now(),
            ),
        )
        return rows[0][0] if rows else None

    async def pending(self) -> list[tuple[int, Inbound]]:
        """What nobody has handled yet, in the order in which it came."""
        found: list[tuple[int, Inbound]] = []
        for id, payload in await self._db.read("SELECT id, payload FROM inbox WHERE state = 'pending' ORDER BY id"):
            try:
                found.append((id, inbound_model.decode(payload)))
            except msgspec.MsgspecError as error:
                log.error("an inbound update in the store cannot be read; it stays there", id=id, error=str(error))
        return found

    async def done(self, id: int, note: str = "") -> None:
        """It was handled; `note` says how."""
        await self._db.write(
            "UPDATE inbox SET state = 'done', note = ?, done_at = ? WHERE id = ?",
            (note, self._clock.now(), id),
        )

    async def last_at(self, thread: ThreadRef) -> float:
        """When something last came from this thread; 0 when nothing ever did."""
        row = await self._db.first(
            "SELECT max(received_at) FROM inbox WHERE platform = ? AND chat = ? AND thread = ?",
            (thread.platform, thread.chat, thread.thread),
        )
        return row[0] or 0.0 if row else 0.0


class Journal:
    """Everything durable that agents said, numbered by session."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def append(self, messages: Sequence[UnifiedMessage]) -> None:
        """All of them or none; a number that is taken is an error."""
        await self._db.write_many(
            "INSERT INTO journal (session, seq, turn, payload) VALUES (?, ?, ?, ?)",
            [(item.session, item.seq, item.turn, message_model.encode(item)) for item in messages],
        )

    async def read(self, session: str, after_seq: int = 0, limit: int = 1000) -> list[UnifiedMessage]:
        """The next messages after a number."""
        rows = await self._db.read(
            "SELECT payload FROM journal WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?",
            (session, after_seq, limit),
        )
        return [message_model.decode(row[0]) for row in rows]

    async def turn(self, session: str, turn_id: str) -> list[UnifiedMessage]:
        """Everything of one turn."""
        rows = await self._db.read(
            "SELECT payload FROM journal WHERE session = ? AND turn = ? ORDER BY seq", (session, turn_id)
        )
        return [message_model.decode(row[0]) for row in rows]

    async def last_seq(self, session: str) -> int:
        """The newest number; 0 when nothing was said yet."""
        row = await self._db.first(
            "SELECT seq FROM journal WHERE session = ? ORDER BY seq DESC LIMIT 1", (session,)
        )
        return row[0] if row else 0


class Asks:
    """What waits for a human. Each is settled once, by whoever comes first."""

    _FIELDS = AskRow.__struct_fields__
    _COLUMNS = ", ".join("by_member" if name == "by" else name for name in _FIELDS)

    def __init__(self, db: Database) -> None:
        self._db = db

    async def add(self, row: AskRow) -> None:
        """A new one."""
        marks = ", ".join("?" for _ in self._FIELDS)
        await self._db.write(
            f"INSERT INTO asks ({self._COLUMNS}) VALUES ({marks})",  # noqa: S608 names of columns
            [getattr(row, name) for name in self._FIELDS],
        )

    async def get(self, id: str) -> AskRow | None:
        """By its own id."""
        rows = await self._rows("WHERE id = ?", (id,))
        return rows[0] if rows else None

    async def by_agent(self, session: str, agent_ask: str) -> AskRow | None:
        """The open ask that the agent knows by this id."""
        rows = await self._rows(
            "WHERE session = ? AND agent_ask = ? AND state = 'open' ORDER BY n DESC LIMIT 1",
            (session, agent_ask),
        )
        return rows[0] if rows else None

    async def open(self, session: str | None = None) -> list[AskRow]:
        """What still waits, oldest first."""
        if session is None:
            return await self._rows("WHERE state = 'open' ORDER BY n", ())
        return await self._rows("WHERE state = 'open' AND session = ? ORDER BY n", (session,))

    async def of_turn(self, turn: str) -> list[AskRow]:
        """Every ask of one turn, oldest first."""
        return await self._rows("WHERE turn = ? ORDER BY n", (turn,))

    async def unheard(self, session: str, digest: str, since: float) -> AskRow | None:
        """The newest answer to the same request that did not reach the agent, if it is not older than this."""
        rows = await self._rows(
            "WHERE session = ? AND digest = ? AND state = 'answered' AND settled_at >= ?"
            " AND note IN (?, ?) ORDER BY n DESC LIMIT 1",
            (session, digest, since, NOT_TAKEN, RESTARTED),
        )
        return rows[0] if rows else None

    async def settled(self, limit: int) -> list[AskRow]:
        """What was settled last, newest first."""
        return await self._rows("WHERE state != 'open' ORDER BY settled_at DESC LIMIT ?", (limit,))

    async def note(self, id: str, note: str) -> None:
        """What became of the answer."""
        await self._db.write("UPDATE asks SET note = ? WHERE id = ?", (note, id))

    async def remind(self, id: str, at: float) -> bool:
        """Note that people are reminded of it. True once, for one caller, while it waits."""
        rows = await self._db.write(
            "UPDATE asks SET reminded_at = ? WHERE id = ? AND state = 'open' AND reminded_at IS NULL RETURNING n",
            (at, id),
        )
        return bool(rows)

    async def claim(self, id: str, *, by: str, outcome: str, answer: bytes, at: float) -> bool:
        """Answer it. True for exactly one caller, however many try."""
        rows = await self._db.write(
            "UPDATE asks SET state = 'answered', by_member = ?, outcome = ?, answer = ?, settled_at = ?"
            " WHERE id = ? AND state = 'open' RETURNING n",
            (by, outcome, answer, at, id),
        )
        return bool(rows)

    async def settle(
        self, id: str, *, state: Literal["cancelled", "void", "answered"], note: str = "", at: float
    ) -> bool:
        """Close it without a person's answer. False: it was settled already."""
        rows = await self._db.write(
            "UPDATE asks SET state = ?, note = ?, settled_at = ? WHERE id = ? AND state = 'open' RETURNING n",
            (state, note, at, id),
        )
        return bool(rows)

    async def _rows(self, rest: str, args: Sequence[Any]) -> list[AskRow]:
        rows = await self._db.read(f"SELECT {self._COLUMNS} FROM asks {rest}", args)  # noqa: S608
        return [AskRow(**dict(zip(self._FIELDS, row, strict=True))) for row in rows]
