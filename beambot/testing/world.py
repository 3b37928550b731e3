"""A whole beambot in memory around a fake chat and a scripted agent: the ground that journeys are tested on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import TaskGroup

from beambot.app import Rooms, build, serve
from beambot.clock import RandomIds
from beambot.model.ports import BackendAdapter, ChatPlatform, Clock
from beambot.model.settings import AskSettings, Limits, Project, Rendering, Role
from beambot.store import MemberRow, Store
from beambot.testing.clock import FakeClock, eventually
from beambot.testing.platform import FakePlatform
from beambot.testing.scripted import Script, ScriptedAdapter

PEOPLE: dict[str, Role] = {"1": "owner", "2": "approver", "3": "participant", "4": "observer"}


# How long something may take on a busy machine before it counts as never.
_PATIENCE = 15.0


class World:
    """One run of beambot. Enter it again with the same folder and chat, and it is a restart.

    People "1" to "4" are owner, approver, participant and observer on every platform; "9" is a stranger.
    """

    def __init__(
        self,
        folder: Path,
        script: Script | Sequence[Script] = (),
        *,
        clock: Clock | None = None,
        adapter: BackendAdapter | None = None,
        platforms: Sequence[ChatPlatform] = (),
        projects: Sequence[Project] = (),
        limits: Limits | None = None,
        asks: AskSettings | None = None,
        rendering: Rendering | None = None,
    ) -> None:
        self.folder = folder
        self.clock: Clock = clock or FakeClock()
        self.agent = ScriptedAdapter(script, clock=self.clock)
        self.chat = FakePlatform(self.clock)
        self._adapter = adapter or self.agent
        self._platforms = list(platforms) or [self.chat]
        if isinstance(self._platforms[0], FakePlatform):
            self.chat = self._platforms[0]
        self._projects = tuple(projects)
        self._settings = (limits, asks, rendering)
        self._stop = anyio.Event()
        self._tasks: TaskGroup | None = None
        self.rooms: Rooms
        self.store: Store

    async def __aenter__(self) -> Self:
        project = self.folder / "project"
        await anyio.Path(project).mkdir(exist_ok=True, parents=True)
        self.store = await Store.open(self.folder / "beambot.db", self.clock)
        names = [platform.name for platform in self._platforms]
        await self.store.members.sync(
            [MemberRow(f"user{who}", role, dict.fromkeys(names, who)) for who, role in PEOPLE.items()]
        )
        limits, asks, rendering = self._settings
        self.rooms = build(
            self.store,
            clock=self.clock,
            ids=RandomIds(),
            adapters={self._adapter.name: self._adapter},
            platforms={platform.name: platform for platform in self._platforms},
            projects=self._projects or (Project(name="shop", path=project, adapter=self._adapter.name),),
            files=self.folder / "files",
            limits=limits,
            asks=asks,
            rendering=rendering,
        )
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        up = anyio.Event()
        self._tasks.start_soon(self._serve, up)
        await up.wait()
        return self

    async def _serve(self, up: anyio.Event) -> None:
        await serve(self.rooms, self._stop, ready=lambda platform: up.set())

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._tasks is not None
        if kind is None:
            self._stop.set()
        else:
            self._tasks.cancel_scope.cancel()
        try:
            return await self._tasks.__aexit__(kind, error, trace)
        finally:
            with anyio.CancelScope(shield=True):
                await self.store.close()
                for platform in self._platforms:
                    if not isinstance(platform, FakePlatform):
                        await platform.close()

    async def crash(self) -> None:
        """As if the process had been killed: nothing is said, nothing is closed."""
        assert self._tasks is not None
        self._tasks.cancel_scope.cancel()
        await anyio.lowlevel.checkpoint()

    async def sees(self, text: str, *, seconds: float = _PATIENCE) -> None:
        """Wait until these words stand in the chat, letting the clock run."""
        await self.until(lambda: self.chat.shows(text), seconds=seconds, what=f"{text!r} in {self.chat.screen()}")

    async def until(self, seen: object, *, seconds: float = _PATIENCE, what: str = "") -> None:
        """Wait until something is so, letting the clock run."""
        assert callable(seen)
        with anyio.move_on_after(seconds) as scope:
            while not seen():
                if isinstance(self.clock, FakeClock):
                    await self.clock.advance(0.05)
                await anyio.sleep(0.002)
        if scope.cancelled_caught:
            raise AssertionError(f"not seen within {seconds:g} s: {what or seen}; {self.chat.screen()}")

    async def quiet(self) -> None:
        """Wait until nothing is left to send."""
        await self.until(lambda: all(lane.quiet for lane in self.rooms.house.delivery.lanes))


__all__ = ["PEOPLE", "World", "eventually"]
