"""Names that look like markup: `__init__.py`, `2*3*4`, `src/**/*.ts`, `C:\\.cache` are shown as written."""

from __future__ import annotations

import re

_DUNDER = re.compile(r"__[a-z0-9]+(?:_+[a-z0-9]+)*__")
_SNAKE = re.compile(r"_\w+_", re.ASCII)
# A backslash in front of these is an escape; in front of other punctuation it belongs to a path or a formula.
_ESCAPABLE = frozenset("\\`*_[]#<>~|!&$@")
_PATH = re.compile(r"[\"'(`]*(?:[A-Za-z]:\\|\\\\[\w.$-]+\\)")
_LIST = re.compile(r"[ \t>]*(?:\d{1,9})?$")


def is_markup(source: str, at: int, end: int, marks: str) -> bool:
    """Whether what stands between `at` and `end` is emphasis by these marks, not a name, a glob, a product."""
    width = len(marks)
    before = source[at - 1] if at else " "
    first = source[at + width : at + width + 1]
    if marks[0] == "~":
        return width == 2
    if marks[0] == "_":
        whole = source[at:end]
        if width == 2:
            return _DUNDER.fullmatch(whole) is None
        return not ("_" in whole[1:-1] and _SNAKE.fullmatch(whole))
    if (before.isascii() and before.isalnum()) or before in "/_.-" or (first and first in ",;)"):
        return False
    if source[end - width - 1 : end - width] == "/":
        return False
    if first and first in "/.":
        # "**.env**" and "**/etc/hosts**" are bold; "**/a.py,**/b.py" and "*.py" are globs.
        after = source[end : end + 1]
        return (
            width == 2 and "*" not in source[at + 2 : end - 2] and not after.isalnum() and after not in tuple("/.*")
        )
    return True


def is_escape(source: str, at: int) -> bool:
    """Whether the backslash at this place hides itself, and is not part of a path or a formula."""
    char = source[at + 1 : at + 2]
    line = source.rfind("\n", 0, at) + 1
    if char in ".)-+":
        # "1\." and "\-" keep a line from opening a list.
        found = _LIST.match(source, line, at)
        return found is not None and (found.group()[-1:].isdigit() == (char in ".)"))
    if char not in _ESCAPABLE:
        return False
    if char in "[]" and source[line:].split("\n", 1)[0].strip(" \t>\r") == f"\\{char}":
        return False
    start = max(line, source.rfind(" ", line, at) + 1)
    return _PATH.match(source, start) is None
