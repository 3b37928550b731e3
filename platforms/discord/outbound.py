"""Messages to the body of Discord's create and edit calls. Pure."""

from __future__ import annotations

from functools import lru_cache
from typing import Required, TypedDict, assert_never

from msgspec.structs import replace

from beambot.api import Outgoing
from beambot.api import markdown as md
from beambot.api import outbound as out
from platforms.discord.inline import code, escape, escape_lines
from platforms.discord.markdown import fence, render
from platforms.discord.shorten import shorten

TEXT = 2000
ROWS, IN_ROW, LABEL, CUSTOM_ID = 5, 5, 80, 100
SUPPRESS_EMBEDS, SUPPRESS_NOTIFICATIONS = 1 << 2, 1 << 12
ACTION_ROW, BUTTON = 1, 2

_NOTHING = "…"
_STATES: dict[out.ToolState, str] = {"running": "⏳", "done": "✓", "failed": "✗", "denied": "⊘", "cancelled": "–"}
_STATUS = {"pending": "☐", "in_progress": "◐", "completed": "☑"}
_LEVELS = {"info": "ℹ️", "ask": "❓", "success": "✅", "warning": "⚠️", "error": "❌"}
_STYLES = {"primary": 1, "plain": 2, "danger": 4}
# Reasoning and diffs are shown so far; the whole of them is for bigger surfaces.
_THOUGHTS, _THOUGHT_LINES = 500, 6
_DIFF, _DIFF_LINES, _DIFF_WIDTH = 900, 30, 160
_DIFF_HEADS = ("diff --git ", "index ", "--- ", "+++ ", "new file mode ", "deleted file mode ", "similarity index ")


class Component(TypedDict, total=False):
    """A button, a row of them, or a part of a laid-out message."""

    type: Required[int]
    components: list[Component]
    style: int
    label: str
    custom_id: str
    content: str
    accent_color: int
    divider: bool
    spacing: int


class Mentions(TypedDict):
    """Whom a message may ping."""

    parse: list[str]


class Payload(TypedDict, total=False):
    """The body of a call."""

    content: str
    components: Required[list[Component]]
    flags: Required[int]
    allowed_mentions: Required[Mentions]


def payload(message: Outgoing) -> Payload:
    """A message as `content`. It pings nobody and shows no previews; a quiet one rings no phone."""
    return {
        "content": shorten(plain(message) if message.plain else _content(message), TEXT),
        "components": button_rows(message),
        "flags": SUPPRESS_EMBEDS | quiet(message),
        "allowed_mentions": {"parse": []},
    }


def measure(block: out.AnyOutBlock) -> int:
    """What one block takes of the text, with what stands between it and the next."""
    return len(shown(block)) + 2


def quiet(message: Outgoing) -> int:
    """The flag of a message that should not ring."""
    return 0 if message.loud else SUPPRESS_NOTIFICATIONS


def plain(message: Outgoing) -> str:
    """The words of a message without any markup."""
    parts = [_words(block).strip("\n") for block in message.blocks]
    return escape_lines("\n\n".join(part for part in parts if part.strip())) or _NOTHING


def button_rows(message: Outgoing) -> list[Component]:
    """Rows of buttons; a form is a button that opens it. What does not fit as laid out is laid out anew."""
    rows = list(message.buttons)
    if message.form is not None:
        rows.append((out.Button(message.form.submit, message.form.data, "primary"),))
    if len(rows) > ROWS or any(len(row) > IN_ROW for row in rows):
        flat = [button for row in rows for button in row]
        rows = [tuple(flat[at : at + IN_ROW]) for at in range(0, len(flat), IN_ROW)][:ROWS]
    seen: set[str] = set()
    shown_rows = [[_button(button) for button in row if _is_new(button, seen)] for row in rows]
    return [{"type": ACTION_ROW, "components": row} for row in shown_rows if row]


def _is_new(button: out.Button, seen: set[str]) -> bool:
    """Discord refuses a message in which two buttons have the same data."""
    known = button.data[:CUSTOM_ID] in seen
    seen.add(button.data[:CUSTOM_ID])
    return not known


def _button(button: out.Button) -> Component:
    label = " ".join(md.clean(button.label).split()) or _NOTHING
    label = label if len(label) <= LABEL else label[: LABEL - 1] + "…"
    data = button.data[:CUSTOM_ID]
    return {"type": BUTTON, "style": _STYLES[button.style], "label": label, "custom_id": data}


def _content(message: Outgoing) -> str:
    text = ""
    before: out.AnyOutBlock | None = None
    for block in message.blocks:
        part = shown(block)
        if part and text:
            close = isinstance(block, out.Footer) or (isinstance(block, out.Tools) and type(before) is out.Tools)
            text += "\n" if close else "\n\n"
        text += part
        before = block if part else before
    return text if text.strip() else _NOTHING


