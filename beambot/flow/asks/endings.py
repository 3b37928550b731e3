"""How an ask ended, in words made from nothing but its row: the same after a restart as before."""

from __future__ import annotations

import time

import msgspec

from beambot.model.bodies import PermissionRequest
from beambot.model.message import Ask
from beambot.model.outbound import Button, duration
from beambot.model.ports import Answer
from beambot.render import asks as cards
from beambot.render.asks import Settled
from beambot.state.permission.edits import editable, edited
from beambot.store.messages import GIVEN_AGAIN, NOT_TAKEN, RESTARTED
from beambot.store.records import AskRow

_answers = msgspec.json.Decoder(Answer)
_PLAIN = ("allow", "allow once", "deny", "reject", "yes", "no", "approve", "i have logged in", "cancel")
# More of somebody's words does not stand on a card.
_LONGEST = 600
Rows = tuple[tuple[Button, ...], ...]


def answer_of(row: AskRow) -> Answer | None:
    """What was answered."""
    return _answers.decode(row.answer) if row.answer else None


def allowed_instead(row: AskRow, body: Ask) -> PermissionRequest | None:
    """The request as it was edited and then allowed; None where it was not edited."""
    answer = answer_of(row)
    if answer is None or answer.input is None or not isinstance(body, PermissionRequest):
        return None
    given = answer.input
    return edited(body, {one.name: str(given.get(one.name, one.text)) for one in editable(body)})


def ending(row: AskRow, body: Ask) -> tuple[Settled, Rows]:
    """The words of a settled card, and what can still be pressed on it."""
    when = _when(row)
    again = ((Button("Resume and ask again", f"cmd:/continue {row.session} {row.turn}", style="primary"),),)
    if row.state == "void":
        return Settled(f"{row.note} ({when})"), again
    if row.state == "cancelled":
        return Settled(f"Withdrawn: {row.note or 'by the agent'} ({when})"), ()
    answer = answer_of(row)
    words = _verdict(row, body, answer)
    if row.note == RESTARTED:
        return Settled(f"{words}, as beambot was restarted: the agent may not have heard it. ({when})"), again
    if row.note == NOT_TAKEN:
        words = f"{row.by} answered, but the agent does not wait for it any more: nothing was done. ({when})"
        return Settled(words), ()
    said = _said(body, answer)
    heard = " before the restart; the agent has heard it now" if row.note == GIVEN_AGAIN else ""
    return Settled(f"{words}{heard} {when}.{said}", good=row.outcome != "denied"), ()


def late(row: AskRow, now: float) -> str:
    """For a press that comes after the end."""
    ago = duration(now - (row.settled_at or now))
    if row.state == "answered":
        return f"Already settled: {row.outcome} by {row.by}, {ago} ago."
    return f"This is void since {ago}: {row.note.removeprefix('Void: ') or 'the agent withdrew it.'}"


def _when(row: AskRow) -> str:
    at = row.settled_at or row.created_at
    return f"at {time.strftime('%H:%M', time.localtime(at))}, after {duration(at - row.created_at)}"


def _verdict(row: AskRow, body: Ask, answer: Answer | None) -> str:
    words = row.outcome.capitalize() or "Settled"
    option = answer.option if answer is not None else ""
    name = next((o.name for o in cards.choices(body) if o.id == option and o.id), "")
    if name and name.casefold() not in _PLAIN:
        words += f" ({name})"
    if answer is not None and answer.input is not None:
        words += " as edited"
    return f"{words} by {row.by}"


def _said(body: Ask, answer: Answer | None) -> str:
    """An answer or a reason, after who and when, so that a long one hides neither."""
    if answer is None:
        return ""
    words = cards.shown_answers(body, answer.fields) if answer.fields else cards.clean_words(answer.text)
    return f" {words if len(words) <= _LONGEST else words[: _LONGEST - 1] + '…'}" if words else ""
