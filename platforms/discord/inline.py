"""Words within a line: what Discord would take for markup is escaped, what an agent emphasised is marked.

Discord reads a text from left to right with one expression per kind of markup, and most of them know neither
escapes nor code. So every mark is closed at the end of its line, and no mark stands around what could end it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from beambot.api import markdown as md

_MARKS = {md.BOLD: "**", md.ITALIC: "*", md.STRIKE: "~~"}
_STYLES = md.BOLD | md.ITALIC | md.STRIKE
# One set of characters in front lets the search skip over plain words. A "](" would draw in the link before it.
_MARKUP = re.compile(
    r"[\\*_~`|\[<@:(](?:(?<=[\\*_~`|\[])|(?<=<)(?![ =])|(?<=@)(?=everyone|here)|(?<=:)(?=[\w+-]+:|//)|(?<=\]\())"
)
_AT_START = re.compile(r"([ \t]*)(?:([>#]|[-+](?=[\s#]|$))|(\d+)(?=\.(?:\s|$)))")
_ADDRESS = re.compile(
    r"https?://(?=[\w\[])[^\s<>*`|\\\"，。；：！？、）】」』]*[^\s<>*`|\\\".,:;!?'，。；：！？、）】」』]",
    re.IGNORECASE,
)
# The client draws a card for an invitation even where the address has no scheme.
_INVITATION = re.compile(r"discord(?:app)?\.(?:gg|com|gift|new|me|li)/", re.IGNORECASE)
# Escapes do not work in the words of a link, and an emoji or an address in them undoes it.
_NOT_IN_LABEL = re.compile(r"[\\*~`|<>\[\]@]|://|:[\w+-]+:|(?<![^\W_])_|_(?![^\W_])|^\s*(?:[>#+-]|\d+\.)")
_NOT_IN_CODE_LABEL = re.compile(r"[`\[\]]|://")
_ONE_LEVEL = re.compile(r"(?:[^()]|\([^()]*\))*")
_UNSAFE = {ord(char): f"%{ord(char):02X}" for char in ' <>*`|\\"'}
_EMOJI_PARTS = "\ufe0f\u200d\u20e3"
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_PICTURE = "🖼 "


class Piece(NamedTuple):
    """Some words of one style; `ready` ones are Discord's markup already."""

    text: str
    style: int = 0
    ready: bool = False


def escape(text: str, *, fresh: bool = True) -> str:
    """One line so that Discord shows it as it is. `fresh`: it begins a line there."""
    lead = ""
    if fresh and (start := _AT_START.match(text)) is not None:
        space, sign, digits = start.groups()
        lead = f"{space}\\{sign}" if sign else f"{space}{digits}\\."
        text = text[start.end() + (not sign) :]
    if "://" not in text:
        return lead + _escaped(text)
    out, at = [lead], 0
    for found in _ADDRESS.finditer(text):
        url = _ended(found.group())
        out += (_escaped(text[at : found.start()]), f"<{url}>")
        at = found.start() + len(url)
    out.append(_escaped(text[at:]))
    return "".join(out)


def escape_lines(text: str) -> str:
    """Several lines so that Discord shows them as they are."""
    return "\n".join(escape(line) for line in text.split("\n"))


def _escaped(text: str) -> str:
    text = _MARKUP.sub(r"\\\g<0>", text)
    if "iscord" in text or "ISCORD" in text:
        text = _INVITATION.sub(lambda found: found.group()[:-1] + "\\/", text)
    return text


def _ended(url: str) -> str:
    """An address without the brackets that were opened before it."""
    if url[-1] not in _BRACKETS:
        return url
    extra = {close: url.count(close) - url.count(start) for close, start in _BRACKETS.items()}
    end = len(url)
    while extra.get(url[end - 1], 0) > 0:
        extra[url[end - 1]] -= 1
        end -= 1
    return url if end == len(url) else url[:end].rstrip(".,:;!?'")


def code(text: str) -> str:
    """Inline code. Three back-ticks would begin a block, so words with two in a row stay plain words."""
    if "`" not in text:
        return f"`{text}`" if text else ""
    if "``" in text:
        return escape(text)
    first, last = " " * text.startswith("`"), " " * text.endswith("`")
    return f"``{first}{text}{last}``"


def styled(spans: Sequence[md.Span], style: int = 0) -> list[str]:
    """Spans as lines of Discord's markdown; `style` is added to all of them."""
    if len(spans) == 1 and not style and not spans[0].style and not spans[0].link:
        return [escape(line) for line in spans[0].text.split("\n")]
    lines: list[list[md.Span]] = [[]]
    for span in spans:
        for count, text in enumerate(span.text.split("\n")):
            if count:
                lines.append([])
            if text:
                lines[-1].append(md.Span(text, span.style | style, span.link))
    return [_marked(_pieces(line)) for line in lines]


def _pieces(spans: Iterable[md.Span]) -> list[Piece]:
    pieces: list[Piece] = []
    runs = [(link, list(group)) for link, group in groupby(spans, key=lambda span: span.link)]
    for at, (link, run) in enumerate(runs):
        parts = [_piece(span.text, span.style) for span in run]
        # A link that says one place and leads to another is told both already.
        told = bool(link) and at + 1 < len(runs) and runs[at + 1][1][0].text.startswith(f" ({link})")
        for piece in _linked(parts, link, told=told) if link else parts:
            last = pieces[-1] if pieces else None
            if last is not None and not last.ready and not piece.ready and last.style == piece.style:
                pieces[-1] = Piece(last.text + piece.text, last.style)
            else:
                pieces.append(piece)
    return pieces


