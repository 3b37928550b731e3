"""What a person can say to an ask, and what it means to the agent."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from beambot.log import redact
from beambot.model.bodies import AskOption, LoginRequest, PermissionRequest, PlanReview, Question, QuestionItem
from beambot.model.message import Ask
from beambot.model.ports import Answer

_ORDER = ("allow_once", "allow_always", "reject_once", "reject_always")
_NAMES = {
    "allow_once": "Allow once",
    "allow_always": "Always allow",
    "reject_once": "Deny",
    "reject_always": "Always deny",
}
_PERMISSION = (AskOption("", "Allow", "allow_once"), AskOption("", "Deny", "reject_once"))
_PLAN = (AskOption("", "Approve", "allow_once"), AskOption("", "Keep planning", "reject_once"))
_CANCEL = AskOption("", "Cancel", "reject_once")
_LOGGED_IN = AskOption("", "I have logged in", "allow_once")
# The field for words of one's own, beside the choices of a question.
OWN_WORDS = ".own"
CODE = "code"


def choices(body: Ask) -> tuple[AskOption, ...]:
    """What can be pressed, in the order of the buttons: the smallest yes first, in words a person reads."""
    match body:
        case PermissionRequest(options=options) | PlanReview(options=options):
            named = tuple(AskOption(o.id, _NAMES.get(o.name, o.name), o.kind) for o in options)
            if named and all(option.kind in _ORDER for option in named):
                named = tuple(sorted(named, key=lambda option: _ORDER.index(option.kind)))
            return named or (_PLAN if isinstance(body, PlanReview) else _PERMISSION)
        case Question(questions=questions):
            if len(questions) != 1 or questions[0].multiple:
                return ()
            return tuple(AskOption(option.label, option.label) for option in questions[0].options)
        case LoginRequest(wants_code=wants_code):
            return (_CANCEL,) if wants_code else (_LOGGED_IN, _CANCEL)


def takes_words(item: QuestionItem) -> bool:
    """Whether a question can be answered in one's own words."""
    return item.free_text or not item.options


def chosen(body: Ask, choice: int, by: str) -> Answer | None:
    """The answer that a press means; None when there is no such choice."""
    offered = choices(body)
    if not 0 <= choice < len(offered):
        return None
    option = offered[choice]
    if isinstance(body, Question):
        return Answer(ask=body.ask, verdict="answer", fields={body.questions[0].id: (option.name,)}, by=by)
    denies = option.kind in ("reject_once", "reject_always")
    return Answer(ask=body.ask, verdict="deny" if denies else "allow", option=option.id, by=by)


def plain_answer(body: Ask, *, allow: bool, by: str) -> Answer:
    """A yes or a no without anything else, with the agent's own option for it where it has one."""
    kind = "allow_once" if allow else "reject_once"
    option = next((option.id for option in choices(body) if option.kind == kind), "")
    return Answer(ask=body.ask, verdict="allow" if allow else "deny", option=option, by=by)


def in_words(body: Ask, text: str, by: str) -> Answer | None:
    """The answer that a reply means: a word of consent or refusal, the name of a choice, or free text."""
    words = text.strip()
    if not words:
        return None
    for number, option in enumerate(choices(body)):
        if words.casefold() == option.name.casefold():
            return chosen(body, number, by)
    match body:
        case Question(questions=questions):
            if len(questions) == 1 and takes_words(questions[0]):
                return Answer(ask=body.ask, verdict="answer", fields={questions[0].id: (words,)}, by=by)
            return None
        case LoginRequest(wants_code=True):
            return Answer(ask=body.ask, verdict="answer", fields={CODE: (words,)}, by=by)
    first, *more = words.split(maxsplit=1)
    first, rest = first.strip(",.!").casefold(), " ".join(more)
    if first in ("yes", "y", "ok", "allow", "approve") and not rest:
        option_id = next((o.id for o in choices(body) if o.kind == "allow_once"), None)
        return None if option_id is None else Answer(ask=body.ask, verdict="allow", option=option_id, by=by)
    refuses = first in ("no", "n", "deny", "reject")
    # Any other word on a plan is a comment, and with a comment it is planned on.
    if refuses or isinstance(body, PlanReview):
        option_id = next((o.id for o in choices(body) if o.kind == "reject_once"), "")
        return Answer(ask=body.ask, verdict="deny", option=option_id, text=rest if refuses else words, by=by)
    return None


def filled_in(body: Question | LoginRequest, fields: Mapping[str, tuple[str, ...]], by: str) -> Answer:
    """The answer that a form means: only what was asked, and only what was offered unless words are free.

    Words of one's own stand beside the choices where there can be several, and else in their place.
    """
    if isinstance(body, LoginRequest):
        given = _said(fields, CODE)[:1]
        return Answer(ask=body.ask, verdict="answer", fields={CODE: given} if given else {}, by=by)
    answers: dict[str, tuple[str, ...]] = {}
    for item in body.questions:
        given, own = _said(fields, item.id), _said(fields, item.id + OWN_WORDS)
        offered = {option.label for option in item.options}
        if not takes_words(item):
            given, own = tuple(value for value in given if value in offered), ()
        answers[item.id] = (*given, *own) if item.multiple else (*own, *given)[:1]
    return Answer(ask=body.ask, verdict="answer", fields=answers, by=by)


def _said(fields: Mapping[str, tuple[str, ...]], name: str) -> tuple[str, ...]:
    return tuple(value.strip() for value in fields.get(name, ()) if value.strip())


def shown_answers(body: Ask, fields: Mapping[str, tuple[str, ...]]) -> str:
    """What was answered, for everybody to read: what was asked for in secret stays one."""
    if isinstance(body, LoginRequest):
        return ""
    asked = body.questions if isinstance(body, Question) else ()
    said = [shown_values(item, fields[item.id]) for item in asked if fields.get(item.id)]
    return "; ".join(said)


def clean_words(text: str) -> str:
    """A reason or a comment on a card."""
    return redact(" ".join(text.split()))


def for_same(body: Ask, answer: Answer, same: Ask) -> Answer | None:
    """An answer to one ask as the answer to another for the same; None where its choice is not offered."""
    if not answer.option:
        return replace(answer, ask=same.ask)
    chosen = next((option for option in choices(body) if option.id == answer.option), None)
    alike = [o.id for o in choices(same) if chosen is not None and (o.name, o.kind) == (chosen.name, chosen.kind)]
    return replace(answer, ask=same.ask, option=alike[0]) if len(alike) == 1 else None


def shown_values(item: QuestionItem | None, values: tuple[str, ...]) -> str:
    """What was answered to one question."""
    return "••••" if item is not None and item.secret and values else redact(", ".join(values))
