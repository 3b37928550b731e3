"""The agent of one session: started when wanted, resumed where it can be, ended in bounded time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from beambot.errors import AgentError, SessionGone
from beambot.flow.house import House
from beambot.flow.sessions.pump import Pump
from beambot.flow.waiting import alone
from beambot.log import get_logger
from beambot.model.outbound import Button, Notice
from beambot.model.ports import BackendSession, OpenOptions
from beambot.store.records import SessionRow

log = get_logger("sessions")

_CLOSE_SECONDS = 4.0
_NO_MEMORY = "The agent could not take up the earlier conversation: it begins anew, without its memory."


class Agent:
    """At most one process at a time; `backend` is it, while it is up."""

    def __init__(
        self,
        house: House,
        session: str,
        pump: Pump,
        tasks: TaskGroup,
        make_room: Callable[[], Awaitable[None]],
        on_end: Callable[[], None],
    ) -> None:
        self.backend: BackendSession | None = None
        self._house = house
        self._session = session
        self._pump = pump
        self._tasks = tasks
        self._make_room = make_room
        self._on_end = on_end
        self._reading = anyio.Event()
        self._reading.set()
        self._starting = anyio.Lock()
        self._crashes: list[float] = []

    async def ensure(self) -> BackendSession:
        """The agent, started if need be. Raises `AgentError` with the fix."""
        async with self._starting:
            if self._pump.dying:
                # It has said that it is going: the next prompt is for its successor.
                with anyio.move_on_after(_CLOSE_SECONDS):
                    await self._reading.wait()
            if self.backend is None:
                self._check_crashes()
                await self._make_room()
                backend = await self._open()
                self._pump.listen_to(backend)
                self.backend = backend
                self._reading = anyio.Event()
                self._tasks.start_soon(alone, self._read, backend, self._reading)
            return self.backend

    def forgive(self) -> None:
        """A person wants it again: earlier crashes do not count."""
        self._crashes.clear()

    async def end(self) -> None:
        """End the process; the session stays and is resumed when wanted. An agent that hangs is left behind."""
        await self.let_go()()

    def let_go(self) -> Callable[[], Awaitable[None]]:
        """Take the process out of use at once; what is given back ends it."""
        backend, self.backend, reading = self.backend, None, self._reading

        async def end() -> None:
            if backend is not None:
                await _close(backend)
                with anyio.move_on_after(1, shield=True):
                    await reading.wait()

        return end

    def _check_crashes(self) -> None:
        limits = self._house.limits
        horizon = self._house.clock.monotonic() - limits.restart_window_seconds
        self._crashes = [at for at in self._crashes if at > horizon]
        if len(self._crashes) > limits.restarts:
            raise AgentError(
                f"it ended unexpectedly {len(self._crashes)} times within "
                f"{limits.restart_window_seconds / 60:.0f} minutes",
                fix=f"Look at what it needs (`beambot doctor`), then /resume {self._session}.",
            )

    async def _open(self) -> BackendSession:
        row = await self._house.store.sessions.get(self._session)
        if row is None:
            raise AgentError("this session is not in the store any more", fix="Begin a new one: /new")
        if not await anyio.Path(row.folder).is_dir():
            raise AgentError(
                f"the folder {row.folder} is not there", fix="Put it back, or set `path` of the project."
            )
        if not row.agent_session:
            return await self._launch(row)
        if self._house.host.capabilities(row.adapter).resume:
            try:
                return await self._launch(row, row.agent_session)
            except SessionGone as gone:
                log.warning("session gone", session=self._session, why=str(gone))
        threads = await self._house.threads_of(self._session)
        await self._house.say(threads, Notice(_NO_MEMORY, level="warning"))
        return await self._launch(row)

    async def _launch(self, row: SessionRow, resume: str | None = None) -> BackendSession:
        project = self._house.projects.get(row.project)
        options = OpenOptions(
            session=row.id,
            folder=Path(row.folder),
            model=row.model,
            mode=row.mode,
            env=dict(project.env) if project is not None else {},
        )
        try:
            return await self._house.host.open(row.adapter, options, resume)
        except AgentError:
            raise
        except Exception as error:
            log.error("an adapter broke", adapter=row.adapter, exc_info=error)
            raise AgentError(f"the adapter broke: {error}", fix="The log says more.") from error

    async def _read(self, backend: BackendSession, done: anyio.Event) -> None:
        try:
            await self._pump.run(backend)
        finally:
            ours = self.backend is backend
            closed = self._pump.closed
            crashed = ours and (closed is None or not closed.expected)
            if ours:
                self.backend = None
            if crashed:
                self._crashes.append(self._house.clock.monotonic())
            done.set()
        if ours:
            await _close(backend)
        if crashed:
            # A turn that was running has told the reason already.
            await self._say_crashed("" if closed is None or self._pump.dying else closed.why)
        self._on_end()

    async def _say_crashed(self, why: str) -> None:
        words = "The agent ended unexpectedly" + (f": {why}" if why else ".")
        buttons = ((Button("Resume", f"cmd:/resume {self._session}", style="primary"),),)
        threads = await self._house.threads_of(self._session)
        await self._house.say(threads, Notice(words, level="error"), buttons=buttons, loud=True)


async def _close(backend: BackendSession) -> None:
    with anyio.move_on_after(_CLOSE_SECONDS, shield=True) as scope:
        await alone(backend.close)
    if scope.cancelled_caught:
        log.error("an agent did not close in time")
