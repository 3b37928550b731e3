"""What a browser sends, and what it means to beambot. Pure."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from beambot.api import Attachment, Inbound, Sender, ThreadRef
from beambot.api import inbound as into

TEXT_LIMIT = 30_000
FRAME_LIMIT = 64 * 1024
FILES_LIMIT = 10

ClientId = Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{8,64}$")]
ThreadId = Annotated[str, Meta(pattern="^[a-z0-9]{8,64}$")]
RowId = Annotated[str, Meta(pattern="^[0-9]{1,18}$")]
Data = Annotated[str, Meta(min_length=1, max_length=256)]
Value = Annotated[str, Meta(max_length=TEXT_LIMIT)]


class Frame(Struct, frozen=True, tag_field="t"):
    """What every frame shares."""


class Open(Frame, frozen=True, tag="open"):
    """The page shows this thread, and has seen everything up to `since` (0: nothing)."""

    thread: ThreadId
    since: Annotated[int, Meta(ge=0)] = 0


class Earlier(Frame, frozen=True, tag="earlier"):
    """The page wants what stands above this message."""

    thread: ThreadId
    before: RowId


class Say(Frame, frozen=True, tag="say"):
    """A person wrote something. `new` makes the thread if it is not there yet."""

    id: ClientId
    thread: ThreadId
    text: Annotated[str, Meta(max_length=TEXT_LIMIT)] = ""
    files: Annotated[tuple[ThreadId, ...], Meta(max_length=FILES_LIMIT)] = ()
    new: bool = False


class Press(Frame, frozen=True, tag="press"):
    """A person pressed a button."""

    id: ClientId
    thread: ThreadId
    message: RowId
    data: Data


class Fill(Frame, frozen=True, tag="form"):
    """A person filled in a form."""

    id: ClientId
    thread: ThreadId
    message: RowId
    data: Data
    fields: dict[str, tuple[Value, ...]] = {}


class Ping(Frame, frozen=True, tag="ping"):
    """Is anybody there?"""


AnyFrame = Open | Earlier | Say | Press | Fill | Ping

_decoder = msgspec.json.Decoder(AnyFrame)


class BadFrame(ValueError):
    """The browser sent something that cannot be used; the text may be shown to it."""


def decode(data: str) -> AnyFrame:
    """One WebSocket message of the page."""
    try:
        frame: AnyFrame = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BadFrame(f"This could not be understood: {error}") from None
    return frame


def thread_ref(thread: str) -> ThreadRef:
    """Each thread is a chat of its own: one busy thread slows no other."""
    return ThreadRef("web", thread)


def update_id(user: str, frame: Say | Press | Fill) -> str:
    """The id that is the same again when the browser sends the same thing again."""
    return f"{user}/{frame.thread}/{frame.id}"


def said(frame: Say, user: str, name: str, message: str, at: float, files: tuple[Attachment, ...] = ()) -> Inbound:
    """Words, files, or both. `message` is the row that shows them."""
    body: into.AnyInbound
    if files and not frame.text.strip():
        body = into.AttachmentIn(message=message, attachments=files)
    else:
        body = into.TextIn(message=message, text=frame.text, attachments=files)
    return _inbound(frame, user, name, at, body)


def pressed(frame: Press, user: str, name: str, at: float) -> Inbound:
    """A button; the update's own id is the handle of its answer."""
    body = into.PressIn(message=frame.message, data=frame.data, handle=update_id(user, frame))
    return _inbound(frame, user, name, at, body)


def filled(frame: Fill, user: str, name: str, at: float) -> Inbound:
    """A form."""
    body = into.FormIn(message=frame.message, data=frame.data, fields=frame.fields, handle=update_id(user, frame))
    return _inbound(frame, user, name, at, body)


def _inbound(frame: Say | Press | Fill, user: str, name: str, at: float, body: into.AnyInbound) -> Inbound:
    return Inbound(
        update=update_id(user, frame),
        sender=Sender(id=user, name=name),
        thread=thread_ref(frame.thread),
        at=at,
        body=body,
        private=True,
    )
