"""An ask as a card: what will happen, whole; who may answer; and how it ended."""

from __future__ import annotations

import json

from msgspec import Struct
from msgspec.structs import replace

from beambot.log import redact
from beambot.model.bodies import LoginRequest, PermissionRequest, PlanReview, Question
from beambot.model.message import Ask
from beambot.model.outbound import AnyOutBlock, Change, Fact, Facts, Footer, Markdown, Notice, Outgoing, plain_text
from beambot.render.asks.answers import (
    choices,
    chosen,
    clean_words,
    filled_in,
    for_same,
    in_words,
    plain_answer,
    shown_answers,
    takes_words,
)
from beambot.render.asks.content import change, content, cut, rest_of
from beambot.render.asks.controls import buttons_of, form_of, needs_steps, question_form, step_hint
from beambot.render.asks.view import Settled, View
from beambot.render.clip import Paper, taken

__all__ = [
    "Room",
    "Settled",
    "View",
    "card",
    "change",
    "choices",
    "chosen",
    "clean_words",
    "filled_in",
    "fitted",
    "for_same",
    "in_words",
    "needs_steps",
    "plain_answer",
    "question_form",
    "shown_answers",
    "summary",
    "takes_words",
    "wanted",
]

# Longer than this nobody reads a card: the rest is in a file, whatever the chat would take.
_LONGEST = 8000
_LEAST = 200
_WIDEST = 130
_TRIES = 24


def card(
    ask: str, body: Ask, *, folder: str, forms: bool, settled: Settled | None = None, view: View | None = None
) -> Outgoing:
    """The card of an ask, open or settled."""
    view = view or View()
    if not forms and settled is None and view.page == "answers" and needs_steps(body):
        view = replace(view, page="steps")
    blocks: tuple[AnyOutBlock, ...] = (*content(body, folder, view),)
    key = f"ask:{ask}"
    if settled is not None:
        level = "success" if settled.good else "warning"
        return Outgoing(key, (*blocks, Notice(settled.text, level=level)))  # type: ignore[arg-type]
    form = form_of(ask, body, view) if forms else None
    if view.page == "all":
        blocks = (Notice("All of this waits", level="ask"), Facts(_numbered(view.others)))
    if not forms and view.page == "answers" and isinstance(body, Question) and len(body.questions) == 1:
        blocks += (Footer(step_hint(body.questions[0])),) if step_hint(body.questions[0]) else ()
    blocks += _standing(view)
    has_own = form is not None and view.page == "answers" and isinstance(body, Question)
    return Outgoing(key, blocks, () if has_own else buttons_of(ask, body, view), form, loud=True)


class Room(Struct, frozen=True):
    """What a chat shows of one card: its paper, how much of a change, and whether the rest can come as a file."""

    paper: Paper
    change_lines: int = 28
    change_text: int = 850
    files: bool = True


def fitted(card: Outgoing, room: Room) -> tuple[Outgoing, str]:
    """The card as it fits a chat, and the whole of it for a file; nothing where it fits as it is.

    What is longest gives way first, at the end of a line, and says how much of it is left out.
    """
    limit, where = min(room.paper.limit, _LONGEST), ", in the file" if room.files else ""
    blocks = tuple(_shown_change(block, room, where) for block in card.blocks)
    whole = blocks
    rooms = {place: len(text) for place, text in _texts(blocks).items()}
    for _ in range(_TRIES):
        size = taken(blocks, room.paper)
        if size <= limit or not rooms:
            break
        longest = max(rooms, key=lambda place: rooms[place])
        rooms[longest] = max(int(rooms[longest] * max(limit / size * 0.9, 0.05)), _LEAST)
        blocks = tuple(_within(block, at, rooms, where) for at, block in enumerate(whole))
    blocks = _fewer(blocks, room.paper, limit, where)
    return (card, "") if blocks == card.blocks else (replace(card, blocks=blocks), plain_text(card))


