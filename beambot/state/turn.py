"""One turn, as its messages tell it: parts in the order they were said, each sealed when the next begins."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from beambot.model.bodies import (
    AskCancelled,
    AskResolved,
    Assistant,
    Diff,
    Failure,
    LoginRequest,
    PermissionRequest,
    Plan,
    PlanEntry,
    PlanReview,
    Question,
    RateLimited,
    Result,
    Status,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolKind,
    ToolOutcome,
    ToolProgress,
    ToolStarted,
)
from beambot.model.content import Code, Text, Thinking
from beambot.model.message import UnifiedMessage
from beambot.state.text import Growing

ToolState = Literal["running", "done", "failed", "denied", "cancelled"]


class Words(Struct, frozen=True):
    """A run of text or of reasoning, of the agent itself or of the subagent that a tool called `parent` runs."""

    text: Growing
    thinking: bool = False
    complete: bool = False
    parent: str = ""


class Work(Struct, frozen=True):
    """A run of tools with no words between them."""

    tools: tuple[str, ...]


class Trouble(Struct, frozen=True):
    """Something went wrong at this place."""

    text: str
    fix: str = ""


Part = Words | Work | Trouble


class Tool(Struct, frozen=True):
    """One tool as it stands now."""

    id: str
    name: str
    title: str
    kind: ToolKind
    state: ToolState
    started_at: float
    ended_at: float | None = None
    depth: int = 0
    paths: tuple[str, ...] = ()


class FileChange(Struct, frozen=True):
    """What this turn did to one file."""

    path: str
    added: int
    removed: int


class Turn(Struct, frozen=True):
    """`parts` are sealed, `live` is the one that still grows. `revised` counts texts that ended otherwise."""

    id: str
    started_at: float = 0.0
    parts: tuple[Part, ...] = ()
    live: Part | None = None
    tools: dict[str, Tool] = {}
    plan: tuple[PlanEntry, ...] = ()
    asks: tuple[str, ...] = ()
    files: dict[str, FileChange] = {}
    status: str = ""
    result: Result | None = None
    ended_at: float | None = None
    model: str = ""
    revised: int = 0
    agent: str = ""

    @property
    def every_part(self) -> tuple[Part, ...]:
        """Sealed and live together."""
        return self.parts if self.live is None else (*self.parts, self.live)


def spoken(turn: Turn) -> str:
    """Everything the agent itself said in a turn."""
    parts = [part for part in turn.every_part if isinstance(part, Words) and not part.thinking and not part.parent]
    return "\n\n".join(part.text.whole().strip("\n") for part in parts)


def reduce(turn: Turn, message: UnifiedMessage) -> Turn:
    """The turn after this message. What does not belong to a turn changes nothing."""
    body = message.body
    if isinstance(body, TextDelta):
        return _grow(turn, body.text, False, message.parent)
    if isinstance(body, ThinkingDelta):
        return _grow(turn, body.text, True, message.parent)
    match body:
        case ToolStarted():
            return _start(turn, body, message)
        case ToolProgress(tool=tool) if tool in turn.tools:
            return _progress(turn, body)
        case ToolEnded(tool=tool, outcome=outcome) if tool in turn.tools and turn.tools[tool].state == "running":
            return _end(turn, tool, outcome, message.at)
        case Assistant():
            return _complete(turn, body, message.parent)
        case Diff():
            return _changed(turn, body)
        case Plan(entries=entries):
            return replace(turn, plan=entries)
        case PermissionRequest(ask=ask) | Question(ask=ask) | PlanReview(ask=ask) | LoginRequest(ask=ask) if (
            ask not in turn.asks
        ):
            return replace(turn, asks=(*turn.asks, ask))
        case AskResolved(ask=ask) | AskCancelled(ask=ask) if ask in turn.asks:
            return replace(turn, asks=tuple(other for other in turn.asks if other != ask))
        case Status(text=text) | RateLimited(text=text):
            return replace(turn, status=text)
        case Failure(text=text, fix=fix):
            return replace(_seal(turn), live=Trouble(text, fix))
        case Result():
            return replace(_finish(turn, body), result=body, ended_at=message.at, status="", asks=())
        case _:
            return turn


def _grow(turn: Turn, text: str, thinking: bool, parent: str) -> Turn:
    live = turn.live
    if type(live) is Words and live.thinking is thinking and not live.complete and live.parent == parent:
        words = Words(live.text.append(text), thinking, False, parent)
        parts = turn.parts
    else:
        words = Words(Growing().append(text), thinking, False, parent)
        parts = turn.parts if live is None else (*turn.parts, live)
    return Turn(
        turn.id,
        turn.started_at,
        parts,
        words,
        turn.tools,
        turn.plan,
        turn.asks,
        turn.files,
        "",
        turn.result,
        turn.ended_at,
        turn.model,
        turn.revised,
        turn.agent,
    )


def _seal(turn: Turn) -> Turn:
    if turn.live is None:
        return turn
    return replace(turn, parts=(*turn.parts, turn.live), live=None)


def _finish(turn: Turn, body: Result) -> Turn:
    """An agent that says its answer only at the end has said it all the same."""
    said = any(isinstance(part, Words) and not part.thinking for part in turn.every_part)
    if body.text and not said:
        turn = _complete_words(turn, body.text, thinking=False, parent="")
    return _seal(turn)


def _complete(turn: Turn, body: Assistant, parent: str) -> Turn:
    """A complete message ends the runs it completes; words that were never streamed are added.

    What was streamed stays as it was streamed, unless the complete text differs: then that is the truth.
    """
    for block in body.blocks:
        if isinstance(block, Text | Thinking):
            text, thinking = block.text, isinstance(block, Thinking)
        elif isinstance(block, Code):
            text, thinking = f"```{block.language}\n{block.code}\n```\n", False
        else:
            continue
        if text:
            turn = _complete_words(turn, text, thinking, parent)
    return replace(turn, model=body.model) if body.model and body.model != turn.model else turn


def _complete_words(turn: Turn, text: str, thinking: bool, parent: str) -> Turn:
    parts = turn.every_part
    place = _streamed(parts, text, thinking, parent)
    if place is None:
        return replace(_seal(turn), live=Words(Growing().append(text), thinking, True, parent))
    words = parts[place]
    assert isinstance(words, Words)
    streamed = words.text.whole()
    # What stands on sealed pages is counted in these characters: a blank that was cut off must not move them.
    keeps = streamed == text or (streamed.strip() == text.strip() and not text.startswith(streamed))
    grown = words.text if keeps else Growing().append(text)
    done = Words(grown, thinking, True, parent)
    if not keeps and not text.startswith(streamed):
        turn = replace(turn, revised=turn.revised + 1)
    if turn.live is not None and place == len(turn.parts):
        return replace(turn, live=done)
    return replace(turn, parts=(*turn.parts[:place], done, *turn.parts[place + 1 :]))


def _streamed(parts: tuple[Part, ...], text: str, thinking: bool, parent: str) -> int | None:
    """Where the words that this text completes were streamed: what says the same, else what still grows."""
    found: int | None = None
    for place in range(len(parts) - 1, -1, -1):
        part = parts[place]
        if not isinstance(part, Words) or part.thinking is not thinking or part.parent != parent:
            continue
        if part.complete:
            break
        if part.text.whole().strip() == text.strip() or place == len(parts) - 1:
            found = place
    return found


def _start(turn: Turn, body: ToolStarted, message: UnifiedMessage) -> Turn:
    parent = turn.tools.get(message.parent)
    tool = Tool(
        id=body.tool,
        name=body.name,
        title=body.title or body.name,
        kind=body.kind,
        state="running",
        started_at=message.at,
        depth=parent.depth + 1 if parent else (1 if message.parent else 0),
        paths=body.paths,
    )
    live = turn.live
    if body.tool in turn.tools:
        return replace(turn, tools={**turn.tools, body.tool: tool})
    if isinstance(live, Work):
        work, parts = Work((*live.tools, body.tool)), turn.parts
    else:
        work, parts = Work((body.tool,)), (turn.parts if live is None else (*turn.parts, live))
    return replace(turn, parts=parts, live=work, tools={**turn.tools, body.tool: tool}, status="")


def _progress(turn: Turn, body: ToolProgress) -> Turn:
    tool = turn.tools[body.tool]
    tool = replace(tool, title=body.title or tool.title, paths=body.paths or tool.paths)
    return replace(turn, tools={**turn.tools, body.tool: tool})


def _end(turn: Turn, tool: str, outcome: ToolOutcome, at: float) -> Turn:
    ended = replace(turn.tools[tool], state=outcome, ended_at=at)
    return replace(turn, tools={**turn.tools, tool: ended})


def _changed(turn: Turn, body: Diff) -> Turn:
    before = turn.files.get(body.path, FileChange(body.path, 0, 0))
    change = FileChange(body.path, before.added + body.added, before.removed + body.removed)
    return replace(turn, files={**turn.files, body.path: change})
