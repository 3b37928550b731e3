"""A turn's parts as blocks: one line a tool, reasoning folded, a quiet footer."""

from __future__ import annotations

from typing import Literal

from beambot.log import redact
from beambot.model.encoding import well_formed
from beambot.model.outbound import (
    AnyOutBlock,
    Button,
    Checklist,
    Footer,
    Markdown,
    Notice,
    ToolLine,
    Tools,
    duration,
)
from beambot.model.settings import Rendering
from beambot.state.turn import Part, Tool, Trouble, Turn, Words, Work

_THOUGHTS = 1000
_TITLE = 120
_PREVIEW = 200


def part_block(turn: Turn, part: Part, settings: Rendering, now: float) -> AnyOutBlock | None:
    """A part that is shown as a whole. Words that are not reasoning are laid out by `layout`."""
    match part:
        case Work(tools=tools) if turn.result is not None and len(tools) > max(settings.tool_lines, 1):
            return _record([turn.tools[tool] for tool in tools], settings.tool_lines, now)
        case Work(tools=tools):
            shown = tools[max(len(tools) - settings.tool_lines, 0) :]
            lines = tuple(_tool_line(turn.tools[tool], now) for tool in shown)
            return Tools(lines, hidden=len(tools) - len(shown))
        case Trouble(text=text, fix=fix):
            words = redact(text if not fix else f"{text}\nWhat helps: {fix}")
            return Notice(words, level="error")
        case Words(text=text):
            if settings.thinking == "hide":
                return None
            # Redacted with what stands before it: half a secret would not be recognised.
            thoughts = redact(text.since(max(0, len(text) - 5 * _THOUGHTS)))
            shown_from = max(0, len(thoughts) - _THOUGHTS)
            return Markdown(("… " if shown_from else "") + thoughts[shown_from:], folded=True)


def words_block(turn: Turn, part: Words, opening: str, text: str, *, growing: bool = False) -> Markdown:
    """A piece of what was said, as it is shown: no secret, no half of a character."""
    head = well_formed(redact(opening)) if opening else ""
    caller = turn.tools.get(part.parent)
    under = " ".join(redact(caller.title if caller else "subagent").split())[:_TITLE] if part.parent else ""
    return Markdown(head + well_formed(redact(text)), growing, skip=len(head), under=under)


def tail_blocks(turn: Turn, settings: Rendering, now: float) -> tuple[AnyOutBlock, ...]:
    """What stands under the newest text: the plan, how it ended, the footer."""
    blocks: list[AnyOutBlock] = []
    if turn.plan:
        blocks.append(Checklist(turn.plan))
    if turn.result is None:
        if turn.status:
            blocks.append(Footer(redact(turn.status)))
        return tuple(blocks)
    if (notice := _ending(turn)) is not None:
        blocks.append(notice)
    if footer := _footer(turn, settings):
        blocks.append(Footer(footer))
    return tuple(blocks)


def turn_buttons(turn: Turn, session: str, *, stop_button: bool) -> tuple[tuple[Button, ...], ...]:
    """What can be done about a turn from its newest message."""
    if turn.result is None:
        return ((Button("Stop", f"cmd:/stop {session}", style="danger"),),) if stop_button else ()
    buttons: list[Button] = []
    if turn.result.outcome in ("error", "limit"):
        buttons.append(Button("Send again", f"cmd:/again {turn.id}"))
    if turn.files:
        buttons.append(Button("Changes", f"cmd:/diff turn {turn.id}"))
    if turn.tools:
        buttons.append(Button("Details", f"cmd:/details {turn.id}"))
    return (tuple(buttons),) if buttons else ()


