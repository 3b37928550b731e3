"""A text that grows at its end: appending costs what is new, reading costs what is read."""

from __future__ import annotations

from msgspec import Struct

CHUNK = 4096


class Growing(Struct, frozen=True):
    """Full chunks of one size, and a tail."""

    chunks: tuple[str, ...] = ()
    tail: str = ""

    def __len__(self) -> int:
        return len(self.chunks) * CHUNK + len(self.tail)

    def append(self, more: str) -> Growing:
        """The same text with more at its end."""
        tail = self.tail + more
        if len(tail) < CHUNK:
            return Growing(self.chunks, tail)
        cut = len(tail) - len(tail) % CHUNK
        full = tuple(tail[i : i + CHUNK] for i in range(0, cut, CHUNK))
        return Growing(self.chunks + full, tail[cut:])

    def since(self, start: int) -> str:
        """Everything from this character on."""
        index, offset = divmod(start, CHUNK)
        if index >= len(self.chunks):
            return self.tail[start - len(self.chunks) * CHUNK :]
        return "".join((self.chunks[index][offset:], *self.chunks[index + 1 :], self.tail))

    def between(self, start: int, end: int) -> str:
        """The characters from `start` up to `end`, for the cost of what is read."""
        full = len(self.chunks)
        first, last = start // CHUNK, max(end - 1, 0) // CHUNK + 1
        read = "".join(self.chunks[first:last]) + (self.tail if last > full else "")
        begin = start - min(first, full) * CHUNK
        return read[begin : begin + end - start]

    def whole(self) -> str:
        """All of it."""
        return self.since(0)
