"""Asks: written down, shown in every thread, answered by the right person, once, even after a restart."""

from __future__ import annotations

import msgspec

from beambot.flow.house import House
from beambot.flow.sessions import Sessions
from beambot.flow.waiting import alone, insist
from beambot.log import get_logger
from beambot.model.bodies import PermissionRequest, PlanReview, Question
from beambot.model.ids import ThreadRef
from beambot.model.message import Ask
from beambot.model.outbound import Button, Notice, Outgoing, duration
from beambot.model.ports import Answer
from beambot.model.settings import may
from beambot.render import asks as cards
from beambot.render.asks import Settled
from beambot.render.pace import Priority
from beambot.store.records import AskKind, AskRow, MemberRow

log = get_logger("asks")

_encoder = msgspec.json.Encoder(order="deterministic")
_body: msgspec.json.Decoder[Ask] = msgspec.json.Decoder(PermissionRequest | Question | PlanReview)
_KINDS: dict[type, AskKind] = {
    PermissionRequest: "permission_request",
    Question: "question",
    PlanReview: "plan_review",
}
_LOOK_EVERY_SECONDS = 5.0
_QUICK_TRIES = 50
_PLAIN = ("allow", "deny", "reject", "yes", "no")
AWAY = "Nobody answered in time. Treat this as a no, and do not try to get around it."


