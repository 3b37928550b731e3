"""The cards of asks: in every thread that shows the session, each with what beambot adds to it."""

from __future__ import annotations

import os

import anyio
import msgspec

from beambot.flow.asks.presses import Turn
from beambot.flow.house import House
from beambot.flow.permits import risks_of
from beambot.model.bodies import PermissionRequest, PlanReview, Question
from beambot.model.ids import ThreadRef
from beambot.model.message import Ask
from beambot.model.outbound import Button, Outgoing, duration
from beambot.model.settings import AskPolicy
from beambot.render import asks as cards
from beambot.render.asks import Settled, View
from beambot.render.pace import Priority
from beambot.state.asks import in_words
from beambot.state.calls import call_of
from beambot.state.risk import risks
from beambot.state.rules import LASTING, REST_OF_TURN, Offer, offers
from beambot.store.records import AskRow, content_digest

_body: msgspec.json.Decoder[Ask] = msgspec.json.Decoder(PermissionRequest | Question | PlanReview)
_policies = msgspec.json.Decoder(AskPolicy)
# The note of an ask that waits for the answer to another, which asks for the same.
SAME = "same as "


def decode(row: AskRow) -> Ask:
    """What the agent asks."""
    return _body.decode(row.body)


class Board:
    """Draws asks, open and settled."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def show(
        self,
        row: AskRow,
        settled: Settled | None = None,
        buttons: tuple[tuple[Button, ...], ...] = (),
        *,
        page: Turn | None = None,
        only: ThreadRef | None = None,
    ) -> None:
        """Make the card stand, in one thread or in all of them."""
        body = decode(row)
        session = await self._house.store.sessions.get(row.session)
        folder = session.folder if session is not None else ""
        view = await self._view(row, body, folder, page or Turn("answers")) if settled is None else None
        for thread in [only] if only is not None else await self.threads(row):
            forms = self._house.platforms[thread.platform].capabilities.forms
            card = cards.card(row.id, body, folder=folder, forms=forms, settled=settled, view=view)
            if buttons:
                card = Outgoing(card.key, card.blocks, buttons, loud=True)
            await self._house.delivery.put([thread], card, Priority.ANSWER if settled else Priority.ASK)

    async def _view(self, row: AskRow, body: Ask, folder: str, page: Turn) -> View:
        """What beambot adds to what the agent asks."""
        store = self._house.store
        turn = await store.turns.get(row.turn)
        policy = policy_of(row)
        offered = await self.offers(folder, body, allow=page.allow) if isinstance(body, PermissionRequest) else ()
        chosen = offered[page.offer] if page.page == "lasting" and page.offer < len(offered) else None
        waiting = await self.waiting(row.session) if isinstance(body, PermissionRequest) else []
        others = [one for one in waiting if one.id != row.id] if row.id in {one.id for one in waiting} else []
        now = self._house.clock.now()
        return View(
            warnings=tuple(risk.words for risk in risks_of(row.risks)),
            who=in_words(policy, turn.member if turn is not None else "") if policy != AskPolicy() else "",
            until=f"in {duration(row.until - now)}" if row.until is not None else "",
            yes=tuple(vote.member for vote in await store.votes.of(row.id)),
            offers=tuple(offer.words for offer in offered),
            lasting=tuple((name, LASTING[name]) for name in chosen.lasting) if chosen is not None else (),
            allow=page.allow,
            page=page.page,
            chosen=page.offer,
            others=tuple(cards.summary(decode(one)) for one in (waiting if page.page == "all" else others)),
            listed=listed_as(waiting),
        )

    async def offers(self, folder: str, body: PermissionRequest, *, allow: bool) -> tuple[Offer, ...]:
        """The rules that can be made for a request, the narrowest first."""
        call = await anyio.to_thread.run_sync(call_of, body, folder, os.path.realpath)
        rest = (REST_OF_TURN,) if allow and not any(risk.grave for risk in risks(call)) else ()
        return (*offers(call, allow=allow), *rest)

    async def threads(self, row: AskRow) -> list[ThreadRef]:
        """Where the session is shown, and wherever the card already stands or is on its way to."""
        store, key = self._house.store, f"ask:{row.id}"
        found = await self._house.threads_of(row.session)
        found += await store.shown.standing_in(key) + await store.outbox.waiting_in(key)
        if not found:
            turn = await store.turns.get(row.turn)
            found = [turn.thread] if turn is not None and turn.thread is not None else []
        return [thread for thread in dict.fromkeys(found) if thread.platform in self._house.platforms]

    async def waiting(self, session: str) -> list[AskRow]:
        """The permissions of a session that one yes each would settle, and that carry no grave warning."""
        return [
            row
            for row in await self._house.store.asks.open(session)
            if row.kind == "permission_request"
            and not row.note.startswith(SAME)
            and policy_of(row).people == 1
            and not any(risk.grave for risk in risks_of(row.risks))
        ]


def policy_of(row: AskRow) -> AskPolicy:
    """Who may answer it."""
    return _policies.decode(row.may_answer) if row.may_answer else AskPolicy()


def listed_as(waiting: list[AskRow]) -> str:
    """Stands for exactly these asks, in a button."""
    return content_digest(" ".join(row.id for row in waiting).encode())[:12]
