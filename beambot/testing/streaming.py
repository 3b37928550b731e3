"""StreamingPlatform: a fake chat with streams of its own, as messages that grow or as drafts that become one."""

from __future__ import annotations

from msgspec.structs import replace

from beambot.errors import StreamEnded
from beambot.model.capabilities import Budget, PlatformCapabilities
from beambot.model.ids import MessageRef, ThreadRef
from beambot.model.outbound import Outgoing, plain_text
from beambot.model.ports import Clock, OpenStream, StreamLimits
from beambot.testing.platform import FULL, Call, FakePlatform


class StreamingPlatform(FakePlatform):
    """Ends each stream by itself after `lifetime` seconds. With `drafts` nothing stands until it is closed."""

    def __init__(
        self,
        clock: Clock,
        *,
        name: str = "fake",
        capabilities: PlatformCapabilities = FULL,
        limit: Budget | tuple[Budget, ...] = (),
        lifetime: float = 300.0,
        drafts: bool = False,
    ) -> None:
        super().__init__(clock, name=name, capabilities=replace(capabilities, native_stream=True), limit=limit)
        self.lifetime = lifetime
        self.drafts = drafts
        self.drafted: dict[str, str] = {}
        self._ends: dict[str, float] = {}

    def stream_limits(self, thread: ThreadRef) -> StreamLimits | None:
        return StreamLimits(self.lifetime)

    async def open_stream(self, thread: ThreadRef, message: Outgoing) -> OpenStream:
        self._count += 1
        handle = f"s{self._count}"
        ref = MessageRef(thread, f"m{self._count}")
        await self._call(Call("open", self.clock.now(), thread, handle, message, plain_text(message)))
        self._ends[handle] = self.clock.monotonic() + self.lifetime
        if self.drafts:
            self.drafted[handle] = plain_text(message)
            return OpenStream(thread, handle)
        self._messages[ref] = message
        return OpenStream(thread, handle, ref.message)

    async def append_stream(self, stream: OpenStream, message: Outgoing) -> None:
        self._check(stream)
        await self._call(
            Call("append", self.clock.now(), stream.thread, stream.handle, message, plain_text(message))
        )
        if self.drafts:
            self.drafted[stream.handle] = plain_text(message)
        else:
            self._messages[MessageRef(stream.thread, stream.message)] = message

    async def close_stream(self, stream: OpenStream, message: Outgoing) -> MessageRef:
        self._check(stream)
        await self._call(
            Call("close", self.clock.now(), stream.thread, stream.handle, message, plain_text(message))
        )
        del self._ends[stream.handle]
        self.drafted.pop(stream.handle, None)
        self._count += self.drafts
        ref = MessageRef(stream.thread, f"m{self._count}" if self.drafts else stream.message)
        self._messages[ref] = message
        return ref

    def end_streams(self) -> None:
        """The chat ends every stream, as it does when a person stops one."""
        self._ends.clear()

    def _check(self, stream: OpenStream) -> None:
        ends = self._ends.get(stream.handle)
        if ends is None or self.clock.monotonic() >= ends:
            raise StreamEnded("this stream is over")
