"""The web platform and the fake one keep what every platform keeps."""

from __future__ import annotations

import contextlib
import html
import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import aiohttp
import anyio
import pytest

from beambot.api import MessageRef, ThreadRef
from beambot.model.inbound import PressIn, TextIn
from beambot.testing.clock import FakeClock
from beambot.testing.platform import FakePlatform
from beambot.testing.platform_contract import PlatformContract, PlatformHarness, RecordingInbox


def plain(message: dict[str, Any]) -> str:
    """What a person reads of a message that the page was sent."""
    parts = [re.sub(r"<[^>]*>", "", "".join(block["html"])) for block in message["blocks"] if "html" in block]
    return html.unescape("\n".join(parts)).strip()


class WebHarness(PlatformHarness):
    def __init__(self, stage: Any, session: aiohttp.ClientSession, thread: ThreadRef) -> None:
        self.stage = stage
        self.session = session
        self.platform = stage.platform
        self.inbox = stage.inbox
        self.thread = thread
        self.missing_thread = ThreadRef("web", "nosuchthread")
        self.last: dict[str, Any] = {}
        self.count = 0

    async def _send(self, frame: dict[str, Any]) -> None:
        async with self.session.ws_connect("/ws") as ws:
            await ws.send_json(frame)
            async for message in ws:
                if message.json()["t"] == "ok":
                    return

    async def _new(self, frame: dict[str, Any]) -> None:
        self.count += 1
        self.last = {"id": f"client-{self.count:04}", "thread": self.thread.chat, **frame}
        await self._send(self.last)

    async def say(self, text: str) -> None:
        await self._new({"t": "say", "text": text})

    async def press(self, ref: MessageRef, data: str) -> None:
        await self._new({"t": "press", "message": ref.message, "data": data})

    async def repeat(self) -> None:
        await self._send(self.last)

    async def shown(self, thread: ThreadRef) -> list[tuple[MessageRef, str]]:
        async with self.session.ws_connect("/ws") as ws:
            await ws.send_json({"t": "open", "thread": thread.chat})
            async for message in ws:
                frame = message.json()
                if frame["t"] == "snapshot":
                    posts = [one for one in frame["messages"] if one["kind"] == "post"]
                    return [(MessageRef(thread, str(one["id"])), plain(one)) for one in posts]
        raise AssertionError("no snapshot came")

    async def stop(self) -> None:
        await self.stage.stop()


class TestWebKeepsTheContract(PlatformContract):
    @pytest.fixture(autouse=True)
    def _with(self, stage: Any) -> None:
        self.stage = stage
        stage.inbox = RecordingInbox()

    @contextlib.asynccontextmanager
    async def _web(self) -> AsyncIterator[PlatformHarness]:
        await self.stage.stop()
        await self.stage.start()
        async with self.stage.client() as session:
            yield WebHarness(self.stage, session, await self.stage.thread())

    def harness(self) -> AbstractAsyncContextManager[PlatformHarness]:
        return self._web()


class FakeHarness(PlatformHarness):
    neutralises_direction = False

    def __init__(self, scope: anyio.CancelScope, done: anyio.Event) -> None:
        self.scope = scope
        self.done = done
        self.fake = FakePlatform(FakeClock())
        self.platform = self.fake
        self.inbox = RecordingInbox()
        self.thread = self.fake.thread()

    async def say(self, text: str) -> None:
        await self.fake.says(text)

    async def press(self, ref: MessageRef, data: str) -> None:
        await self.fake.press_data(ref, data)

    async def repeat(self) -> None:
        last = self.inbox.puts[-1]
        assert isinstance(last.body, TextIn | PressIn)
        await self.fake.receive(last.body, last.sender.id, last.thread, last.update)

    async def shown(self, thread: ThreadRef) -> list[tuple[MessageRef, str]]:
        return [
            (ref, text) for (ref, _), text in zip(self.fake.messages(thread), self.fake.screen(thread), strict=True)
        ]

    async def stop(self) -> None:
        self.scope.cancel()
        await self.done.wait()


class TestFakeKeepsTheContract(PlatformContract):
    @contextlib.asynccontextmanager
    async def _fake(self) -> AsyncIterator[PlatformHarness]:
        async with anyio.create_task_group() as tasks:
            done = anyio.Event()
            scope = anyio.CancelScope()
            harness = FakeHarness(scope, done)

            async def run() -> None:
                with scope:
                    await harness.fake.run(harness.inbox, lambda: None)
                done.set()

            tasks.start_soon(run)
            yield harness
            tasks.cancel_scope.cancel()

    def harness(self) -> AbstractAsyncContextManager[PlatformHarness]:
        return self._fake()
