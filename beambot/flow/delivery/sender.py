"""How a message comes to stand in a chat: posted, edited, streamed by the chat's own means, or sent as a file."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, TypeVar

import anyio
from msgspec import Struct
from msgspec.structs import replace

from beambot.errors import MessageGone, PlatformError, Refused, StreamEnded, Unreachable
from beambot.log import get_logger
from beambot.model.capabilities import CallKind
from beambot.model.ids import MessageRef, ThreadRef
from beambot.model.outbound import Notice, Outgoing, plain_text
from beambot.model.ports import ChatPlatform, Clock, OpenStream, Streaming
from beambot.store import Store
from beambot.store.records import OutboxRow, content_hash

log = get_logger("delivery")

# A stream is left before the chat ends it.
_LIFETIME = 0.9
T = TypeVar("T")
Key = tuple[ThreadRef, str]


class Caller(Protocol):
    """Makes one call to the chat, within its pace."""

    async def __call__(
        self, thread: ThreadRef, call: Callable[[], Awaitable[T]], kind: CallKind, message: str = ""
    ) -> T: ...


class _Stream(Struct, frozen=True):
    """One that is open, and when it has to be left."""

    opened: OpenStream
    leave_at: float


class Sender:
    """One for each lane. Knows which messages stand, which are streams, which were posted but not yet noted."""

    def __init__(
        self,
        platform: ChatPlatform,
        store: Store,
        clock: Clock,
        call: Caller,
        on_unsure: Callable[[OutboxRow, bool], None],
    ) -> None:
        self._platform = platform
        self._store = store
        self._clock = clock
        self._call = call
        self._on_unsure = on_unsure
        self._posted: dict[Key, str] = {}
        self._streams: dict[Key, _Stream] = {}
        self._by_edits: set[Key] = set()

    async def stand(
        self,
        thread: ThreadRef,
        outgoing: Outgoing,
        *,
        row: OutboxRow | None = None,
        known: str = "",
        begin: bytes = b"",
        live: bool = False,
    ) -> str:
        """Make the message stand in the chat; gives its id.

        `begin` is where its page begins. A `live` one still grows, and is not hashed into the store: what is sealed
        is, and that is what a restart compares.
        """
        key = (thread, outgoing.key)
        digest = content_hash(outgoing) if not live else ""
        if outgoing.file is None and (live or key in self._streams):
            streamed = await self._streamed(key, outgoing, begin, digest, live=live, fresh=not known)
            if streamed is not None:
                return streamed
        known = known or self._posted.get(key, "")
        if not known and (shown := await self._store.shown.get(thread, outgoing.key)) is not None:
            if outgoing.file is not None or (digest and shown.hash == digest):
                return shown.message
            known = shown.message
        if known:
            ref = MessageRef(thread, known)
            try:
                await self._rich_or_plain(
                    thread, outgoing, lambda message: self._platform.edit(ref, message), "edit", known
                )
            except MessageGone:
                self._posted.pop(key, None)
                await self._store.shown.remove(thread, outgoing.key)
            else:
                if digest:
                    await self._store.shown.put(thread, outgoing.key, known, digest, begin)
                return known
        message = await self._post(thread, outgoing, row)
        # Until the store has it, this is what keeps the message from being posted a second time.
        self._posted[key] = message
        await self._store.shown.put(thread, outgoing.key, message, digest, begin)
        del self._posted[key]
        return message

    # ── posts ────────────────────────────────────────────────────────────────────────────────────

    async def _post(self, thread: ThreadRef, outgoing: Outgoing, row: OutboxRow | None) -> str:
        """A post whose answer is lost may stand twice when it is repeated: that is noted before, not after."""
        noted = row is not None and not self._platform.capabilities.dedupes_posts
        if row is not None and noted and not row.uncertain:
            await self._store.outbox.mark(row.id, uncertain=True)
        try:
            if outgoing.file is not None:
                ref = await self._upload(thread, outgoing)
            else:
                ref = await self._rich_or_plain(
                    thread, outgoing, lambda message: self._platform.post(thread, message), "post"
                )
        except PlatformError as error:
            if row is not None and noted:
                unsure = row.uncertain or (isinstance(error, Unreachable) and error.maybe_done)
                await self._store.outbox.mark(row.id, uncertain=unsure)
                self._on_unsure(row, unsure)
            raise
        return ref.message

    async def _upload(self, thread: ThreadRef, outgoing: Outgoing) -> MessageRef:
        file = outgoing.file
        assert file is not None
        path = anyio.Path(file.path)
        if not await path.exists():
            words = f"The file {file.name} was to stand here, but it is gone from the machine."
            return await self._call(thread, lambda: self._platform.post(thread, _said(outgoing, words)), "post")
        caption = plain_text(outgoing)
        ref = await self._call(
            thread, lambda: self._platform.upload(thread, Path(file.path), file.name, caption), "post"
        )
        if file.temporary:
            await path.unlink(missing_ok=True)
        return ref

    async def _rich_or_plain(
        self,
        thread: ThreadRef,
        outgoing: Outgoing,
        send: Callable[[Outgoing], Awaitable[T]],
        kind: CallKind,
        message: str = "",
    ) -> T:
        try:
            return await self._call(thread, lambda: send(outgoing), kind, message)
        except Refused as refusal:
            log.warning("sent as plain text", thread=thread.key, why=str(refusal))
            return await self._call(thread, lambda: send(replace(outgoing, plain=True)), kind, message)

    # ── streams ──────────────────────────────────────────────────────────────────────────────────

    def is_leaving(self, thread: ThreadRef, key: str) -> bool:
        """Whether the stream of this message has to be left: its text goes on in a new one."""
        stream = self._streams.get((thread, key))
        return stream is not None and self._clock.monotonic() >= stream.leave_at

    async def _streamed(
        self, key: Key, outgoing: Outgoing, begin: bytes, digest: str, *, live: bool, fresh: bool
    ) -> str | None:
        """The message's id where the chat's own stream took it. None: it goes by posts and edits."""
        platform: object = self._platform
        if not isinstance(platform, Streaming):
            return None
        stream = self._streams.get(key)
        try:
            if stream is None:
                return await self._open(platform, key, outgoing, begin) if live and fresh else None
            if live and self._clock.monotonic() < stream.leave_at:
                await self._call(key[0], lambda: platform.append_stream(stream.opened, outgoing), "append")
                return stream.opened.message
            ref = await self._call(key[0], lambda: platform.close_stream(stream.opened, outgoing), "append")
        except (StreamEnded, Refused, MessageGone) as ended:
            log.info("a stream of the chat ended", thread=key[0].key, why=str(ended))
            self._streams.pop(key, None)
            self._by_edits.add(key)
            if stream is not None and stream.opened.message:
                self._posted[key] = stream.opened.message
            return None
        del self._streams[key]
        self._by_edits.add(key)
        await self._store.shown.put(key[0], key[1], ref.message, digest, begin)
        return ref.message

    async def _open(self, platform: Streaming, key: Key, outgoing: Outgoing, begin: bytes) -> str | None:
        limits = platform.stream_limits(key[0])
        if limits is None or key in self._by_edits or await self._store.shown.get(*key) is not None:
            return None
        opened = await self._call(key[0], lambda: platform.open_stream(key[0], outgoing), "append")
        self._streams[key] = _Stream(opened, self._clock.monotonic() + limits.seconds * _LIFETIME)
        if opened.message:
            await self._store.shown.put(key[0], key[1], opened.message, "", begin)
        return opened.message

    def forget(self, thread: ThreadRef) -> None:
        """Nothing more is sent there: its streams are left to end by themselves."""
        self._streams = {key: stream for key, stream in self._streams.items() if key[0] != thread}


def _said(outgoing: Outgoing, words: str) -> Outgoing:
    return replace(outgoing, blocks=(*outgoing.blocks, Notice(words, level="warning")), file=None)
