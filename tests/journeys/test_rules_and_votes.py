"""Answers that last, answers that take two, and everything else a card can do."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from beambot.model.bodies import AskOption, PermissionRequest, Result, TextDelta
from beambot.model.settings import AskPolicy, AskSettings
from beambot.testing.clock import FakeClock
from beambot.testing.platform import FULL, FakePlatform
from beambot.testing.scripted import Emit, Hang, ScriptedSession, WaitAnswer
from beambot.testing.world import World

OPTIONS = (AskOption("y", "Allow once", "allow_once"), AskOption("n", "Deny", "reject_once"))


def wants(ask: str, command: str, **more: Any) -> PermissionRequest:
    return PermissionRequest(
        ask, command, kind="execute", name="bash", input={"command": command}, options=OPTIONS, **more
    )


async def press(world: World, begins: str, who: str = "1") -> None:
    """Press the button whose label begins like this, once it is there."""
    await world.until(lambda: any(label.startswith(begins) for label in world.chat.labels()), what=begins)
    await world.chat.presses(next(label for label in world.chat.labels() if label.startswith(begins)), who=who)


def asking(*commands: str) -> list[object]:
    steps: list[object] = []
    for number, command in enumerate(commands):
        steps += [Emit(wants(f"a{number}", command)), WaitAnswer(f"a{number}")]
    return [*steps, Emit(TextDelta("all done")), Emit(Result())]


def without_forms(tmp_path: Path, script: list[object], **settings: Any) -> World:
    clock = FakeClock()
    chat = FakePlatform(clock, capabilities=replace(FULL, forms=False))
    return World(tmp_path, script, clock=clock, platforms=[chat], **settings)


async def test_a_rule_for_a_prefix_answers_the_next_one_like_it_and_no_other(tmp_path: Path) -> None:
    script = asking("git status", "git status -s", "git status && rm -rf build", "git push")
    async with World(tmp_path, script) as world:
        await world.chat.says("go")
        await world.sees("git status")
        await world.chat.presses("Allow for…")
        await press(world, "Allow commands that begin with")
        await press(world, "in this session")
        await world.sees("rm -rf build")
        answers = world.agent.last.answers
        assert [(answer.ask, answer.verdict, answer.option) for answer in answers] == [
            ("a0", "allow", "y"),
            ("a1", "allow", "y"),
        ]
        assert world.chat.shows("Careful:")
        await world.chat.says("/rules")
        await world.sees("commands that begin with `git status`")
        await world.sees("git status -s")
        await press(world, "Revoke")
        await world.sees("It is asked again from now on.")
        whats = [line.what for line in await world.store.audit.recent(10)]
        assert {"rule_made", "settled_by_rule", "rule_revoked", "answered"} <= set(whats)


async def test_a_denial_for_later_beats_a_permission_for_later(tmp_path: Path) -> None:
    async with World(tmp_path, asking("git status", "git status")) as world:
        await world.chat.says("go")
        await world.sees("git status")
        await world.chat.presses("Allow for…")
        await press(world, "Never allow…")
        await press(world, "Never this exact")
        await press(world, "for an hour")
        await world.sees("all done")
        assert [answer.verdict for answer in world.agent.last.answers] == ["deny", "deny"]
        assert "A rule of user1 denies this" in world.agent.last.answers[1].text
        await world.sees("Denied by a rule of user1")


async def test_only_an_owner_decides_for_every_project(tmp_path: Path) -> None:
    async with World(tmp_path, asking("git status")) as world:
        await world.chat.says("go")
        await world.sees("git status")
        (ref, card) = next((ref, m) for ref, m in world.chat.messages() if m.key.startswith("ask:"))
        ask = card.key.removeprefix("ask:")
        await world.chat.press_data(ref, f"ask:{ask}:r1:always", who="2")
        await world.until(lambda: any("Only an owner" in text for _, text in world.chat.acks))
        assert world.agent.last.answers == []


async def test_the_dangerous_takes_two_different_people_and_one_no_is_enough(tmp_path: Path) -> None:
    two = AskSettings(dangerous=AskPolicy(people=2))
    async with World(tmp_path, asking("git push --force", "sudo rm -rf /"), asks=two) as world:
        await world.chat.says("go")
        await world.sees("2 different people")
        await world.chat.presses("Allow once", who="1")
        await world.sees("Allowed by user1; one more yes is needed.")
        await world.chat.presses("Allow once", who="1")
        await world.until(lambda: len(world.chat.acks) >= 2)
        assert world.agent.last.answers == []
        await world.chat.presses("Allow once", who="2")
        await world.sees("Allowed by user1 and user2")
        await world.sees("sudo rm -rf /")
        await world.chat.presses("Deny", who="2")
        await world.sees("all done")
        assert [answer.verdict for answer in world.agent.last.answers] == ["allow", "deny"]


async def test_a_policy_that_names_people_refuses_the_others_privately(tmp_path: Path) -> None:
    named = AskSettings(normal=AskPolicy(who=("user2",)), dangerous=AskPolicy(who=("user2",)))
    async with World(tmp_path, asking("git status"), asks=named) as world:
        await world.chat.says("go")
        await world.sees("May answer: user2.")
        await world.chat.presses("Allow once", who="1")
        await world.until(lambda: any("Only user2 may answer this" in text for _, text in world.chat.acks))
        await world.chat.presses("Allow once", who="2")
        await world.sees("all done")
        assert "answer_refused" in [line.what for line in await world.store.audit.recent(5)]


async def test_a_denial_with_a_reason_reaches_the_agent_by_form_and_by_reply(tmp_path: Path) -> None:
    async with World(tmp_path, asking("git status")) as world:
        await world.chat.says("go")
        await world.sees("git status")
        await world.chat.presses("Deny with reason")
        await world.until(lambda: any(m.form is not None for _, m in world.chat.messages()))
        ref = next(ref for ref, m in world.chat.messages() if m.form is not None)
        await world.chat.fills(ref, {"reason": ("use the linter instead",)})
        await world.sees("all done")
        assert [(a.verdict, a.text) for a in world.agent.last.answers] == [("deny", "use the linter instead")]
    async with without_forms(tmp_path / "2", asking("git status")) as world:
        await world.chat.says("go")
        await world.sees("git status")
        await world.chat.presses("Deny with reason")
        await world.sees("Reply to this message with your reason")
        ref = next(ref for ref, m in world.chat.messages() if m.wants_reply)
        await world.chat.says("not on a friday", reply_to=ref.message)
        await world.sees("all done")
        assert [(a.verdict, a.text) for a in world.agent.last.answers] == [("deny", "not on a friday")]


async def test_a_reason_may_also_be_a_reply_to_the_card_itself(tmp_path: Path) -> None:
    async with without_forms(tmp_path, asking("git status")) as world:
        await world.chat.says("go")
        await world.sees("git status")
        ref = next(ref for ref, m in world.chat.messages() if m.key.startswith("ask:"))
        await world.chat.says("not on a friday", reply_to=ref.message)
        await world.sees("That is not one of the answers")
        await world.chat.presses("Deny with reason")
        await world.until(lambda: bool(world.chat.acks))
        await world.chat.says("not on a friday", reply_to=ref.message)
        await world.sees("all done")
        assert [(a.verdict, a.text) for a in world.agent.last.answers] == [("deny", "not on a friday")]


async def test_all_that_wait_can_be_allowed_at_once_and_exactly_these(tmp_path: Path) -> None:
    script = [
        Emit(wants("a0", "git status")),
        Emit(wants("a1", "ls src")),
        Emit(wants("a2", "sudo rm -rf /")),
        WaitAnswer("a0"),
        WaitAnswer("a1"),
        Emit(TextDelta("two are done")),
        WaitAnswer("a2"),
        Emit(Result()),
    ]
    async with World(tmp_path, script) as world:
        await world.chat.says("go")
        await world.until(lambda: any(label.startswith("Allow all 2") for label in world.chat.labels()))
        await world.chat.presses(next(label for label in world.chat.labels() if label.startswith("Allow all 2")))
        await world.sees("All of this waits")
        await world.chat.presses("Allow these 2")
        await world.sees("two are done")
        assert sorted(answer.ask for answer in world.agent.last.answers) == ["a0", "a1"]


async def test_the_same_question_twice_is_one_card_and_one_answer(tmp_path: Path) -> None:
    script = [
        Emit(wants("a0", "git status")),
        Emit(wants("a1", "git status")),
        WaitAnswer("a0"),
        WaitAnswer("a1"),
        Emit(TextDelta("both done")),
        Emit(Result()),
    ]
    async with World(tmp_path, script) as world:
        await world.chat.says("go")
        await world.sees("git status")
        await world.quiet()
        assert len([m for _, m in world.chat.messages() if m.key.startswith("ask:")]) == 1
        await world.chat.presses("Allow once")
        await world.sees("both done")
        assert [answer.ask for answer in world.agent.last.answers] == ["a0", "a1"]


async def test_a_request_that_changes_is_asked_anew(tmp_path: Path) -> None:
    script = [
        Emit(wants("a0", "git status")),
        Emit(wants("a0", "git push --force")),
        WaitAnswer("a0"),
        Emit(Result()),
    ]
    async with World(tmp_path, script) as world:
        await world.chat.says("go")
        await world.sees("asks for something else now")
        await world.until(lambda: world.chat.shows("git push --force") and "Allow once" in world.chat.labels())
        await world.chat.presses("Allow once")
        await world.until(lambda: len(world.agent.last.answers) == 1)


async def test_stop_the_turn_from_the_card(tmp_path: Path) -> None:
    async with World(tmp_path, [Emit(wants("a0", "git status")), Hang()]) as world:
        await world.chat.says("go")
        await world.sees("git status")
        await world.chat.presses("Stop the turn")
        await world.sees("Withdrawn")


async def test_the_rest_of_a_turn_can_go_without_questions_but_not_what_is_grave(tmp_path: Path) -> None:
    async with World(tmp_path, asking("git status", "ls src", "sudo rm -rf /")) as world:
        await world.chat.says("go")
        await world.sees("git status")
        await world.chat.presses("Allow for…")
        await press(world, "Allow everything in this turn")
        await press(world, "until this turn ends")
        await world.sees("sudo rm -rf /")
        assert [answer.ask for answer in world.agent.last.answers] == ["a0", "a1"]


async def test_nobody_is_reminded_in_quiet_hours_and_once_only(tmp_path: Path) -> None:
    clock = FakeClock()
    local = time.localtime(clock.now())
    minute = local.tm_hour * 60 + local.tm_min
    quiet = AskSettings(remind_after_seconds=60, quiet_hours=(minute, (minute + 30) % 1440))
    async with World(tmp_path, [Emit(wants("a0", "git status")), Hang()], clock=clock, asks=quiet) as world:
        await world.chat.says("go")
        await world.sees("git status")
        await clock.advance(600)
        await world.quiet()
        assert not world.chat.shows("Still waiting")
        await clock.advance(1500)
        await world.sees("Still waiting for an answer")
        before = len(world.chat.messages())
        await clock.advance(600)
        await world.quiet()
        assert len(world.chat.messages()) == before


@pytest.mark.parametrize("choice", ["r9", "r0:forever", "all:zzz", "n9:hour", "x", "999", "r0:hour:x", "", "-1"])
async def test_a_forged_choice_answers_nothing(tmp_path: Path, choice: str) -> None:
    async with World(tmp_path, asking("git status")) as world:
        await world.chat.says("go")
        await world.sees("git status")
        (ref, card) = next((ref, m) for ref, m in world.chat.messages() if m.key.startswith("ask:"))
        await world.chat.press_data(ref, f"{card.key}:{choice}")
        await world.until(lambda: len(world.chat.acks) >= 1)
        await world.quiet()
        assert world.agent.last.answers == []


async def test_an_answer_that_the_agent_never_heard_is_given_when_it_asks_for_the_same_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    chat = FakePlatform(clock)
    async with World(tmp_path, asking("git status"), clock=clock, platforms=[chat]) as first:
        await chat.says("go")
        await first.sees("git status")
        with monkeypatch.context() as patch:
            patch.setattr(ScriptedSession, "answer", lambda *_: anyio.sleep_forever())
            await chat.presses("Allow once")
            with anyio.fail_after(5):
                while await first.store.asks.open():
                    await clock.advance(0.1)
            await first.crash()
    async with World(tmp_path, asking("git status"), clock=clock, platforms=[chat]) as second:
        await second.sees("the agent may not have heard it")
        await chat.presses("Resume and ask again")
        await second.sees("the agent has heard it now")
        assert [(answer.ask, answer.verdict) for answer in second.agent.last.answers] == [("a0", "allow")]
        await second.sees("all done")
