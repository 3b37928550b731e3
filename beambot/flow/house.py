"""What every room of the flow shares. Made once by the composition root."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from beambot.flow.delivery import Delivery
from beambot.flow.journal import JournalWriter
from beambot.model.ids import ThreadRef
from beambot.model.outbound import AnyOutBlock, Button, Form, Notice, Outgoing
from beambot.model.ports import ChatPlatform, Clock, IdSource, SessionHost
from beambot.model.settings import AskSettings, Limits, Project, Rendering
from beambot.render.pace import Priority
from beambot.store import Store

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

    async def threads_of(self, session: str) -> list[ThreadRef]:
        """Where a session is shown."""
        return [row.ref for row in await self.store.threads.of_session(session) if not row.parked]

    async def say(
        self,
        threads: list[ThreadRef],
        *blocks: AnyOutBlock | str,
        buttons: Rows = (),
        form: Form | None = None,
        key: str = "",
        loud: bool = False,
        priority: Priority = Priority.NOTICE,
    ) -> str:
        """beambot's own words, kept until they stand; gives the message's key."""
        shown = tuple(Notice(block) if isinstance(block, str) else block for block in blocks)
        key = key or f"note:{self.ids.new()}"
        await self.delivery.put(threads, Outgoing(key, shown, buttons, form, loud), priority)
        return key
