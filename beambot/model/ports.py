"""The ports: what an adapter and a platform must be able to do. Small; the rest is capabilities."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from msgspec import Struct

from beambot.model.capabilities import AdapterCapabilities, Budget, PlatformCapabilities
from beambot.model.ids import MessageRef, ThreadRef
from beambot.model.inbound import Attachment, Inbound
from beambot.model.message import UnifiedMessage
from beambot.model.outbound import AnyOutBlock, Outgoing, Receipt, ThreadState


class Clock(Protocol):
    """Time as an argument."""

    def now(self) -> float:
        """Seconds since the epoch, for people and for the database."""
        ...

    def monotonic(self) -> float:
        """Seconds that only ever grow, for pacing and time limits."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class IdSource(Protocol):
    """Chance as an argument."""

    def new(self, length: int = 16) -> str:
        """A fresh unguessable id of lower-case letters and digits."""
        ...


# ── agents ───────────────────────────────────────────────────────────────────────────────────────────


class File(Struct, frozen=True):
    """A file that goes with a prompt: already on this machine."""

    path: Path
    name: str
    mime: str


class Prompt(Struct, frozen=True):
    """What a person wants of the agent, and the turn it opens."""

    turn: str
    text: str
    files: tuple[File, ...] = ()


class OpenOptions(Struct, frozen=True, kw_only=True):
    """How to open a session: where, with what, and with which environment."""

    session: str
    folder: Path
    model: str = ""
    mode: str = ""
    env: dict[str, str] = {}


class Answer(Struct, frozen=True, kw_only=True):
    """What a person said to an ask.

    `option` is one of the agent's own; `text` a reason or a comment; `input` what was approved instead of
    what was asked; `fields` the answers to a question's items; `rules` the suggestions that were chosen.
    """

    ask: str
    verdict: Literal["allow", "deny", "answer"]
    option: str = ""
    text: str = ""
    input: dict[str, Any] | None = None
    fields: dict[str, tuple[str, ...]] = {}
    rules: tuple[Any, ...] = ()
    interrupt: bool = False
    by: str = ""


class Probe(Struct, frozen=True, kw_only=True):
    """What `doctor` learns about an agent."""

    installed: bool
    version: str = ""
    logged_in: bool | None = None
    detail: str = ""
    fix: str = ""


class Resumable(Struct, frozen=True, kw_only=True):
    """A session that the agent still knows."""

    agent_session: str
    title: str = ""
    folder: str = ""
    at: float = 0.0


class BackendSession(Protocol):
    """One conversation with one agent. `messages` is read once, by one reader, until it ends.

    A failure during the run is a message. `send` may raise `AgentError` when the agent cannot be reached.
    """

    async def send(self, prompt: Prompt) -> None:
        """Hand over a prompt. Returns when the agent has taken it, not when it has answered."""
        ...

    def messages(self) -> AsyncIterator[UnifiedMessage]:
        """Everything the agent says, in order; ends after `session_closed`."""
        ...

    async def close(self) -> None:
        """End the agent, its children and its pipes. Safe to call twice."""
        ...


class BackendAdapter(Protocol):
    """A kind of agent."""

    name: str
    capabilities: AdapterCapabilities

    async def probe(self) -> Probe:
        """Installed? Which version? Logged in?"""
        ...

    async def open(self, options: OpenOptions, resume: str | None = None, fork: bool = False) -> BackendSession:
        """Start or resume. `resume` is the agent's own session id. Raises `AgentError` with the fix."""
        ...

    async def list_resumable(self, folder: Path) -> Sequence[Resumable]:
        """Sessions that this agent could take up again in this folder."""
        ...


class SessionHost(Protocol):
    """Where agents run. The flow reaches a session through this and nothing else."""

    def names(self) -> Sequence[str]:
        """Adapters that can be used here."""
        ...

    def capabilities(self, adapter: str) -> AdapterCapabilities:
        """What that kind of agent can do."""
        ...

    async def open(
        self, adapter: str, options: OpenOptions, resume: str | None = None, fork: bool = False
    ) -> BackendSession:
        """As `BackendAdapter.open`."""
        ...

    async def list_resumable(self, adapter: str, folder: Path) -> Sequence[Resumable]:
        """As `BackendAdapter.list_resumable`."""
        ...

    def continue_command(self, adapter: str, agent_session: str, folder: Path) -> str:
        """As `HandsOff.continue_command`; nothing where the agent has no such line."""
        ...


# ── chats ────────────────────────────────────────────────────────────────────────────────────────────


