"""Streams of Telegram's own: a draft that grows in a private chat, and becomes a message at its end.

A draft lives for 30 seconds and is forgotten when the bot says something else there: each call shows it anew.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio
from msgspec import Struct
from msgspec.structs import replace

from beambot.api import (
    Inbox,
    MessageRef,
    OpenStream,
    Outgoing,
    PlatformError,
    PluginContext,
    Refused,
    RetryAfter,
    StreamEnded,
    StreamLimits,
    ThreadRef,
    get_logger,
)
from platforms.telegram import Settings
from platforms.telegram.calling.failures import TokenRejected
from platforms.telegram.client import Answered
from platforms.telegram.inbound import is_private, topic_of
from platforms.telegram.outbound import Json, payload
from platforms.telegram.platform import TelegramPlatform
from platforms.telegram.rich import rich_payload

# A draft is shown again when nothing has been added for so long.
ALIVE_SECONDS = 20.0
_LONGEST = 3600.0
_log = get_logger("telegram")


class _Draft(Struct):
    """One that is open: what it shows, and since when."""

    stream: OpenStream
    message: Outgoing
    at: float
    closing: bool = False


class DraftingPlatform(TelegramPlatform):
    """The same bot, with drafts in private chats."""

    def __init__(self, settings: Settings, context: PluginContext) -> None:
        super().__init__(settings, context)
        self.capabilities = self._with(native_stream=True)
        self._drafts: dict[str, _Draft] = {}
        self._drafting = True
        self._taken = False
        self._next = int(context.clock.now()) % 1_000_000_000

    async def run(self, inbox: Inbox, ready: Callable[[], None]) -> None:
        """As without drafts, and keep them alive."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._keep_alive)
            await super().run(inbox, ready)

    def stream_limits(self, thread: ThreadRef) -> StreamLimits | None:
        """Only in private chats, and only while the server takes drafts."""
        good = self._drafting and is_private(thread.chat) and not thread.thread.startswith("r")
        return StreamLimits(_LONGEST) if good else None

    async def open_stream(self, thread: ThreadRef, message: Outgoing) -> OpenStream:
        """A draft stands as no message yet."""
        if self.stream_limits(thread) is None:
            raise StreamEnded("there are no drafts here")
        self._next += 1
        stream = OpenStream(thread, str(self._next))
        await self._show(stream, message)
        self._drafts[stream.handle] = _Draft(stream, message, self.context.clock.monotonic())
        return stream

    async def append_stream(self, stream: OpenStream, message: Outgoing) -> None:
        """The draft as it is now."""
        draft = self._drafts.get(stream.handle)
        if draft is None or not self._drafting:
            self._drafts.pop(stream.handle, None)
            raise StreamEnded("the draft is over")
        try:
            await self._show(stream, message)
        except StreamEnded:
            self._drafts.pop(stream.handle, None)
            raise
        draft.message, draft.at = message, self.context.clock.monotonic()

    async def close_stream(self, stream: OpenStream, message: Outgoing) -> MessageRef:
        """A message in the place of the draft, which it ends."""
        draft = self._drafts.get(stream.handle)
        if draft is None:
            raise StreamEnded("the draft is over")
        draft.closing = True
        try:
            ref = await self.post(stream.thread, message)
        except BaseException:
            draft.closing = False
            raise
        self._drafts.pop(stream.handle, None)
        return ref

    async def _show(self, stream: OpenStream, message: Outgoing) -> None:
        try:
            await self._send(stream, message)
            self._taken = True
        except RetryAfter:
            if self.settings.stream == "auto":
                # Drafts earn long waits: from here on it goes by edits.
                self._give_up("there were too many")
            raise
        except (Refused, TokenRejected) as error:
            # A server that has taken drafts before dislikes only what stands in this one.
            if isinstance(error, TokenRejected) or not self._taken:
                self._give_up(error.message)
            raise StreamEnded(f"the draft was not taken: {error.message}") from None

    def _give_up(self, why: str) -> None:
        self._drafting = False
        _log.warning("drafts are off for this run", why=why)

    async def _send(self, stream: OpenStream, message: Outgoing) -> None:
        client = await self.client()
        number, topic = int(stream.handle), topic_of(stream.thread)
        bare = replace(message, buttons=(), wants_reply="")
        more: Json = {"message_thread_id": topic} if topic else {}
        more["can_stop"] = True
        if self._is_rich(bare):
            arguments: Json = {"draft_id": number, "rich_message": rich_payload(bare)["rich_message"], **more}
            try:
                await client.ask(
                    stream.thread.chat,
                    lambda chat: client.bot.do_api_request(
                        "sendRichMessageDraft", api_kwargs={"chat_id": chat, **arguments}
                    ),
                )
                return
            except Answered as answer:
                self._rich_refused(client, answer)
        drawn = payload(bare)
        text = str(drawn.pop("text"))
        if "entities" in drawn:
            more["entities"] = drawn["entities"]
        await client.in_chat(
            stream.thread.chat,
            lambda chat: client.bot.send_message_draft(chat, number, text, api_kwargs=dict(more)),
        )

    async def _keep_alive(self) -> None:
        while True:
            await self.context.clock.sleep(ALIVE_SECONDS / 4)
            now = self.context.clock.monotonic()
            for draft in [
                one for one in self._drafts.values() if now - one.at >= ALIVE_SECONDS and not one.closing
            ]:
                draft.at = now
                try:
                    await self._send(draft.stream, draft.message)
                except PlatformError as error:
                    _log.info("a draft fades", thread=draft.stream.thread.key, why=error.message)
