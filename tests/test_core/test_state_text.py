"""A growing text is the plain string it stands for, wherever it was cut."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from beambot.state.text import CHUNK, Growing

pieces = st.lists(
    st.text("ab☃\U0001f600", max_size=20) | st.integers(0, 3 * CHUNK).map(lambda n: "xyz☃"[n % 4] * n), max_size=8
)


def grown(parts: list[str]) -> Growing:
    text = Growing()
    for part in parts:
        text = text.append(part)
    return text


@settings(deadline=None)
@given(parts=pieces, data=st.data())
def test_any_cuts_give_the_plain_string(parts: list[str], data: st.DataObject) -> None:
    text, plain = grown(parts), "".join(parts)
    assert text.whole() == plain
    assert len(text) == len(plain)
    edges = [0, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, len(plain), len(plain) + 5]
    start = data.draw(st.sampled_from(edges) | st.integers(0, len(plain) + 2 * CHUNK))
    end = start + data.draw(st.sampled_from([0, 1, CHUNK, 3 * CHUNK]) | st.integers(0, len(plain)))
    assert text.since(start) == plain[start:]
    assert text.between(start, end) == plain[start:end]


def test_a_chunk_is_sealed_exactly_when_it_is_full() -> None:
    almost = grown(["x" * (CHUNK - 1)])
    assert almost.chunks == ()
    full = almost.append("y")
    assert (len(full.chunks), full.tail) == (1, "")
    assert full.append("z") == Growing(full.chunks, "z")
    assert grown(["x" * (2 * CHUNK + 3)]).tail == "xxx"


def test_appending_leaves_the_earlier_text_as_it_was_and_shares_its_chunks() -> None:
    before = grown(["x" * CHUNK, "tail"])
    after = before.append("more" * CHUNK)
    assert before.whole() == "x" * CHUNK + "tail"
    assert after.chunks[0] is before.chunks[0]


def test_the_same_text_is_equal_however_it_was_cut() -> None:
    assert grown(["ab" * CHUNK]) == grown(["a", "b"] * CHUNK)
