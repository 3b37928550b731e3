"""Ways in which a wrong person, a wrong request or a wrong moment could get a yes, and do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from beambot.errors import StoreBusy
from beambot.model.bodies import (
    AskCancelled,
    AskOption,
    Diff,
    PermissionRequest,
    Question,
    QuestionItem,
    Result,
    TextDelta,
)
from beambot.model.settings import AskPolicy, AskSettings
from beambot.store.records import MemberRow
from beambot.testing.clock import FakeClock
from beambot.testing.platform import FULL, FakePlatform
from beambot.testing.scripted import Emit, Hang, WaitAnswer
from beambot.testing.world import World

OPTIONS = (AskOption("y", "Allow once", "allow_once"), AskOption("n", "Deny", "reject_once"))
MORE = (*OPTIONS, AskOption("ever", "Always", "allow_always"))
TWO = AskSettings(dangerous=AskPolicy(people=2))


def wants(ask: str, command: str, options: tuple[AskOption, ...] = OPTIONS, **more: Any) -> PermissionRequest:
    return PermissionRequest(
        ask, command, kind="execute", name="bash", input={"command": command, **more}, options=options
    )


def asks(*bodies: Any) -> list[Any]:
    waiting = [WaitAnswer(body.ask) for body in bodies]
    return [*map(Emit, bodies), *waiting, Emit(TextDelta("all done")), Emit(Result())]


async def press(world: World, begins: str, who: str = "1") -> None:
    await world.until(lambda: any(label.startswith(begins) for label in world.chat.labels()), what=begins)
    await world.chat.presses(next(label for label in world.chat.labels() if label.startswith(begins)), who=who)


async def told(world: World, words: str) -> None:
    await world.until(lambda: any(words in text for _, text in world.chat.acks), what=f"{words}: {world.chat.acks}")


async def the_card(world: World) -> tuple[Any, Any]:
    await world.until(lambda: any(m.key.startswith("ask:") for _, m in world.chat.messages()), what="a card")
    return next((ref, m) for ref, m in world.chat.messages() if m.key.startswith("ask:"))


# ── the right people ─────────────────────────────────────────────────────────────────────────────────


async def test_one_person_cannot_make_a_rule_of_what_takes_two(tmp_path: Path) -> None:
    async with World(tmp_path, asks(wants("a", "git push --force")), asks=TWO) as world:
        await world.chat.says("go")
        ref, card = await the_card(world)
        assert "Allow for…" not in world.chat.labels()
        await world.chat.press_data(ref, f"{card.key}:r0:hour", who="2")
        await told(world, "This takes several people each time")
        assert world.agent.last.answers == []
        assert await world.store.rules.all() == []


async def test_a_rule_pressed_too_late_is_not_made(tmp_path: Path) -> None:
    async with World(tmp_path, [*asks(wants("a", "ls")), Hang()]) as world:
        await world.chat.says("go")
        ref, card = await the_card(world)
        await press(world, "Deny")
        await world.sees("Denied by user1")
        await world.chat.press_data(ref, f"{card.key}:r0:hour", who="2")
        await told(world, "Already settled")
        assert await world.store.rules.all() == []


async def test_two_people_have_to_say_yes_to_the_very_same(tmp_path: Path) -> None:
    async with World(tmp_path, asks(wants("a", "git push --force", MORE)), asks=TWO) as world:
        await world.chat.says("go")
        await press(world, "Allow once", who="2")
        await world.sees("Allowed by user2; one more yes is needed")
        await press(world, "Agent: Always")
        await world.quiet()
        assert world.agent.last.answers == []
        await press(world, "Allow once")
        await world.sees("all done")
        assert [(answer.option, answer.verdict) for answer in world.agent.last.answers] == [("y", "allow")]


async def test_the_yes_of_somebody_who_lost_the_role_does_not_count(tmp_path: Path) -> None:
    async with World(tmp_path, asks(wants("a", "git push --force")), asks=TWO) as world:
        await world.chat.says("go")
        await press(world, "Allow once", who="2")
        await told(world, "one more person")
        await world.store.members.put(MemberRow("user2", "observer", {"fake": "2"}))
        await press(world, "Allow once")
        await world.until(lambda: [text for _, text in world.chat.acks].count(world.chat.acks[0][1]) == 2)
        assert world.agent.last.answers == []


async def test_a_question_is_settled_by_one_person_whatever_a_yes_takes(tmp_path: Path) -> None:
    settings = AskSettings(normal=AskPolicy(people=2))
    async with World(tmp_path, asks(Question("a", (QuestionItem("q", "Which?"),))), asks=settings) as world:
        await world.chat.says("go")
        ref, card = await the_card(world)
        assert "2 different" not in str(card.blocks)
        await world.chat.fills(ref, {"q": ("this",)})
        await world.sees("all done")


# ── the right request ────────────────────────────────────────────────────────────────────────────────


async def test_a_yes_in_words_does_not_allow_what_the_card_does_not_show(tmp_path: Path) -> None:
    async with World(tmp_path, asks(wants("a", "rm -rf build"))) as world:
        await world.chat.says("go")
        await press(world, "Edit")
        await world.until(lambda: any(m.form for _, m in world.chat.messages()))
        ref, _ = await the_card(world)
        await world.chat.says("yes", reply_to=ref.message)
        await world.sees("The card shows something else")
        await world.chat.fills(ref, {"command": ("rm -rf build/cache",)})
        await world.sees("As user1 edited it")
        await world.chat.says("yes", reply_to=ref.message)
        await world.until(lambda: sum("something else" in text for text in world.chat.screen()) == 2)
        assert world.agent.last.answers == []


async def test_nothing_of_an_input_is_hidden(tmp_path: Path) -> None:
    body = wants("a", "git", args=["push", "--mirror"], cwd="/etc", env={"GIT_SSH": "evil"}, stdin="x")
    async with World(tmp_path, asks(replace(body, title="Run git"))) as world:
        await world.chat.says("go")
        await world.sees("Folder: /etc")
        for part in ("push", "--mirror", "GIT_SSH", "evil", "stdin"):
            assert world.chat.shows(part)


async def test_a_diff_does_not_hide_another_path_in_the_input(tmp_path: Path) -> None:
    body = PermissionRequest(
        "a",
        "Edit a.py",
        kind="edit",
        name="Edit",
        input={"file_path": "/etc/passwd", "old_string": "a", "new_string": "b"},
        diffs=(Diff("a.py", "a", "b"),),
        options=OPTIONS,
    )
    async with World(tmp_path, asks(body)) as world:
        await world.chat.says("go")
        await world.sees("/etc/passwd")


async def test_all_that_wait_are_listed_by_what_they_do_and_not_at_all_if_that_is_too_much(tmp_path: Path) -> None:
    first = replace(wants("a", "make x"), title="Run the tests")
    second = replace(wants("b", "python deploy.py"), title="Run the tests")
    async with World(tmp_path, asks(first, second)) as world:
        await world.chat.says("go")
        await press(world, "Allow all 2")
        await world.sees("1.: make x\n2.: python deploy.py")
    many = [wants(f"a{number}", f"echo {number} " + "y" * 400) for number in range(40)]
    async with World(tmp_path / "2", asks(*many)) as world:
        await world.chat.says("go")
        await press(world, "Allow all 40")
        await world.sees("All of this waits")
        assert not any(label.startswith("Allow these") for label in world.chat.labels())


async def test_the_same_with_other_choices_is_asked_on_a_card_of_its_own(tmp_path: Path) -> None:
    one = wants("a", "ls", (AskOption("1", "Allow", "allow_once"), AskOption("2", "Deny", "reject_once")))
    two = wants("b", "ls", (AskOption("1", "Always", "allow_always"), AskOption("2", "Deny", "reject_once")))
    async with World(tmp_path, asks(one, two)) as world:
        await world.chat.says("go")
        await world.until(lambda: len([1 for _, m in world.chat.messages() if m.key.startswith("ask:")]) == 2)
        await press(world, "Allow")
        await world.until(lambda: len(world.agent.last.answers) == 1)
        await world.quiet()
        assert [answer.ask for answer in world.agent.last.answers] == ["a"]


# ── the right moment ─────────────────────────────────────────────────────────────────────────────────


async def test_a_yes_that_came_too_late_is_not_used_in_another_turn(tmp_path: Path) -> None:
    script = [[Emit(wants("a", "rm -rf build")), WaitAnswer("a"), Emit(Result())]] * 2
    async with World(tmp_path, script) as world:
        await world.chat.says("go")
        ref, card = await the_card(world)
        world.agent.last._open_asks.clear()
        await world.chat.press_data(ref, f"{card.key}:0", who="2")
        await told(world, "does not wait for this any more")
        world.agent.last.die()
        await world.sees("nothing was done")
        await world.chat.says("again")
        await world.until(lambda: sum(m.key.startswith("ask:") for _, m in world.chat.messages()) == 2)
        assert "Allow once" in world.chat.labels()
        assert all(session.answers == [] for session in world.agent.sessions)


async def test_the_second_of_two_that_ask_for_the_same_gets_a_card_when_the_first_is_withdrawn(
    tmp_path: Path,
) -> None:
    script = [
        Emit(wants("a", "ls")),
        Emit(wants("b", "ls")),
        Emit(AskCancelled("a", "not needed")),
        WaitAnswer("b"),
        Emit(TextDelta("all done")),
        Emit(Result()),
    ]
    async with World(tmp_path, script) as world:
        await world.chat.says("go")
        await world.sees("Withdrawn: not needed")
        await press(world, "Allow once")
        await world.sees("all done")
        assert [answer.ask for answer in world.agent.last.answers] == ["b"]


async def test_what_asked_for_the_same_leaves_no_card_behind_when_the_turn_is_stopped(tmp_path: Path) -> None:
    async with World(tmp_path, [Emit(wants("a", "ls")), Emit(wants("b", "ls")), Hang()]) as world:
        await world.chat.says("go")
        await the_card(world)
        await world.until(lambda: world.chat.shows("ls"))
        await world.chat.says("/stop")
        await world.sees("Withdrawn: the turn ended")
        await world.quiet()
        assert sum(m.key.startswith("ask:") for _, m in world.chat.messages()) == 1


async def test_a_card_that_could_not_be_shown_at_once_is_shown_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with World(tmp_path, asks(wants("a", "ls"))) as world:
        board, show = world.rooms.asks._board, world.rooms.asks._board.show
        failures = [StoreBusy("busy")]

        async def once(*args: Any, **more: Any) -> None:
            if failures:
                raise failures.pop()
            await show(*args, **more)

        monkeypatch.setattr(board, "show", once)
        await world.chat.says("go")
        await press(world, "Allow once")
        await world.sees("all done")


async def test_a_card_is_closed_after_a_restart_though_the_end_came_before_it_was_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    chat = FakePlatform(clock, capabilities=FULL)
    async with World(
        tmp_path, [Emit(wants("a", "ls")), WaitAnswer("a"), Hang()], clock=clock, platforms=[chat]
    ) as world:
        await world.chat.says("go")
        await the_card(world)

        async def never(*_: Any, **__: Any) -> None:
            raise RuntimeError("the process is gone")

        monkeypatch.setattr(world.rooms.asks._board, "close", never)
        await press(world, "Allow once")
        await world.until(lambda: bool(world.agent.last.answers))
        await world.quiet()
        assert "Allow once" in world.chat.labels()
        await world.crash()
    async with World(tmp_path, [], clock=clock, platforms=[chat]) as world:
        await world.sees("Allowed by user1")
        assert "Allow once" not in world.chat.labels()
        lines = [line.what for line in await world.store.audit.recent(20)]
        assert lines.count("answered") == 1


# ── nothing that should not be read ──────────────────────────────────────────────────────────────────


async def test_a_reason_is_redacted_and_a_long_one_does_not_hide_who_decided(tmp_path: Path) -> None:
    secret = "sk-" + "a1" * 16
    async with World(tmp_path, asks(wants("a", "ls"))) as world:
        await world.chat.says("go")
        ref, _ = await the_card(world)
        await world.chat.says(f"no use {secret} instead " + "x" * 3000, reply_to=ref.message)
        await world.sees("Denied by user1 at ")
        _, card = await the_card(world)
        assert secret not in str(card.blocks)
        assert len(card.blocks[-1].text) < 1000


async def test_a_secret_that_is_asked_for_step_by_step_is_not_shown(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = FakePlatform(clock, capabilities=replace(FULL, forms=False))
    items = (QuestionItem("u", "User name?"), QuestionItem("p", "Password?", secret=True))
    async with World(tmp_path, asks(Question("a", items)), clock=clock, platforms=[chat]) as world:
        await world.chat.says("go")
        ref, _ = await the_card(world)
        await world.chat.says("bob", reply_to=ref.message)
        await world.sees("(2 of 2)")
        await world.chat.says("hunter2hunter2", reply_to=ref.message)
        await world.sees("Password?: ••••")
        assert not world.chat.shows("hunter2")


async def test_a_path_is_an_answer_and_not_a_command(tmp_path: Path) -> None:
    async with World(tmp_path, asks(Question("a", (QuestionItem("q", "Where?"),)))) as world:
        await world.chat.says("go")
        ref, _ = await the_card(world)
        await world.chat.says("/tmp", reply_to=ref.message)
        await world.sees("all done")
        assert world.agent.last.answers[0].fields == {"q": ("/tmp",)}


async def test_a_copy_of_a_card_that_was_never_noted_says_how_it_ended_and_answers_nothing(tmp_path: Path) -> None:
    async with World(tmp_path, [Emit(wants("a", "ls")), WaitAnswer("a"), Hang()]) as world:
        await world.chat.says("go")
        ref, card = await the_card(world)
        copy = replace(ref, message="never-noted")
        await world.chat.press_data(copy, f"{card.key}:0")
        await told(world, "does not belong here")
        assert world.agent.last.answers == []
        await press(world, "Deny")
        await world.sees("Denied by user1")
        await world.chat.press_data(copy, f"{card.key}:0", who="2")
        await told(world, "Already settled: denied by user1")
        assert [answer.verdict for answer in world.agent.last.answers] == ["deny"]
