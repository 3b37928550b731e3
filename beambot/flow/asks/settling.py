"""How asks are settled: claimed once, handed to the agent, noted, and shown as settled."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from beambot.flow.asks.board import SAME, Board, decode
from beambot.flow.asks.endings import answer_of
from beambot.flow.house import House
from beambot.flow.sessions import Sessions
from beambot.flow.waiting import insist
from beambot.log import get_logger
from beambot.model.message import Ask
from beambot.model.outbound import Notice
from beambot.model.ports import Answer
from beambot.render import asks as cards
from beambot.state.asks import OUTCOMES
from beambot.state.permission.rules import Rule
from beambot.store.messages import GIVEN_AGAIN, NOT_TAKEN, TAKEN
from beambot.store.records import AskRow

log = get_logger("asks")

_encoder = msgspec.json.Encoder(order="deterministic")
AWAY = "Nobody answered in time. Treat this as a no, and do not try to get around it."


class Settling:
    """An ask is open until one of these; then it is never anything else."""

    def __init__(self, house: House, sessions: Sessions, board: Board) -> None:
        self._house = house
        self._sessions = sessions
        self._board = board

    async def by_rule(self, row: AskRow, body: Ask, rule: Rule) -> None:
        """What people decided before holds now; that it did is noted with the rule and in the audit."""
        answer = cards.plain_answer(body, allow=rule.allow, by=rule.made_by)
        if not rule.allow:
            answer = replace(answer, text=f"A rule of {rule.made_by} denies this: {rule.words}.")
        facts = {"ask": row.id, "rule": rule.id, "allow": rule.allow, "what": cards.wanted(body)[:2000]}
        if not await self.claim(
            row, answer, f"rule {rule.id}", audit=facts, what="settled_by_rule", who=rule.made_by
        ):
            return
        await self._house.store.rules.used(rule.id, self._house.clock.now(), cards.wanted(body)[:300])
        await self.hand_over(row, answer)
        if not rule.allow:
            words = f"Denied by a rule of {rule.made_by}: {cards.summary(body)}"
            await self._house.say(await self._house.threads_of(row.session), Notice(words, level="warning"))

    async def again(self, row: AskRow, body: Ask, earlier: AskRow) -> bool:
        """The same was asked and answered before, and the agent never heard it: it is given once more, and once."""
        before = answer_of(earlier)
        answer = cards.for_same(decode(earlier), before, body) if before is not None else None
        if answer is None:
            return False
        store = self._house.store
        async with store.transaction():
            facts = {"ask": row.id, "earlier": earlier.id, "what": cards.wanted(body)[:2000]}
            claimed = await self._claim(row, answer, earlier.by)
            if claimed:
                await store.asks.note(row.id, GIVEN_AGAIN)
                await store.asks.note(earlier.id, GIVEN_AGAIN)
                await store.audit.add("given_again", earlier.by, facts)
        if claimed:
            taken = await self._hand(row, answer)
            if not taken:
                log.warning("an answer was given again, and not taken", ask=row.id)
            await self._board.close(row.id)
        return claimed

    async def time_out(self, row: AskRow) -> None:
        """Nobody answered: that is a no, with a word to the agent."""
        body = decode(row)
        answer = replace(cards.plain_answer(body, allow=False, by="beambot"), text=AWAY)
        facts = {"ask": row.id, "what": cards.wanted(body)[:2000]}
        if await self.claim(row, answer, "beambot", audit=facts, what="timed_out"):
            await self.hand_over(row, answer)
            if not row.note.startswith(SAME):
                await self._board.close(row.id)

    async def claim(
        self,
        row: AskRow,
        answer: Answer,
        by: str,
        *,
        audit: Mapping[str, object],
        what: str = "answered",
        who: str = "",
    ) -> bool:
        """In one statement, and with its line in the audit: True for exactly one caller, however many try."""
        async with self._house.store.transaction():
            claimed = await self._claim(row, answer, by)
            if claimed:
                facts = {**audit, "outcome": OUTCOMES[answer.verdict]}
                await self._house.store.audit.add(what, who or by, facts)
        return claimed

    async def _claim(self, row: AskRow, answer: Answer, by: str) -> bool:
        return await self._house.store.asks.claim(
            row.id,
            by=by,
            outcome=OUTCOMES[answer.verdict],
            answer=_encoder.encode(answer),
            at=self._house.clock.now(),
        )

    async def answer_twins(self, row: AskRow, answer: Answer, by: str) -> None:
        """The same was asked more than once at the same time: one answer is the answer to all."""
        for other in await self.twins(row):
            same = replace(answer, ask=other.agent_ask)
            facts: dict[str, object] = {"ask": other.id, "same_as": row.id}
            if await self.claim(other, same, by, audit=facts):
                await self.hand_over(other, same)

    async def twins(self, row: AskRow) -> list[AskRow]:
        """What waits for the answer to this one."""
        return [
            other for other in await self._house.store.asks.open(row.session) if other.note == f"{SAME}{row.id}"
        ]

    async def promote(self, row: AskRow) -> None:
        """It ended without an answer: the next that asks for the same gets a card of its own."""
        twins = await self.twins(row)
        if not twins:
            return
        first, *others = twins
        await self._house.store.asks.note(first.id, "")
        for other in others:
            await self._house.store.asks.note(other.id, f"{SAME}{first.id}")
        await self._board.show(replace(first, note=""))

    async def hand_over(self, row: AskRow, answer: Answer) -> bool:
        """Tell the agent. False: it does not wait for it any more."""
        taken = await self._hand(row, answer)
        await insist(self._house.clock, self._house.store.asks.note, row.id, TAKEN if taken else NOT_TAKEN)
        if not taken:
            await insist(self._house.clock, self._house.store.audit.add, "not_taken", "beambot", {"ask": row.id})
        return taken

    async def _hand(self, row: AskRow, answer: Answer) -> bool:
        try:
            return await self._sessions.answer(row.session, answer)
        except Exception as error:
            log.error("an answer did not reach the agent", ask=row.id, exc_info=error)
            return False
