"""The Agent Client Protocol's messages as an agent writes them: unknown fields and odd values are tolerated."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct, field


class Wire(Struct, rename="camel", gc=False):
    """Names on the wire are in camel case."""


Meta = dict[str, Any] | None


# ── parts ────────────────────────────────────────────────────────────────────────────────────────────


class Content(Wire):
    """A content block of any kind; which fields count depends on `type`."""

    type: str = ""
    text: str = ""
    data: str = ""
    mime_type: str | None = ""
    uri: str | None = ""
    name: str = ""
    resource: dict[str, Any] | None = None


class ToolContent(Wire):
    """What a tool shows: content, a diff or a terminal."""

    type: str = ""
    content: Content | None = None
    path: str = ""
    old_text: str | None = None
    new_text: str | None = None
    terminal_id: str = ""


class Location(Wire):
    """A file the tool touches."""

    path: str = ""
    line: int | None = None


class PlanItem(Wire):
    """One line of a plan."""

    content: str = ""
    priority: str = "medium"
    status: str = "pending"


class Command(Wire):
    """A slash command."""

    name: str
    description: str | None = ""
    input: dict[str, Any] | None = None


class Cost(Wire):
    """Money so far, for the whole session."""

    amount: float = 0.0
    currency: str = "USD"


class ConfigOption(Wire):
    """A setting that the agent offers; categories `mode` and `model` matter here."""

    id: str
    name: str = ""
    category: Any = None
    type: str = "select"
    current_value: Any = None
    options: list[dict[str, Any]] = []


# ── session/update ───────────────────────────────────────────────────────────────────────────────────


class Update(Wire, tag_field="sessionUpdate", kw_only=True):
    """Tagged by `sessionUpdate`; a kind that is not here does not decode and is passed on as unknown."""

    meta: Meta = field(default=None, name="_meta")


class MessageChunk(Update, tag="agent_message_chunk"):
    """More of the answer."""

    content: Content
    message_id: str | None = None


class ThoughtChunk(Update, tag="agent_thought_chunk"):
    """More of the reasoning."""

    content: Content
    message_id: str | None = None


class UserChunk(Update, tag="user_message_chunk"):
    """An echo of the prompt."""

    content: Content
    message_id: str | None = None


class ToolUpdate(Update, tag="tool_call_update"):
    """News of a tool; what is absent did not change."""

    tool_call_id: str
    title: str | None = None
    name: str | None = None
    kind: str | None = None
    status: str | None = None
    content: list[ToolContent] | None = None
    locations: list[Location] | None = None
    raw_input: Any = None
    raw_output: Any = None


class ToolCall(ToolUpdate, tag="tool_call"):
    """A tool begins."""


class PlanUpdate(Update, tag="plan"):
    """The checklist, whole."""

    entries: list[PlanItem]


class CommandsUpdate(Update, tag="available_commands_update"):
    """The slash commands, whole."""

    available_commands: list[Command]


class ModeUpdate(Update, tag="current_mode_update"):
    """Another mode."""

    current_mode_id: str


class ConfigUpdate(Update, tag="config_option_update"):
    """The settings, whole."""

    config_options: list[ConfigOption]


class InfoUpdate(Update, tag="session_info_update"):
    """The session's title."""

    title: str | None = None


class UsageUpdate(Update, tag="usage_update"):
    """How full the context is."""

    used: int = 0
    size: int = 0
    cost: Cost | None = None


AnyUpdate = (
    MessageChunk
    | ThoughtChunk
    | UserChunk
    | ToolCall
    | ToolUpdate
    | PlanUpdate
    | CommandsUpdate
    | ModeUpdate
    | ConfigUpdate
    | InfoUpdate
    | UsageUpdate
)


class UpdateParams(Wire):
    """Whose update it is."""

    update: AnyUpdate
    session_id: str = ""


class UpdateLine(Struct, gc=False):
    """A whole line, for decoding the hot ones in one go. The literal makes every other line fail fast."""

    params: UpdateParams
    method: Literal["session/update"]


read_update_line = msgspec.json.Decoder(UpdateLine).decode


