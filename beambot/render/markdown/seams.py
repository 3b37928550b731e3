"""Where a markdown text may be parted, and what has to be said again so that its rest means the same."""

from __future__ import annotations

import re

from msgspec import Struct

from beambot.render.markdown.context import Context, context
from beambot.render.markdown.heal import half_link, paragraph_start, unclosed
from beambot.render.markdown.model import (
    BOLD,
    CODE,
    ITALIC,
    STRIKE,
    AnyBlock,
    Code,
    Document,
    Heading,
    Paragraph,
    Rule,
    Table,
)
from beambot.render.markdown.parse import parse
from beambot.render.markdown.reading.fences import LEAD
from beambot.render.split import Unit, cut, measure

_LEAD = re.compile(
    rf"{LEAD}(?:(?:[-*+]|\d{{1,9}}[.)])$|#{{1,6}}[ \t]+|\[[ xX]\][ \t]|\[!\w+\][ \t]*\r?$|\|[ \t]*)?", re.MULTILINE
)
_FENCE = re.compile(rf"{LEAD}(`{{3,}}|~{{3,}})")
_MARKS = re.compile(r"`{3,}|~{3,}")
_RULER = re.compile(r"[ \t>]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+\r?$", re.MULTILINE)
_PIPE = re.compile(r"(?<!\\)\|")
_ENTITY = re.compile(r"&#?\w{0,30}$")
_ENTITY_REST = re.compile(r"#?\w{0,30};")
_DOUBLE = ("**", "__", "~~", "``")
_BITS = {"*": ITALIC, "_": ITALIC, "**": BOLD, "__": BOLD, "~~": STRIKE}
# Keeps marks at the side of a blank from being read as stars; no page shows it.
_JOINER = "\u2060"
# A construct that begins this close before a cut is moved to the next page as a whole.
_WHOLE = 0.3
# A head of a table that is longer than this is not said again.
_HEAD = 600
# So far a cut is moved on where it cannot go back.
_REACH = 300
# How far behind a cut the end of what is emphasised there is looked for.
_AHEAD = 3000


class Seam(Struct, frozen=True):
    """A place to part a text: its offset, what closes the first half, and what opens the second."""

    length: int
    closing: str = ""
    opening: str = ""


def seam(text: str, skip: int, room: int, unit: Unit) -> Seam:
    """The best place within about `room` units of the source, at least one character after `skip`."""
    length = skip + max(cut(text[skip:], max(room - measure(text[:skip], unit), 1), unit), 1)
    return seam_at(text, skip, _clear_of_inline(text, skip, length))


def seam_at(text: str, skip: int, length: int) -> Seam:
    """Part a text here, or at the beginning of the line where nothing but a marker stands before."""
    length = max(length, skip + 1)
    while (better := _clear_of_marks(text, skip, length)) != length:
        # Once a place was moved on, it does not go back.
        skip, length = max(skip, length if better > length else 0), better
    if length >= len(text):
        return Seam(len(text))
    head = text[:length]
    blocks = parse(head)
    last = blocks[-1] if blocks else None
    if last is None:
        return Seam(length)
    around = context(head, last)
    fresh = head.endswith(("\n", "\r"))
    if isinstance(last, Code):
        return _in_code(head, last, around, fresh)
    if isinstance(last, Table) and not _is_blank(head) and _goes_on(text, length, last):
        return _in_table(text, skip, head, last, around)
    if fresh and (_is_blank(head) or isinstance(last, Heading | Rule)):
        return Seam(length, "", around.apart)
    if fresh:
        ends = not text[length:].split("\n", 1)[0].strip(" \t>\r")
        return Seam(length, "", f"{around.lead}.\n" if around.lead or not ends else "")
    return _in_line(text, skip, head, last, around)


