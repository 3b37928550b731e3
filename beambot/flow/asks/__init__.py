"""Asks: written down, shown in every thread, answered by the right person, once, even after a restart."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from beambot.flow.asks.answering import Answering, late
from beambot.flow.asks.board import SAME, Board, decode, listed_as
from beambot.flow.asks.drafts import Drafts
from beambot.flow.asks.presses import AllowAll, Choose, Confirm, Go, MakeRule, Pick, Send, Stop, Turn, meaning
from beambot.flow.asks.settling import Settling
from beambot.flow.asks.watch import Watch
from beambot.flow.house import House
from beambot.flow.permits import Permits
from beambot.flow.sessions import Sessions
from beambot.model.bodies import LoginRequest, PermissionRequest, PlanReview, Question
from beambot.model.ids import ThreadRef
from beambot.model.message import Ask
from beambot.model.outbound import Button, Notice, Outgoing
from beambot.model.settings import may
from beambot.render import asks as cards
from beambot.render.asks import Settled
from beambot.render.pace import Priority
from beambot.state.permission.edits import edited
from beambot.state.permission.rules import LASTING, Rule
from beambot.store.records import AskKind, AskRow, MemberRow

_encoder = msgspec.json.Encoder(order="deterministic")
_KINDS: dict[type, AskKind] = {
    PermissionRequest: "permission_request",
    Question: "question",
    PlanReview: "plan_review",
    LoginRequest: "login_request",
}
# How long an answer that an agent never heard may still be given to it.
_STILL_GOOD = 3600.0
_QUICK_TRIES = 50
_NOT_OFFERED = "This choice is not offered."


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
        self._watch = Watch(house, self._settling)
        self.run = self._watch.run

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
                return _NOT_OFFERED
            case Choose(number=number):
                answer = cards.chosen(body, number, member.name)
                return await self._answering.answer(row, body, answer, member) if answer else _NOT_OFFERED
        if refused := await self._answering.refused(row, member):
            return refused
        if row.state != "open":
            return late(row, self._house.clock.now())
        match press:
            case Stop():
                await self._sessions.stop(row.session)
                return "Stopping the turn."
            case MakeRule():
                return await self._rule(row, body, member, press)
            case AllowAll(listed=listed):
                return await self._allow_all(row, member, listed)
            case Confirm(mark=mark) if isinstance(body, PermissionRequest):
                return await self._allow_edited(row, body, member, mark)
            case Pick() | Go() | Send() if isinstance(body, Question):
                return await self._step(row, body, member, press)
            case Turn(page="why") if not isinstance(body, Question):
                return await self._ask_for_words(
                    row, thread, press, "your reason", "It is denied with these words."
                )
            case Turn(page="edit") if isinstance(body, PermissionRequest):
                return await self._begin_edit(row, body, thread, press)
            case Turn(page="answers" | "rules" | "lasting" | "all" | "confirm"):
                await self._board.show(row, page=press, only=thread)
                return ""
        return _NOT_OFFERED

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
        said = await self._answering.answer(row, body, answer, member)
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
            await self._answering.answer(one, body, cards.plain_answer(body, allow=True, by=member.name), member)
        return f"Allowed all {len(waiting)}."

    async def _begin_edit(self, row: AskRow, body: PermissionRequest, thread: ThreadRef, press: Turn) -> str:
        able = self._house.platforms[thread.platform].capabilities
        session = await self._house.store.sessions.get(row.session)
        found = self._drafts.editable(session, body, able.form_text if able.forms else able.text_limit)
        if not found:
            return "This cannot be edited here."
        what = f"the whole {found[0].label.lower()} as it should be"
        return await self._ask_for_words(row, thread, press, what, "You see it once more before anything happens.")

    async def _allow_edited(self, row: AskRow, body: PermissionRequest, member: MemberRow, mark: str) -> str:
        """Exactly what was shown; when somebody edited it again in the meantime, that is shown first."""
        draft = await self._drafts.of(row.id)
        changed = edited(body, draft.texts)
        session = await self._house.store.sessions.get(row.session)
        if changed is None or session is None:
            return _NOT_OFFERED
        if draft.mark != mark:
            await self._board.show(row, page=Turn("confirm"))
            return f"{draft.by} has edited it again: please look once more."
        wanted = await self._permits.look_at(session, row.turn, changed)
        if wanted.rule is not None and not wanted.rule.allow:
            return f"A rule of {wanted.rule.made_by} denies this: {wanted.rule.words}."
        answer = replace(cards.plain_answer(body, allow=True, by=member.name), input=changed.input)
        return await self._answering.answer(row, body, answer, member, policy=wanted.policy, edited=changed)

    async def _step(self, row: AskRow, body: Question, member: MemberRow, press: Pick | Go | Send) -> str:
        """Questions one by one, where there are no forms."""
        match press:
            case Pick(at=at, option=option):
                done = await self._drafts.pick(row, body, at, option)
            case Go(at=at):
                done = await self._drafts.go(row, body, at)
            case Send(mark=mark):
                draft = await self._drafts.of(row.id)
                if draft.mark == mark:
                    answer = cards.filled_in(body, draft.fields, member.name)
                    if not any(answer.fields.values()):
                        return "Please answer at least one of the questions."
                    return await self._answering.answer(row, body, answer, member)
                await self._board.show(row)
                return "The answers have changed: please look at them again."
        if done:
            await self._board.show(row)
        return "" if done else _NOT_OFFERED

    async def _ask_for_words(self, row: AskRow, thread: ThreadRef, press: Turn, what: str, then: str) -> str:
        """In a form where the chat has them, else as a reply."""
        if self._house.platforms[thread.platform].capabilities.forms:
            await self._board.show(row, page=press, only=thread)
            return ""
        words = f"Reply to this message with {what}. {then}"
        key = f"reply:{row.id}:{press.page}:{self._house.ids.new(4)}"
        message = Outgoing(key, (Notice(words, level="ask"),), loud=True, wants_reply=what)
        await self._house.delivery.put([thread], message, Priority.ASK)
        return f"Reply with {what}."

    async def filled(
        self, member: MemberRow, thread: ThreadRef, message: str, data: str, fields: dict[str, tuple[str, ...]]
    ) -> str:
        """A form on a card."""
        _, _, rest = data.partition(":")
        ask, _, page = rest.partition(":")
        row = await self._look_up(ask, thread, message)
        if row is None:
            await self._house.store.audit.add(
                "press_refused", member.name, {"thread": thread.key, "data": data[:80]}
            )
            return "This form does not belong here."
        body = decode(row)
        match page, body:
            case "form", Question() | LoginRequest():
                answer = cards.filled_in(body, fields, member.name)
                if not any(answer.fields.values()):
                    return "Please answer at least one of the questions."
                return await self._answering.answer(row, body, answer, member)
            case "why" | "edit", PermissionRequest() | PlanReview() | LoginRequest():
                texts = {name: "\n".join(values) for name, values in fields.items()}
                return await self._said(row, body, member, page, texts, thread)
        return "This form does not belong here."

    async def replied(self, member: MemberRow, thread: ThreadRef, message: str, text: str) -> str | None:
        """A reply to a card, or to what a card asked for; None when it is not an answer to one."""
        shown = await self._house.store.shown.by_message(thread, message)
        kind, _, rest = shown.key.partition(":") if shown is not None else ("", "", "")
        if kind not in ("ask", "reply"):
            return None
        ask, _, more = rest.partition(":")
        row = await self._house.store.asks.get(ask)
        if row is None:
            return None
        body = decode(row)
        if row.state != "open":
            said = kind == "reply" or cards.in_words(body, text, member.name) is not None
            return late(row, self._house.clock.now()) if said else None
        if kind == "reply":
            page = more.partition(":")[0]
            name = await self._first_editable(row, body) if page == "edit" else "reason"
            return await self._said(row, body, member, page, {name: text}, thread)
        if isinstance(body, Question) and cards.needs_steps(body):
            return await self._said_to_question(row, body, member, text)
        answer = cards.in_words(body, text, member.name)
        if answer is None:
            return "That is not one of the answers. Press a button, or reply with one of the choices."
        return await self._answering.answer(row, body, answer, member)

    async def _said(
        self, row: AskRow, body: Ask, member: MemberRow, page: str, texts: dict[str, str], thread: ThreadRef
    ) -> str:
        """The words that a page of the card asked for."""
        if page == "why":
            reason = " ".join(texts.get("reason", "").split())
            answer = replace(cards.plain_answer(body, allow=False, by=member.name), text=reason)
            return await self._answering.answer(row, body, answer, member)
        if refused := await self._answering.refused(row, member):
            return refused
        if row.state != "open":
            return late(row, self._house.clock.now())
        session = await self._house.store.sessions.get(row.session)
        if not isinstance(body, PermissionRequest) or not self._drafts.editable(session, body, 1_000_000):
            return "This cannot be edited here."
        if problem := await self._drafts.edit(row, body, texts, member.name):
            return problem
        await self._board.show(row, page=Turn("confirm"))
        return "The card shows it as you edited it. Nothing happens before it is allowed there."

    async def _first_editable(self, row: AskRow, body: Ask) -> str:
        session = await self._house.store.sessions.get(row.session)
        found = self._drafts.editable(session, body, 1_000_000) if isinstance(body, PermissionRequest) else ()
        return found[0].name if found else ""

    async def _said_to_question(self, row: AskRow, body: Question, member: MemberRow, text: str) -> str:
        if refused := await self._answering.refused(row, member):
            return refused
        problem = await self._drafts.say(row, body, text.strip())
        await self._board.show(row)
        return problem or "Noted."

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

    # ── restarts ─────────────────────────────────────────────────────────────────────────────────

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