def shown(block: out.AnyOutBlock) -> str:
    """One block in Discord's markdown."""
    match block:
        case out.Markdown():
            return _markdown(block)
        case out.Tools(lines=lines, hidden=hidden):
            more = [f"-# … {hidden} more"] if hidden else []
            return "\n".join(more + [_tool(line) for line in lines])
        case out.Checklist(entries=entries):
            return "\n".join(
                f"{_STATUS[entry.status]} {escape(_flat(entry.text), fresh=False)}" for entry in entries
            )
        case out.Change(path=path, unified=unified, added=added, removed=removed):
            head = f"{code(_flat(path))} +{added} −{removed}"
            return "\n".join([head, *fence(_diff(unified), "diff")]) if unified.strip() else head
        case out.Facts(facts=facts):
            return "\n".join(_fact(fact) for fact in facts)
        case out.Notice(text=text, level=level):
            return f"{md.SIGN} {_LEVELS[level]} {escape_lines(md.clean(text))}"
        case out.Footer(text=text):
            said = [line.strip() for line in md.clean(text).split("\n")]
            return "\n".join(f"-# {escape(line)}" for line in said if line)
        case _:
            assert_never(block)


@lru_cache(maxsize=128)
def _markdown(block: out.Markdown) -> str:
    document = md.parse(block.text, block.skip, block.open)
    title = f"> **↳ {escape(_flat(block.under), fresh=False)}**" if block.under else ""
    if block.folded:
        return "\n".join([title] * bool(title) + _thoughts(md.plain(document)))
    if not title:
        return render(document)
    # All of it stands in one quotation, which is opened before the beginning of the text.
    quote = md.Quote(-1)
    quoted = tuple(replace(part, inside=(quote, *part.inside)) for part in document)
    return f"{title}\n{render(quoted)}" if quoted else title


def _thoughts(text: str) -> list[str]:
    """The newest of what was thought, small and quoted."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    kept: list[str] = []
    room = _THOUGHTS
    for line in reversed(lines[-_THOUGHT_LINES:]):
        if len(line) > room and kept:
            break
        kept.append(line if len(line) <= room else "… " + line[-room:])
        room -= len(line)
    if len(kept) < len(lines):
        kept[-1] = "… " + kept[-1].removeprefix("… ")
    return [f"> -# {escape(line)}" for line in reversed(kept)]


def _tool(line: out.ToolLine) -> str:
    title = escape(_flat(line.title), fresh=False)
    return "\N{EM SPACE}" * line.depth + f"{_STATES[line.state]} {title}{_duration(line.seconds)}"


def _fact(fact: out.Fact) -> str:
    name, value = escape(_flat(fact.name)), md.clean(fact.value).strip("\n")
    head = f"**{name}**: " if name else ""
    if not fact.code:
        return head + escape_lines(value)
    if "\n" in value or "``" in value or not value.strip():
        return "\n".join([head.strip(), *fence(value)] if head else fence(value))
    return head + code(value)


def _diff(unified: str) -> str:
    """The lines that changed, without what Discord's reader knows already, and not all of a long one."""
    lines = md.clean(unified).strip("\n").split("\n")
    first = next((at for at, line in enumerate(lines) if line.startswith("@@")), 0)
    lines = [line for line in lines[:first] if not line.startswith(_DIFF_HEADS)] + lines[first:]
    kept: list[str] = []
    room = _DIFF
    for line in lines[:_DIFF_LINES]:
        short = line if len(line) <= _DIFF_WIDTH else line[: _DIFF_WIDTH - 1] + "…"
        room -= len(short) + 1
        if room < 0:
            break
        kept.append(short)
    more = len(lines) - len(kept)
    return "\n".join(kept + ([f"… {more} more line{'s' if more != 1 else ''}"] if more else []))


def _words(block: out.AnyOutBlock) -> str:
    """One block as bare words, not escaped yet."""
    match block:
        case out.Markdown(text=text, open=growing, skip=skip, under=under):
            words = md.plain(md.parse(text, skip, growing))
            return f"↳ {_flat(under)}\n{words}" if under else words
        case out.Tools(lines=lines, hidden=hidden):
            more = [f"… {hidden} more"] if hidden else []
            rows = [f"{_STATES[line.state]} {_flat(line.title)}{_duration(line.seconds)}" for line in lines]
            return "\n".join(more + rows)
        case out.Checklist(entries=entries):
            return "\n".join(f"{_STATUS[entry.status]} {_flat(entry.text)}" for entry in entries)
        case out.Change(path=path, unified=unified, added=added, removed=removed):
            return f"{_flat(path)} +{added} −{removed}\n{_diff(unified)}"
        case out.Facts(facts=facts):
            return "\n".join(f"{_flat(fact.name)}: {md.clean(fact.value)}" for fact in facts)
        case out.Notice(text=text, level=level):
            return f"{md.SIGN} {_LEVELS[level]} {md.clean(text)}"
        case out.Footer(text=text):
            return md.clean(text)
        case _:
            assert_never(block)


def _flat(text: str) -> str:
    return " ".join(md.clean(text).split())


def _duration(seconds: float | None) -> str:
    return "" if seconds is None else f" · {out.duration(seconds)}"
