"""The unfinished end of a text that grows: markup that is still open is closed, half a link is left out."""

from __future__ import annotations

import re

from beambot.render.markdown.reading.fences import LEAD, fence_at_end
from beambot.render.markdown.reading.names import is_markup

# A last line of which nothing can be said yet: it may become a heading's underline, a list, a table, a fence.
_UNDECIDED = re.compile(rf"(?=.){LEAD}(?:[-=*_+#|:~` \t]*|\d{{1,3}}|\d{{1,9}}[.)]|\[[ xX]?\]?|\[\^|!\[?|<)")
_BLOCK_START = re.compile(r"[ \t>]*(?:[-*+] |\d{1,9}[.)] |#{1,6} |\|)")
_FENCE = re.compile(rf"{LEAD}(?:```|~~~)")
_RUN = re.compile(r"\\.|`+|\*+|_+|~+", re.DOTALL)
_ADDRESS = re.compile(r"\]\((?:<[^>\n]*|[^\s<]*(?:[ \t]+(?:[\"'(][^\"'\n]*[\"']?)?)?)$")
_LABEL = re.compile(r"(?<![\w\]\\`!])!?\[(?![\^\[\]\s]|[xX]\])([^\[\]\n]{1,80})\]?$")
_AUTOLINK = re.compile(r"<(?=(?:https?://|mailto:)\S*$)")
# What may become an entity, or the beginning of struck words.
_HALF = re.compile(r"(?:&(?:#[xX]?)?|(?<!\S)~)$")
_HEAD = re.compile(rf"({LEAD})\|[^\n]*")
_PIPE = re.compile(r"(?<!\\)\|")
_SHORT, _CODE = 80, 200
_LONGEST_LABEL = 300
# How far back the paragraph that still grows is looked for.
_FAR = 4000
# Deeper than this nobody nests what they emphasise.
_DEEPEST = 40


def heal(text: str) -> str:
    """The text as it should be read while more is to come."""
    line = text.rfind("\n") + 1
    fence = fence_at_end(text)
    if fence:
        return text[:line] if _may_end(text[line:], fence) else text
    tail = text[line:].strip(" \t\r>")
    undecided = _UNDECIDED.fullmatch(text, line) is not None
    ruled = _ruled(text[: line - 1]) if line and (not tail or (undecided and "|" in tail)) else ""
    if ruled or undecided:
        return ruled or text[:line].rstrip(" \t")
    start = paragraph_start(text)
    text = _without_half_link(text, start)
    text = _HALF.sub("", text)
    if _UNDECIDED.fullmatch(text, line):
        return text[:line].rstrip(" \t")
    if (len(text) - len(text.rstrip("\\"))) % 2:
        text = text[:-1]
    return _ruled(_closed(text, start)) or _closed(text, start)


def _closed(text: str, start: int) -> str:
    """With every mark closed that is open."""
    opened = unclosed(text, start)
    if not opened:
        return text
    innermost = opened[-1][1]
    half = len(text) - len(text.rstrip(innermost[0]))
    if 0 < half < len(innermost) and unclosed(text[: len(text) - half], start) == opened:
        text = text[: len(text) - half]
    for at, marks in reversed(opened):
        if not text[at + len(marks) :].strip(" \n"):
            text = text[:at]
            continue
        body = text.rstrip(" \n") if marks[0] != "`" else text
        text = body + marks + text[len(body) :]
    return text


def _ruled(text: str) -> str:
    """A line that will be the head of a table, with the ruler it will have; nothing where it is not one."""
    line = text.rfind("\n") + 1
    head = _HEAD.fullmatch(text, line)
    above = text[text.rfind("\n", 0, max(line - 1, 0)) + 1 : max(line - 1, 0)]
    if head is None or ("|" in above and not head.group(1).strip(" \t>")):
        return ""
    row = text[head.end(1) :].strip()
    count = len(_PIPE.findall(row.removeprefix("|").removesuffix("|"))) + 1
    if not row.strip("|:- "):
        return ""
    indent = "".join(char if char in ">\t" else " " for char in head.group(1))
    return f"{text}\n{indent}|{'---|' * count}"


def paragraph_start(text: str) -> int:
    """Where the paragraph at the end of a text begins, or the list item, the heading, the cell."""
    floor = max(len(text) - _FAR, 0)
    line = text.rfind("\n", floor) + 1
    while line > floor and not _BLOCK_START.match(text, line):
        above = max(text.rfind("\n", floor, line - 1) + 1, floor)
        if not text[above : line - 1].strip(" \t>\r") or _FENCE.match(text, above):
            break
        line = above
    line = max(line, floor)
    pipes = [found.end() for found in _PIPE.finditer(text, line)] if _HEAD.match(text, line) else []
    return pipes[-1] if pipes else line