def _in_line(text: str, skip: int, head: str, last: AnyBlock, around: Context) -> Seam:
    """In the middle of a line: what is emphasised there stays so on both sides."""
    better = _clear_of_emphasis(text, skip, head)
    if better != len(head):
        return seam_at(text, len(head) if better > len(head) else skip, better)
    level = last.level if isinstance(last, Heading) else 0
    lead = f"{around.items}{around.rest}{'#' * level} " if level else f"{around.lead}. "
    return Seam(len(head), *_joined(text, head, lead))


def _clear_of_emphasis(text: str, skip: int, head: str) -> int:
    """Not between marks and the words they open or close."""
    opened = unclosed(head, paragraph_start(head), patient=True)
    if opened and opened[-1][0] + len(opened[-1][1]) == len(head):
        return opened[-1][0] if opened[-1][0] > skip else len(head) + 1
    place = len(head)
    for marks in reversed(_carried(text, head)):
        if not text.startswith(marks, place):
            break
        place += len(marks)
    return place


def _joined(text: str, head: str, lead: str) -> tuple[str, str]:
    """What closes the marks that are open, and what opens them again."""
    marks = _carried(text, head)
    if not marks:
        return "", lead
    joiner = "" if marks[-1][0] == "`" else _JOINER
    closing = "".join(reversed(marks))
    return (joiner if head[-1].isspace() else "") + closing, lead + "".join(marks) + joiner


def _carried(text: str, head: str) -> list[str]:
    """The marks that are open at the end of the head and go on behind it."""
    start = paragraph_start(head)
    opened = [marks for _, marks in unclosed(head, start, patient=True)]
    if not opened:
        return []
    blank = text.find("\n\n", len(head))
    end = min(len(text) if blank < 0 else blank, len(head) + _AHEAD)
    style = _style_at(parse(text[:end], 0, True), len(head))
    return [marks for marks in opened if style & (CODE if marks[0] == "`" else _BITS.get(marks, 0))]


def _style_at(blocks: Document, place: int) -> int:
    """How the character behind a place is styled, if the one before it is styled so too."""
    block = next((block for block in reversed(blocks) if block.at < place), None)
    if isinstance(block, Table):
        spans = [span for row in block.rows for cell in row for span in cell]
    elif isinstance(block, Paragraph | Heading):
        spans = list(block.spans)
    else:
        return 0
    before = [span.style for span in spans[:1]] + [span.style for span in spans if span.at < place]
    behind = [span.style for span in spans[:1]] + [span.style for span in spans if span.at <= place]
    return before[-1] & behind[-1] if spans else 0


def _in_code(head: str, code: Code, around: Context, fresh: bool) -> Seam:
    fence = _MARKS.match(head, code.at)
    if fence is None:
        line = head[head.rfind("\n") + 1 :]
        indent = line[: len(line) - len(line.lstrip(" \t>"))]
        return Seam(len(head), "", around.apart if fresh else around.apart + indent)
    if not is_open(head, code):
        return Seam(len(head), "", around.apart)
    marks = fence.group()
    opening = f"{around.items}{around.rest}{marks}{code.language}\n" + ("" if fresh else around.rest)
    closing = "" if code.inside else ("" if fresh else "\n") + marks
    return Seam(len(head), closing, opening)


def is_open(head: str, code: Code) -> bool:
    """Whether a text ends inside of a fence."""
    marks = _MARKS.match(head, code.at)
    if marks is None or head[code.end :].strip(" \t\r\n>"):
        return False
    lines = head[code.at : code.end].rstrip(" \t\r\n").rsplit("\n", 1)
    if len(lines) == 1:
        return True
    end = _FENCE.match(lines[1])
    ends = (
        end is not None
        and not lines[1][end.end() :].strip()
        and end.group(1)[0] == marks.group()[0]
        and len(end.group(1)) >= len(marks.group())
    )
    return not ends


