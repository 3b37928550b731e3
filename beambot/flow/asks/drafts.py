"""Answers that take more than one step: a request that is edited before it is allowed, questions asked one by one.

A draft is kept in the store, so that a restart loses none of it. There is one for each ask, whoever works on it;
the button that sends it carries its mark, so that nobody sends what somebody else changed in the meantime.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from beambot.flow.house import House
from beambot.log import redact
from beambot.model.bodies import PermissionRequest, Question
from beambot.render.asks import takes_words
from beambot.render.markdown import clean
from beambot.state.permission.edits import Editable, editable, edited
from beambot.store.records import AskRow, SessionRow, content_digest

_encoder = msgspec.json.Encoder(order="deterministic")


class Draft(Struct, frozen=True):
    """What was begun: the texts of an edited request, or the answers so far and the question that is shown."""

    texts: dict[str, str] = {}
    fields: dict[str, tuple[str, ...]] = {}
    at: int = 0
    by: str = ""

    @property
    def mark(self) -> str:
        """Stands for exactly this content, in a button."""
        return content_digest(_encoder.encode((self.texts, self.fields)))[:12]


_decoder = msgspec.json.Decoder(Draft)


class Drafts:
    """What people have begun to answer."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def of(self, ask: str) -> Draft:
        """An empty one where nobody has begun."""
        kept = await self._house.store.drafts.get(ask)
        return _decoder.decode(kept) if kept is not None else Draft()

    async def keep(self, ask: str, draft: Draft) -> None:
        """In place of what was there."""
        await self._house.store.drafts.put(ask, _encoder.encode(draft), self._house.clock.now())

    # ── edits ────────────────────────────────────────────────────────────────────────────────────

    def editable(self, session: SessionRow | None, body: PermissionRequest, room: int) -> tuple[Editable, ...]:
        """What of a request can be edited: nothing where the agent takes no edits, or a text cannot be shown."""
        if session is None or not self._takes_edits(session.adapter):
            return ()
        found = editable(body)
        return found if all(_can_be_shown(one.text) and len(one.text) <= room for one in found) else ()

    def _takes_edits(self, adapter: str) -> bool:
        return adapter in self._house.host.names() and self._house.host.capabilities(adapter).edited_input

    async def edit(self, row: AskRow, body: PermissionRequest, texts: dict[str, str], by: str) -> str:
        """Keep what somebody made of a request. Gives the words for them where it cannot be."""
        texts = {name: text.replace("\r\n", "\n") for name, text in texts.items()}
        known = {one.name: one for one in editable(body)}
        if any(
            name in known and known[name].label == "Command" and not text.strip() for name, text in texts.items()
        ):
            return "The command is empty. Press Deny if nothing should run."
        if not all(map(_can_be_shown, texts.values())):
            return (
                "It holds a secret or characters that cannot be seen, so it could not be shown for confirmation."
                " Nothing was changed."
            )
        if edited(body, texts) is None:
            return "Nothing was changed."
        draft = Draft(texts=texts, by=by)
        await self.keep(row.id, draft)
        await self._house.store.audit.add("edited", by, {"ask": row.id, "mark": draft.mark})
        return ""

    # ── one question after the other ─────────────────────────────────────────────────────────────

    async def pick(self, row: AskRow, body: Question, at: int, option: int) -> bool:
        """An option was pressed: chosen, or no longer. False: it is not offered."""
        if at >= len(body.questions) or option >= len(body.questions[at].options):
            return False
        item, draft = body.questions[at], await self.of(row.id)
        label = item.options[option].label
        before = draft.fields.get(item.id, ())
        if item.multiple:
            after = tuple(one for one in before if one != label) if label in before else (*before, label)
        else:
            after = (label,)
        to = at if item.multiple else at + 1
        await self.keep(row.id, replace(draft, fields={**draft.fields, item.id: after}, at=to))
        return True

    async def say(self, row: AskRow, body: Question, words: str) -> str:
        """An answer in words to the question that is shown. Gives the words for whoever said it."""
        draft = await self.of(row.id)
        if draft.at >= len(body.questions):
            return "All questions have an answer. Press Send, or go back to change one."
        item = body.questions[draft.at]
        label = next((o.label for o in item.options if o.label.casefold() == words.casefold()), "")
        if not label and not takes_words(item):
            return "That is not one of the answers. Press a button."
        before = draft.fields.get(item.id, ()) if item.multiple else ()
        after = tuple(dict.fromkeys((*before, label or words)))
        await self.keep(row.id, replace(draft, fields={**draft.fields, item.id: after}, at=draft.at + 1))
        return f"Noted for {redact(item.header or item.text)[:60]}."

    async def go(self, row: AskRow, body: Question, at: int) -> bool:
        """To another question, or to the end."""
        if at > len(body.questions):
            return False
        await self.keep(row.id, replace(await self.of(row.id), at=at))
        return True


def _can_be_shown(text: str) -> bool:
    """Whether what a card shows is the text itself."""
    return redact(text) == text and clean(text) == text
