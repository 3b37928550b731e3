"""Asks: written down, shown in every thread, answered by the right person, once, even after a restart."""

from __future__ import annotations

import time

import msgspec
from msgspec.structs import replace

from beambot.flow.asks.board import SAME, Board, decode, listed_as, policy_of
from beambot.flow.asks.presses import AllowAll, Choose, MakeRule, Stop, Turn, meaning
from beambot.flow.asks.settling import Settling
from beambot.flow.house import House
from beambot.flow.permits import Permits
from beambot.flow.sessions import Sessions
from beambot.flow.waiting import alone, insist
from beambot.log import get_logger
from beambot.model.bodies import PermissionRequest, PlanReview, Question
from beambot.model.ids import ThreadRef
from beambot.model.message import Ask
from beambot.model.outbound import Button, Notice, duration
from beambot.model.ports import Answer
from beambot.model.settings import may
from beambot.render import asks as cards
from beambot.render.asks import Settled
from beambot.render.pace import Priority
from beambot.state.asks import OUTCOMES, Said, Standing, Voter, refusal, step
from beambot.state.rules import LASTING, Rule
from beambot.store.records import AskKind, AskRow, MemberRow

log = get_logger("asks")

_encoder = msgspec.json.Encoder(order="deterministic")
_KINDS: dict[type, AskKind] = {
    PermissionRequest: "permission_request",
    Question: "question",
    PlanReview: "plan_review",
}
# How long an answer that an agent never heard may still be given to it.
_STILL_GOOD = 3600.0
_LOOK_EVERY_SECONDS = 5.0
_QUICK_TRIES = 50
_PLAIN = ("allow", "allow once", "deny", "reject", "yes", "no")


