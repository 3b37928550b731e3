"""The port: a chat server of its own. What is posted is on the disk before `post` returns."""

from __future__ import annotations

import contextlib
import mimetypes
import shutil
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import msgspec

from beambot.api import (
    Attachment,
    Budget,
    Inbound,
    Inbox,
    MessageGone,
    MessageRef,
    Outgoing,
    PlatformCapabilities,
    PlatformError,
    PluginContext,
    Receipt,
    Refused,
    ThreadGone,
    ThreadRef,
    ThreadState,
    get_logger,
)
from beambot.api import markdown as md
from beambot.api import outbound as out
from platforms.web import Settings
from platforms.web.chat import Chat, MessageRow, ThreadRow
from platforms.web.client import Hub
from platforms.web.gate import DEFAULT_USER, Doors, new_link
from platforms.web.inbound import thread_ref
from platforms.web.outbound import Json, Shown, frame, patch, show
from platforms.web.server import Server

UPLOAD_BYTES = 10 * 1024 * 1024
SNAPSHOT = 60
REMEMBERED = 300
_log = get_logger("web")


class WebPlatform:
    """The chat in the browser."""

    name = "web"
    capabilities = PlatformCapabilities(
        text_limit=16_000,
        edit=True,
        delete=True,
        buttons=30,
        forms=True,
        form_text=20_000,
        own_stop=True,
        threads=True,
        open_thread=True,
        reactions=True,
        typing=True,
        private_ack=True,
        coloured_diff=True,
        change_lines=300,
        change_text=10_000,
        history=True,
        upload_bytes=UPLOAD_BYTES,
        download_bytes=UPLOAD_BYTES,
        dedupes_posts=True,
        min_interval=0.05,
    )

    def __init__(self, settings: Settings, context: PluginContext) -> None:
        self.settings = settings
        self.context = context
        self.hub = Hub()
        # Name and meaning of each command, for the suggestions under the composer.
        self.commands = [(command.name, command.help) for command in context.commands]
        self.doors: Doors | None = None
        self._chat: Chat | None = None
        self._opening = anyio.Lock()
        # Whoever changes the chat holds it until the change is published: pages see changes in their order.
        self._order = anyio.Lock()
        # Drawn messages by id, each with the bytes it was drawn from.
        self._shown: OrderedDict[int, tuple[bytes, Shown]] = OrderedDict()

    def budgets(self, thread: ThreadRef) -> tuple[Budget, ...]:
        """Our own server counts no calls."""
        return self.capabilities.budgets

    async def run(self, inbox: Inbox, ready: Callable[[], None]) -> None:
        """Serve until cancelled."""
        chat = await self.chat()
        await chat.drop_unused_files(self.context.clock.now() - 86400)
        async with Server(self, chat, inbox).serve() as doors:
            self.doors = doors
            await chat.set_state("address", doors.address)
            _log.info("the web chat is served", address=doors.address)
            ready()
            await anyio.sleep_forever()

    async def chat(self) -> Chat:
        """The database, opened when it is first needed."""
        async with self._opening:
            if self._chat is None:
                self._chat = await Chat.open(self.context.home)
            return self._chat

    async def close(self) -> None:
        """Let go of the database."""
        async with self._opening:
            if self._chat is not None:
                await self._chat.close()
                self._chat = None

    # ── messages ─────────────────────────────────────────────────────────────────────────────────────

    def measure(self, block: out.AnyOutBlock) -> int:
        return len(out.block_text(block))

    async def post(self, thread: ThreadRef, message: Outgoing) -> MessageRef:
        """A new message, or the one that has this key already, as it should stand now."""
        key = f"out:{message.key}" if message.key else f"out#{self.context.ids.new()}"
        async with self._changing(thread) as chat:
            now = self.context.clock.now()
            row = await chat.add(thread.chat, key, "post", "", now, out.encode(message))
            if row is not None:
                self._remember(row.id, row.body, show(message))
                await self._publish_new(row, now)
                return MessageRef(thread, str(row.id))
            row = await chat.by_key(thread.chat, key)
            if row is None:
                raise PlatformError("the web chat lost a message while it was posted")
            await self._edit(chat, row, message)
            return MessageRef(thread, str(row.id))

    async def edit(self, ref: MessageRef, message: Outgoing) -> None:
        """Pages are sent only what changed."""
        async with self._changing(ref.thread) as chat:
            await self._edit(chat, await self._find(chat, ref, "post"), message)

    async def _edit(self, chat: Chat, row: MessageRow, message: Outgoing) -> None:
        before = self._draw(row)
        after = show(message, before)
        change = patch(before, after)
        body = out.encode(message)
        if body == row.body and not row.gone:
            return
        seq = await chat.rewrite(row.id, body)
        self._remember(row.id, body, after)
        if row.gone:
            await self._publish_new(msgspec.structs.replace(row, body=body, seq=seq, gone=0))
        else:
            nothing: Json = {"count": len(after.blocks), "whole": [], "grown": []}
            text = frame("edit", thread=row.thread, seq=seq, id=row.id, base=row.seq, patch=change or nothing)
            self.hub.to_thread(row.thread, seq, text)

    async def delete(self, ref: MessageRef) -> None:
        """The row stays, empty, so that pages which were away learn that it is gone."""
        async with self._changing(ref.thread) as chat:
            row = await self._find(chat, ref)
            seq = await chat.rewrite(row.id, b"{}", gone=True)
            self._shown.pop(row.id, None)
            self.hub.to_thread(row.thread, seq, frame("gone", thread=row.thread, seq=seq, id=row.id))

    async def react(self, ref: MessageRef, receipt: Receipt) -> None:
        """A receipt under somebody's message."""
        async with self._changing(ref.thread) as chat:
            row = await self._find(chat, ref)
            await self._receipt(chat, row, receipt)

    async def _receipt(self, chat: Chat, row: MessageRow, receipt: str, *, first: bool = False) -> None:
        seq = await chat.set_receipt(row.id, receipt, first=first)
        if seq and not row.receipt and row.kind == "said":
            await self._publish_new(msgspec.structs.replace(row, receipt=receipt, seq=seq), row.at)
        elif seq:
            text = frame("receipt", thread=row.thread, seq=seq, id=row.id, base=row.seq, receipt=receipt)
            self.hub.to_thread(row.thread, seq, text)

    async def upload(self, thread: ThreadRef, path: Path, name: str, caption: str = "") -> MessageRef:
        """A copy of the file is kept for as long as the chat is."""
        chat = await self.chat()
        handle = self.context.ids.new(24)
        size = await anyio.to_thread.run_sync(_copy, path, chat.files / handle, UPLOAD_BYTES)
        file = Attachment(handle, md.clean(name)[:200], mimetypes.guess_type(name)[0] or "", size)
        body = msgspec.json.encode({"text": md.clean(caption), "files": [file]})
        async with self._changing(thread) as chat:
            now = self.context.clock.now()
            await chat.add_file(file, now, used=True)
            row = await chat.add(thread.chat, f"file:{handle}", "file", "", now, body)
            if row is None:
                raise PlatformError("the web chat lost a file while it was posted")
            await self._publish_new(row, now)
            return MessageRef(thread, str(row.id))

    async def download(self, attachment: Attachment, into: Path) -> Path:
        """A copy, under the name the sender gave it without any folder."""
        chat = await self.chat()
        known = await chat.find_files([attachment.handle])
        if not known:
            raise PlatformError(f"the file {attachment.name!r} is not in the web chat any more")
        target = into / (Path(known[0].name.replace("\\", "/")).name.lstrip(".") or known[0].handle)
        await anyio.to_thread.run_sync(_copy, chat.files / known[0].handle, target, UPLOAD_BYTES)
        return target

    async def ack(self, handle: str, text: str = "", *, alert: bool = False) -> None:
        """A line that only the presser sees, in whichever of their pages made the press."""
        user, _, rest = handle.partition("/")
        self.hub.to_user(user, frame("ack", id=rest.rpartition("/")[2], text=md.clean(text), alert=alert))

    # ── threads ──────────────────────────────────────────────────────────────────────────────────────

    async def open_thread(self, chat: ThreadRef, title: str) -> ThreadRef:
        """A new thread in the list."""
        thread = thread_ref(self.context.ids.new())
        await self.make_thread(thread.chat, title)
        return thread

    async def make_thread(self, thread: str, title: str) -> None:
        """A thread of this id, if there is none."""
        chat = await self.chat()
        async with self._order:
            await chat.add_thread(thread, md.clean(title)[:200], self.context.clock.now())
            row = await chat.thread(thread)
            if row is not None:
                self._publish_thread(row)

    async def rename_thread(self, thread: ThreadRef, title: str) -> None:
        """Its title."""
        await self._set_thread(thread, title=md.clean(title)[:200])

    async def close_thread(self, thread: ThreadRef) -> None:
        """It stays in the list, quietly."""
        await self._set_thread(thread, state="closed")

    async def mark_thread(self, thread: ThreadRef, state: ThreadState) -> None:
        """The dot beside its title."""
        await self._set_thread(thread, state=state)

    async def _set_thread(self, thread: ThreadRef, **changes: Any) -> None:
        async with self._changing(thread) as chat:
            row = await chat.set_thread(thread.chat, **changes)
            if row is not None:
                self._publish_thread(row)

    async def typing(self, thread: ThreadRef) -> None:
        """The page lets it fade."""
        self.hub.to_thread(thread.chat, 0, frame("typing", thread=thread.chat))

    async def history(self, thread: ThreadRef, since: float) -> Sequence[Inbound]:
        """Nothing: a browser keeps what was not received, and sends it again."""
        return ()

    async def invitation(self) -> str:
        """A fresh one-time link."""
        if self.doors is None:
            return ""
        now, code = self.context.clock.now(), self.context.ids.new(32)
        return await new_link(await self.chat(), self.doors.address, DEFAULT_USER, code, now)

    # ── for the server ───────────────────────────────────────────────────────────────────────────────

    async def note(self, thread: str, key: str, who: str, body: bytes) -> MessageRow:
        """Write down what a person said; it is shown when beambot has it. The same key gives the same row."""
        async with self._changing(thread_ref(thread)) as chat:
            row = await chat.add(thread, key, "said", who, self.context.clock.now(), body)
            row = row or await chat.by_key(thread, key)
            if row is None:
                raise PlatformError("the web chat lost a message while it was sent")
            return row

    async def received(self, row: MessageRow) -> None:
        """beambot has it."""
        async with self._changing(thread_ref(row.thread)) as chat:
            await self._receipt(chat, row, "received", first=True)

    async def catch_up(self, thread: str, since: int) -> tuple[int, str]:
        """What a page needs to show a thread, of which it has seen everything up to `since`."""
        chat = await self.chat()
        async with self._order:
            seq = chat.seq
            if 0 < since <= seq:
                changed = await chat.changed(thread, since, SNAPSHOT + 1)
                if len(changed) <= SNAPSHOT:
                    messages = [self._view(row) for row in changed if not row.gone]
                    gone = [row.id for row in changed if row.gone]
                    return seq, frame("changes", thread=thread, seq=seq, messages=messages, gone=gone)
            return seq, await self._page(chat, "snapshot", thread, None)

    async def earlier(self, thread: str, before: int) -> str:
        """What stands above a message."""
        chat = await self.chat()
        async with self._order:
            return await self._page(chat, "earlier", thread, before)

    async def _page(self, chat: Chat, kind: str, thread: str, before: int | None) -> str:
        rows = await chat.newest(thread, SNAPSHOT + 1, before)
        more = len(rows) > SNAPSHOT
        messages = []
        for row in rows[-SNAPSHOT:]:
            messages.append(self._view(row))
            await anyio.lowlevel.checkpoint()
        return frame(kind, thread=thread, seq=chat.seq, messages=messages, more=more)

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────

    @contextlib.asynccontextmanager
    async def _changing(self, thread: ThreadRef) -> AsyncIterator[Chat]:
        chat = await self.chat()
        async with self._order:
            if thread.platform != self.name or await chat.thread(thread.chat) is None:
                raise ThreadGone(f"the web chat has no thread {thread.chat!r}")
            yield chat

    async def _find(self, chat: Chat, ref: MessageRef, kind: str = "") -> MessageRow:
        row = await chat.message(ref.thread.chat, ref.message)
        if row is None or row.gone or (kind and row.kind != kind):
            raise MessageGone(f"the web chat has no message {ref.message!r} in this thread")
        return row

    def _draw(self, row: MessageRow) -> Shown:
        body, shown = self._shown.get(row.id, (b"", None))
        if shown is None or body != row.body:
            shown = show(Outgoing("", ()) if row.gone else out.decode(row.body))
            self._remember(row.id, row.body, shown)
        return shown

    def _remember(self, message: int, body: bytes, shown: Shown) -> None:
        self._shown[message] = (body, shown)
        self._shown.move_to_end(message)
        if len(self._shown) > REMEMBERED:
            self._shown.popitem(last=False)

    def _view(self, row: MessageRow) -> Json:
        """A message as the page takes it."""
        head = {"id": row.id, "seq": row.seq, "who": row.who, "at": row.at, "kind": row.kind}
        if row.kind == "post":
            return {**head, **self._draw(row).payload}
        said: Json = msgspec.json.decode(row.body)
        client = row.key.rpartition("/")[2] if row.kind == "said" else ""
        return {**head, **said, "receipt": row.receipt, "client": client}

    async def _publish_new(self, row: MessageRow, at: float | None = None) -> None:
        text = frame("post", thread=row.thread, seq=row.seq, message=self._view(row))
        self.hub.to_thread(row.thread, row.seq, text)
        if at is not None:
            thread = await (await self.chat()).set_thread(row.thread, at=at)
            if thread is not None:
                self._publish_thread(thread)

    def _publish_thread(self, row: ThreadRow) -> None:
        self.hub.to_all(frame("thread", thread=row))


def _copy(source: Path, target: Path, limit: int) -> int:
    size = source.stat().st_size
    if size > limit:
        raise Refused(f"{source.name} is larger than {limit // 1024 // 1024} MiB")
    shutil.copyfile(source, target)
    return size
