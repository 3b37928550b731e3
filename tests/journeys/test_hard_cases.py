"""Plugins that break, disks that fill, people who are quick: one trouble never becomes everybody's."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from beambot.errors import RetryAfter, StoreFull
from beambot.model.bodies import AskOption, AskResolved, PermissionRequest, Result, TextDelta
from beambot.model.ids import ThreadRef
from beambot.model.inbound import Inbound
from beambot.model.settings import Limits, Project
from beambot.store.records import TurnRow
from beambot.testing.clock import FakeClock
from beambot.testing.platform import FakePlatform
from beambot.testing.scripted import Emit, Hang, ScriptedAdapter, ScriptedSession, WaitAnswer, WaitFor
from beambot.testing.world import World

HELLO = [Emit(TextDelta("hello")), Emit(Result())]
HANGING = [Emit(TextDelta("One moment")), Hang()]
ASK = PermissionRequest("a1", "make deploy", options=(AskOption("y", "Allow", "allow_once"),))
ASKING = [Emit(ASK), WaitAnswer("a1"), Emit(TextDelta("went on")), Emit(Result())]


async def broken(*_: object, **__: object) -> bool:
    raise OSError("broken pipe")


@pytest.mark.parametrize("call", ["send", "steer", "interrupt", "close", "answer"])
async def test_an_adapter_that_breaks_in_a_call_takes_nobody_else_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    async with World(tmp_path, ASKING, limits=Limits(stop_grace_seconds=1)) as world:
        monkeypatch.setattr(ScriptedSession, call, broken)
        await world.chat.says("ship it")
        if call != "send":
            await world.sees("make deploy")
        await world.chat.says("and quickly")
        if call == "answer":
            await world.chat.presses("Allow")
            await world.sees("does not wait for it any more")
        await world.chat.says("/stop")
        await world.sees("Stopp" if call != "send" else "could not be reached")
        elsewhere = world.chat.thread("c2")
        await world.chat.says("/whoami", thread=elsewhere)
        await world.until(lambda: world.chat.shows("You are user1", elsewhere))
        monkeypatch.undo()


async def test_an_adapter_that_breaks_while_opening_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with World(tmp_path, HELLO) as world:
        monkeypatch.setattr(ScriptedAdapter, "open", broken)
        await world.chat.says("hi")
        await world.sees("the adapter broke: broken pipe")
        monkeypatch.undo()
        await world.chat.presses("Try again")
        await world.sees("hello")


async def test_a_prompt_after_stop_is_not_said_into_the_turn_that_is_stopped(tmp_path: Path) -> None:
    async with World(tmp_path, [HANGING], limits=Limits(stop_grace_seconds=5)) as world:
        world.agent.takes_steering = True
        world.agent.ignores_interrupt = True
        await world.chat.says("do A")
        await world.sees("One moment")
        await world.chat.says("/stop")
        await world.sees("Stopping…")
        world.agent.scripts = [HELLO]
        await world.chat.says("do B instead")
        await world.sees("hello")
        assert world.agent.sessions[0].steered == []
        assert [prompt.text for prompt in world.agent.last.prompts] == ["do B instead"]


async def test_close_drops_what_is_queued_and_stays_closed(tmp_path: Path) -> None:
    async with World(tmp_path, [HANGING]) as world:
        world.agent.capabilities = replace(world.agent.capabilities, steer=False)
        await world.chat.says("first")
        await world.sees("One moment")
        second = await world.chat.says("delete everything")
        await world.until(lambda: world.chat.receipts.get(second, [])[-1:] == ["queued"])
        await world.chat.says("/close")
        await world.sees("Closed.")
        await world.sees("1 queued prompt was dropped too.")
        await world.quiet()
        assert len(world.agent.sessions) == 1
        assert [row.state for row in await world.store.sessions.recent(5, include_closed=True)] == ["closed"]


async def test_sent_again_is_a_turn_and_a_message_of_its_own(tmp_path: Path) -> None:
    overloaded = [Emit(TextDelta("first try")), Emit(Result(outcome="error", error="overloaded"))]
    async with World(tmp_path, [overloaded, HELLO]) as world:
        await world.chat.says("hi")
        await world.sees("overloaded")
        await world.chat.presses("Send again")
        await world.sees("hello")
        await world.quiet()
        assert [text.split("\n")[0] for text in world.chat.screen()] == ["first try", "hello"]
        await world.chat.presses("Send again")
        await world.sees("It was taken up already.")
        assert len(world.agent.last.prompts) == 2


async def test_an_ask_is_shown_where_it_was_prompted_when_the_thread_moved_on(tmp_path: Path) -> None:
    gate = anyio.Event()
    async with World(tmp_path, [[WaitFor(gate), *ASKING]]) as world:
        await world.chat.says("ship it")
        await world.until(lambda: world.agent.sessions and world.agent.last.prompts)
        await world.chat.says("/new")
        await world.sees("New session")
        gate.set()
        await world.until(lambda: "Allow" in world.chat.labels())
        await world.chat.presses("Allow")
        await world.sees("Allowed by user1")
        assert len(world.agent.last.answers) == 1


async def test_a_thread_that_joins_a_waiting_session_gets_the_card(tmp_path: Path) -> None:
    clock = FakeClock()
    one, two = FakePlatform(clock, name="one"), FakePlatform(clock, name="two")
    async with World(tmp_path, ASKING, clock=clock, platforms=[one, two]) as world:
        await one.says("ship it")
        await world.until(lambda: "Allow" in one.labels())
        session = (await world.store.sessions.recent())[0]
        await two.says(f"/resume {session.id}")
        await world.until(lambda: "Allow" in two.labels())
        await two.presses("Allow")
        await world.until(lambda: one.shows("by user1") and "Allow" not in one.labels())


async def test_an_ask_that_the_agent_settles_itself_closes_its_card(tmp_path: Path) -> None:
    script = [Emit(ASK), Emit(AskResolved("a1", "allowed", by="a rule")), *HELLO]
    async with World(tmp_path, script) as world:
        await world.chat.says("ship it")
        await world.sees("allowed by a rule")
        await world.sees("hello")
        await world.quiet()
        assert "Allow" not in world.chat.labels()
        assert await world.store.asks.open() == []


async def test_a_late_reply_to_a_settled_card_is_no_prompt(tmp_path: Path) -> None:
    async with World(tmp_path, ASKING) as world:
        await world.chat.says("ship it")
        await world.sees("make deploy")
        card = next(ref for ref, message in world.chat.messages() if message.key.startswith("ask:"))
        await world.chat.presses("Allow", who="2")
        await world.sees("went on")
        await world.chat.says("no", reply_to=card.message)
        await world.sees("Already settled: allowed by user2")
        assert len(world.agent.last.prompts) == 1


async def test_sessions_of_a_project_that_left_the_configuration_are_the_owners(tmp_path: Path) -> None:
    folder = tmp_path / "secret"
    folder.mkdir()
    project = Project(name="secret", path=folder, adapter="scripted", members=("user1",))
    async with World(tmp_path, HELLO, projects=[project]) as first:
        await first.chat.says("hi")
        await first.sees("hello")
    renamed = replace(project, name="other")
    again = World(tmp_path, HELLO, projects=[renamed], clock=first.clock, platforms=[first.chat])
    async with again as second:
        await second.chat.says("cat .env", who="2")
        await second.sees("You are not a member of this session's project.")
        assert second.agent.sessions == []


async def test_a_full_disk_in_mid_stream_is_survived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = anyio.Event()
    async with World(tmp_path, [[Emit(TextDelta("before ")), WaitFor(gate), *ASKING]]) as world:
        await world.chat.says("go")
        await world.sees("before")

        async def full(*_: object, **__: object) -> None:
            raise StoreFull("no room left")

        with monkeypatch.context() as patch:
            patch.setattr(world.store.asks, "add", full)
            patch.setattr(world.store.journal, "append", full)
            gate.set()
            assert isinstance(world.clock, FakeClock)
            await world.clock.advance(0.5)
        await world.until(lambda: "Allow" in world.chat.labels())
        await world.chat.presses("Allow")
        await world.sees("went on")


async def test_a_store_that_cannot_note_a_post_does_not_flood_the_chat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with World(tmp_path, HANGING) as world:

        async def full(*_: object, **__: object) -> None:
            raise StoreFull("no room left")

        with monkeypatch.context() as patch:
            patch.setattr(world.store.shown, "put", full)
            await world.chat.says("go")
            await world.sees("One moment")
            assert isinstance(world.clock, FakeClock)
            for _ in range(30):
                await world.clock.advance(1)
            assert len(world.chat.screen()) == 1
        await world.chat.says("/stop")
        await world.sees("Stopped.")
        assert sum("One moment" in text for text in world.chat.screen()) == 1


async def test_the_state_of_a_thread_is_right_after_a_rate_limit(tmp_path: Path) -> None:
    async with World(tmp_path, HELLO) as world:
        real = world.chat.mark_thread
        refusals = [RetryAfter(3)] * 3

        async def limited(thread: ThreadRef, state: object) -> None:
            if refusals:
                raise refusals.pop()
            await real(thread, state)  # type: ignore[arg-type]

        world.chat.mark_thread = limited  # type: ignore[method-assign,assignment]
        await world.chat.says("hi")
        await world.sees("hello")
        await world.quiet()
        assert world.chat.states[world.chat.thread().key][-1] == "idle"


async def test_a_prompt_while_an_idle_session_closes_is_played_by_its_successor(tmp_path: Path) -> None:
    async with World(tmp_path, HELLO, limits=Limits(idle_close_seconds=60)) as world:
        assert isinstance(world.clock, FakeClock)
        await world.chat.says("one")
        await world.sees("hello")
        await world.quiet()
        closing, proceed = anyio.Event(), anyio.Event()
        session = world.agent.last
        real = session.close

        async def slowly() -> None:
            closing.set()
            await proceed.wait()
            await real()

        session.close = slowly  # type: ignore[method-assign]
        await world.clock.advance(61)
        await world.until(closing.is_set)
        await world.chat.says("two")
        proceed.set()
        await world.until(lambda: len(world.agent.sessions) == 2 and world.agent.last.prompts)
        await world.quiet()
        numbers = [m.seq for m in await world.store.journal.read(world.agent.last.options.session)]
        assert numbers == sorted(set(numbers))


async def test_a_disk_that_is_full_at_the_end_of_a_turn_does_not_leave_the_session_working(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = anyio.Event()
    async with World(tmp_path, [[Emit(TextDelta("before ")), WaitFor(gate), *HELLO], HELLO]) as world:
        await world.chat.says("go")
        await world.sees("before")

        async def full(*_: object, **__: object) -> None:
            raise StoreFull("no room left")

        with monkeypatch.context() as patch:
            for part, name in (("turns", "update"), ("asks", "open"), ("sessions", "update"), ("outbox", "put")):
                patch.setattr(getattr(world.store, part), name, full)
            gate.set()
            await world.sees("before hello")
            assert isinstance(world.clock, FakeClock)
            for _ in range(10):
                await world.clock.advance(1)
        second = await world.chat.says("and again")
        await world.until(lambda: world.chat.receipts.get(second, [])[-1:] == ["done"])


async def test_looking_into_the_inbox_again_does_not_run_what_ends_meanwhile_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with World(tmp_path, HELLO) as world:
        await world.chat.says("/projects")
        await world.sees("shop")
        intake, inbox = world.rooms.intake, world.store.inbox
        read, handle = inbox.pending, intake._handle
        looked, handled = anyio.Event(), anyio.Event()

        async def slow_handle(number: int, inbound: Inbound) -> bool:
            await looked.wait()
            return await handle(number, inbound)

        async def slow_look() -> list[tuple[int, Inbound]]:
            found = await read()
            looked.set()
            await handled.wait()
            return found

        monkeypatch.setattr(intake, "_handle", slow_handle)
        monkeypatch.setattr(inbox, "pending", slow_look)
        message = await world.chat.says("once")
        await world.until(lambda: bool(intake._lines))
        intake._overflow = True
        await world.chat.says("/whoami", thread=world.chat.thread("c2"))
        await world.until(lambda: world.chat.receipts.get(message, [])[-1:] == ["done"])
        handled.set()
        await world.until(lambda: world.chat.shows("You are user1", world.chat.thread("c2")))
        await world.quiet()
        assert [prompt.text for prompt in world.agent.last.prompts] == ["once"]


async def test_a_database_that_fails_behind_a_prompt_does_not_make_it_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with World(tmp_path, HELLO) as world:
        real, failures = world.rooms.sessions.prompted, [StoreFull("no room left")] * 2

        async def failing(row: TurnRow) -> None:
            if failures:
                raise failures.pop()
            await real(row)

        monkeypatch.setattr(world.rooms.sessions, "prompted", failing)
        await world.chat.says("once")
        await world.sees("hello")
        await world.quiet()
        assert [prompt.text for prompt in world.agent.last.prompts] == ["once"]


async def test_a_database_that_fails_behind_a_command_does_not_run_it_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with World(tmp_path, HELLO) as world:
        real, failures = world.store.inbox.done, [StoreFull("no room left")] * 2

        async def failing(number: int, note: str = "") -> None:
            if failures:
                raise failures.pop()
            await real(number, note)

        monkeypatch.setattr(world.store.inbox, "done", failing)
        await world.chat.says("/new")
        await world.until(lambda: not failures)
        await world.chat.says("/whoami")
        await world.sees("You are user1")
        assert sum("New session" in text for text in world.chat.screen()) == 1


async def test_a_database_that_fails_behind_an_answer_still_closes_the_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with World(tmp_path, ASKING) as world:
        await world.chat.says("ship it")
        await world.sees("make deploy")
        real, failures = world.store.audit.add, [StoreFull("no room left")] * 2

        async def failing(what: str, who: str, detail: dict[str, object]) -> None:
            if failures:
                raise failures.pop()
            await real(what, who, detail)

        monkeypatch.setattr(world.store.audit, "add", failing)
        await world.chat.presses("Allow")
        await world.sees("Allowed by user1")
        await world.sees("went on")
        assert "Allow" not in world.chat.labels()
        assert len(world.agent.last.answers) == 1
