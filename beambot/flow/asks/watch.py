"""What becomes of asks that nobody answers: one reminder, and the end that the owner set. Never a yes."""

from __future__ import annotations

import time

from beambot.flow.asks.board import SAME, decode, policy_of
from beambot.flow.asks.settling import Settling
from beambot.flow.house import House
from beambot.flow.waiting import alone
from beambot.model.outbound import Notice
from beambot.model.settings import APPROVERS, OWNERS, PROMPTER, AskPolicy
from beambot.render import asks as cards
from beambot.render.pace import Priority
from beambot.state.asks import in_words
from beambot.store.records import AskRow

_LOOK_EVERY_SECONDS = 5.0


class Watch:
    """Looks at what waits, every now and then."""

    def __init__(self, house: House, settling: Settling) -> None:
        self._house = house
        self._settling = settling

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self._house.clock.sleep(_LOOK_EVERY_SECONDS)
            await alone(self._look)

    async def _look(self) -> None:
        settings, now = self._house.asks, self._house.clock.now()
        for row in await self._house.store.asks.open():
            if row.until is not None and now >= row.until:
                await alone(self._settling.time_out, row)
            elif settings.remind_after_seconds and now - row.created_at >= settings.remind_after_seconds:
                await alone(self._remind, row)

    async def _remind(self, row: AskRow) -> None:
        """Once, those who may answer, not in quiet hours, and also after a restart not again."""
        now = self._house.clock.now()
        if row.reminded_at is not None or row.note.startswith(SAME) or _is_quiet(self._house.asks.quiet_hours, now):
            return
        if not await self._house.store.asks.remind(row.id, now):
            return
        policy, turn = policy_of(row), await self._house.store.turns.get(row.turn)
        prompter = turn.member if turn is not None else ""
        words = f"Still waiting for an answer: {cards.summary(decode(row))}"
        if policy != AskPolicy():
            words += f" ({in_words(policy, prompter)} may answer)"
        names = [prompter if who == PROMPTER else who for who in policy.who if who not in (APPROVERS, OWNERS)]
        people = [await self._house.store.members.by_name(name) for name in names]
        for thread in await self._house.threads_of(row.session):
            known = [person.identities.get(thread.platform, "") for person in people if person is not None]
            mention = next((identity for identity in known if identity), "")
            notice = Notice(words, level="ask")
            await self._house.say([thread], notice, loud=True, mention=mention, priority=Priority.ASK)


def _is_quiet(hours: tuple[int, int] | None, now: float) -> bool:
    if hours is None:
        return False
    local = time.localtime(now)
    minute, (first, last) = local.tm_hour * 60 + local.tm_min, hours
    return first <= minute < last if first <= last else minute >= first or minute < last
