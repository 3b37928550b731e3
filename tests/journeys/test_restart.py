"""A restart loses nothing, repeats nothing, and says what happened."""

from __future__ import annotations

from pathlib import Path

import anyio

from beambot.model.bodies import AskOption, PermissionRequest, Result, TextDelta, ToolStarted
from beambot.model.ports import Prompt
from beambot.testing.platform import FakePlatform
from beambot.testing.scripted import Emit, Hang, ScriptedSession, WaitAnswer, WaitFor
from beambot.testing.world import World

STREAMING = [Emit(TextDelta("Half an answer")), Emit(ToolStarted("t1", "Bash", title="make")), Hang()]
ASKING = [
    Emit(PermissionRequest("a1", "make deploy", options=(AskOption("y", "Allow", "allow_once"),))),
    WaitAnswer("a1"),
    Emit(Result()),
]
DONE = [Emit(TextDelta("done after all")), Emit(Result())]


def again(first: World, script: object) -> World:
    """The same folder, the same chat, a new beambot."""
    return World(first.folder, script, clock=first.clock, platforms=[first.chat])  # type: ignore[arg-type]


async def test_killed_while_streaming_shows_what_was_said_and_offers_to_go_on(tmp_path: Path) -> None:
    async with World(tmp_path, STREAMING) as first:
        await first.chat.says("build it")
        await first.sees("Half an answer")
        session = first.agent.last.options.session
        with anyio.fail_after(5):
            while not any(isinstance(m.body, ToolStarted) for m in await first.store.journal.read(session)):
                await first.clock.advance(0.5)  # type: ignore[attr-defined]
        await first.crash()
    async with again(first, DONE) as second:
        await second.sees("was restarted while the agent was working")
        await second.quiet()
        assert second.chat.shows("Half an answer")
        assert second.chat.shows("– make")
        assert sum("Half an answer" in message for message in second.chat.screen()) == 1
        assert second.agent.sessions == []

        await second.chat.presses("Go on")
        await second.sees("done after all")
        assert second.agent.last.resumed == f"agent-{second.agent.last.options.session}"
        assert len(second.agent.last.prompts) == 1


async def test_killed_while_an_ask_is_open_leaves_a_plainly_void_card(tmp_path: Path) -> None:
    async with World(tmp_path, ASKING) as first:
        await first.chat.says("ship it")
        await first.sees("make deploy")
        card, outgoing = next((r, m) for r, m in first.chat.messages() if m.key.startswith("ask:"))
        old = outgoing.buttons[0][0].data
        await first.crash()
    async with again(first, ASKING) as second:
        await second.sees("Void: beambot was restarted")
        await second.quiet()
        assert "Allow" not in second.chat.labels()
        await second.chat.press_data(card, old)
        await second.until(lambda: any("void" in text for _, text in second.chat.acks))
        assert second.agent.sessions == []

        await second.chat.presses("Resume and ask again")
        await second.until(lambda: "Allow" in second.chat.labels())
        await second.chat.presses("Allow")
        await second.until(lambda: len(second.agent.last.answers) == 1)


async def test_a_press_sent_while_beambot_was_down_never_says_allowed(tmp_path: Path) -> None:
    async with World(tmp_path, ASKING) as first:
        await first.chat.says("ship it")
        await first.sees("make deploy")
        card, outgoing = next((r, m) for r, m in first.chat.messages() if m.key.startswith("ask:"))
        await first.crash()
    async with again(first, ASKING) as second:
        await second.chat.press_data(card, outgoing.buttons[0][0].data, who="2")
        await second.sees("Void")
        await second.quiet()
        assert not second.chat.shows("Allowed")


async def test_killed_between_inbox_and_agent_runs_the_prompt_once(tmp_path: Path) -> None:
    async with World(tmp_path, DONE) as first:
        first.agent.open_gate = anyio.Event()
        await first.chat.says("do it")
        await first.until(lambda: first.chat.states.get(first.chat.thread().key, [])[-1:] == ["working"])
        await first.crash()
    assert first.agent.sessions == []
    async with again(first, DONE) as second:
        await second.sees("done after all")
        await second.quiet()
        assert [prompt.text for prompt in second.agent.last.prompts] == ["do it"]


