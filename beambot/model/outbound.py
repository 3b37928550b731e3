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
    """The agent's words. `open` says that more may follow; `folded` that they are reasoning."""

    text: str
    open: bool = False
    folded: bool = False


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
    """One field of a form."""

    id: str
    label: str
    kind: Literal["text", "choice", "choices"] = "text"
    options: tuple[str, ...] = ()
    help: str = ""
    secret: bool = False


class Form(Struct, frozen=True, omit_defaults=True):
    """Fields to fill in; `data` comes back with them."""

    data: str
    fields: tuple[Field, ...]
    submit: str = "Send"


class Outgoing(Struct, frozen=True, omit_defaults=True):
    """One message as it should stand in a thread.

    `key` is the message's name for ever ("turn:…:0", "ask:…"): a platform that dedupes posts uses it.
    `loud` messages may ring a phone; `reply_to` is the message it answers, where the platform shows that.
    With `plain` the platform sends `plain_text` and no markup: what is left when it refused the rich form.
    """

    key: str
    blocks: tuple[AnyOutBlock, ...]
    buttons: tuple[tuple[Button, ...], ...] = ()
    form: Form | None = None
    loud: bool = False
    reply_to: str = ""
    plain: bool = False


_decoder = msgspec.json.Decoder(Outgoing)


def encode(outgoing: Outgoing) -> bytes:
    """For the outbox, and for the hash of what is shown."""
    return encoding.encode(outgoing)


def decode(data: bytes | str) -> Outgoing:
    """From the outbox."""
    return _decoder.decode(data)


def plain_text(outgoing: Outgoing) -> str:
    """The same message without any form: for platforms that refuse the rich one, for logs and for tests."""
    lines: list[str] = []
    for block in outgoing.blocks:
        match block:
            case Markdown(text=text) | Notice(text=text) | Footer(text=text):
                lines.append(text)
            case Tools(lines=tools, hidden=hidden):
                if hidden:
                    lines.append(f"… {hidden} more")
                lines += [f"{_MARKS[tool.state]} {tool.title}" for tool in tools]
            case Checklist(entries=entries):
                lines += [f"[{'x' if e.status == 'completed' else ' '}] {e.text}" for e in entries]
            case Change(path=path, unified=unified):
                lines += [path, unified]
            case Facts(facts=facts):
                lines += [f"{fact.name}: {fact.value}" for fact in facts]
    return "\n".join(lines)


_MARKS: dict[ToolState, str] = {"running": "…", "done": "✓", "failed": "✗", "denied": "⊘", "cancelled": "–"}
