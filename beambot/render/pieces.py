"""A piece of a text that fits a page, and what it takes to go on with the rest on the next one."""

from __future__ import annotations

import re

from msgspec import Struct

from beambot.log import redact
from beambot.model.outbound import Markdown
from beambot.render.clip import Paper
from beambot.render.markdown.seams import Seam, seam, seam_at
from beambot.render.split import open_fence

# How far a look ahead goes for the end of a secret.
AHEAD = 4096
# How close before what stands in a chat a line or a word has to end.
_BACK = 120
_TRIES = 12
# A page is filled up to here when its markup takes less room than its source.
_FULL, _NEARLY = 0.7, 0.95
_BLANK = re.compile(r"[ \n]+")


class Piece(Struct, frozen=True):
    """`text` as it was said; `opening` says in what it stands, `closing` closes it, `next` opens what follows."""

    opening: str
    text: str
    closing: str = ""
    next: str = ""


def piece_of(rest: Piece, room: int, paper: Paper) -> Piece:
    """As much of a text as fits into the room when it is rendered; at least one character."""
    skip, text = len(rest.opening), rest.opening + rest.text
    guess = max(room, 1)
    best: Piece | None = None
    for _ in range(_TRIES):
        piece = _parted(rest, seam(text, skip, skip + guess, paper.unit))
        size = max(paper.size(_drawn(piece)), 1)
        if size <= room:
            if best is not None or size >= room * _FULL or len(piece.text) == len(rest.text):
                return piece
            best = piece
            guess = max(int(len(piece.text) * room / size * _NEARLY), guess + 1)
        elif best is not None:
            return best
        elif len(piece.text) <= 1:
            return piece
        else:
            guess = max(min(int(guess * room / size * _NEARLY), len(piece.text) - 1), 1)
    return best or piece


def near(rest: Piece, length: int) -> Piece | None:
    """The piece that ends here, or with the line or the word before. None: there is no good place."""
    text = rest.text
    if length > len(text):
        return None
    line, word = text.rfind("\n", 0, length) + 1, text.rfind(" ", 0, length) + 1
    if line >= length - _BACK and line:
        length = line
    elif open_fence(rest.opening + text[:length]):
        return None
    elif word >= length - _BACK and word:
        length = word
    skip = len(rest.opening)
    piece = _parted(rest, seam_at(rest.opening + text, skip, skip + length))
    return piece if piece.text else None


def _parted(rest: Piece, at: Seam) -> Piece:
    skip = len(rest.opening)
    length = clear_of_secrets(rest.text, max(at.length - skip, 1))
    if length != at.length - skip:
        at = seam_at(rest.opening + rest.text, skip, skip + length)
        length = max(at.length - skip, 1)
    return Piece(rest.opening, rest.text[:length], at.closing, at.opening)


def _drawn(piece: Piece) -> Markdown:
    return Markdown(piece.opening + redact(piece.text + piece.closing), skip=len(piece.opening))


def clear_of_secrets(text: str, length: int) -> int:
    """A place to cut that leaves no secret in two halves, of which neither would be recognised."""
    whole = redact(text)
    if whole == text:
        return length
    before = [match.end() for match in _BLANK.finditer(text, 0, length)][:-200:-1]
    after = [match.end() for match in _BLANK.finditer(text, length)][:200]
    for place in (length, *before, *after, len(text)):
        if redact(text[:place]) + redact(text[place:]) == whole:
            return place
    return length
