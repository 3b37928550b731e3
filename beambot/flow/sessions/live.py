"""One live session: its agent, its queue, its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import msgspec
from anyio.abc import TaskGroup

from beambot.errors import AgentError, BeambotError, SessionGone
from beambot.flow.house import House
from beambot.flow.sessions.pump import AskDesk, Pump
from beambot.flow.waiting import wait_for
from beambot.log import get_logger
from beambot.model.ids import MessageRef, ThreadRef
from beambot.model.outbound import Button, Notice, Receipt
from beambot.model.ports import BackendSession, File, Interruptible, OpenOptions, Prompt, Steerable
from beambot.render.compose import after_cut
from beambot.store.records import SessionRow, SessionState, TurnRow

log = get_logger("sessions")

_STEER_SECONDS = 2.0
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
        self.backend: BackendSession | None = None
        self.over = False
        self.used_at = house.clock.monotonic()
        self.pump = Pump(house, row.id, desk, self._changed)
        self._house = house
        self._row = row
        self._make_room = make_room
        self._tasks = tasks
        self._wake = anyio.Event()
        self._opening: anyio.CancelScope | None = None
        self._reading = anyio.Event()
        self._reading.set()
        self._crashes: list[float] = []
        self._playing = False
        self._in_play = ""
        self._held = False
        self._closing = False
        self._stopping = False
        self._shown_state: SessionState | None = None
        self._steering = anyio.Lock()

    @property
    def busy(self) -> bool:
        """A turn runs, or is about to."""
        return self._playing or self.pump.turn is not None

    def wake(self) -> None:
        """There may be something to do."""
        self._wake.set()

    def prompted(self, row: TurnRow) -> None:
        """A prompt was queued. An agent that listens while it works hears it at once."""
        can_steer = self._house.host.capabilities(self._row.adapter).steer
        backend: object = self.backend
        if can_steer and self.pump.turn is not None and isinstance(backend, Steerable):
            self._tasks.start_soon(self._steer, row, backend)
        else:
            self.wake()

    async def run(self) -> None:
        """The session's task."""
        try:
            while (row := await self._next()) is not None:
                self._playing, self._in_play = True, row.id
                try:
                    await self._play(row)
                except BeambotError as error:
                    log.error("a turn could not be played", session=self.id, why=str(error))
                    await self.pump.fail(error.message, error.fix)
                finally:
                    self._playing, self._in_play = False, ""
                self.used_at = self._house.clock.monotonic()
        finally:
            self.over = True
            with anyio.CancelScope(shield=True):
                await self.rest()

    # ── the queue ────────────────────────────────────────────────────────────────────────────────

    async def _next(self) -> TurnRow | None:
        while not self._closing:
            self._wake = anyio.Event()
            if self._held:
                await self._wake.wait()
                continue
            if self.pump.turn is not None:
                await self.pump.ended.wait()
                continue
            queued = await self._house.store.turns.queued(self.id)
            if queued:
                return queued[0]
            await self._changed()
            woken = await wait_for(self._wake, self._house.clock, self._house.limits.idle_close_seconds)
            if not woken and self.pump.turn is None and not self._wake.is_set():
                return None
        return None

    async def _steer(self, row: TurnRow, backend: Steerable) -> None:
        async with self._steering:
            await self._steer_first(row, backend)

    async def _steer_first(self, row: TurnRow, backend: Steerable) -> None:
        """Only the first in the queue may be said into the turn: the order of what people said is kept."""
        turns = self._house.store.turns
        waiting = await turns.queued(self.id)
        if not waiting or waiting[0].id != row.id:
            return
        if not await turns.update(row.id, expect="queued", state="handed"):
            return
        try:
            taken = await backend.steer(self._prompt(row))
        except AgentError:
            taken = False
        if taken:
            await turns.update(row.id, state="done", note="joined the running turn")
            if row.thread is not None and row.message:
                self._house.delivery.receipt(MessageRef(row.thread, row.message), "working")
        else:
            await turns.update(row.id, state="queued")
            self.wake()

    # ── a turn ───────────────────────────────────────────────────────────────────────────────────

    async def _play(self, row: TurnRow) -> None:
        turns = self._house.store.turns
        self._stopping = False
        with anyio.CancelScope() as self._opening:
            try:
                backend = await self._ensure()
            except AgentError as error:
                await self._not_started(row, error)
                return
            finally:
                self._opening = None
        if self._stopping:
            await turns.update(row.id, expect="queued", state="cancelled", ended_at=self._house.clock.now())
            self._receipt(row, "cancelled")
            await self._house.say(await self._threads(), Notice("Stopped before it began.", level="warning"))
            return
        while not await self.pump.begin(row):
            await self.pump.ended.wait()
        now = self._house.clock.now()
        if not await turns.update(row.id, expect="queued", state="handed", started_at=now):
            self.pump.abandon()
            return
        await self._name(row)
        await self.pump.handed()
        try:
            await backend.send(self._prompt(row))
        except AgentError as error:
            await self.pump.fail(f"The agent could not be reached: {error.message}", error.fix)
            return
        await turns.update(row.id, expect="handed", state="running")
        await self.pump.ended.wait()

    async def _not_started(self, row: TurnRow, error: AgentError) -> None:
        now = self._house.clock.now()
        await self._house.store.turns.update(
            row.id, expect="queued", state="failed", ended_at=now, note=error.message[:500]
        )
        self._receipt(row, "failed")
        words = f"The agent did not start: {error.message}" + (f"\nWhat helps: {error.fix}" if error.fix else "")
        buttons = ((Button("Try again", f"cmd:/again {row.id}", style="primary"),),)
        await self._house.say(await self._threads(), Notice(words, level="error"), buttons=buttons, loud=True)
        await self._set_state("failed")

    def _prompt(self, row: TurnRow) -> Prompt:
        files = _files.decode(row.files) if row.files else ()
        return Prompt(row.id, row.text, tuple(File(Path(path), name, mime) for path, name, mime in files))

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
                    return stopped, await self._drop_queue()
            return stopped, []
        finally:
            self._held = False
            self.wake()

    async def _drop_queue(self) -> list[TurnRow]:
        now = self._house.clock.now()
        dropped: list[TurnRow] = []
        for row in await self._house.store.turns.queued(self.id):
            if row.id != self._in_play and await self._house.store.turns.update(
                row.id, expect="queued", state="cancelled", ended_at=now
            ):
                self._receipt(row, "cancelled")
                dropped.append(row)
        return dropped

    def _stop(self) -> bool:
        if self._opening is not None:
            self._stopping = True
            self._opening.cancel()
            return True
        if self.pump.turn is None:
            return False
        if not self._stopping:
            self._stopping = True
            self.pump.note("Stopping…")
            self._tasks.start_soon(self._interrupt)
        return True

    async def _interrupt(self) -> None:
        backend: object = self.backend
        ended = self.pump.ended
        if isinstance(backend, Interruptible):
            self._tasks.start_soon(self._ask_to_stop, backend)
            if await wait_for(ended, self._house.clock, self._house.limits.stop_grace_seconds):
                return
        # It does not listen: end it. What it knew is resumed with the next prompt.
        await self.pump.fail("Stopped. The agent did not react, so it was ended.", outcome="interrupted")
        await self.rest()

    async def _ask_to_stop(self, backend: Interruptible) -> None:
        try:
            await backend.interrupt()
        except Exception as error:
            log.warning("interrupt failed", session=self.id, why=str(error))

    # ── the agent ────────────────────────────────────────────────────────────────────────────────

    async def reopen(self) -> None:
        """Start the agent now; earlier crashes are forgiven."""
        self._crashes.clear()
        await self._ensure()
        self.wake()

    async def rest(self) -> None:
        """End the agent; the session stays and is resumed when wanted."""
        backend, self.backend = self.backend, None
        if backend is not None:
            await backend.close()
            with anyio.move_on_after(5):
                await self._reading.wait()
        await self._changed()

    async def close(self, *, shutdown: bool = False) -> None:
        """End the session's task too. When beambot itself ends, the thread is told how to go on."""
        self._closing = True
        self.wake()
        if self._opening is not None:
            self._stopping = True
            self._opening.cancel()
        row = self.pump.row
        words = "beambot was stopped while the agent was working." if shutdown else "The session was closed."
        await self.pump.fail(words, outcome="interrupted")
        if shutdown and row is not None:
            buttons = after_cut(self.id, row.id)
            notice = Notice("The session is kept: go on when beambot is back.", level="warning")
            await self._house.say(await self._threads(), notice, buttons=buttons, key=f"cut:{row.id}")
        await self.rest()

    async def _ensure(self) -> BackendSession:
        if self.pump.dying:
            # It has said that it is going: the next prompt is for its successor.
            with anyio.move_on_after(5):
                await self._reading.wait()
        if self.backend is not None:
            return self.backend
        self._check_crashes()
        await self._make_room()
        await self._set_state("starting")
        self._row = await self._house.store.sessions.get(self.id) or self._row
        backend = await self._open()
        self.backend = backend
        self.pump.closed = None
        self.pump.dying = False
        self._reading = anyio.Event()
        self._tasks.start_soon(self._read, backend, self._reading)
        return backend

    def _check_crashes(self) -> None:
        limits = self._house.limits
        horizon = self._house.clock.monotonic() - limits.restart_window_seconds
        self._crashes = [at for at in self._crashes if at > horizon]
        if len(self._crashes) > limits.restarts:
            raise AgentError(
                f"it ended unexpectedly {len(self._crashes)} times within "
                f"{limits.restart_window_seconds / 60:.0f} minutes",
                fix=f"Look at what it needs (`beambot doctor`), then /resume {self.id}.",
            )

    async def _open(self) -> BackendSession:
        row = self._row
        project = self._house.projects.get(row.project)
        options = OpenOptions(
            session=row.id,
            folder=Path(row.folder),
            model=row.model,
            mode=row.mode,
            env=dict(project.env) if project is not None else {},
        )
        if not await anyio.Path(row.folder).is_dir():
            raise AgentError(
                f"the folder {row.folder} is not there", fix="Put it back, or set `path` of the project."
            )
        known = row.agent_session
        if not known:
            return await self._house.host.open(row.adapter, options)
        if self._house.host.capabilities(row.adapter).resume:
            try:
                return await self._house.host.open(row.adapter, options, known)
            except SessionGone as gone:
                log.warning("session gone", session=self.id, why=str(gone))
        await self._house.say(
            await self._threads(),
            Notice(
                "The agent could not take up the earlier conversation: it begins anew, without its memory.",
                level="warning",
            ),
        )
        return await self._house.host.open(row.adapter, options)

    async def _read(self, backend: BackendSession, done: anyio.Event) -> None:
        crashed = False
        try:
            await self.pump.run(backend)
        finally:
            if self.backend is backend:
                self.backend = None
                crashed = True
            done.set()
        if not crashed:
            return
        closed = self.pump.closed
        with anyio.move_on_after(5):
            await backend.close()
        if closed is None or not closed.expected:
            await self._crashed(closed.why if closed is not None else "")
        self.wake()

    async def _crashed(self, why: str) -> None:
        self._crashes.append(self._house.clock.monotonic())
        words = "The agent ended unexpectedly" + (f": {why}" if why else ".")
        buttons = ((Button("Resume", f"cmd:/resume {self.id}", style="primary"),),)
        await self._house.say(await self._threads(), Notice(words, level="error"), buttons=buttons, loud=True)

    # ── telling ──────────────────────────────────────────────────────────────────────────────────

    async def _changed(self) -> None:
        """How the session stands follows from its turn; it is kept and shown when it differs."""
        turn = self.pump.turn
        if turn is not None:
            await self._set_state("waiting" if turn.asks else "working")
        elif not self._playing or self.backend is not None:
            await self._set_state("idle")

    async def _set_state(self, state: SessionState) -> None:
        if state == self._shown_state or (self._shown_state == "failed" and state == "idle"):
            return
        self._shown_state = state
        await self._house.store.sessions.update(self.id, state=state, used_at=self._house.clock.now())
        for thread in await self._threads():
            self._house.delivery.mark(thread, "working" if state == "starting" else state)

    async def _threads(self) -> list[ThreadRef]:
        return await self._house.threads_of(self.id)

    def _receipt(self, row: TurnRow, receipt: Receipt) -> None:
        if row.thread is not None and row.message:
            self._house.delivery.receipt(MessageRef(row.thread, row.message), receipt)
