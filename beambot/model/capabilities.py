"""What an agent and a chat can do, as data. The core asks these, never a name."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class AdapterCapabilities(Struct, frozen=True, kw_only=True):
    """What a kind of agent can do. What a session really offers is also told by its `session_init`."""

    streaming: bool = False
    interrupt: bool = False
    steer: bool = False
    resume: bool = False
    fork: bool = False
    rewind: bool = False
    permissions: bool = False
    rules: bool = False
    edited_input: bool = False
    questions: bool = False
    plan_review: bool = False
    models: bool = False
    modes: bool = False
    thinking_budget: bool = False
    slash_commands: bool = False
    mcp: bool = False
    images: bool = False
    files: bool = False
    cost: bool = False
    teams: bool = False
    structured_output: bool = False
    native_protocol: bool = False
    remote: bool = False


Scope = Literal["message", "thread", "chat", "platform"]
CallKind = Literal["post", "edit", "append", "other"]


class Budget(Struct, frozen=True, kw_only=True):
    """How many calls a chat allows, and within which scope they are counted together.

    `kinds` says which calls count: new messages, edits, pieces of a native stream, or the rest (reactions,
    titles). None named: all of them.
    """

    scope: Scope
    calls: int
    seconds: float
    kinds: tuple[CallKind, ...] = ()

    def counts(self, kind: CallKind) -> bool:
        """Whether such a call uses it up."""
        return not self.kinds or kind in self.kinds


class PlatformCapabilities(Struct, frozen=True, kw_only=True):
    """What a kind of chat can do, and how much of it.

    `own_stop`: its surface has a stop control. `reactions_counted`: they use up the budgets as messages do.
    `coloured_diff`: it shows a `Change` in colours by itself. `native_stream`: it has streams of its own.
    `form_text`: how many characters a text field of a form takes. `change_lines` and `change_text`: how much of a
    `Change` it shows.
    """

    text_limit: int = 4000
    text_unit: Literal["characters", "utf16", "bytes"] = "characters"
    edit: bool = True
    delete: bool = False
    buttons: int = 0
    button_bytes: int = 64
    forms: bool = False
    form_text: int = 4000
    own_stop: bool = False
    threads: bool = False
    open_thread: bool = False
    reactions: bool = False
    reactions_counted: bool = False
    typing: bool = False
    private_ack: bool = False
    coloured_diff: bool = False
    change_lines: int = 28
    change_text: int = 850
    commands: bool = False
    history: bool = False
    upload_bytes: int = 0
    download_bytes: int = 0
    native_stream: bool = False
    dedupes_posts: bool = False
    min_interval: float = 1.0
    budgets: tuple[Budget, ...] = ()
