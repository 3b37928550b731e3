"""ScriptedAdapter: an agent that does exactly what a test tells it, in a few words.

    script = [Emit(TextDelta("hi")), WaitAnswer("a1"), Emit(Result())]
    adapter = ScriptedAdapter(script)

A script is played once for every prompt; a list of scripts gives each prompt its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import anyio
from msgspec import Struct

from beambot.errors import AgentError
from beambot.model.bodies import (
    AskCancelled,
    AskResolved,
    Failure,
    LoginRequest,
    Outcome,
    PermissionRequest,
    PlanReview,
    Question,
    Result,
    SessionClosed,
    SessionInit,
    ToolEnded,
    ToolStarted,
)
from beambot.model.capabilities import AdapterCapabilities
from beambot.model.message import AnyBody, UnifiedMessage
from beambot.model.ports import Answer, Clock, OpenOptions, Probe, Prompt, Resumable


class Emit(Struct, frozen=True):
    """Say this."""

    body: AnyBody
    parent: str = ""


class WaitAnswer(Struct, frozen=True):
    """Go on when this ask has been answered."""

    ask: str


class Pause(Struct, frozen=True):
    """Go on after this time."""

    seconds: float


class WaitFor(Struct, frozen=True):
    """Go on when the test sets this event."""

    event: anyio.Event


class Hang(Struct, frozen=True):
    """Never go on."""


class Die(Struct, frozen=True):
    """The process is gone."""

    why: str = "killed"


Step = Emit | WaitAnswer | Pause | WaitFor | Hang | Die
Script = Sequence[Step]

EVERYTHING = AdapterCapabilities(
    streaming=True,
    interrupt=True,
    steer=True,
    resume=True,
    permissions=True,
    edited_input=True,
    questions=True,
    plan_review=True,
)


class ScriptedSession:
    """One session of a ScriptedAdapter. `prompts`, `answers`, `steered` and `calls` tell what reached it."""

    def __init__(self, adapter: ScriptedAdapter, options: OpenOptions, resume: str | None) -> None:
        self.adapter = adapter
        self.options = options
        self.resumed = resume
        self.prompts: list[Prompt] = []
        self.answers: list[Answer] = []
        self.steered: list[Prompt] = []
        self.calls: list[str] = []
        self.closed = False
        self._todo: list[Prompt] = []
        self._prompted = anyio.Event()
        self._answered: dict[str, anyio.Event] = {}
        self._open_tools: list[str] = []
        self._open_asks: list[str] = []
        self._playing: anyio.CancelScope | None = None
        self._dead: str | None = None
        self._in_turn = False
        self._cut = False
        self._told = False

    async def send(self, prompt: Prompt) -> None:
        if self.adapter.refuse_send:
            raise AgentError("the agent does not listen")
        self.prompts.append(prompt)
        self._todo.append(prompt)
        self._prompted.set()

    async def steer(self, prompt: Prompt) -> bool:
        self.steered.append(prompt)
        return self.adapter.takes_steering

    async def interrupt(self) -> None:
        self.calls.append("interrupt")
        if self.adapter.ignores_interrupt:
            return
        self._cut = self._in_turn
        if self._playing is not None:
            self._playing.cancel()

    async def answer(self, answer: Answer) -> bool:
        waiting = self._answered.setdefault(answer.ask, anyio.Event())
        if answer.ask not in self._open_asks or waiting.is_set():
            return False
        self.answers.append(answer)
        waiting.set()
        return True

    async def set_model(self, model: str) -> None:
        self.calls.append(f"model {model}")

    async def set_mode(self, mode: str) -> None:
        self.calls.append(f"mode {mode}")

    def die(self, why: str = "killed") -> None:
        """As if the process were gone, now."""
        self._dead = why
        if self._playing is not None:
            self._playing.cancel()
        self._prompted.set()

    async def close(self) -> None:
        self.closed = True
        self.die("closed")

    async def messages(self) -> AsyncIterator[UnifiedMessage]:
        agent_session = self.resumed or f"agent-{self.options.session}"
        yield UnifiedMessage(
            SessionInit(
                agent_session=agent_session,
                agent=self.adapter.name,
                cwd=str(self.options.folder),
                model=self.options.model or "scripted",
                resumed=self.resumed is not None,
            )
        )
        number = 0
        while self._dead is None:
            if not self._todo:
                self._prompted = anyio.Event()
                await self._prompted.wait()
                continue
            prompt = self._todo.pop(0)
            script = self.adapter.script_for(number)
            number += 1
            async for message in self._play(script, prompt):
                yield message
        expected = self.closed
        if not expected and not self._told:
            yield UnifiedMessage(self._failure())
        yield UnifiedMessage(SessionClosed(why=self._dead or "", expected=expected))

    async def _play(self, script: Script, prompt: Prompt) -> AsyncIterator[UnifiedMessage]:
        turn = prompt.turn
        finished = False
        self._in_turn, self._cut = True, False
        for step in script:
            if isinstance(step, Emit):
                for body in self._before(step.body):
                    yield UnifiedMessage(body, turn=turn)
                self._note(step.body)
                yield UnifiedMessage(step.body, parent=step.parent, turn=turn)
                finished = finished or isinstance(step.body, Result)
                if self._dead is None and not self._cut:
                    continue
            elif await self._pass(step):
                if isinstance(step, WaitAnswer):
                    for body in self._resolve(step.ask):
                        yield UnifiedMessage(body, turn=turn)
                continue
            break
        self._in_turn = False
        if not finished:
            outcome: Outcome = "error" if self._dead is not None else "interrupted"
            if self._dead is not None and not self.closed:
                self._told = True
                yield UnifiedMessage(self._failure(), turn=turn)
            for body in [*self._before(Result()), Result(outcome=outcome)]:
                yield UnifiedMessage(body, turn=turn)

    def _failure(self) -> Failure:
        return Failure(f"the agent ended: {self._dead}", recoverable=False)

    async def _pass(self, step: Step) -> bool:
        """True when the step was passed, False when the turn was cut short in it."""
        if self._dead is not None or self._cut:
            return False
        with anyio.CancelScope() as scope:
            self._playing = scope
            match step:
                case WaitAnswer(ask=ask):
                    await self._answered.setdefault(ask, anyio.Event()).wait()
                case Pause(seconds=seconds):
                    await self.adapter.clock.sleep(seconds)
                case WaitFor(event=event):
                    await event.wait()
                case Hang():
                    await anyio.sleep_forever()
                case Die(why=why):
                    self.die(why)
                case _:
                    pass
        self._playing = None
        return not scope.cancelled_caught and self._dead is None

    def _note(self, body: AnyBody) -> None:
        match body:
            case ToolStarted(tool=tool):
                self._open_tools.append(tool)
            case ToolEnded(tool=tool) if tool in self._open_tools:
                self._open_tools.remove(tool)
            case PermissionRequest(ask=ask) | Question(ask=ask) | PlanReview(ask=ask) | LoginRequest(ask=ask):
                self._open_asks.append(ask)
            case AskResolved(ask=ask) | AskCancelled(ask=ask) if ask in self._open_asks:
                self._open_asks.remove(ask)

    def _before(self, body: AnyBody) -> list[AnyBody]:
        """What the contract wants closed before a result."""
        if not isinstance(body, Result):
            return []
        closing: list[AnyBody] = [AskCancelled(ask, why="the turn ended") for ask in self._open_asks]
        closing += [ToolEnded(tool, outcome="cancelled") for tool in self._open_tools]
        self._open_asks.clear()
        self._open_tools.clear()
        return closing

    def _resolve(self, ask: str) -> list[AnyBody]:
        if ask not in self._open_asks:
            return []
        self._open_asks.remove(ask)
        answer = next(answer for answer in reversed(self.answers) if answer.ask == ask)
        outcomes = {"allow": "allowed", "deny": "denied", "answer": "answered"}
        return [AskResolved(ask, outcome=outcomes[answer.verdict], by=answer.by)]  # type: ignore[arg-type]


class ScriptedAdapter:
    """An adapter without an agent."""

    def __init__(
        self,
        script: Script | Sequence[Script] = (),
        *,
        clock: Clock,
        name: str = "scripted",
        capabilities: AdapterCapabilities = EVERYTHING,
    ) -> None:
        self.name = name
        self.capabilities = capabilities
        self.clock = clock
        self.scripts: list[Script] = _scripts(script)
        self.sessions: list[ScriptedSession] = []
        self.open_gate: anyio.Event | None = None
        self.open_error: Exception | None = None
        self.refuse_send = False
        self.takes_steering = False
        self.ignores_interrupt = False
        self.resumable: list[Resumable] = []

    @property
    def last(self) -> ScriptedSession:
        """The newest session."""
        return self.sessions[-1]

    def script_for(self, number: int) -> Script:
        """The last script serves every prompt after it."""
        return self.scripts[min(number, len(self.scripts) - 1)] if self.scripts else [Emit(Result())]

    async def probe(self) -> Probe:
        return Probe(installed=True, version="1")

    async def open(self, options: OpenOptions, resume: str | None = None, fork: bool = False) -> ScriptedSession:
        if self.open_gate is not None:
            await self.open_gate.wait()
        if self.open_error is not None:
            raise self.open_error
        session = ScriptedSession(self, options, resume)
        self.sessions.append(session)
        return session

    async def list_resumable(self, folder: Path) -> Sequence[Resumable]:
        return self.resumable


def _scripts(script: Script | Sequence[Script]) -> list[Script]:
    if not script:
        return []
    if isinstance(script[0], Struct):
        return [script]  # type: ignore[list-item]
    return list(script)  # type: ignore[arg-type]
