"""A real beambot process is killed at the worst moments: nothing is lost, nothing runs twice, all is said."""

from __future__ import annotations

import os
import re
import signal
from typing import Any

import pytest

HANGS = "import sys\nfor line in sys.stdin: pass\n"


async def test_killed_while_streaming_it_says_so_and_goes_on(house: Any) -> None:
    await house.start()
    phone = await house.phone()
    await phone.say("words 3000")
    await phone.sees("juniper20 ")
    assert len(house.agents()) == 1
    await house.kill()

    await house.start()
    await phone.connect()
    await phone.sees("beambot was restarted while the agent was working.")
    assert phone.count("juniper20") == 1
    assert phone.count("> words 3000") == 1
    assert house.prompts() == ["words 3000"]
    assert house.agents() == []

    await phone.press("Go on")
    await phone.sees("I go on with: words 3000")
    await phone.say("/stop")
    await phone.sees("Stopped.")
    assert len(house.prompts()) == 2
    assert await house.stop() == 0


async def test_a_prompt_that_was_cut_off_is_not_shown_as_working_after_the_restart(house: Any) -> None:
    await house.start()
    phone = await house.phone()
    await phone.say("words 3000")
    await phone.sees("juniper20 ")
    await house.kill()
    await house.start()
    await phone.connect()
    await phone.sees("beambot was restarted while the agent was working.")
    await phone.receives("words 3000", "cancelled", seconds=3)


async def test_what_was_seen_before_the_kill_still_stands_after_the_restart(house: Any) -> None:
    await house.start()
    phone = await house.phone()
    await phone.say("words 3000")
    await phone.sees("juniper60 ")
    seen = int(re.findall(r"[a-z](\d+)", phone.transcript())[-1])
    await house.kill()
    await house.start()
    await phone.connect()
    await phone.sees("beambot was restarted while the agent was working.")
    assert re.search(rf"[a-z]{seen}\b", phone.transcript())


async def test_killed_while_an_ask_is_open_it_is_void_and_can_be_asked_again(house: Any) -> None:
    await house.start()
    phone = await house.phone()
    await phone.say("write note.txt")
    await phone.sees("[Allow]")
    await house.kill()
    assert not (house.project / "note.txt").exists()

    await house.start()
    await phone.connect()
    await phone.sees("Void: beambot was restarted, and the agent that asked is gone.")
    await phone.sees("beambot was restarted while the agent was working.")
    assert "Allow" not in phone.labels()
    assert house.agents() == []

    await phone.press("Resume and ask again")
    await phone.press("Allow")
    await phone.sees("I wrote note.txt.")
    await phone.sees("Allowed by ana")
    assert len((house.project / "note.txt").read_text().splitlines()) == 1
    assert len(house.prompts()) == 2


async def test_what_was_queued_behind_an_open_ask_runs_once_and_the_ask_can_still_be_repeated(house: Any) -> None:
    await house.start()
    phone = await house.phone()
    await phone.say("write note.txt")
    await phone.offers("Allow")
    await phone.say("words 3 fast")
    await phone.receives("words 3 fast", "queued")
    await house.kill()
    await house.start()
    await phone.connect()
    await phone.receives("words 3 fast", "done")
    await phone.press("Resume and ask again")
    await phone.press("Allow")
    await phone.sees("I wrote note.txt.")
    assert house.prompts()[:2] == ["write note.txt", "words 3 fast"]
    assert len(house.prompts()) == 3


async def test_go_on_is_taken_up_once_and_its_buttons_go(house: Any) -> None:
    await house.start()
    phone = await house.phone()
    await phone.say("write note.txt")
    await phone.offers("Allow")
    await house.kill()
    await house.start()
    await phone.connect()
    await phone.offers("Go on")
    await phone.press("Go on")
    await phone.sees("took up what was cut off here")
    assert "Go on" not in phone.labels()
    await phone.press("Resume and ask again")
    await phone.press("Allow")
    await phone.sees("I wrote note.txt.")
    await phone.say("words 3 fast")
    await phone.receives("words 3 fast", "done", seconds=5)
    assert len(house.prompts()) == 3