class Inbox(Protocol):
    """Where a platform puts what it received."""

    async def put(self, inbound: Inbound) -> bool:
        """Write it down. Only after this returned may the update be acknowledged to the vendor.

        False: it was seen before; acknowledge it all the same.
        """
        ...


class Check(Struct, frozen=True):
    """One thing that a platform found out about itself, for `doctor`."""

    level: Literal["ok", "warn", "error"]
    text: str
    fix: str = ""


@runtime_checkable
class SelfChecking(Protocol):
    """A platform that can tell how it is set up, without receiving anything."""

    async def check(self) -> Sequence[Check]: ...


@runtime_checkable
class Topical(Protocol):
    """A platform in some of whose chats each session has a place of its own."""

    def has_topics(self, thread: ThreadRef) -> bool:
        """Whether a new session beside this thread gets a thread of its own, by `open_thread`. Pure."""
        ...


class StreamLimits(Struct, frozen=True):
    """How long a stream of the chat's own may last, and how much it may hold (0: as much as a message)."""

    seconds: float
    text: int = 0


class OpenStream(Struct, frozen=True):
    """A stream that is open. `message` is its id where it stands as a message already; some chats show a draft."""

    thread: ThreadRef
    handle: str
    message: str = ""


@runtime_checkable
class Streaming(Protocol):
    """A platform with streams of its own. Each call carries the whole message; the platform finds what is new.

    `StreamEnded` says that the chat ended the stream: the core goes on with edits, or posts where nothing stands.
    """

    def stream_limits(self, thread: ThreadRef) -> StreamLimits | None:
        """None: not in this thread."""
        ...

    async def open_stream(self, thread: ThreadRef, message: Outgoing) -> OpenStream:
        """A message that grows."""
        ...

    async def append_stream(self, stream: OpenStream, message: Outgoing) -> None:
        """The same message with more in it."""
        ...

    async def close_stream(self, stream: OpenStream, message: Outgoing) -> MessageRef:
        """The message as it stays; it can be edited from now on."""
        ...


class ChatPlatform(Protocol):
    """A kind of chat. Every call but `run` does one thing and raises a `PlatformError` when it did not."""

    name: str
    capabilities: PlatformCapabilities

    def budgets(self, thread: ThreadRef) -> tuple[Budget, ...]:
        """How many calls it allows there. Pure: most platforms give `capabilities.budgets`, whatever the thread."""
        ...

    async def run(self, inbox: Inbox, ready: Callable[[], None]) -> None:
        """Connect, call `ready`, receive until cancelled. Reconnects by itself."""
        ...

    def measure(self, block: AnyOutBlock) -> int:
        """What a block takes of `text_limit` once it is rendered; blocks are counted with two more between them."""
        ...

    async def post(self, thread: ThreadRef, message: Outgoing) -> MessageRef:
        """A new message."""
        ...

    async def edit(self, ref: MessageRef, message: Outgoing) -> None:
        """The same message, as it should stand now. An edit that changes nothing is a success."""
        ...

    async def delete(self, ref: MessageRef) -> None:
        """Take a message of ours away."""
        ...

    async def upload(self, thread: ThreadRef, path: Path, name: str, caption: str = "") -> MessageRef:
        """A file."""
        ...

    async def download(self, attachment: Attachment, into: Path) -> Path:
        """Fetch what somebody sent, into the folder `into`."""
        ...

    async def ack(self, handle: str, text: str = "", *, alert: bool = False) -> None:
        """Answer a press, to the presser alone where the platform can."""
        ...

    async def open_thread(self, chat: ThreadRef, title: str) -> ThreadRef:
        """A new thread beside this one."""
        ...

    async def rename_thread(self, thread: ThreadRef, title: str) -> None:
        """Its title."""
        ...

    async def close_thread(self, thread: ThreadRef) -> None:
        """Nothing more is expected here."""
        ...

    async def mark_thread(self, thread: ThreadRef, state: ThreadState) -> None:
        """Show how the session stands, where the platform has a place for it."""
        ...

    async def react(self, ref: MessageRef, receipt: Receipt) -> None:
        """Show what became of somebody's message."""
        ...

    async def typing(self, thread: ThreadRef) -> None:
        """Show that something is being written; fades by itself."""
        ...

    async def history(self, thread: ThreadRef, since: float) -> Sequence[Inbound]:
        """What was said while beambot was away, oldest first."""
        ...

    async def invitation(self) -> str:
        """How a person reaches this chat now (a link), or nothing."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
