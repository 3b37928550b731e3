"""An ask as a card: what will happen, whole; who may answer; and how it ended."""

from __future__ import annotations

from msgspec.structs import replace

from beambot.log import redact
from beambot.model.bodies import LoginRequest, PermissionRequest, PlanReview, Question
from beambot.model.message import Ask
from beambot.model.outbound import AnyOutBlock, Change, Fact, Facts, Footer, Markdown, Notice, Outgoing, plain_text
from beambot.render.asks.answers import (
    choices,
    chosen,
    filled_in,
    in_words,
    plain_answer,
    shown_answers,
    takes_words,
)
from beambot.render.asks.content import change, content, cut
from beambot.render.asks.controls import buttons_of, form_of, needs_steps, question_form
from beambot.render.asks.view import Settled, View
from beambot.render.clip import Paper, taken

__all__ = [
    "Settled",
    "View",
    "card",
    "change",
    "choices",
    "chosen",
    "filled_in",
    "fitted",
    "in_words",
    "needs_steps",
    "plain_answer",
    "question_form",
    "shown_answers",
    "summary",
    "takes_words",
]

# Longer than this nobody reads a card: the rest is in a file, whatever the chat would take.
_LONGEST = 8000
_LEAST = 200
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
    blocks += _standing(view)
    has_own = form is not None and view.page == "answers" and isinstance(body, Question)
    return Outgoing(key, blocks, () if has_own else buttons_of(ask, body, view), form, loud=True)


def fitted(card: Outgoing, paper: Paper) -> tuple[Outgoing, str]:
    """The card as it fits a chat, and the whole of it for a file; nothing where it fits as it is.

    What is longest gives way first, at the end of a line, and says how much of it is left out.
    """
    limit = min(paper.limit, _LONGEST)
    rooms = {place: len(text) for place, text in _texts(card.blocks).items()}
    blocks = card.blocks
    for _ in range(_TRIES):
        size = taken(blocks, paper)
        if size <= limit or not rooms:
            break
        longest = max(rooms, key=lambda place: rooms[place])
        rooms[longest] = max(int(rooms[longest] * max(limit / size * 0.9, 0.05)), _LEAST)
        blocks = tuple(_within(block, at, rooms) for at, block in enumerate(card.blocks))
    return (card, "") if blocks == card.blocks else (replace(card, blocks=blocks), plain_text(card))


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


def _within(block: AnyOutBlock, at: int, rooms: dict[tuple[int, int], int]) -> AnyOutBlock:
    def less(text: str, number: int = 0) -> str:
        return cut(text, rooms[at, number], ", in the file")

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
        words.append(f"Allowed by {' and '.join(view.yes)}; one more yes is needed.")
    if view.who:
        words.append(f"May answer: {view.who}.")
    if view.until:
        words.append(f"Denied {view.until} if nobody answers.")
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
