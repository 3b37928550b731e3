"""From the wire to unified messages: pure, with the memory that the protocol asks of a reader.

    translator = Translator(now, folder, resumed)  now: a clock's monotonic; folder: titles speak of paths inside it
    translator.opened(session, reply, …)           → the one session_init, from the reply to `initialize`
    translator.read(line)                          one line of output, or one frame  → messages
    translator.control                             list[Control]: what `read` found for the session; it empties it
    translator.prompted(turn, uuid)                a prompt was written              → messages
    translator.steered(turn, uuid)                 one was written into a running turn
    translator.answered(Answer)                    → (line to write, messages), or None: that ask is not open
    translator.interrupted()                       an interrupt was written
    translator.changed(mode=…, model=…)            the program accepted a setting    → messages
    translator.settle()                            ends work that nobody prompted, once it is `quiet`  → messages
    translator.strange(kind, raw)                  what is no message at all         → messages
    translator.failed(words, code)                 what went wrong on the way        → messages
    translator.closed(why, code, expected)         → everything that is open ends; session_closed is last

`turn` is the running turn, empty while none runs or while the agent works unprompted (`loose`); `session` is the
program's own id of the conversation; `asks` are the open asks by id. Which turn a steered prompt has is told by
`command_lifecycle`, or by the echo of it: start the program with --replay-user-messages.
"""

from __future__ import annotations

from typing import Any

from adapters.claude import answers, requests
from adapters.claude.reading.asks import OpenAsk
from adapters.claude.reading.lines import Lines
from adapters.claude.reading.stream import Messages
from beambot.api import Answer, UnifiedMessage, bodies


class Translator(Lines):
    """One session's stream: what the program writes, and what is done to it."""

    @property
    def turn(self) -> str:
        """The turn that a prompt opened, while it runs."""
        return self._turns.turn

    @property
    def loose(self) -> bool:
        """Whether the agent works unprompted. Such work may end without a word."""
        return self._turns.loose

    @property
    def quiet(self) -> bool:
        """Whether unprompted work has nothing open that could still bring news."""
        open = self._turns.busy or self._asks.open or self._tools.open or self.background
        return self.loose and not open

    @property
    def asks(self) -> dict[str, OpenAsk]:
        """The open asks by their ids."""
        return self._asks.open

    def opened(
        self, session: str, reply: requests.Initialized, cwd: str = "", mode: str = "", model: str = ""
    ) -> Messages:
        """The session stands: the one session_init, and what was said before it."""
        self.session = session
        said = self.settings.opened(session, reply, cwd, mode, model, self._resumed)
        held, self._held = self._held, []
        return [UnifiedMessage(said), *held]

    def prompted(self, turn: str, uuid: str) -> Messages:
        """A prompt is on its way. Unprompted work ends here; what the background asks is asked again in it."""
        if self._turns.turn or self._turns.waiting:
            self._turns.wait(turn, uuid)
            return []
        return self._checked(self._begin(turn, uuid, taken=False))

    def steered(self, turn: str, uuid: str) -> None:
        """A prompt is on its way into the running turn. If it has a turn of its own in the end, that is `turn`."""
        self._turns.wait(turn, uuid)

    def interrupted(self) -> None:
        """The program was told to stop."""
        self._stopping = self._turns.running

    def answered(self, said: Answer) -> tuple[bytes, Messages] | None:
        """A person's answer: the line to write, and the messages. None: that ask is not open."""
        ask = self._asks.open.get(said.ask)
        if ask is None:
            return None
        line, resolved = answers.answer(ask, said)
        self._asks.settle(ask, line)
        news: list[Any] = [resolved]
        tool = ask.asked.tool_use_id or ""
        if resolved.outcome == "denied":
            self._tools.refuse(tool, said.text)
            self._stopping = self._stopping or said.interrupt
        elif said.input is not None and tool in self._tools.open:
            news += self._tools.open[tool].called(said.input, self._tools.folder)
        return line, self._say(news, ask.parent)

    def changed(self, mode: str = "", model: str = "") -> Messages:
        """The program accepted a setting."""
        return self._checked(self._say(self.settings.changed(mode, model)))

    def settle(self) -> Messages:
        """End the work that nobody prompted, if there is such work."""
        return self._finish("success") if self.loose else []

    def strange(self, kind: str, raw: Any) -> Messages:
        """Something nobody knows."""
        return self._checked(self._say([bodies.Unknown(kind, raw)]))

    def failed(self, words: str, code: str = "") -> Messages:
        """Something went wrong, and the session goes on."""
        return self._checked(self._say([bodies.Failure(words, True, code)]))

    def closed(self, why: str, code: int | None = None, expected: bool = False, fix: str = "") -> Messages:
        """The program is gone: everything that is open ends, in order, and nothing follows."""
        last = [one for parent in list(self._words) for one in self._close(parent)]
        if not expected:
            last += self._say([bodies.Failure(why, False, "agent_ended", fix)])
        if self._turns.running:
            last += self._finish("interrupted" if expected else "error", "" if expected else why, last=True)
        last.append(UnifiedMessage(bodies.SessionClosed(why, code, expected)))
        return self._checked(last)
