"""Lines that do not read at once: several in one frame, broken text, kinds nobody knows, no JSON at all. Pure."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from msgspec import Struct

from adapters.claude import schema

LONGEST = 2000


class Garbage(Struct, frozen=True):
    """What is no message at all."""

    text: str


class Unknown(Struct, frozen=True):
    """A message of a kind, or of a form, that is not known here. `request`: it waits for a reply under this id."""

    kind: str
    raw: Any
    request: str = ""


def parts(line: bytes) -> list[bytes]:
    """The lines of a frame."""
    return [part for part in line.splitlines() if part.strip()]


def read(line: bytes) -> schema.AnyLine | Garbage | Unknown:
    """One line, as well as it can be read."""
    fixed = mended(line)
    try:
        return schema.read_line(fixed)
    except (ValueError, RecursionError):
        pass
    try:
        raw = msgspec.json.decode(fixed)
    except (ValueError, RecursionError):
        raw = None
    if not isinstance(raw, dict):
        return Garbage(line[:LONGEST].decode(errors="replace"))
    kind = raw.get("type")
    if kind == "result":
        # However odd it looks, the turn is over: a person must not wait for ever.
        words = raw.get("result")
        return schema.Result(is_error=bool(raw.get("is_error")), result=words if isinstance(words, str) else None)
    subtype = raw.get("subtype")
    name = f"{kind}/{subtype}" if isinstance(subtype, str) else str(kind)
    request = raw.get("request_id")
    waits = kind == "control_request" and isinstance(request, str)
    return Unknown(name, raw, str(request) if waits else "")


def mended(line: bytes) -> bytes:
    """The same line with halves of characters and other broken text replaced; a sound line stays as it is."""
    try:
        msgspec.json.decode(line)
    except (ValueError, RecursionError):
        pass
    else:
        return line
    try:
        found = json.loads(line.decode(errors="replace"), parse_constant=lambda _: None)
        return json.dumps(found, ensure_ascii=False).encode(errors="replace")
    except (ValueError, RecursionError):
        return line
