"""Things that go wrong between the bot and Telegram, planned by a test or by hand."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from platforms.telegram.twin.call import Call

Kind = Literal["drop_before", "drop_after", "delay", "status", "conflict", "refuse"]


class Fault(Struct, frozen=True):
    """One planned fault.

    `drop_before` closes the connection before the call acts, `drop_after` when it has acted and before the answer.
    `delay` answers `seconds` later, `status` with an HTTP error that is not JSON, `conflict` with 409, `refuse`
    with the `status` and `description` given here.
    """

    kind: Kind
    method: str = ""
    times: int = 1
    chat: int | None = None
    # So many matching calls pass first.
    skip: int = 0
    seconds: float = 0.0
    status: int = 502
    description: str = ""
    parameters: dict[str, int] = {}


class Faults:
    """The plan, and what came of it."""

    def __init__(self) -> None:
        self.met: list[tuple[str, Kind]] = []
        self._left: dict[int, tuple[Fault, int, int]] = {}
        self._next = 0

    def add(self, fault: Fault) -> None:
        """Plan one; the plan is looked through in its order."""
        self._left[self._next] = (fault, fault.skip, fault.times)
        self._next += 1

    def clear(self) -> None:
        """All is well again."""
        self._left.clear()

    def take(self, call: Call) -> Fault | None:
        """The fault that this call meets; with `times` 0 it is met for ever."""
        for key, (fault, skip, times) in list(self._left.items()):
            if fault.method and fault.method.lower() != call.method.lower():
                continue
            if fault.chat is not None and call.number("chat_id") != fault.chat:
                continue
            if skip:
                self._left[key] = (fault, skip - 1, times)
                continue
            if times == 1:
                del self._left[key]
            else:
                self._left[key] = (fault, 0, max(times - 1, 0))
            self.met.append((call.method, fault.kind))
            return fault
        return None
