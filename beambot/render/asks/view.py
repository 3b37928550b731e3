"""What beambot adds to what an agent asks, as values."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from beambot.state.permission.edits import Editable

Page = Literal["answers", "rules", "lasting", "why", "all", "edit", "confirm", "steps"]


class Settled(Struct, frozen=True):
    """How an ask ended: the words for it, and whether it was a yes."""

    text: str
    good: bool = False


class View(Struct, frozen=True, kw_only=True):
    """Warnings, who may answer, what can be decided for later, who said yes so far, and what was begun.

    `page` is what stands under the card: the answers, the rules that can be made, how long one of them lasts, what
    can be edited, the edited request for confirmation, or one question after the other. `mark` stands for exactly
    the draft that is shown: for another one, its button does nothing. `missing` is how many more must say yes;
    `whole`, whether all that waits can be listed.
    """

    warnings: tuple[str, ...] = ()
    who: str = ""
    until: str = ""
    yes: tuple[str, ...] = ()
    missing: int = 1
    offers: tuple[str, ...] = ()
    lasting: tuple[tuple[str, str], ...] = ()
    allow: bool = True
    page: Page = "answers"
    chosen: int = 0
    others: tuple[str, ...] = ()
    listed: str = ""
    whole: bool = True
    editable: tuple[Editable, ...] = ()
    draft_by: str = ""
    mark: str = ""
    at: int = 0
    fields: dict[str, tuple[str, ...]] = {}
