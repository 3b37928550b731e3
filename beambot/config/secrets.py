"""Tokens from the environment or from a private file; nothing here ever shows what it read."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

MAX_BYTES = 64 * 1024
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")


class Unusable(Exception):
    """A secret could not be read: what was found, what is allowed, how to fix it."""

    def __init__(self, found: str, allowed: str, fix: str) -> None:
        super().__init__(found)
        self.found = found
        self.allowed = allowed
        self.fix = fix


def from_variable(name: str, environ: Mapping[str, str]) -> str:
    """The value of a variable. Its name is shown only if it looks like one: it may be the token itself."""
    value = environ.get(name, "").strip()
    if value:
        return value
    allowed = "the name of an environment variable that is set"
    if not _VARIABLE.fullmatch(name):
        raise Unusable("something that is no variable's name", allowed, "write a name such as BOT_TOKEN")
    state = "empty" if name in environ else "not set"
    raise Unusable(f"{name}, which is {state}", allowed, f"export {name}=… before you start beambot")


def from_file(path: Path) -> str:
    """The content of a file that nobody else may read. A name that leads nowhere is not shown."""
    try:
        facts = path.stat()
    except (OSError, ValueError):
        raise Unusable("a file that is not there", "an existing file", "create it, then chmod 600 it") from None
    if not stat.S_ISREG(facts.st_mode):
        raise Unusable(f"{path}, which is no file", "a file", "name the file itself")
    if facts.st_mode & 0o077:
        mode = stat.S_IMODE(facts.st_mode)
        raise Unusable(f"{path} with mode {mode:o}", "mode 600 or stricter", f"chmod 600 {path}")
    if facts.st_uid != os.geteuid():
        raise Unusable(f"{path}, which belongs to somebody else", "a file of yours", f"chown it: {path}")
    try:
        with path.open("rb") as file:
            value = file.read(MAX_BYTES).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise Unusable(f"{path}, which cannot be read", "a readable text file", "write it anew") from None
    if not value:
        raise Unusable(f"{path}, which is empty", "a file with the token in it", "write the token into it")
    return value
