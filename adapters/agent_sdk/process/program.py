"""Which program runs, with which words and in which environment. Nothing here loads the vendor's package."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import uuid
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from beambot.api import AgentError, AgentMissing, IdSource
from beambot.wire.process import clean_env

PACKAGE = "claude-agent-sdk"
BYPASS = "bypassPermissions"
# Every process of a run inherits this variable with a value of its own: its commands outlive the program.
MARK = "AGENT_RUN_ID"
_WORDS = (
    "--output-format",
    "stream-json",
    "--input-format",
    "stream-json",
    "--verbose",
    "--include-partial-messages",
    "--include-hook-events",
    "--permission-prompt-tool",
    "stdio",
    "--replay-user-messages",
)
# Left behind by a program that beambot itself may run in; they would make the agent think that it is a part of it.
_FOREIGN = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID")


class SdkConfig(Struct, frozen=True, kw_only=True):
    """How the program is started. Without `command` it is the one inside the package."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    drop_env: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    output_schema: str = ""
    allow_bypass: bool = False
    start_timeout: float = 60.0


def new_uuid(ids: IdSource) -> str:
    """The program wants ids of this form."""
    return str(uuid.UUID(bytes=sha256(ids.new(32).encode()).digest()[:16], version=4))


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


def missing() -> AgentMissing:
    """The extra was not installed."""
    return AgentMissing(f"the Python package {PACKAGE} is not installed", fix="pip install 'beambot[agent_sdk]'")


def unusable(error: ImportError) -> AgentMissing:
    """The package is there, and lacks something."""
    return AgentMissing(
        f"this version of {PACKAGE} cannot be used: {error}", fix="pip install --upgrade 'beambot[agent_sdk]'"
    )


def package_version() -> str:
    """Of the vendor's package. Raises `AgentMissing` with the fix."""
    if find_spec("claude_agent_sdk") is None:
        raise missing()
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return ""


def bundled() -> Path | None:
    """The program inside the package; the wheels of some systems have none."""
    found = find_spec("claude_agent_sdk")
    if found is None or not found.origin:
        return None
    name = "claude.exe" if sys.platform == "win32" else "claude"
    path = Path(found.origin).parent / "_bundled" / name
    return path if path.is_file() else None


def program(config: SdkConfig) -> str:
    """What is started. Raises `AgentMissing` with the fix."""
    package_version()
    if config.command:
        path = shutil.which(config.command, path=environment(config, {}).get("PATH"))
        if path is None:
            raise AgentMissing(
                f"the program {config.command!r} was not found",
                fix=f"install {config.command}, set its full path as `command`, or leave `command` out",
            )
        return path
    found = bundled()
    if found is None:
        raise AgentMissing(
            f"this build of {PACKAGE} has no program inside",
            fix="install Claude Code and set its full path as `command`",
        )
    return str(found)


def argv(config: SdkConfig, wanted: Wanted) -> list[str]:
    """The whole command line."""
    if wanted.resume.startswith("-"):
        raise AgentError(f"{wanted.resume!r} is not the id of a session", fix="start a new session")
    bypass = ["--allow-dangerously-skip-permissions"] if config.allow_bypass else []
    schema = ["--json-schema", _schema(config.output_schema)] if config.output_schema else []
    return [program(config), *_WORDS, *bypass, *schema, *wanted.words, *config.args]


def environment(config: SdkConfig, extra: dict[str, str]) -> dict[str, str]:
    """Clean of what is beambot's own."""
    # The second lets a turn's files be taken back.
    ours = {"CLAUDE_CODE_ENTRYPOINT": "sdk-py", "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "1"}
    return clean_env({**ours, **config.env, **extra}, (*_FOREIGN, *config.drop_env))


def _schema(path: str) -> str:
    """The form that answers must have, as one line. Raises `AgentError` with the fix."""
    place = Path(path).expanduser()
    try:
        found: Any = msgspec.json.decode(place.read_bytes())
    except (OSError, ValueError) as error:
        raise AgentError(
            f"the form of answers cannot be read from {place}: {error}", fix="correct output_schema"
        ) from error
    if not isinstance(found, dict):
        raise AgentError(f"{place} holds no JSON schema", fix="correct output_schema")
    return msgspec.json.encode(found).decode()


def end_leftovers(run: str) -> None:
    """End what still carries the mark of a run. Where there is no /proc, nothing can be found."""
    wanted = f"{MARK}={run}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                os.kill(int(folder.name), signal.SIGKILL)
        except OSError:
            continue
