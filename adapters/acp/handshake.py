"""How a conversation with an ACP agent begins: start, initialize, open; and every way in which that fails."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from msgspec import Raw, Struct

from adapters.acp import schema
from beambot.api import AgentError, AgentLogin, SessionGone
from beambot.wire.jsonl import TooLong
from beambot.wire.jsonrpc import CLOSED, METHOD_NOT_FOUND, Garbage, Peer, Request, RpcError
from beambot.wire.process import Child, clean_env

PROTOCOL_VERSION = 1
AUTH_REQUIRED = -32000


class AcpConfig(Struct, frozen=True, kw_only=True):
    """How an agent is started."""

    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    drop_env: tuple[str, ...] = ()
    start_timeout: float = 60.0

    @property
    def line(self) -> str:
        """As one would type it."""
        return shlex.join([self.command, *self.args])


async def launch(config: AcpConfig, folder: Path, env: dict[str, str]) -> tuple[Child, dict[str, str]]:
    """The agent's process, and the environment it got."""
    whole = clean_env({**config.env, **env}, config.drop_env)
    return await Child.start([config.command, *config.args], cwd=folder, env=whole), whole


async def initialize(peer: Peer) -> schema.Initialized:
    """Say who we are and learn what the agent can do. Version 1: there a prompt's reply is its turn's end."""
    capabilities = {
        "fs": {"readTextFile": True, "writeTextFile": True},
        "terminal": True,
        "elicitation": {"form": {}, "url": {}},
    }
    params = {
        "protocolVersion": PROTOCOL_VERSION,
        "clientCapabilities": capabilities,
        "clientInfo": {"name": "beambot", "title": "beambot", "version": "1"},
    }
    about = await peer.request("initialize", params, schema.Initialized)
    if about.protocol_version != PROTOCOL_VERSION:
        raise AgentError(
            f"the agent speaks version {about.protocol_version} of the protocol, beambot {PROTOCOL_VERSION}",
            fix="install a version of the agent that speaks it",
        )
    return about


async def open_session(
    peer: Peer, about: schema.Initialized, folder: Path, resume: str | None, fork: bool
) -> tuple[str, schema.Opened]:
    """A new session, or an earlier one. Where the agent can, without replaying all that was said."""
    where: dict[str, Any] = {"cwd": str(folder), "mcpServers": []}
    if resume is None:
        opened = await peer.request("session/new", where, schema.Opened)
        if not opened.session_id:
            raise AgentError("the agent gave its session no id", fix="update the agent")
        return opened.session_id, opened
    method = _way_back(about, fork)
    try:
        # Some agents answer with nothing but null.
        found: schema.Opened | None = await peer.request(
            method,
            {"sessionId": resume, **where},
            schema.Opened | None,  # type: ignore[arg-type]
        )
    except RpcError as error:
        if error.code in (AUTH_REQUIRED, CLOSED):
            raise
        raise SessionGone(
            f"the agent does not know the session {resume}: {said(error)}", fix="start a new session"
        ) from error
    opened = found or schema.Opened()
    return opened.session_id or resume, opened


def _way_back(about: schema.Initialized, fork: bool) -> str:
    if fork:
        if not about.can("fork"):
            raise AgentError("this agent cannot fork a session", fix="start a new session")
        return "session/fork"
    if about.can("resume"):
        return "session/resume"
    if about.agent_capabilities and about.agent_capabilities.load_session:
        return "session/load"
    raise SessionGone("this agent cannot take up an earlier session", fix="start a new session")


def said(error: RpcError) -> str:
    """An agent's error in one line, with the detail that some hide in `data`."""
    detail = error.data
    if isinstance(detail, dict):
        detail = detail.get("details") or detail.get("message")
    if isinstance(detail, str) and detail and detail not in error.message:
        return f"{error.message}: {detail}"
    return error.message or f"error {error.code}"


def login_fix(about: schema.Initialized | None, config: AcpConfig) -> str:
    """What to do when the agent wants a login."""
    methods = [
        f"{method.name or method.id}{f' ({method.description})' if method.description else ''}"
        for method in (about.auth_methods if about else None) or ()
    ]
    ways = f": {'; '.join(methods)}" if methods else ""
    return f"run `{config.command}` in a terminal on this machine and log in{ways}"


def how(code: int | None) -> str:
    """How a process ended, in brackets."""
    if code is None:
        return ""
    return f" (exit code {code})" if code >= 0 else f" (signal {-code})"


def tail(child: Child) -> str:
    """The end of what the agent printed to standard error, short."""
    return child.stderr.text(5)[-600:]


def explain(error: RpcError, child: Child, config: AcpConfig, about: schema.Initialized | None) -> AgentError:
    """A failure to start, in words that help."""
    if error.code == AUTH_REQUIRED:
        return AgentLogin(f"the agent wants a login: {said(error)}", fix=login_fix(about, config))
    if error.code == CLOSED:
        words = tail(child)
        return AgentError(
            f"{config.line} ended{how(child.returncode)} before it was ready{f': {words}' if words else ''}",
            fix=f"run `{config.line}` in a terminal and see what it says",
        )
    return AgentError(f"the agent could not start a session: {said(error)}", fix=f"check `{config.line}`")


def too_slow(config: AcpConfig, child: Child) -> AgentError:
    """It started and said nothing."""
    words = tail(child)
    return AgentError(
        f"{config.line} did not answer within {config.start_timeout:g} s{f': {words}' if words else ''}",
        fix=f"check that `{config.line}` speaks ACP on its standard input, or raise start_timeout",
    )


class _Deaf:
    """A handler for the short conversations of `doctor`: nothing but replies matters."""

    def line(self, line: bytes) -> bool:
        return False

    def notified(self, method: str, params: Raw) -> None:
        return

    def requested(self, request: Request) -> None:
        request.fail(METHOD_NOT_FOUND, f"{request.method} is not offered here")

    def strange(self, found: Garbage | TooLong) -> None:
        return

    async def breathe(self, size: int) -> None:
        return


@asynccontextmanager
async def visit(config: AcpConfig, folder: Path) -> AsyncIterator[tuple[Peer, schema.Initialized]]:
    """A short conversation with an agent, without a session."""
    child, _ = await launch(config, folder, {})
    peer = Peer(child, _Deaf())
    about: schema.Initialized | None = None
    reading = asyncio.create_task(peer.run())
    try:
        with anyio.fail_after(config.start_timeout):
            about = await initialize(peer)
        yield peer, about
    except RpcError as error:
        raise explain(error, child, config, about) from error
    except TimeoutError as error:
        raise too_slow(config, child) from error
    finally:
        await child.stop()
        await reading
