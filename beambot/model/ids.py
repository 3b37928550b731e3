"""Names of things: beambot's own ids, and where something stands in a chat."""

from __future__ import annotations

from typing import NewType

from msgspec import Struct

SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
AskId = NewType("AskId", str)
MemberName = NewType("MemberName", str)


class ThreadRef(Struct, frozen=True):
    """A place in a chat. `chat` is the room whose rate limit counts; `thread` the topic inside it, if any."""

    platform: str
    chat: str
    thread: str = ""

    @property
    def key(self) -> str:
        """One string for logs and for the database."""
        return f"{self.platform}/{self.chat}/{self.thread}"


class MessageRef(Struct, frozen=True):
    """One message in a thread, by the platform's own id."""

    thread: ThreadRef
    message: str
