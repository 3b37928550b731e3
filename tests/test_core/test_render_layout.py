"""A turn as pages: no word lost, no page too long, no sealed page touched again."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beambot.log import HIDDEN, remember_secrets
from beambot.model.bodies import (
    Assistant,
    Failure,
    Outcome,
    Plan,
    PlanEntry,
    Result,
    Status,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolProgress,
    ToolStarted,
)
from beambot.model.content import Text
from beambot.model.message import AnyBody, UnifiedMessage
from beambot.model.outbound import AnyOutBlock, Checklist, Markdown, Outgoing, Tools, block_text, plain_text
from beambot.model.settings import Rendering
from beambot.render import compose
from beambot.render import pieces as piecework
from beambot.render.clip import Paper, taken
from beambot.render.layout import Pages, lay_out
from beambot.render.split import Unit, measure
from beambot.state.turn import Turn, Words, reduce

PLAIN = Rendering(file_above=0)


class Reader:
    """Keeps what stands on each page, as a chat would, and counts what it was asked to change."""

    def __init__(self, paper: Paper, rendering: Rendering = PLAIN) -> None:
        self.paper = paper
        self.rendering = rendering
        self.turn = Turn("t")
        self.pages = Pages()
        self.shown: dict[int, tuple[AnyOutBlock, ...]] = {}
        self.touched: list[int] = []
        self._seq = 0

    def hear(self, *bodies: AnyBody) -> None:
        for body in bodies:
            self._seq += 1
            self.turn = reduce(self.turn, UnifiedMessage(body, "", "t", "s", self._seq, float(self._seq)))

    def look(self) -> None:
        self.pages, painted = lay_out(self.turn, self.pages, self.paper, self.rendering, float(self._seq))
        self.touched = [number for number, _ in painted]
        self.shown.update(painted)

    @property
    def last(self) -> int:
        return len(self.pages.starts) - 1

    def texts(self) -> list[str]:
        """The words on each page."""
        return [
            "".join(b.text[b.skip :] for b in self.shown[number] if isinstance(b, Markdown) and not b.folded)
            for number in sorted(self.shown)
        ]


def heard(turn: Turn) -> str:
    return "".join(p.text.whole() for p in turn.every_part if isinstance(p, Words) and not p.thinking)


def bare(text: str) -> str:
    """Without fences and line breaks, which a page may add."""
    return re.sub(r"[`~\nΩ]", "", text)


UNITS: tuple[Unit, ...] = ("characters", "utf16", "bytes")


def sheet(limit: int, unit: Unit) -> Paper:
    """A chat that shows the source as it is."""
    return Paper(limit, unit, lambda block: measure(block_text(block), unit))


papers = st.builds(sheet, st.integers(300, 900), st.sampled_from(UNITS))
pieces = st.lists(
    st.sampled_from(["word ", "☃", "\U0001f600", "x" * 30, "\n", "\n\n", "\n```Ω\n", "\n```\n", "\n~~~\n"]),
    min_size=1,
    max_size=12,
)
piece = st.builds(lambda parts, times: "".join(parts * times), pieces, st.sampled_from([1, 1, 3, 20]))
steps = st.one_of(
    piece.map(TextDelta),
    st.tuples(piece, st.integers(0, 60)),
    piece.map(ThinkingDelta),
    st.sampled_from("abcdef").map(lambda tool: ToolStarted(tool, "run", title=f"run {tool} " * 9)),
    st.sampled_from("abcdef").map(ToolEnded),
    st.just("complete"),
    st.integers(0, 30).map(lambda n: Plan(tuple(PlanEntry(f"step {i} " * 6) for i in range(n)))),
    piece.map(lambda text: Failure(text * 5)),
    piece.map(lambda text: Status(text * 5)),
    st.just("look"),
    st.just("look"),
)


def play(reader: Reader, step: AnyBody | str | tuple[str, int]) -> None:
    if isinstance(step, tuple):
        text, place = step
        reader.hear(TextDelta(text[:place]))
        look(reader)
        reader.hear(TextDelta(text[place:]))
    elif step == "complete":
        live = reader.turn.live
        if isinstance(live, Words) and not live.thinking:
            reader.hear(Assistant((Text(live.text.whole()),)))
    elif isinstance(step, str):
        look(reader)
    else:
        reader.hear(step)


def look(reader: Reader) -> None:
    """Look at it as it stands now, and hold it to every promise."""
    newest, may_change = reader.last, set(reader.pages.unsettled)
    before = dict(reader.shown)
    reader.look()
    for number in reader.touched:
        assert number >= newest or number in may_change, "a sealed page was laid out again"
        if number in may_change:
            assert words_of(reader.shown[number]) == words_of(before[number]), "the words of a sealed page changed"
    for number, blocks in reader.shown.items():
        text = plain_text(Outgoing("k", blocks))
        assert measure(text, reader.paper.unit) <= reader.paper.limit
        assert all(not block.open for block in blocks if isinstance(block, Markdown) and number < reader.last)
    assert bare("".join(reader.texts())) == bare(heard(reader.turn))


def words_of(blocks: tuple[AnyOutBlock, ...]) -> list[AnyOutBlock]:
    return [block for block in blocks if not isinstance(block, Tools)]


@settings(max_examples=150, deadline=None)
@given(
    paper=papers,
    story=st.lists(steps, max_size=40),
    rendering=st.builds(
        Rendering, file_above=st.just(0), tool_lines=st.integers(0, 5), thinking=st.sampled_from(["fold", "hide"])
    ),
    outcome=st.sampled_from(["success", "error", "interrupted"]),
    error=piece,
)
def test_any_turn_in_any_increments_keeps_every_promise(
    paper: Paper, story: list[AnyBody | str | tuple[str, int]], rendering: Rendering, outcome: Outcome, error: str
) -> None:
    reader = Reader(paper, rendering)
    for step in story:
        play(reader, step)
    for tool in reader.turn.tools:
        reader.hear(ToolEnded(tool))
    reader.hear(Result(outcome, error=error * 3))
    look(reader)
    assert reader.pages.unsettled == ()
    look(reader)
    assert reader.touched == [reader.last]


@settings(max_examples=60, deadline=None)
@given(paper=papers, texts=st.lists(piece, min_size=1, max_size=20))
def test_pages_that_were_sealed_once_are_the_pages_of_the_whole(paper: Paper, texts: list[str]) -> None:
    slowly, at_once = Reader(paper), Reader(paper)
    for text in texts:
        slowly.hear(TextDelta(text))
        slowly.look()
        at_once.hear(TextDelta(text))
    at_once.look()
    assert bare("".join(slowly.texts())) == bare("".join(at_once.texts()))


def test_a_fence_that_goes_over_pages_is_closed_and_reopened_with_its_language() -> None:
    reader = Reader(sheet(400, "characters"))
    lines = [f"line_{number} = {number}" for number in range(60)]
    reader.hear(TextDelta("Look:\n\n```python\n" + "\n".join(lines) + "\n```\nDone."))
    reader.look()
    texts = reader.texts()
    assert len(texts) > 3
    starts = [block.text[: block.skip] for page in list(reader.shown.values())[1:] for block in page[:1]]
    assert starts == ["```python\n"] * (len(texts) - 1)
    assert all(text.rstrip("\n").endswith("\n```") for text in texts[:-1])
    assert texts[-1].endswith("```\nDone.")
    assert [line for text in texts for line in text.splitlines() if line.startswith("line_")] == lines


def test_only_the_words_that_still_grow_are_open() -> None:
    reader = Reader(sheet(4000, "characters"))
    reader.hear(TextDelta("one"), ToolStarted("a", "read"), TextDelta("two"))
    reader.look()
    assert [block.open for block in reader.shown[0] if isinstance(block, Markdown)] == [False, True]
    reader.hear(ToolEnded("a"), Result())
    reader.look()
    assert [block.open for block in reader.shown[0] if isinstance(block, Markdown)] == [False, False]


def test_a_tool_that_ends_later_is_still_shown_as_done_on_its_sealed_page() -> None:
    reader = Reader(sheet(400, "characters"))
    reader.hear(ToolStarted("a", "run"), TextDelta("word " * 300))
    reader.look()
    assert reader.last > 1
    assert reader.pages.unsettled == (0,)
    reader.hear(ToolEnded("a"))
    reader.look()
    tools = reader.shown[0][0]
    assert isinstance(tools, Tools)
    assert tools.lines[0].state == "done"
    reader.hear(TextDelta("more"))
    reader.look()
    assert reader.touched == [reader.last]


def test_a_long_turn_costs_what_its_newest_page_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0

    def counting(text: str) -> str:
        nonlocal read
        read += len(text)
        return text

    monkeypatch.setattr(compose, "redact", counting)
    monkeypatch.setattr(piecework, "redact", counting)
    reader = Reader(sheet(4000, "utf16"))
    for number in range(400):
        reader.hear(TextDelta(f"{number} words and more words " * 40))
        read = 0
        reader.look()
        assert len(reader.touched) <= 2
        assert read <= 6 * 4000
    assert reader.last > 50


def test_a_very_long_answer_at_once_costs_each_page_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0

    def counting(text: str) -> str:
        nonlocal read
        read += len(text)
        return text

    monkeypatch.setattr(compose, "redact", counting)
    monkeypatch.setattr(piecework, "redact", counting)
    reader = Reader(sheet(4000, "characters"))
    reader.hear(TextDelta("some words " * 100_000))
    reader.look()
    assert bare("".join(reader.texts())) == "some words " * 100_000
    assert read < 6 * 4000 * len(reader.shown)


def test_a_plan_larger_than_a_page_is_shortened_to_what_matters() -> None:
    reader = Reader(sheet(1000, "characters"))
    entries = [PlanEntry(f"step {n} " + "x" * 200, "completed" if n < 30 else "pending") for n in range(40)]
    entries[30] = PlanEntry("now", "in_progress")
    reader.hear(TextDelta("word " * 150), Plan(tuple(entries)))
    look(reader)
    plan = reader.shown[reader.last][-1]
    assert isinstance(plan, Checklist)
    assert "now" in [entry.text for entry in plan.entries]
    assert plan.entries[-1].text.startswith("… ")


def test_a_secret_is_not_cut_into_two_halves() -> None:
    remember_secrets(["tiger-in-the-tank"])
    key = "-----BEGIN PRIVATE KEY-----\n" + "QUJDRA/+\n" * 60 + "-----END PRIVATE KEY-----\n"
    for fill in range(60, 420, 7):
        reader = Reader(sheet(400, "characters"))
        reader.hear(TextDelta("w" * fill + " tiger-in-the-tank\n" + key + "after " * 30))
        reader.look()
        shown = "\n".join(reader.texts())
        assert "tiger" not in shown
        assert "tank" not in shown
        assert "QUJDRA" not in shown
        assert HIDDEN in shown


def test_half_a_surrogate_pair_never_reaches_a_page() -> None:
    reader = Reader(sheet(400, "utf16"))
    reader.hear(TextDelta("a\ud83d"), TextDelta("\ude00b\ud800c"))
    reader.look()
    assert reader.texts() == ["a\U0001f600b\ufffdc"]


# ── answers beyond all measure ───────────────────────────────────────────────────────────────────────


def overlong(*bodies: AnyBody, limit: int = 1000) -> Reader:
    reader = Reader(sheet(limit, "characters"), Rendering(file_above=2000))
    for body in bodies:
        reader.hear(body)
        reader.look()
        assert all(taken(blocks, reader.paper) <= limit for blocks in reader.shown.values())
    return reader


def test_the_last_page_of_an_overlong_answer_fits_whatever_stands_between_its_texts() -> None:
    bodies: list[AnyBody] = []
    for number in range(30):
        bodies += [TextDelta(f"{number} words and more " * 20), ToolStarted(f"t{number}", "run", title="x" * 90)]
        bodies.append(ToolEnded(f"t{number}"))
    reader = overlong(*bodies, TextDelta("the very end"), Result())
    assert reader.pages.overlong
    assert "the very end" in plain_text(Outgoing("k", reader.shown[reader.last]))
    assert "characters are left out here" in plain_text(Outgoing("k", reader.shown[reader.last]))


@pytest.mark.parametrize("fill", range(0, 900, 37))
def test_the_end_of_an_overlong_answer_shows_no_half_of_a_secret(fill: int) -> None:
    token = "ghp_" + "Z" * 36
    key = "-----BEGIN PRIVATE KEY-----\n" + "QUJDRA/+\n" * 60 + "-----END PRIVATE KEY-----\n"
    for secret, trace in ((token, "ZZZZ"), (key, "QUJDRA")):
        reader = overlong(TextDelta("word " * 600 + "\n" + secret + " " + "y" * fill), Result())
        assert trace not in "".join(plain_text(Outgoing("k", blocks)) for blocks in reader.shown.values())


def test_a_sealed_page_whose_tools_grow_stays_within_its_limit() -> None:
    reader = Reader(sheet(1000, "characters"))
    reader.hear(*(ToolStarted(f"t{n}", "run", title="short") for n in range(3)))
    reader.hear(TextDelta("word " * 500))
    reader.look()
    assert reader.pages.unsettled == (0,)
    reader.hear(*(ToolProgress(f"t{n}", title="x" * 119) for n in range(3)))
    reader.look()
    assert all(taken(blocks, reader.paper) <= 1000 for blocks in reader.shown.values())
    assert "".join(reader.texts()) == "word " * 500
