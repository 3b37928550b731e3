"""A card that fits a chat hides nothing: what is left out is counted, and the whole comes as a file."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from beambot.model.bodies import Diff, PermissionRequest
from beambot.model.outbound import AnyOutBlock, Change, Footer, plain_text
from beambot.render.asks import Room, View, card, fitted
from beambot.render.clip import Paper, taken
from platforms.discord import limits as discord
from platforms.discord import outbound as discord_outbound
from platforms.slack import limits as slack
from platforms.slack import outbound as slack_outbound
from platforms.telegram import limits as telegram
from platforms.telegram import outbound as telegram_outbound

CHATS = {
    "telegram": (telegram.CAPABILITIES, telegram_outbound.measure),
    "discord": (discord.CAPABILITIES, discord_outbound.measure),
    "slack": (slack.CAPABILITIES, slack_outbound.measure),
}


def room_of(name: str) -> tuple[Room, Callable[[AnyOutBlock], int]]:
    able, measure = CHATS[name]
    paper = Paper(able.text_limit, able.text_unit, measure)
    return Room(paper, able.change_lines, able.change_text), measure


def edit(*diffs: Diff) -> PermissionRequest:
    return PermissionRequest("a", "Edit", kind="edit", name="Edit", diffs=diffs)


def drawn(name: str, blocks: tuple[AnyOutBlock, ...]) -> str:
    from beambot.model.outbound import Outgoing

    payload = {"telegram": telegram_outbound, "discord": discord_outbound, "slack": slack_outbound}[name].payload
    return str(payload(Outgoing("ask:x", blocks)))


@pytest.mark.parametrize("name", CHATS)
def test_a_long_change_says_what_is_left_out_and_comes_whole_as_a_file(name: str) -> None:
    room, _ = room_of(name)
    body = edit(Diff("a.py", None, "\n".join(f"line number {n}" for n in range(120))))
    whole_card = card("x", body, folder="/p", forms=False, view=View(who="any approver"))
    shown, whole = fitted(whole_card, room)
    assert "line number 119" in whole
    change = next(block for block in shown.blocks if isinstance(block, Change))
    assert "more lines, in the file" in change.unified
    last = change.unified.splitlines()[-2].removeprefix("+")
    assert last in drawn(name, shown.blocks)
    assert "in the file" in drawn(name, shown.blocks)
    assert taken(shown.blocks, room.paper) <= room.paper.limit


@pytest.mark.parametrize("name", CHATS)
def test_nothing_hides_at_the_end_of_a_wide_line(name: str) -> None:
    room, _ = room_of(name)
    body = edit(Diff("a.py", None, "x = 1" + " " * 220 + "; EVIL()"))
    shown, whole = fitted(card("x", body, folder="/p", forms=False), room)
    assert "EVIL" in whole
    assert "more, in the file" in drawn(name, shown.blocks)


@pytest.mark.parametrize("name", CHATS)
def test_very_many_files_are_counted_and_who_may_answer_still_stands(name: str) -> None:
    room, _ = room_of(name)
    body = edit(*(Diff(f"file{n}.py", None, f"text {n}\n" * 12) for n in range(90)))
    shown, whole = fitted(card("x", body, folder="/p", forms=False, view=View(who="any approver")), room)
    assert taken(shown.blocks, room.paper) <= room.paper.limit
    assert "file89.py" in whole
    words = [block.text for block in shown.blocks if isinstance(block, Footer)]
    assert any("more files, in the file" in text for text in words)
    assert words[-1] == "May answer: any approver."


def test_what_fits_is_left_as_it_is() -> None:
    room, _ = room_of("telegram")
    whole = card("x", edit(Diff("a.py", "one", "two")), folder="/p", forms=False)
    assert fitted(whole, room) == (whole, "")


def test_a_chat_without_files_does_not_speak_of_one() -> None:
    room = Room(
        Paper(1000, "characters", lambda block: len(plain_text(card("x", edit(), folder="", forms=True))) + 4000),
        files=False,
    )
    body = PermissionRequest("a", "x", kind="execute", input={"command": "y" * 5000})
    shown, _ = fitted(card("x", body, folder="/p", forms=False), room)
    assert "in the file" not in plain_text(shown)
    assert "more characters" in plain_text(shown)
