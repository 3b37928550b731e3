"""Threads and the sessions they show: finding one, making one, moving one."""

from __future__ import annotations

from beambot.flow.house import House
from beambot.flow.sessions import Sessions
from beambot.model.ids import ThreadRef
from beambot.model.settings import Project
from beambot.store.records import MemberRow, SessionRow


class Threads:
    """A thread shows one session at a time; a session can be shown in several threads."""

    def __init__(self, house: House, sessions: Sessions) -> None:
        self._house = house
        self._sessions = sessions

    def projects_for(self, member: MemberRow) -> list[Project]:
        """The projects that this member may use."""
        every = self._house.projects.values()
        return [project for project in every if not project.members or member.name in project.members]

    def may_use(self, member: MemberRow, session: SessionRow) -> bool:
        """Whether this member may work in a session's project."""
        return self._house.may_use(member, session)

    async def current(self, thread: ThreadRef) -> SessionRow | None:
        """The session that a thread shows."""
        row = await self._house.store.threads.get(thread)
        return await self._house.store.sessions.get(row.session) if row is not None and row.session else None

    async def create(self, thread: ThreadRef, member: MemberRow, project: Project, adapter: str = "") -> SessionRow:
        """A new session in this thread; the one before stays and can be taken up again."""
        now = self._house.clock.now()
        row = SessionRow(
            id=self._house.ids.new(8),
            project=project.name,
            adapter=adapter or project.adapter,
            folder=str(project.path),
            model=project.model,
            mode=project.mode,
            created_by=member.name,
            created_at=now,
            used_at=now,
        )
        async with self._house.store.transaction():
            await self._house.store.sessions.add(row)
            await self._house.store.threads.bind(thread, row.id)
        self._house.delivery.mark(thread, "idle")
        return row

    async def show(self, thread: ThreadRef, session: SessionRow) -> None:
        """From now on this thread shows that session."""
        await self._house.store.threads.bind(thread, session.id)
        if session.state == "closed":
            await self._house.store.sessions.update(session.id, state="idle")
        await self._sessions.joined(session.id, thread)
        if session.title:
            self._house.delivery.rename(thread, session.title)
