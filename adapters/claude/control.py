"""What the wire says to the session and not to a reader: replies, calls of hooks and tools, the fate of prompts."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct


class Reply(Struct, frozen=True):
    """The answer to one of our control requests. `code` is a word of the program's own, where it has one."""

    request: str
    ok: bool
    data: dict[str, Any] = {}
    error: str = ""
    code: str = ""


class HookCall(Struct, frozen=True):
    """A hook that we registered fires, and waits for `answers.hook_reply`."""

    request: str
    callback: str
    input: dict[str, Any] = {}
    tool: str = ""


class ToolCall(Struct, frozen=True):
    """A message for a tool server that lives in this process; it waits for `answers.tool_reply`."""

    request: str
    server: str
    message: dict[str, Any] = {}


class Strange(Struct, frozen=True):
    """A request of a kind that is not known here: it waits for `answers.refusal`."""

    request: str
    kind: str


class Withdrawn(Struct, frozen=True):
    """The program no longer wants this hook or tool call answered."""

    request: str


class Fate(Struct, frozen=True):
    """What became of a prompt that was handed over.

    `joined`: it is part of the running turn. `began`: it has a turn of its own. `cancelled`: it will never run.
    """

    prompt: str
    turn: str
    state: Literal["queued", "joined", "began", "done", "cancelled"]


class SessionId(Struct, frozen=True):
    """The program's own id of the conversation is another one now: resume with this."""

    id: str


class Background(Struct, frozen=True):
    """Tasks that go on behind the conversation, whole, each time they change."""

    tasks: tuple[str, ...]


class SendAgain(Struct, frozen=True):
    """The program repeats a request that was answered: write this line again."""

    line: bytes


Control = Reply | HookCall | ToolCall | Strange | Withdrawn | Fate | SessionId | Background | SendAgain
