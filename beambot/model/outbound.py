"""What goes out to a chat: blocks, buttons and a form, which each platform turns into its own payload.

Every string in `Markdown`, `ToolLine`, `Checklist`, `Change` and `Facts` came from an agent or a person and
is data: a platform escapes it. `Notice` and button labels are beambot's own words.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from beambot.model import encoding
from beambot.model.bodies import PlanEntry, ToolKind

ToolState = Literal["running", "done", "failed", "denied", "cancelled"]
Receipt = Literal["received", "queued", "working", "waiting", "done", "failed", "cancelled"]
ThreadState = Literal["idle", "working", "waiting", "failed", "closed"]


class OutBlock(Struct, frozen=True, tag_field="type", omit_defaults=True):
    """What every block shares."""


class Markdown(OutBlock, frozen=True, tag="markdown"):
    """The agent's words. `open` says that more may follow; `folded` that they are reasoning.

    The first `skip` characters only say in what the text stands (a list item, a fence) and are not shown.
    `under` is the title of the tool whose subagent says it.
    """

    text: str
    open: bool = False
    folded: bool = False
    skip: int = 0
    under: str = ""


class ToolLine(Struct, frozen=True, omit_defaults=True):
    """One tool in one line."""

    title: str
    kind: ToolKind = "other"
    state: ToolState = "running"
    seconds: float | None = None
    depth: int = 0


class Tools(OutBlock, frozen=True, tag="tools"):
    """Folded work: the newest few lines, the rest counted."""

    lines: tuple[ToolLine, ...]
    hidden: int = 0


class Checklist(OutBlock, frozen=True, tag="checklist"):
    """The agent's plan."""

    entries: tuple[PlanEntry, ...]


class Change(OutBlock, frozen=True, tag="change"):
    """A changed file as a unified diff."""

    path: str
    unified: str
    added: int = 0
    removed: int = 0


class Fact(Struct, frozen=True, omit_defaults=True):
    """One named thing on a card; `code` is shown as written, in a monospaced face."""

    name: str
    value: str
    code: bool = False


class Facts(OutBlock, frozen=True, tag="facts"):
    """Named things: a command, a folder, a reason."""

    facts: tuple[Fact, ...]


class Notice(OutBlock, frozen=True, tag="notice"):
    """beambot's own voice."""

    text: str
    level: Literal["info", "ask", "success", "warning", "error"] = "info"


class Footer(OutBlock, frozen=True, tag="footer"):
    """A quiet last line."""

    text: str


AnyOutBlock = Markdown | Tools | Checklist | Change | Facts | Notice | Footer


class Button(Struct, frozen=True, omit_defaults=True):
    """`data` comes back in a press; at most 64 bytes of it."""

    label: str
    data: str
    style: Literal["plain", "primary", "danger"] = "plain"


class Field(Struct, frozen=True, omit_defaults=True):
    """One field of a form. `value` is what stands in it before anybody writes."""

    id: str
    label: str
    kind: Literal["text", "choice", "choices"] = "text"
    options: tuple[str, ...] = ()
    help: str = ""
    secret: bool = False
    value: str = ""


class Form(Struct, frozen=True, omit_defaults=True):
    """Fields to fill in; `data` comes back with them."""

    data: str
    fields: tuple[Field, ...]
    submit: str = "Send"


class Attached(Struct, frozen=True, omit_defaults=True):
    """A file that goes out: where it waits, and its name in the chat. A `temporary` one is ours, gone once sent."""

    path: str
    name: str
    temporary: bool = False


class Outgoing(Struct, frozen=True, omit_defaults=True):
    """One message as it should stand in a thread.

    `key` is the message's name for ever ("turn:…:0", "ask:…"): a platform that dedupes posts uses it.
    `loud` messages may ring a phone; `reply_to` is the message it answers, where the platform shows that.
    With `plain` the platform sends `plain_text` and no markup: what is left when it refused the rich form.
    `place` is where a page of a turn begins, for beambot itself: what a later run goes on from.
    `mention` is the identity of a person whom it should call by name, where the platform can.
    With a `file` the message is that file, and its blocks are the caption; it is sent once and never edited.
    `wants_reply` asks for an answer in words, as a reply to this message: what may stand in the field for it.
    """

    key: str
    blocks: tuple[AnyOutBlock, ...]
    buttons: tuple[tuple[Button, ...], ...] = ()
    form: Form | None = None
    loud: bool = False
    reply_to: str = ""
    plain: bool = False
    mention: str = ""
    place: str = ""
    file: Attached | None = None
    wants_reply: str = ""


_decoder = msgspec.json.Decoder(Outgoing)


def encode(outgoing: Outgoing) -> bytes:
    """For the outbox, and for the hash of what is shown."""
    return encoding.encode(outgoing)


def decode(data: bytes | str) -> Outgoing:
    """From the outbox."""
    return _decoder.decode(data)


def plain_text(outgoing: Outgoing) -> str:
    """The same message without any form: for logs and tests, and what is left when all else is refused."""
    return "\n".join(block_text(block) for block in outgoing.blocks)


def block_text(block: AnyOutBlock) -> str:
    """One block without any form."""
    match block:
        case Markdown(text=text, skip=skip):
            return text[skip:]
        case Notice(text=text) | Footer(text=text):
            return text
        case Tools(lines=lines, hidden=hidden):
            more = [f"… {hidden} more"] if hidden else []
            return "\n".join(more + [f"{_MARKS[line.state]} {line.title}" for line in lines])
        case Checklist(entries=entries):
            return "\n".join(f"[{'x' if entry.status == 'completed' else ' '}] {entry.text}" for entry in entries)
        case Change(path=path, unified=unified):
            return f"{path}\n{unified}"
        case Facts(facts=facts):
            return "\n".join(f"{fact.name}: {fact.value}" for fact in facts)


def duration(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


_MARKS: dict[ToolState, str] = {"running": "…", "done": "✓", "failed": "✗", "denied": "⊘", "cancelled": "–"}