def _shown_change(block: AnyOutBlock, room: Room, where: str) -> AnyOutBlock:
    """As much of a change as the chat draws, so that it is said here what is left out, and not hidden there."""
    if not isinstance(block, Change):
        return block
    lines = block.unified.split("\n")
    shown = [
        line if len(line) <= _WIDEST else line[:_WIDEST] + f" … {len(line) - _WIDEST} more{where}" for line in lines
    ]
    kept = shown[: room.change_lines]
    while len(kept) > 1 and len("\n".join(kept)) > room.change_text:
        kept.pop()
    if len(kept) < len(lines):
        kept[-1:] = [f" … {len(lines) - len(kept) + 1} more lines{where}"]
    return block if kept == lines else replace(block, unified="\n".join(kept))


def _fewer(blocks: tuple[AnyOutBlock, ...], paper: Paper, limit: int, where: str) -> tuple[AnyOutBlock, ...]:
    """Whole files are left out, the last first, where even the beginnings of all of them are too much."""
    left = [at for at, block in enumerate(blocks) if isinstance(block, Change)]
    gone: list[int] = []

    def kept() -> tuple[AnyOutBlock, ...]:
        word = Footer(f"… {len(gone)} more files{where}")
        return tuple(word if at == gone[-1] else block for at, block in enumerate(blocks) if at not in gone[:-1])

    while left and taken(kept() if gone else blocks, paper) > limit:
        gone.append(left.pop())
    return kept() if gone else blocks


def _texts(blocks: tuple[AnyOutBlock, ...]) -> dict[tuple[int, int], str]:
    """What can be cut, by the number of its block and of the fact in it."""
    found: dict[tuple[int, int], str] = {}
    for at, block in enumerate(blocks):
        match block:
            case Facts(facts=facts):
                found.update({(at, number): fact.value for number, fact in enumerate(facts)})
            case Change(unified=text) | Markdown(text=text):
                found[at, 0] = text
    return found


def _within(block: AnyOutBlock, at: int, rooms: dict[tuple[int, int], int], where: str) -> AnyOutBlock:
    def less(text: str, number: int = 0) -> str:
        return cut(text, rooms[at, number], where)

    match block:
        case Facts(facts=facts):
            return Facts(tuple(replace(f, value=less(f.value, number)) for number, f in enumerate(facts)))
        case Change(unified=text):
            return replace(block, unified=less(text))
        case Markdown(text=text):
            return replace(block, text=less(text))
        case _:
            return block


def _numbered(lines: tuple[str, ...]) -> tuple[Fact, ...]:
    return tuple(Fact(f"{number}.", line, code=True) for number, line in enumerate(lines, 1))


def _standing(view: View) -> tuple[AnyOutBlock, ...]:
    """Who may answer and until when, and who has said yes already."""
    words: list[str] = []
    if view.yes:
        more = "one more yes is" if view.missing == 1 else f"{view.missing} more are"
        words.append(f"Allowed by {' and '.join(view.yes)}; {more} needed.")
    if view.who:
        words.append(f"May answer: {view.who}.")
    if view.until:
        words.append(f"Denied at {view.until} if nobody answers.")
    return (Footer(" ".join(words)),) if words else ()


def summary(body: Ask) -> str:
    """One line for lists, logs and notices."""
    match body:
        case PermissionRequest(title=title):
            return redact(" ".join(title.split()))[:200]
        case Question(questions=questions):
            return redact(" ".join(questions[0].text.split()))[:200] if questions else "a question"
        case PlanReview():
            return "a plan to review"
        case LoginRequest():
            return "a login"


def wanted(body: Ask) -> str:
    """What exactly an ask is about, for lists and for the audit: the command whole, or the tool and its paths."""
    if not isinstance(body, PermissionRequest):
        return summary(body)
    command, rest = body.input.get("command"), rest_of(body, drawn=False)
    if isinstance(command, str) and command:
        return redact(f"{command} {json.dumps(rest, ensure_ascii=False)}" if rest else command)
    paths = dict.fromkeys((*body.paths, *(diff.path for diff in body.diffs), body.blocked_path))
    more = ", ".join(path for path in paths if path and path not in body.title)
    return redact(f"{body.title} ({more})" if more else body.title)
