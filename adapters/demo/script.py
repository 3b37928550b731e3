"""From the words of a prompt to the steps the demo agent takes. Pure."""

from __future__ import annotations

import re

from msgspec import Struct

WORDS: dict[str, str] = {
    "words N": "answer with N words, one by one",
    "markdown": "answer with headings, a list, a table, a quote and code",
    "think": "reason for a moment first",
    "look": "read some files of this project and say how long they are",
    "write FILE": "ask for permission, showing the change, then write the file",
    "run COMMAND": "ask for permission, then run the command (up to ` then ` or the end of the line)",
    "ask": "ask a question with choices",
    "login": "ask to be logged in on a page",
    "plan": "work through a checklist and have a plan approved",
    "slow SECONDS": "work slowly; stop it whenever you like",
    "team": "let three helpers work, nested under one tool",
    "fail": "end the turn with an error",
    "crash": "end the whole program in mid-turn",
    "fast": "do all of it without pauses",
}

_STEP = re.compile(
    r"(?P<run>(?<![\w-])run[ \t]+(?P<command>[^\n]+?)(?=[ \t]+then[ \t]|\n|\Z))"
    r"|(?P<write>(?<![\w-])write[ \t]+(?P<file>[^\s,;]+))"
    r"|(?P<words>(?<![\w-])words[ \t]+(?P<count>\d{1,6})\b)"
    r"|(?P<slow>(?<![\w-])slow(?:[ \t]+(?P<seconds>\d{1,5}(?:\.\d+)?))?\b)"
    r"|(?<![\w-])(?P<plain>markdown|think|look|ask|login|plan|team|fail|crash)(?![\w-])",
    re.IGNORECASE,
)


class Step(Struct, frozen=True):
    """One thing to do."""

    word: str
    argument: str = ""


def parse(prompt: str) -> list[Step]:
    """The steps a prompt asks for, in its own order; none if it has none of the words."""
    steps = []
    for found in _STEP.finditer(prompt):
        if found["run"]:
            steps.append(Step("run", found["command"].strip()))
        elif found["write"]:
            steps.append(Step("write", found["file"]))
        elif found["words"]:
            steps.append(Step("words", found["count"]))
        elif found["slow"]:
            steps.append(Step("slow", found["seconds"] or "5"))
        else:
            steps.append(Step(found["plain"].lower()))
    return steps


def is_fast(prompt: str) -> bool:
    """Whether the person does not want to wait."""
    return re.search(r"(?<![\w-])fast(?![\w-])", prompt, re.IGNORECASE) is not None


def goes_on(prompt: str) -> bool:
    """Whether the person wants what was cut off, and nothing new."""
    return re.search(r"(?<![\w-])go on(?![\w-])", prompt, re.IGNORECASE) is not None


def explain() -> str:
    """All words, for people."""
    width = max(map(len, WORDS))
    return "\n".join(f"  {word:<{width}}  {what}" for word, what in WORDS.items())


GREETING = """Hello! I am the **demo agent**. I need no key and know nothing, but I do what real agents do. \
Put some of these words into a message, in any order:

"""
GREETING += "\n".join(f"- `{word}` – {what}" for word, what in WORDS.items())

MARKDOWN = """# A longer answer

Agents answer in *markdown*. This one has **everything** that usually occurs, so that you can see how your chat \
shows it.

## A list

1. First, read the code.
2. Then change it:
   - one file at a time,
   - with a test for each change.
3. Last, run the tests.

## A table

| file | lines | changed |
|---|---:|---|
| `shop/cart.py` | 120 | yes |
| `shop/price.py` | 48 | no |
| `tests/test_cart.py` | 77 | yes |

## Some code

```python
def total(items: list[Item]) -> Decimal:
    \"\"\"What the customer pays.\"\"\"
    return sum((item.price * item.count for item in items), Decimal(0))
```

> Simple is better than complex.

### And the rest

A [link](https://example.org), some `inline code`, ~~something struck out~~, and characters that need care: \
<b>not bold</b>, *a_b_c*, 1 < 2 && 3 > 2, @everyone, 🙂.
"""
