"""Answers: is this the right person, is it still open, and then it is claimed, handed over, noted and shown."""

from __future__ import annotations

import time

import msgspec
from msgspec.structs import replace

from beambot.flow.asks.board import Board, policy_of
from beambot.flow.asks.presses import Turn
from beambot.flow.asks.settling import Settling
from beambot.flow.house import House
from beambot.flow.waiting import insist
from beambot.model.bodies import PermissionRequest
from beambot.model.message import Ask
from beambot.model.outbound import duration
from beambot.model.ports import Answer
from beambot.model.settings import AskPolicy
from beambot.render import asks as cards
from beambot.render.asks import Settled
from beambot.state.asks import OUTCOMES, Said, Standing, Voter, refusal, step
from beambot.store.records import AskRow, MemberRow

_encoder = msgspec.json.Encoder(order="deterministic")
_votes = msgspec.json.Decoder(Answer)
_PLAIN = ("allow", "allow once", "deny", "reject", "yes", "no", "approve", "i have logged in", "cancel")


class Answering:
    """The only way from a person's word to the agent."""

    def __init__(self, house: House, board: Board, settling: Settling) -> None:
        self._house = house
        self._board = board
        self._settling = settling

    async def refused(self, row: AskRow, member: MemberRow) -> str:
        """Why this person may not answer, or nothing; audited, and said to them alone."""
        return await self._refused(row, *await self._standing(row, member))

    async def answer(
        self,
        row: AskRow,
        body: Ask,
        answer: Answer,
        member: MemberRow,
        *,
        policy: AskPolicy | None = None,
        edited: PermissionRequest | None = None,
    ) -> str:
        """Somebody's word. `edited` is what they allow instead, which its own `policy` is about."""
        store = self._house.store
        standing, voter = await self._standing(row, member, policy, answer)
        if refused := await self._refused(row, standing, voter, answer.verdict):
            return refused
        after, effect = step(standing, Said(voter, answer.verdict))
        if effect == "late":
            return late(row, self._house.clock.now())
        what = cards.summary(edited or body)
        if effect == "noted":
            await store.votes.add(row.id, member.name, _encoder.encode(answer), self._house.clock.now())
            facts = {"ask": row.id, "what": what, "edited": edited is not None}
            await store.audit.add("first_yes", member.name, facts)
            # Somebody else may have said yes in the same moment.
            standing, _ = await self._standing(row, member, policy, answer)
            if len(standing.yes) < standing.policy.people:
                await self._board.show(row, page=Turn("confirm") if edited is not None else None)
                return "Your yes is noted. It takes one more person."
            after = replace(standing, by=" and ".join(standing.yes))
        by, now = after.by or member.name, self._house.clock.now()
        outcome = OUTCOMES[answer.verdict]
        if not await self._settling.claim(row, answer, by):
            settled = await store.asks.get(row.id)
            return late(settled, now) if settled is not None else "This is settled already."
        taken = await self._settling.hand_over(row, answer)
        # The agent has its answer: from here on a failing database delays what is shown, and repeats nothing.
        facts = {"ask": row.id, "outcome": outcome, "taken": taken, "what": what}
        if edited is not None:
            facts["edited"] = True
        await insist(self._house.clock, store.audit.add, "answered", by, facts)
        words = _outcome(body, answer, outcome, by, now, now - row.created_at)
        if not taken:
            words = f"{by} answered, but the agent does not wait for it any more: nothing was done."
        settled_card = Settled(words, good=taken and outcome != "denied")

        async def show() -> None:
            await self._board.show(row, settled_card, instead=edited)

        await insist(self._house.clock, show)
        await insist(self._house.clock, self._settling.answer_twins, row, answer, by)
        return words if taken else "The agent does not wait for this any more."

    async def _standing(
        self, row: AskRow, member: MemberRow, policy: AskPolicy | None = None, answer: Answer | None = None
    ) -> tuple[Standing, Voter]:
        """How the ask stands, with those who said yes to the very same."""
        store = self._house.store
        session = await store.sessions.get(row.session)
        turn = await store.turns.get(row.turn)
        wanted = answer.input if answer is not None else None
        yes = tuple(
            vote.member for vote in await store.votes.of(row.id) if _votes.decode(vote.answer).input == wanted
        )
        voter = Voter(member.name, member.role, session is not None and self._house.may_use(member, session))
        prompter = turn.member if turn is not None else ""
        return Standing(policy or policy_of(row), prompter, row.state, yes), voter

    async def _refused(self, row: AskRow, standing: Standing, voter: Voter, verdict: str = "") -> str:
        words = refusal(standing.policy, standing.prompter, voter)
        if not words:
            return ""
        await self._house.store.audit.add("answer_refused", voter.name, {"ask": row.id, "verdict": verdict})
        return f"You may not answer this. {words}"


def late(row: AskRow, now: float) -> str:
    """For a press that comes after the end."""
    ago = duration(now - (row.settled_at or now))
    if row.state == "answered":
        return f"Already settled: {row.outcome} by {row.by}, {ago} ago."
    return f"This is void since {ago}: {row.note or 'the agent withdrew it.'}"


def _outcome(body: Ask, answer: Answer, outcome: str, who: str, now: float, took: float) -> str:
    option = next((o.name for o in cards.choices(body) if o.id == answer.option and o.id), "")
    words = {"allowed": "Allowed", "denied": "Denied", "answered": "Answered"}[outcome]
    said = cards.shown_answers(body, answer.fields) if outcome == "answered" else ""
    if said:
        words += f": {said}"
    elif option and option.casefold() not in _PLAIN:
        words += f" ({option})"
    if answer.input is not None:
        words += " as edited"
    if answer.text:
        words += f": {answer.text}"
    return f"{words} by {who} at {time.strftime('%H:%M', time.localtime(now))}, after {duration(took)}."
