"""Messages that people change or take back after they have sent them."""

from __future__ import annotations

from beambot.flow.house import House
from beambot.model.ids import ThreadRef
from beambot.model.outbound import Button, Notice
from beambot.store.records import MemberRow, TurnRow


class Corrections:
    """Only whoever wrote a prompt can change it."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def edited(self, thread: ThreadRef, member: MemberRow, message: str, text: str) -> None:
        """A queued prompt is changed; for one that runs, the new words are offered to be sent."""
        turn = await self._house.store.turns.by_message(thread, message)
        if turn is None or turn.member != member.name:
            return
        if await self._house.store.turns.update(turn.id, expect="queued", text=text):
            await self._house.say([thread], "The queued prompt was changed.")
            return
        # It may have been handed over in this very moment.
        turn = await self._house.store.turns.get(turn.id) or turn
        if turn.state in ("handed", "running"):
            await self._offer_correction(thread, turn, text)

    async def _offer_correction(self, thread: ThreadRef, turn: TurnRow, text: str) -> None:
        """It is too late to change what the agent has: the new words are kept, for one press."""
        if text == turn.text:
            return
        fresh = TurnRow(
            id=self._house.ids.new(),
            session=turn.session,
            text=text,
            member=turn.member,
            thread=thread,
            message=turn.message,
            state="cancelled",
            note="a correction that was not sent",
            created_at=self._house.clock.now(),
        )
        await self._house.store.turns.add(fresh)
        words = Notice("That prompt is running already. Shall the agent get it as you wrote it now?", level="ask")
        buttons = ((Button("Send the correction", f"cmd:/again {fresh.id}", style="primary"),),)
        await self._house.say([thread], words, buttons=buttons)

    async def deleted(self, thread: ThreadRef, member: MemberRow, message: str) -> None:
        """A queued prompt is taken back with its message."""
        turn = await self._house.store.turns.by_message(thread, message)
        if turn is not None and turn.member == member.name:
            now = self._house.clock.now()
            if await self._house.store.turns.update(turn.id, expect="queued", state="cancelled", ended_at=now):
                await self._house.say([thread], "The queued prompt was taken back.")
