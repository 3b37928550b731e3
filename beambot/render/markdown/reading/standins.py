"""Characters the parser would misread stand behind others while it reads; no place in the text moves."""

from __future__ import annotations

import re
from collections.abc import Iterator

from beambot.render.markdown.reading.fences import LEAD

# Symbols of a script that is written by almost nobody; the parser sees punctuation in them.
_FIRST, _LAST = 0x1D800, 0x1D9FF
_TAG = re.compile(rf"^{LEAD}<(?=[a-zA-Z/!?])(?!https?://|mailto:|[\w.+-]+@)", re.MULTILINE)
_STRONG = re.compile(r"(\w?)\*\*(?![\s*])([^*\n]*[^*\s])\*\*(\w?)")
_RULER = re.compile(r"^[ \t>]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+\r?$", re.MULTILINE)
_CELL_CODE = re.compile(r"(?<!`)(`+)(?!`)([^`\n]+)\1(?!`)")
_BARE_PIPE = re.compile(r"(?<!\\)\|")


def stand_in(text: str) -> tuple[str, dict[int, str]]:
    """The text as the parser should read it, and what puts its own characters back.

    Hidden are: the colon of a definition, which the parser would swallow; what would open a block of HTML, in
    which it reads no markup; a pipe in a table's code; letters that touch bold punctuation from outside, as they
    do in scripts without spaces.
    """
    text = text.replace("\r", "\n") if "\r" in text and "\r\n" not in text else text
    stands: dict[str, str] = {}
    free = _free(text)
    if "]:" in text:
        text = text.replace("]:", "]" + _put(":", stands, free))
    if "<" in text:
        text = _TAG.sub(lambda found: found.group()[:-1] + _put("<", stands, free), text)
    if "**" in text:
        text = _STRONG.sub(lambda found: _beside(found, stands, free), text)
    if "|" in text and "`" in text and "-|" in text.replace(" ", "").replace(":", ""):
        text = _pipes(text, stands, free)
    return text, {ord(stand): char for char, stand in stands.items()}


def _free(text: str) -> Iterator[str]:
    used = set() if text.isascii() else set(text)
    return (chr(code) for code in range(_FIRST, _LAST + 1) if chr(code) not in used)


def _put(char: str, stands: dict[str, str], free: Iterator[str]) -> str:
    stand = stands.get(char)
    if stand is None:
        stand = next(free, "")
        if not stand:
            return char
        stands[char] = stand
    return stand


def _beside(found: re.Match[str], stands: dict[str, str], free: Iterator[str]) -> str:
    before, body, after = found.groups()
    if after and not body[-1].isalnum():
        after = _put(after, stands, free)
    if before and not before.isascii() and not body[0].isalnum():
        before = _put(before, stands, free)
    return f"{before}**{body}**{after}"


def _pipes(text: str, stands: dict[str, str], free: Iterator[str]) -> str:
    """A row with more cells than its table has columns: the pipes in its code are no borders."""
    pieces: list[str] = []
    done = 0
    for ruler in _RULER.finditer(text):
        if ruler.start() < done or "|" not in ruler.group():
            continue
        columns = _cells(ruler.group())
        pieces.append(text[done : ruler.end()])
        done = ruler.end()
        while done < len(text):
            end = text.find("\n", done + 1)
            end = len(text) if end < 0 else end
            row = text[done:end]
            if not row.strip(" \t>\r\n"):
                break
            if "`" in row and _cells(row) > columns:
                row = _CELL_CODE.sub(lambda code: _BARE_PIPE.sub(_put("|", stands, free), code.group()), row)
            pieces.append(row)
            done = end
    return "".join((*pieces, text[done:]))


def _cells(row: str) -> int:
    row = row.strip(" \t>\r\n")
    return len(_BARE_PIPE.findall(row.removeprefix("|").removesuffix("|"))) + 1
