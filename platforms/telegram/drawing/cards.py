"""Blocks that are not an agent's words: work, plans, changes, facts, and what beambot itself says."""

from __future__ import annotations

from typing import assert_never

from beambot.api import markdown as md
from beambot.api import outbound as out
from platforms.telegram.drawing.canvas import Canvas, Formatted
from platforms.telegram.drawing.spans import code_lines, one_line

Card = out.Tools | out.Checklist | out.Change | out.Facts | out.Notice | out.Footer

STATES: dict[out.ToolState, str] = {"running": "⏳", "done": "✓", "failed": "✗", "denied": "⊘", "cancelled": "–"}
LEVELS = {"info": "ℹ️", "ask": "❓", "success": "✅", "warning": "⚠️", "error": "❌"}
STEPS = {"pending": "☐", "in_progress": "◉", "completed": "☑"}
# How much of a change is shown: enough to judge a small one, not so much that it fills the chat.
_LINES, _LENGTH, _WIDTH = 40, 2000, 200
_HEADERS = ("diff ", "index ", "--- ", "+++ ", "new ", "deleted ", "old mode", "similarity ", "rename ")


def draw(card: Card) -> Formatted:
    """One card as text with entities."""
    canvas = Canvas()
    match card:
        case out.Tools(lines=lines, hidden=hidden):
            canvas.write("\n".join(tool_lines(lines, hidden)))
        case out.Checklist(entries=entries):
            for entry in entries:
                text = one_line(entry.text)
                canvas.write(f"{STEPS[entry.status]} ")
                canvas.write(text, md.BOLD if entry.status == "in_progress" else 0)
                canvas.write("\n")
        case out.Change(path=path, unified=unified):
            canvas.write(one_line(path), md.BOLD)
            canvas.write(counts(card) + "\n")
            if shown := diff(unified):
                canvas.preformatted(shown, "diff")
        case out.Facts(facts=facts):
            for fact in facts:
                _fact(canvas, fact)
        case out.Notice():
            canvas.write(notice(card))
        case out.Footer(text=text):
            canvas.write(md.clean(text), md.ITALIC)
        case _:
            assert_never(card)
    return canvas.finish()


def tool_lines(lines: tuple[out.ToolLine, ...], hidden: int) -> list[str]:
    """One line a tool; what is not shown is counted in front."""
    shown = [f"… {hidden} more"] if hidden else []
    for line in lines:
        taken = f" · {out.duration(line.seconds)}" if line.seconds is not None else ""
        shown.append(f"{' ' * (4 * min(line.depth, 8))}{STATES[line.state]} {one_line(line.title)}{taken}")
    return shown


def counts(change: out.Change) -> str:
    """How many lines came and went."""
    return f" +{change.added} −{change.removed}" if change.added or change.removed else ""


def diff(unified: str) -> str:
    """The lines of a change, without the names of the file, and not too many."""
    lines = [line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…" for line in md.clean(unified).split("\n")]
    first = next((at for at, line in enumerate(lines) if line.startswith("@@")), 0)
    if all(line.startswith(_HEADERS) or not line for line in lines[:first]):
        lines = lines[first:]
    while lines and not lines[-1].strip():
        lines.pop()
    count = room = 0
    while count < min(len(lines), _LINES) and room + len(lines[count]) + 1 <= _LENGTH:
        room += len(lines[count]) + 1
        count += 1
    more = len(lines) - count
    if more > 1 or count < min(len(lines), _LINES):
        lines = [*lines[:count], f"… {more} more line{'s' if more > 1 else ''}"]
    return code_lines("\n".join(lines))


def notice(card: out.Notice) -> str:
    """beambot's own words, under the sign that only it may show."""
    return f"{md.SIGN} {LEVELS[card.level]} {md.clean(card.text).strip()}"


def _fact(canvas: Canvas, fact: out.Fact) -> None:
    value = md.clean(fact.value)
    if name := one_line(fact.name):
        canvas.write(name, md.BOLD)
        canvas.write(":")
    if fact.code and "\n" in value.strip():
        if canvas.length:
            canvas.write("\n")
        canvas.preformatted(code_lines(value))
    else:
        canvas.write(" " if name else "")
        canvas.write(value.strip(), md.CODE if fact.code else 0)
    canvas.write("\n")
