"""The table of commands, how a line is read, and what a handler is given."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from beambot.flow.house import House, Rows
from beambot.flow.sessions import Sessions
from beambot.flow.threads import Threads
from beambot.model.ids import ThreadRef
from beambot.model.outbound import AnyOutBlock, Button, Notice
from beambot.model.settings import Role, may
from beambot.store.records import MemberRow, SessionRow


@dataclass(frozen=True)
class Desk:
    """What a handler works with: who, where, and the parts of the flow."""

    house: House
    sessions: Sessions
    threads: Threads
    member: MemberRow
    thread: ThreadRef
    held: Callable[[ThreadRef], Awaitable[None]]
    holds: Callable[[ThreadRef], bool]
    prompt: Callable[[SessionRow, str], Awaitable[None]]

    async def say(self, *blocks: AnyOutBlock | str, buttons: Rows = ()) -> None:
        """Answer in the thread."""
        await self.house.say([self.thread], *blocks, buttons=buttons)

    async def warn(self, text: str, buttons: Rows = ()) -> None:
        """Say that it cannot be done, and what can."""
        await self.say(Notice(text, level="warning"), buttons=buttons)

    async def session(self) -> SessionRow | None:
        """The thread's session; says what to do when there is none, or when it is not this member's."""
        row = await self.threads.current(self.thread)
        if row is None:
            await self.warn("There is no session in this thread yet. Write what you want done, or /new.")
            return None
        if not self.threads.may_use(self.member, row):
            await self.warn("You are not a member of this session's project.")
            return None
        return row


Handler = Callable[[Desk, str], Awaitable[None]]


@dataclass(frozen=True)
class Command:
    """One command. `hidden` ones are what buttons say; they are not listed."""

    name: str
    role: Role
    help: str
    run: Handler
    args: str = ""
    hidden: bool = False


class Commands:
    """The table."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self._commands = {command.name: command for command in commands}

    def listed(self, role: Role = "owner") -> list[Command]:
        """What a role may use, in the order of the table."""
        return [c for c in self._commands.values() if not c.hidden and may(role, c.role)]

    def knows(self, name: str) -> bool:
        """Whether there is such a command."""
        return name in self._commands

    async def run(self, desk: Desk, name: str, args: str) -> None:
        """Run a command, or say what is nearest to it."""
        command = self._commands.get(name)
        if command is None:
            await self._unknown(desk, name)
        elif not may(desk.member.role, command.role):
            await desk.warn(f"/{name} takes the role {command.role}; yours is {desk.member.role}.")
        else:
            await command.run(desk, args.strip())

    async def _unknown(self, desk: Desk, name: str) -> None:
        known = [command.name for command in self.listed(desk.member.role)]
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        words = f"There is no command /{name[:40]}."
        words += " Did you mean one of these?" if near else " /help lists them."
        buttons = tuple(Button(f"/{other}", f"cmd:/{other}") for other in near)
        row = await desk.threads.current(desk.thread)
        facts = desk.sessions.facts(row.id) if row is not None else None
        if facts is not None and any(command.name == name for command in facts.commands):
            words = f"/{name} is a command of the agent: write //{name} to send it there."
        await desk.warn(words, (buttons,) if buttons else ())


def short(text: str, length: int) -> str:
    """One line of a text, and not more of it than this."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def parse(text: str) -> tuple[str, str] | None:
    """A line that begins with one slash is a command: its name, and the rest. `//x` is for the agent."""
    line = text.strip()
    if not line.startswith("/") or line.startswith("//"):
        return None
    name, _, args = line[1:].partition(" ")
    # In groups some chats add the bot's name to the command: /stop@my_bot
    name = name.partition("@")[0].strip().casefold()
    return (name, args.strip()) if name.replace("_", "").replace("-", "").isalnum() else None
