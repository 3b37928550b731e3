"""Telegram as a journey needs it: the twin with its people, and a beambot that can be started again and again."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import yaml

from beambot.api import Clock, PluginContext
from beambot.clock import RandomIds, SystemClock
from beambot.model.bodies import AskOption, PermissionRequest, Result, TextDelta, ToolEnded, ToolStarted
from beambot.testing.scripted import Emit, Script, WaitAnswer
from beambot.testing.world import World
from platforms.telegram import Settings, create
from platforms.telegram.twin import Chat, Message, Person, Twin
from platforms.telegram.twin import Settings as TwinSettings
from tests.journeys.conftest import House as ProcessHouse

PATIENCE = 15.0
TOKEN_ENV = "TELEGRAM_TWIN_TOKEN"
OPTIONS = (AskOption("yes-1", "Allow", "allow_once"), AskOption("no-1", "Deny", "reject_once"))


def asking(command: str = "pytest -q", *, ask: str = "a1") -> Script:
    """A turn that says something, asks for one command, and says how it ended."""
    wants = PermissionRequest(
        ask, command, kind="execute", name="bash", tool="t1", input={"command": command}, options=OPTIONS
    )
    return [
        Emit(TextDelta("I will run the **tests**.")),
        Emit(ToolStarted("t1", "bash", title=command, kind="execute")),
        Emit(wants),
        WaitAnswer(ask),
        Emit(ToolEnded("t1")),
        Emit(TextDelta("That was it.")),
        Emit(Result()),
    ]


def answering(*words: str) -> Script:
    """A turn that says this, piece by piece."""
    return [*(Emit(TextDelta(word)) for word in words), Emit(Result())]


class QuickClock:
    """Time that runs so many times as fast: a minute is waited for in seconds."""

    def __init__(self, times: float) -> None:
        self._times = times
        self._from = (time.time(), time.monotonic())

    def now(self) -> float:
        return self._from[0] + (time.monotonic() - self._from[1]) * self._times

    def monotonic(self) -> float:
        return self.now()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(max(0.0, seconds) / self._times)


class House:
    """A twin, its people, and a beambot that can be started several times in the same folder."""

    def __init__(self, twin: Twin, folder: Path, clock: Clock) -> None:
        self.twin = twin
        self.folder = folder
        self.clock = clock
        self.owner = twin.person("Ana", 1)
        self.approver = twin.person("Bo", 2)
        self.participant = twin.person("Cy", 3)
        self.observer = twin.person("Di", 4)
        self.stranger = twin.person("Eve", 9)

    @asynccontextmanager
    async def beambot(
        self, script: Script | Sequence[Script] = (), *, telegram: dict[str, Any] | None = None, **world: Any
    ) -> AsyncIterator[World]:
        """One run; `telegram` are settings of the platform, the rest is for the world."""
        twin = self.twin
        settings = Settings(
            token=twin.token, base_url=twin.base_url, base_file_url=twin.base_file_url, **(telegram or {})
        )
        context = PluginContext(home=self.folder / "telegram", clock=self.clock, ids=RandomIds())
        platform = create(settings, context)
        try:
            async with World(self.folder, script, clock=self.clock, platforms=[platform], **world) as running:
                yield running
        finally:
            await platform.close()

    async def until(self, seen: Callable[[], object], chat: Chat, *, seconds: float = PATIENCE) -> None:
        """Wait until something is so; what stands in the chat is shown when it is not."""
        await self.twin.until(seen, seconds=seconds, what=lambda: f"\n{self.twin.transcript(chat)}")

    async def sees(self, chat: Chat, text: str, *, seconds: float = PATIENCE) -> Message:
        """Wait until a message of the bot says this; the message."""

        def found() -> Message | None:
            return next((one for one in reversed(by_bot(self.twin, chat)) if text in one.text), None)

        await self.until(found, chat, seconds=seconds)
        message = found()
        assert message is not None
        return message

    async def reacts(self, message: Message, emoji: str) -> None:
        """Wait for the bot's reaction at somebody's message."""
        await self.until(lambda: reaction(self.twin, message) == emoji, message.chat)


@asynccontextmanager
async def telegram(
    folder: Path, *, times: float = 1.0, limits: Any = None, **settings: Any
) -> AsyncIterator[House]:
    """A twin with its people. With `times`, its time and beambot's run so many times as fast."""
    clock: Clock = SystemClock() if times == 1.0 else QuickClock(times)
    async with Twin(clock=clock, limits=limits, settings=TwinSettings(**settings)) as twin:
        yield House(twin, folder, clock)


class TelegramProcess(ProcessHouse):
    """A real `beambot up` whose Telegram is a twin in this process."""

    def __init__(self, folder: Path, twin: Twin) -> None:
        super().__init__(folder)
        self.twin = twin
        self.env = {TOKEN_ENV: twin.token}

    def _write_config(self) -> None:
        super()._write_config()
        settings = yaml.safe_load(self.config.read_text())
        settings["platforms"]["telegram"] = {
            "token_env": TOKEN_ENV,
            "base_url": self.twin.base_url,
            "base_file_url": self.twin.base_file_url,
        }
        settings["members"][0]["telegram"] = 1
        settings["members"][1]["telegram"] = 2
        self.config.write_text(yaml.safe_dump(settings))


def by_bot(twin: Twin, chat: Chat) -> list[Message]:
    """What the bot said and what still stands."""
    return [message for message in chat.standing if message.sender is twin.bot]


def reaction(twin: Twin, message: Message) -> str:
    """What the bot's reaction is."""
    return "".join(message.reactions.get(twin.bot.id, ()))


def said(twin: Twin, chat: Chat) -> str:
    """All words of the bot, in their order."""
    return "\n".join(message.text for message in by_bot(twin, chat))


def posted(twin: Twin, person: Person, text: str) -> int:
    """How many standing messages of a private chat say this."""
    return sum(text in message.text for message in by_bot(twin, person.chat))
