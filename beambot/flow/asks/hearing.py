"""What people say to a card: presses, forms and replies, and what each of them brings about."""

from __future__ import annotations

from msgspec.structs import replace

from beambot.flow.asks.answering import Answering
from beambot.flow.asks.board import SAME, Board, decode, listed_as, policy_of
from beambot.flow.asks.drafts import Drafts
from beambot.flow.asks.endings import late
from beambot.flow.asks.presses import AllowAll, Choose, Confirm, Go, MakeRule, Pick, Send, Stop, Turn, meaning
from beambot.flow.asks.settling import Settling
from beambot.flow.house import House
from beambot.flow.permits import Permits
from beambot.flow.sessions import Sessions
from beambot.model.bodies import LoginRequest, PermissionRequest, PlanReview, Question
from beambot.model.ids import ThreadRef
from beambot.model.message import Ask
from beambot.model.outbound import Notice, Outgoing
from beambot.model.settings import may
from beambot.render import asks as cards
from beambot.render.pace import Priority
from beambot.state.permission.edits import edited
from beambot.state.permission.rules import LASTING, Rule
from beambot.store.records import AskRow, MemberRow

_QUICK_TRIES = 50
_REMEMBERED = 1000
_NOT_OFFERED = "This choice is not offered."
# Larger than anything that a chat takes.
_ANY_ROOM = 1_000_000


