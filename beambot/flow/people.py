"""Who may: members, strangers, and the code that makes one of the other."""

from __future__ import annotations

import re

from beambot.flow.house import House
from beambot.log import get_logger
from beambot.model.inbound import CommandIn, Inbound, TextIn
from beambot.model.outbound import Notice
from beambot.model.settings import CODE_ALPHABET, CODE_LENGTH, ROLES
from beambot.store.records import MemberRow

log = get_logger("people")

_HOUR = 3600.0
_REMEMBERED = 10_000
# Only what has the shape of a code counts as a try, so that a stranger's small talk cannot use the tries up.
_CODE = re.compile(f"[{CODE_ALPHABET}]{{{CODE_LENGTH}}}", re.IGNORECASE)


class People:
    """Closed by default: whoever is not known is told so, once an hour at the most, and nothing else."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._told: dict[str, float] = {}

    async def known(self, inbound: Inbound) -> MemberRow | None:
        """The member who sent this, or None after a stranger was dealt with."""
        if inbound.sender.bot:
            return None
        member = await self._house.store.members.find(inbound.platform, inbound.sender.id)
        if member is None:
            await self._stranger(inbound)
        return member

    async def _stranger(self, inbound: Inbound) -> None:
        code = _code(inbound)
        if code and await self._pair(inbound, code):
            return
        who = f"{inbound.platform}/{inbound.sender.id}"
        now = self._house.clock.now()
        if now - self._told.get(who, float("-inf")) < _HOUR:
            return
        while len(self._told) >= _REMEMBERED:
            self._told.pop(next(iter(self._told)))
        self._told.pop(who, None)
        self._told[who] = now
        log.info("stranger", who=who)
        await self._house.store.audit.add("stranger", who, {"thread": inbound.thread.key})
        # In a group the others would be bothered by it: there a stranger gets nothing.
        if inbound.private and isinstance(inbound.body, TextIn | CommandIn):
            await self._house.say([inbound.thread], "I do not know you.")

    async def _pair(self, inbound: Inbound, code: str) -> bool:
        store = self._house.store
        sender = inbound.sender
        now = self._house.clock.now()
        pairing = await store.pairings.attempt(code, inbound.platform, sender.id, sender.name, now)
        if pairing is None:
            return False
        await store.audit.add("pairing_claimed", f"{inbound.platform}/{sender.id}", {"name": sender.name})
        if pairing.role in ROLES:
            name = await self._free_name(sender.name or sender.id)
            await store.members.put(MemberRow(name, pairing.role, {inbound.platform: sender.id}, "paired", now))
            await store.pairings.settle(pairing.id, pairing.role)
            words = Notice(f"Welcome, {name}. You are {pairing.role} here.", level="success")
            await self._house.say([inbound.thread], words)
        else:
            await self._house.say([inbound.thread], "Thank you. The owner sees who you are and gives you a role.")
        return True

    async def _free_name(self, wanted: str) -> str:
        name, number = wanted, 1
        while await self._house.store.members.by_name(name) is not None:
            number += 1
            name = f"{wanted} {number}"
        return name


def _code(inbound: Inbound) -> str:
    """What may be a pairing code: one short word, also behind /start or /pair."""
    match inbound.body:
        case TextIn(text=text):
            words = text.split()
        case CommandIn(name=name, args=args):
            words = [f"/{name}", *args.split()]
        case _:
            return ""
    if words and words[0] in ("/start", "/pair"):
        words = words[1:]
    return words[0] if len(words) == 1 and _CODE.fullmatch(words[0]) else ""