async def test_killed_between_inbox_and_agent_the_prompt_runs_once(house: Any) -> None:
    house.python(HANGS)
    await house.start()
    phone = await house.phone()
    await phone.say("words 5 fast")
    await phone.say("words 6 fast")
    await phone.receives("words 6 fast", "queued")
    await house.kill()

    house.demo()
    await house.start()
    await phone.connect()
    await phone.sees("ember5")
    await phone.sees("fjord6")
    await phone.receives("words 6 fast", "done")
    assert house.prompts() == ["words 5 fast", "words 6 fast"]
    assert "was restarted" not in phone.transcript()


async def test_killed_right_after_a_message_was_received_it_runs_or_is_offered_but_never_twice(house: Any) -> None:
    await house.start()
    phone = await house.phone()
    id = await phone.say("write once.txt")
    await house.kill()

    await house.start()
    await phone.connect()
    await phone.say("write once.txt", id=id)  # what a browser does that did not hear the receipt
    offered = await phone.offers("Allow", "Resume and ask again", "Send again")
    if offered != "Allow":
        await phone.press(offered)
    await phone.press("Allow")
    await phone.sees("I wrote once.txt.")
    assert phone.count("> write once.txt") == 1
    assert len((house.project / "once.txt").read_text().splitlines()) == 1


async def test_a_message_sent_again_after_the_restart_runs_once(house: Any) -> None:
    await house.start()
    phone = await house.phone()
    id = await phone.say("words 4 fast")
    await phone.receives("words 4 fast", "done")
    await house.kill()
    await house.start()
    await phone.connect()
    await phone.say("words 4 fast", id=id)
    away = await phone.say("words 7 fast")
    await phone.say("words 7 fast", id=away)
    await phone.receives("words 7 fast", "done")
    assert house.prompts() == ["words 4 fast", "words 7 fast"]
    assert (phone.count("> words 4 fast"), phone.count("> words 7 fast")) == (1, 1)


async def test_a_killed_agent_is_reported_once_and_resumed(house: Any) -> None:
    await house.start()
    phone = await house.phone()
    await phone.say("words 3000")
    await phone.sees("juniper20 ")
    [agent] = house.agents()
    os.kill(agent, signal.SIGKILL)
    await phone.sees("The agent ended unexpectedly")
    await phone.receives("words 3000", "failed")
    await phone.press("Resume")
    await phone.sees("goes on here")
    await phone.say("words 8 fast")
    await phone.receives("words 8 fast", "done")
    assert phone.count("The agent ended unexpectedly") == 1
    assert house.prompts() == ["words 3000", "words 8 fast"]


async def test_why_an_agent_ended_is_told_in_one_place(house: Any) -> None:
    await house.start()
    phone = await house.phone()
    await phone.say("crash")
    await phone.offers("Resume")
    await phone.receives("crash", "failed")
    assert phone.count("the agent has ended (exit code 1)") == 1


@pytest.mark.parametrize(("prompt", "sign"), [("words 3000", "juniper20 "), ("write a.txt", "[Allow]")])
async def test_a_clean_stop_ends_agents_and_says_how_to_go_on(house: Any, prompt: str, sign: str) -> None:
    await house.start()
    phone = await house.phone()
    await phone.say(prompt)
    await phone.sees(sign)
    [agent] = house.agents()
    assert agent
    assert await house.stop() == 0
    assert house.agents() == []
    assert not house.store.with_name("beambot.db.state.json").exists()
    code, out = await house.run("ps")
    assert (code, "beambot is not running" in out) == (0, True)

    await house.start()
    await phone.connect()
    await phone.sees("beambot was stopped while the agent was working.")
    await phone.sees("The session is kept: go on when beambot is back.")
    assert phone.count("was restarted") == 0
    assert "Allow" not in phone.labels()
    await phone.press("Go on")
    await phone.sees(f"I go on with: {prompt}")