class Asks:
    """The desk where asks come in and answers go out."""

    def __init__(self, house: House, sessions: Sessions) -> None:
        self._house = house
        self._sessions = sessions
        self._permits = Permits(house)
        self._board = Board(house)
        self._settling = Settling(house, sessions, self._board)
        # Who pressed "Deny with reason" and is to write it as a reply.
        self._reasons: set[tuple[str, str]] = set()

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
            return
        if known is not None:
            await self.withdrawn(session, body.ask, "the agent asks for something else now")
        twin = next((ask for ask in await store.asks.open(session) if _are_twins(ask, turn, wanted.digest)), None)
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
        elif (earlier := await store.asks.unheard(session, wanted.digest, now - _STILL_GOOD)) is not None:
            await self._settling.again(row, body, earlier)
        elif twin is None:
            await self._board.show(row)

    async def withdrawn(self, session: str, agent_ask: str, why: str) -> None:
        """The agent does not wait any more: it was interrupted, or it is gone."""
        row = await self._house.store.asks.by_agent(session, agent_ask)
        if row is None:
            return
        if await self._house.store.asks.settle(row.id, state="cancelled", note=why, at=self._house.clock.now()):
            await self._board.show(row, Settled(f"Withdrawn: {why}" if why else "Withdrawn by the agent."))

    # ── from people ──────────────────────────────────────────────────────────────────────────────

    async def pressed(self, member: MemberRow, thread: ThreadRef, message: str, data: str) -> str:
        """A press on a card; gives the words for the presser."""
        _, _, rest = data.partition(":")
        ask, _, choice = rest.partition(":")
        row = await self._look_up(ask, thread, message)
        if row is None:
            where = {"thread": thread.key, "data": data[:80]}
            await self._house.store.audit.add("press_refused", member.name, where)
            return "This button does not belong here."
        body, press = decode(row), meaning(choice)
        match press:
            case None:
                return "This choice is not offered."
            case Choose(number=number):
                answer = cards.chosen(body, number, member.name)
                return await self._answer(row, body, answer, member) if answer else "This choice is not offered."
        if refused := await self._refused(row, *await self._standing(row, member)):
            return refused
        if row.state != "open":
            return _late(row, self._house.clock.now())
        match press:
            case Stop():
                await self._sessions.stop(row.session)
                return "Stopping the turn."
            case MakeRule():
                return await self._rule(row, body, member, press)
            case AllowAll(listed=listed):
                return await self._allow_all(row, member, listed)
            case Turn(page="why"):
                return await self._ask_why(row, member, thread)
            case Turn():
                await self._board.show(row, page=press, only=thread)
                return ""

    async def _rule(self, row: AskRow, body: Ask, member: MemberRow, press: MakeRule) -> str:
        """Answer this one, and all like it from now on, as far as the rule goes."""
        session = await self._house.store.sessions.get(row.session)
        if session is None or not isinstance(body, PermissionRequest):
            return "This choice is not offered."
        if press.lasting == "always" and not may(member.role, "owner"):
            return "Only an owner can decide for every project."
        offered = await self._board.offers(session.folder, body, allow=press.allow)
        try:
            rule = await self._permits.make(
                session, row.turn, offered[press.offer], press.lasting, press.allow, member.name
            )
        except (IndexError, ValueError):
            return "This choice is not offered."
        answer = cards.plain_answer(body, allow=press.allow, by=member.name)
        said = await self._answer(row, body, answer, member)
        await self._apply(row.session, rule)
        lasting = LASTING[press.lasting]
        verdict = "allowed" if press.allow else "denied"
        return f"{said} From now on {verdict}: {rule.words}, {lasting}. /rules lists it."

    async def _apply(self, session: str, rule: Rule) -> None:
        """What waits already is settled by a new rule too."""
        where = await self._house.store.sessions.get(session)
        for row in await self._house.store.asks.open(session) if where is not None else ():
            body = decode(row)
            wanted = await self._permits.look_at(where, row.turn, body) if where is not None else None
            if wanted is None or wanted.rule is None or wanted.rule.id != rule.id:
                continue
            key = f"ask:{row.id}"
            stands = await self._house.store.shown.standing_in(key) + await self._house.store.outbox.waiting_in(key)
            await self._settling.by_rule(row, body, wanted.rule)
            if stands:
                words = f"Settled by the new rule of {rule.made_by}: {rule.words}."
                await self._board.show(row, Settled(words, good=rule.allow))

    async def _allow_all(self, row: AskRow, member: MemberRow, listed: str) -> str:
        """Exactly what the list showed; when something else waits by now, the list is shown again."""
        waiting = await self._board.waiting(row.session)
        if listed_as(waiting) != listed:
            await self._board.show(row, page=Turn("all"))
            return "What waits has changed: please look at the list again."
        for one in waiting:
            body = decode(one)
            await self._answer(one, body, cards.plain_answer(body, allow=True, by=member.name), member)
        return f"Allowed all {len(waiting)}."

    async def _ask_why(self, row: AskRow, member: MemberRow, thread: ThreadRef) -> str:
        if self._house.platforms[thread.platform].capabilities.forms:
            await self._board.show(row, page=Turn("why"), only=thread)
            return ""
        self._reasons.add((member.name, row.id))
        return "Reply to the card with your reason: it is denied with these words."

    async def filled(
        self, member: MemberRow, thread: ThreadRef, message: str, data: str, fields: dict[str, tuple[str, ...]]
    ) -> str:
        """A form on a card."""
        row = await self._look_up(data.split(":")[1] if data.count(":") == 2 else "", thread, message)
        if row is None:
            return "This form does not belong here."
        body = decode(row)
        if data.endswith(":why") and not isinstance(body, Question):
            reason = " ".join(fields.get("reason", ()))
            answer = replace(cards.plain_answer(body, allow=False, by=member.name), text=reason)
            return await self._answer(row, body, answer, member)
        if not isinstance(body, Question):
            return "This form does not belong here."
        answer = cards.filled_in(body, fields, member.name)
        if not any(answer.fields.values()):
            return "Please answer at least one of the questions."
        return await self._answer(row, body, answer, member)

    async def replied(self, member: MemberRow, thread: ThreadRef, message: str, text: str) -> str | None:
        """A reply to a card; None when it is not an answer to one."""
        shown = await self._house.store.shown.by_message(thread, message)
        if shown is None or not shown.key.startswith("ask:"):
            return None
        row = await self._house.store.asks.get(shown.key.removeprefix("ask:"))
        if row is None:
            return None
        body = decode(row)
        answer = cards.in_words(body, text, member.name)
        if row.state != "open":
            return _late(row, self._house.clock.now()) if answer is not None else None
        if (member.name, row.id) in self._reasons:
            self._reasons.discard((member.name, row.id))
            if answer is None or answer.verdict != "deny":
                answer = replace(cards.plain_answer(body, allow=False, by=member.name), text=text.strip())
        if answer is None:
            return "That is not one of the answers. Press a button, or reply with one of the choices."
        return await self._answer(row, body, answer, member)

    async def _look_up(self, ask: str, thread: ThreadRef, message: str) -> AskRow | None:
        """The ask, if this very message in this very thread is its card."""
        store = self._house.store
        for _ in range(_QUICK_TRIES):
            shown = await store.shown.by_message(thread, message)
            if shown is not None:
                return await store.asks.get(ask) if shown.key == f"ask:{ask}" else None
            # A thumb can be quicker than the note that the card was posted: the card is still in the outbox then.
            if not any(row.key == f"ask:{ask}" for row in await store.outbox.pending(thread)):
                return None
            await self._house.clock.sleep(0.02)
        return None

    async def _standing(self, row: AskRow, member: MemberRow) -> tuple[Standing, Voter]:
        store = self._house.store
        session = await store.sessions.get(row.session)
        turn = await store.turns.get(row.turn)
        yes = tuple(vote.member for vote in await store.votes.of(row.id))
        voter = Voter(member.name, member.role, session is not None and self._house.may_use(member, session))
        return Standing(policy_of(row), turn.member if turn is not None else "", row.state, yes), voter

    async def _refused(self, row: AskRow, standing: Standing, voter: Voter, verdict: str = "") -> str:
        """Why this person may not answer, or nothing; audited, and said to them alone."""
        words = refusal(standing.policy, standing.prompter, voter)
        if not words:
            return ""
        await self._house.store.audit.add("answer_refused", voter.name, {"ask": row.id, "verdict": verdict})
        return f"You may not answer this. {words}"

    async def _answer(self, row: AskRow, body: Ask, answer: Answer, member: MemberRow) -> str:
        store = self._house.store
        standing, voter = await self._standing(row, member)
        if refused := await self._refused(row, standing, voter, answer.verdict):
            return refused
        after, effect = step(standing, Said(voter, answer.verdict))
        if effect == "late":
            return _late(row, self._house.clock.now())
        if effect == "noted":
            await store.votes.add(row.id, member.name, _encoder.encode(answer), self._house.clock.now())
            await store.audit.add("first_yes", member.name, {"ask": row.id, "what": cards.summary(body)})
            # Somebody else may have said yes in the same moment.
            standing, _ = await self._standing(row, member)
            if len(standing.yes) < standing.policy.people:
                await self._board.show(row)
                return "Your yes is noted. It takes one more person."
            after = replace(standing, by=" and ".join(standing.yes))
        by, now = after.by or member.name, self._house.clock.now()
        outcome = OUTCOMES[answer.verdict]
        if not await self._settling.claim(row, answer, by):
            settled = await store.asks.get(row.id)
            return _late(settled, now) if settled is not None else "This is settled already."
        taken = await self._settling.hand_over(row, answer)
        # The agent has its answer: from here on a failing database delays what is shown, and repeats nothing.
        facts = {"ask": row.id, "outcome": outcome, "taken": taken, "what": cards.summary(body)}
        await insist(self._house.clock, store.audit.add, "answered", by, facts)
        words = _outcome(body, answer, outcome, by, now - row.created_at)
        if not taken:
            words = f"{by} answered, but the agent does not wait for it any more: nothing was done."
        settled_card = Settled(words, good=taken and outcome != "denied")
        await insist(self._house.clock, self._board.show, row, settled_card)
        await insist(self._house.clock, self._settling.answer_twins, row, answer, by)
        return words if taken else "The agent does not wait for this any more."

    # ── time and restarts ────────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """Remind once, and end what has waited for too long, as the owner set it. Never with a yes."""
        while True:
            await self._house.clock.sleep(_LOOK_EVERY_SECONDS)
            await alone(self._look)

    async def _look(self) -> None:
        settings, now = self._house.asks, self._house.clock.now()
        for row in await self._house.store.asks.open():
            if row.until is not None and now >= row.until:
                await self._settling.time_out(row)
            elif settings.remind_after_seconds and now - row.created_at >= settings.remind_after_seconds:
                await self._remind(row)

    async def _remind(self, row: AskRow) -> None:
        """Once, not in quiet hours, and also after a restart not again."""
        now = self._house.clock.now()
        if row.reminded_at is not None or row.note.startswith(SAME) or _is_quiet(self._house.asks.quiet_hours, now):
            return
        if await self._house.store.asks.remind(row.id, now):
            words = f"Still waiting for an answer: {cards.summary(decode(row))}"
            threads = await self._house.threads_of(row.session)
            await self._house.say(threads, Notice(words, level="ask"), loud=True, priority=Priority.ASK)

    async def void(self, row: AskRow, why: str) -> None:
        """The agent that asked is gone: say so plainly, and offer to ask again."""
        if await self._house.store.asks.settle(row.id, state="void", note=why, at=self._house.clock.now()):
            again = ((Button("Resume and ask again", f"cmd:/continue {row.session} {row.turn}", style="primary"),),)
            await self._board.show(row, Settled(why), buttons=again)

    async def unsure(self, row: AskRow) -> None:
        """Answered, but beambot ended before it knew that the agent had the answer."""
        words = f"{row.outcome.capitalize()} by {row.by} as beambot was restarted: the agent may not have heard it."
        again = ((Button("Resume and ask again", f"cmd:/continue {row.session} {row.turn}", style="primary"),),)
        await self._house.store.asks.note(row.id, "beambot was restarted")
        await self._board.show(row, Settled(words), buttons=again)

    async def joined(self, session: str, thread: ThreadRef) -> None:
        """A thread begins to show a session: what waits for an answer stands there too."""
        for row in await self._house.store.asks.open(session):
            await self._board.show(row)


