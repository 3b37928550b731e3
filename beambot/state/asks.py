"""The life of an ask: open until it is answered, withdrawn or void, and then never again anything else.

Pure. The store keeps an ask and claims it in one statement; what a press means is decided here.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from beambot.model.settings import APPROVERS, OWNERS, PROMPTER, AskPolicy, Role, may

State = Literal["open", "answered", "cancelled", "void"]
Verdict = Literal["allow", "deny", "answer"]
Effect = Literal["settled", "noted", "refused", "late", "nothing"]


class Voter(Struct, frozen=True):
    """Somebody who wants to answer, as they stand at this moment. `is_member` of the session's project."""

    name: str
    role: Role
    is_member: bool = True


class Standing(Struct, frozen=True):
    """How an ask stands. `yes` are those who have allowed what takes more than one of them."""

    policy: AskPolicy = AskPolicy()
    prompter: str = ""
    state: State = "open"
    yes: tuple[str, ...] = ()
    outcome: str = ""
    by: str = ""


class Said(Struct, frozen=True):
    """Somebody answered."""

    voter: Voter
    verdict: Verdict


class Expired(Struct, frozen=True):
    """Nobody answered in time: that is a no."""


class Withdrawn(Struct, frozen=True):
    """The agent does not wait any more."""


class Gone(Struct, frozen=True):
    """The agent that asked is gone, and beambot was restarted."""


Event = Said | Expired | Withdrawn | Gone
OUTCOMES: dict[Verdict, str] = {"allow": "allowed", "deny": "denied", "answer": "answered"}


def step(ask: Standing, event: Event) -> tuple[Standing, Effect]:
    """What an event makes of an ask. What is settled stays as it is, whatever comes."""
    if isinstance(event, Said):
        return _said(ask, event)
    if ask.state != "open":
        return ask, "nothing"
    match event:
        case Expired():
            return replace(ask, state="answered", outcome="denied", by="beambot"), "settled"
        case Withdrawn():
            return replace(ask, state="cancelled"), "settled"
        case Gone():
            return replace(ask, state="void"), "settled"


def _said(ask: Standing, said: Said) -> tuple[Standing, Effect]:
    if refusal(ask.policy, ask.prompter, said.voter):
        return ask, "refused"
    if ask.state != "open":
        return ask, "late"
    name = said.voter.name
    if said.verdict == "allow" and ask.policy.people > 1:
        # One no is enough; a yes takes as many different people as the policy says.
        yes = ask.yes if name in ask.yes else (*ask.yes, name)
        if len(yes) < ask.policy.people:
            return replace(ask, yes=yes), "noted"
        return replace(ask, yes=yes, state="answered", outcome="allowed", by=" and ".join(yes)), "settled"
    return replace(ask, state="answered", outcome=OUTCOMES[said.verdict], by=name), "settled"


def refusal(policy: AskPolicy, prompter: str, voter: Voter) -> str:
    """Why somebody may not answer, or nothing when they may."""
    if not voter.is_member:
        return "It takes an approver of this project, and you are not a member of it."
    if not may(voter.role, "approver"):
        return f"It takes an approver of this project; you are {voter.role}."
    for name in policy.who:
        if name == APPROVERS or name == voter.name or (name == PROMPTER and voter.name == prompter):
            return ""
        if name == OWNERS and may(voter.role, "owner"):
            return ""
    return f"Only {in_words(policy, prompter)} may answer this."


def in_words(policy: AskPolicy, prompter: str) -> str:
    """Who may answer, for the card."""
    who = {APPROVERS: "any approver", OWNERS: "any owner", PROMPTER: prompter or "whoever prompted"}
    names = " or ".join(who.get(name, name) for name in policy.who)
    return names if policy.people == 1 else f"{policy.people} different people of: {names}"
