"""How the end of a turn is told: once, aloud, in the way the person chose."""

from __future__ import annotations

from collections.abc import Sequence

from beambot.flow.delivery.screens import Screen
from beambot.flow.house import House
from beambot.flow.outfiles import attached
from beambot.log import get_logger, redact
from beambot.model.encoding import well_formed
from beambot.model.ids import ThreadRef
from beambot.model.outbound import Outgoing
from beambot.model.settings import NOTIFY, Notify
from beambot.render.compose import ending
from beambot.state.turn import Turn, spoken
from beambot.store.records import TurnRow

log = get_logger("sessions")

PREFERENCE = "notify"


async def last_words(
    house: House, screens: Sequence[Screen], turn: Turn, row: TurnRow
) -> list[tuple[ThreadRef, Outgoing]]:
    """What is said about the end of a turn, and where. That it cannot be said is no reason not to end it."""
    try:
        return [*await _whole(house, screens, turn), *await _loud(house, screens, turn, row)]
    except Exception as error:
        log.error("the end of a turn cannot be told", turn=turn.id, exc_info=error)
        return []


async def _whole(house: House, screens: Sequence[Screen], turn: Turn) -> list[tuple[ThreadRef, Outgoing]]:
    """The whole answer as a file, where a thread shows only a part of it."""
    wanting = [screen.thread for screen in screens if screen.overlong]
    data = well_formed(redact(spoken(turn))).encode() if wanting else b""
    found: list[tuple[ThreadRef, Outgoing]] = []
    for thread in wanting:
        file = await attached(house.files, house.ids, "answer.md", data)
        found.append((thread, Outgoing(f"file:{turn.id}", (), file=file)))
    return found


async def _loud(
    house: House, screens: Sequence[Screen], turn: Turn, row: TurnRow
) -> list[tuple[ThreadRef, Outgoing]]:
    """A new message in each thread that watched a long turn; a turn that a person stopped needs none."""
    assert turn.result is not None
    lasted = (turn.ended_at or turn.started_at) - turn.started_at
    if lasted < house.rendering.notify_after_seconds or turn.result.outcome == "interrupted":
        return []
    how = await chosen(house, row.member)
    blocks = ending(turn, house.rendering)
    found: list[tuple[ThreadRef, Outgoing]] = []
    for screen in screens if how != "off" else ():
        asked_here = screen.thread == row.thread
        reply_to = row.message if asked_here and how in ("reply", "mention") else ""
        mention = await _identity(house, row.member, screen.thread) if asked_here and how == "mention" else ""
        message = Outgoing(f"end:{turn.id}", blocks, loud=True, reply_to=reply_to, mention=mention)
        found.append((screen.thread, message))
    return found


async def chosen(house: House, member: str) -> Notify:
    """How a person wants to be told; the configuration where they have not said."""
    said = await house.store.preferences.get(member, PREFERENCE) if member else ""
    return next((how for how in NOTIFY if how == said), house.rendering.notify)


async def _identity(house: House, member: str, thread: ThreadRef) -> str:
    known = await house.store.members.by_name(member)
    return known.identities.get(thread.platform, "") if known is not None else ""
