"""Values as JSON: the same value gives the same bytes, and no text that came from outside can stop it."""

from __future__ import annotations

from typing import Any

import msgspec

_encoder = msgspec.json.Encoder(order="deterministic")
_as_given = msgspec.json.Encoder()


def encode(value: Any) -> bytes:
    """The bytes of a value. Half a surrogate pair, which no file or wire can carry, becomes U+FFFD."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _as_given.encode(_mended(msgspec.to_builtins(value, order="deterministic")))


def well_formed(text: str) -> str:
    """The text with both halves of a pair joined, and a half without its other replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mended(item) for item in value]
    return value
