"""The little language in which a prompt tells the model server what to answer.

A prompt carries its script behind the word `SCRIPT`, as a JSON list; `script(...)` writes it. One step is one
answer of the model. A step is an object; what it holds happens in this order:

    {"wait": 0.5}                     be silent for so many seconds first
    {"error": 429}                    answer with this HTTP status; "message": words, "headers": {…},
                                      "retry_after": seconds, "times": N for the first N tries only
    {"think": "…"} or {"think": 12}   reason aloud, in these words or in so many
    {"say": "…"}                      say this, word by word
    {"words": 40}                     say so many words, all different; "pause": seconds before each
    {"markdown": true}                say a text with a heading, a list, a table and code
    {"tools": [{"do": "bash", …}]}    call tools, several in one answer (see `tools.py`)
    {"cut": true}                     drop the connection instead of ending the answer; "times" as above
    {"hang": true}                    never end the answer

Which step it is follows from the conversation alone: the newest prompt with a script counts, and each answer since
then is a step that was played. After the last step the server says the last tool result again, so that a test sees
what reached the model; in a conversation without a script it says the last words of the person again.
"""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec
from msgspec import Struct

MARK = "SCRIPT "
MARKDOWN = """# A heading

Some *emphasis*, **weight** and `code`.

- one
- two

| name | size |
|------|------|
| a    | 1    |

```python
print("hello")
```
"""
_NAMES = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "knoll", "mesa")
_FILLER = [f"word{number} " for number in range(1, 41)]


class Step(Struct, frozen=True, forbid_unknown_fields=True):
    """One answer of the model."""

    wait: float = 0.0
    error: int = 0
    message: str = ""
    headers: dict[str, str] = {}
    retry_after: float | None = None
    times: int | None = None
    think: str | int = ""
    say: str = ""
    words: int = 0
    pause: float = 0.0
    markdown: bool = False
    tools: tuple[dict[str, Any], ...] = ()
    cut: bool = False
    hang: bool = False


class Said(Struct, frozen=True):
    """One contribution to a conversation."""

    by: Literal["person", "model", "tool"]
    text: str


class Conversation(Struct, frozen=True):
    """A request of an agent in neutral words: what was said, which tools are offered, and all of it as one text."""

    said: tuple[Said, ...]
    tools: dict[str, Any]
    whole: str = ""


def script(*steps: dict[str, Any] | str) -> str:
    """A prompt that carries these steps; a plain text is a step that says it."""
    whole = [{"say": step} if isinstance(step, str) else step for step in steps]
    for step in whole:
        msgspec.convert(step, Step)
    return MARK + json.dumps(whole)


def read_script(text: str) -> list[Step] | None:
    """The script in a prompt, wherever it stands: the last one, but none that stands inside another."""
    found: list[Step] | None = None
    at = text.find(MARK)
    while at >= 0:
        start = at + len(MARK)
        try:
            steps, length = json.JSONDecoder().raw_decode(text[start:])
            found = msgspec.convert(steps, list[Step])
            start += length
        except ValueError as error:
            found = [Step(say=f"The script cannot be read: {error}")]
        at = text.find(MARK, start)
    return found


def next_step(conversation: Conversation) -> tuple[Step, str]:
    """What to answer now, and a name for this answer that stays the same when it is asked for again."""
    said = conversation.said
    for at in range(len(said) - 1, -1, -1):
        steps = read_script(said[at].text) if said[at].by == "person" else None
        if steps is not None:
            played = sum(one.by == "model" for one in said[at + 1 :])
            if played < len(steps):
                return steps[played], f"{at}:{played}:{said[at].text}"
            results = [one.text for one in said[at + 1 :] if one.by == "tool"]
            return Step(say=f"The tool said: {results[-1]}" if results else "Done."), ""
    people = [one.text for one in said if one.by == "person"]
    return Step(say=f"You said: {people[-1]}" if people else "Nothing was said."), ""


def spoken(step: Step) -> list[str]:
    """What the step says, in the pieces in which it is streamed."""
    pieces = _split(step.say)
    pieces += [f"{_NAMES[number % len(_NAMES)]}{number + 1} " for number in range(step.words)]
    if step.markdown:
        pieces += MARKDOWN.splitlines(keepends=True)
    return pieces


def thought(step: Step) -> list[str]:
    """What the step reasons, in pieces."""
    if isinstance(step.think, int):
        return [_FILLER[number % len(_FILLER)] for number in range(step.think)]
    return _split(step.think)


def _split(text: str) -> list[str]:
    return [word for word in text.replace(" ", " \0").split("\0") if word]
