"""A model on loopback: agents are pointed at it, and it plays the script that stands in the prompt.

    async with ModelServer() as model:
        ...  # ANTHROPIC_BASE_URL=model.url
        await session.send(Prompt("one", script({"say": "hello"})))
        assert "hello" in model.requests[-1].text

Each wire that agents speak to models with is one module with a `routes(server)` of its own; `DIALECTS` lists them.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from aiohttp import web
from msgspec import Struct

from tests.model_server import anthropic
from tests.model_server.script import Conversation, Step, next_step

DIALECTS = (anthropic,)


class Seen(Struct, frozen=True):
    """A request that arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    conversation: Conversation

    @property
    def text(self) -> str:
        """All of it as one text, to look for words in."""
        return json.dumps(self.body, ensure_ascii=False)


class ModelServer:
    """One server, any number of agents. `requests` holds what arrived, oldest first."""

    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self._news = asyncio.Event()
        self._tries: Counter[str] = Counter()
        self.url = ""

    async def __aenter__(self) -> ModelServer:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        for dialect in DIALECTS:
            app.add_routes(dialect.routes(self))
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    # ── for tests ────────────────────────────────────────────────────────────────────────────────────

    async def until(self, wanted: Callable[[Seen], bool], patience: float = 20.0) -> Seen:
        """The first request that is wanted, also one that has arrived already."""
        async with asyncio.timeout(patience):
            while True:
                for seen in self.requests:
                    if wanted(seen):
                        return seen
                self._news.clear()
                await self._news.wait()

    # ── for dialects ─────────────────────────────────────────────────────────────────────────────────

    def seen(self, request: web.Request, body: dict[str, Any], conversation: Conversation) -> None:
        """Note what arrived."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append(Seen(request.path, headers, body, conversation))
        self._news.set()

    async def step(self, conversation: Conversation) -> Step:
        """What to answer, after the silence that the script wants; a trouble that is over is left out."""
        step, name = next_step(conversation)
        if step.wait:
            await asyncio.sleep(step.wait)
        if (step.error or step.cut) and step.times is not None:
            self._tries[name] += 1
            if self._tries[name] > step.times:
                return _healed(step)
        return step


def _healed(step: Step) -> Step:
    return Step(
        think=step.think,
        say=step.say or ("" if step.words or step.tools or step.markdown else "It works again."),
        words=step.words,
        pause=step.pause,
        markdown=step.markdown,
        tools=step.tools,
    )