# ── requests of the agent ────────────────────────────────────────────────────────────────────────────


class PermissionOption(Wire):
    """One answer the agent offers."""

    option_id: str
    name: str = ""
    kind: str = "other"


class ToolRef(Wire):
    """The tool a permission is about; some agents send its id alone."""

    tool_call_id: str = ""
    title: str | None = None
    name: str | None = None
    kind: str | None = None
    content: list[ToolContent] | None = None
    locations: list[Location] | None = None
    raw_input: Any = None


class Permission(Wire):
    """session/request_permission"""

    tool_call: ToolRef
    options: list[PermissionOption] = []


class Elicitation(Wire):
    """elicitation/create: a form, described by a flat JSON schema, or a page that a person has to open."""

    message: str = ""
    mode: str = "form"
    requested_schema: dict[str, Any] = {}
    tool_call_id: str | None = None
    url: str = ""


class ReadFile(Wire):
    """fs/read_text_file"""

    path: str
    line: int | None = None
    limit: int | None = None


class WriteFile(Wire):
    """fs/write_text_file"""

    path: str
    content: str


class CreateTerminal(Wire):
    """terminal/create"""

    command: str
    args: list[str] | None = None
    env: list[dict[str, str]] | None = None
    cwd: str | None = None
    output_byte_limit: int | None = None


class TerminalRef(Wire):
    """terminal/output, wait_for_exit, kill, release"""

    terminal_id: str


# ── replies of the agent ─────────────────────────────────────────────────────────────────────────────


class AuthMethod(Wire):
    """A way to log in."""

    id: str = ""
    name: str = ""
    description: str | None = ""


class AgentCapabilities(Wire):
    """What the agent can do."""

    load_session: bool = False
    prompt_capabilities: dict[str, Any] | None = None
    session_capabilities: dict[str, Any] | None = None


class AgentInfo(Wire):
    """Who it is."""

    name: str = ""
    title: str | None = ""
    version: str | None = ""


class Initialized(Wire):
    """The reply to initialize."""

    protocol_version: int = 1
    agent_capabilities: AgentCapabilities | None = None
    agent_info: AgentInfo | None = None
    auth_methods: list[AuthMethod] | None = None
    meta: Meta = field(default=None, name="_meta")

    @property
    def pictures(self) -> bool:
        """Whether images may stand in a prompt."""
        caps = self.agent_capabilities
        return bool(caps and (caps.prompt_capabilities or {}).get("image"))

    def can(self, ability: str) -> bool:
        """Whether a session ability (list, fork, resume, …) is advertised."""
        caps = self.agent_capabilities
        return bool(caps and caps.session_capabilities and caps.session_capabilities.get(ability) is not None)


class Mode(Wire):
    """A mode the agent offers."""

    id: str
    name: str = ""
    description: str | None = ""


class Modes(Wire):
    """All modes and the current one."""

    current_mode_id: str = ""
    available_modes: list[Mode] = []


class Model(Wire):
    """A model the agent offers."""

    model_id: str
    name: str = ""
    description: str | None = ""


class Models(Wire):
    """All models and the current one."""

    current_model_id: str | None = ""
    available_models: list[Model] = []


class Opened(Wire):
    """The reply to session/new, load, resume and fork."""

    session_id: str | None = None
    modes: Modes | None = None
    models: Models | None = None
    config_options: list[ConfigOption] | None = None


class TokenUsage(Wire):
    """Tokens of a turn."""

    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cached_read_tokens: int | None = 0
    cached_write_tokens: int | None = 0


class Prompted(Wire):
    """The reply to session/prompt."""

    stop_reason: str = "end_turn"
    usage: TokenUsage | None = None


class ListedSession(Wire):
    """A session that the agent still has."""

    session_id: str
    cwd: str = ""
    title: str | None = ""
    updated_at: str | None = ""


class Listed(Wire):
    """The reply to session/list."""

    sessions: list[ListedSession] = []
    next_cursor: str | None = None


class Steered(Wire):
    """The reply to _session/steering."""

    outcome: str = ""