def ending(turn: Turn, settings: Rendering) -> tuple[AnyOutBlock, ...]:
    """A word of its own about the end of a long turn: how it ended, and how the answer begins."""
    assert turn.result is not None
    time = duration((turn.ended_at or turn.started_at) - turn.started_at)
    words = {"success": "Done", "refused": "The agent refused to go on", "limit": "The agent reached its limit"}
    level: Literal["success", "warning", "error"] = "success"
    if turn.result.outcome != "success":
        level = "warning" if turn.result.outcome in words else "error"
    said = f"{words.get(turn.result.outcome, 'Failed')} after {time}"
    spoken = [part for part in turn.every_part if isinstance(part, Words) and not part.thinking and not part.parent]
    answer = " ".join(redact(spoken[-1].text.between(0, 8000)).split()) if spoken else ""
    notice = Notice(f"{said}.", level=level)
    return (notice, Markdown(_first_words(answer))) if answer else (notice,)


def _first_words(text: str) -> str:
    """As much as a notification shows."""
    return text if len(text) <= _PREVIEW else text[:_PREVIEW].rsplit(" ", 1)[0] + " …"


def after_cut(session: str, turn: str, *, prompted: bool) -> tuple[tuple[Button, ...], ...]:
    """What can be done about a turn that was cut off; one that nobody prompted cannot be sent again."""
    buttons = [Button("Go on", f"cmd:/continue {session} {turn}", style="primary")]
    if prompted:
        buttons.append(Button("Send again", f"cmd:/again {turn}"))
    return (tuple(buttons),)


def _record(tools: list[Tool], most: int, now: float) -> Tools:
    """Work that is over: how much there was, and what did not go well."""
    took = sum((tool.ended_at or tool.started_at) - tool.started_at for tool in tools)
    failed = [tool for tool in tools if tool.state in ("failed", "denied")][-max(most, 1) :]
    whole = ToolLine(f"{len(tools)} steps", state="done", seconds=round(took, 1))
    return Tools((whole, *(_tool_line(tool, now) for tool in failed)))


def _tool_line(tool: Tool, now: float) -> ToolLine:
    end = tool.ended_at if tool.ended_at is not None else now
    title = " ".join(redact(tool.title).split())
    return ToolLine(
        title=title if len(title) <= _TITLE else title[: _TITLE - 1] + "…",
        kind=tool.kind,
        state=tool.state,
        # A running tool shows no seconds: they would make every look at it a change worth an edit.
        seconds=round(end - tool.started_at, 1) if tool.state != "running" else None,
        depth=min(tool.depth, 3),
    )


def _ending(turn: Turn) -> Notice | None:
    assert turn.result is not None
    error = redact(turn.result.error)
    match turn.result.outcome:
        case "success":
            return None if turn.every_part else Notice("The agent ended without a word.", level="info")
        case "interrupted":
            return Notice(error or "Stopped.", level="warning")
        case "refused":
            return Notice(error or "The agent refused to go on.", level="warning")
        case "limit":
            return Notice(error or "The agent reached its limit for one turn.", level="warning")
        case "error":
            said = " ".join(part.text for part in turn.every_part[-2:] if isinstance(part, Trouble))
            return (
                None if said and turn.result.error in said else Notice(error or "The agent failed.", level="error")
            )


def _footer(turn: Turn, settings: Rendering) -> str:
    assert turn.result is not None
    if settings.footer == "off":
        return ""
    result = turn.result
    facts: list[str] = []
    if settings.footer == "full":
        facts += [redact(name) for name in (turn.agent, turn.model) if name]
    if turn.ended_at is not None:
        facts.append(duration(turn.ended_at - turn.started_at))
    if turn.files:
        added = sum(change.added for change in turn.files.values())
        removed = sum(change.removed for change in turn.files.values())
        count = len(turn.files)
        facts.append(f"{count} file{'s' if count != 1 else ''} +{added} −{removed}")
    if settings.footer == "full":
        tokens = result.usage.input_tokens + result.usage.output_tokens
        if tokens:
            facts.append(f"{tokens:,} tokens")
    if result.usage.cost_usd:
        facts.append(f"${result.usage.cost_usd:.2f}")
    return " · ".join(facts)
