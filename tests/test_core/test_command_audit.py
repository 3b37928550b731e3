"""`/audit`: owners see who decided what, nobody else does, and a broken chain is said."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from beambot.log import remember_secrets
from beambot.testing.world import World

NAMES = {"2": "approver", "3": "participant", "4": "observer"}


async def test_owners_see_the_last_decisions_newest_first(tmp_path: Path) -> None:
    async with World(tmp_path) as world:
        for number in range(20):
            await world.store.audit.add("answered", "user2", {"outcome": "allowed", "what": f"step {number}."})
        await world.chat.says("/audit")
        await world.sees("The chain of 20 lines is whole.")
        screen = str(world.chat.screen())
        assert screen.index("step 19.") < screen.index("step 18.") < screen.index("step 5.")
        assert "step 4." not in screen
        assert "user2: answered · allowed · step 19." in screen
        assert " s ago" in screen


async def test_the_time_is_told_as_people_say_it(tmp_path: Path) -> None:
    async with World(tmp_path) as world:
        await world.store.audit.add("answered", "user2", {})
        await world.clock.advance(180)  # type: ignore[attr-defined]
        await world.chat.says("/audit")
        await world.sees("3 min ago")


async def test_an_audit_of_nothing_says_so(tmp_path: Path) -> None:
    async with World(tmp_path) as world:
        await world.chat.says("/audit")
        await world.sees("Nothing was decided yet.")


@pytest.mark.parametrize("who", NAMES)
async def test_nobody_but_an_owner_sees_it(tmp_path: Path, who: str) -> None:
    async with World(tmp_path) as world:
        await world.store.audit.add("answered", "user2", {"what": "the plan"})
        await world.chat.says("/audit", who=who)
        await world.sees(f"/audit takes the role owner; yours is {NAMES[who]}.")
        assert not world.chat.shows("the plan")


async def test_a_broken_chain_is_said_with_the_line_and_what_to_do(tmp_path: Path) -> None:
    async with World(tmp_path) as world:
        for number in range(3):
            await world.store.audit.add("answered", "user2", {"what": f"step {number}"})
        connection = sqlite3.connect(world.store.path, isolation_level=None)
        connection.execute("DROP TRIGGER audit_keeps_words")
        connection.execute("UPDATE audit SET who = 'user3' WHERE id = 2")
        connection.close()
        await world.chat.says("/audit")
        await world.sees("The audit is broken at line 2: it is not what was written.")
        await world.sees("Run beambot audit on its machine.")


async def test_a_secret_that_became_known_later_is_not_shown(tmp_path: Path) -> None:
    async with World(tmp_path) as world:
        await world.store.audit.add("answered", "user2", {"what": "push with hunter2hunter2"})
        remember_secrets(["hunter2hunter2"])
        await world.chat.says("/audit")
        await world.sees("push with [redacted]")
        assert not world.chat.shows("hunter2")


async def test_a_long_line_is_cut_so_that_all_fit(tmp_path: Path) -> None:
    async with World(tmp_path) as world:
        for _ in range(15):
            await world.store.audit.add("answered", "user2", {"what": "x" * 5000})
        await world.chat.says("/audit")
        await world.sees("xx…")
        assert len(str(world.chat.screen())) < 3000