def _piece(text: str, style: int) -> Piece:
    if style & md.CODE and "``" not in text:
        # Marks around code end at the first mark in it.
        return Piece(code(text), 0 if "*" in text or "~" in text else style & _STYLES, ready=True)
    # A sign at the end would touch the marks behind it.
    if style and text.endswith("*"):
        style &= ~(md.BOLD | md.ITALIC)
    if style & md.STRIKE and text.endswith("~"):
        style &= ~md.STRIKE
    return Piece(text, style & _STYLES)


def _linked(parts: list[Piece], link: str, *, told: bool = False) -> list[Piece]:
    """A masked link where Discord would take it, else the words and the address behind them."""
    shown: list[Piece] = []
    if not parts[0].ready and parts[0].text.startswith(_PICTURE):
        shown.append(Piece(_PICTURE))
        rest = Piece(parts[0].text.removeprefix(_PICTURE), parts[0].style)
        parts = [rest, *parts[1:]] if rest.text else parts[1:]
    label = "".join(part.text for part in parts)
    if not link.lower().startswith("http"):
        address = link.removeprefix("mailto:")
        return [*shown, *parts] if address in label else [*shown, *parts, Piece(f" ({address})")]
    style = _STYLES
    for part in parts:
        style &= part.style
    url = f"<{_address(link)}>"
    if not label.replace(link, ""):
        return shown + [Piece(url, style, ready=True)] * max(label.count(link), 1)
    if label.strip() in (link, link.split("://", 1)[1], link.rstrip("/")):
        return [*shown, Piece(url, style, ready=True)]
    if all(_may_mask(part) for part in parts):
        inner = _marked([part._replace(style=part.style & ~style) for part in parts], masked=True)
        return [*shown, Piece(f"[{inner}]({url})", style, ready=True)]
    return [*shown, *parts] if told else [*shown, *parts, Piece(" ("), Piece(url, ready=True), Piece(")")]


def _may_mask(part: Piece) -> bool:
    if part.ready:
        return part.text[:1] == "`" and part.text[1:2] != "`" and not _NOT_IN_CODE_LABEL.search(part.text[1:-1])
    if _NOT_IN_LABEL.search(part.text) or "discord" in part.text.lower():
        return False
    return part.text.isascii() or not any(
        unicodedata.category(char) == "So" or char in _EMOJI_PARTS for char in part.text
    )


def _address(link: str) -> str:
    link = link.translate(_UNSAFE).replace("~~", "%7E%7E")
    return link if _ONE_LEVEL.fullmatch(link) else link.replace("(", "%28").replace(")", "%29")


def _marked(pieces: list[Piece], *, masked: bool = False) -> str:
    """Pieces with the marks of their styles, in one line. The words of a masked link are put as they are."""
    if any(piece.style for piece in pieces):
        pieces = _with_bare_edges(pieces)
    out: list[str] = []
    open_: list[int] = []
    fresh = True
    for at, piece in enumerate(pieces):
        blank = not piece.text.strip()
        keep = next((n for n, bit in enumerate(open_) if not piece.style & bit), len(open_))
        closed = open_[keep:]
        del open_[keep:]
        out += [_MARKS[bit] for bit in reversed(closed)]
        if piece.style and not blank:
            # "**a***b*" would be read as bold "a*": of two that touch, the second goes without.
            no_star = bool(out) and out[-1].endswith("*")
            fresh_bits = [
                bit
                for bit in (md.STRIKE, md.BOLD, md.ITALIC)
                if piece.style & bit and bit not in open_ and not (no_star and bit != md.STRIKE)
            ]
            fresh_bits.sort(key=lambda bit: (bit == md.ITALIC, -_lasts(pieces, at, bit)))
            open_ += fresh_bits
            out += [_MARKS[bit] for bit in fresh_bits]
        if piece.ready or masked:
            if piece.text[:1] == "`" and out and out[-1][-1:] == "`" and out[-1][-2:] != "\\`":
                out.append(" ")
            out.append(piece.text)
        else:
            out.append(escape(piece.text, fresh=fresh))
        fresh = fresh and blank
    out += [_MARKS[bit] for bit in reversed(open_)]
    return "".join(out)


def _lasts(pieces: list[Piece], at: int, bit: int) -> int:
    end = at
    while end < len(pieces) and pieces[end].style & bit:
        end += 1
    return end


def _with_bare_edges(pieces: list[Piece]) -> list[Piece]:
    """Blanks at the edge of a style stand outside of it: Discord marks no words that begin with one."""
    out: list[Piece] = []
    for at, piece in enumerate(pieces):
        if piece.ready or not piece.style:
            out.append(piece)
            continue
        before = pieces[at - 1].style if at else 0
        after = pieces[at + 1].style if at + 1 < len(pieces) else 0
        text = piece.text.strip()
        if not text:
            out.append(Piece(piece.text, piece.style & before & after))
            continue
        lead = piece.text[: len(piece.text) - len(piece.text.lstrip())]
        tail = piece.text[len(piece.text.rstrip()) :]
        out += [Piece(lead, piece.style & before)] if lead else []
        out.append(Piece(text, piece.style))
        out += [Piece(tail, piece.style & after)] if tail else []
    return out
