"""The cards of asks: in every thread that shows the session, each with what beambot adds to it."""

from __future__ import annotations

import os

import anyio
import msgspec
from msgspec.structs import replace

from beambot.flow.asks.drafts import Draft, Drafts
from beambot.flow.asks.presses import Turn
from beambot.flow.delivery.screens import paper_of
from beambot.flow.house import House
from beambot.flow.permits import Permits, risks_of
from beambot.model.bodies import PermissionRequest, Question
from beambot.model.ids import ThreadRef
from beambot.model.message import Ask
from beambot.model.outbound import Button, Notice, Outgoing, duration
from beambot.model.ports import ChatPlatform
from beambot.model.settings import AskPolicy
from beambot.render import asks as cards
from beambot.render.asks import Settled, View
from beambot.render.pace import Priority
from beambot.state.asks import in_words
from beambot.state.permission.calls import call_of
from beambot.state.permission.edits import editable, edited
from beambot.state.permission.risk import risks
from beambot.state.permission.rules import LASTING, REST_OF_TURN, Offer, offers
from beambot.store.records import AskRow, SessionRow, content_digest

_body: msgspec.json.Decoder[Ask] = msgspec.json.Decoder(Ask)
_policies = msgspec.json.Decoder(AskPolicy)
# The note of an ask that waits for the answer to another, which asks for the same.
SAME = "same as "


def decode(row: AskRow) -> Ask:
    """What the agent asks."""
    return _body.decode(row.body)


class Board:
    """Draws asks, open and settled."""

    def __init__(self, house: House, drafts: Drafts, permits: Permits) -> None:
        self._house = house
        self._drafts = drafts
        self._permits = permits

    async def show(
        self,
        row: AskRow,
        settled: Settled | None = None,
        buttons: tuple[tuple[Button, ...], ...] = (),
        *,
        page: Turn | None = None,
        only: ThreadRef | None = None,
        instead: PermissionRequest | None = None,
    ) -> None:
        """Make the card stand, in one thread or in all of them; `instead` of the request, what was allowed."""
        body = instead or decode(row)
        session = await self._house.store.sessions.get(row.session)
        folder = session.folder if session is not None else ""
        draft = await self._drafts.of(row.id)
        page = page or Turn("answers")
        if page.page == "confirm":
            changed = edited(body, draft.texts) if isinstance(body, PermissionRequest) else None
            body, page = (changed, page) if changed is not None else (body, Turn("answers"))
        view = await self._view(row, body, session, page, draft)
        for thread in [only] if only is not None else await self.threads(row):
            platform = self._house.platforms[thread.platform]
            forms = platform.capabilities.forms
            shown = view if settled is not None else self._for(platform, view, session, body)
            card = cards.card(row.id, body, folder=folder, forms=forms, settled=settled, view=shown)
            if buttons:
                card = Outgoing(card.key, card.blocks, buttons, loud=True)
            fitting, whole = cards.fitted(card, paper_of(platform))
            if whole and settled is None:
                await self._send_whole(thread, row, whole)
            await self._house.delivery.put([thread], fitting, Priority.ANSWER if settled else Priority.ASK)

    def _for(self, platform: ChatPlatform, view: View, session: SessionRow | None, body: Ask) -> View:
        """What can be edited there: where there are no forms, a whole text has to fit a message."""
        if not isinstance(body, PermissionRequest) or view.page == "confirm":
            return view
        able = platform.capabilities
        room = able.form_text if able.forms else able.text_limit
        return replace(view, editable=self._drafts.editable(session, body, room))

    async def _send_whole(self, thread: ThreadRef, row: AskRow, text: str) -> None:
        """What is too long for a card comes as a file, once, ahead of it."""
        platform = self._house.platforms[thread.platform]
        if len(text.encode()) > platform.capabilities.upload_bytes:
            return
        key = f"whole:{row.id}:{content_digest(text.encode())[:8]}"
        if await self._house.store.shown.get(thread, key) is not None:
            return
        if thread not in await self._house.store.outbox.waiting_in(key):
            words = Notice("The whole of what the next card asks for", level="info")
            await self._house.send_file(thread, "request.txt", text.encode(), key, words)

    async def _view(self, row: AskRow, body: Ask, session: SessionRow | None, page: Turn, draft: Draft) -> View:
        """What beambot adds to what the agent asks."""
        store = self._house.store
        turn = await store.turns.get(row.turn)
        policy, warnings = policy_of(row), risks_of(row.risks)
        folder = session.folder if session is not None else ""
        if draft.texts and isinstance(body, PermissionRequest) and body != decode(row) and session is not None:
            wanted = await self._permits.look_at(session, row.turn, body)
            policy, warnings = wanted.policy, wanted.risks
        permission = body if isinstance(body, PermissionRequest) else None
        offered = await self.offers(folder, permission, allow=page.allow) if permission is not None else ()
        chosen = offered[page.offer] if page.page == "lasting" and page.offer < len(offered) else None
        waiting = await self.waiting(row.session) if permission is not None else []
        others = [one for one in waiting if one.id != row.id] if row.id in {one.id for one in waiting} else []
        now = self._house.clock.now()
        return View(
            warnings=tuple(risk.words for risk in warnings),
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
            editable=editable(permission) if permission is not None and page.page == "confirm" else (),
            draft_by=draft.by if draft.texts else "",
            mark=draft.mark,
            at=min(draft.at, len(body.questions)) if isinstance(body, Question) else 0,
            fields=draft.fields,
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
