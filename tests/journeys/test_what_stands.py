"""What stands in a chat is compared with what should: after a restart, and when an agent changes its words."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from beambot.model.bodies import Assistant, Result, TextDelta
from beambot.model.content import Text
from beambot.testing.clock import FakeClock
from beambot.testing.platform import FULL, FakePlatform
from beambot.testing.scripted import Emit, Hang, Pause
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
