"""What a press on a card means: an answer, a look at the rules, or a rule."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from beambot.state.rules import LASTING, Lasting

_RULE = re.compile(r"([rn])(\d)(?::([a-z]+))?")
Page = Literal["answers", "rules", "lasting", "why", "all"]


class Choose(Struct, frozen=True):
    """One of the choices that the agent offers."""

    number: int


class Turn(Struct, frozen=True):
    """Other buttons under the same card."""

    page: Page
    allow: bool = True
    offer: int = 0


class MakeRule(Struct, frozen=True):
    """Answer, and decide the same way from now on."""

    offer: int
    lasting: Lasting
    allow: bool


class AllowAll(Struct, frozen=True):
    """Exactly these: the digest of what the list showed."""

    listed: str


class Stop(Struct, frozen=True):
    """End the turn."""


Press = Choose | Turn | MakeRule | AllowAll | Stop
_TURNS: dict[str, Turn] = {
    "back": Turn("answers"),
    "rules": Turn("rules"),
    "norules": Turn("rules", allow=False),
    "why": Turn("why"),
    "all": Turn("all"),
}


def meaning(choice: str) -> Press | None:
    """None: no card of ours has such a button."""
    if choice.isascii() and choice.isdigit() and len(choice) <= 3:
        return Choose(int(choice))
    if choice == "stop":
        return Stop()
    if choice in _TURNS:
        return _TURNS[choice]
    if choice.startswith("all:"):
        return AllowAll(choice[4:])
    found = _RULE.fullmatch(choice)
    if found is None:
        return None
    allow, offer, lasting = found.group(1) == "r", int(found.group(2)), found.group(3)
    if lasting is None:
        return Turn("lasting", allow, offer)
    known = next((name for name in LASTING if name == lasting), None)
    return MakeRule(offer, known, allow) if known is not None else None
