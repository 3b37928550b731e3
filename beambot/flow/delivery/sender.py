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
from beambot.model.outbound import Footer, Notice, Outgoing, plain_text
from beambot.model.ports import ChatPlatform, Clock, OpenStream, Streaming
from beambot.store import Store
from beambot.store.records import OutboxRow, content_hash

log = get_logger("delivery")

# A stream is left before the chat ends it.
_LIFETIME = 0.9
# So often a post is made of which it is not known whether it stands.
_REPEATS = 3
UNSURE = "The chat did not confirm the first try: this may stand here twice."
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
        self._places: dict[Key, str] = {}
        # How often a post was made whose answer was lost.
        self._unknown: dict[Key, int] = {}

    async def stand(
        self,
        thread: ThreadRef,
        outgoing: Outgoing,
        *,
        row: OutboxRow | None = None,
        known: str = "",
        live: bool = False,
    ) -> str:
        """Make the message stand in the chat; gives its id, or nothing where that is not known yet.

        A `live` one still grows, and is not hashed into the store: what is sealed is, and that is what a restart
        compares.
        """
        key = (thread, outgoing.key)
        digest = content_hash(outgoing) if not live else ""
        if outgoing.file is None and (live or key in self._streams):
            streamed = await self._streamed(key, outgoing, digest, live=live, fresh=not known)
            if streamed is not None:
                return streamed
        known = known or self._posted.get(key, "")
        if not known and (shown := await self._store.shown.get(thread, outgoing.key)) is not None:
            if outgoing.file is not None or (digest and shown.hash == digest):
                return shown.message
            known = shown.message
        if known and outgoing.file is None:
            ref = MessageRef(thread, known)
            try:
                await self._rich_or_plain(
                    thread, outgoing, lambda message: self._platform.edit(ref, message), "edit", known
                )
            except MessageGone:
                self._posted.pop(key, None)
                await self._store.shown.remove(thread, outgoing.key)
                known = ""
        if not known:
            known = await self._post(thread, outgoing, row)
            if not known:
                return ""
            # Until the store has it, this is what keeps the message from being posted a second time.
            self._posted[key] = known
            await self._note(key, outgoing, known, digest)
        elif digest or key in self._posted or self._places.get(key) != outgoing.place:
            await self._note(key, outgoing, known, digest)
        return known

    async def _note(self, key: Key, outgoing: Outgoing, message: str, digest: str) -> None:
        """It stands, under this id; what is sealed needs to be remembered here no more."""
        await self._store.shown.put(*key, message, digest, outgoing.place)
        self._posted.pop(key, None)
        self._unknown.pop(key, None)
        if digest:
            self._places.pop(key, None)
            self._by_edits.discard(key)
        else:
            self._places[key] = outgoing.place

    def has_stream(self, thread: ThreadRef, key: str) -> bool:
        """Whether this message is a stream that is still open."""
        return (thread, key) in self._streams

    async def clean_up(self, outgoing: Outgoing) -> None:
        """A file that was ours is not needed any more."""
        if outgoing.file is not None and outgoing.file.temporary:
            await anyio.Path(outgoing.file.path).unlink(missing_ok=True)

    # ── posts ────────────────────────────────────────────────────────────────────────────────────

    async def _post(self, thread: ThreadRef, outgoing: Outgoing, row: OutboxRow | None) -> str:
        """A post whose answer is lost may stand twice when it is repeated: that is noted before, not after.

        It is not repeated for ever: a chat that takes and never answers would fill up. Gives nothing then.
        """
        key = (thread, outgoing.key)
        dedupes = self._platform.capabilities.dedupes_posts
        lost_before = self._unknown.get(key, 0)
        if lost_before and row is None and not dedupes:
            outgoing = replace(outgoing, blocks=(*outgoing.blocks, Footer(UNSURE)))
        if not dedupes and lost_before >= (_REPEATS if row is not None else _REPEATS - 1):
            log.error("a message may stand, but the chat never confirmed it", thread=thread.key, key=outgoing.key)
            return ""
        if row is not None and not dedupes and not row.uncertain:
            await self._store.outbox.mark(row.id, uncertain=True)
        try:
            if outgoing.file is not None:
                ref = await self._upload(thread, outgoing)
            else:
                ref = await self._rich_or_plain(
                    thread, outgoing, lambda message: self._platform.post(thread, message), "post"
                )
        except PlatformError as error:
            lost = isinstance(error, Unreachable) and error.maybe_done
            if lost:
                self._unknown[key] = lost_before + 1
            if row is not None and not dedupes:
                await self._store.outbox.mark(row.id, uncertain=row.uncertain or lost)
                self._on_unsure(row, row.uncertain or lost)
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
        return await self._call(
            thread, lambda: self._platform.upload(thread, Path(file.path), file.name, caption), "post"
        )

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
            if outgoing.plain:
                raise
            log.warning("sent as plain text", thread=thread.key, why=str(refusal))
            return await self._call(thread, lambda: send(replace(outgoing, plain=True)), kind, message)

    # ── streams ──────────────────────────────────────────────────────────────────────────────────

    def is_leaving(self, thread: ThreadRef, key: str) -> bool:
        """Whether the stream of this message has to be left: its text goes on in a new one."""
        stream = self._streams.get((thread, key))
        return stream is not None and self._clock.monotonic() >= stream.leave_at

    async def _streamed(self, key: Key, outgoing: Outgoing, digest: str, *, live: bool, fresh: bool) -> str | None:
        """The message's id where the chat's own stream took it. None: it goes by posts and edits."""
        platform: object = self._platform
        if not isinstance(platform, Streaming):
            return None
        stream = self._streams.get(key)
        try:
            if stream is None:
                return await self._open(platform, key, outgoing) if live and fresh else None
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
        self._posted[key] = ref.message
        await self._note(key, outgoing, ref.message, digest)
        return ref.message

    async def _open(self, platform: Streaming, key: Key, outgoing: Outgoing) -> str | None:
        limits = platform.stream_limits(key[0])
        if limits is None or key in self._by_edits or await self._store.shown.get(*key) is not None:
            return None
        opened = await self._call(key[0], lambda: platform.open_stream(key[0], outgoing), "append")
        self._streams[key] = _Stream(opened, self._clock.monotonic() + limits.seconds * _LIFETIME)
        if opened.message:
            await self._note(key, outgoing, opened.message, "")
        return opened.message

    def forget(self, thread: ThreadRef) -> None:
        """Nothing more is sent there: its streams are left to end by themselves."""
        for known in (self._streams, self._posted, self._places, self._unknown):
            for key in [key for key in known if key[0] == thread]:
                del known[key]
        self._by_edits = {key for key in self._by_edits if key[0] != thread}


def _said(outgoing: Outgoing, words: str) -> Outgoing:
    return replace(outgoing, blocks=(*outgoing.blocks, Notice(words, level="warning")), file=None)
