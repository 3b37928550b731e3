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

    def whole(self) -> str:
        """All of it."""
        return self.since(0)