def _are_twins(ask: AskRow, turn: str, digest: str) -> bool:
    """Whether the same was asked in this turn, and waits."""
    return ask.turn == turn and ask.digest == digest and bool(digest) and not ask.note.startswith(SAME)


def _is_quiet(hours: tuple[int, int] | None, now: float) -> bool:
    if hours is None:
        return False
    local = time.localtime(now)
    minute, (first, last) = local.tm_hour * 60 + local.tm_min, hours
    return first <= minute < last if first <= last else minute >= first or minute < last


def _outcome(body: Ask, answer: Answer, outcome: str, who: str, took: float) -> str:
    option = next((o.name for o in cards.choices(body) if o.id == answer.option and o.id), "")
    words = {"allowed": "Allowed", "denied": "Denied", "answered": "Answered"}[outcome]
    if outcome == "answered":
        words += ": " + "; ".join(", ".join(values) for values in answer.fields.values() if values)
    elif option and option.casefold() not in _PLAIN:
        words += f" ({option})"
    if answer.text:
        words += f": {answer.text}"
    return f"{words} by {who} after {duration(took)}."


def _late(row: AskRow, now: float) -> str:
    ago = duration(now - (row.settled_at or now))
    if row.state == "answered":
        return f"Already settled: {row.outcome} by {row.by}, {ago} ago."
    return f"This is void since {ago}: {row.note or 'the agent withdrew it.'}"
