"""The Claude Code adapter: what it can do, how it is configured, and the sessions it opens."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import anyio
import anyio.to_thread

from adapters.claude.process import errors
from adapters.claude.process.spawn import ClaudeConfig, Quirks, Transport, Wanted, environment
from adapters.claude.resumable import Memory, projects_folder, sessions_of
from adapters.claude.session import ClaudeSession, new_uuid
from beambot.api import (
    AdapterCapabilities,
    AgentError,
    AgentLogin,
    AgentMissing,
    ConfigSection,
    OpenOptions,
    PluginContext,
    Probe,
    Resumable,
)
from beambot.wire.process import Child

CAPABILITIES = AdapterCapabilities(
    streaming=True,
    interrupt=True,
    steer=True,
    resume=True,
    fork=True,
    rewind=True,
    permissions=True,
    rules=True,
    edited_input=True,
    questions=True,
    plan_review=True,
    models=True,
    modes=True,
    thinking_budget=True,
    slash_commands=True,
    mcp=True,
    images=True,
    files=True,
    cost=True,
    teams=True,
    native_protocol=True,
)
_VERSION_SECONDS = 10.0


def configure(section: ConfigSection) -> ClaudeConfig:
    """An adapter's section. Empty is enough where the program is on PATH."""
    return ClaudeConfig(
        command=section.text("command", "claude"),
        transport=cast("Transport", section.choice("transport", ("stdio", "sdk_url", "auto"), "stdio")),
        args=section.texts("args"),
        env=section.mapping("env"),
        drop_env=section.texts("drop_env"),
        allow_bypass=section.flag("allow_bypass", False),
        start_timeout=section.number("start_timeout", 60.0, minimum=0.1, maximum=3600.0),
        reconnect_grace=section.number("reconnect_grace", 30.0, minimum=0.0, maximum=600.0),
    )


class ClaudeAdapter:
    """Opens sessions, each with a process of its own."""

    capabilities = CAPABILITIES

    def __init__(self, name: str, config: ClaudeConfig, context: PluginContext) -> None:
        self.name = name
        self._config = config
        self._context = context
        self._quirks = Quirks()
        self._memory = Memory(context.home)

    async def probe(self) -> Probe:
        """Is it there, which version, and is somebody logged in?"""
        config = self._config
        if shutil.which(config.command, path=environment(config, {}).get("PATH")) is None:
            return Probe(installed=False, fix=f"install {config.command}, or set its full path as `command`")
        try:
            version = await self._version()
            options = OpenOptions(session="", folder=Path.home())
            session = self._session(options)
            try:
                await session.start(Wanted(new_uuid(self._context.ids)))
                account = await session.account()
            finally:
                await session.close()
        except AgentMissing as error:
            return Probe(installed=False, detail=error.message, fix=error.fix)
        except AgentLogin as error:
            return Probe(installed=True, version=version, logged_in=False, detail=error.message, fix=error.fix)
        except AgentError as error:
            return Probe(installed=True, version=version, detail=error.message, fix=error.fix)
        detail = account.get("email") or account.get("apiKeySource") or account.get("tokenSource") or ""
        return Probe(installed=True, version=version, logged_in=True, detail=detail)

    async def open(self, options: OpenOptions, resume: str | None = None, fork: bool = False) -> ClaudeSession:
        """A process for one session. `resume` may be an id that the conversation had earlier."""
        earlier = self._memory.newest(resume) if resume else ""
        fresh = new_uuid(self._context.ids)
        if not earlier:
            wanted = Wanted(fresh)
        elif self._memory.blank(earlier):
            wanted = Wanted(fresh if fork else earlier)
        else:
            wanted = Wanted(fresh if fork else earlier, earlier, fork)
        session = self._session(options)
        await session.start(wanted)
        return session

    async def list_resumable(self, folder: Path) -> Sequence[Resumable]:
        """What was begun in this folder, here or in a terminal."""
        projects = projects_folder(environment(self._config, {}))
        return await anyio.to_thread.run_sync(sessions_of, folder, projects)

    def _session(self, options: OpenOptions) -> ClaudeSession:
        return ClaudeSession(self._config, options, self._context, self._quirks, self._memory)

    async def _version(self) -> str:
        config = self._config
        child = await Child.start(
            [config.command, "--version"], cwd=Path.home(), env=environment(config, {}), stdin=False
        )
        said = b""
        try:
            with anyio.fail_after(min(_VERSION_SECONDS, config.start_timeout)):
                while data := await child.read():
                    said += data
        except TimeoutError as error:
            raise errors.too_slow(f"{config.command} --version", _VERSION_SECONDS, "") from error
        finally:
            await child.stop()
        return said.decode("utf-8", "replace").split(" ")[0].strip()[:40]
