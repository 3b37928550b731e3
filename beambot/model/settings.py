"""What an owner can set, as values. The configuration reads them; the flow obeys them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from msgspec import Struct

Role = Literal["observer", "participant", "approver", "owner"]
# Pairing codes: no letter or digit that looks like another.
CODE_ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
CODE_LENGTH = 6
ROLES: tuple[Role, ...] = ("observer", "participant", "approver", "owner")


def may(role: Role, needed: Role) -> bool:
    """Each role may do what the ones before it may."""
    return ROLES.index(role) >= ROLES.index(needed)


APPROVERS, PROMPTER, OWNERS = "approvers", "prompter", "owners"


class AskPolicy(Struct, frozen=True, kw_only=True):
    """Who may answer: `approvers`, `owners`, the `prompter`, or names of members; and how many a yes takes."""

    who: tuple[str, ...] = (APPROVERS,)
    people: int = 1


class Project(Struct, frozen=True, kw_only=True):
    """A named folder with its defaults. `members` empty: every member may use it.

    `normal` and `dangerous` say who may answer the asks of this project, where that is not as everywhere.
    """

    name: str
    path: Path
    adapter: str
    model: str = ""
    mode: str = ""
    env: dict[str, str] = {}
    members: tuple[str, ...] = ()
    normal: AskPolicy | None = None
    dangerous: AskPolicy | None = None


class Member(Struct, frozen=True, kw_only=True):
    """A person, with one identity per platform and one role."""

    name: str
    role: Role
    identities: dict[str, str] = {}


Notify = Literal["message", "reply", "mention", "off"]
NOTIFY: tuple[Notify, ...] = ("message", "reply", "mention", "off")


class Rendering(Struct, frozen=True, kw_only=True):
    """How much of the agent's work is shown, and how the end of a long turn is told.

    An answer of more characters than `file_above` also goes as a file; 0: never.
    """

    tool_lines: int = 3
    thinking: Literal["fold", "hide"] = "fold"
    footer: Literal["quiet", "full", "off"] = "quiet"
    file_above: int = 60_000
    notify: Notify = "message"
    notify_after_seconds: float = 60.0


class AskSettings(Struct, frozen=True, kw_only=True):
    """What happens while an ask waits, and who may answer. A timeout denies; it never allows.

    `dangerous` is the policy for what could do lasting harm. In `quiet_hours` (minutes of the day, from and to)
    nobody is reminded.
    """

    on_timeout: Literal["wait", "deny"] = "wait"
    timeout_seconds: float = 3600.0
    remind_after_seconds: float = 600.0
    normal: AskPolicy = AskPolicy()
    dangerous: AskPolicy = AskPolicy()
    quiet_hours: tuple[int, int] | None = None


class Limits(Struct, frozen=True, kw_only=True):
    """Bounds, so that nothing grows without end."""

    queue_per_session: int = 20
    idle_close_seconds: float = 1800.0
    restarts: int = 3
    restart_window_seconds: float = 600.0
    stop_grace_seconds: float = 10.0
    sessions: int = 50
