"""The stream of one session: the client's messages become it, calls of `can_use_tool` wait in it for a person."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import anyio
import anyio.abc
from claude_agent_sdk import (
    ClaudeSDKClient,
    CLIConnectionError,
    HookContext,
    HookInput,
    HookJSONOutput,
    PermissionResult,
    PermissionUpdate,
    ProcessError,
    ToolPermissionContext,
)

from adapters.agent_sdk.reading.asks import Asked
from adapters.agent_sdk.translate import Translator
from beambot.api import Answer, Clock, IdSource, UnifiedMessage, get_logger

BUFFER_MESSAGES = 10_000
# Work that nobody prompted may have no end of its own: after so long without news it is over.
QUIET = 5.0
_log = get_logger("agent_sdk")


class Talk:
    """One reader of the client, one reader of the stream. Nothing precedes the session's beginning."""

    def __init__(self, translator: Translator, clock: Clock, ids: IdSource) -> None:
        self.translator = translator
        self.opening = True
        self.closing = False
        self.over = False
        self._clock = clock
        self._ids = ids
        self._queue: deque[UnifiedMessage] = deque()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._read_on = asyncio.Event()
        self._replies: dict[str, asyncio.Future[PermissionResult]] = {}
        self._prompts: dict[str, asyncio.Event] = {}
        self._held: list[UnifiedMessage] = []
        self._watching = False
        self._loose_news = 0

    # ── the stream ───────────────────────────────────────────────────────────────────────────────────

    async def messages(self) -> AsyncIterator[UnifiedMessage]:
        """Everything, in order, until it is over."""
        queue = self._queue
        while True:
            while queue:
                yield queue.popleft()
            if self.over:
                return
            self._room.set()
            self._news.clear()
            await self._news.wait()

    def emit(self, messages: list[UnifiedMessage]) -> None:
        """More of the stream."""
        if self.opening:
            self._held += messages
        elif messages and not self.over:
            self._queue.extend(messages)
            self._news.set()

    def begin(self, first: list[UnifiedMessage]) -> None:
        """The session stands."""
        self.opening = False
        held, self._held = self._held, []
        self.emit([*first, *held])

    def end(self, last: list[UnifiedMessage]) -> None:
        """Nothing follows."""
        self.emit(last)
        self.over = True
        self._news.set()
        for taken in self._prompts.values():
            taken.set()

    def let_go(self) -> None:
        """Read on even though nobody takes what was read: the session closes."""
        self.closing = True
        self._room.set()

    def expect(self, *words: str) -> asyncio.Event:
        """Set when the program speaks of this prompt, or has ended. To be called before it is written."""
        event = asyncio.Event()
        if self.over:
            event.set()
        for word in words:
            self._prompts[word] = event
        return event

    # ── reading the client ───────────────────────────────────────────────────────────────────────────

    async def run(self, client: ClaudeSDKClient) -> None:
        """Until the program is gone."""
        async with anyio.create_task_group() as group:
            while await self._follow(client, group):
                pass
            group.cancel_scope.cancel()

    async def _follow(self, client: ClaudeSDKClient, group: anyio.abc.TaskGroup) -> bool:
        """False: it is over. True: one message could not be read, and the next one may."""
        try:
            async with aclosing(client.receive_messages()) as messages:  # type: ignore[type-var]
                async for message in messages:
                    self.emit(self.translator.read(message))
                    self._heed(group)
                    while not self.closing and len(self._queue) > BUFFER_MESSAGES:
                        self._room.clear()
                        await self._room.wait()
        except (ProcessError, CLIConnectionError, anyio.ClosedResourceError):
            return False
        except Exception as error:
            _log.warning("a message of the agent could not be read", error=repr(error))
            data = getattr(error, "data", None)
            kind = data.get("type") if isinstance(data, dict) else "unreadable"
            self.emit(self.translator.strange(str(kind), data or repr(error)))
            return True
        return False

    def _heed(self, group: anyio.abc.TaskGroup) -> None:
        translator = self.translator
        if translator.heard:
            for word in translator.heard:
                if (event := self._prompts.pop(word, None)) is not None:
                    event.set()
            translator.heard.clear()
        if translator.reached:
            self._read_on.set()
        if translator.loose:
            self._loose_news += 1
            if not self._watching:
                self._watching = True
                group.start_soon(self._settle_when_quiet)

    async def _settle_when_quiet(self) -> None:
        seen = -1
        while self.translator.loose and (seen != self._loose_news or not self.translator.quiet):
            seen = self._loose_news
            await self._clock.sleep(QUIET)
        self._watching = False
        self.emit(self.translator.settle())

    # ── what the client calls ────────────────────────────────────────────────────────────────────────

    async def may(self, name: str, given: dict[str, Any], context: ToolPermissionContext) -> PermissionResult:
        """Wait for a person, as long as it takes. The client cancels this when the agent asks no more."""
        tool = context.tool_use_id or ""
        await self._place(tool)
        request = self._ids.new(24)
        reply: asyncio.Future[PermissionResult] = asyncio.get_running_loop().create_future()
        self._replies[request] = reply
        asked = Asked(
            request,
            name,
            given,
            tool,
            agent=context.agent_id or "",
            description=context.description or "",
            reason=context.decision_reason or "",
            blocked_path=context.blocked_path or "",
            suggestions=tuple(found for one in context.suggestions if (found := _suggestion(one))),
        )
        self.emit(self.translator.asked(asked))
        try:
            return await reply
        finally:
            del self._replies[request]
            self.emit(self.translator.withdrawn(request))

    def answered(self, answer: Answer) -> bool:
        """A person's word. False: that ask is not open."""
        found = self.translator.answered(answer)
        if found is None:
            return False
        request, result, messages = found
        self.emit(messages)
        reply = self._replies.get(request)
        if reply is not None and not reply.done():
            reply.set_result(result)
        return True

    async def hook(self, event: str, given: HookInput, tool: str | None, context: HookContext) -> HookJSONOutput:
        """A hook that the configuration asked for: told, and the work goes on."""
        self.emit(self.translator.hooked(event, dict(given)))
        return {}

    async def _place(self, tool: str) -> None:
        """The client calls ahead of what it was told before: wait until that was read."""
        reached = self.translator.reached
        while not reached[tool]:
            self._read_on.clear()
            await self._read_on.wait()
        reached[tool] -= 1
        if not reached[tool]:
            del reached[tool]


def _suggestion(update: PermissionUpdate) -> dict[str, Any]:
    try:
        return update.to_dict()
    except ValueError:
        return {}
