"""Sessions: each is one task that owns its agent and plays one turn after the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import anyio
from anyio.abc import TaskGroup

from beambot.errors import AgentError
from beambot.flow.house import House
from beambot.flow.sessions.live import LiveSession
from beambot.flow.sessions.pump import AskDesk
from beambot.flow.waiting import alone
from beambot.model.abilities import Answering, Configurable
from beambot.model.bodies import SessionInit
from beambot.model.ids import MessageRef, ThreadRef
from beambot.model.ports import Answer
from beambot.store.records import TurnRow

# A chat shows for about five seconds that somebody writes.
_TYPING_SECONDS = 4.5


class Sessions:
    """Every live session, started when something is wanted of it."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._live: dict[str, LiveSession] = {}
        self._tasks: TaskGroup | None = None
        self._desk: AskDesk | None = None
        self._closing = False

    def start(self, tasks: TaskGroup, desk: AskDesk) -> None:
        """Sessions run in this task group from now on."""
        self._tasks = tasks
        self._desk = desk

    # ── prompts ──────────────────────────────────────────────────────────────────────────────────

    async def prompted(self, row: TurnRow) -> None:
        """A prompt was written down: it is played, said into the running turn, or waits its turn."""
        live = await self._get(row.session)
        if live is None:
            return
        if live.busy and row.thread is not None and row.message:
            self._house.delivery.receipt(MessageRef(row.thread, row.message), "queued")
        live.prompted(row)

    async def wake(self, session: str) -> None:
        """There may be something to do."""
        live = await self._get(session)
        if live is not None:
            live.wake()

    # ── control ──────────────────────────────────────────────────────────────────────────────────

    async def stop(self, session: str) -> tuple[bool, list[TurnRow]]:
        """Stop what runs, at once, and drop what waits: whether anything ran, and what was dropped."""
        live = self._live.get(session)
        return await live.stop() if live is not None else (False, [])

    async def resume(self, session: str) -> None:
        """Start the agent again now, whatever happened to it before; the thread is told if it does not start."""
        live = await self._get(session)
        if live is not None:
            live.reopen()

    async def close(self, session: str) -> None:
        """End the agent; the session can be taken up again later."""
        live = self._live.get(session)
        await self._house.store.sessions.update(session, state="closed")
        if live is not None:
            await live.close()
            await live.gone.wait()
            await self._house.store.sessions.update(session, state="closed")
        for thread in await self._house.threads_of(session):
            self._house.delivery.mark(thread, "closed")

    async def joined(self, session: str, thread: ThreadRef) -> None:
        """A thread begins to show a session, perhaps in mid-turn."""
        live = self._live.get(session)
        if live is not None:
            await live.pump.join(thread)
        if self._desk is not None:
            await self._desk.joined(session, thread)

    async def answer(self, session: str, answer: Answer) -> bool:
        """Hand an answer to the agent. False: nobody waits for it any more."""
        live = self._live.get(session)
        backend: object = live.agent.backend if live is not None else None
        return await backend.answer(answer) if isinstance(backend, Answering) else False

    async def configure(self, session: str, *, model: str = "", mode: str = "") -> bool:
        """Change model or mode. False: the agent is not running, it takes effect when it starts."""
        live = self._live.get(session)
        fields = {"model": model} if model else {"mode": mode}
        backend: object = live.agent.backend if live is not None else None
        if backend is None:
            await self._house.store.sessions.update(session, **fields)
            return False
        if not isinstance(backend, Configurable):
            raise AgentError("this agent cannot change that while it runs")
        if model:
            await backend.set_model(model)
        if mode:
            await backend.set_mode(mode)
        await self._house.store.sessions.update(session, **fields)
        return True

    # ── knowing ──────────────────────────────────────────────────────────────────────────────────

    def facts(self, session: str) -> SessionInit | None:
        """What the running agent said of itself."""
        live = self._live.get(session)
        return live.pump.init if live is not None else None

    def running(self, session: str) -> bool:
        """Whether a turn runs, or is about to."""
        live = self._live.get(session)
        return live is not None and live.busy

    def stopping(self, session: str) -> bool:
        """Whether the running turn is being stopped."""
        live = self._live.get(session)
        return live is not None and live.stopping

    async def show_typing(self) -> None:
        """While an agent works and there is nothing new to show, the chats say that it does."""
        while True:
            await self._house.clock.sleep(_TYPING_SECONDS)
            for live in list(self._live.values()):
                for thread in live.pump.silent_in():
                    self._house.delivery.typing(thread)

    def alive(self) -> Sequence[str]:
        """Sessions with a task of their own."""
        return tuple(self._live)

    def agents(self) -> list[LiveSession]:
        """Sessions whose agent is up, the longest unused first."""
        up = [live for live in self._live.values() if live.agent.backend is not None]
        return sorted(up, key=lambda live: live.used_at)

    async def shutdown(self) -> None:
        """End every agent, all at once."""
        self._closing = True
        async with anyio.create_task_group() as tasks:
            for live in list(self._live.values()):
                tasks.start_soon(alone, partial(live.close, shutdown=True))
        self._live.clear()

    async def _get(self, session: str) -> LiveSession | None:
        """The session's task; one that is ending is waited for, so that there is never a second."""
        while (live := self._live.get(session)) is not None:
            if not live.closing:
                return live
            await live.gone.wait()
            self._forget(live)
        row = await self._house.store.sessions.get(session)
        if row is None or self._closing or self._tasks is None or self._desk is None:
            return None
        if session in self._live:
            return await self._get(session)
        live = self._live[session] = LiveSession(self._house, row, self._desk, self._make_room, self._tasks)
        self._tasks.start_soon(alone, self._run, live)
        return live

    def _forget(self, live: LiveSession) -> None:
        if self._live.get(live.id) is live:
            del self._live[live.id]

    async def _run(self, live: LiveSession) -> None:
        await live.run()
        self._forget(live)
        # A prompt that was written down while the task was ending must not wait for the next one.
        row = await self._house.store.sessions.get(live.id)
        goes_on = not self._closing and row is not None and row.state != "closed"
        if goes_on and await self._house.store.turns.queued(live.id):
            await self.wake(live.id)

    async def _make_room(self) -> None:
        """One more agent wants to start: the longest idle one makes room."""
        agents = self.agents()
        if len(agents) < self._house.limits.sessions:
            return
        for live in agents:
            if not live.busy:
                await live.agent.end()
                return
        raise AgentError(
            f"as many agents as are allowed at once ({len(agents)}) are working already",
            fix="Wait for one to end, /stop one, or raise `limits.sessions`.",
        )
