"""The adapter over the vendor's package: what it can do, how it is configured, and the sessions it opens."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from adapters.agent_sdk.process import errors
from adapters.agent_sdk.process.earlier import Memory, sessions_of
from adapters.agent_sdk.process.program import (
    SdkConfig,
    Wanted,
    environment,
    new_uuid,
    package_version,
    program,
    unusable,
)
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

if TYPE_CHECKING:
    from adapters.agent_sdk.session import AgentSdkSession

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
    structured_output=True,
    native_protocol=True,
)
HOOKS = (
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "UserPromptSubmit",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "Notification",
    "PermissionRequest",
)
_VERSION_SECONDS = 10.0


def configure(section: ConfigSection) -> SdkConfig:
    """An adapter's section. Empty is enough where the package is installed."""
    hooks = section.texts("hooks")
    for unknown in (one for one in hooks if one not in HOOKS):
        section.problem("hooks", unknown, ", ".join(HOOKS), "take one of these")
    return SdkConfig(
        command=section.text("command"),
        args=section.texts("args"),
        env=section.mapping("env"),
        drop_env=section.texts("drop_env"),
        hooks=tuple(one for one in hooks if one in HOOKS),
        output_schema=section.text("output_schema"),
        allow_bypass=section.flag("allow_bypass", False),
        start_timeout=section.number("start_timeout", 60.0, minimum=0.1, maximum=3600.0),
    )


class AgentSdkAdapter:
    """Opens sessions, each with a client and a process of its own."""

    capabilities = CAPABILITIES

    def __init__(self, name: str, config: SdkConfig, context: PluginContext) -> None:
        self.name = name
        self._config = config
        self._context = context
        self._memory = Memory(context.home)

    async def probe(self) -> Probe:
        """Is the package there, which program does it bring, and is somebody logged in?"""
        version = ""
        try:
            path = program(self._config)
            version = await self._version(path)
            detail = f"claude-agent-sdk {package_version()}, {path}"
            session = await self._open(OpenOptions(session="", folder=Path.home()), Wanted(self._uuid()))
            try:
                account = await session.account()
            finally:
                await session.close()
        except AgentMissing as error:
            return Probe(installed=False, detail=error.message, fix=error.fix)
        except AgentLogin as error:
            return Probe(installed=True, version=version, logged_in=False, detail=error.message, fix=error.fix)
        except AgentError as error:
            return Probe(installed=True, version=version, detail=error.message, fix=error.fix)
        who = account.get("email") or account.get("apiKeySource") or account.get("tokenSource")
        whole = f"{detail}, {who}" if who else detail
        return Probe(installed=True, version=version, logged_in=True, detail=whole)

    async def open(self, options: OpenOptions, resume: str | None = None, fork: bool = False) -> AgentSdkSession:
        """A process for one session. `resume` may be an id that the conversation had earlier."""
        earlier = self._memory.newest(resume) if resume else ""
        fresh = self._uuid()
        if not earlier:
            return await self._open(options, Wanted(fresh))
        if self._memory.blank(earlier):
            return await self._open(options, Wanted(fresh if fork else earlier))
        return await self._open(options, Wanted(fresh if fork else earlier, earlier, fork))

    async def list_resumable(self, folder: Path) -> Sequence[Resumable]:
        """What was begun in this folder, here or in a terminal."""
        package_version()
        return await sessions_of(folder, environment(self._config, {}))

    def continue_command(self, agent_session: str, folder: Path) -> str:
        """The line that goes on with a session in a terminal; nothing where the program is not there."""
        try:
            words = [program(self._config), "--resume", self._memory.newest(agent_session)]
        except AgentMissing:
            return ""
        return f"cd {shlex.quote(str(folder))} && {shlex.join(words)}"

    async def _open(self, options: OpenOptions, wanted: Wanted) -> AgentSdkSession:
        package_version()
        try:
            from adapters.agent_sdk.session import AgentSdkSession
        except ImportError as error:
            raise unusable(error) from error
        session = AgentSdkSession(self._config, options, self._context, self._memory)
        await session.start(wanted)
        return session

    def _uuid(self) -> str:
        return new_uuid(self._context.ids)

    async def _version(self, path: str) -> str:
        env = environment(self._config, {})
        child = await Child.start([path, "--version"], cwd=Path.home(), env=env, stdin=False)
        said = b""
        try:
            with anyio.fail_after(min(_VERSION_SECONDS, self._config.start_timeout)):
                while data := await child.read():
                    said += data
        except TimeoutError as error:
            raise errors.too_slow(f"{path} --version", _VERSION_SECONDS, "") from error
        finally:
            await child.stop()
        return said.decode("utf-8", "replace").split(" ")[0].strip()[:40]
