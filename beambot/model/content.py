"""Content blocks: what a complete message of an agent is made of."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Text(Struct, frozen=True, tag_field="type", tag="text"):
    """Words, as markdown."""

    text: str


class Thinking(Struct, frozen=True, tag_field="type", tag="thinking"):
    """The agent's reasoning, shown folded."""

    text: str


class ToolUse(Struct, frozen=True, tag_field="type", tag="tool_use"):
    """A call of a tool, with its input."""

    tool: str
    name: str
    input: dict[str, Any] = {}


class ToolResult(Struct, frozen=True, tag_field="type", tag="tool_result"):
    """What a tool gave back."""

    tool: str
    text: str = ""
    failed: bool = False


class Image(Struct, frozen=True, tag_field="type", tag="image"):
    """A picture: its bytes in base64, or where it is."""

    mime: str
    data: str = ""
    url: str = ""


class Code(Struct, frozen=True, tag_field="type", tag="code"):
    """Source text with its language, for agents that send it apart from prose."""

    code: str
    language: str = ""


Block = Text | Thinking | ToolUse | ToolResult | Image | Code
