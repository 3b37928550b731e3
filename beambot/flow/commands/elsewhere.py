"""Sessions that live elsewhere too: begun in a terminal and taken up here, or handed back to one."""

from __future__ import annotations

from pathlib import Path

from beambot.errors import AgentError
from beambot.flow.commands.table import Command, Desk, short
from beambot.log import get_logger
from beambot.model.outbound import Button, Fact, Facts, Notice, duration
from beambot.model.ports import Resumable
from beambot.model.settings import Project

log = get_logger("commands")


async def offer_foreign(desk: Desk) -> None:
    """Sessions that were begun elsewhere, in a terminal: what the agents of this member's projects still know."""
    known = {row.agent_session for row in await desk.house.store.sessions.recent(1000, include_closed=True)}
    found: list[tuple[Project, Resumable]] = []
    for project in desk.threads.projects_for(desk.member):
        try:
            every = await desk.house.host.list_resumable(project.adapter, project.path)
        except AgentError as error:
            log.warning("an agent does not tell its sessions", adapter=project.adapter, why=str(error))
            continue
        found += [(project, one) for one in every if one.agent_session not in known]
    found.sort(key=lambda pair: -pair[1].at)
    if not found:
        return
    now = desk.house.clock.now()
    facts = tuple(
        Fact(short(one.title or one.agent_session, 60), f"{project.name} · {duration(now - one.at)} ago")
        for project, one in found[:8]
    )
    buttons = tuple(
        (Button(f"Take up {short(one.title or one.agent_session, 40)}", _adoption(project, one)),)
        for project, one in found[:8]
    )
    await desk.say(Notice("Begun elsewhere, newest first"), Facts(facts), buttons=buttons)


def _adoption(project: Project, one: Resumable) -> str:
    """The button has 64 bytes: the beginning of the id has to do."""
    begin = f"cmd:/adopt {project.name} "
    return begin + one.agent_session[: max(64 - len(begin.encode()), 8)]


async def adopt(desk: Desk, args: str) -> None:
    """/adopt PROJECT ID: take up a session that was begun elsewhere."""
    name, _, id = args.partition(" ")
    project = next((p for p in desk.threads.projects_for(desk.member) if p.name == name), None)
    if project is None or not id.strip():
        await desk.warn("There is no such session. /resume lists them.")
        return
    every = await desk.house.host.list_resumable(project.adapter, project.path)
    found = [one for one in every if one.agent_session.startswith(id.strip())]
    if len(found) != 1:
        await desk.warn("There is no such session any more. /resume lists them.")
        return
    row = await desk.threads.create(desk.thread, desk.member, project)
    title = short(found[0].title, 80)
    await desk.house.store.sessions.update(row.id, agent_session=found[0].agent_session, title=title)
    await desk.sessions.resume(row.id)
    await desk.say(Notice(f"Session {row.id} goes on here: {title or project.name}.", level="success"))
    await desk.held(desk.thread)


async def handoff(desk: Desk, args: str) -> None:
    """/handoff: the line that continues this session in a terminal."""
    row = await desk.session()
    if row is None:
        return
    line = (
        desk.house.host.continue_command(row.adapter, row.agent_session, Path(row.folder))
        if row.agent_session
        else ""
    )
    if not line:
        await desk.warn(f"{row.adapter} has no way to go on with this session in a terminal.")
        return
    words = "In a terminal on that machine this goes on. /close first, so that not two of them write."
    await desk.say(Notice(words), Facts((Fact("Type", line, code=True),)))


ELSEWHERE = (
    Command("handoff", "participant", "the line that continues this session in a terminal", handoff),
    Command("adopt", "participant", "take up a session begun elsewhere", adopt, "project id", hidden=True),
)
