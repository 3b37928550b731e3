"""One request as the bot sent it: JSON, a form, a multipart form or a query, read the same way."""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from platforms.telegram.twin.errors import bad
from platforms.telegram.twin.world.values import Json

_NUMBER = re.compile(r"-?\d{1,18}")


class Upload(Struct, frozen=True):
    """A file that came with the request."""

    name: str
    mime: str
    data: bytes


class Call:
    """The method, its arguments and the files with them."""

    def __init__(self, method: str, arguments: dict[str, object], files: dict[str, Upload] | None = None) -> None:
        self.method = method
        self.arguments = arguments
        self.files = files or {}

    def has(self, name: str) -> bool:
        """Whether something that is not empty was sent."""
        return self.arguments.get(name) not in (None, "", [], {})

    def text(self, name: str) -> str:
        """Words; a number in JSON is taken as its digits."""
        value = self.arguments.get(name)
        if value is None:
            return ""
        if isinstance(value, bool):
            return "true" if value else "false"
        return value if isinstance(value, str) else str(value)

    def number(self, name: str, otherwise: int = 0) -> int:
        """A whole number. As the real server does it, what is none counts as not sent."""
        value = self.arguments.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, float):
            return int(value)
        return int(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else otherwise

    def flag(self, name: str) -> bool:
        """True, true, yes and 1 are true."""
        return self.text(name).lower() in ("true", "yes", "1")

    def value(self, name: str) -> object:
        """Any JSON, which a form carries as text."""
        value = self.arguments.get(name)
        if not isinstance(value, str):
            return value
        if not value:
            return None
        try:
            return msgspec.json.decode(value)
        except msgspec.DecodeError:
            raise bad(f"can't parse {name} JSON object") from None

    def mapping(self, name: str) -> Json:
        """A JSON object, empty if there is none."""
        value = self.value(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise bad("object expected as " + name.replace("_", " "))
        return value

    def array(self, name: str) -> list[object]:
        """A JSON array, empty if there is none."""
        value = self.value(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise bad(f"expected an Array of {name}")
        return value


def field(value: Json, name: str) -> str:
    """The words in a field of an object."""
    found = value.get(name)
    return found if isinstance(found, str) else ""


def whole(value: Json, name: str) -> int:
    """The number in a field of an object; a number written as text counts too."""
    found = value.get(name)
    if isinstance(found, int) and not isinstance(found, bool):
        return found
    return int(found) if isinstance(found, str) and _NUMBER.fullmatch(found) else 0
