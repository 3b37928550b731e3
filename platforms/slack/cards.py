"""Tools, plans, changes, facts and notices as documents, so that they are drawn as an agent's words are."""

from __future__ import annotations

from typing import assert_never

from beambot.api import markdown as md
from beambot.api import outbound as out

# Of a change so much is shown; the whole of it is in the project.
_DIFF_LINES = 60
_DIFF_CHARACTERS = 3000
_FOLDED = 1500
_TITLE = 200
_STATES: dict[out.ToolState, str] = {"running": "⏳", "done": "✓", "failed": "✗", "denied": "⊘", "cancelled": "–"}
_LEVELS = {"info": "ℹ️", "ask": "❓", "success": "✅", "warning": "⚠️", "error": "❌"}
_BOXES = {"pending": "☐", "in_progress": "◐", "completed": "☑"}


def document(block: out.AnyOutBlock) -> md.Document:
    """The words of a block, cleaned; of reasoning the newest."""
    match block:
        case out.Markdown(folded=True):
            return _folded(md.plain(md.parse(block.text, block.skip, block.open)))
        case out.Markdown(text=text, skip=skip, open=growing):
            return md.parse(text, skip, growing)
        case out.Tools(lines=lines, hidden=hidden):
            return _tools(lines, hidden)
        case out.Checklist(entries=entries):
            return _paragraph([_entry(entry.status, line(entry.text)) for entry in entries])
        case out.Change():
            return _change(block)
        case out.Facts(facts=facts):
            return _facts(facts)
        case out.Notice(text=text, level=level):
            return (md.Paragraph((md.Span(f"{md.SIGN} {_LEVELS[level]} {md.clean(text).strip()}"),)),)
        case out.Footer(text=text):
            return (md.Paragraph((md.Span(line(text)),)),) if line(text) else ()
        case _:
            assert_never(block)


def line(text: str) -> str:
    """A cleaned text in one line."""
    return " ".join(md.clean(text).split())


def title(block: out.AnyOutBlock) -> str:
    """Whose words they are, where they are not the agent's own."""
    under = line(block.under) if isinstance(block, out.Markdown) else ""
    return f"↳ {under if len(under) <= _TITLE else under[:_TITLE] + '…'}" if under else ""


def _paragraph(lines: list[list[md.Span]]) -> md.Document:
    """Lines as one paragraph, not as a list: they carry marks of their own."""
    spans = [span for at, each in enumerate(lines) for span in ([md.Span("\n")] * (at > 0) + each)]
    return (md.Paragraph(tuple(spans)),) if spans else ()


def _folded(thoughts: str) -> md.Document:
    if not thoughts.strip():
        return ()
    shown = thoughts if len(thoughts) <= _FOLDED else "… " + thoughts[-_FOLDED:]
    return (md.Paragraph((md.Span("💭 "), md.Span(shown, md.ITALIC)), inside=(md.Quote(0),)),)


def _tools(lines: tuple[out.ToolLine, ...], hidden: int) -> md.Document:
    shown = [[md.Span(f"… {hidden} more", md.ITALIC)]] if hidden else []
    for tool in lines:
        seconds = f" · {out.duration(tool.seconds)}" if tool.seconds is not None else ""
        shown.append([md.Span(f"{'    ' * tool.depth}{_STATES[tool.state]} {line(tool.title)}{seconds}")])
    return _paragraph(shown)


def _entry(status: str, text: str) -> list[md.Span]:
    style = {"completed": md.STRIKE, "in_progress": md.BOLD}.get(status, 0)
    return [md.Span(f"{_BOXES[status]} "), md.Span(text, style)]


def _change(change: out.Change) -> md.Document:
    title = [md.Span(line(change.path), md.CODE), md.Span(f" +{change.added} −{change.removed}")]
    lines = md.clean(change.unified).rstrip("\n").split("\n")
    # The path is said above; the names of both sides say it twice more.
    start = next((at for at, each in enumerate(lines) if each.startswith("@@")), 0)
    lines = lines[start:]
    shown = lines[:_DIFF_LINES]
    while len(shown) > 1 and sum(len(each) + 1 for each in shown) > _DIFF_CHARACTERS:
        shown.pop()
    if len(shown[0]) > _DIFF_CHARACTERS:
        shown[0] = shown[0][:_DIFF_CHARACTERS] + "…"
    left = len(lines) - len(shown)
    if left:
        shown.append(f"… {left} more line{'s' if left > 1 else ''}")
    words = md.Paragraph(tuple(title))
    return (words, md.Code("\n".join(shown), "diff")) if any(shown) else (words,)


def _facts(facts: tuple[out.Fact, ...]) -> md.Document:
    """Each in a line; a value of several lines of code below its name."""
    parts: list[md.AnyBlock] = []
    lines: list[list[md.Span]] = []
    for fact in facts:
        name, value = md.Span(f"{line(fact.name)}: ", md.BOLD), md.clean(fact.value).strip("\n")
        if fact.code and "\n" in value:
            parts += [*_paragraph([*lines, [name]]), md.Code(value)]
            lines = []
        else:
            lines.append([name, md.Span(value, md.CODE if fact.code and value.strip() else 0)])
    return (*parts, *_paragraph(lines))
