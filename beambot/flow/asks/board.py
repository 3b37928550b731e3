"""The cards of asks: in every thread that shows the session, each with what beambot adds to it."""

from __future__ import annotations

import os
import time
from typing import Any

import anyio
import msgspec
from msgspec.structs import replace

from beambot.flow.asks.drafts import Draft, Drafts
from beambot.flow.asks.endings import allowed_instead, ending
from beambot.flow.asks.presses import Turn
from beambot.flow.delivery.screens import paper_of
from beambot.flow.house import House
from beambot.flow.permits import Permits, risks_of
from beambot.model.bodies import PermissionRequest, Question
from beambot.model.ids import ThreadRef
from beambot.model.message import Ask
from beambot.model.outbound import Button, Notice, Outgoing
from beambot.model.ports import Answer, ChatPlatform
from beambot.model.settings import AskPolicy
from beambot.render import asks as cards
from beambot.render.asks import Room, Settled, View
from beambot.render.asks.view import Page
from beambot.render.pace import Priority
from beambot.state.asks import in_words
from beambot.state.permission.calls import call_of
from beambot.state.permission.edits import editable, edited
from beambot.state.permission.risk import risks
from beambot.state.permission.rules import LASTING, REST_OF_TURN, Offer, offers
from beambot.store.records import AskRow, SessionRow, content_digest

