"""The bodies of messages: everything an agent can say, as small frozen values. Additions only."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from beambot.model.content import Block

Outcome = Literal["success", "interrupted", "refused", "limit", "error"]
ToolOutcome = Literal["done", "failed", "denied", "cancelled"]
ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "mode", "other"]
OptionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always", "other"]


class Body(Struct, frozen=True, tag_field="type", omit_defaults=True):
    """What every body shares: its tag, and fields left out while they have their default."""


# ── parts of bodies ──────────────────────────────────────────────────────────────────────────────────


class Choice(Struct, frozen=True, omit_defaults=True):
    """A model, a mode: something a person can pick by id."""

    id: str
    name: str = ""
    description: str = ""


class AgentCommand(Struct, frozen=True, omit_defaults=True):
    """A slash command of the agent itself."""

    name: str
    description: str = ""
    hint: str = ""


class Usage(Struct, frozen=True, omit_defaults=True):
    """Tokens and money of one model, or of all together."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None


class PlanEntry(Struct, frozen=True, omit_defaults=True):
    """One line of the agent's checklist."""

    text: str
    status: Literal["pending", "in_progress", "completed"] = "pending"
    priority: Literal["high", "medium", "low"] = "medium"


class AskOption(Struct, frozen=True, omit_defaults=True):
    """One answer the agent offers to an ask. Choose by kind, never by id: each agent has its own ids."""

    id: str
    name: str
    kind: OptionKind = "other"


class QuestionOption(Struct, frozen=True, omit_defaults=True):
    """One possible answer to a question."""

    label: str
    description: str = ""


class QuestionItem(Struct, frozen=True, omit_defaults=True):
    """One question of a form."""

    id: str
    text: str
    header: str = ""
    options: tuple[QuestionOption, ...] = ()
    multiple: bool = False
    free_text: bool = False
    secret: bool = False


# ── conversation ─────────────────────────────────────────────────────────────────────────────────────


class SessionInit(Body, frozen=True, tag="session_init"):
    """The session stands: always the first message."""

    agent_session: str
    agent: str = ""
    version: str = ""
    cwd: str = ""
    model: str = ""
    mode: str = ""
    models: tuple[Choice, ...] = ()
    modes: tuple[Choice, ...] = ()
    commands: tuple[AgentCommand, ...] = ()
    tools: tuple[str, ...] = ()
    resumed: bool = False


class UserMessage(Body, frozen=True, tag="user_message"):
    """An echo of what a person said: who, from where."""

    text: str
    who: str = ""
    origin: str = ""
    attachments: tuple[str, ...] = ()


class TextDelta(Body, frozen=True, tag="text_delta"):
    """More of the answer."""

    text: str


class ThinkingDelta(Body, frozen=True, tag="thinking_delta"):
    """More of the reasoning."""

    text: str


class Assistant(Body, frozen=True, tag="assistant"):
    """A complete message. Its text replaces the deltas that led to it."""

    blocks: tuple[Block, ...]
    model: str = ""
    message: str = ""


class Result(Body, frozen=True, tag="result"):
    """The end of a turn."""

    outcome: Outcome = "success"
    text: str = ""
    error: str = ""
    usage: Usage = Usage()
    duration_ms: int = 0
    api_ms: int = 0
    rounds: int = 0
    lines_added: int = 0
    lines_removed: int = 0
    models: dict[str, Usage] = {}


# ── tools ────────────────────────────────────────────────────────────────────────────────────────────


class ToolStarted(Body, frozen=True, tag="tool_started"):
    """A tool begins."""

    tool: str
    name: str
    title: str = ""
    kind: ToolKind = "other"
    input: dict[str, Any] = {}
    paths: tuple[str, ...] = ()


class ToolProgress(Body, frozen=True, tag="tool_progress"):
    """News of a running tool: a better title, its input as it becomes known, how far it is."""

    tool: str
    title: str = ""
    text: str = ""
    input: dict[str, Any] | None = None
    paths: tuple[str, ...] = ()


class ToolOutput(Body, frozen=True, tag="tool_output"):
    """More of what a tool prints."""

    tool: str
    text: str
    stream: Literal["out", "err"] = "out"


class ToolEnded(Body, frozen=True, tag="tool_ended"):
    """A tool is over: exactly one for each that started."""

    tool: str
    outcome: ToolOutcome = "done"
    text: str = ""
    duration_ms: int = 0


class ToolSummary(Body, frozen=True, tag="tool_summary"):
    """The agent's own words for several tools together."""

    text: str
    tools: tuple[str, ...] = ()


class Diff(Body, frozen=True, tag="diff"):
    """A file changed, or is to change. `old` is None for a new file, `new` None for a deleted one."""

    path: str
    old: str | None = None
    new: str | None = None
    tool: str = ""
    unified: str = ""
    added: int = 0
    removed: int = 0


