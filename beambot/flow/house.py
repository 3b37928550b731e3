"""What every room of the flow shares. Made once by the composition root."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from beambot.flow.delivery import Delivery
from beambot.flow.journal import JournalWriter
from beambot.flow.outfiles import attached
from beambot.model.ids import ThreadRef
from beambot.model.outbound import AnyOutBlock, Attached, Button, Form, Notice, Outgoing
from beambot.model.ports import ChatPlatform, Clock, IdSource, SessionHost
from beambot.model.settings import AskSettings, Limits, Project, Rendering
from beambot.render.pace import Priority
from beambot.store import MemberRow, SessionRow, Store

Rows = tuple[tuple[Button, ...], ...]


@dataclass(frozen=True)
class House:
    """Parts and settings; no behaviour beyond saying something in a thread."""

    store: Store
    clock: Clock
    ids: IdSource
    host: SessionHost
    platforms: Mapping[str, ChatPlatform]
    delivery: Delivery
    journal: JournalWriter
    projects: Mapping[str, Project]
    rendering: Rendering
    asks: AskSettings
    limits: Limits
    files: Path

    def may_use(self, member: MemberRow, session: SessionRow) -> bool:
        """Whether this member may work in a session's project."""
        project = self.projects.get(session.project)
        if project is None:
            # The project left the configuration, and with it the list of who may use it.
            return member.role == "owner"
        return not project.members or member.name in project.members

    async def threads_of(self, session: str) -> list[ThreadRef]:
        """Where a session is shown."""
        rows = await self.store.threads.of_session(session)
        return [row.ref for row in rows if not row.parked and row.ref.platform in self.platforms]

    async def send_file(self, thread: ThreadRef, name: str, data: bytes, key: str, *caption: AnyOutBlock) -> None:
        """A file that beambot made, kept until it stands."""
        waiting = await attached(self.files, self.ids, name, data)
        await self.say([thread], *caption, key=key, file=waiting)

    async def say(
        self,
        threads: list[ThreadRef],
        *blocks: AnyOutBlock | str,
        buttons: Rows = (),
        form: Form | None = None,
        key: str = "",
        loud: bool = False,
        reply_to: str = "",
        mention: str = "",
        file: Attached | None = None,
        priority: Priority = Priority.NOTICE,
    ) -> str:
        """beambot's own words, kept until they stand; gives the message's key."""
        shown = tuple(Notice(block) if isinstance(block, str) else block for block in blocks)
        key = key or f"note:{self.ids.new()}"
        message = Outgoing(key, shown, buttons, form, loud, reply_to, mention=mention, file=file)
        await self.delivery.put(threads, message, priority)
        return key
