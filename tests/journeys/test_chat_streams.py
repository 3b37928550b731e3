"""A chat with streams of its own: used while they last, left in time, and never at the cost of a word."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from beambot.errors import Refused, RetryAfter, StreamEnded
from beambot.model.bodies import Assistant, Result, TextDelta, ToolEnded, ToolStarted
from beambot.model.content import Text
from beambot.model.settings import Rendering
from beambot.testing.clock import FakeClock
from beambot.testing.platform import FULL
from beambot.testing.scripted import Emit, Pause
from beambot.testing.streaming import StreamingPlatform
from beambot.testing.world import World


def stream(words: int, pause: float = 0.2) -> list[object]:
    steps: list[object] = []
    for number in range(words):
        steps += [Emit(TextDelta(f"w{number} ")), Pause(pause)]
        if number == words // 2:
            steps += [Emit(ToolStarted("t", "run", title="run it")), Pause(pause), Emit(ToolEnded("t"))]
    return [*steps, Emit(Result())]


def words_of(chat: StreamingPlatform) -> list[str]:
    text = " ".join(chat.screen()).split()
    return [word for word in text if word.startswith("w") and word[1:].isdigit()]


def kinds(chat: StreamingPlatform) -> list[str]:
    return [call.what for call in chat.calls if call.what in ("post", "edit", "open", "append", "close")]


@pytest.mark.parametrize("drafts", [False, True], ids=["messages", "drafts"])
async def test_a_turn_is_streamed_and_closed_as_one_message(tmp_path: Path, drafts: bool) -> None:
    clock = FakeClock()
    chat = StreamingPlatform(clock, drafts=drafts)
    async with World(tmp_path, stream(60), clock=clock, platforms=[chat]) as world:
        await chat.says("go")
        await world.until(lambda: "close" in kinds(chat), seconds=20)
        await world.quiet()
        assert words_of(chat) == [f"w{number}" for number in range(60)]
        assert kinds(chat)[0] == "open"
        assert kinds(chat).count("append") > 5
        assert kinds(chat)[-1] == "close"
        assert "edit" not in kinds(chat)
        assert not chat.drafted


@pytest.mark.parametrize("drafts", [False, True], ids=["messages", "drafts"])
async def test_a_stream_is_left_before_the_chat_ends_it_and_goes_on_in_a_new_one(
    tmp_path: Path, drafts: bool
) -> None:
    clock = FakeClock()
    chat = StreamingPlatform(clock, lifetime=10.0, drafts=drafts)
    async with World(tmp_path, stream(150), clock=clock, platforms=[chat]) as world:
        await chat.says("go")
        await world.until(lambda: words_of(chat) == [f"w{number}" for number in range(150)], seconds=30)
        await world.quiet()
        assert kinds(chat).count("open") >= 3
        assert words_of(chat) == [f"w{number}" for number in range(150)]


@pytest.mark.parametrize("drafts", [False, True], ids=["messages", "drafts"])
async def test_a_stream_that_the_chat_ended_goes_on_by_edits_in_the_same_message(
    tmp_path: Path, drafts: bool
) -> None:
    clock = FakeClock()
    chat = StreamingPlatform(clock, drafts=drafts)
    async with World(tmp_path, stream(60), clock=clock, platforms=[chat]) as world:
        await chat.says("go")
        await world.until(lambda: kinds(chat).count("append") >= 2)
        chat.end_streams()
        await world.until(lambda: words_of(chat) == [f"w{number}" for number in range(60)], seconds=20)
        await world.quiet()
        assert kinds(chat).count("open") == 1
        assert "edit" in kinds(chat)
        assert kinds(chat).count("post") == int(drafts)
        assert len(chat.screen()) == 1


@pytest.mark.parametrize("fault", [StreamEnded("no streams here"), Refused("not in this channel")])
async def test_a_chat_that_opens_no_stream_gets_posts_and_edits(tmp_path: Path, fault: Exception) -> None:
    clock = FakeClock()
    chat = StreamingPlatform(clock)
    chat.faults = [fault]  # type: ignore[list-item]
    async with World(tmp_path, stream(30), clock=clock, platforms=[chat]) as world:
        await chat.says("go")
        await world.until(lambda: words_of(chat) == [f"w{number}" for number in range(30)], seconds=20)
        assert {"post", "edit"} <= set(kinds(chat))
        assert "append" not in kinds(chat)


async def test_a_rate_limit_holds_for_streams_too(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = StreamingPlatform(clock)
    async with World(tmp_path, stream(60), clock=clock, platforms=[chat]) as world:
        await chat.says("go")
        await world.until(lambda: "append" in kinds(chat))
        chat.faults = [RetryAfter(20)]
        await world.until(lambda: not chat.faults)
        refused, calls = clock.now(), len(chat.calls)
        await world.until(lambda: len(chat.calls) > calls, seconds=10)
        assert chat.calls[calls].at >= refused + 19.9
        await world.until(lambda: words_of(chat) == [f"w{number}" for number in range(60)], seconds=20)


@pytest.mark.parametrize("drafts", [False, True], ids=["messages", "drafts"])
async def test_a_restart_in_mid_stream_goes_on_in_the_same_message_where_there_is_one(
    tmp_path: Path, drafts: bool
) -> None:
    clock = FakeClock()
    chat = StreamingPlatform(clock, drafts=drafts)
    async with World(tmp_path, stream(60), clock=clock, platforms=[chat]) as first:
        await chat.says("go")
        await first.until(lambda: kinds(chat).count("append") >= 3)
        await first.crash()
    chat.drafted.clear()
    async with World(tmp_path, stream(60), clock=clock, platforms=[chat]) as second:
        await second.sees("was cut off")
        await second.quiet()
        said = words_of(chat)
        assert said == [f"w{number}" for number in range(len(said))]
        assert len(said) > 3
        assert len([page for page in chat.screen() if "w0 " in page]) == 1


async def test_a_long_answer_turns_pages_between_streams(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = StreamingPlatform(clock, capabilities=replace(FULL, text_limit=400))
    async with World(tmp_path, stream(300, 0.05), clock=clock, platforms=[chat]) as world:
        await chat.says("go")
        await world.until(lambda: words_of(chat) == [f"w{number}" for number in range(300)], seconds=30)
        await world.quiet()
        assert kinds(chat).count("open") == kinds(chat).count("close") >= 3


@pytest.mark.parametrize("drafts", [False, True], ids=["messages", "drafts"])
async def test_pages_stand_in_the_order_in_which_they_were_said(tmp_path: Path, drafts: bool) -> None:
    clock = FakeClock()
    chat = StreamingPlatform(clock, capabilities=replace(FULL, text_limit=1000), drafts=drafts)
    async with World(tmp_path, stream(500, 0.05), clock=clock, platforms=[chat]) as world:
        await chat.says("go")
        await world.until(lambda: len(words_of(chat)) == 500, seconds=30)
        await world.quiet()
        assert words_of(chat) == [f"w{number}" for number in range(500)]


@pytest.mark.parametrize("drafts", [False, True], ids=["messages", "drafts"])
async def test_a_stream_is_closed_though_the_end_brings_nothing_new(tmp_path: Path, drafts: bool) -> None:
    clock = FakeClock()
    chat = StreamingPlatform(clock, capabilities=replace(FULL, buttons=0), drafts=drafts)
    said = "".join(f"w{number} " for number in range(10))
    script = [Emit(TextDelta(said)), Emit(Assistant((Text(said),))), Pause(5), Emit(Result())]
    quiet = Rendering(footer="off")
    async with World(tmp_path, script, clock=clock, platforms=[chat], rendering=quiet) as world:
        await chat.says("go")
        await world.until(lambda: "close" in kinds(chat), seconds=20)
        assert words_of(chat) == [f"w{number}" for number in range(10)]
