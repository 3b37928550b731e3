"""Where a link may lead, and whether it says so."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

_SAFE = re.compile(r"(?:https?://[^\s]|mailto:[^\s]+@)", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:https?://)?((?:[\w-]+\.)+[^\W\d_]{2,})(?::\d+)?(?:[/?#]\S*)?", re.IGNORECASE)
_NAMED = re.compile(r"(?:https?://(?:[^\s/@]*@)?|www\.)((?:[\w-]+\.)*[\w-]+)", re.IGNORECASE)
_UNSAFE_CHARACTER = re.compile(r"[\s<>\"`{}|\\^\x00-\x20\x7f\ufffd]")
# A longer address is not a place a person goes to; of what is shown in words, this much is enough.
_LONGEST, _SHOWN = 2000, 200


def destination(target: str, *, email: bool = False) -> str:
    """The address behind a link, or nothing where a chat cannot or should not go."""
    if email:
        target = f"mailto:{target.removeprefix('mailto:')}"
    if not _SAFE.match(target) or len(target) > _LONGEST:
        return ""
    return _UNSAFE_CHARACTER.sub(lambda found: quote(found.group(), safe=""), target)


def spelled(target: str) -> str:
    """An address in words."""
    return target if len(target) <= _SHOWN else f"{target[:_SHOWN]}…"


def is_deceptive(label: str, target: str) -> bool:
    """Whether the words of a link name another address than the one it leads to."""
    try:
        parts = urlsplit(target)
        host = (parts.hostname or "").lower().removeprefix("www.")
    except ValueError:
        return True
    if parts.username and parts.scheme != "mailto":
        # "https://good.example@evil.example" is read as its first half and leads to its second.
        return True
    if any(named.lower().removeprefix("www.") != host for named in _NAMED.findall(label)):
        return True
    alone = _ADDRESS.fullmatch(label.strip(" \t\n.,;:!?()[]<>\"'“”‘’→»«"))
    if alone is None:
        return False
    said = alone.group(1).lower()
    if "/" not in label and said.rsplit(".", 1)[-1] in _FILES:
        return False
    return host != said.removeprefix("www.")


# Endings that are names of files far more often than of places.
_FILES = frozenset(
    {"py", "rs", "sh", "md", "ts", "js", "go", "pl", "cc", "so", "cs", "java", "json", "yaml", "toml"}
)
