"""The journal is written in few records, and read again it tells the same turn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from beambot.errors import StoreFull
from beambot.flow.journal import JournalWriter
from beambot.model.bodies import (
    Assistant,
    KeepAlive,
    Result,
    Status,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
)
from beambot.model.content import Image, Text, Thinking
from beambot.model.message import AnyBody, UnifiedMessage
from beambot.state.turn import Turn, Words, Work, reduce
from beambot.store import SessionRow, Store
from beambot.testing.clock import FakeClock


class Records:
    """A journal in memory that can be full."""

    def __init__(self) -> None:
        self.written: list[UnifiedMessage] = []
        self.full = False
        self.commits = 0
        self.journal = self

    async def append(self, messages: Sequence[UnifiedMessage]) -> None:
        if self.full:
            raise StoreFull("no room")
        taken = {(message.session, message.seq) for message in self.written}
        assert not taken & {(message.session, message.seq) for message in messages}
        self.written += messages
        self.commits += 1

    def bodies(self, session: str = "s1") -> list[AnyBody]:
        return [message.body for message in self.written if message.session == session]


def writer() -> tuple[JournalWriter, Records]:
    records = Records()
    return JournalWriter(records, FakeClock()), records  # type: ignore[arg-type]


def numbered(bodies: Sequence[AnyBody | tuple[AnyBody, str]], session: str = "s1") -> list[UnifiedMessage]:
    pairs = [one if isinstance(one, tuple) else (one, "") for one in bodies]
    return [
        UnifiedMessage(body, parent, "t1", session, seq, float(seq)) for seq, (body, parent) in enumerate(pairs, 1)
    ]


async def written(*bodies: AnyBody | tuple[AnyBody, str]) -> list[UnifiedMessage]:
    journal, records = writer()
    for message in numbered(bodies):
        journal.add(message)
    await journal.flush()
    return records.written


async def test_a_run_of_deltas_is_one_record_with_its_last_number() -> None:
    assert await written(TextDelta("a"), TextDelta("b"), TextDelta("c"), Result()) == [
        UnifiedMessage(TextDelta("abc"), "", "t1", "s1", 3, 3.0),
        UnifiedMessage(Result(), "", "t1", "s1", 4, 4.0),
    ]


async def test_only_deltas_of_one_kind_one_parent_and_one_turn_are_one_run() -> None:
    records = await written(TextDelta("a"), ThinkingDelta("b"), (ThinkingDelta("c"), "tool"), TextDelta("d"))
    assert [(record.body.__struct_config__.tag, record.seq) for record in records] == [
        ("text_delta", 1),
        ("thinking_delta", 2),
        ("thinking_delta", 3),
        ("text_delta", 4),
    ]
    journal, found = writer()
    for turn, seq in (("t1", 1), ("t2", 2)):
        journal.add(UnifiedMessage(TextDelta("x"), "", turn, "s1", seq))
    await journal.flush()
    assert [record.turn for record in found.written] == ["t1", "t2"]


async def test_a_complete_message_replaces_the_run_that_led_to_it() -> None:
    whole = Assistant((Text("hello"),))
    records = await written(TextDelta("hel"), TextDelta("lo"), whole, Result())
    assert [record.body for record in records] == [whole, Result()]


async def test_a_sign_of_life_is_not_written() -> None:
    assert await written(KeepAlive()) == []


async def test_sessions_do_not_mix_and_share_one_commit() -> None:
    journal, records = writer()
    for one, two in zip(numbered([TextDelta("a")] * 3), numbered([TextDelta("b")] * 3, "s2"), strict=True):
        journal.add(one)
        journal.add(two)
    await journal.flush()
    assert records.bodies("s1") == [TextDelta("aaa")]
    assert records.bodies("s2") == [TextDelta("bbb")]
    assert records.commits == 1
    await journal.flush()
    assert records.commits == 1


async def test_a_full_disk_loses_nothing_and_keeps_the_order() -> None:
    journal, records = writer()
    records.full = True
    messages = numbered([TextDelta("a"), ToolStarted("x", "run"), TextDelta("b"), ToolEnded("x"), Result()])
    for message in messages:
        journal.add(message)
        await journal.flush()
    assert records.written == []
    records.full = False
    await journal.flush()
    assert records.written == messages


async def test_what_was_written_to_a_real_store_is_read_again(tmp_path: Path) -> None:
    store = await Store.open(tmp_path / "beambot.db", FakeClock())
    try:
        await store.sessions.add(SessionRow(id="s1", project="shop", adapter="x", folder="/src"))
        journal = JournalWriter(store, FakeClock())
        for message in numbered([TextDelta("a"), TextDelta("\ud83d"), TextDelta("\ude00"), Result()]):
            journal.add(message)
        await journal.flush()
        assert [message.body for message in await store.journal.turn("s1", "t1")] == [
            TextDelta("a\U0001f600"),
            Result(),
        ]
        assert await store.journal.last_seq("s1") == 4
    finally:
        await store.close()


def told(messages: Sequence[UnifiedMessage]) -> list[tuple[str, str]]:
    """The parts of the turn as a person reads them; words that follow each other are one."""
    turn = Turn("t1")
    for message in messages:
        turn = reduce(turn, message)
    found: list[tuple[str, str]] = []
    for part in turn.every_part:
        kind, text = "other", ""
        if isinstance(part, Words):
            kind, text = ("thinking" if part.thinking else "text"), part.text.whole()
        elif isinstance(part, Work):
            kind, text = "work", " ".join(part.tools)
        if text:
            found.append((kind, text))
    return found


words = st.text("ab ☃", min_size=1, max_size=4)
run = st.tuples(st.booleans(), st.lists(words, min_size=1, max_size=4), st.booleans())
between = st.sampled_from(
    [ToolStarted("x", "run"), ToolStarted("y", "run"), ToolEnded("x"), Status("busy"), KeepAlive()]
)


@settings(max_examples=150, deadline=None)
@given(
    story=st.lists(run | between, max_size=15),
    flushes=st.sets(st.integers(0, 60)),
    failures=st.sets(st.integers(0, 60), max_size=3),
)
async def test_the_journal_tells_the_same_turn_as_the_stream(
    story: list[tuple[bool, list[str], bool] | AnyBody], flushes: set[int], failures: set[int]
) -> None:
    bodies: list[AnyBody] = []
    for number, one in enumerate(story):
        if isinstance(one, tuple):
            thinking, texts, completed = one
            # No two runs say the same: a run that is never completed could be taken for its twin.
            texts = [f"{number}:{texts[0]}", *texts[1:]]
            bodies += [ThinkingDelta(text) if thinking else TextDelta(text) for text in texts]
            if completed:
                bodies.append(Assistant(_whole(bodies, thinking)))
        else:
            bodies.append(one)
    messages = numbered([*bodies, Result()])
    journal, records = writer()
    for place, message in enumerate(messages):
        journal.add(message)
        records.full = place in failures
        if place in flushes:
            await journal.flush()
    records.full = False
    await journal.flush()
    assert told(records.written) == told(messages)
    assert [record.seq for record in records.written] == sorted(record.seq for record in records.written)


def _whole(bodies: Sequence[AnyBody], thinking: bool) -> tuple[Text | Thinking]:
    """All of the run that has just ended."""
    texts: list[str] = []
    for body in reversed(bodies):
        if not isinstance(body, ThinkingDelta if thinking else TextDelta):
            if isinstance(body, KeepAlive | Status):
                continue
            break
        texts.insert(0, body.text)
    return (Thinking("".join(texts)) if thinking else Text("".join(texts)),)


LOST = "a complete message drops a pending run that it does not complete"


async def test_a_picture_does_not_drop_the_words_before_it() -> None:
    picture = Assistant((Image("image/png", "AA=="),))
    assert told(await written(TextDelta("kept"), picture, Result())) == [("text", "kept")]


async def test_a_message_of_a_subagent_does_not_drop_the_words_of_its_caller() -> None:
    records = await written(TextDelta("kept "), (Assistant((Text("other"),)), "tool"), Result())
    assert "kept " in "".join(text for _, text in told(records))


async def test_words_do_not_drop_the_reasoning_before_them() -> None:
    records = await written(ThinkingDelta("hm"), Assistant((Text("yes"),)), Result())
    assert told(records) == [("thinking", "hm"), ("text", "yes")]
