"""Other commands beside a running beambot: they see it, do not disturb it, and no token leaves its place."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

TOKENS = {
    "CHAT_BOT_TOKEN": "7123456789:AAH-fake_fake_fake_fake_fake_fake_fa",
    "TEAM_BOT_TOKEN": "xoxb-123456789012-1234567890123-FakeFakeFakeFakeFakeFake",
}


async def test_a_second_beambot_on_the_same_store_is_refused_with_the_first_ones_pid(house: Any) -> None:
    await house.start()
    code, out = await house.run("up", "--config", str(house.config))
    assert code == 4
    assert f"process {house.pid}" in out
    assert f"kill {house.pid}" in out
    phone = await house.phone()
    await phone.say("words 3 fast")
    await phone.sees("cedar3")


async def test_a_lock_that_a_killed_beambot_left_is_recognised_as_stale(house: Any) -> None:
    await house.start()
    await house.kill()
    code, out = await house.run("ps")
    assert (code, "beambot is not running" in out) == (0, True)
    await house.start()
    code, out = await house.run("ps")
    assert f"beambot runs as process {house.pid}" in out


async def test_commands_beside_a_running_beambot_see_it_and_do_not_disturb_it(house: Any) -> None:
    await house.start()
    phone = await house.phone()
    await phone.say("words 3000")
    await phone.sees("basin2 ")
    code, out = await house.run("ps")
    assert code == 0
    assert f"process {house.pid}" in out
    assert re.search(r"working +shop +worker .* web +words 3000", out)

    code, out = await house.run("backup", str(house.folder / "copy.db"))
    assert code == 0, out
    copy = sqlite3.connect(house.folder / "copy.db")
    assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert copy.execute("SELECT text FROM turns").fetchall() == [("words 3000",)]
    copy.close()

    code, out = await house.run("pair", "--role", "observer", "--no-wait")
    assert code == 0
    assert re.search(r"code: [0-9A-Z]{4,}", out)

    await phone.say("/stop")
    await phone.sees("Stopped.")
    await phone.say("words 4 fast")
    await phone.receives("words 4 fast", "done")


async def test_a_paired_person_reads_and_cannot_answer(house: Any) -> None:
    await house.start()
    _, out = await house.run("pair", "--role", "observer", "--no-wait")
    code = re.findall(r"code: (\S+)", out)[0]
    _, link = await house.run("web", "link", "--user", "cleo")
    cleo = await house.phone(link.strip())
    await cleo.say("words 2 fast")
    await cleo.sees("I do not know you.")
    await cleo.say(code)
    await cleo.sees("observer")

    ana = await house.phone()
    await ana.say("write a.txt")
    await ana.offers("Allow")
    cleo.thread = ana.thread
    await cleo.connect()
    await cleo.press("Allow")
    await cleo.acked("You may not answer this")
    assert "Allow" in ana.labels()
    assert not (house.project / "a.txt").exists()
    await ana.press("Reject")
    await cleo.sees("Denied by ana")


async def test_a_fresh_link_works_while_it_runs_and_only_once(house: Any) -> None:
    await house.start()
    code, link = await house.run("web", "link", "--user", "ben")
    assert code == 0
    assert link.startswith(f"{house.address}/enter?code=")
    ben = await house.phone(link.strip())
    await ben.say("/whoami")
    await ben.sees("ben")
    await ben.sees("approver")
    other = house.stranger()
    assert await other.status(link.strip()) == 401
    assert await other.status(house.address) == 401


async def test_tokens_of_the_environment_are_in_no_output_and_in_no_file(house: Any) -> None:
    house.env = TOKENS
    await house.start()
    phone = await house.phone()
    await phone.say("words 3 fast")
    await phone.receives("words 3 fast", "done")
    _, printed = await house.run("ps", "--json")
    assert await house.stop() == 0
    for token in TOKENS.values():
        assert token not in printed
        assert _holding(house.folder, token) == []


async def test_a_token_that_an_agent_prints_does_not_reach_the_chat_or_the_log(house: Any) -> None:
    house.env = TOKENS
    await house.start()
    phone = await house.phone()
    await phone.say(f"run printenv CHAT_BOT_TOKEN TEAM_BOT_TOKEN; echo {TOKENS['TEAM_BOT_TOKEN']} >/dev/null")
    await phone.press("Allow")
    await phone.sees("ended with 0")
    assert await house.stop() == 0
    # The inbox and the journal keep what people and agents said as they said it; nobody else can read them.
    assert house.store.stat().st_mode & 0o077 == 0
    for token in TOKENS.values():
        assert token not in phone.transcript(posts_only=True)
        assert token not in house.output


async def test_it_stops_cleanly_when_nobody_reads_its_output_any_more(house: Any) -> None:
    await house.start(reader=True)
    phone = await house.phone()
    await phone.say("words 3000")
    await phone.sees("juniper20 ")
    house.close_output()
    assert await house.stop() == 0
    assert house.agents() == []


def _holding(folder: Path, token: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and token.encode() in path.read_bytes()]
