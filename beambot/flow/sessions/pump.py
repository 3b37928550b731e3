"""The pump reads one agent: gives each message its number, journals it, reduces it, and tells the screens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio
from msgspec.structs import replace

from beambot.errors import StoreError
from beambot.flow.delivery.screens import Screen
from beambot.flow.house import House
from beambot.flow.sessions.ending import last_words
from beambot.flow.waiting import alone
from beambot.log import get_logger
from beambot.model.bodies import (
    AskCancelled,
    AskResolved,
    CommandsChanged,
    Failure,
    LoginRequest,
    ModeChanged,
    ModelChanged,
    Outcome,
    PermissionRequest,
    PlanReview,
    Question,
    Result,
    SessionClosed,
    SessionInit,
    Status,
    TextDelta,
    ThinkingDelta,
    TitleChanged,
    ToolEnded,
    Unknown,
    UserMessage,
)
from beambot.model.ids import MessageRef, ThreadRef
from beambot.model.message import WORK, AnyBody, Ask, UnifiedMessage
from beambot.model.outbound import Notice, Outgoing, Receipt
from beambot.model.ports import BackendSession
from beambot.state.turn import Turn, reduce
from beambot.store.records import TurnRow, TurnState

log = get_logger("pump")

_ENDINGS: dict[str, tuple[TurnState, Receipt]] = {
    "success": ("done", "done"),
    "interrupted": ("interrupted", "cancelled"),
    "refused": ("done", "done"),
    "limit": ("done", "failed"),
    "error": ("failed", "failed"),
}


_DELTAS = (TextDelta, ThinkingDelta)


class AskDesk(Protocol):
    """Who takes care of asks."""

    async def opened(self, session: str, turn: str, body: Ask) -> None: ...

    async def withdrawn(self, session: str, agent_ask: str, why: str) -> None: ...

    async def joined(self, session: str, thread: ThreadRef) -> None: ...


class Pump:
    """One for each live session. `turn` is the running turn; `ended` is set when none runs."""

    def __init__(
        self,
        house: House,
        session: str,
        desk: AskDesk,
        on_change: Callable[[], Awaitable[None]],
        agent: str = "",
    ) -> None:
        self.session = session
        self._agent = agent
        self.turn: Turn | None = None
        self.row: TurnRow | None = None
        self.init: SessionInit | None = None
        self.unknown = 0
        self.closed: SessionClosed | None = None
        self.dying = False
        self._deaf = False
        self._backend: BackendSession | None = None
        self._joined: list[TurnRow] = []
        self.ended = anyio.Event()
        self.ended.set()
        self._house = house
        self._desk = desk
        self._on_change = on_change
        self._seq: int | None = None
        # The agent's reader, a stop and a shutdown may all end a turn: one at a time.
        self._lock = anyio.Lock()
        self._screens: list[Screen] = []

    # ── turns ────────────────────────────────────────────────────────────────────────────────────

    async def begin(self, row: TurnRow) -> bool:
        """From now on what the agent says belongs to this turn. False: another turn runs."""
        async with self._lock:
            if self.turn is not None:
                return False
            await self._begin(row)
            return True

    def listen_to(self, backend: BackendSession) -> None:
        """From now on this agent speaks; what an earlier one still says is not of this turn."""
        self._backend = backend
        self._deaf = False
        self.dying = False
        self.closed = None

    def ignore_agent(self) -> None:
        """The turn is being ended from outside: what the agent still says opens no turn of its own."""
        self._deaf = True

    def joined_by(self, row: TurnRow) -> None:
        """A prompt was said into the running turn: its receipt follows the turn's."""
        self._joined.append(row)
        self._receipt_of(row, "working")

    def abandon(self) -> None:
        """The turn that was begun is not played after all; nothing of it was shown."""
        self.turn, self.row, self._screens = None, None, []
        self.ended.set()

    async def handed(self) -> None:
        """The prompt is on its way: note who said what, and show that it is worked on."""
        async with self._lock:
            await self._number()
            if self.row is None:
                return
            origin = self.row.thread.key if self.row.thread is not None else ""
            self._take(UnifiedMessage(UserMessage(self.row.text, who=self.row.member, origin=origin)))
        self._receipt("working")
        await self._on_change()

    async def _begin(self, row: TurnRow) -> None:
        self.row = row
        self.turn = Turn(row.id, started_at=self._house.clock.now(), agent=self._agent)
        self.ended = anyio.Event()
        self._screens = []
        for thread in await self._house.threads_of(self.session):
            await self._add_screen(thread)

    async def join(self, thread: ThreadRef) -> None:
        """A thread that begins to show the session in mid-turn sees the whole turn."""
        await self._add_screen(thread)
        self._show()

    def note(self, text: str) -> None:
        """A quiet line under the running turn, at once."""
        if self.turn is not None:
            self.turn = reduce(self.turn, UnifiedMessage(Status(text), turn=self.turn.id))
            self._show(urgent=True)

    async def fail(self, text: str, fix: str = "", outcome: Outcome = "error") -> None:
        """End the running turn ourselves, whole: its tools, its asks, its result."""
        async with self._lock:
            await self._fail(text, fix, outcome)

    async def _fail(self, text: str, fix: str, outcome: Outcome) -> None:
        if self.turn is None:
            return
        running = [tool.id for tool in self.turn.tools.values() if tool.state == "running"]
        closing: list[AnyBody] = [AskCancelled(ask, why="the turn ended") for ask in reversed(self.turn.asks)]
        closing += [ToolEnded(tool, outcome="cancelled") for tool in running]
        words = text if not fix else f"{text}\nWhat helps: {fix}"
        closing.append(Result(outcome=outcome, error=words))
        for body in closing:
            await self._handle(UnifiedMessage(body))

    # ── reading ──────────────────────────────────────────────────────────────────────────────────

    async def run(self, backend: BackendSession) -> None:
        """Until the agent is gone. Whatever an adapter does, the turn ends with a result."""
        why = "the agent ended without a word"
        try:
            async for message in backend.messages():
                body = message.body
                if backend is not self._backend or (self._deaf and isinstance(body, WORK)):
                    continue
                if self.turn is not None and type(body) in _DELTAS and not self._lock.locked():
                    self._take(message)
                    self._show()
                else:
                    async with self._lock:
                        await self._handle(message)
        except Exception as error:
            log.error("an adapter broke", session=self.session, exc_info=error)
            why = f"the adapter broke: {error}"
        if backend is not self._backend:
            return
        if self.closed is None:
            self.closed = SessionClosed(why=why)
        await alone(self.fail, self.closed.why or why)

    async def _number(self) -> None:
        """Numbers go on where the journal ends."""
        if self._seq is None:
            await self._house.journal.flush()
            self._seq = await self._house.store.journal.last_seq(self.session)

    def _take(self, message: UnifiedMessage) -> UnifiedMessage:
        assert self._seq is not None
        self._seq += 1
        turn = self.turn.id if self.turn is not None else ""
        stamped = UnifiedMessage(
            message.body, message.parent, turn, self.session, self._seq, self._house.clock.now()
        )
        self._house.journal.add(stamped)
        if self.turn is not None:
            self.turn = reduce(self.turn, stamped)
        return stamped

    async def _handle(self, message: UnifiedMessage) -> None:
        await self._number()
        body = message.body
        if self.turn is None and isinstance(body, WORK):
            if isinstance(body, Result | ToolEnded):
                return
            await self._begin_unprompted()
        asking = self.turn.asks if self.turn is not None else ()
        stamped = self._take(message)
        for pause in (1.0, 2.0, 5.0, None):
            try:
                await self._follow(body, stamped)
                break
            except StoreError as error:
                # The message itself is journalled later; what follows from it must not be lost to a busy disk.
                log.error("the database does not answer", session=self.session, why=str(error))
                if pause is not None:
                    await self._house.clock.sleep(pause)
        if asking and self.turn is not None and not self.turn.asks:
            self._receipt("working")
            await self._on_change()

    async def _follow(self, body: AnyBody, stamped: UnifiedMessage) -> None:
        """What a message brings about, beyond being part of the turn."""
        match body:
            case SessionInit():
                await self._initialised(body)
            case PermissionRequest() | Question() | PlanReview() | LoginRequest():
                self._show(urgent=True)
                await self._house.journal.flush()
                await self._desk.opened(self.session, stamped.turn, body)
                self._receipt("waiting")
                await self._on_change()
            case AskCancelled(ask=ask, why=why):
                await self._desk.withdrawn(self.session, ask, why or "by the agent")
                await self._on_change()
            case AskResolved(ask=ask, outcome=outcome, by=by):
                await self._desk.withdrawn(self.session, ask, f"{outcome} by {by or 'the agent'}")
            case Result():
                await self._finish(body)
            case TitleChanged(title=title):
                await self.retitle(title)
            case ModelChanged(model=model):
                await self._house.store.sessions.update(self.session, model=model)
                self._know(model=model, models=body.models)
            case ModeChanged(mode=mode):
                await self._house.store.sessions.update(self.session, mode=mode)
                self._know(mode=mode, modes=body.modes)
            case CommandsChanged(commands=commands):
                self._know(commands=commands)
            case Failure(recoverable=False) if self.turn is not None:
                self.dying = True
                self._show()
            case Failure(text=text, fix=fix) if self.turn is None:
                words = f"The agent reports: {text}" + (f"\nWhat helps: {fix}" if fix else "")
                await self._house.say(await self._house.threads_of(self.session), Notice(words, level="error"))
            case SessionClosed():
                self.closed = body
            case Unknown(kind=kind):
                self.unknown += 1
                log.info("unknown wire message", session=self.session, kind=kind)
            case _:
                self._show()

    async def retitle(self, title: str) -> None:
        """The session has a name, and so have its threads."""
        title = " ".join(title.split())[:80]
        await self._house.store.sessions.update(self.session, title=title)
        for thread in await self._house.threads_of(self.session):
            self._house.delivery.rename(thread, title)

    async def _begin_unprompted(self) -> None:
        """Real agents start turns that nobody prompted: a background task ends, a teammate reports."""
        now = self._house.clock.now()
        row = TurnRow(
            id=self._house.ids.new(),
            session=self.session,
            origin="agent",
            state="running",
            created_at=now,
            started_at=now,
        )
        await self._house.store.turns.add(row)
        await self._begin(row)
        await self._on_change()

    async def _initialised(self, body: SessionInit) -> None:
        self.init = body
        fields = {"agent_session": body.agent_session, "model": body.model, "mode": body.mode}
        await self._house.store.sessions.update(self.session, **{k: v for k, v in fields.items() if v})

    def _know(self, **news: object) -> None:
        if self.init is not None:
            self.init = replace(self.init, **{key: value for key, value in news.items() if value})

    async def _finish(self, result: Result) -> None:
        if self.turn is None or self.row is None:
            return
        state, receipt = _ENDINGS[result.outcome]
        log.info("turn ended", session=self.session, turn=self.turn.id, outcome=result.outcome)
        for screen in self._screens:
            screen.turn = self.turn
        await self._house.journal.flush()
        turn, row = self.turn, self.row
        try:
            await self._end(turn, row, result, state)
        except StoreError as error:
            # The end is still shown, only not kept: the lane has it in memory.
            log.error("the end of a turn could not be kept", session=self.session, why=str(error))
            self._show(urgent=True)
        except Exception as error:
            log.error("the end of a turn went wrong", session=self.session, exc_info=error)
            self._show(urgent=True)
        self._receipt(receipt)
        for row in self._joined:
            self._receipt_of(row, receipt)
        self._joined = []
        self.turn = None
        self.row = None
        self._screens = []
        self.ended.set()
        await self._on_change()

    async def _end(self, turn: Turn, row: TurnRow, result: Result, state: TurnState) -> None:
        """What is shown in the end and that it has ended are kept in one step."""
        turns, now = self._house.store.turns, self._house.clock.now()

        async def ended() -> None:
            await turns.update(row.id, state=state, ended_at=now, note=result.error[:500])

        async def words() -> list[tuple[ThreadRef, Outgoing]]:
            return await last_words(self._house, self._screens, turn, row)

        await self._house.delivery.finish(self._screens, ended, words)
        # The newest first: what waits for the same as an older one ends before it, and gets no card of its own.
        for ask in reversed(await self._house.store.asks.open(self.session)):
            if ask.turn == turn.id:
                await self._desk.withdrawn(self.session, ask.agent_ask, "the turn ended")

    def silent_in(self) -> list[ThreadRef]:
        """The threads that show all there is of a turn which goes on, and which waits for no person."""
        if self.turn is None or self.turn.asks or self.turn.result is not None:
            return []
        return [screen.thread for screen in self._screens if screen.waiting_since is None]

    # ── showing ──────────────────────────────────────────────────────────────────────────────────

    def _show(self, *, urgent: bool = False) -> None:
        turn = self.turn
        if turn is None:
            return
        for screen in self._screens:
            screen.turn = turn
            self._house.delivery.touch(screen, urgent=urgent)

    async def _add_screen(self, thread: ThreadRef) -> None:
        platform = self._house.platforms.get(thread.platform)
        if platform is None or self.turn is None:
            return
        reply_to = self.row.message if self.row is not None and self.row.thread == thread else ""
        self._screens.append(Screen(thread, self.session, self.turn, platform, self._house.rendering, reply_to))

    def _receipt(self, receipt: Receipt) -> None:
        if self.row is not None:
            self._receipt_of(self.row, receipt)

    def _receipt_of(self, row: TurnRow, receipt: Receipt) -> None:
        if row.thread is not None and row.message:
            self._house.delivery.receipt(MessageRef(row.thread, row.message), receipt)
