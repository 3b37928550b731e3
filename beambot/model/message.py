"""UnifiedMessage: everything an agent can say, whatever its wire, as an envelope around one body.

Additions only: a journal written by an earlier version stays readable, and a body this version does not
know decodes to `Unknown` with its raw data.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from beambot.model import encoding
from beambot.model.bodies import (
    AskCancelled,
    AskResolved,
    Assistant,
    AuthStatus,
    CommandsChanged,
    CompactBoundary,
    ContextUsage,
    Diff,
    Failure,
    HookEvent,
    KeepAlive,
    LoginRequest,
    ModeChanged,
    ModelChanged,
    PermissionRequest,
    Plan,
    PlanReview,
    Presence,
    Question,
    RateLimited,
    Result,
    SessionClosed,
    SessionInit,
    Status,
    TextDelta,
    ThinkingDelta,
    TitleChanged,
    ToolEnded,
    ToolOutput,
    ToolProgress,
    ToolStarted,
    ToolSummary,
    Unknown,
    UserMessage,
)
from beambot.model.team import TaskNotification, TeamMessage, TeamStateChange, TeamTaskUpdate

AnyBody = (
    SessionInit
    | UserMessage
    | TextDelta
    | ThinkingDelta
    | Assistant
    | Result
    | ToolStarted
    | ToolProgress
    | ToolOutput
    | ToolEnded
    | ToolSummary
    | Diff
    | PermissionRequest
    | Question
    | PlanReview
    | LoginRequest
    | AskResolved
    | AskCancelled
    | Status
    | Plan
    | ModeChanged
    | ModelChanged
    | CommandsChanged
    | CompactBoundary
    | AuthStatus
    | RateLimited
    | ContextUsage
    | HookEvent
    | TitleChanged
    | SessionClosed
    | TeamMessage
    | TeamTaskUpdate
    | TeamStateChange
    | TaskNotification
    | Presence
    | Failure
    | KeepAlive
    | Unknown
)
Ask = PermissionRequest | Question | PlanReview | LoginRequest

# Bodies that are work of an agent: one of these outside a turn opens a turn that nobody prompted.
WORK = (
    TextDelta,
    ThinkingDelta,
    Assistant,
    ToolStarted,
    ToolProgress,
    ToolOutput,
    ToolEnded,
    ToolSummary,
    Diff,
    PermissionRequest,
    Question,
    PlanReview,
    LoginRequest,
    Plan,
    Result,
)


class UnifiedMessage(Struct, frozen=True, omit_defaults=True):
    """The envelope. An adapter fills `body`, `parent` and, where its wire tells, `turn`; the pump the rest.

    `parent` is the tool-use id of the caller, so that a subagent's work nests under it.
    """

    body: AnyBody
    parent: str = ""
    turn: str = ""
    session: str = ""
    seq: int = 0
    at: float = 0.0

    @property
    def id(self) -> str:
        """Unique for ever: the session numbers its messages without a gap."""
        return f"{self.session}:{self.seq}"


class _Envelope(Struct):
    body: dict[str, Any]
    parent: str = ""
    turn: str = ""
    session: str = ""
    seq: int = 0
    at: float = 0.0


_decoder = msgspec.json.Decoder(UnifiedMessage)
_tolerant = msgspec.json.Decoder(_Envelope)


def encode(message: UnifiedMessage) -> bytes:
    """The same message gives the same bytes, always."""
    return encoding.encode(message)


def decode(data: bytes | str) -> UnifiedMessage:
    """Read a message; a body that this version does not know becomes `Unknown` with its raw data."""
    try:
        return _decoder.decode(data)
    except msgspec.ValidationError:
        found = _tolerant.decode(data)
        body = Unknown(kind=str(found.body.get("type", "")), raw=found.body)
        return UnifiedMessage(body, found.parent, found.turn, found.session, found.seq, found.at)
