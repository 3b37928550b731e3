"""Commands about the agent and about who one is: model, mode, projects, whoami, help."""

from __future__ import annotations

from collections.abc import Sequence

from beambot.errors import AgentError
from beambot.flow.commands.audit import audit
from beambot.flow.commands.rules import COMMANDS as RULES
from beambot.flow.commands.sessions import COMMANDS as SESSIONS
from beambot.flow.commands.show import COMMANDS as SHOW
from beambot.flow.commands.table import Command, Commands, Desk
from beambot.flow.sessions.ending import PREFERENCE, chosen
from beambot.model.bodies import Choice
from beambot.model.outbound import Button, Fact, Facts, Notice
from beambot.model.settings import NOTIFY


async def model(desk: Desk, args: str) -> None:
    """/model [name]"""
    await _set(desk, "model", args)


async def mode(desk: Desk, args: str) -> None:
    """/mode [name]"""
    await _set(desk, "mode", args)


async def _set(desk: Desk, what: str, args: str) -> None:
    row = await desk.session()
    if row is None:
        return
    facts = desk.sessions.facts(row.id)
    offered: Sequence[Choice] = () if facts is None else (facts.models if what == "model" else facts.modes)
    now = row.model if what == "model" else row.mode
    if not args:
        buttons = tuple((Button(_marked(choice, now), f"cmd:/{what} {choice.id}"[:64]),) for choice in offered[:12])
        hint = "" if offered else f" The agent has not said which there are: /{what} NAME sets one."
        await desk.say(Notice(f"The {what} is {now or 'the default of the agent'}.{hint}"), buttons=buttons)
        return
    matches = [c.id for c in offered if c.id == args] or [
        c.id for c in offered if args.casefold() in (c.id + c.name).casefold()
    ]
    if offered and len(matches) != 1:
        buttons = tuple((Button(c.name or c.id, f"cmd:/{what} {c.id}"[:64]),) for c in offered[:12])
        await desk.say(Notice(f"Which {what}?", level="ask"), buttons=buttons)
        return
    wanted = matches[0] if matches else args.split()[0]
    try:
        running = await desk.sessions.configure(row.id, **{what: wanted})
    except AgentError as error:
        await desk.warn(f"The {what} stays as it is: {error}")
        return
    when = "" if running else " when the agent starts"
    await desk.say(Notice(f"The {what} is {wanted}{when}.", level="success"))


def _marked(choice: Choice, now: str) -> str:
    return f"{'● ' if choice.id == now else ''}{choice.name or choice.id}"


async def projects(desk: Desk, args: str) -> None:
    """/projects"""
    found = desk.threads.projects_for(desk.member)
    if not found:
        await desk.warn("There is no project that you may use. An owner can add you to one.")
        return
    facts = tuple(Fact(project.name, f"{project.path} · {project.adapter}") for project in found)
    buttons = tuple((Button(f"New in {project.name}", f"cmd:/new {project.name}"[:64]),) for project in found[:8])
    await desk.say(Facts(facts), buttons=buttons)


async def notify(desk: Desk, args: str) -> None:
    """/notify [how]: how the end of a long turn is told to this person."""
    how = args.strip().casefold()
    if how in NOTIFY:
        await desk.house.store.preferences.put(desk.member.name, PREFERENCE, how)
        await desk.say(Notice(f"The end of your long turns is told like this: {_TOLD[how]}.", level="success"))
        return
    now = await chosen(desk.house, desk.member.name)
    head = f"There is no way {args[:40]!r} to be told. " if how else ""
    buttons = tuple(Button(_TOLD[name], f"cmd:/notify {name}") for name in NOTIFY)
    await desk.say(Notice(f"{head}The end of your long turns is told like this: {_TOLD[now]}."), buttons=(buttons,))


_TOLD = {"message": "a message", "reply": "a reply", "mention": "a mention", "off": "not at all"}


async def whoami(desk: Desk, args: str) -> None:
    """/whoami"""
    may = {
        "observer": "read",
        "participant": "read and prompt",
        "approver": "read, prompt and answer asks",
        "owner": "do everything",
    }[desk.member.role]
    await desk.say(f"You are {desk.member.name}, {desk.member.role}: you may {may}.")


async def help_(desk: Desk, args: str) -> None:
    """/help"""
    facts = [
        Fact(f"/{command.name}{' ' + command.args if command.args else ''}", command.help)
        for command in TABLE.listed(desk.member.role)
    ]
    row = await desk.threads.current(desk.thread)
    agent = desk.sessions.facts(row.id) if row is not None else None
    if agent is not None and agent.commands:
        names = ", ".join(f"//{command.name}" for command in agent.commands[:20])
        facts.append(Fact("The agent's own", names))
    await desk.say(Notice("Write what you want done. Besides, there are:"), Facts(tuple(facts)))


TABLE = Commands(
    (
        *SESSIONS[:6],
        Command("model", "participant", "which model answers", model, "[name]"),
        Command("mode", "approver", "how freely the agent may act", mode, "[name]"),
        Command("projects", "observer", "list projects", projects),
        *SHOW,
        *RULES,
        *SESSIONS[6:],
        Command("notify", "observer", "how you are told that a long turn ended", notify, "[how]"),
        Command("audit", "owner", "who decided what, newest first", audit),
        Command("whoami", "observer", "who you are here", whoami),
        Command("help", "observer", "this list", help_),
        Command("start", "observer", "what there is", help_, hidden=True),
    )
)
