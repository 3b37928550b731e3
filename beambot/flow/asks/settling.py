"""How asks are settled: claimed once, handed to the agent, noted, and shown as settled."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from beambot.flow.asks.board import SAME, Board, decode
from beambot.flow.house import House
from beambot.flow.sessions import Sessions
from beambot.flow.waiting import insist
from beambot.log import get_logger
from beambot.model.message import Ask
from beambot.model.outbound import Notice, duration
from beambot.model.ports import Answer
from beambot.render import asks as cards
from beambot.render.asks import Settled
from beambot.state.asks import OUTCOMES
from beambot.state.permission.rules import Rule
from beambot.store.records import AskRow

log = get_logger("asks")

_encoder = msgspec.json.Encoder(order="deterministic")
_answer = msgspec.json.Decoder(Answer)
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
        if not await self.claim(row, answer, f"rule {rule.id}"):
            return
        what = cards.summary(body)
        await self._house.store.rules.used(rule.id, self._house.clock.now(), what[:300])
        await self.hand_over(row, answer)
        facts = {"ask": row.id, "rule": rule.id, "allow": rule.allow, "what": what}
        await self._house.store.audit.add("settled_by_rule", rule.made_by, facts)
        if not rule.allow:
            words = f"Denied by a rule of {rule.made_by}: {what}"
            await self._house.say(await self._house.threads_of(row.session), Notice(words, level="warning"))

    async def again(self, row: AskRow, body: Ask, earlier: AskRow) -> None:
        """The same was asked and answered before, and the agent never heard it: it is not asked twice."""
        answer = replace(_answer.decode(earlier.answer), ask=body.ask)
        if await self.claim(row, answer, earlier.by):
            taken = await self.hand_over(row, answer)
            await self._house.store.asks.note(earlier.id, "taken" if taken else "the agent did not take the answer")
            words = (
                f"{earlier.outcome.capitalize()} by {earlier.by} before the restart; the agent has heard it now."
            )
            await self._board.show(row, Settled(words, good=earlier.outcome != "denied"))

    async def time_out(self, row: AskRow) -> None:
        """Nobody answered: that is a no, with a word to the agent."""
        body = decode(row)
        answer = replace(cards.plain_answer(body, allow=False, by="beambot"), text=AWAY)
        now = self._house.clock.now()
        if await self.claim(row, answer, "beambot"):
            await self.hand_over(row, answer)
            await self._house.store.audit.add("timed_out", "beambot", {"ask": row.id, "what": cards.summary(body)})
            await self._board.show(
                row, Settled(f"Denied: nobody answered within {duration(now - row.created_at)}.")
            )

    async def claim(self, row: AskRow, answer: Answer, by: str) -> bool:
        """In one statement: True for exactly one caller, however many try."""
        return await self._house.store.asks.claim(
            row.id,
            by=by,
            outcome=OUTCOMES[answer.verdict],
            answer=_encoder.encode(answer),
            at=self._house.clock.now(),
        )

    async def answer_twins(self, row: AskRow, answer: Answer, by: str) -> None:
        """The same was asked more than once at the same time: one answer is the answer to all."""
        for other in await self._house.store.asks.open(row.session):
            if other.note == f"{SAME}{row.id}":
                same = replace(answer, ask=other.agent_ask)
                if await self.claim(other, same, by):
                    await self.hand_over(other, same)

    async def hand_over(self, row: AskRow, answer: Answer) -> bool:
        """Tell the agent. False: it does not wait for it any more."""
        try:
            taken = await self._sessions.answer(row.session, answer)
        except Exception as error:
            log.error("an answer did not reach the agent", ask=row.id, exc_info=error)
            taken = False
        fate = "taken" if taken else "the agent did not take the answer"
        await insist(self._house.clock, self._house.store.asks.note, row.id, fate)
        return taken
