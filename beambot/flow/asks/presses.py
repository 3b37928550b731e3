"""What a press on a card means: an answer, a step towards one, a look at the rules, or a rule."""

from __future__ import annotations

import re

from msgspec import Struct

from beambot.render.asks.view import Page
from beambot.state.permission.rules import LASTING, Lasting

_RULE = re.compile(r"([rn])(\d)(?::([a-z]+))?")
_STEP = re.compile(r"s(\d{1,2})\.(\d{1,2})|go(\d{1,2})")


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


class Confirm(Struct, frozen=True):
    """Allow what was edited: exactly the draft that this mark stands for."""

    mark: str


class Pick(Struct, frozen=True):
    """One option of one question of several."""

    at: int
    option: int


class Go(Struct, frozen=True):
    """To another question of several."""

    at: int


class Send(Struct, frozen=True):
    """Answer with exactly the draft that this mark stands for."""

    mark: str


class Stop(Struct, frozen=True):
    """End the turn."""


Press = Choose | Turn | MakeRule | AllowAll | Confirm | Pick | Go | Send | Stop
_TURNS: dict[str, Turn] = {
    "back": Turn("answers"),
    "rules": Turn("rules"),
    "norules": Turn("rules", allow=False),
    "why": Turn("why"),
    "all": Turn("all"),
    "edit": Turn("edit"),
    "edited": Turn("confirm"),
}
_MARKED: dict[str, type[AllowAll] | type[Confirm] | type[Send]] = {"all": AllowAll, "ok": Confirm, "send": Send}


def meaning(choice: str) -> Press | None:
    """None: no card of ours has such a button."""
    if choice.isascii() and choice.isdigit() and len(choice) <= 3:
        return Choose(int(choice))
    if choice == "stop":
        return Stop()
    if choice in _TURNS:
        return _TURNS[choice]
    verb, colon, mark = choice.partition(":")
    if colon and verb in _MARKED:
        return _MARKED[verb](mark)
    if (step := _STEP.fullmatch(choice)) is not None:
        at, option, to = step.groups()
        return Go(int(to)) if to else Pick(int(at), int(option))
    found = _RULE.fullmatch(choice)
    if found is None:
        return None
    allow, offer, lasting = found.group(1) == "r", int(found.group(2)), found.group(3)
    if lasting is None:
        return Turn("lasting", allow, offer)
    known = next((name for name in LASTING if name == lasting), None)
    return MakeRule(offer, known, allow) if known is not None else None
