"""FakePlatform: a chat in memory that records each call with its time and can refuse, limit or vanish."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
from msgspec import Struct
from msgspec.structs import replace

from beambot.errors import MessageGone, PlatformError, RetryAfter, Unreachable
from beambot.model.capabilities import Budget, CallKind, PlatformCapabilities
from beambot.model.ids import MessageRef, ThreadRef
from beambot.model.inbound import (
    AnyInbound,
    Attachment,
    DeletedIn,
    EditedIn,
    FormIn,
    Inbound,
    PressIn,
    Sender,
    TextIn,
)
from beambot.model.outbound import AnyOutBlock, Outgoing, Receipt, ThreadState, block_text, plain_text
from beambot.model.ports import Clock, Inbox
from beambot.render import split

FULL = PlatformCapabilities(
    text_limit=4000,
    delete=True,
    buttons=20,
    forms=True,
    threads=True,
    open_thread=True,
    reactions=True,
    typing=True,
    private_ack=True,
    history=True,
    upload_bytes=10_000_000,
    download_bytes=10_000_000,
    min_interval=1.0,
)


_KINDS: dict[str, CallKind] = {
    **dict.fromkeys(("post", "upload"), "post"),
    "edit": "edit",
    **dict.fromkeys(("open", "append", "close"), "append"),
}


class Call(Struct, frozen=True):
    """One call the core made: what, when, where, and what stood in it."""

    what: str
    at: float
    thread: ThreadRef
    message: str = ""
    outgoing: Outgoing | None = None
    text: str = ""


class FakePlatform:
    """A chat in memory. `limit` makes it refuse for real; `faults` are raised by the next calls, one each."""

    def __init__(
        self,
        clock: Clock,
        *,
        name: str = "fake",
        capabilities: PlatformCapabilities = FULL,
        limit: Budget | Sequence[Budget] = (),
    ) -> None:
        self.name = name
        self.capabilities = capabilities
        self.clock = clock
        self.limits = (limit,) if isinstance(limit, Budget) else tuple(limit)
        self.calls: list[Call] = []
        self.faults: list[PlatformError | None] = []
        self.down = False
        self.delay = 0.0
        self.refusals = 0
        self.running = False
        self.acks: list[tuple[str, str]] = []
        self.receipts: dict[str, list[Receipt]] = {}
        self.states: dict[str, list[ThreadState]] = {}
        self.titles: dict[str, str] = {}
        self.backlog: list[Inbound] = []
        self.files: dict[str, bytes] = {}
        self.sent_files: dict[str, bytes] = {}
        self.captions: dict[str, str] = {}
        self.on_call: Callable[[Call], None] | None = None
        self._messages: dict[MessageRef, Outgoing] = {}
        self._keys: dict[tuple[ThreadRef, str], MessageRef] = {}
        self._times: dict[tuple[Budget, str], list[float]] = {}
        self._count = 0
        self._inbox: Inbox | None = None
        self._ready = anyio.Event()

    # ── the port ─────────────────────────────────────────────────────────────────────────────────

    async def run(self, inbox: Inbox, ready: Callable[[], None]) -> None:
        self._inbox = inbox
        self.running = True
        self._ready.set()
        ready()
        try:
            await anyio.sleep_forever()
        finally:
            self.running = False

    def budgets(self, thread: ThreadRef) -> tuple[Budget, ...]:
        return self.capabilities.budgets

    def measure(self, block: AnyOutBlock) -> int:
        return split.measure(block_text(block), self.capabilities.text_unit)

    async def post(self, thread: ThreadRef, message: Outgoing) -> MessageRef:
        known = self._keys.get((thread, message.key)) if self.capabilities.dedupes_posts else None
        if known is None:
            self._count += 1
        ref = known or MessageRef(thread, f"m{self._count}")
        await self._call(Call("post", self.clock.now(), thread, ref.message, message, plain_text(message)))
        self._messages[ref] = message
        self._keys[(thread, message.key)] = ref
        return ref

    async def edit(self, ref: MessageRef, message: Outgoing) -> None:
        if ref not in self._messages:
            raise MessageGone(f"there is no message {ref.message}")
        await self._call(Call("edit", self.clock.now(), ref.thread, ref.message, message, plain_text(message)))
        self._messages[ref] = message

    async def delete(self, ref: MessageRef) -> None:
        await self._call(Call("delete", self.clock.now(), ref.thread, ref.message))
        self._messages.pop(ref, None)

    async def upload(self, thread: ThreadRef, path: Path, name: str, caption: str = "") -> MessageRef:
        self._count += 1
        ref = MessageRef(thread, f"m{self._count}")
        data = await anyio.Path(path).read_bytes()
        await self._call(Call("upload", self.clock.now(), thread, ref.message, None, name))
        self.sent_files[name], self.captions[name] = data, caption
        return ref

    async def download(self, attachment: Attachment, into: Path) -> Path:
        target = into / (Path(attachment.name).name or "file")
        await anyio.Path(target).write_bytes(self.files[attachment.handle])
        return target

    async def ack(self, handle: str, text: str = "", *, alert: bool = False) -> None:
        self.acks.append((handle, text))

    async def open_thread(self, chat: ThreadRef, title: str) -> ThreadRef:
        self._count += 1
        thread = replace(chat, thread=f"t{self._count}")
        self.titles[thread.key] = title
        return thread

    async def rename_thread(self, thread: ThreadRef, title: str) -> None:
        self.titles[thread.key] = title

    async def close_thread(self, thread: ThreadRef) -> None:
        self.states.setdefault(thread.key, []).append("closed")

    async def mark_thread(self, thread: ThreadRef, state: ThreadState) -> None:
        self.states.setdefault(thread.key, []).append(state)

    async def react(self, ref: MessageRef, receipt: Receipt) -> None:
        self.receipts.setdefault(ref.message, []).append(receipt)

    async def typing(self, thread: ThreadRef) -> None:
        self.calls.append(Call("typing", self.clock.now(), thread))

    async def history(self, thread: ThreadRef, since: float) -> Sequence[Inbound]:
        return [inbound for inbound in self.backlog if inbound.thread == thread and inbound.at >= since]

    async def invitation(self) -> str:
        return ""

    async def close(self) -> None:
        self.running = False

    async def _call(self, call: Call) -> None:
        if self.on_call is not None:
            self.on_call(call)
        if self.delay:
            await self.clock.sleep(self.delay)
        if self.down:
            raise Unreachable("the chat is away")
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            raise fault
        self._count_against_limits(call)
        self.calls.append(call)

    def _count_against_limits(self, call: Call) -> None:
        """A refused call counts nowhere; the refusal lasts until the fullest window has room again."""
        now = self.clock.now()
        kind = _KINDS.get(call.what, "other")
        waits: list[float] = []
        counted: list[list[float]] = []
        for limit in [limit for limit in self.limits if limit.counts(kind)]:
            thread = call.thread
            places = {
                "platform": "",
                "chat": thread.chat,
                "thread": thread.key,
                "message": f"{thread.key}/{call.message}",
            }
            times = self._times.setdefault((limit, places[limit.scope]), [])
            times[:] = [at for at in times if at > now - limit.seconds]
            if len(times) >= limit.calls:
                waits.append(times[-limit.calls] + limit.seconds - now)
            counted.append(times)
        if waits:
            self.refusals += 1
            raise RetryAfter(max(waits))
        for times in counted:
            times.append(now)

    # ── what a person does and sees ──────────────────────────────────────────────────────────────

    async def says(
        self,
        text: str,
        *,
        who: str = "1",
        thread: ThreadRef | None = None,
        update: str = "",
        reply_to: str = "",
        attachments: tuple[Attachment, ...] = (),
        private: bool = True,
    ) -> str:
        """Somebody writes; gives the message's id."""
        self._count += 1
        message = f"u{self._count}"
        await self.receive(
            TextIn(message, text, reply_to, attachments), who, thread, update or message, private=private
        )
        return message

    async def presses(self, label: str, *, who: str = "1", thread: ThreadRef | None = None) -> None:
        """Somebody presses the newest button with this label."""
        place = thread or self.thread()
        for ref, outgoing in reversed(list(self._messages.items())):
            if ref.thread == place:
                for row in outgoing.buttons:
                    for button in row:
                        if button.label == label:
                            await self.press_data(ref, button.data, who=who)
                            return
        raise AssertionError(f"no button {label!r} in {[plain_text(m) for m in self._messages.values()]}")

    async def press_data(self, ref: MessageRef, data: str, *, who: str = "1") -> None:
        """Somebody sends a press, honest or forged."""
        self._count += 1
        handle = f"p{self._count}"
        await self.receive(PressIn(ref.message, data, handle), who, ref.thread, handle)

    async def fills(self, ref: MessageRef, fields: dict[str, tuple[str, ...]], *, who: str = "1") -> None:
        """Somebody sends the form of a message."""
        form = self._messages[ref].form
        assert form is not None
        self._count += 1
        handle = f"f{self._count}"
        await self.receive(FormIn(ref.message, form.data, fields, handle), who, ref.thread, handle)

    async def corrects(self, message: str, text: str, *, who: str = "1") -> None:
        """Somebody edits an earlier message."""
        self._count += 1
        await self.receive(EditedIn(message, text), who, None, f"e{self._count}")

    async def takes_back(self, message: str, *, who: str = "1") -> None:
        """Somebody deletes an earlier message."""
        self._count += 1
        await self.receive(DeletedIn(message), who, None, f"d{self._count}")

    async def receive(
        self, body: AnyInbound, who: str, thread: ThreadRef | None, update: str, *, private: bool = True
    ) -> bool:
        """Anything at all comes in."""
        return await self.receive_at(
            body, at=self.clock.now(), update=update, who=who, thread=thread, private=private
        )

    async def receive_at(
        self,
        body: AnyInbound,
        *,
        at: float,
        update: str,
        who: str = "1",
        thread: ThreadRef | None = None,
        private: bool = True,
    ) -> bool:
        """What was sent at some other time comes in now."""
        await self._ready.wait()
        assert self._inbox is not None
        inbound = Inbound(update, Sender(who, f"user {who}"), thread or self.thread(), at, body, private)
        return await self._inbox.put(inbound)

    def thread(self, chat: str = "c1", thread: str = "") -> ThreadRef:
        """A place to talk."""
        return ThreadRef(self.name, chat, thread)

    def screen(self, thread: ThreadRef | None = None) -> list[str]:
        """What stands in the thread now, as plain text, oldest first."""
        place = thread or self.thread()
        return [plain_text(outgoing) for ref, outgoing in self._messages.items() if ref.thread == place]

    def messages(self, thread: ThreadRef | None = None) -> list[tuple[MessageRef, Outgoing]]:
        """The same, whole."""
        place = thread or self.thread()
        return [(ref, outgoing) for ref, outgoing in self._messages.items() if ref.thread == place]

    def labels(self, thread: ThreadRef | None = None) -> list[str]:
        """Every button that can be pressed now."""
        return [b.label for _, m in self.messages(thread) for row in m.buttons for b in row]

    def shows(self, text: str, thread: ThreadRef | None = None) -> bool:
        """Whether these words stand somewhere in the thread."""
        return any(text in message for message in self.screen(thread))

    def lose(self, ref: MessageRef) -> None:
        """Somebody deleted a message of ours."""
        self._messages.pop(ref, None)
