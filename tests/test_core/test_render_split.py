"""Where a text is cut: within the room, between what people see as characters, and always a step further."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from beambot.render.split import Unit, closing, cut, fit, measure, open_fence

units: st.SearchStrategy[Unit] = st.sampled_from(["characters", "utf16", "bytes"])
GRAPHEMES = ["a", "b", " ", "\n", "\n\n", "é", "e\u0301", "न\u093f", "☃", "\U0001f600", "👍🏽", "👨‍👩‍👧", "❤️", "1️⃣"]
graphemes = st.lists(st.sampled_from(GRAPHEMES), max_size=40)


@pytest.mark.parametrize(
    ("text", "characters", "utf16", "bytes_"),
    [("abc", 3, 3, 3), ("é", 1, 1, 2), ("\U0001f600", 1, 2, 4), ("", 0, 0, 0)],
)
def test_each_platform_counts_in_its_own_unit(text: str, characters: int, utf16: int, bytes_: int) -> None:
    assert measure(text, "characters") == characters
    assert measure(text, "utf16") == utf16
    assert measure(text, "bytes") == bytes_


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=60) | graphemes.map("".join), room=st.integers(-1, 70), unit=units)
@example(text="\ud800\ud800\ud800", room=2, unit="utf16")
@example(text="\ud83d\ude00", room=1, unit="utf16")
@example(text="\U0001f600", room=3, unit="bytes")
def test_nothing_exceeds_the_room_and_every_cut_is_a_step(text: str, room: int, unit: Unit) -> None:
    count = fit(text, room, unit)
    assert 0 <= count <= len(text)
    assert measure(text[:count], unit) <= max(room, 0)
    if text:
        place = cut(text, room, unit)
        assert 1 <= place <= len(text)
        assert measure(text[:place], unit) <= room or place == 1


@settings(max_examples=300, deadline=None)
@given(parts=graphemes, room=st.integers(1, 60), unit=units)
def test_what_a_person_sees_as_one_character_is_not_cut(parts: list[str], room: int, unit: Unit) -> None:
    text = "".join(parts)
    seams = {0}
    for part in parts:
        seams.add(max(seams) + len(part))
    seams |= {place + 1 for place in range(len(text)) if text[place] == "\n"}
    avoidable = bool(parts) and measure(parts[0], unit) <= room
    if avoidable:
        assert fit(text, room, unit) in seams
        assert cut(text, room, unit) in seams


@pytest.mark.parametrize("unit", ["characters", "utf16", "bytes"])
def test_a_character_larger_than_the_room_is_cut_rather_than_never_sent(unit: Unit) -> None:
    text = "e" + "\u0301" * 50
    assert cut(text, 10, unit) >= 1


@pytest.mark.parametrize(
    ("text", "room", "first"),
    [
        ("one two\n\nthree four five", 18, "one two\n\n"),
        ("one\ntwo three four", 7, "one\n"),
        ("one two three", 9, "one two "),
        ("onetwothree", 5, "onetw"),
        ("a\n\nlong line without any end", 21, "a\n\nlong line without"),
        ("short", 100, "short"),
    ],
)
def test_a_cut_prefers_a_paragraph_then_a_line_then_a_word(text: str, room: int, first: str) -> None:
    assert text[: cut(text, room, "characters")].rstrip() == first.rstrip()


def test_a_line_of_fence_marks_is_not_cut_in_two() -> None:
    text = "words and more words\n```pythonpython\ncode"
    for room in range(22, 36):
        assert text[: cut(text, room, "characters")] in ("words and more words\n", "words and more ", "words and ")
    assert open_fence(text[: cut(text, 37, "characters")]) in ("", "```pythonpython")


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("plain", "", ""),
        ("```python\nx", "", "```python"),
        ("```python\nx\n```\n", "", ""),
        ("x\n```\ny", "```python", ""),
        ("~~~ sh\nx\n```\n", "", "~~~sh"),
        ("````md\n```\nx\n```\n", "", "````md"),
        ("````md\n```\nx\n````\n", "", ""),
        ("```\nx\n```js\n", "", "```"),
        ("    ```\nindented code\n", "", ""),
        ("inline ``` marks", "", ""),
        ("```python title=a.py\n", "", "```python"),
        ("`" * 100 + "\nx", "", ""),
        ("more", "```go", "```go"),
    ],
)
def test_the_fence_in_which_a_text_ends_is_known(text: str, before: str, after: str) -> None:
    assert open_fence(text, before) == after


@pytest.mark.parametrize(("fence", "line"), [("```python", "```"), ("~~~~", "~~~~"), ("````md", "````")])
def test_a_fence_is_closed_by_its_own_marks(fence: str, line: str) -> None:
    assert closing(fence) == line
    assert open_fence(f"{fence}\nx\n{line}") == ""