class Hearing:
    """Each press is looked up, each person is asked for their right, and then it is done."""

    def __init__(
        self,
        house: House,
        sessions: Sessions,
        permits: Permits,
        drafts: Drafts,
        board: Board,
        settling: Settling,
        answering: Answering,
    ) -> None:
        self._house = house
        self._sessions = sessions
        self._permits = permits
        self._drafts = drafts
        self._board = board
        self._settling = settling
        self._answering = answering
        # Who was asked for words, and for which: a reply to the card itself is taken as well.
        self._awaited: dict[tuple[str, str], str] = {}

    async def pressed(self, member: MemberRow, thread: ThreadRef, message: str, data: str) -> str:
        """A press on a card; gives the words for the presser."""
        _, _, rest = data.partition(":")
        ask, _, choice = rest.partition(":")
        row = await self._look_up(ask, thread, message)
        if row is None:
            where = {"thread": thread.key, "data": data[:80]}
            await self._house.store.audit.add("press_refused", member.name, where)
            return await self._stray(ask, thread, message)
        body, press = decode(row), meaning(choice)
        match press:
            case None:
                return _NOT_OFFERED
            case Choose(number=number):
                answer = cards.chosen(body, number, member.name)
                return (await self._answering.answer(row, body, answer, member)).words if answer else _NOT_OFFERED
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
            case AllowAll(listed=listed) if isinstance(body, PermissionRequest):
                return await self._allow_all(row, member, listed)
            case Confirm(mark=mark) if isinstance(body, PermissionRequest):
                return await self._allow_edited(row, body, member, mark)
            case Pick() | Go() | Send() if isinstance(body, Question):
                return await self._step(row, body, member, press)
            case Turn(page="why") if not isinstance(body, Question):
                while len(self._awaited) >= _REMEMBERED:
                    self._awaited.pop(next(iter(self._awaited)))
                self._awaited[member.name, row.id] = "why"
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
        if press.allow and policy_of(row).people > 1:
            return "This takes several people each time: no rule can allow it."
        offered = await self._board.offers(session.folder, body, allow=press.allow)
        if press.offer >= len(offered) or press.lasting not in offered[press.offer].lasting:
            return _NOT_OFFERED
        answer = cards.plain_answer(body, allow=press.allow, by=member.name)
        made: list[Rule] = []

        async def make() -> None:
            offer = offered[press.offer]
            made.append(await self._permits.make(session, row.turn, offer, press.lasting, press.allow, member.name))

        told = await self._answering.answer(row, body, answer, member, first=make)
        if not told.settled:
            return told.words
        if not made:
            return f"{told.words} No rule was made: please look into the log."
        rule, lasting = made[0], LASTING[press.lasting]
        await self._apply(row.session, rule)
        verdict = "allowed" if press.allow else "denied"
        return f"{told.words} From now on {verdict}: {rule.words}, {lasting}. /rules lists it."

    async def _apply(self, session: str, rule: Rule) -> None:
        """What waits already is settled by a new rule too."""
        where = await self._house.store.sessions.get(session)
        for row in await self._house.store.asks.open(session) if where is not None else ():
            body = decode(row)
            wanted = await self._permits.look_at(where, row.turn, body) if where is not None else None
            if wanted is None or wanted.rule is None or wanted.rule.id != rule.id:
                continue
            if rule.allow and policy_of(row).people > 1:
                continue
            await self._settling.by_rule(row, body, wanted.rule)
            if not row.note.startswith(SAME):
                await self._board.close(row.id)

    async def _allow_all(self, row: AskRow, member: MemberRow, listed: str) -> str:
        """Exactly what the list showed; when something else waits by now, the list is shown again."""
        waiting = await self._board.waiting(row.session)
        if row.id not in {one.id for one in waiting}:
            return _NOT_OFFERED
        if listed_as(waiting) != listed:
            await self._board.show(row, page=Turn("all"))
            return "What waits has changed: please look at the list again."
        told = []
        for one in waiting:
            body = decode(one)
            answer = cards.plain_answer(body, allow=True, by=member.name)
            told.append(await self._answering.answer(one, body, answer, member))
        done = sum(one.settled for one in told)
        if done == len(waiting):
            return f"Allowed all {done}."
        return f"Allowed {done} of {len(waiting)}. " + next(one.words for one in told if not one.settled)

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
        told = await self._answering.answer(row, body, answer, member, policy=wanted.policy, edited=changed)
        return told.words

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
                    return (await self._answering.answer(row, body, answer, member)).words
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
                return (await self._answering.answer(row, body, answer, member)).words
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
        if answer is None and self._awaited.pop((member.name, row.id), "") == "why":
            return await self._said(row, body, member, "why", {"reason": text}, thread)
        if answer is None:
            return "That is not one of the answers. Press a button, or reply with one of the choices."
        if answer.verdict == "allow" and self._board.page(row, thread) != "answers":
            return "The card shows something else than the request now. Press one of its buttons."
        return (await self._answering.answer(row, body, answer, member)).words

    async def _said(
        self, row: AskRow, body: Ask, member: MemberRow, page: str, texts: dict[str, str], thread: ThreadRef
    ) -> str:
        """The words that a page of the card asked for."""
        if page == "why":
            reason = " ".join(texts.get("reason", "").split())
            answer = replace(cards.plain_answer(body, allow=False, by=member.name), text=reason)
            return (await self._answering.answer(row, body, answer, member)).words
        if refused := await self._answering.refused(row, member):
            return refused
        if row.state != "open":
            return late(row, self._house.clock.now())
        session = await self._house.store.sessions.get(row.session)
        if not isinstance(body, PermissionRequest) or not self._drafts.editable(session, body, _ANY_ROOM):
            return "This cannot be edited here."
        if problem := await self._drafts.edit(row, body, texts, member.name):
            return problem
        await self._board.show(row, page=Turn("confirm"))
        return "The card shows it as you edited it. Nothing happens before it is allowed there."

    async def _first_editable(self, row: AskRow, body: Ask) -> str:
        session = await self._house.store.sessions.get(row.session)
        found = self._drafts.editable(session, body, _ANY_ROOM) if isinstance(body, PermissionRequest) else ()
        return found[0].name if found else ""

    async def _said_to_question(self, row: AskRow, body: Question, member: MemberRow, text: str) -> str:
        if refused := await self._answering.refused(row, member):
            return refused
        said = await self._drafts.say(row, body, text.strip())
        await self._board.show(row)
        return said

    async def _stray(self, ask: str, thread: ThreadRef, message: str) -> str:
        """A card that was posted as beambot was killed, and never noted, says how the ask ended."""
        row = await self._house.store.asks.get(ask)
        unknown = await self._house.store.shown.by_message(thread, message) is None
        if row is None or not unknown or row.state == "open" or thread not in await self._board.threads(row):
            return "This button does not belong here."
        return late(row, self._house.clock.now())

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
