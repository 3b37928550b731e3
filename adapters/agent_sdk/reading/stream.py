"""The stream that a session becomes: which turn a message belongs to, and how a turn ends whole. Pure.

A prompt that is said into a running turn either joins it, or has the next turn for itself; the program tells which
by echoing the prompt. A result ends the run of the program's main loop, which need not be the turn that a person
waits for: it also runs on its own, when a task in the background has ended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from claude_agent_sdk import AssistantMessage

from adapters.agent_sdk.reading import asks
from adapters.agent_sdk.reading.news import Settings
from adapters.agent_sdk.reading.spending import Spending
from adapters.agent_sdk.reading.tools import Tools
from beambot.api import UnifiedMessage, bodies, content

Messages = list[UnifiedMessage]


class _Words:
    """Text or reasoning that is still growing."""

    def __init__(self, thinking: bool, text: str) -> None:
        self.thinking = thinking
        self.parts = [text]

    def whole(self) -> bodies.Assistant:
        text = "".join(self.parts)
        return bodies.Assistant((content.Thinking(text) if self.thinking else content.Text(text),))


class Stream:
    """The memory of one session's stream.

    `turn` is the running turn, `loose` says that the agent works unprompted, `background` are its tasks behind.
    """

    def __init__(self, now: Callable[[], float], folder: str, resumed: bool) -> None:
        self.turn = ""
        self.loose = False
        self.background: tuple[str, ...] = ()
        self.settings = Settings()
        self.asks: dict[str, asks.OpenAsk] = {}
        self._now = now
        self._resumed = resumed
        self._tools = Tools(folder)
        self._spending = Spending(known=not resumed)
        self._words: dict[str, _Words] = {}
        self._waiting: dict[str, str] = {}
        self._queued: set[str] = set()
        self._prompt = ""
        self._busy = False
        self._foreign = False
        self._stopping = False
        self._trouble: AssistantMessage | None = None
        self._began = 0.0
        self._lines = [0, 0]
        self._asked_again = 1

    @property
    def running(self) -> bool:
        """Whether any turn runs."""
        return bool(self.turn) or self.loose

    @property
    def quiet(self) -> bool:
        """Whether unprompted work has nothing open that could still bring news."""
        return self.loose and not (self._busy or self.asks or self._tools.open or self.background)

    def _say(self, said: list[Any], parent: str = "") -> Messages:
        """Bodies as messages of the current turn."""
        return [UnifiedMessage(body, parent, self.turn) for body in said]

    def _work(self, said: list[Any], parent: str = "") -> Messages:
        """The same for work, which outside a turn opens one."""
        if said and not self.running:
            self.loose, self._prompt, self._foreign = True, "", False
            self._start()
        for body in said:
            if type(body) is bodies.Diff:
                self._lines[0] += body.added
                self._lines[1] += body.removed
        return self._say(said, parent)

    # ── words ────────────────────────────────────────────────────────────────────────────────────────

    def _grow(self, text: str, thinking: bool, parent: str) -> Messages:
        if not text:
            return []
        words = self._words.get(parent)
        closed: Messages = []
        if words is not None and words.thinking is thinking:
            words.parts.append(text)
        else:
            closed = self._close(parent)
            self._words[parent] = _Words(thinking, text)
        return closed + self._work([bodies.ThinkingDelta(text) if thinking else bodies.TextDelta(text)], parent)

    def _close(self, parent: str) -> Messages:
        """Words that grew and were never told whole stay as they are."""
        words = self._words.pop(parent, None)
        return self._work([words.whole()], parent) if words else []

    def _told(self, block: content.Text | content.Thinking, model: str, id: str, parent: str) -> Messages:
        """Words that are complete."""
        closed: Messages = []
        if (words := self._words.get(parent)) is not None:
            if words.thinking is isinstance(block, content.Thinking):
                del self._words[parent]
            else:
                closed = self._close(parent)
        said = [bodies.Assistant((block,), "" if model == "<synthetic>" else model, id)] if block.text else []
        return closed + self._work(said, parent)

    # ── turns ────────────────────────────────────────────────────────────────────────────────────────

    def _begin(self, turn: str, prompt: str, taken: bool) -> Messages:
        """A turn opens. Unprompted work ends for it; what the background asks is asked again in it."""
        ended: Messages = []
        behind: list[asks.OpenAsk] = []
        if self.loose:
            ended, behind = self._wind_up()
            ended.append(self._last(bodies.Result("success", duration_ms=self._lasted())))
        # A run of the main loop that goes on before the prompt is taken is not its own.
        self.turn, self._prompt, self._foreign = turn, prompt, self._busy and not taken
        self._start()
        return ended + self._ask_again(behind)

    def _taken(self, prompt: str) -> Messages:
        """The program begins with a prompt: it joins what runs, or opens a turn of its own."""
        if prompt and prompt == self._prompt:
            self._foreign = False
            return []
        turn = self._waiting.pop(prompt, "")
        self._queued.discard(prompt)
        if not turn or self.turn or (self.loose and self._busy):
            return []
        return self._begin(turn, prompt, taken=True)

    def _finish(self, outcome: bodies.Outcome, error: str = "", last: bool = False) -> Messages:
        """The turn ends without a word of the program; with `last` nothing goes on behind it either."""
        ended, behind = self._wind_up(last)
        added, removed = self._lines
        spent = bodies.Result(
            outcome, error=error, duration_ms=self._lasted(), lines_added=added, lines_removed=removed
        )
        return [*ended, self._last(spent), *self._ask_again(behind)]

    def _wind_up(self, last: bool = False) -> tuple[Messages, list[asks.OpenAsk]]:
        """Close what is open; gives also the asks of subagents that go on in the background."""
        ended = [one for parent in list(self._words) for one in self._close(parent)]
        behind = []
        for ask in list(self.asks.values()):
            goes_on = bool(ask.parent) and ask.parent not in self._tools.open and not last
            ended += self._void(ask, "the turn has ended" + ("; it is asked again" if goes_on else ""))
            if goes_on:
                behind.append(ask)
        for parent, said in self._tools.end_all(self._now(), last):
            ended += self._work(said, parent)
        return ended, behind

    def _last(self, result: bodies.Result) -> UnifiedMessage:
        """The last message of the turn."""
        message = UnifiedMessage(result, "", self.turn)
        self.turn, self.loose = "", False
        self._prompt, self._foreign = "", False
        self._stopping, self._trouble = False, None
        return message

    # ── asks ─────────────────────────────────────────────────────────────────────────────────────────

    def _ask(self, id: str, asked: asks.Asked, parent: str, agent: str) -> Messages:
        said = self._work(self._tools.resume(asked.tool), parent)
        ask = self.asks[id] = asks.OpenAsk(id, asked, parent, agent)
        return said + self._work([asks.body(ask, self._tools.folder)], parent)

    def _ask_again(self, behind: list[asks.OpenAsk]) -> Messages:
        said: Messages = []
        for ask in behind:
            self._asked_again += 1
            said += self._ask(f"{ask.asked.request}~{self._asked_again}", ask.asked, ask.parent, ask.agent)
        return said

    def _void(self, ask: asks.OpenAsk, why: str) -> Messages:
        """Nobody needs to answer this any more."""
        del self.asks[ask.id]
        return self._say([bodies.AskCancelled(ask.id, why)], ask.parent)

    def _start(self) -> None:
        self._began = self._now()
        self._lines = [0, 0]

    def _lasted(self) -> int:
        return max(0, int((self._now() - self._began) * 1000))
