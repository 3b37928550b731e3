"""Answers: is this the right person, is it still open, and then it is claimed, handed over, noted and shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from beambot.flow.asks.board import Board, policy_of
from beambot.flow.asks.endings import ending, late
from beambot.flow.asks.presses import Turn
from beambot.flow.asks.settling import Settling
from beambot.flow.house import House
from beambot.flow.waiting import alone, insist
from beambot.model.bodies import PermissionRequest
from beambot.model.message import Ask
from beambot.model.ports import Answer
from beambot.model.settings import AskPolicy
from beambot.render import asks as cards
from beambot.state.asks import Said, Standing, Voter, refusal, step
from beambot.store.messages import NOT_TAKEN
from beambot.store.records import AskRow, MemberRow

_encoder = msgspec.json.Encoder(order="deterministic")
_votes = msgspec.json.Decoder(Answer)


class Told(Struct, frozen=True):
    """What somebody is told, and whether their word settled the ask."""

    words: str
    settled: bool = False


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
        first: Callable[[], Awaitable[object]] | None = None,
    ) -> Told:
        """Somebody's word. `edited` is what they allow instead, which its own `policy` is about.

        `first` is done when the word counts, before the agent hears it and can ask for the next thing.
        """
        store = self._house.store
        standing, voter = await self._standing(row, member, policy, answer)
        if refused := await self._refused(row, standing, voter, answer.verdict):
            return Told(refused)
        after, effect = step(standing, Said(voter, answer.verdict))
        if effect == "late":
            return Told(late(row, self._house.clock.now()))
        what = {"ask": row.id, "what": cards.wanted(edited or body)[:2000], "edited": edited is not None}
        if effect == "noted":
            await store.votes.add(row.id, member.name, _encoder.encode(answer), self._house.clock.now())
            await store.audit.add("first_yes", member.name, what)
            # Somebody else may have said yes in the same moment.
            standing, _ = await self._standing(row, member, policy, answer)
            missing = standing.policy.people - len(standing.yes)
            if missing > 0:
                await self._board.show(row, page=Turn("confirm") if edited is not None else None)
                return Told(
                    f"Your yes is noted. It takes {'one more person' if missing == 1 else f'{missing} more'}."
                )
            after = replace(standing, by=" and ".join(standing.yes))
        by = after.by or member.name
        if not await self._settling.claim(row, answer, by, audit={**what, "verdict": answer.verdict}):
            settled = await store.asks.get(row.id)
            now = self._house.clock.now()
            return Told(late(settled, now) if settled is not None else "This is settled already.")
        if first is not None:
            await alone(first)
        await self._settling.hand_over(row, answer)
        # The agent has its answer: from here on a failing database delays what is shown, and repeats nothing.
        await insist(self._house.clock, self._board.close, row.id)
        await insist(self._house.clock, self._settling.answer_twins, row, answer, by)
        done = await store.asks.get(row.id)
        if done is None or done.note == NOT_TAKEN:
            return Told("The agent does not wait for this any more.", settled=True)
        return Told(ending(done, body)[0].text, settled=True)

    async def _standing(
        self, row: AskRow, member: MemberRow, policy: AskPolicy | None = None, answer: Answer | None = None
    ) -> tuple[Standing, Voter]:
        """How the ask stands, with those who said yes to the very same and could still say it."""
        store = self._house.store
        turn = await store.turns.get(row.turn)
        policy, prompter = policy or policy_of(row), turn.member if turn is not None else ""
        yes: list[str] = []
        for vote in await store.votes.of(row.id):
            said, who = _votes.decode(vote.answer), await store.members.by_name(vote.member)
            same = answer is None or (said.input, said.option) == (answer.input, answer.option)
            if same and who is not None and not refusal(policy, prompter, await self._voter(row, who)):
                yes.append(vote.member)
        return Standing(policy, prompter, row.state, tuple(yes)), await self._voter(row, member)

    async def _voter(self, row: AskRow, member: MemberRow) -> Voter:
        session = await self._house.store.sessions.get(row.session)
        return Voter(member.name, member.role, session is not None and self._house.may_use(member, session))

    async def _refused(self, row: AskRow, standing: Standing, voter: Voter, verdict: str = "") -> str:
        words = refusal(standing.policy, standing.prompter, voter)
        if not words:
            return ""
        await self._house.store.audit.add("answer_refused", voter.name, {"ask": row.id, "verdict": verdict})
        return f"You may not answer this. {words}"

    async def may_still(self, row: AskRow, names: list[str]) -> bool:
        """Whether all of these people could still answer an ask like this one."""
        turn = await self._house.store.turns.get(row.turn)
        for name in names:
            who = await self._house.store.members.by_name(name)
            if who is None or refusal(policy_of(row), turn.member if turn else "", await self._voter(row, who)):
                return False
        return True
