"""Closed by default: who may prompt, who may answer, what a stranger hears, and how one becomes a member."""

from __future__ import annotations

from pathlib import Path

import pytest

from beambot.model.bodies import AskOption, PermissionRequest, Result, TextDelta
from beambot.model.ids import MessageRef
from beambot.model.settings import Project
from beambot.testing.clock import FakeClock
from beambot.testing.scripted import Emit, WaitAnswer
from beambot.testing.world import World

ASKING = [
    Emit(PermissionRequest("a1", "make deploy", options=(AskOption("y", "Allow", "allow_once"),))),
    WaitAnswer("a1"),
    Emit(TextDelta("deployed")),
    Emit(Result()),
]


@pytest.mark.parametrize("who", ["3", "4", "9"])
async def test_participants_observers_and_strangers_cannot_approve(tmp_path: Path, who: str) -> None:
    async with World(tmp_path, ASKING) as world:
        await world.chat.says("ship it")
        await world.sees("make deploy")
        await world.chat.presses("Allow", who=who)
        if who != "9":
            await world.until(lambda: any("takes an approver" in text for _, text in world.chat.acks))
        await world.chat.says("/whoami")
        await world.sees("You are user1, owner")
        assert world.agent.last.answers == []
        assert "Allow" in world.chat.labels()
        if who != "9":
            assert [row.what for row in await world.store.audit.recent(5)].count("answer_refused") == 1

        await world.chat.presses("Allow", who="2")
        await world.sees("deployed")


async def test_a_stranger_is_told_once_an_hour_and_nothing_else(tmp_path: Path) -> None:
    async with World(tmp_path, ASKING) as world:
        clock = world.clock
        assert isinstance(clock, FakeClock)
        for _ in range(3):
            await world.chat.says("what are you working on?", who="9")
        await world.sees("I do not know you.")
        await world.quiet()
        assert world.chat.screen() == ["I do not know you."]
        await clock.advance(3700)
        await world.chat.says("hello?", who="9")
        await world.until(lambda: len(world.chat.screen()) == 2)
        assert world.agent.sessions == []


async def test_a_stranger_in_a_group_gets_nothing(tmp_path: Path) -> None:
    async with World(tmp_path, ASKING) as world:
        await world.chat.says("hi", who="9", private=False)
        await world.chat.says("/whoami")
        await world.sees("You are user1")
        assert len(world.chat.screen()) == 1


async def test_an_observer_may_read_and_not_prompt(tmp_path: Path) -> None:
    async with World(tmp_path, ASKING) as world:
        await world.chat.says("do it", who="4")
        await world.sees("takes the role participant")
        await world.chat.says("/close", who="4")
        await world.sees("/close takes the role participant; yours is observer.")
        assert world.agent.sessions == []


async def test_a_pairing_code_makes_a_member_and_works_once(tmp_path: Path) -> None:
    async with World(tmp_path, [Emit(TextDelta("hello Ana")), Emit(Result())]) as world:
        expires = world.clock.now() + 300
        await world.store.pairings.create("K7M2QX", role="participant", expires_at=expires)
        await world.chat.says("k7m2qx", who="9")
        await world.sees("Welcome, user 9. You are participant here.")
        await world.chat.says("hi", who="9")
        await world.sees("hello Ana")
        await world.chat.says("K7M2QX", who="8")
        await world.sees("I do not know you.")


async def test_small_talk_of_strangers_does_not_use_up_the_tries(tmp_path: Path) -> None:
    async with World(tmp_path) as world:
        expires = world.clock.now() + 300
        await world.store.pairings.create("K7M2QX", role="observer", expires_at=expires)
        for number in range(8):
            await world.chat.says("hello", who=f"s{number}")
        await world.chat.says("/start K7M2QX", who="9")
        await world.sees("You are observer here.")


async def test_five_wrong_codes_end_the_pairing(tmp_path: Path) -> None:
    async with World(tmp_path) as world:
        await world.store.pairings.create("K7M2QX", role="owner", expires_at=world.clock.now() + 300)
        for number in range(5):
            await world.chat.says(f"AAAAA{number + 2}", who="9")
        await world.chat.says("K7M2QX", who="8")
        await world.until(lambda: len(world.chat.screen()) >= 2)
        assert await world.store.members.find("fake", "8") is None


async def test_a_forged_press_answers_nothing(tmp_path: Path) -> None:
    async with World(tmp_path, ASKING) as world:
        await world.chat.says("ship it")
        await world.sees("make deploy")
        card, outgoing = next((r, m) for r, m in world.chat.messages() if m.key.startswith("ask:"))
        data = outgoing.buttons[0][0].data
        elsewhere = MessageRef(world.chat.thread("c2"), card.message)
        other = MessageRef(card.thread, "m999")
        for ref, forged in [(elsewhere, data), (other, data), (card, "ask:nope:0"), (card, data[:-1] + "7")]:
            await world.chat.press_data(ref, forged)
        await world.until(lambda: len(world.chat.acks) == 4)
        assert world.agent.last.answers == []
        assert "Allow" in world.chat.labels()


async def test_a_late_press_names_who_settled_it(tmp_path: Path) -> None:
    async with World(tmp_path, ASKING) as world:
        await world.chat.says("ship it")
        await world.sees("make deploy")
        card, outgoing = next((r, m) for r, m in world.chat.messages() if m.key.startswith("ask:"))
        await world.chat.presses("Allow", who="2")
        await world.sees("deployed")
        await world.chat.press_data(card, outgoing.buttons[0][0].data)
        await world.until(lambda: any("allowed by user2" in text for _, text in world.chat.acks))
        assert len(world.agent.last.answers) == 1


async def test_a_project_is_for_its_members(tmp_path: Path) -> None:
    folder = tmp_path / "secret"
    folder.mkdir()
    project = Project(name="secret", path=folder, adapter="scripted", members=("user1",))
    async with World(tmp_path, ASKING, projects=[project]) as world:
        await world.chat.says("what is in there?", who="3")
        await world.sees("There is no project that you may use.")
        await world.chat.says("ship it", who="1")
        await world.sees("make deploy")
        await world.chat.presses("Allow", who="2")
        await world.until(lambda: any("approver of this project" in text for _, text in world.chat.acks))
        await world.chat.says("let me in", who="3")
        await world.sees("You are not a member of this session's project.")
        assert world.agent.last.answers == []
