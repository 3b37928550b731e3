"""The one exception tree. Failures during a run are messages; these are for set-up, vendors and bugs.

BeambotError
├── ConfigError            a configuration cannot be used (carries every problem found)
├── StoreError             the database cannot be used
│   ├── StoreBusy          another program holds it
│   ├── StoreFull          no room left on the disk
│   ├── StoreReadOnly      it cannot be written
│   ├── StoreMissing       it is gone, or its folder is
│   ├── StoreCorrupt       it is not a healthy database
│   └── StoreTooNew        a newer beambot wrote it
├── AlreadyRunning         another beambot owns this store
├── FileRefused            a file does not leave the machine; says why
├── PluginError            a plugin is unknown, or did not load
├── AgentError             an agent could not be started or reached
│   ├── AgentMissing       its program is not installed
│   ├── AgentLogin         it wants a login first
│   └── SessionGone        it does not know the session it was asked to resume
└── PlatformError          a chat did not do what it was asked
    ├── RetryAfter         rate limited; carries the seconds
    ├── Unreachable        no answer; says whether the request may have arrived
    ├── Refused            the content was not accepted; plain text may be
    ├── MessageGone        the message to edit is not there any more
    ├── StreamEnded        a stream of the chat's own is over; the message goes on by edits
    └── ThreadGone         the thread is gone or closed to us
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal


class BeambotError(Exception):
    """Everything beambot raises on purpose. `fix` says what a person can do about it."""

    exit_code = 1

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message}\n  fix: {self.fix}" if self.fix else self.message


class ConfigError(BeambotError):
    """All problems of a configuration at once."""

    exit_code = 2

    def __init__(self, problems: Sequence[str]) -> None:
        count = len(problems)
        head = "1 problem" if count == 1 else f"{count} problems"
        super().__init__("\n".join([f"the configuration has {head}:", *problems]))
        self.problems = tuple(problems)


class StoreError(BeambotError):
    """The database cannot be used."""

    exit_code = 3


class StoreBusy(StoreError):
    """Another program holds the database."""


class StoreFull(StoreError):
    """There is no room left on the disk."""


class StoreReadOnly(StoreError):
    """The database cannot be written."""


class StoreMissing(StoreError):
    """The database, or its folder, is not there."""


class StoreCorrupt(StoreError):
    """The file is not a healthy database."""


class StoreTooNew(StoreError):
    """A newer beambot wrote this database."""


class AlreadyRunning(BeambotError):
    """Another beambot owns this store."""

    exit_code = 4


class FileRefused(BeambotError):
    """A file does not leave the machine."""


class PluginError(BeambotError):
    """A plugin is unknown, or did not load."""

    exit_code = 5


class AgentError(BeambotError):
    """An agent could not be started or reached."""


class AgentMissing(AgentError):
    """The agent's program is not installed."""


class AgentLogin(AgentError):
    """The agent wants a login first."""


class SessionGone(AgentError):
    """The agent does not know the session it was asked to resume."""


class PlatformError(BeambotError):
    """A chat did not do what it was asked."""


class RetryAfter(PlatformError):
    """The chat asks to be left alone for a while.

    `scope` says in what, where the chat tells it: "message", "thread", "chat" or "platform". Without, it is the
    narrowest in which the platform counts such calls.
    """

    def __init__(
        self, seconds: float, *, scope: Literal["message", "thread", "chat", "platform"] | None = None
    ) -> None:
        super().__init__(f"rate limited for {seconds:g} s")
        self.seconds = seconds
        self.scope = scope


class Unreachable(PlatformError):
    """No answer came. `maybe_done` is true when the request may have arrived all the same."""

    def __init__(self, message: str, *, maybe_done: bool = False) -> None:
        super().__init__(message)
        self.maybe_done = maybe_done


class Refused(PlatformError):
    """The chat did not accept the content; the plain text may still pass."""


class MessageGone(PlatformError):
    """The message to edit is not there any more."""


class StreamEnded(PlatformError):
    """A stream of the chat's own is over before we closed it; the message goes on by edits."""


class ThreadGone(PlatformError):
    """The thread is gone, or closed to the bot."""