class Asks:
    """The desk where asks come in and answers go out."""

    def __init__(self, house: House, sessions: Sessions) -> None:
        self._house = house
        self._sessions = sessions
        self._reminded: set[str] = set()

    # ── from the agent ───────────────────────────────────────────────────────────────────────────

    async def opened(self, session: str, turn: str, body: Ask) -> None:
        """An agent asks."""
        row = AskRow(
            id=self._house.ids.new(),
            session=session,
            turn=turn,
            agent_ask=body.ask,
            kind=_KINDS[type(body)],
            body=_encoder.encode(body),
            created_at=self._house.clock.now(),
        )
        await self._house.store.asks.add(row)
        await self._show(row)

    async def withdrawn(self, session: str, agent_ask: str, why: str) -> None:
        """The agent does not wait any more: it was interrupted, or it is gone."""
        row = await self._house.store.asks.by_agent(session, agent_ask)
        if row is None:
            return
        if await self._house.store.asks.settle(row.id, state="cancelled", note=why, at=self._house.clock.now()):
            await self._show(row, Settled(f"Withdrawn: {why}" if why else "Withdrawn by the agent."))

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
        body = _body.decode(row.body)
        answer = cards.chosen(body, int(choice), member.name) if choice.isascii() and choice.isdigit() else None
        if answer is None:
            return "This choice is not offered."
        return await self._answer(row, body, answer, member)

    async def filled(
        self, member: MemberRow, thread: ThreadRef, message: str, data: str, fields: dict[str, tuple[str, ...]]
    ) -> str:
        """A form on a card."""
        row = await self._look_up(data.split(":")[1] if data.count(":") == 2 else "", thread, message)
        if row is None:
            return "This form does not belong here."
        body = _body.decode(row.body)
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
        body = _body.decode(row.body)
        answer = cards.in_words(body, text, member.name)
        if row.state != "open":
            return _late(row, self._house.clock.now()) if answer is not None else None
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

    async def _answer(self, row: AskRow, body: Ask, answer: Answer, member: MemberRow) -> str:
        store = self._house.store
        session = await store.sessions.get(row.session)
        if session is None or not may(member.role, "approver") or not self._house.may_use(member, session):
            await store.audit.add("answer_refused", member.name, {"ask": row.id, "verdict": answer.verdict})
            return "You may not answer this: it takes an approver of this project."
        if row.state != "open":
            return _late(row, self._house.clock.now())
        now = self._house.clock.now()
        outcome = {"allow": "allowed", "deny": "denied", "answer": "answered"}[answer.verdict]
        if not await store.asks.claim(
            row.id, by=member.name, outcome=outcome, answer=_encoder.encode(answer), at=now
        ):
            settled = await store.asks.get(row.id)
            return _late(settled, now) if settled is not None else "This is settled already."
        taken = await self._hand_over(row, answer)
        # The agent has its answer: from here on a failing database delays what is shown, and repeats nothing.
        facts = {"ask": row.id, "outcome": outcome, "taken": taken, "what": cards.summary(body)}
        await insist(self._house.clock, store.audit.add, "answered", member.name, facts)
        words = _outcome(body, answer, outcome, member.name, now - row.created_at)
        if not taken:
            words = f"{member.name} answered, but the agent does not wait for it any more: nothing was done."
        settled_card = Settled(words, good=taken and outcome != "denied")
        await insist(self._house.clock, self._show, row, settled_card)
        return words if taken else "The agent does not wait for this any more."

    async def _hand_over(self, row: AskRow, answer: Answer) -> bool:
        try:
            taken = await self._sessions.answer(row.session, answer)
        except Exception as error:
            log.error("an answer did not reach the agent", ask=row.id, exc_info=error)
            taken = False
        fate = "taken" if taken else "the agent did not take the answer"
        await insist(self._house.clock, self._house.store.asks.note, row.id, fate)
        return taken

    # ── time and restarts ────────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """Remind once, and end what has waited for too long, as the owner set it. Never with a yes."""
        while True:
            await self._house.clock.sleep(_LOOK_EVERY_SECONDS)
            await alone(self._look)

    async def _look(self) -> None:
        settings, now = self._house.asks, self._house.clock.now()
        waiting = await self._house.store.asks.open()
        self._reminded.intersection_update({row.id for row in waiting})
        for row in waiting:
            age = now - row.created_at
            if settings.on_timeout == "deny" and age >= settings.timeout_seconds:
                await self._time_out(row)
            elif settings.remind_after_seconds and age >= settings.remind_after_seconds:
                await self._remind(row)

    async def _time_out(self, row: AskRow) -> None:
        body = _body.decode(row.body)
        answer = Answer(ask=row.agent_ask, verdict="deny", text=AWAY, by="beambot")
        now = self._house.clock.now()
        if await self._house.store.asks.claim(
            row.id, by="beambot", outcome="denied", answer=_encoder.encode(answer), at=now
        ):
            await self._hand_over(row, answer)
            await self._house.store.audit.add("timed_out", "beambot", {"ask": row.id, "what": cards.summary(body)})
            await self._show(row, Settled(f"Denied: nobody answered within {duration(now - row.created_at)}."))

    async def _remind(self, row: AskRow) -> None:
        if row.id in self._reminded:
            return
        self._reminded.add(row.id)
        words = f"Still waiting for an answer: {cards.summary(_body.decode(row.body))}"
        threads = await self._house.threads_of(row.session)
        await self._house.say(threads, Notice(words, level="ask"), loud=True, priority=Priority.ASK)

    async def void(self, row: AskRow, why: str) -> None:
        """The agent that asked is gone: say so plainly, and offer to ask again."""
        if await self._house.store.asks.settle(row.id, state="void", note=why, at=self._house.clock.now()):
            again = ((Button("Resume and ask again", f"cmd:/continue {row.session} {row.turn}", style="primary"),),)
            await self._show(row, Settled(why), buttons=again)

    async def unsure(self, row: AskRow) -> None:
        """Answered, but beambot ended before it knew that the agent had the answer."""
        words = f"{row.outcome.capitalize()} by {row.by} as beambot was restarted: the agent may not have heard it."
        again = ((Button("Resume and ask again", f"cmd:/continue {row.session} {row.turn}", style="primary"),),)
        await self._house.store.asks.note(row.id, "beambot was restarted")
        await self._show(row, Settled(words), buttons=again)

    async def joined(self, session: str, thread: ThreadRef) -> None:
        """A thread begins to show a session: what waits for an answer stands there too."""
        for row in await self._house.store.asks.open(session):
            await self._show(row)

    async def _threads(self, row: AskRow) -> list[ThreadRef]:
        """Where the session is shown, and wherever the card already stands or is on its way to."""
        store, key = self._house.store, f"ask:{row.id}"
        found = await self._house.threads_of(row.session)
        found += await store.shown.standing_in(key) + await store.outbox.waiting_in(key)
        if not found:
            turn = await store.turns.get(row.turn)
            found = [turn.thread] if turn is not None and turn.thread is not None else []
        return [thread for thread in dict.fromkeys(found) if thread.platform in self._house.platforms]

    async def _show(
        self, row: AskRow, settled: Settled | None = None, buttons: tuple[tuple[Button, ...], ...] = ()
    ) -> None:
        body = _body.decode(row.body)
        session = await self._house.store.sessions.get(row.session)
        folder = session.folder if session is not None else ""
        for thread in await self._threads(row):
            forms = self._house.platforms[thread.platform].capabilities.forms
            card = cards.card(row.id, body, folder=folder, forms=forms, settled=settled)
            if buttons:
                card = Outgoing(card.key, card.blocks, buttons, loud=True)
            await self._house.delivery.put([thread], card, Priority.ANSWER if settled else Priority.ASK)


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