def _in_table(text: str, skip: int, head: str, table: Table, around: Context) -> Seam:
    """A table's head is said again; a row that is parted goes on in its own column."""
    fresh = head.endswith(("\n", "\r"))
    better = len(head) if fresh else _clear_of_emphasis(text, skip, head)
    if better != len(head):
        return seam_at(text, len(head) if better > len(head) else skip, better)
    lines = [line.strip(" \t\r>") for line in head[table.at :].split("\n", 2)[:2]]
    again = "".join(f"{around.rest}{line}\n" for line in lines)
    if len(again) > _HEAD:
        return Seam(len(head), "", f"{around.lead}.\n" if fresh else f"{around.lead}. ")
    opening = around.items + again
    if fresh:
        return Seam(len(head), "", opening)
    row = head[head.rfind("\n") + 1 :].lstrip(" \t>").removeprefix("|")
    opening += f"{around.rest}|{' |' * len(_PIPE.findall(row))} "
    return Seam(len(head), *_joined(text, head, opening))


def _goes_on(text: str, length: int, table: Table) -> bool:
    """Whether a table has more to come behind a place."""
    end = text.find("\n", length)
    end = len(text) if end < 0 else end
    if not text[length:end].strip(" \t\r>"):
        return False
    blocks = parse(text[:end])
    return bool(blocks) and isinstance(blocks[-1], Table) and blocks[-1].at == table.at


def _is_blank(head: str) -> bool:
    """Whether the last line has nothing on it."""
    return not head.rstrip("\r\n" if not head.endswith("\n\n") else "").rsplit("\n", 1)[-1].strip(" \t>\r")


def _clear_of_marks(text: str, skip: int, length: int) -> int:
    """Not inside of a marker, a fence's line, a table's ruler, a run of stars, an escape, an entity."""
    if length >= len(text):
        return length
    if text.startswith(("\n", "\r\n"), length):
        length = text.index("\n", length) + 1
    line = text.rfind("\n", 0, length) + 1
    if _FENCE.match(text, line) and length > line:
        end = text.find("\n", length) + 1 or len(text)
        return line if line > skip else end if end - length <= _REACH else length
    table = _head_of_table(text, line)
    if table is not None and table[0] < length < table[1]:
        end = min(table[1], len(text))
        return table[0] if table[0] > skip else end if end - length <= _REACH else length
    lead = _LEAD.match(text, line)
    if lead is not None and line < length <= lead.end():
        return line if line > skip else min(lead.end() + 1, len(text))
    while line < length < len(text) and (text[length] in " \t" or text[length - 1 : length + 1] in _DOUBLE):
        length += 1
    if length - skip > 1 and (len(text[:length]) - len(text[:length].rstrip("\\"))) % 2:
        return length - 1
    entity = _ENTITY.search(text, max(length - 32, skip), length)
    if entity is not None and entity.start() > skip and _ENTITY_REST.match(text, length):
        return entity.start()
    return length


def _head_of_table(text: str, line: int) -> tuple[int, int] | None:
    """From where to where the two lines go that make a table, if this line is one of them."""
    for start in (line, text.rfind("\n", 0, max(line - 1, 0)) + 1):
        below = text.find("\n", start) + 1
        ruler = _RULER.match(text, below) if below else None
        if ruler is not None and "|" in text[start:below] and "|" in ruler.group() and line <= below:
            return start, ruler.end() + 1
    return None


def _clear_of_inline(text: str, skip: int, length: int) -> int:
    """Not inside of a link, a row, a piece of code or emphasised words, where the page stays full enough so."""
    if length >= len(text):
        return length
    start = paragraph_start(text[:length])
    places = [place for place, _ in unclosed(text, start, length)]
    half = half_link(text[:length], start)
    if half is not None:
        places.append(half[0])
    label = text.rfind("[", start, length)
    if label >= 0 and "]" not in text[label:length] and "](" in text[length : length + 200]:
        places.append(label)
    line = text.rfind("\n", 0, length) + 1
    if text.startswith("|", line):
        places.append(line)
    place = min(places, default=length)
    return place if place > skip and place - skip >= (length - skip) * _WHOLE else length
