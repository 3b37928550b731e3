"""A real beambot is killed with three asks open: each can be asked again, and no answer is lost or given twice."""

from __future__ import annotations

from typing import Any

import anyio

NAMES = ("one.txt", "two.txt", "three.txt")


async def three_asks(house: Any) -> list[Any]:
    """Three threads, each with a session of its own that waits for a permission."""
    phones = [await house.phone()]
    for _ in NAMES[1:]:
        phones.append(await house.phone((await house.run("web", "link"))[1].strip()))
    for phone, name in zip(phones, NAMES, strict=True):
        await phone.say(f"write {name}")
    for phone in phones:
        await phone.offers("Allow")
    return phones


def written(house: Any) -> dict[str, int]:
    return {path.name: len(path.read_text().splitlines()) for path in sorted(house.project.glob("*.txt"))}


async def test_killed_with_three_asks_open_each_card_is_void_and_asks_again_on_its_own(house: Any) -> None:
    await house.start()
    phones = await three_asks(house)
    await house.kill()
    assert written(house) == {}

    await house.start()
    for phone in phones:
        await phone.connect()
    for phone in phones:
        await phone.sees("Void: beambot was restarted, and the agent that asked is gone.")
        await phone.offers("Resume and ask again")
        assert "Allow" not in phone.labels()
    assert house.agents() == []

    for phone in phones:
        await phone.press("Resume and ask again")
    for phone in phones:
        await phone.offers("Allow")
    assert written(house) == {}
    first, second, third = phones
    await first.press("Allow")
    await second.press("Reject")
    await third.press("Allow")
    await first.sees("I wrote one.txt.")
    await second.sees("I did not write two.txt.")
    await third.sees("I wrote three.txt.")
    await second.sees("Denied by ana")
    assert written(house) == {"one.txt": 1, "three.txt": 1}
    assert len(house.prompts()) == 6


async def test_killed_after_one_of_three_was_answered_that_answer_stands_and_is_not_given_twice(house: Any) -> None:
    await house.start()
    first, second, third = await three_asks(house)
    await first.press("Allow")
    await first.sees("I wrote one.txt.")
    await first.sees("Allowed by ana")
    await house.kill()
    assert written(house) == {"one.txt": 1}

    await house.start()
    for phone in (first, second, third):
        await phone.connect()
    for phone in (second, third):
        await phone.offers("Resume and ask again")
    assert first.count("Void:") == 0
    assert "Allow" not in first.labels()
    for phone in (second, third):
        await phone.press("Resume and ask again")
        await phone.press("Allow")
    await second.sees("I wrote two.txt.")
    await third.sees("I wrote three.txt.")
    assert written(house) == dict.fromkeys(sorted(NAMES), 1)


async def test_killed_right_after_the_presses_each_answer_is_applied_once_or_asked_for_again(house: Any) -> None:
    """Whether an agent had heard it is not known: what stands in the end is each file, written once."""
    await house.start()
    phones = await three_asks(house)
    for phone in phones:
        await phone.press("Allow")
    await house.kill()
    before = written(house)

    await house.start()
    for phone, name in zip(phones, NAMES, strict=True):
        await phone.connect()
        if name in before:
            continue
        await phone.press(await phone.offers("Resume and ask again", "Go on"))
        if await allow_or(phone, f"I wrote {name}."):
            await phone.press("Allow")
        await phone.sees(f"I wrote {name}.")
    assert written(house) == dict.fromkeys(sorted(NAMES), 1)


async def allow_or(phone: Any, words: str) -> bool:
    """Wait for the question or for the end. True: it is asked once more."""
    with anyio.fail_after(20):
        while "Allow" not in phone.labels() and words not in phone.transcript():
            await anyio.sleep(0.02)
    return "Allow" in phone.labels()
