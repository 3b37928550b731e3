"""Asks: written down, shown in every thread, answered by the right person, once, even after a restart."""

from __future__ import annotations

import msgspec

from beambot.flow.asks.answering import Answering
from beambot.flow.asks.board import SAME, Board, decode
from beambot.flow.asks.drafts import Drafts
from beambot.flow.asks.endings import answer_of
from beambot.flow.asks.hearing import Hearing
from beambot.flow.asks.settling import Settling
from beambot.flow.asks.watch import Watch
from beambot.flow.house import House
from beambot.flow.permits import Permits
from beambot.flow.sessions import Sessions
from beambot.model.bodies import LoginRequest, PermissionRequest, PlanReview, Question
from beambot.model.ids import ThreadRef
from beambot.model.message import Ask
from beambot.render import asks as cards
from beambot.store.messages import NOT_TAKEN, RESTARTED
from beambot.store.records import SENT_AGAIN, AskKind, AskRow

_encoder = msgspec.json.Encoder(order="deterministic")
_KINDS: dict[type, AskKind] = {
    PermissionRequest: "permission_request",
    Question: "question",
    PlanReview: "plan_review",
    LoginRequest: "login_request",
}
# How long an answer that an agent never heard may still be given to it.
_STILL_GOOD = 3600.0
# Of what was settled before a start, only the newest can have been cut off before its card was drawn.
_REDRAWN = 20


class Asks:
    """The desk where asks come in and answers go out."""

    def __init__(self, house: House, sessions: Sessions) -> None:
        self._house = house
        self._sessions = sessions
        self._permits = Permits(house)
        self._drafts = Drafts(house)
        self._board = Board(house, self._drafts, self._permits)
        self._settling = Settling(house, sessions, self._board)
        self._answering = Answering(house, self._board, self._settling)
        hearing = Hearing(
            house, sessions, self._permits, self._drafts, self._board, self._settling, self._answering
        )
        self.pressed, self.filled, self.replied = hearing.pressed, hearing.filled, hearing.replied
        self.run = Watch(house, self._settling).run

    # ── from the agent ───────────────────────────────────────────────────────────────────────────

    async def opened(self, session: str, turn: str, body: Ask) -> None:
        """An agent asks. A rule may have settled it, and so may an answer that did not reach it the first time."""
        store, now = self._house.store, self._house.clock.now()
        where = await store.sessions.get(session)
        if where is None:
            return
        wanted = await self._permits.look_at(where, turn, body)
        known = await store.asks.by_agent(session, body.ask)
        if known is not None and known.digest == wanted.digest:
            # Written down already, but perhaps not shown: the database may have failed in between.
            if not known.note.startswith(SAME):
                await self._board.show(known)
            return
        if known is not None:
            await self.withdrawn(session, body.ask, "the agent asks for something else now")
        twin = next(
            (ask for ask in await store.asks.open(session) if _are_twins(ask, turn, wanted.digest, body)), None
        )
        settings = self._house.asks
        row = AskRow(
            id=self._house.ids.new(),
            session=session,
            turn=turn,
            agent_ask=body.ask,
            kind=_KINDS[type(body)],
            body=_encoder.encode(body),
            created_at=now,
            digest=wanted.digest,
            risks=_encoder.encode(wanted.risks).decode(),
            may_answer=_encoder.encode(wanted.policy).decode(),
            until=now + settings.timeout_seconds if settings.on_timeout == "deny" else None,
            note=f"{SAME}{twin.id}" if twin is not None else "",
        )
        await store.asks.add(row)
        if wanted.rule is not None:
            await self._settling.by_rule(row, body, wanted.rule)
        elif twin is not None:
            await self._join(row, body, twin)
        elif not await self._again(row, body, wanted.digest):
            await self._board.show(row)

    async def _join(self, row: AskRow, body: Ask, twin: AskRow) -> None:
        """It waits for the answer to another, which may have come in this very moment."""
        first = await self._house.store.asks.get(twin.id)
        if first is None or first.state == "open":
            return
        answer = answer_of(first) if first.state == "answered" else None
        if answer is not None:
            await self._settling.answer_twins(first, answer, first.by)
        else:
            await self._settling.promote(first)

    async def _again(self, row: AskRow, body: Ask, digest: str) -> bool:
        """Whether an answer settles it that the agent did not hear: in the same turn, or where that goes on."""
        store, since = self._house.store, self._house.clock.now() - _STILL_GOOD
        earlier = await store.asks.unheard(row.session, digest, since)
        if earlier is None or (earlier.note == NOT_TAKEN and earlier.turn != row.turn):
            return False
        if earlier.turn != row.turn:
            before, this = await store.turns.get(earlier.turn), await store.turns.get(row.turn)
            if before is None or this is None or before.note != SENT_AGAIN:
                return False
            between = [
                t
                for t in await store.turns.recent(row.session, 50)
                if before.created_at < t.created_at < this.created_at
            ]
            if any(t.id not in (before.id, this.id) for t in between):
                return False
        answer = answer_of(earlier)
        names = [vote.member for vote in await store.votes.of(earlier.id)] or [
            answer.by if answer is not None else ""
        ]
        if not await self._answering.may_still(row, names):
            return False
        return await self._settling.again(row, body, earlier)

    async def withdrawn(self, session: str, agent_ask: str, why: str) -> None:
        """The agent does not wait any more: it was interrupted, or it is gone."""
        row = await self._house.store.asks.by_agent(session, agent_ask)
        if row is None:
            return
        now = self._house.clock.now()
        async with self._house.store.transaction():
            settled = await self._house.store.asks.settle(row.id, state="cancelled", note=why, at=now)
            if settled:
                await self._house.store.audit.add("withdrawn", "agent", {"ask": row.id, "why": why[:200]})
        if settled:
            if not row.note.startswith(SAME):
                await self._board.close(row.id)
            if not self._sessions.stopping(session):
                await self._settling.promote(row)

    # ── restarts ─────────────────────────────────────────────────────────────────────────────────

    async def void(self, row: AskRow, why: str) -> None:
        """The agent that asked is gone: say so plainly, and offer to ask again."""
        async with self._house.store.transaction():
            settled = await self._house.store.asks.settle(
                row.id, state="void", note=why, at=self._house.clock.now()
            )
            if settled:
                await self._house.store.audit.add("void", "beambot", {"ask": row.id, "why": why[:200]})
        if settled and not row.note.startswith(SAME):
            await self._board.close(row.id)

    async def unsure(self, row: AskRow) -> None:
        """Answered, but beambot ended before it knew that the agent had the answer."""
        await self._house.store.asks.note(row.id, RESTARTED)
        await self._board.close(row.id)

    async def redraw(self) -> None:
        """After a start: what was settled before it stands as settled, also where the end came in between."""
        for row in await self._house.store.asks.settled(_REDRAWN):
            if await self._house.store.shown.standing_in(f"ask:{row.id}"):
                await self._board.close(row.id)

    async def joined(self, session: str, thread: ThreadRef) -> None:
        """A thread begins to show a session: what waits for an answer stands there too."""
        for row in await self._house.store.asks.open(session):
            if not row.note.startswith(SAME):
                await self._board.show(row)


def _are_twins(ask: AskRow, turn: str, digest: str, body: Ask) -> bool:
    """Whether the same was asked in this turn, with the same choices, and waits."""
    alike = ask.turn == turn and ask.digest == digest and bool(digest) and not ask.note.startswith(SAME)
    return alike and cards.choices(decode(ask)) == cards.choices(body)