async def test_killed_before_the_inbox_was_read_runs_the_prompt_once(tmp_path: Path) -> None:
    async with World(tmp_path, DONE) as first:
        real = first.rooms.intake._handle  # the moment after the commit, before anything was made of it

        async def stuck(*_: object) -> bool:
            await anyio.sleep_forever()
            return True

        first.rooms.intake._handle = stuck  # type: ignore[method-assign]
        await first.chat.says("do it")
        assert real is not None
        await first.crash()
    async with again(first, DONE) as second:
        await second.sees("done after all")
        await second.quiet()
        assert [prompt.text for prompt in second.agent.last.prompts] == ["do it"]


async def test_killed_while_handing_over_asks_a_person_and_never_repeats(
    tmp_path: Path, monkeypatch: object
) -> None:
    handing = anyio.Event()

    async def stuck(self: ScriptedSession, prompt: Prompt) -> None:
        handing.set()
        await anyio.sleep_forever()

    async with World(tmp_path, DONE) as first:
        monkeypatch.setattr(ScriptedSession, "send", stuck)  # type: ignore[attr-defined]
        await first.chat.says("pay the invoice")
        await first.until(handing.is_set)
        await first.crash()
    monkeypatch.undo()  # type: ignore[attr-defined]
    async with again(first, DONE) as second:
        await second.sees("It is not known whether the agent took it")
        await second.quiet()
        assert second.agent.sessions == []
        assert {"Send again", "Drop"} <= set(second.chat.labels())
        await second.chat.presses("Send again")
        await second.sees("done after all")
        assert len(second.agent.last.prompts) == 1


async def test_two_quick_presses_on_send_again_send_once(tmp_path: Path) -> None:
    gate = anyio.Event()
    script = [WaitFor(gate), *DONE]
    async with World(tmp_path, STREAMING) as first:
        await first.chat.says("build it")
        await first.sees("Half an answer")
        await first.crash()
    async with again(first, script) as second:
        await second.until(lambda: "Send again" in second.chat.labels())
        await second.chat.presses("Send again")
        await second.chat.presses("Send again")
        await second.sees("already")
        gate.set()
        await second.sees("done after all")
        await second.quiet()
        assert len(second.agent.last.prompts) == 1


async def test_a_clean_stop_says_so_and_offers_to_go_on(tmp_path: Path) -> None:
    async with World(tmp_path, STREAMING) as first:
        await first.chat.says("build it")
        await first.sees("Half an answer")
    assert first.chat.shows("beambot was stopped while the agent was working.")
    assert "Go on" in first.chat.labels()
    async with again(first, DONE) as second:
        await second.chat.presses("Go on")
        await second.sees("done after all")


async def test_a_final_answer_that_was_not_sent_goes_out_after_the_restart(tmp_path: Path) -> None:
    async with World(tmp_path, DONE) as first:
        first.chat.down = True
        await first.chat.says("do it")
        await first.until(lambda: bool(first.agent.sessions) and first.agent.last.prompts)
        turn = await first.store.turns.by_message(first.chat.thread(), "u1")
        with anyio.fail_after(5):
            while turn is None or turn.state != "done":
                await anyio.sleep(0.01)
                turn = await first.store.turns.by_message(first.chat.thread(), "u1")
        await first.crash()
    first.chat.down = False
    async with again(first, DONE) as second:
        await second.sees("done after all")
        await second.quiet()
        assert second.agent.sessions == []
        assert sum("done after all" in message for message in second.chat.screen()) == 1


async def test_what_was_said_while_beambot_was_away_is_fetched_and_run_once(tmp_path: Path) -> None:
    async with World(tmp_path, DONE) as first:
        await first.chat.says("do it")
        await first.sees("done after all")
        await first.quiet()
    chat: FakePlatform = first.chat
    recorded = FakePlatform(first.clock)
    chat.backlog = []

    class Inbox:
        async def put(self, inbound: object) -> bool:
            chat.backlog.append(inbound)  # type: ignore[arg-type]
            return True

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(recorded.run, Inbox(), lambda: None)
        await recorded.says("while you were away", update="late-1")
        tasks.cancel_scope.cancel()
    async with again(first, DONE) as second:
        await second.until(lambda: second.agent.sessions and second.agent.last.prompts)
        await second.quiet()
        assert [prompt.text for prompt in second.agent.last.prompts] == ["while you were away"]