_body: msgspec.json.Decoder[Ask] = msgspec.json.Decoder(Ask)
_policies = msgspec.json.Decoder(AskPolicy)
_answers = msgspec.json.Decoder(Answer)
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
        self._pages: dict[tuple[str, ThreadRef], Page] = {}
        # One at a time draws a card: a page that somebody turns must not stand over how the ask has ended.
        self._locks: dict[str, anyio.Lock] = {}

    async def show(
        self,
        row: AskRow,
        settled: Settled | None = None,
        buttons: tuple[tuple[Button, ...], ...] = (),
        *,
        page: Turn | None = None,
        only: ThreadRef | None = None,
    ) -> None:
        """Make the card stand, in one thread or in all of them. What is settled is not opened again."""
        async with self._locks.setdefault(row.id, anyio.Lock()):
            newest = await self._house.store.asks.get(row.id)
            if settled is None and newest is not None and newest.state != "open":
                return
            await self._show(row, settled, buttons, page, only)

    async def _show(
        self,
        row: AskRow,
        settled: Settled | None,
        buttons: tuple[tuple[Button, ...], ...],
        page: Turn | None,
        only: ThreadRef | None,
    ) -> None:
        body = decode(row)
        if settled is not None:
            body = allowed_instead(row, body) or body
        session = await self._house.store.sessions.get(row.session)
        folder = session.folder if session is not None else ""
        draft = await self._drafts.of(row.id)
        page = page or Turn("answers")
        if page.page == "confirm":
            changed = edited(body, draft.texts) if isinstance(body, PermissionRequest) else None
            body, page = (changed, page) if changed is not None else (body, Turn("answers"))
        view = await self._view(row, body, session, page, draft)
        for thread in [only] if only is not None else await self.threads(row, shown=row.note.startswith(SAME)):
            platform = self._house.platforms[thread.platform]
            able = platform.capabilities
            files = able.upload_bytes > 0
            room = Room(paper_of(platform), able.change_lines, able.change_text, files)
            shown = view if settled is not None else self._for(platform, view, session, body, draft)
            card = cards.card(row.id, body, folder=folder, forms=able.forms, settled=settled, view=shown)
            fitting, whole = cards.fitted(card, room)
            if whole and shown.page == "all":
                shown = replace(shown, whole=False)
                card = cards.card(row.id, body, folder=folder, forms=able.forms, settled=settled, view=shown)
                fitting, _ = cards.fitted(card, room)
            elif whole and settled is None and files:
                await self._send_whole(thread, row, draft.mark if page.page == "confirm" else "", whole)
            if buttons:
                fitting = Outgoing(fitting.key, fitting.blocks, buttons, loud=True)
            self._pages[row.id, thread] = page.page
            await self._house.delivery.put([thread], fitting, Priority.ANSWER if settled else Priority.ASK)
        if settled is not None:
            for place in [place for place in self._pages if place[0] == row.id]:
                del self._pages[place]
            self._locks.pop(row.id, None)

    async def close(self, id: str) -> None:
        """Show how an ask ended, wherever it stands: as its row says now."""
        row = await self._house.store.asks.get(id)
        if row is not None and row.state != "open":
            words, buttons = ending(row, decode(row))
            await self.show(row, words, buttons)

    def page(self, row: AskRow, thread: ThreadRef) -> Page:
        """Which page of a card is shown in a thread."""
        return self._pages.get((row.id, thread), "answers")

    def _for(self, platform: ChatPlatform, view: View, session: SessionRow | None, body: Ask, draft: Draft) -> View:
        """What can be edited there: where there are no forms, a whole text has to fit a message."""
        if not isinstance(body, PermissionRequest) or view.page == "confirm":
            return view
        able = platform.capabilities
        room = able.form_text if able.forms else able.text_limit
        found = self._drafts.editable(session, body, room)
        if found and view.page == "edit" and (changed := edited(body, draft.texts)) is not None:
            found = editable(changed)
        return replace(view, editable=found)

    async def _send_whole(self, thread: ThreadRef, row: AskRow, mark: str, text: str) -> None:
        """What is too long for a card comes as a file, once, ahead of it."""
        key = f"whole:{row.id}:{mark}"
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
        wanted_input = permission.input if permission is not None and page.page == "confirm" else None
        votes = await self._votes(row, wanted_input)
        return View(
            warnings=tuple(risk.words for risk in warnings),
            who=in_words(policy, turn.member if turn is not None else ""),
            until=time.strftime("%H:%M", time.localtime(row.until)) if row.until is not None else "",
            yes=votes,
            missing=max(policy.people - len(votes), 1),
            # What takes several people is decided by several people, each time.
            offers=tuple(offer.words for offer in offered) if policy.people == 1 or not page.allow else (),
            lasting=tuple((name, LASTING[name]) for name in chosen.lasting) if chosen is not None else (),
            allow=page.allow,
            page=page.page,
            chosen=page.offer,
            others=tuple(cards.wanted(decode(one)) for one in (waiting if page.page == "all" else others)),
            listed=listed_as(waiting),
            editable=editable(permission) if permission is not None and page.page == "confirm" else (),
            draft_by=draft.by if draft.texts else "",
            mark=draft.mark,
            at=min(draft.at, len(body.questions)) if isinstance(body, Question) else 0,
            fields=draft.fields,
        )

    async def _votes(self, row: AskRow, wanted: dict[str, Any] | None) -> tuple[str, ...]:
        """Who said yes to what is shown: of several ways to say it, the one that most have chosen."""
        alike: dict[str, list[str]] = {}
        for vote in await self._house.store.votes.of(row.id):
            said = _answers.decode(vote.answer)
            if said.input == wanted:
                alike.setdefault(said.option, []).append(vote.member)
        return tuple(sorted(alike.values(), key=len)[-1]) if alike else ()

    async def offers(self, folder: str, body: PermissionRequest, *, allow: bool) -> tuple[Offer, ...]:
        """The rules that can be made for a request, the narrowest first."""
        call = await anyio.to_thread.run_sync(call_of, body, folder, os.path.realpath)
        rest = (REST_OF_TURN,) if allow and not any(risk.grave for risk in risks(call)) else ()
        return (*offers(call, allow=allow), *rest)

    async def threads(self, row: AskRow, *, shown: bool = False) -> list[ThreadRef]:
        """Where the session is shown, and wherever the card already stands or is on its way to; or only there."""
        store, key = self._house.store, f"ask:{row.id}"
        found = [] if shown else await self._house.threads_of(row.session)
        found += await store.shown.standing_in(key) + await store.outbox.waiting_in(key)
        if not found and not shown:
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
