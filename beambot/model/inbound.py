"""What comes in from a chat: one envelope with the platform's own update id, around one body."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from beambot.model import encoding
from beambot.model.ids import ThreadRef


class Sender(Struct, frozen=True, omit_defaults=True):
    """Who it was, as the platform says. The id decides; the name is only shown."""

    id: str
    name: str = ""
    bot: bool = False


class Attachment(Struct, frozen=True, omit_defaults=True):
    """A file somebody sent, not yet fetched. `handle` is what `ChatPlatform.download` takes."""

    handle: str
    name: str = ""
    mime: str = ""
    size: int = 0


class InboundBody(Struct, frozen=True, tag_field="type", omit_defaults=True):
    """What every body shares."""


class TextIn(InboundBody, frozen=True, tag="text"):
    """A message. Attachments sent together with words come here too."""

    message: str
    text: str
    reply_to: str = ""
    attachments: tuple[Attachment, ...] = ()


class CommandIn(InboundBody, frozen=True, tag="command"):
    """A command, from a platform that knows commands; elsewhere they come as text with a slash."""

    message: str
    name: str
    args: str = ""


class PressIn(InboundBody, frozen=True, tag="press"):
    """A button was pressed. `handle` is what `ChatPlatform.ack` takes."""

    message: str
    data: str
    handle: str = ""


class FormIn(InboundBody, frozen=True, tag="form"):
    """A form was filled in: `data` names the form, `fields` hold each field's values."""

    message: str
    data: str
    fields: dict[str, tuple[str, ...]] = {}
    handle: str = ""


class AttachmentIn(InboundBody, frozen=True, tag="attachment"):
    """Files without words."""

    message: str
    attachments: tuple[Attachment, ...]


class EditedIn(InboundBody, frozen=True, tag="edited"):
    """Somebody changed an earlier message."""

    message: str
    text: str


class DeletedIn(InboundBody, frozen=True, tag="deleted"):
    """Somebody took an earlier message back."""

    message: str


class MemberIn(InboundBody, frozen=True, tag="member"):
    """Somebody came into the thread, or left it."""

    change: Literal["joined", "left"]


AnyInbound = TextIn | CommandIn | PressIn | FormIn | AttachmentIn | EditedIn | DeletedIn | MemberIn


class Inbound(Struct, frozen=True, omit_defaults=True):
    """One update. `update` is unique on its platform, so that a repeat is recognised."""

    update: str
    sender: Sender
    thread: ThreadRef
    at: float
    body: AnyInbound
    private: bool = False

    @property
    def platform(self) -> str:
        """The platform it came from."""
        return self.thread.platform


_decoder = msgspec.json.Decoder(Inbound)


def encode(inbound: Inbound) -> bytes:
    """For the inbox."""
    return encoding.encode(inbound)


def decode(data: bytes | str) -> Inbound:
    """From the inbox."""
    return _decoder.decode(data)
