"""The twin itself: one bot, its server, its world, and the people in it."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from types import TracebackType

import anyio
import msgspec

from beambot.api import Clock
from platforms.telegram.twin.call import Call
from platforms.telegram.twin.faults import Fault, Faults
from platforms.telegram.twin.limits import Limits, Meter
from platforms.telegram.twin.people.person import Person, Press
from platforms.telegram.twin.people.transcript import transcript
from platforms.telegram.twin.server import Server
from platforms.telegram.twin.settings import TOKEN, Settings
from platforms.telegram.twin.updates.queue import Updates
from platforms.telegram.twin.updates.webhook import Webhook
from platforms.telegram.twin.world.values import Chat, Draft, Json, User
from platforms.telegram.twin.world.world import World

CALLS_KEPT = 100_000


class RealClock:
    """The machine's own time, where nothing else is asked for."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that only ever grow."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await anyio.sleep(max(0.0, seconds))


class Twin:
    """A Telegram on this machine. `async with Twin() as twin:` and give `twin.base_url` to the bot's library."""

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        token: str = TOKEN,
        limits: Limits | None = None,
        settings: Settings | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self.settings = settings or Settings(token=token)
        self.clock: Clock = clock or RealClock()
        bot_id = int(self.settings.token.partition(":")[0])
        bot = User(bot_id, self.settings.name, self.settings.username, is_bot=True)
        self.world = World(self.clock, bot)
        self.updates = Updates(self.clock)
        self.webhook = Webhook(self.updates, self.clock)
        self.meter = Meter(limits or Limits(), self.clock)
        self.faults = Faults()
        self.calls: deque[tuple[float, Call]] = deque(maxlen=CALLS_KEPT)
        self.presses: dict[str, Press] = {}
        self.commands: dict[str, list[Json]] = {}
        self.menu_button: Json = {"type": "commands"}
        self.described: dict[str, str] = {}
        self.people: list[Person] = []
        self.server = Server(self, host, port)
        self._pushing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Twin:
        await self.server.start()
        # A task and no task group: a test fixture enters and leaves in different tasks.
        self._pushing = asyncio.create_task(self.webhook.run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.server.stop()
        if self._pushing is not None:
            self._pushing.cancel()
            with suppress(asyncio.CancelledError):
                await self._pushing

    # ── where it is ──────────────────────────────────────────────────────────────────────────────────

    @property
    def token(self) -> str:
        """The bot's token."""
        return self.settings.token

    @property
    def base_url(self) -> str:
        """What python-telegram-bot takes as `base_url`."""
        return f"http://{self.server.host}:{self.server.port}/bot"

    @property
    def base_file_url(self) -> str:
        """What python-telegram-bot takes as `base_file_url`."""
        return f"http://{self.server.host}:{self.server.port}/file/bot"

    # ── people and chats ─────────────────────────────────────────────────────────────────────────────

    @property
    def bot(self) -> User:
        """The bot as a user."""
        return self.world.bot

    def person(
        self, name: str, id: int = 0, *, username: str = "", last_name: str = "", language: str = "en"
    ) -> Person:
        """Somebody who has not written to the bot yet."""
        user = User(id or 1000 + len(self.world.users), name, username, last_name, language)
        person = Person(self, self.world.add_user(user))
        self.people.append(person)
        return person

    def group(self, title: str, *people: Person, kind: str = "supergroup", forum: bool = False) -> Chat:
        """A group of these people, the first of them its creator, with the bot in it from the start."""
        return self.world.group(title, [*(one.user for one in people), self.bot], kind=kind, forum=forum)

    def forum(self, title: str, *people: Person, admin: bool = True) -> Chat:
        """A supergroup with topics, in which the bot may manage them."""
        chat = self.group(title, *people, forum=True)
        member = chat.members[self.bot.id]
        if admin:
            member.status, member.may_manage_topics = "administrator", True
        return chat

    def channel(self, title: str, *people: Person) -> Chat:
        """A channel in which the bot may post."""
        chat = self.group(title, *people, kind="channel")
        chat.members[self.bot.id].status = "administrator"
        return chat

    # ── drafts ───────────────────────────────────────────────────────────────────────────────────────

    def end_drafts(self, chat: Chat, topic: int) -> None:
        """A normal message ends the drafts of its topic."""
        for draft in [one for one in chat.drafts.values() if one.topic == topic]:
            del chat.drafts[draft.id]

    def drafts(self, chat: Chat) -> list[Draft]:
        """The drafts that can still be seen."""
        now = self.clock.monotonic()
        for draft in [one for one in chat.drafts.values() if one.until <= now]:
            del chat.drafts[draft.id]
        return list(chat.drafts.values())

    # ── trouble ──────────────────────────────────────────────────────────────────────────────────────

    def fail(self, kind: str, method: str = "", **more: object) -> None:
        """Plan a fault in one line."""
        self.faults.add(msgspec.convert({"kind": kind, "method": method, **more}, Fault))

    def freeze(self, chat: Chat, seconds: float) -> None:
        """Answer 429 to everything in a chat for a while."""
        self.meter.freeze(chat, seconds)

    @property
    def refusals(self) -> int:
        """How many 429s the bot has earned."""
        return len(self.meter.refused)

    async def down(self) -> None:
        """Telegram is out of reach: connections break and new ones are refused."""
        await self.server.down()

    async def up(self) -> None:
        """Telegram is back, at the same address."""
        await self.server.up()

    @asynccontextmanager
    async def away(self) -> AsyncIterator[None]:
        """Out of reach for as long as a block runs."""
        await self.down()
        try:
            yield
        finally:
            await self.up()

    async def outage(self, seconds: float) -> None:
        """Out of reach for so long, by the clock."""
        async with self.away():
            await self.clock.sleep(seconds)

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────

    async def until(
        self, true: Callable[[], object], *, seconds: float = 5.0, what: str | Callable[[], str] = ""
    ) -> None:
        """Wait, in real time, until something holds."""
        await self.world.until(true, seconds=seconds, what=what)

    def transcript(self, chat: Chat, *, topic: int | None = None, times: bool = True) -> str:
        """Everything that happened in a chat, step by step."""
        return transcript(chat, topic=topic, times=times)

    def called(self, method: str) -> list[Call]:
        """The calls of one method so far, also those that were refused."""
        return [call for _, call in self.calls if call.method.lower() == method.lower()]
