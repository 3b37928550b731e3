"""Which turn runs: the prompt that opened it, prompts that wait, and work that nobody prompted. Pure.

A prompt that is said into a running turn either joins it, or has the next turn for itself; the program tells which
by `command_lifecycle` or by echoing the prompt. A `result` ends the run of the main loop, which need not be the
turn that a person waits for: the program also runs on its own, when a task in the background has ended.
"""

from __future__ import annotations

from adapters.claude.control import Control, Fate


class Waiting:
    """A prompt that was handed over and not yet taken. `queued`: the program tells when it begins."""

    __slots__ = ("queued", "turn")

    def __init__(self, turn: str) -> None:
        self.turn = turn
        self.queued = False


class Turns:
    """`turn` is the running turn, `loose` says that the agent works unprompted, `busy` that its main loop runs."""

    def __init__(self, control: list[Control]) -> None:
        self.turn = ""
        self.loose = False
        self.busy = False
        self.waiting: dict[str, Waiting] = {}
        self._control = control
        self._prompt = ""
        self._foreign = False

    @property
    def running(self) -> bool:
        """Whether any turn runs."""
        return bool(self.turn) or self.loose

    def begin(self, turn: str, prompt: str, taken: bool) -> None:
        """This turn runs from now on. A run of the main loop that goes on before it is taken is not its own."""
        self.turn, self.loose = turn, False
        self._prompt, self._foreign = prompt, self.busy and not taken

    def unprompted(self) -> None:
        """The agent works, and nobody asked it to."""
        self.loose = True
        self._prompt, self._foreign = "", False

    def end(self) -> None:
        """No turn runs."""
        self.turn, self.loose = "", False
        self._prompt, self._foreign = "", False

    def wait(self, turn: str, prompt: str) -> None:
        """A prompt was handed over while a turn runs, or behind others that wait."""
        self.waiting[prompt] = Waiting(turn)

    def queued(self, prompt: str) -> None:
        """The program has it, and will tell when it begins."""
        if found := self.waiting.get(prompt):
            found.queued = True
            self._control.append(Fate(prompt, found.turn, "queued"))

    def taken(self, prompt: str) -> str:
        """The program begins with a prompt; gives the turn that opens by it, if one does."""
        if prompt == self._prompt:
            self._foreign = False
            return ""
        found = self.waiting.pop(prompt, None)
        if found is None:
            return ""
        if self.turn or (self.loose and self.busy):
            self._control.append(Fate(prompt, found.turn, "joined"))
            return ""
        self._control.append(Fate(prompt, found.turn, "began"))
        return found.turn

    def next_up(self) -> str:
        """The main loop begins a run: the prompt that it is for, where the program does not tell."""
        return next((prompt for prompt, found in self.waiting.items() if not found.queued), "")

    def cancelled(self, prompt: str) -> bool:
        """A prompt will not run; True: it was the one whose turn runs already."""
        if found := self.waiting.pop(prompt, None):
            self._control.append(Fate(prompt, found.turn, "cancelled"))
            return False
        if prompt and prompt == self._prompt and self._foreign:
            self._control.append(Fate(prompt, self.turn, "cancelled"))
            return True
        return False

    def ran(self, prompts: list[str]) -> bool:
        """The main loop ended a run. False: it was not the run of the turn that runs."""
        self.busy = False
        for prompt in prompts:
            self.taken(prompt)
        if self._foreign:
            self._foreign = False
            return False
        return self.running

    def done(self, prompt: str) -> None:
        """The program is through with a prompt."""
        self._control.append(Fate(prompt, self.turn if prompt == self._prompt else "", "done"))
