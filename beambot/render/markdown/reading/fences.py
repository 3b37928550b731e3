"""Whether a text ends inside of a fence, also one that stands in a list or a quotation."""

from __future__ import annotations

import re

# What may stand in front of a block: indents, signs of quotation, markers of lists.
LEAD = r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*+"
_FENCE = re.compile(rf"^({LEAD})(`{{3,}}|~{{3,}})([^\r\n]*)\r?$", re.MULTILINE)
_ITEM = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)+")
# How many lines back the item is looked for in which a fence stands.
_FAR = 40
_SIGNS = re.compile(r"(?:[ \t]*>)*")


def fence_at_end(text: str) -> str:
    """The marks of the fence that is open at the end of a text, or nothing."""
    if "```" not in text and "~~~" not in text:
        return ""
    marks, depth, column, seen = "", 0, 0, 0
    for found in _FENCE.finditer(text):
        lead, run, info = found.groups()
        if marks and _is_left(text[seen : found.start()], depth, column):
            marks = ""
        if not marks:
            if run[0] == "`" and "`" in info:
                continue
            column = _column(text, found.start(), lead)
            indent = len(lead.expandtabs(4)) - column if column else len(lead[lead.rfind(">") + 1 :].expandtabs(4))
            if indent < 4 + (">" in lead):
                marks, depth = run, lead.count(">")
        elif run[0] == marks[0] and len(run) >= len(marks) and not info.strip() and not lead.strip(" \t>"):
            marks = ""
        seen = found.end() + 1
    return "" if marks and _is_left(text[seen:], depth, column) else marks


def _column(text: str, line: int, lead: str) -> int:
    """Where the words of the list item begin in which a fence stands."""
    if lead.strip(" \t>"):
        return len(lead.expandtabs(4))
    room = len(lead.expandtabs(4))
    for _ in range(_FAR if room else 0):
        if line <= 0:
            break
        end, line = line - 1, text.rfind("\n", 0, line - 1) + 1
        content = text[line:end].expandtabs(4)
        item = _ITEM.match(content)
        if item is not None and item.end() <= room:
            return item.end()
        if content.strip() and len(content) - len(content.lstrip(" >")) < min(room, 2):
            break
    return 0


def _is_left(body: str, depth: int, column: int) -> bool:
    """Whether the lines behind a fence leave the quotation or the list it stands in."""
    if not depth and not column:
        return False
    lines = body.split("\n")
    if lines and not lines[-1].strip():
        lines.pop()
    for line in lines:
        signs = _SIGNS.match(line)
        if depth and (signs is None or signs.group().count(">") < depth):
            return True
        wide = line.expandtabs(4)
        if column and wide.strip(" >\r") and len(wide) - len(wide.lstrip(" >")) < column:
            return True
    return False
