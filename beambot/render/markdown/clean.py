"""Characters that deceive: what reorders a line, hides in it, or speaks with beambot's own sign."""

from __future__ import annotations

import re

# Only beambot begins a line with this sign; in the words of others it and its twins become its hollow sister.
SIGN = "◈"
_LIKE_SIGN = "◇"
_TWINS = [0x27D0, 0x1F79B, 0x1F79C]

# Joiners (U+200C, U+200D) and variation selectors stay: scripts and emoji need them.
_DIRECTION = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_HIDDEN = [
    0x00AD,
    0x115F,
    0x1160,
    0x17B4,
    0x17B5,
    0x180E,
    0x200B,
    0x20DF,
    *range(0x2060, 0x2065),
    *range(0x206A, 0x2070),
    0x3164,
    0xFEFF,
    0xFFA0,
    *range(0xFFF9, 0xFFFC),
    *range(0xE0000, 0xE0080),
]
_CONTROL = [*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000)]
_SEPARATORS = [0x2028, 0x2029]
_TABLE = (
    dict.fromkeys(_DIRECTION + _CONTROL, "\N{REPLACEMENT CHARACTER}")
    | dict.fromkeys(_HIDDEN, "")
    | dict.fromkeys(_SEPARATORS, "\n")
    | dict.fromkeys([ord(SIGN), *_TWINS], _LIKE_SIGN)
)
_SUSPECT = re.compile("[" + "".join(map(chr, sorted(_TABLE))) + "]")
_SUSPECT_ASCII = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# The flags of England, Scotland and Wales are spelled with hidden letters; no other word may be.
_FLAG = re.compile("(\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|"
                   "\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)\U000e007f)")  # fmt: skip

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)(?:(?P<erase>[02]?K)|[0-?]*[ -/]*(?:[@-~]|\Z))"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_MOVES = re.compile("([\r\b\x18\x1a])")


def clean(text: str) -> str:
    """The same text without characters that reorder it or cannot be seen."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    suspect = _SUSPECT_ASCII if text.isascii() else _SUSPECT
    if not suspect.search(text):
        return text
    pieces = _FLAG.split(text)
    return "".join(piece if at % 2 else piece.translate(_TABLE) for at, piece in enumerate(pieces))


def terminal_text(output: str) -> str:
    """What a terminal would show of a program's output: colours gone, a line drawn over shown as it ended."""
    output = output.replace("\x18", "").replace("\x1a", "").replace("\r\n", "\n")
    output = _ESCAPES.sub(_erasing, output)
    if _MOVES.search(output):
        output = "\n".join(_as_drawn(line) if _MOVES.search(line) else line for line in output.split("\n"))
    return clean(output)


def _erasing(escape: re.Match[str]) -> str:
    """Only what erases a line matters: one sign for its rest, another for all of it."""
    erase = escape.group("erase")
    return "" if erase is None else "\x1a" if erase[0] == "2" else "\x18"


def _as_drawn(line: str) -> str:
    drawn: list[str] = []
    column = 0
    for piece in _MOVES.split(line.rstrip("\r")):
        match piece:
            case "\r":
                column = 0
            case "\b":
                column = max(column - 1, 0)
            case "\x18":
                del drawn[column:]
            case "\x1a":
                drawn[:] = " " * min(column, len(drawn))
            case _:
                drawn += " " * (column - len(drawn))
                drawn[column : column + len(piece)] = piece
                column += len(piece)
    return "".join(drawn).rstrip(" ")
