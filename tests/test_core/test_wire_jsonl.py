"""Lines come out of chunks whole, in order and bounded, whatever the chunks are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from beambot.wire.jsonl import Lines, TooLong, batches


def feed(chunks: list[bytes], limit: int) -> list[bytes | TooLong]:
    lines = Lines(limit)
    found = [line for chunk in chunks for line in lines.feed(chunk)]
    return found + lines.end()


@given(st.lists(st.binary(min_size=1, max_size=12), max_size=20), st.integers(4, 30))
def test_the_cut_of_the_chunks_does_not_matter(chunks: list[bytes], limit: int) -> None:
    whole = b"".join(chunks)
    expected = [
        TooLong(limit) if len(line) > limit else line
        for line in whole.split(b"\n")
        if len(line) > limit or line.strip(b" \t\n\r\x0b\x0c")
    ]
    assert feed(chunks, limit) == expected
    assert feed([whole] if whole else [], limit) == expected
    assert feed([whole[i : i + 1] for i in range(len(whole))], limit) == expected


def test_a_line_that_is_too_long_is_said_before_it_ends_and_not_kept() -> None:
    lines = Lines(10)
    assert lines.feed(b"x" * 8) == []
    assert lines.feed(b"x" * 8) == [TooLong(10)]
    for _ in range(1000):
        assert lines.feed(b"x" * 1000) == []
    assert not lines._held
    assert lines.feed(b"tail\nnext\n") == [b"next"]


async def test_a_stream_is_read_in_batches_to_its_last_line_without_a_newline() -> None:
    chunks = [b"a\nb\nc", b"c\n", b"d"]

    class Stream:
        async def read(self) -> bytes:
            return chunks.pop(0) if chunks else b""

        def write(self, data: bytes) -> None: ...

        async def drain(self) -> None: ...

    assert [batch async for batch in batches(Stream())] == [[b"a", b"b"], [b"cc"], [b"d"]]
