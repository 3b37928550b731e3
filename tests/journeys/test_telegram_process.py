"""A real `beambot up` with the demo agent, and Telegram's twin: used, killed at bad moments, started again."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from platforms.telegram.twin import Message, Person, Twin
from tests.journeys.conftest import processes_of, until
from tests.journeys.telegram_house import TelegramProcess, by_bot, reaction, said

PATIENCE = 20.0


class Phone:
    """One person's private chat with the bot."""

    def __init__(self, twin: Twin, person: Person) -> None:
        self._twin = twin
        self.person = person
        self.chat = person.chat

    async def says(self, text: str) -> Message:
        return await self.person.says(None, text)

    async def sees(self, text: str) -> Message:
        def found() -> Message | None:
            return next((one for one in reversed(by_bot(self._twin, self.chat)) if text in one.text), None)

        await self._twin.until(found, seconds=PATIENCE, what=lambda: f"{text!r} in\n{self.chat.screen()}")
        message = found()
        assert message is not None
        return message

    async def presses(self, label: str) -> None:
        """Press the newest button with this label, once there is one."""

        def offered() -> Message | None:
            return next((one for one in reversed(by_bot(self._twin, self.chat)) if label in one.labels), None)

        await self._twin.until(offered, seconds=PATIENCE, what=lambda: f"[{label}] in\n{self.chat.screen()}")
        message = offered()
        assert message is not None
        press = await self.person.presses(message, label, seconds=PATIENCE)
        assert press.answered

    async def receipt(self, message: Message, emoji: str) -> None:
        await self._twin.until(
            lambda: reaction(self._twin, message) == emoji, seconds=PATIENCE, what=lambda: self.chat.screen()
        )

    def count(self, text: str) -> int:
        return said(self._twin, self.chat).count(text)


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[TelegramProcess]:
    """A beambot that is not started yet, and its twin. Whatever the test did, no process is left behind."""
    async with Twin() as twin:
        here = TelegramProcess(tmp_path, twin)
        try:
            yield here
        finally:
            await here.end()
            try:
                await until(lambda: not processes_of(tmp_path), seconds=10, what=lambda: "processes were left")
            finally:
                for pid in processes_of(tmp_path):
                    os.kill(pid, signal.SIGKILL)


@pytest.fixture
def ana(bot: TelegramProcess) -> Phone:
    return Phone(bot.twin, bot.twin.person("Ana", 1))


async def test_a_prompt_asks_writes_the_file_and_answers(bot: TelegramProcess, ana: Phone) -> None:
    await bot.start()
    asked = await ana.says("write note.txt")
    await ana.presses("Allow")
    await ana.sees("I wrote note.txt.")
    await ana.receipt(asked, "👍")
    assert (bot.project / "note.txt").read_text() == "Written by the demo agent, prompt 1.\n"
    await ana.sees("Allowed by ana")
    assert bot.twin.refusals == 0
    stranger = Phone(bot.twin, bot.twin.person("Eve", 9))
    await stranger.says("write evil.txt")
    await stranger.sees("I do not know you.")
    assert await bot.stop() == 0
    assert bot.prompts() == ["write note.txt"]
    assert bot.twin.token not in bot.output
    assert bot.twin.token.partition(":")[2] not in bot.output


async def test_a_code_of_the_command_pair_lets_somebody_in(bot: TelegramProcess, ana: Phone) -> None:
    await bot.start()
    code, printed = await bot.run("pair", "--role", "participant", "--no-wait", "--config", str(bot.config))
    assert code == 0, printed
    found = re.search(r"code: (\S+)", printed)
    assert found is not None
    eve = Phone(bot.twin, bot.twin.person("Eve", 9))
    await eve.person.starts(found[1])
    await eve.sees("Welcome, Eve. You are participant here.")
    await eve.says("words 3 fast")
    await eve.sees("cedar3")


async def test_killed_in_mid_stream_it_says_so_doubles_nothing_and_goes_on(
    bot: TelegramProcess, ana: Phone
) -> None:
    await bot.start()
    asked = await ana.says("words 400")
    await ana.sees("juniper20 ")
    await bot.kill()
    seen = re.findall(r"[a-z]+(\d+)", said(bot.twin, ana.chat))
    await bot.start()
    await ana.sees("beambot was restarted while the agent was working.")
    await ana.receipt(asked, "🤷")
    stands = [int(number) for number in re.findall(r"\b[a-z]+(\d+)\b", said(bot.twin, ana.chat))]
    assert stands == list(range(1, len(stands) + 1))
    assert len(stands) >= len(seen)
    assert bot.prompts() == ["words 400"]
    await ana.presses("Go on")
    await ana.sees("I go on with: words 400")
    await ana.sees("juniper400")
    assert ana.count("juniper400") == 1
    assert len(bot.prompts()) == 2


async def test_killed_while_a_permission_is_open_the_old_button_allows_nothing(
    bot: TelegramProcess, ana: Phone
) -> None:
    await bot.start()
    asked = await ana.says("write note.txt")
    card = await ana.sees("The agent wants to")
    await ana.receipt(asked, "🤔")
    (allow,) = [button for row in card.content.keyboard for button in row if button.text == "Allow"]
    await bot.kill()
    pressed = await ana.person.presses_button(card, allow, seconds=0)
    await bot.start()
    await bot.twin.until(lambda: pressed.answered, seconds=PATIENCE)
    assert "Allowed" not in pressed.toast
    await bot.twin.until(lambda: "Void" in card.text, seconds=PATIENCE, what=lambda: ana.chat.screen())
    assert not (bot.project / "note.txt").exists()
    await ana.presses("Resume and ask again")
    await ana.presses("Allow")
    await ana.sees("I wrote note.txt.")
    assert len((bot.project / "note.txt").read_text().splitlines()) == 1


async def test_what_is_sent_while_it_is_down_runs_once_in_order(bot: TelegramProcess, ana: Phone) -> None:
    await bot.start()
    await ana.receipt(await ana.says("words 2 fast"), "👍")
    await bot.kill()
    late = [await ana.says(f"words {count} fast") for count in (3, 4)]
    await bot.start()
    await ana.sees("2 messages were sent while beambot was away")
    for message in late:
        await ana.receipt(message, "👍")
    await ana.sees("delta4")
    await bot.kill()
    await bot.start()
    await ana.receipt(await ana.says("words 5 fast"), "👍")
    assert bot.prompts() == [f"words {count} fast" for count in (2, 3, 4, 5)]