# ── asks ─────────────────────────────────────────────────────────────────────────────────────────────


class PermissionRequest(Body, frozen=True, tag="permission_request"):
    """May the agent do this? `ask` is the agent's own request id."""

    ask: str
    title: str
    kind: ToolKind = "other"
    tool: str = ""
    name: str = ""
    input: dict[str, Any] = {}
    reason: str = ""
    options: tuple[AskOption, ...] = ()
    suggestions: tuple[Any, ...] = ()
    blocked_path: str = ""
    paths: tuple[str, ...] = ()
    diffs: tuple[Diff, ...] = ()
    agent: str = ""


class Question(Body, frozen=True, tag="question"):
    """The agent wants to know something."""

    ask: str
    questions: tuple[QuestionItem, ...]
    title: str = ""
    agent: str = ""


class PlanReview(Body, frozen=True, tag="plan_review"):
    """The agent proposes a plan and waits for a word."""

    ask: str
    plan: str
    options: tuple[AskOption, ...] = ()
    agent: str = ""


class LoginRequest(Body, frozen=True, tag="login_request"):
    """The agent cannot work before somebody logs it in: at `url`, where `code` is to be entered.

    With `wants_code` the page gives a code, which has to be brought back to the agent.
    """

    ask: str
    text: str = ""
    url: str = ""
    code: str = ""
    wants_code: bool = False
    agent: str = ""


class AskResolved(Body, frozen=True, tag="ask_resolved"):
    """An ask was answered, and the agent has the answer."""

    ask: str
    outcome: Literal["allowed", "denied", "answered"]
    by: str = ""
    option: str = ""
    reason: str = ""


class AskCancelled(Body, frozen=True, tag="ask_cancelled"):
    """An ask is void: the agent withdrew it, was interrupted, or died."""

    ask: str
    why: str = ""


# ── state ────────────────────────────────────────────────────────────────────────────────────────────


class Status(Body, frozen=True, tag="status"):
    """A quiet line about what the agent is doing."""

    text: str
    state: Literal["idle", "starting", "working", "waiting", "retrying", "compacting"] = "working"


class Plan(Body, frozen=True, tag="plan"):
    """The agent's checklist, whole, each time it changes."""

    entries: tuple[PlanEntry, ...]


class ModeChanged(Body, frozen=True, tag="mode_changed"):
    """The agent works in another mode."""

    mode: str
    modes: tuple[Choice, ...] = ()


class ModelChanged(Body, frozen=True, tag="model_changed"):
    """Another model answers."""

    model: str
    models: tuple[Choice, ...] = ()


class CommandsChanged(Body, frozen=True, tag="commands_changed"):
    """The agent's own slash commands, whole."""

    commands: tuple[AgentCommand, ...]


class CompactBoundary(Body, frozen=True, tag="compact_boundary"):
    """The agent folded its history to make room."""

    trigger: str = ""
    tokens_before: int = 0


class AuthStatus(Body, frozen=True, tag="auth_status"):
    """Whether the agent is logged in, and how to log in."""

    logged_in: bool
    text: str = ""
    url: str = ""
    code: str = ""


class RateLimited(Body, frozen=True, tag="rate_limited"):
    """The model's service asks to wait."""

    text: str = ""
    resets_at: float | None = None


class ContextUsage(Body, frozen=True, tag="context_usage"):
    """How full the agent's context is."""

    used: int
    size: int
    cost_usd: float | None = None


class HookEvent(Body, frozen=True, tag="hook_event"):
    """A hook of the agent ran."""

    hook: str
    text: str = ""
    data: dict[str, Any] = {}


class TitleChanged(Body, frozen=True, tag="title_changed"):
    """The agent named the conversation."""

    title: str


class SessionClosed(Body, frozen=True, tag="session_closed"):
    """The agent is gone: always the last message."""

    why: str = ""
    code: int | None = None
    expected: bool = False


# ── the rest ─────────────────────────────────────────────────────────────────────────────────────────


class Presence(Body, frozen=True, tag="presence"):
    """Who is looking."""

    who: str
    state: Literal["joined", "left", "reading", "typing"]


class Failure(Body, frozen=True, tag="error"):
    """Something went wrong. `recoverable` means that the session goes on; `fix` says what a person can do."""

    text: str
    recoverable: bool = True
    code: str = ""
    fix: str = ""


class KeepAlive(Body, frozen=True, tag="keep_alive"):
    """The wire is alive, nothing else."""


class Unknown(Body, frozen=True, tag="unknown"):
    """A wire message nobody knows: passed through with its raw data, counted, and breaking nothing."""

    kind: str
    raw: Any = None
