"""The real web platform with a core that only records, and ways to reach it."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest

from beambot.api import Inbound, MessageRef, Outgoing, PluginContext, ThreadRef
from beambot.api import outbound as out
from platforms.web import Settings
from platforms.web.platform import WebPlatform


class MovableClock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds


class Ids:
    """Real chance."""

    def new(self, length: int = 16) -> str:
        letters = "abcdefghijklmnopqrstuvwxyz0123456789"
        return "".join(secrets.choice(letters) for _ in range(length))


class RecordingInbox:
    """A core that writes down and does nothing else. Repeats are recognised as the real one does."""

    def __init__(self) -> None:
        self.items: list[Inbound] = []
        self.puts = 0
        self.on_put: Callable[[Inbound], Any] | None = None
        self._arrived = anyio.Event()

    async def put(self, inbound: Inbound) -> bool:
        self.puts += 1
        if self.on_put is not None:
            await self.on_put(inbound)
        if any(item.update == inbound.update for item in self.items):
            return False
        self.items.append(inbound)
        self._arrived.set()
        self._arrived = anyio.Event()
        return True

    async def wait(self, count: int = 1) -> Inbound:
        """The newest, once there are so many."""
        with anyio.fail_after(10):
            while len(self.items) < count:
                await self._arrived.wait()
        return self.items[-1]


class Stage:
    """A web platform in a folder, which can be stopped and started again."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.clock = MovableClock()
        self.inbox = RecordingInbox()
        self.port = 0
        self.commands: list[tuple[str, str]] = []

    async def start(self) -> None:
        settings = Settings(port=self.port)
        self.platform = WebPlatform(settings, PluginContext(home=self.home, clock=self.clock, ids=Ids()))
        self.platform.commands = self.commands
        ready = asyncio.Event()
        # A task and no task group: a fixture may start it and a test stop it.
        self._task = asyncio.create_task(self.platform.run(self.inbox, ready.set))
        with anyio.fail_after(10):
            await ready.wait()
        assert self.platform.doors is not None
        self.url = self.platform.doors.address
        self.port = int(self.url.rpartition(":")[2])

    async def stop(self) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        await self.platform.close()

    async def thread(self, title: str = "A thread") -> ThreadRef:
        return await self.platform.open_thread(ThreadRef("web", ""), title)

    async def post(self, thread: ThreadRef, *blocks: Any, key: str = "k", **more: Any) -> MessageRef:
        return await self.platform.post(thread, Outgoing(key, blocks, **more))

    async def edit(self, ref: MessageRef, *blocks: Any, key: str = "k", **more: Any) -> None:
        await self.platform.edit(ref, Outgoing(key, blocks, **more))

    @contextlib.asynccontextmanager
    async def client(self, *, signed_in: bool = True) -> AsyncIterator[aiohttp.ClientSession]:
        """An HTTP client with the headers of our own page."""
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(self.url, cookie_jar=jar, headers={"Origin": self.url}) as session:
            if signed_in:
                async with session.get(await self.platform.invitation()) as answer:
                    assert answer.status == 200
            yield session


def text(words: str, **more: Any) -> out.Markdown:
    """A block of agent text."""
    return out.Markdown(words, **more)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    stage = Stage(tmp_path / "web")
    await stage.start()
    try:
        yield stage
    finally:
        await stage.stop()


class TelegramStage:
    """A Telegram platform and its twin. The platform can be stopped and started again in the same folder."""

    def __init__(
        self, twin: Any, home: Path, settings: dict[str, Any], clock: Any, commands: tuple[Any, ...]
    ) -> None:
        from beambot.testing.platform_contract import RecordingInbox as Inbox

        self.twin = twin
        self.home = home
        self.settings = settings
        self.clock = clock
        self.commands = commands
        self.inbox = Inbox()
        self.ana = twin.person("Ana", 11, username="ana_k")
        self.bo = twin.person("Bo", 12)
        self._tasks: list[tuple[anyio.CancelScope, anyio.Event]] = []
        self.error: Exception | None = None

    def make(self) -> Any:
        from platforms import telegram

        settings = telegram.Settings(
            token=self.twin.token,
            base_url=self.twin.base_url,
            base_file_url=self.twin.base_file_url,
            **self.settings,
        )
        context = PluginContext(home=self.home, clock=self.clock, ids=Ids(), commands=self.commands)
        self.platform = telegram.create(settings, context)
        return self.platform

    async def start(self, tasks: anyio.abc.TaskGroup) -> None:
        platform = self.make()
        ready, scope, done = anyio.Event(), anyio.CancelScope(), anyio.Event()

        async def run() -> None:
            with scope:
                try:
                    await platform.run(self.inbox, ready.set)
                except* Exception as group:
                    self.error = group.exceptions[0]
                    ready.set()
            done.set()

        self._tasks.append((scope, done))
        tasks.start_soon(run)
        with anyio.fail_after(10):
            await ready.wait()

    async def stop(self) -> None:
        for scope, done in self._tasks:
            scope.cancel()
            await done.wait()
        self._tasks.clear()
        await self.platform.close()

    async def confirmed(self) -> None:
        """Wait until the platform has confirmed everything to Telegram."""
        await self.twin.until(lambda: not self.twin.updates.waiting, seconds=10, what="all updates confirmed")


@pytest.fixture
def telegram(tmp_path: Path) -> Callable[..., contextlib.AbstractAsyncContextManager[TelegramStage]]:
    """`async with telegram() as t:` gives a bot that runs; arguments are settings of the platform."""
    from beambot.clock import SystemClock
    from platforms.telegram.twin import UNLIMITED, Twin
    from platforms.telegram.twin import Settings as TwinSettings

    @contextlib.asynccontextmanager
    async def stage(
        *,
        run: bool = True,
        clock: Any = None,
        commands: tuple[Any, ...] = (),
        twin: Any = None,
        limits: Any = None,
        **settings: Any,
    ) -> AsyncIterator[TelegramStage]:
        async with Twin(limits=limits or UNLIMITED, settings=twin or TwinSettings()) as server:
            async with anyio.create_task_group() as tasks:
                stage = TelegramStage(server, tmp_path / "telegram", settings, clock or SystemClock(), commands)
                stage.tasks = tasks
                if run:
                    await stage.start(tasks)
                else:
                    stage.make()
                try:
                    yield stage
                finally:
                    await stage.stop()
                    tasks.cancel_scope.cancel()

    return stage
