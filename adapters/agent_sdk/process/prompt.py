"""A prompt as the client takes it: its words, its pictures, and where its other files are."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

from beambot.api import File, Prompt

# What the model takes as a picture; every other file the agent reads with its own tools.
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
PICTURE_LIMIT = 3_900_000


def user_message(prompt: Prompt, uuid: str) -> dict[str, Any]:
    """Reads the files: to be called in a thread when there are any."""
    content: list[dict[str, Any]] = []
    lines: list[str] = []
    for file in prompt.files:
        if file.mime in _PICTURES and (data := _read(file)):
            source = {"type": "base64", "media_type": file.mime, "data": data}
            content.append({"type": "image", "source": source})
        else:
            lines.append(f"The file {file.name} is at {file.path.absolute()}")
    text = "\n".join(([prompt.text, ""] if prompt.text and lines else [prompt.text][: bool(prompt.text)]) + lines)
    if text or not content:
        content.append({"type": "text", "text": text})
    return {
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": None,
        "session_id": "",
        "uuid": uuid,
    }


async def alone(message: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """One message as the stream that the client wants."""
    yield message


def _read(file: File) -> str:
    try:
        with file.path.open("rb") as opened:
            data = opened.read(PICTURE_LIMIT + 1)
    except OSError:
        return ""
    return "" if len(data) > PICTURE_LIMIT else base64.b64encode(data).decode()