def unclosed(text: str, start: int, end: int | None = None, *, patient: bool = False) -> list[tuple[int, str]]:
    """The inline marks that are open at the end of the text, outermost first, each with its place.

    A lone star far back is a name or an operator, not a word in italics that still goes on: unless `patient`.
    """
    end = len(text) if end is None else end
    stack: list[tuple[int, str]] = []
    at = start
    while (match := _RUN.search(text, at, end)) is not None:
        run, at = match.group(), match.end()
        if run[0] == "`":
            close = _closing_ticks(text, at, end, len(run))
            if close < 0 and (end - at <= _CODE or patient) and len(run) <= _DEEPEST:
                stack.append((match.start(), run))
                break
            at = max(close, at)
        elif run[0] in "*_~" and len(run) <= 3:
            _weigh(text, match.start(), run, end, stack)
            del stack[:-_DEEPEST]
    return [
        (place, marks)
        for place, marks in stack
        if patient or len(marks) > 1 or marks == "`" or (end - place <= _SHORT and "\n" not in text[place:end])
    ]


def _closing_ticks(text: str, at: int, end: int, count: int) -> int:
    """Where a piece of code ends that was opened by so many back-ticks, or -1."""
    marks = "`" * count
    while (found := text.find(marks, at, end)) >= 0:
        at = found + count
        while at < end and text[at] == "`":
            at += 1
        if at - found == count:
            return at
    return -1


def _weigh(text: str, at: int, run: str, end: int, stack: list[tuple[int, str]]) -> None:
    """A run of marks opens or closes, or is a name."""
    before = text[at - 1] if at else " "
    after = text[at + len(run)] if at + len(run) < end else ""
    if not before.isspace():
        for depth in range(len(stack) - 1, -1, -1):
            if stack[depth][1] == run:
                place = stack[depth][0]
                # Of three stars that opened, the two that are closed leave one.
                rest = [(place, run[0])] if stack[depth + 1 :] == [(place + 2, run[0])] else []
                stack[depth:] = rest
                return
        if len(run) == 3 and {run[:2], run[0]} <= {marks for _, marks in stack[-2:]}:
            del stack[-2:]
            return
    if after.isspace() or run in ("~", "~~~") or (run[0] == "_" and (before.isalnum() or before in "_/.")):
        return
    if after and not is_markup(text, at, end, run[: min(len(run), 2)]):
        return
    if len(run) == 3:
        stack += [(at, run[:2]), (at + 2, run[0])]
    else:
        stack.append((at, run))


def _without_half_link(text: str, start: int) -> str:
    """Without the address that is not complete, and without the brackets that wait for one."""
    opened = unclosed(text, start)
    if opened and opened[-1][1][0] == "`":
        return text
    link = half_link(text, start)
    if link is not None:
        return text[: link[0]] + link[1]
    label = _LABEL.search(text, start)
    if label is not None:
        return text[: label.start()] + label.group(1)
    return _AUTOLINK.sub("", text) if "<" in text[start:] else text


def half_link(text: str, start: int) -> tuple[int, str] | None:
    """A link whose address is not complete: where it begins, and the words it has."""
    middle = text.rfind("](", start)
    if middle < 0 or not _ADDRESS.match(text, middle) or _is_closed(text, middle + 2):
        return None
    begin = _opening_bracket(text, start, middle)
    if begin < 0:
        return None
    first = begin - 1 if begin > start and text[begin - 1] == "!" else begin
    return first, text[begin + 1 : middle]


def _opening_bracket(text: str, start: int, middle: int) -> int:
    """The bracket that belongs to the closing one in the middle of a link, on the same line, or -1."""
    depth = 0
    for at in range(middle - 1, max(start, middle - _LONGEST_LABEL, text.rfind("\n", 0, middle) + 1) - 1, -1):
        depth += (text[at] == "]") - (text[at] == "[")
        if depth < 0:
            return at
    return -1


def _is_closed(text: str, at: int) -> bool:
    depth = 1
    for char in text[at:]:
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return True
    return False


def _may_end(line: str, fence: str) -> bool:
    """Whether a line may become the end of the fence."""
    marks = line.strip(" \t>")
    return bool(marks) and set(marks) == {fence[0]}
