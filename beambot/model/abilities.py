"""What an agent may be able to do beyond the port: small protocols that a session, or an adapter, implements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from beambot.model.bodies import AgentCommand, Choice
from beambot.model.ports import Answer, Prompt


@runtime_checkable
class HandsOff(Protocol):
    """An adapter whose sessions can go on in a terminal."""

    def continue_command(self, agent_session: str, folder: Path) -> str:
        """The exact line that a person types there."""
        ...


@runtime_checkable
class Interruptible(Protocol):
    """Can be stopped in mid-turn; the turn then ends with a result."""

    async def interrupt(self) -> None: ...


@runtime_checkable
class Steerable(Protocol):
    """Can be told something while it works. False: it did not take it; queue it instead."""

    async def steer(self, prompt: Prompt) -> bool: ...


@runtime_checkable
class Answering(Protocol):
    """Takes answers to its asks. False: the ask is not open any more."""

    async def answer(self, answer: Answer) -> bool: ...


@runtime_checkable
class Configurable(Protocol):
    """Model and mode can change between turns, or in one."""

    async def set_model(self, model: str) -> None: ...

    async def set_mode(self, mode: str) -> None: ...


@runtime_checkable
class Thinking(Protocol):
    """Has a budget for reasoning."""

    async def set_thinking(self, effort: str) -> None: ...


@runtime_checkable
class Forkable(Protocol):
    """Can go on from here as a second session; gives the new agent session id."""

    async def fork(self) -> str: ...


@runtime_checkable
class Rewindable(Protocol):
    """Can take files and conversation back to an earlier prompt."""

    async def rewind(self, turn: str) -> None: ...


@runtime_checkable
class CommandSource(Protocol):
    """Has slash commands of its own."""

    def commands(self) -> Sequence[AgentCommand]: ...


@runtime_checkable
class Introspectable(Protocol):
    """Tells about itself."""

    async def models(self) -> Sequence[Choice]: ...

    async def account(self) -> Mapping[str, str]: ...

    async def mcp_servers(self) -> Sequence[Choice]: ...


@runtime_checkable
class TeamObserver(Protocol):
    """Knows its team without being asked through the stream."""

    def team(self) -> str: ...
