"""The command about rules: what is decided without asking, by whom, and how to take it back."""

from __future__ import annotations

from beambot.flow.commands.table import Command, Desk
from beambot.model.outbound import Button, Fact, Facts, Notice, duration
from beambot.model.settings import may
from beambot.store.records import RuleRow

_MOST = 20


async def rules(desk: Desk, args: str) -> None:
    """/rules [revoke ID]: those of this session's project, newest first."""
    word, _, id = args.partition(" ")
    if word == "revoke":
        await _revoke(desk, id.strip())
        return
    row = await desk.session()
    if row is None:
        return
    live = await desk.house.store.rules.live(row.project, row.id, desk.house.clock.now())
    if not live:
        await desk.say("There are no rules here: everything is asked. A card offers them under “Allow for…”.")
        return
    newest = live[::-1][:_MOST]
    facts = tuple(Fact(rule.id, _told(rule, desk.house.clock.now())) for rule in newest)
    buttons = tuple(
        (Button(f"Revoke {rule.id}", f"cmd:/rules revoke {rule.id}", style="danger"),) for rule in newest[:8]
    )
    more = f", the newest {_MOST} of {len(live)}" if len(live) > _MOST else ""
    await desk.say(Notice(f"Decided without asking{more}"), Facts(facts), buttons=buttons)


async def _revoke(desk: Desk, id: str) -> None:
    rule = await desk.house.store.rules.get(id) if id else None
    project = desk.house.projects.get(rule.project) if rule is not None else None
    is_member = project is None or not project.members or desk.member.name in project.members
    if rule is None or not is_member:
        await desk.warn("There is no such rule. /rules lists them.")
        return
    if not may(desk.member.role, "approver") or (not rule.project and not may(desk.member.role, "owner")):
        await desk.warn("Revoking a rule takes an approver; one that holds in every project takes an owner.")
        return
    now = desk.house.clock.now()
    if not await desk.house.store.rules.revoke(rule.id, desk.member.name, now):
        await desk.say("It was revoked already.")
        return
    await desk.house.store.audit.add("rule_revoked", desk.member.name, {"rule": rule.id, "what": rule.words})
    await desk.say(Notice(f"Revoked: {rule.words}. It is asked again from now on.", level="success"))


def _told(rule: RuleRow, now: float) -> str:
    """In one line: what, where, until when, by whom, and what it last decided."""
    where = "every project" if not rule.project else rule.project
    if rule.turn:
        where = "this turn"
    elif rule.session:
        where = "this session"
    parts = [f"{'Allowed' if rule.allow else 'Denied'}: {rule.words}", where]
    if rule.until is not None:
        parts.append(f"for {duration(rule.until - now)} more")
    parts.append(f"by {rule.made_by}, {duration(now - rule.made_at)} ago")
    if rule.used_at is not None:
        parts.append(f"last {duration(now - rule.used_at)} ago: {rule.used_for}")
    return " · ".join(parts)


COMMANDS = (Command("rules", "observer", "what is decided without asking", rules, "[revoke id]"),)
