"""How the end of a turn is told: once, aloud, in the way the person chose."""

from __future__ import annotations

from beambot.flow.house import House
from beambot.model.ids import ThreadRef
from beambot.model.settings import NOTIFY, Notify
from beambot.render.compose import ending
from beambot.state.turn import Turn
from beambot.store.records import TurnRow

PREFERENCE = "notify"


async def tell_end(house: House, threads: list[ThreadRef], turn: Turn, row: TurnRow) -> None:
    """A new message in each thread that watched a long turn; a turn that a person stopped needs none."""
    assert turn.result is not None
    lasted = (turn.ended_at or turn.started_at) - turn.started_at
    if lasted < house.rendering.notify_after_seconds or turn.result.outcome == "interrupted":
        return
    how = await chosen(house, row.member)
    if how == "off":
        return
    blocks = ending(turn, house.rendering)
    for thread in threads:
        asked_here = thread == row.thread
        reply_to = row.message if asked_here and how in ("reply", "mention") else ""
        mention = await _identity(house, row.member, thread) if asked_here and how == "mention" else ""
        key = f"end:{turn.id}"
        await house.say([thread], *blocks, key=key, loud=True, reply_to=reply_to, mention=mention)


async def chosen(house: House, member: str) -> Notify:
    """How a person wants to be told; the configuration where they have not said."""
    said = await house.store.preferences.get(member, PREFERENCE) if member else ""
    return next((how for how in NOTIFY if how == said), house.rendering.notify)


async def _identity(house: House, member: str, thread: ThreadRef) -> str:
    known = await house.store.members.by_name(member)
    return known.identities.get(thread.platform, "") if known is not None else ""
