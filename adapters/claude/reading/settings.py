"""How the session stands: its mode, model and commands, told once and then by their differences. Pure."""

from __future__ import annotations

from typing import Any

from adapters.claude import requests
from adapters.claude.schema import system
from beambot.api import bodies

MODES = (
    bodies.Choice("default", "Ask", "asks before it changes anything"),
    bodies.Choice("acceptEdits", "Accept edits", "changes files without asking"),
    bodies.Choice("plan", "Plan", "reads and plans, changes nothing"),
    bodies.Choice("bypassPermissions", "Never ask", "does everything without asking"),
)


class Settings:
    """What was told about the session. `told` says whether session_init was."""

    def __init__(self) -> None:
        self.told = False
        self.mode = ""
        self.model = ""
        self.models: tuple[bodies.Choice, ...] = ()
        self.commands: tuple[bodies.AgentCommand, ...] = ()
        self.capabilities: frozenset[str] = frozenset()
        self._resolved: dict[str, str] = {}

    def opened(
        self, session: str, reply: requests.Initialized, cwd: str, mode: str, model: str, resumed: bool
    ) -> bodies.SessionInit:
        """From the reply to `initialize`, before any prompt."""
        self.told = True
        self.mode = mode or reply.mode
        self.models = tuple(
            bodies.Choice(one.value, one.name or one.value, one.description) for one in reply.models if one.value
        )
        self._resolved = {one.value: one.resolved for one in reply.models if one.resolved}
        self.model = self._resolved.get(model or "default", model)
        self.commands = tuple(_command(one) for one in reply.commands if one.name)
        return bodies.SessionInit(
            session,
            agent="Claude Code",
            version=reply.version,
            cwd=cwd,
            model=self.model,
            mode=self.mode,
            models=self.models,
            modes=MODES,
            commands=self.commands,
            resumed=resumed,
        )

    def init(self, line: system.Init) -> list[Any]:
        """The `init` of a turn: the first of all tells the session, later ones what is different."""
        self.capabilities = frozenset(line.capabilities)
        commands = self._merged(line.slash_commands)
        if not self.told:
            self.told = True
            self.mode, self.model, self.commands = line.mode, line.model, commands
            return [
                bodies.SessionInit(
                    line.session_id,
                    agent="Claude Code",
                    version=line.version,
                    cwd=line.cwd,
                    model=line.model,
                    mode=line.mode,
                    modes=MODES,
                    commands=commands,
                    tools=tuple(line.tools),
                )
            ]
        return self.changed(line.mode, line.model) + self.commanded(commands)

    def unheard(self, session: str) -> bodies.SessionInit:
        """A session that ends, or works, before it has said how it stands."""
        self.told = True
        return bodies.SessionInit(session, agent="Claude Code", modes=MODES)

    def changed(self, mode: str = "", model: str = "") -> list[Any]:
        """What is different now."""
        news: list[Any] = []
        if mode and mode != self.mode:
            self.mode = mode
            news.append(bodies.ModeChanged(mode))
        model = self._resolved.get(model, model)
        if model and model != self.model:
            self.model = model
            news.append(bodies.ModelChanged(model))
        return news

    def commanded(self, commands: tuple[bodies.AgentCommand, ...]) -> list[Any]:
        """The commands, whole."""
        if not commands or {one.name for one in commands} == {one.name for one in self.commands}:
            return []
        self.commands = commands
        return [bodies.CommandsChanged(commands)]

    def listed(self, commands: list[system.Command]) -> list[Any]:
        """The commands, whole, with their descriptions."""
        return self.commanded(tuple(_command(one) for one in commands if one.name))

    def _merged(self, names: list[str]) -> tuple[bodies.AgentCommand, ...]:
        known = {one.name: one for one in self.commands}
        return tuple(known.get(name) or bodies.AgentCommand(name) for name in names if name)


def _command(one: system.Command) -> bodies.AgentCommand:
    hint = one.hint if isinstance(one.hint, str) else ""
    return bodies.AgentCommand(one.name, one.description or "", hint)
