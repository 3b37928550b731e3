"""The stream that a session's wire becomes: which turn a message belongs to, and how a turn ends whole. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adapters.claude import schema
from adapters.claude.control import Control
from adapters.claude.reading import asks
from adapters.claude.reading.settings import Settings
from adapters.claude.reading.spending import Spending
from adapters.claude.reading.turns import Turns
from adapters.claude.tools.calls import Tools
from beambot.api import UnifiedMessage, bodies, content, message

Messages = list[UnifiedMessage]

_MOST_HELD = 100


class _Words:
    """Text or reasoning that is still growing."""

    __slots__ = ("parts", "thinking")

    def __init__(self, thinking: bool, text: str) -> None:
        self.thinking = thinking
        self.parts = [text]

    def whole(self) -> bodies.Assistant:
        text = "".join(self.parts)
        return bodies.Assistant((content.Thinking(text) if self.thinking else content.Text(text),))


class Stream:
    """The memory of one session's stream."""

    def __init__(self, now: Callable[[], float], folder: str = "", resumed: bool = False) -> None:
        self.session = ""
        self.control: list[Control] = []
        self.settings = Settings()
        self.background: tuple[str, ...] = ()
        self._now = now
        self._resumed = resumed
        self._turns = Turns(self.control)
        self._tools = Tools()
        self._tools.folder = folder
        self._asks = asks.Asks()
        self._spending = Spending(known=not resumed)
        self._words: dict[str, _Words] = {}
        self._held: Messages = []
        self._stopping = False
        self._trouble: schema.Assistant | None = None
        self._began = 0.0
        self._lines = [0, 0]

    def _say(self, said: list[Any], parent: str = "") -> Messages:
        """Bodies as messages of the current turn."""
        return [UnifiedMessage(body, parent, self._turns.turn) for body in said]

    def _work(self, said: list[Any], parent: str = "") -> Messages:
        """The same for work, which outside a turn opens one."""
        if said and not self._turns.running:
            self._turns.unprompted()
            self._start()
        for body in said:
            if type(body) is bodies.Diff:
                self._lines[0] += body.added
                self._lines[1] += body.removed
        return [UnifiedMessage(body, parent, self._turns.turn) for body in said]

    def _checked(self, messages: Messages) -> Messages:
        """Nothing precedes session_init: news waits for it, work does not and has one made up."""
        if self.settings.told:
            return messages
        if not any(isinstance(one.body, (*message.WORK, bodies.SessionClosed)) for one in messages):
            self._held = (self._held + messages)[:_MOST_HELD]
            return []
        held, self._held = self._held, []
        return [UnifiedMessage(self.settings.unheard(self.session)), *held, *messages]

    # ── words ────────────────────────────────────────────────────────────────────────────────────────

    def _grow(self, text: str, thinking: bool, parent: str) -> Messages:
        words = self._words.get(parent)
        if words is not None and words.thinking is thinking:
            words.parts.append(text)
            body = bodies.ThinkingDelta(text) if thinking else bodies.TextDelta(text)
            return [UnifiedMessage(body, parent, self._turns.turn)]
        if not text:
            return []
        closed = self._close(parent)
        self._words[parent] = _Words(thinking, text)
        return closed + self._work([bodies.ThinkingDelta(text) if thinking else bodies.TextDelta(text)], parent)

    def _close(self, parent: str) -> Messages:
        """Words that grew and were never told whole stay as they are."""
        words = self._words.pop(parent, None)
        return self._work([words.whole()], parent) if words else []

    # ── turns ────────────────────────────────────────────────────────────────────────────────────────

    def _begin(self, turn: str, prompt: str, taken: bool) -> Messages:
        """A turn opens. Unprompted work ends for it; what the background asks is asked again in it."""
        ended, open_asks = self._wind_up() if self._turns.loose else ([], [])
        if self._turns.loose:
            ended.append(self._result_of(bodies.Result("success", duration_ms=self._lasted())))
        self._turns.begin(turn, prompt, taken)
        self._start()
        return ended + self._ask_again(open_asks)

    def _taken(self, prompt: str) -> Messages:
        """The program begins with a prompt: it joins what runs, or opens a turn of its own."""
        turn = self._turns.taken(prompt)
        return self._begin(turn, prompt, taken=True) if turn else []

    def _finish(self, outcome: bodies.Outcome, error: str = "", last: bool = False) -> Messages:
        """The turn ends without a word of the program; with `last` nothing goes on behind it either."""
        ended, open_asks = self._wind_up(last)
        spent = bodies.Result(
            outcome,
            error=error,
            duration_ms=self._lasted(),
            lines_added=self._lines[0],
            lines_removed=self._lines[1],
        )
        return [*ended, self._result_of(spent), *self._ask_again(open_asks)]

    def _wind_up(self, last: bool = False) -> tuple[Messages, list[asks.OpenAsk]]:
        """Close what is open; gives also the asks of subagents that go on in the background."""
        ended = [one for parent in list(self._words) for one in self._close(parent)]
        behind = []
        for ask in list(self._asks.open.values()):
            goes_on = bool(ask.parent) and ask.parent not in self._tools.open and not last
            ended += self._void(ask, "the turn has ended" + ("; it is asked again" if goes_on else ""))
            if goes_on:
                behind.append(ask)
        for parent, said in self._tools.end_all(self._now(), last):
            ended += self._work(said, parent)
        return ended, behind

    def _result_of(self, result: bodies.Result) -> UnifiedMessage:
        """The last message of the turn."""
        last = UnifiedMessage(result, "", self._turns.turn)
        self._turns.end()
        self._stopping = False
        self._trouble = None
        return last

    def _void(self, ask: asks.OpenAsk, why: str) -> Messages:
        """Nobody needs to answer this any more."""
        self._asks.drop(ask)
        return self._say([bodies.AskCancelled(ask.id, why)], ask.parent)

    def _ask_again(self, open_asks: list[asks.OpenAsk]) -> Messages:
        said: Messages = []
        for ask in open_asks:
            said += self._asked(ask.request, ask.asked, ask.parent, ask.agent)
        return said

    def _asked(self, request: str, asked: Any, parent: str, agent: str) -> Messages:
        said = self._work(self._tools.resume(asked.tool_use_id or ""), parent)
        ask = self._asks.add(request, asked, parent, agent)
        return said + self._work([asks.body(ask, self._tools.folder)], parent)

    def _start(self) -> None:
        self._began = self._now()
        self._lines = [0, 0]

    def _lasted(self) -> int:
        return max(0, int((self._now() - self._began) * 1000))
