"""How the program is started: its words, its environment, over pipes or over a WebSocket."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

from beambot.wire.process import Child, Tail, clean_env

Transport = Literal["stdio", "sdk_url", "auto"]
_WORDS = (
    "-p",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
    "--include-partial-messages",
    "--permission-prompt-tool",
    "stdio",
    "--replay-user-messages",
)
# Left out for versions that do not know them.
OPTIONAL = ("--forward-subagent-text",)
_BYPASS = "--allow-dangerously-skip-permissions"
# Left behind by a program that beambot itself may run in; they would make the agent think that it is a part of it.
_FOREIGN = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID")
# Lets a turn's files be taken back.
_OURS = {"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "1"}


class ClaudeConfig(Struct, frozen=True, kw_only=True):
    """How the program is started."""

    command: str = "claude"
    transport: Transport = "stdio"
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    drop_env: tuple[str, ...] = ()
    allow_bypass: bool = False
    start_timeout: float = 60.0
    reconnect_grace: float = 30.0

    @property
    def line(self) -> str:
        """As one would type it."""
        return shlex.join([self.command, *self.args])


class Quirks:
    """What this machine's version turned out not to have: learned once for all sessions of an adapter."""

    def __init__(self) -> None:
        self.unknown: set[str] = set()
        self.no_sdk_url = False


class Wanted(Struct, frozen=True):
    """Which conversation: `session` is its own id; with `resume` an earlier one, or a copy of it."""

    session: str
    resume: str = ""
    fork: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """As options."""
        if not self.resume:
            return ("--session-id", self.session)
        if self.fork:
            return ("--resume", self.resume, "--fork-session", "--session-id", self.session)
        return ("--resume", self.resume)


class Pipe(Protocol):
    """The running program, whatever lies between."""

    stderr: Tail

    @property
    def returncode(self) -> int | None: ...

    async def read(self) -> bytes: ...

    def write(self, data: bytes) -> None: ...

    async def drain(self) -> None: ...

    async def wait(self) -> int: ...

    async def stop(self, grace: float = 3.0) -> None: ...


def argv(config: ClaudeConfig, wanted: Wanted, quirks: Quirks) -> list[str]:
    """The whole command line."""
    optional = [word for word in OPTIONAL if word not in quirks.unknown]
    bypass = [_BYPASS] if config.allow_bypass and _BYPASS not in quirks.unknown else []
    return [config.command, *_WORDS, *optional, *bypass, *wanted.words, *config.args]


def environment(config: ClaudeConfig, extra: dict[str, str]) -> dict[str, str]:
    """Clean of what is beambot's own."""
    return clean_env({**_OURS, **config.env, **extra}, (*_FOREIGN, *config.drop_env))


async def spawn(
    config: ClaudeConfig,
    wanted: Wanted,
    quirks: Quirks,
    folder: Path,
    env: dict[str, str],
    secret: str,
    transport: Transport,
) -> Pipe:
    """Start it in the project's folder. Raises `AgentMissing` with the fix."""
    words, whole = argv(config, wanted, quirks), environment(config, env)
    if transport == "stdio":
        return await Child.start(words, cwd=folder, env=whole)
    from adapters.claude.process.sdk_url import SocketPipe

    return await SocketPipe.start(words, folder, whole, secret, config.reconnect_grace)
