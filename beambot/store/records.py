"""The rows of the store as frozen values."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Literal

from msgspec import Struct

from beambot.model.ids import ThreadRef
from beambot.model.outbound import Outgoing
from beambot.model.outbound import encode as encode_outgoing

Role = Literal["observer", "participant", "approver", "owner"]
SessionState = Literal["idle", "starting", "working", "waiting", "failed", "closed"]
TurnOrigin = Literal["person", "schedule", "agent"]
TurnState = Literal["queued", "handed", "running", "done", "failed", "interrupted", "cancelled", "unsure"]
AskKind = Literal["permission_request", "question", "plan_review"]
AskState = Literal["open", "answered", "cancelled", "void"]
PairingState = Literal["open", "claimed", "granted", "refused", "void"]


class MemberRow(Struct, frozen=True):
    """A person, with one identity per platform and one role."""

    name: str
    role: Role
    identities: dict[str, str]
    source: Literal["config", "paired"] = "config"
    added_at: float = 0.0


class SessionRow(Struct, frozen=True, kw_only=True):
    """One conversation with one agent."""

    id: str
    project: str
    adapter: str
    folder: str
    title: str = ""
    state: SessionState = "idle"
    agent_session: str = ""
    model: str = ""
    mode: str = ""
    created_by: str = ""
    created_at: float = 0.0
    used_at: float = 0.0


class ThreadRow(Struct, frozen=True):
    """A place in a chat and the session it shows. `parked` says why nothing can be sent there."""

    ref: ThreadRef
    session: str = ""
    title: str = ""
    private: bool = False
    parked: str = ""
    created_at: float = 0.0


class TurnRow(Struct, frozen=True, kw_only=True):
    """One prompt and what became of it. `message` is the platform's id of the prompting message."""

    id: str
    session: str
    origin: TurnOrigin = "person"
    state: TurnState = "queued"
    text: str = ""
    files: bytes = b""
    member: str = ""
    thread: ThreadRef | None = None
    message: str = ""
    note: str = ""
    created_at: float = 0.0
    started_at: float | None = None
    ended_at: float | None = None


class AskRow(Struct, frozen=True, kw_only=True):
    """Something that waits for a human, and its answer. `agent_ask` is the agent's own request id."""

    id: str
    session: str
    turn: str
    agent_ask: str
    kind: AskKind
    body: bytes
    state: AskState = "open"
    outcome: str = ""
    answer: bytes = b""
    by: str = ""
    note: str = ""
    created_at: float = 0.0
    settled_at: float | None = None


class OutboxRow(Struct, frozen=True):
    """A message that must reach a thread. `uncertain`: an earlier attempt may have arrived."""

    id: int
    thread: ThreadRef
    key: str
    outgoing: Outgoing
    hash: str
    priority: int
    attempts: int
    uncertain: bool
    created_at: float


class ShownRow(Struct, frozen=True):
    """A message that stands in a thread, by the platform's own id, and the hash of its content."""

    thread: ThreadRef
    key: str
    message: str
    hash: str
    at: float


class AuditRow(Struct, frozen=True):
    """Who did what, when."""

    id: int
    at: float
    what: str
    who: str
    detail: dict[str, Any]


class PairingRow(Struct, frozen=True):
    """An invitation by one-time code, and who used it."""

    id: int
    state: PairingState
    role: str | None
    platform: str
    identity: str
    name: str
    expires_at: float


def content_hash(outgoing: Outgoing) -> str:
    """Equal for equal content: tells whether what is shown is still what should be."""
    return blake2b(encode_outgoing(outgoing), digest_size=8).hexdigest()
