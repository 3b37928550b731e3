"""Lines out of chunks of bytes: in batches, bounded in memory, indifferent to what the lines hold."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from msgspec import Struct

# One real agent sends a line of 569 KB at every start; this leaves room and still bounds a runaway.
LINE_LIMIT = 16 * 1024 * 1024


class ByteStream(Protocol):
    """Both ends of a pipe to another process."""

    async def read(self) -> bytes:
        """What has arrived, at least one byte; nothing at the end."""
        ...

    def write(self, data: bytes) -> None:
        """Hand bytes over, without waiting. A closed pipe swallows them; the reader learns of its end."""
        ...

    async def drain(self) -> None:
        """Wait until what was written is on its way. Raises `AgentError` when the other side is gone."""
        ...


class TooLong(Struct, frozen=True):
    """A line longer than the limit was skipped: said once, as soon as it is known."""

    limit: int


class Lines:
    """Cuts chunks into lines. At most `limit` bytes are held; blank lines are dropped."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._held: list[bytes] = []
        self._size = 0
        self._skipping = False

    def feed(self, chunk: bytes) -> list[bytes | TooLong]:
        """The lines that this chunk completes."""
        first, *rest = chunk.split(b"\n")
        found: list[bytes | TooLong] = []
        self._hold(first, found)
        if not rest:
            return found
        self._finish(found)
        last = rest.pop()
        found += [line for line in rest if line and not line.isspace()]
        if len(chunk) > self._limit:
            found = [line if self._fits(line) else TooLong(self._limit) for line in found]
        self._hold(last, found)
        return found

    def end(self) -> list[bytes | TooLong]:
        """The last line, when it came without its newline."""
        found: list[bytes | TooLong] = []
        self._finish(found)
        return found

    def _fits(self, line: bytes | TooLong) -> bool:
        return isinstance(line, TooLong) or len(line) <= self._limit

    def _hold(self, part: bytes, found: list[bytes | TooLong]) -> None:
        if self._skipping or not part:
            return
        self._size += len(part)
        if self._size > self._limit:
            self._held.clear()
            self._skipping = True
            found.append(TooLong(self._limit))
        else:
            self._held.append(part)

    def _finish(self, found: list[bytes | TooLong]) -> None:
        line = b"".join(self._held)
        self._held.clear()
        self._size = 0
        self._skipping = False
        if line and not line.isspace():
            found.append(line)


async def batches(stream: ByteStream, limit: int = LINE_LIMIT) -> AsyncIterator[list[bytes | TooLong]]:
    """Every line of a stream, as many at a time as have arrived: thousands a second cost little."""
    lines = Lines(limit)
    while chunk := await stream.read():
        if batch := lines.feed(chunk):
            yield batch
    if batch := lines.end():
        yield batch
