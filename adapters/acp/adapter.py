"""The ACP adapter: any agent that speaks the Agent Client Protocol over standard input and output."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from adapters.acp import schema
from adapters.acp.handshake import AcpConfig, visit
from adapters.acp.session import AcpSession
from beambot.api import (
    AdapterCapabilities,
    AgentError,
    AgentMissing,
    ConfigSection,
    OpenOptions,
    PluginContext,
    Probe,
    Resumable,
)
from beambot.wire.jsonrpc import RpcError

CAPABILITIES = AdapterCapabilities(
    streaming=True,
    interrupt=True,
    steer=True,
    resume=True,
    fork=True,
    permissions=True,
    questions=True,
    plan_review=True,
    models=True,
    modes=True,
    slash_commands=True,
    images=True,
    files=True,
    cost=True,
)
_MOST_PAGES = 5


def configure(section: ConfigSection) -> AcpConfig:
    """An adapter's section: which program, and how."""
    return AcpConfig(
        command=section.text("command", required=True),
        args=section.texts("args"),
        env=section.mapping("env"),
        drop_env=section.texts("drop_env"),
        start_timeout=section.number("start_timeout", 60.0, minimum=0.1, maximum=3600.0),
    )


class AcpAdapter:
    """A kind of agent that speaks ACP. What one of them lacks is told by its session."""

    capabilities = CAPABILITIES

    def __init__(self, name: str, config: AcpConfig, context: PluginContext) -> None:
        self.name = name
        self._config = config
        self._context = context

    async def probe(self) -> Probe:
        """Is it there, and does it answer?"""
        if shutil.which(self._config.command) is None:
            return Probe(installed=False, fix=f"install {self._config.command}, or set its full path as `command`")
        try:
            async with visit(self._config, Path.home()) as (_, about):
                info = about.agent_info or schema.AgentInfo()
                return Probe(installed=True, version=info.version or "", detail=info.title or info.name)
        except AgentMissing as error:
            return Probe(installed=False, detail=error.message, fix=error.fix)
        except AgentError as error:
            return Probe(installed=True, detail=error.message, fix=error.fix)

    async def open(self, options: OpenOptions, resume: str | None = None, fork: bool = False) -> AcpSession:
        """A process of its own for each session."""
        session = AcpSession(self._config, options, self._context)
        await session.start(resume, fork)
        return session

    async def list_resumable(self, folder: Path) -> Sequence[Resumable]:
        """What the agent still has, if it can list it."""
        found: list[Resumable] = []
        async with visit(self._config, folder) as (peer, about):
            cursor: str | None = None
            for _ in range(_MOST_PAGES if about.can("list") else 0):
                params = {"cwd": str(folder), **({"cursor": cursor} if cursor else {})}
                try:
                    page = await peer.request("session/list", params, schema.Listed)
                except RpcError as error:
                    raise AgentError(f"the agent did not list its sessions: {error.message}") from error
                found += [_resumable(one) for one in page.sessions if one.cwd in ("", str(folder))]
                cursor = page.next_cursor
                if not cursor:
                    break
        return found


def _resumable(listed: schema.ListedSession) -> Resumable:
    try:
        at = datetime.fromisoformat(listed.updated_at or "").timestamp()
    except ValueError:
        at = 0.0
    return Resumable(agent_session=listed.session_id, title=listed.title or "", folder=listed.cwd, at=at)
