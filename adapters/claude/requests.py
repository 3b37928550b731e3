"""Control requests as the program writes them, and its reply to `initialize`."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from adapters.claude.schema import Wire
from adapters.claude.schema.system import Command


class Request(Wire, tag_field="subtype"):
    """Tagged by `subtype`; one that is not here does not decode and is refused."""


class CanUseTool(Request, tag="can_use_tool"):
    """May this tool run? Also how it asks a question and shows a plan."""

    tool_name: str
    input: Any = None
    display_name: str | None = ""
    description: str | None = ""
    decision_reason: str | None = ""
    permission_suggestions: Any = None
    blocked_path: str | None = ""
    tool_use_id: str | None = ""
    agent_id: str | None = ""


class HookCallback(Request, tag="hook_callback"):
    """A hook of ours."""

    callback_id: str
    input: Any = None
    tool_use_id: str | None = ""


class ToolMessage(Request, tag="mcp_message"):
    """JSON-RPC for a tool server of ours."""

    server_name: str
    message: dict[str, Any]


AnyRequest = CanUseTool | HookCallback | ToolMessage

read_request = msgspec.json.Decoder(AnyRequest).decode


class Model(Wire):
    """A model on offer; `value` is what `set_model` takes."""

    value: str = ""
    name: str = field(default="", name="displayName")
    description: str = ""
    resolved: str | None = field(default="", name="resolvedModel")


class Initialized(Struct):
    """The reply to `initialize`. It has no session id, and older versions tell neither mode nor version."""

    commands: list[Command] = []
    models: list[Model] = []
    account: dict[str, Any] | None = None
    version: str = field(default="", name="claude_code_version")
    mode: str = field(default="", name="current_permission_mode")
    capabilities: list[str] = []


def initialized(data: dict[str, Any]) -> Initialized:
    """That reply; what has an unexpected form is left out rather than refused."""
    try:
        return msgspec.convert(data, Initialized)
    except msgspec.ValidationError:
        return Initialized()
