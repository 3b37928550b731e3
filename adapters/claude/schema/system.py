"""The rest of a `system` line, by its subtype."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field


class Command(Struct, gc=False):
    """A slash command, as `initialize` tells it."""

    name: str = ""
    description: str | None = ""
    hint: Any = field(default="", name="argumentHint")


class Init(Struct, gc=False):
    """How the session stands: sent again at the start of every turn."""

    session_id: str = ""
    cwd: str = ""
    model: str = ""
    mode: str = field(default="", name="permissionMode")
    version: str = field(default="", name="claude_code_version")
    tools: list[str] = []
    slash_commands: list[str] = []
    capabilities: list[str] = []


class Status(Struct, gc=False):
    """What the program waits for, and every change of its mode."""

    status: str | None = None
    mode: str | None = field(default=None, name="permissionMode")
    user_message_uuids: list[str] = []


class ApiRetry(Struct, gc=False):
    """The model's service did not answer."""

    attempt: int = 0
    max_retries: int = 0
    retry_delay_ms: float = 0
    error_status: int | None = None
    error: str | None = ""


class CompactMetadata(Struct, gc=False):
    """What was folded."""

    trigger: str = ""
    pre_tokens: int = 0


class CompactBoundary(Struct, gc=False):
    """The history was folded."""

    compact_metadata: CompactMetadata = field(default_factory=CompactMetadata)


class TaskNews(Struct, gc=False):
    """A task in the background, or a tool seen as one: started, moved on, ended."""

    task_id: str = ""
    tool_use_id: str | None = ""
    description: str | None = ""
    status: str | None = ""
    summary: str | None = ""
    is_backgrounded: bool | None = None
    patch: dict[str, Any] | None = None


class TaskRef(Struct, gc=False):
    """A task by its id."""

    task_id: str = ""


class Tasks(Struct, gc=False):
    """All tasks in the background."""

    tasks: list[TaskRef] = []


class Denied(Struct, gc=False):
    """A tool was refused without anybody being asked."""

    tool_use_id: str = ""
    message: str = ""


class Hook(Struct, gc=False):
    """A hook ran."""

    hook_name: str = ""
    hook_event: str = ""
    output: str | None = ""
    outcome: str | None = ""


class Notice(Struct, gc=False):
    """Words of the program for whoever watches."""

    content: Any = ""
    text: Any = ""
    title: str | None = ""
    level: str | None = ""
    fallback_model: str | None = ""


class Commands(Struct, gc=False):
    """The slash commands, whole."""

    commands: list[Command] = []
