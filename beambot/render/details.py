"""What a turn did, in full: each tool with what it was given and what it said."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from beambot.log import redact
from beambot.model.bodies import Diff, ToolEnded, ToolOutput, ToolProgress, ToolStarted
from beambot.model.message import UnifiedMessage
from beambot.model.outbound import duration
from beambot.render.markdown import terminal_text

_TICKS = re.compile(r"`+")
_STATES = {"done": "✓", "failed": "✗", "denied": "⊘", "cancelled": "–", "running": "…"}
# What a tool may say at the most when it is shown in a chat.
_LINES, _CHARACTERS = 12, 900


class ToolStory(Struct):
    """One tool from beginning to end."""

    title: str
    input: dict[str, Any]
    said: list[str]
    length: int = 0
    state: str = "running"
    began: float = 0.0
    seconds: float | None = None


def stories(messages: Iterable[UnifiedMessage]) -> list[ToolStory]:
    """The tools of a turn, in the order in which they began."""
    told: dict[str, ToolStory] = {}
    for message in messages:
        body = message.body
        if isinstance(body, ToolStarted):
            told[body.tool] = ToolStory(body.title or body.name, dict(body.input), [], began=message.at)
        elif isinstance(body, ToolProgress | ToolOutput | ToolEnded) and body.tool in told:
            _tell(told[body.tool], body, message.at)
        elif isinstance(body, Diff) and body.tool in told and not told[body.tool].input:
            told[body.tool].input = {"path": body.path}
    return list(told.values())


def _tell(story: ToolStory, body: ToolProgress | ToolOutput | ToolEnded, at: float) -> None:
    if isinstance(body, ToolProgress):
        story.title = body.title or story.title
        story.input.update(body.input or {})
        return
    # Some agents say at the end once more what they said on the way.
    if body.text and (len(body.text) != story.length or body.text != "".join(story.said)):
        story.said.append(body.text)
        story.length += len(body.text)
    if isinstance(body, ToolEnded):
        story.state = body.outcome
        story.seconds = body.duration_ms / 1000 if body.duration_ms else at - story.began


def details(told: Iterable[ToolStory], *, whole: bool, most: int | None = None) -> str:
    """As markdown: with `whole` everything, else as much as is read in a chat. Beyond `most` no tool is begun."""
    texts: list[str] = []
    length = 0
    for number, story in enumerate(told, 1):
        if most is not None and length > most:
            break
        texts.append(_one(number, story, whole))
        length += len(texts[-1])
    return "\n\n".join(texts)


def _one(number: int, story: ToolStory, whole: bool) -> str:
    time = f" · {duration(story.seconds)}" if story.seconds is not None else ""
    title = " ".join(redact(story.title).split())
    lead = f"{number}. "
    lines = [f"{lead}{_STATES.get(story.state, '')} {_as_code(title)}{time}"]
    given = _given(story)
    if given:
        lines.append(_fenced(given, len(lead), whole))
    said = redact(terminal_text("".join(story.said))).strip("\n")
    if said:
        lines.append(_fenced(said, len(lead), whole))
    return "\n".join(lines)


def _given(story: ToolStory) -> str:
    """What a tool was given, unless its title says it already."""
    if not story.input:
        return ""
    if len(story.input) == 1:
        (only,) = story.input.values()
        if isinstance(only, str):
            return "" if only.strip() in story.title else redact(only)
    shown = "\n".join(f"{name}: {_value(value)}" for name, value in story.input.items())
    return redact(shown)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _fenced(text: str, indent: int, whole: bool) -> str:
    if not whole:
        text = _short(text)
    fence = "`" * max(3, _longest_run(text) + 1)
    return "\n".join(" " * indent + line for line in (fence, *text.split("\n"), fence))


def _longest_run(text: str) -> int:
    """Of back-ticks: a fence around the text has to be longer."""
    return max((len(run) for run in _TICKS.findall(text)), default=0)


def _short(text: str) -> str:
    """The beginning and the end: what a program was asked, and how it came out."""
    lines = [line if len(line) <= 200 else line[:199] + "…" for line in text.split("\n")]
    if len(lines) > _LINES:
        half = _LINES // 2
        lines = [*lines[:half], f"… {len(lines) - 2 * half} more lines", *lines[-half:]]
    text = "\n".join(lines)
    return text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}…"


def _as_code(text: str) -> str:
    fence = "`" * (_longest_run(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}" if text else ""
