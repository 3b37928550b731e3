"""The program's stream of JSON lines: unknown fields are tolerated, and no field but the tag is relied on.

A line is tagged by `type`, which need not come first (wire of a `result`). A `type` that is not here, or a field of
an unexpected form, does not decode; the reader then passes the line on as unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct, field


class Wire(Struct, gc=False):
    """What every struct of the wire shares."""


# ── parts ────────────────────────────────────────────────────────────────────────────────────────────


class Content(Wire):
    """A content block of any kind; which fields count depends on `type`."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: Any = None
    tool_use_id: str = ""
    content: Any = None
    is_error: bool | None = None
    source: dict[str, Any] | None = None


class Said(Wire):
    """The message inside an `assistant` line: one block a line, the same id for all blocks of one answer."""

    content: list[Content] | str = []
    id: str = ""
    model: str = ""


class Heard(Wire):
    """The message inside a `user` line: results of tools, or words."""

    content: list[Content] | str = []


class Usage(Wire):
    """Tokens of one turn."""

    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0
    cache_creation_input_tokens: int | None = 0


class ModelUsage(Wire, rename="camel"):
    """Tokens and money of one model since the conversation began."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cost: float = field(default=0.0, name="costUSD")


class ResultMeta(Wire):
    """How a tool came not to run, where it did not."""

    id: str = ""
    non_execution_kind: str | None = None


# ── events of the model's stream ─────────────────────────────────────────────────────────────────────


class Delta(Wire):
    """More of a block; which field counts depends on `type`."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    partial_json: str = ""


class Event(Wire, tag_field="type"):
    """One event as the model's service sent it."""


class BlockStart(Event, tag="content_block_start"):
    """A block begins."""

    content_block: Content
    index: int = 0


class BlockDelta(Event, tag="content_block_delta"):
    """A block grows."""

    delta: Delta
    index: int = 0


class BlockStop(Event, tag="content_block_stop"):
    """A block is complete; its `assistant` line came before."""


class MessageStart(Event, tag="message_start"):
    """An answer begins."""


class MessageDelta(Event, tag="message_delta"):
    """Why it stopped."""


class MessageStop(Event, tag="message_stop"):
    """It is complete."""


class Ping(Event, tag="ping"):
    """The service is alive."""


AnyEvent = BlockDelta | BlockStart | BlockStop | MessageStart | MessageDelta | MessageStop | Ping


# ── lines ────────────────────────────────────────────────────────────────────────────────────────────


class Line(Wire, tag_field="type", kw_only=True):
    """One line of output."""


class StreamEvent(Line, tag="stream_event"):
    """More of an answer, per token."""

    event: AnyEvent
    parent_tool_use_id: str | None = None


class Assistant(Line, tag="assistant"):
    """A complete block of an answer."""

    message: Said
    parent_tool_use_id: str | None = None
    agent_id: str = ""
    subagent_type: str = ""
    task_description: str = ""
    is_api_error_message: bool = False
    api_error_status: int | None = None
    user_message_uuids: list[str] = []


class User(Line, tag="user"):
    """What the model is told: results of tools, an echo of a prompt, words of the program itself."""

    message: Heard
    parent_tool_use_id: str | None = None
    uuid: str = ""
    is_replay: bool = field(default=False, name="isReplay")
    is_synthetic: bool = field(default=False, name="isSynthetic")
    tool_use_result: Any = None
    tool_result_meta: list[ResultMeta] = []


class Result(Line, tag="result"):
    """The end of a turn. `is_error` tells whether it failed, whatever `subtype` says (claude/error_400)."""

    subtype: str = ""
    is_error: bool = False
    result: str | None = None
    errors: list[str] = []
    stop_reason: str | None = None
    terminal_reason: str | None = None
    api_error_status: int | None = None
    duration_ms: float = 0
    duration_api_ms: float = 0
    num_turns: int = 0
    total_cost_usd: float | None = None
    usage: Usage | None = None
    model_usage: dict[str, ModelUsage] = field(default_factory=dict, name="modelUsage")
    user_message_uuids: list[str] = []
    origin: dict[str, Any] | None = None


class System(Line, tag="system"):
    """News of the program; `subtype` says which struct reads the rest."""

    subtype: str = ""


class ControlRequest(Line, tag="control_request"):
    """The program wants something, and waits."""

    request_id: str
    request: msgspec.Raw


class ControlResponse(Line, tag="control_response"):
    """The reply to a request of ours, or the echo of one that we gave."""

    response: ControlReply


class ControlReply(Wire):
    """Whether it worked."""

    request_id: str = ""
    subtype: str = "success"
    response: Any = None
    error: Any = ""
    error_code: str | None = ""


class ControlCancel(Line, tag="control_cancel_request"):
    """The program no longer waits."""

    request_id: str


class Lifecycle(Line, tag="command_lifecycle"):
    """What became of a prompt that had an id."""

    command_uuid: str
    state: str = ""


class Reset(Line, tag="conversation_reset"):
    """The conversation begins anew, under another id."""

    trigger: str = ""


class ToolProgress(Line, tag="tool_progress"):
    """A tool has been running for a while."""

    tool_use_id: str
    elapsed_time_seconds: float = 0.0
    parent_tool_use_id: str | None = None


class ToolSummary(Line, tag="tool_use_summary"):
    """The program's own words for several tools."""

    summary: str = ""
    preceding_tool_use_ids: list[str] = []


class RateLimit(Line, tag="rate_limit_event"):
    """How near the account's limit is."""

    rate_limit_info: RateLimitInfo


class RateLimitInfo(Wire, rename="camel"):
    """`status` is allowed, allowed_warning or rejected; `resets_at` counts seconds since the epoch."""

    status: str = ""
    resets_at: float | None = None
    rate_limit_type: str | None = ""


class Auth(Line, tag="auth_status"):
    """A login is under way, or failed."""

    is_authenticating: bool = field(default=False, name="isAuthenticating")
    output: list[str] = []
    error: str | None = None


class KeepAlive(Line, tag="keep_alive"):
    """Nothing else."""


AnyLine = (
    StreamEvent
    | Assistant
    | User
    | Result
    | System
    | ControlRequest
    | ControlResponse
    | ControlCancel
    | Lifecycle
    | Reset
    | ToolProgress
    | ToolSummary
    | RateLimit
    | Auth
    | KeepAlive
)

read_line: Callable[[bytes], AnyLine] = msgspec.json.Decoder(AnyLine).decode
