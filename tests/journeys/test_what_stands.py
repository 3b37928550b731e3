"""What stands in a chat is compared with what should: after a restart, and when an agent changes its words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from beambot.errors import StoreBusy, Unreachable
from beambot.flow.delivery import Delivery
from beambot.model.bodies import Assistant, Result, TextDelta
from beambot.model.content import Text
from beambot.model.ids import MessageRef
from beambot.model.settings import Rendering
from beambot.testing.clock import FakeClock
from beambot.testing.platform import FULL, FakePlatform
from beambot.testing.scripted import Emit, Hang, Pause
from beambot.testing.streaming import StreamingPlatform
from beambot.testing.world import World

SMALL = replace(FULL, text_limit=500)


def stream(words: int) -> list[object]:
    steps: list[object] = []
    for number in range(words):
        steps += [Emit(TextDelta(f"w{number} ")), Pause(0.05)]
    return steps


def words_of(chat: FakePlatform) -> list[str]:
    return [word for page in chat.screen() for word in page.split() if word.startswith("w") and word[1:].isdigit()]


async def test_after_a_restart_only_what_differs_is_sent(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = FakePlatform(clock, capabilities=SMALL)
    async with World(tmp_path, [*stream(600), Hang()], clock=clock, platforms=[chat]) as first:
        await chat.says("go")
        await first.until(lambda: words_of(chat) == [f"w{number}" for number in range(600)], seconds=30)
        await first.quiet()
        pages = len(chat.messages())
        assert pages > 6
        await first.crash()
    before = len(chat.calls)
    async with World(tmp_path, [], clock=clock, platforms=[chat]) as second:
        await second.sees("was cut off")
        await second.quiet()
        assert words_of(chat) == [f"w{number}" for number in range(600)]
        sent = [call for call in chat.calls[before:] if call.what in ("post", "edit")]
        # The last page says that it was cut off, and so does the notice below it; no other page is touched.
        assert [call.what for call in sent] == ["edit", "post"]
        assert len(chat.messages()) == pages + 1


async def test_words_that_end_other_than_they_were_streamed_are_put_right_on_every_page(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = FakePlatform(clock, capabilities=SMALL)
    final = " ".join(f"w{number}" for number in range(300))
    wrong = final.replace("w10 ", "x10 ")
    script = [
        *(step for n in range(0, len(wrong), 100) for step in (Emit(TextDelta(wrong[n : n + 100])), Pause(0.3))),
        Pause(2),
        Emit(Assistant((Text(final),))),
        Pause(2),
        Emit(Result()),
    ]
    async with World(tmp_path, script, clock=clock, platforms=[chat]) as world:
        await chat.says("go")
        await world.until(lambda: words_of(chat) == [f"w{number}" for number in range(300)], seconds=30)
        await world.quiet()
        assert words_of(chat) == [f"w{number}" for number in range(300)]
        assert not chat.shows("x10")


async def test_words_that_end_shorter_than_they_were_streamed_leave_no_page_behind(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = FakePlatform(clock, capabilities=SMALL)
    long = " ".join(f"w{number}" for number in range(300))
    script = [
        *(step for n in range(0, len(long), 100) for step in (Emit(TextDelta(long[n : n + 100])), Pause(0.3))),
        Pause(2),
        Emit(Assistant((Text("w1 is all."),))),
        Pause(2),
        Emit(Result()),
    ]
    async with World(tmp_path, script, clock=clock, platforms=[chat]) as world:
        await chat.says("go")
        await world.until(lambda: words_of(chat) == ["w1"], seconds=30)
        await world.quiet()
        assert words_of(chat) == ["w1"]
        assert all("said this again above" in page for page in chat.screen()[1:])


# ── the whole of a very long answer ──────────────────────────────────────────────────────────────────

LONG = Rendering(file_above=8000)


def many(words: int, at_once: int = 200) -> list[object]:
    steps: list[object] = []
    for first in range(0, words, at_once):
        steps += [Emit(TextDelta("".join(f"w{n} " for n in range(first, first + at_once)))), Pause(0.4)]
    return steps


@pytest.mark.parametrize("when", ["in mid-turn", "at the end"])
async def test_the_whole_of_a_long_answer_comes_as_a_file_after_a_restart_too(
    tmp_path: Path, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    chat = FakePlatform(clock)
    last: list[object] = [Hang()] if when == "in mid-turn" else [Emit(Result())]
    async with World(tmp_path, [*many(4000), *last], clock=clock, platforms=[chat], rendering=LONG) as first:
        with monkeypatch.context() as patch:
            # As if the process ended right after the end of the turn was kept.
            patch.setattr(Delivery, "_take", lambda *_: None)
            await chat.says("go")
            await first.until(lambda: chat.shows("w3999"), seconds=30)
            await clock.advance(5)
            await first.crash()
    async with World(tmp_path, [Hang()], clock=clock, platforms=[chat], rendering=LONG) as second:
        await second.until(lambda: "answer.md" in chat.sent_files, seconds=20)
        await second.quiet()
        assert chat.sent_files["answer.md"].decode().split() == [f"w{n}" for n in range(4000)]
        assert len([call for call in chat.calls if call.what == "upload"]) == 1


async def test_no_page_of_a_very_long_answer_is_too_long_in_a_stream_that_is_left(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = StreamingPlatform(clock, lifetime=20.0)
    script = [*many(6000, 40), Emit(Result())]
    async with World(tmp_path, script, clock=clock, platforms=[chat], rendering=LONG) as world:
        await chat.says("go")
        await world.until(lambda: "answer.md" in chat.sent_files, seconds=60)
        await world.quiet()
        assert max(len(call.text) for call in chat.calls) <= FULL.text_limit


async def test_half_a_character_in_a_very_long_answer_leaves_no_session_working(tmp_path: Path) -> None:
    script = [Emit(TextDelta("word " * 3000 + "\ud83d")), Emit(Result())]
    async with World(tmp_path, script, rendering=LONG) as world:
        await world.chat.says("go")
        await world.until(lambda: "answer.md" in world.chat.sent_files, seconds=20)
        await world.quiet()
        (session,) = await world.store.sessions.recent()
        assert session.state == "idle"


# ── plugins that break, answers that are lost ────────────────────────────────────────────────────────


async def test_a_platform_that_cannot_measure_costs_neither_the_turn_nor_the_next_start(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = FakePlatform(clock)

    def broken(block: object) -> int:
        raise KeyError("a bug in a plugin")

    chat.measure = broken  # type: ignore[method-assign]
    async with World(tmp_path, [*stream(20), Emit(Result())], clock=clock, platforms=[chat]) as first:
        await chat.says("go")
        await first.until(lambda: words_of(chat) == [f"w{number}" for number in range(20)])
        await first.quiet()
    async with World(tmp_path, [*stream(5), Emit(Result())], clock=clock, platforms=[chat]) as second:
        message = await chat.says("again")
        await second.until(lambda: chat.receipts.get(message, [""])[-1] == "done")


async def test_a_file_whose_arrival_is_never_confirmed_is_not_sent_for_ever(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = FakePlatform(clock)
    tries = 0

    async def upload(*_: object) -> MessageRef:
        nonlocal tries
        tries += 1
        raise Unreachable("timed out", maybe_done=True)

    chat.upload = upload  # type: ignore[method-assign, assignment]
    async with World(tmp_path, [Emit(TextDelta("x")), Emit(Result())], clock=clock, platforms=[chat]) as world:
        await chat.says("go")
        await world.sees("x")
        (tmp_path / "project" / "app.py").write_text("print(1)\n")
        await chat.says("/file app.py")
        await world.until(lambda: tries >= 3, seconds=20)
        await clock.advance(300)
        await world.quiet()
        assert tries == 3


async def test_a_file_that_stands_is_not_said_to_be_gone_because_the_database_failed(tmp_path: Path) -> None:
    async with World(tmp_path, [Emit(TextDelta("x")), Emit(Result())]) as world:
        await world.chat.says("go")
        await world.sees("x")
        await world.quiet()
        (tmp_path / "project" / "app.py").write_text("print(1)\n")
        put = world.store.shown.put
        failures = 0

        async def fail_once(*args: Any) -> None:
            nonlocal failures
            if failures == 0 and str(args[1]).startswith("file:"):
                failures += 1
                raise StoreBusy("busy")
            await put(*args)

        world.store.shown.put = fail_once  # type: ignore[method-assign]
        await world.chat.says("/file app.py")
        await world.until(lambda: failures == 1 and bool(world.chat.sent_files))
        await world.quiet()
        assert len([call for call in world.chat.calls if call.what == "upload"]) == 1
        assert not world.chat.shows("gone from the machine")


async def test_a_thread_that_joins_a_silent_turn_sees_it(tmp_path: Path) -> None:
    async with World(tmp_path, [*stream(5), Hang()]) as world:
        await world.chat.says("go")
        await world.sees("w4")
        await world.quiet()
        (session,) = await world.store.sessions.recent()
        other = world.chat.thread("c2")
        await world.chat.says(f"/resume {session.id}", thread=other)
        await world.until(lambda: world.chat.shows("w4", other))
