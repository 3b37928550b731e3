"""One live session: its queue, its turns, its end. The agent behind it is `agent.py`'s."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import msgspec
from anyio.abc import TaskGroup

from beambot.errors import AgentError
from beambot.flow.house import House, Rows
from beambot.flow.sessions.agent import Agent
from beambot.flow.sessions.pump import AskDesk, Pump
from beambot.flow.waiting import alone, wait_for
from beambot.log import get_logger
from beambot.model.abilities import Interruptible, Steerable
from beambot.model.ids import MessageRef, ThreadRef
from beambot.model.outbound import Button, Notice, Receipt
from beambot.model.ports import BackendSession, File, Prompt
from beambot.render.compose import after_cut
from beambot.store.records import SessionRow, SessionState, TurnRow

log = get_logger("sessions")

_STEER_SECONDS = 2.0
_PAUSE_SECONDS = 1.0
_files = msgspec.json.Decoder(tuple[tuple[str, str, str], ...])


class LiveSession:
    """Runs until it is closed, or has been idle for long; what is queued stays in the store."""

    def __init__(
        self,
        house: House,
        row: SessionRow,
        desk: AskDesk,
        make_room: Callable[[], Awaitable[None]],
        tasks: TaskGroup,
    ) -> None:
        self.id = row.id
        self.used_at = house.clock.monotonic()
        self.closing = False
        self.gone = anyio.Event()
        self.pump = Pump(house, row.id, desk, self._changed, row.adapter)
        self.agent = Agent(house, row.id, self.pump, tasks, make_room, self.wake)
        self._house = house
        self._adapter = row.adapter
        self._tasks = tasks
        self._wake = anyio.Event()
        self._opening: anyio.CancelScope | None = None
        self._playing = ""
        self._held = False
        self._wanted = False
        self._stopped_opening = False
        self._stopped_turn = ""
        self._steering = anyio.Lock()
        self._shown_state: SessionState | None = None

    @property
    def busy(self) -> bool:
        """A turn runs, or is about to."""
        return bool(self._playing) or self.pump.turn is not None

    @property
    def stopping(self) -> bool:
        """The running turn is being stopped: nothing more is said into it."""
        return self.pump.turn is not None and self.pump.turn.id == self._stopped_turn

    def wake(self) -> None:
        """There may be something to do."""
        self._wake.set()

    def prompted(self, row: TurnRow) -> None:
        """A prompt was queued. An agent that listens while it works hears it at once."""
        backend: object = self.agent.backend
        listens = self._house.host.capabilities(self._adapter).steer and isinstance(backend, Steerable)
        if listens and self.pump.turn is not None and not self.stopping:
            self._tasks.start_soon(alone, self._steer, row)
        else:
            self.wake()

    def reopen(self) -> None:
        """Start the agent now; earlier crashes are forgiven."""
        self.agent.forgive()
        self._wanted = True
        self.wake()

    async def run(self) -> None:
        """The session's task. Whatever fails in it is said or logged, and it goes on."""
        try:
            while True:
                try:
                    row = await self._next()
                    if row is None:
                        return
                    self._playing = row.id
                    await self._play(row)
                except Exception as error:
                    log.error("a turn could not be played", session=self.id, exc_info=error)
                    await alone(self.pump.fail, f"Something went wrong inside beambot: {error}")
                    await self._house.clock.sleep(_PAUSE_SECONDS)
                finally:
                    self._playing = ""
                    self.used_at = self._house.clock.monotonic()
        finally:
            self.closing = True
            with anyio.CancelScope(shield=True):
                await self.agent.end()
            self.gone.set()

    # ── the queue ────────────────────────────────────────────────────────────────────────────────

    async def _next(self) -> TurnRow | None:
        while not self.closing:
            self._wake = anyio.Event()
            if self._held:
                await self._wake.wait()
                continue
            if self.pump.turn is not None:
                await self.pump.ended.wait()
                continue
            if self._wanted:
                self._wanted = False
                await self._start_now()
                continue
            queued = await self._house.store.turns.queued(self.id)
            if queued:
                return queued[0]
            await self._changed()
            woken = await wait_for(self._wake, self._house.clock, self._house.limits.idle_close_seconds)
            if not woken and self.pump.turn is None and not self._wake.is_set():
                return None
        return None

    async def _start_now(self) -> None:
        try:
            await self._agent()
        except AgentError as error:
            await self._say_not_started(error, ())

    async def _steer(self, row: TurnRow) -> None:
        async with self._steering:
            await self._steer_first(row)
        self.wake()

    async def _steer_first(self, row: TurnRow) -> None:
        """Only the first in the queue may be said into the turn: the order of what people said is kept."""
        turns, backend = self._house.store.turns, self.agent.backend
        waiting = await turns.queued(self.id)
        if not waiting or waiting[0].id != row.id or self.stopping or self.pump.turn is None:
            return
        steerable: object = backend
        if not isinstance(steerable, Steerable) or not await turns.update(row.id, expect="queued", state="handed"):
            return
        try:
            taken = await steerable.steer(_prompt(row))
        except Exception as error:
            log.warning("steering failed", session=self.id, why=str(error))
            taken = False
        if taken:
            await turns.update(row.id, state="done", note="joined the running turn")
            self.pump.joined_by(row)
        else:
            await turns.update(row.id, state="queued")

    async def drop_queue(self) -> list[TurnRow]:
        """What waits is cancelled; what is being played is not."""
        now = self._house.clock.now()
        dropped: list[TurnRow] = []
        for row in await self._house.store.turns.queued(self.id):
            if row.id != self._playing and await self._house.store.turns.update(
                row.id, expect="queued", state="cancelled", ended_at=now
            ):
                self._receipt(row, "cancelled")
                dropped.append(row)
        return dropped

    # ── a turn ───────────────────────────────────────────────────────────────────────────────────

    async def _play(self, row: TurnRow) -> None:
        turns = self._house.store.turns
        try:
            backend = await self._agent()
        except AgentError as error:
            await self._not_started(row, error)
            return
        if backend is None:
            if not self.closing:
                await turns.update(row.id, expect="queued", state="cancelled", ended_at=self._house.clock.now())
                self._receipt(row, "cancelled")
                await self._say(Notice("Stopped before it began.", level="warning"))
            return
        while not await self.pump.begin(row):
            await self.pump.ended.wait()
        now = self._house.clock.now()
        if not await turns.update(row.id, expect="queued", state="handed", started_at=now):
            self.pump.abandon()
            return
        log.info("turn handed over", session=self.id, turn=row.id)
        await self._name(row)
        await self.pump.handed()
        await self._hand_over(row, backend)

    async def _agent(self) -> BackendSession | None:
        """The agent, started if need be; None when a person stopped it before it was up."""
        self._stopped_opening = False
        if self.agent.backend is None:
            await self._set_state("starting")
        with anyio.CancelScope() as self._opening:
            try:
                return await self.agent.ensure()
            finally:
                self._opening = None
        return None

    async def _hand_over(self, row: TurnRow, backend: BackendSession) -> None:
        """Send the prompt, then wait for the end of the turn, whichever comes to an end first."""
        ended = self.pump.ended

        async def send() -> None:
            try:
                await backend.send(_prompt(row))
            except Exception as error:
                fix = error.fix if isinstance(error, AgentError) else ""
                words = error.message if isinstance(error, AgentError) else str(error)
                await self.pump.fail(f"The agent could not be reached: {words}", fix)
            else:
                await self._house.store.turns.update(row.id, expect="handed", state="running")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            await ended.wait()
            tasks.cancel_scope.cancel()

    async def _not_started(self, row: TurnRow, error: AgentError) -> None:
        now = self._house.clock.now()
        await self._house.store.turns.update(
            row.id, expect="queued", state="failed", ended_at=now, note=error.message[:500]
        )
        self._receipt(row, "failed")
        await self._say_not_started(error, ((Button("Try again", f"cmd:/again {row.id}", style="primary"),),))

    async def _say_not_started(self, error: AgentError, buttons: Rows) -> None:
        words = f"The agent did not start: {error.message}" + (f"\nWhat helps: {error.fix}" if error.fix else "")
        await self._house.say(await self._threads(), Notice(words, level="error"), buttons=buttons, loud=True)
        await self._set_state("failed")

    async def _name(self, row: TurnRow) -> None:
        current = await self._house.store.sessions.get(self.id)
        if current is not None and not current.title and row.text.strip():
            await self.pump.retitle(row.text.strip().splitlines()[0])

    # ── stopping ─────────────────────────────────────────────────────────────────────────────────

    async def stop(self) -> tuple[bool, list[TurnRow]]:
        """Stop what runs and drop what waits; the effect is shown at once, whatever the agent makes of it."""
        self._held = True
        try:
            stopped = self._stop()
            with anyio.move_on_after(_STEER_SECONDS):
                async with self._steering:
                    return stopped, await self.drop_queue()
            return stopped, []
        finally:
            self._held = False
            self.wake()

    def _stop(self) -> bool:
        if self._opening is not None:
            self._opening.cancel()
            return True
        if self.pump.turn is None:
            return False
        if not self.stopping:
            self._stopped_turn = self.pump.turn.id
            self.pump.note("Stopping…")
            self._tasks.start_soon(alone, self._interrupt)
        return True

    async def _interrupt(self) -> None:
        backend: object = self.agent.backend
        ended = self.pump.ended
        if isinstance(backend, Interruptible):
            self._tasks.start_soon(alone, backend.interrupt)
            if await wait_for(ended, self._house.clock, self._house.limits.stop_grace_seconds):
                return
        if ended.is_set():
            return
        # It does not listen: end it. What it knew is resumed with the next prompt.
        self.pump.ignore_agent()
        end = self.agent.let_go()
        await self.pump.fail("Stopped. The agent did not react, so it was ended.", outcome="interrupted")
        await end()

    async def close(self, *, shutdown: bool = False) -> None:
        """End the session's task too. When beambot itself ends, the thread is told how to go on."""
        self.closing = True
        self.wake()
        if self._opening is not None:
            self._opening.cancel()
        self.pump.ignore_agent()
        row = self.pump.row
        words = "beambot was stopped while the agent was working." if shutdown else "The session was closed."
        await self.pump.fail(words, outcome="interrupted")
        if shutdown and row is not None:
            buttons = after_cut(self.id, row.id, prompted=row.origin != "agent")
            notice = Notice("The session is kept: go on when beambot is back.", level="warning")
            await self._house.say(await self._threads(), notice, buttons=buttons, key=f"cut:{row.id}")
        await self.agent.end()

    # ── telling ──────────────────────────────────────────────────────────────────────────────────

    async def _changed(self) -> None:
        """How the session stands follows from its turn; it is kept and shown when it differs."""
        turn = self.pump.turn
        if turn is not None:
            await self._set_state("waiting" if turn.asks else "working")
        elif not self._playing or self.agent.backend is not None:
            await self._set_state("idle")

    async def _set_state(self, state: SessionState) -> None:
        if state == self._shown_state or (self._shown_state == "failed" and state == "idle"):
            return
        await self._house.store.sessions.update(self.id, state=state, used_at=self._house.clock.now())
        self._shown_state = state
        for thread in await self._threads():
            self._house.delivery.mark(thread, "working" if state == "starting" else state)

    async def _say(self, notice: Notice) -> None:
        await self._house.say(await self._threads(), notice)

    async def _threads(self) -> list[ThreadRef]:
        return await self._house.threads_of(self.id)

    def _receipt(self, row: TurnRow, receipt: Receipt) -> None:
        if row.thread is not None and row.message:
            self._house.delivery.receipt(MessageRef(row.thread, row.message), receipt)


def _prompt(row: TurnRow) -> Prompt:
    files = _files.decode(row.files) if row.files else ()
    return Prompt(row.id, row.text, tuple(File(Path(path), name, mime) for path, name, mime in files))
