"""A prompt as the line that the program reads: its words, its pictures, and where its other files are."""

from __future__ import annotations

import base64

from adapters.claude import answers
from beambot.api import File, Prompt

# What the model takes as a picture; every other file the agent reads with its own tools.
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
PICTURE_LIMIT = 3_900_000


def user_line(prompt: Prompt, uuid: str) -> bytes:
    """Reads the files: to be called in a thread when there are any."""
    pictures: list[tuple[str, str]] = []
    files: list[tuple[str, str]] = []
    for file in prompt.files:
        if file.mime in _PICTURES and (data := _read(file)):
            pictures.append((file.mime, data))
        else:
            files.append((file.name, str(file.path.absolute())))
    return answers.prompt(prompt.text, uuid, pictures, files)


def _read(file: File) -> str:
    try:
        with file.path.open("rb") as opened:
            data = opened.read(PICTURE_LIMIT + 1)
    except OSError:
        return ""
    return "" if len(data) > PICTURE_LIMIT else base64.b64encode(data).decode()
