"""docs/who-may.md says who may do what, and is made from the code that decides it."""

from __future__ import annotations

import os
from pathlib import Path

from beambot.flow.commands.agents import TABLE
from beambot.model.settings import ROLES, AskPolicy, may
from beambot.state.asks import Voter, refusal

PAGE = Path(__file__).resolve().parents[2] / "docs" / "who-may.md"
POLICIES = {
    "any approver (the default)": AskPolicy(),
    "the prompter": AskPolicy(who=("prompter",)),
    "somebody else by name": AskPolicy(who=("somebody",)),
    "any owner (always so for a login)": AskPolicy(who=("owners",)),
}


def page() -> str:
    """The whole page."""
    lines = [
        "# Who may do what",
        "",
        "Whoever is not a member is nobody here: no answer, no file name, no button. Each role may do what the",
        "ones before it may. This page is made from the code that decides (`tests/test_core/test_who_may.py`).",
        "",
        "## Commands and prompts",
        "",
        f"| | {' | '.join(ROLES)} |",
        f"|---|{'---|' * len(ROLES)}",
        _row("send a prompt", [may(role, "participant") for role in ROLES]),
    ]
    for command in TABLE.listed():
        name = f"`/{command.name}`: {command.help}"
        lines.append(_row(name, [may(role, command.role) for role in ROLES]))
    lines += [
        "",
        "## Answering an ask",
        "",
        "`asks.who` and `asks.dangerous.who` in the configuration name who may answer, and so do the `asks` of a",
        "project for itself; here somebody presses who also wrote the prompt. People who are not members of the",
        "session's project may never answer. Where `people` is more than one, a yes takes that many different",
        "people, who all allow the very same, and one no is enough. Whoever may answer may also edit what they",
        "allow; what the edit makes of it decides who may allow that. Time never allows.",
        "",
        f"| who may answer | {' | '.join(ROLES)} |",
        f"|---|{'---|' * len(ROLES)}",
    ]
    for name, policy in POLICIES.items():
        lines.append(_row(name, [not refusal(policy, "me", Voter("me", role)) for role in ROLES]))
    lines += [
        "",
        "Rules for later (`Allow for…`) may be made by whoever may answer; those for every project by owners only.",
        "Rules may be revoked by approvers of the project. Every answer, rule and refusal is in the audit.",
        "",
    ]
    return "\n".join(lines)


def _row(name: str, allowed: list[bool]) -> str:
    return f"| {name} | {' | '.join('yes' if one else '–' for one in allowed)} |"


def test_the_page_says_what_the_code_decides() -> None:
    if os.environ.get("UPDATE_SNAPSHOTS"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()
