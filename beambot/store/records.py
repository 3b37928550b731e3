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
# The note of a turn that somebody had the agent take up again.
SENT_AGAIN = "sent again"
AskKind = Literal["permission_request", "question", "plan_review", "login_request"]
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
    """Something that waits for a human, and its answer. `agent_ask` is the agent's own request id.

    `digest` is the hash of what was asked; `risks` and `may_answer` are JSON.
    """

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
    digest: str = ""
    risks: str = ""
    may_answer: str = ""
    until: float | None = None
    reminded_at: float | None = None


class RuleRow(Struct, frozen=True, kw_only=True):
    """What is decided without asking. An empty project, session or turn: it holds in all of them."""

    id: str
    allow: bool
    scope: str
    tool: str
    kind: str = ""
    value: str = ""
    folder: str = ""
    words: str = ""
    project: str = ""
    session: str = ""
    turn: str = ""
    until: float | None = None
    made_by: str = ""
    made_at: float = 0.0
    used_at: float | None = None
    used_for: str = ""
    revoked_by: str = ""
    revoked_at: float | None = None


class VoteRow(Struct, frozen=True):
    """One person's answer to an ask that needs more than one."""

    ask: str
    member: str
    answer: bytes
    at: float


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
    """A message that stands in a thread, by the platform's own id, and the hash of its content.

    `place` is where a page of a turn begins: what a later run goes on from.
    """

    thread: ThreadRef
    key: str
    message: str
    hash: str
    at: float
    place: str = ""


_FIRST = ("outcome", "what")


class AuditRow(Struct, frozen=True):
    """Who did what, when. `chain` binds it to all lines before it; empty: written before there was a chain."""

    id: int
    at: float
    what: str
    who: str
    detail: dict[str, Any]
    chain: str = ""

    def in_words(self) -> str:
        """What was done, in one line: what came of it and what it was about stand first."""
        first = [_worded(self.detail[name]) for name in _FIRST if name in self.detail]
        rest = [f"{name} {_worded(value)}" for name, value in self.detail.items() if name not in _FIRST]
        return " · ".join(" ".join(part.split()) for part in (self.what.replace("_", " "), *first, *rest))


class Verdict(Struct, frozen=True, kw_only=True):
    """Whether the audit is what was written: how many lines were read, and the first one that is wrong.

    `newest` is the last good value of the chain, `before` how many lines are older than the chain.
    """

    whole: bool
    count: int
    broken_at: int | None = None
    why: str = ""
    newest: str = ""
    before: int = 0


class PairingRow(Struct, frozen=True):
    """An invitation by one-time code, and who used it."""

    id: int
    state: PairingState
    role: str | None
    platform: str
    identity: str
    name: str
    expires_at: float


def _worded(value: object) -> str:
    match value:
        case None | "":
            return "-"
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(_worded(item) for item in value)
        case dict():
            return ", ".join(f"{name} {_worded(item)}" for name, item in value.items())
        case _:
            return str(value)


def content_digest(data: bytes) -> str:
    """Stands for exactly these bytes."""
    return blake2b(data, digest_size=20).hexdigest()


def content_hash(outgoing: Outgoing) -> str:
    """Equal for equal content: tells whether what is shown is still what should be."""
    return blake2b(encode_outgoing(outgoing), digest_size=8).hexdigest()
