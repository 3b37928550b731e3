"""What stands under a card: the buttons of each of its pages, and the forms."""

from __future__ import annotations

from beambot.log import redact
from beambot.model.bodies import LoginRequest, PermissionRequest, PlanReview, Question, QuestionItem
from beambot.model.message import Ask
from beambot.model.outbound import Button, Field, Form
from beambot.render.asks.answers import CODE, OWN_WORDS, choices, takes_words
from beambot.render.asks.view import View

Rows = tuple[tuple[Button, ...], ...]

_STYLES = {"allow_once": "primary", "allow_always": "plain", "reject_once": "danger", "reject_always": "danger"}
_LABEL = 75
_OPTIONS = 12


def form_of(ask: str, body: Ask, view: View) -> Form | None:
    """The form of a page, where it has one."""
    match view.page:
        case "why":
            label = "What should be different?" if isinstance(body, PlanReview) else "Why not?"
            submit = "Keep planning" if isinstance(body, PlanReview) else "Deny"
            return Form(f"ask:{ask}:why", (Field("reason", label),), submit)
        case "edit":
            fields = tuple(Field(one.name, one.label, value=one.text) for one in view.editable)
            return Form(f"ask:{ask}:edit", fields, "Show it for confirmation")
        case "answers" if isinstance(body, Question):
            return question_form(ask, body)
        case "answers" if isinstance(body, LoginRequest) and body.wants_code:
            return Form(f"ask:{ask}:form", (Field(CODE, "The code that the page gives", secret=True),))
    return None


def question_form(ask: str, body: Question) -> Form | None:
    """A form where buttons do not do: several questions, several answers, or words of one's own."""
    if len(body.questions) == 1:
        only = body.questions[0]
        if only.options and not only.multiple and not only.free_text:
            return None
    fields: list[Field] = []
    for item in body.questions:
        options = tuple(option.label for option in item.options)
        hints = "; ".join(f"{o.label}: {o.description}" for o in item.options if o.description)
        kind = "text" if not options else ("choices" if item.multiple else "choice")
        fields.append(Field(item.id, item.header or item.text, kind, options, hints, item.secret))  # type: ignore[arg-type]
        if options and item.free_text:
            fields.append(Field(item.id + OWN_WORDS, "… or in your own words", secret=item.secret))
    return Form(f"ask:{ask}:form", tuple(fields))


def needs_steps(body: Ask) -> bool:
    """Whether a chat without forms has to ask one thing after the other."""
    return isinstance(body, Question) and (len(body.questions) > 1 or any(item.multiple for item in body.questions))


def buttons_of(ask: str, body: Ask, view: View) -> Rows:
    """The buttons of the page that is shown."""
    match view.page:
        case "rules":
            return _rules(ask, view)
        case "lasting":
            return _lasting(ask, view)
        case "all":
            yes = Button(f"Allow these {len(view.others)}", f"ask:{ask}:all:{view.listed}", style="primary")
            # What cannot be listed whole cannot be allowed together.
            return ((yes, _back(ask)),) if view.whole else ((_back(ask),),)
        case "why" | "edit":
            return ((_back(ask),),)
        case "confirm":
            yes = Button("Allow as edited", f"ask:{ask}:ok:{view.mark}", style="primary")
            return ((yes,), (Button("Edit again", f"ask:{ask}:edit"), _back(ask)))
        case "steps" if isinstance(body, Question):
            return _steps(ask, body, view)
    if isinstance(body, PermissionRequest):
        return _permission(ask, body, view)
    rows = tuple(tuple(_answers(ask, body)[at : at + 2]) for at in range(0, len(choices(body)), 2))
    if isinstance(body, PlanReview):
        rows += ((Button("Say what to change", f"ask:{ask}:why"),), (_stop(ask),))
    return rows


def _answers(ask: str, body: Ask) -> list[Button]:
    return [
        Button(_label(option.name), f"ask:{ask}:{number}", style=_STYLES.get(option.kind, "plain"))  # type: ignore[arg-type]
        for number, option in enumerate(choices(body))
    ]


def _label(words: str) -> str:
    clean = redact(" ".join(words.split()))
    return clean if len(clean) <= _LABEL else clean[: _LABEL - 1] + "…"


def _permission(ask: str, body: PermissionRequest, view: View) -> Rows:
    """The plain yes and the plain no stand together; what the agent itself offers for later stands apart."""
    answers = _answers(ask, body)
    first = [button for button in answers if button.style in ("primary", "danger")] or answers
    rows = [tuple(first[:3])]
    rows += [
        (Button(_label(f"Agent: {button.label}"), button.data, button.style),)
        for button in answers
        if button not in first[:3]
    ]
    more = [Button("Allow for…", f"ask:{ask}:rules")] if view.offers else []
    rows.append((*more, Button("Deny with reason", f"ask:{ask}:why")))
    if view.draft_by:
        rows.append((Button(_label(f"As {view.draft_by} edited it…"), f"ask:{ask}:edited"),))
    elif view.editable:
        rows.append((Button("Edit", f"ask:{ask}:edit"),))
    if view.others:
        rows.append((Button(f"Allow all {len(view.others) + 1} that wait…", f"ask:{ask}:all"),))
    rows.append((_stop(ask),))
    return tuple(rows)


def _rules(ask: str, view: View) -> Rows:
    verb, mark, other = ("Allow", "r", "Never allow…") if view.allow else ("Never", "n", "Allow for…")
    rows = [
        (Button(_label(f"{verb} {words}"), f"ask:{ask}:{mark}{at}"),) for at, words in enumerate(view.offers[:8])
    ]
    switch = Button(other, f"ask:{ask}:{'norules' if view.allow else 'rules'}")
    return (*rows, (switch, _back(ask)))


def _lasting(ask: str, view: View) -> Rows:
    mark = "r" if view.allow else "n"
    rows = [(Button(_label(words), f"ask:{ask}:{mark}{view.chosen}:{name}"),) for name, words in view.lasting]
    return (*rows, (Button("Back", f"ask:{ask}:{'rules' if view.allow else 'norules'}"),))


def _steps(ask: str, body: Question, view: View) -> Rows:
    """One question of several: what can be chosen, and the way to the next."""
    last = len(body.questions)
    whole = all(view.fields.get(item.id) for item in body.questions)
    send = Button("Send", f"ask:{ask}:send:{view.mark}", style="primary")
    before = [Button("Back", f"ask:{ask}:go{view.at - 1}")] if view.at else []
    if view.at >= last:
        return ((send, *before),)
    rows = [(button,) for button in _options(ask, body.questions[view.at], view)]
    after = Button("Next" if view.at + 1 < last else "To the end", f"ask:{ask}:go{view.at + 1}")
    return (*rows, (*before, send if whole else after))


def _options(ask: str, item: QuestionItem, view: View) -> list[Button]:
    picked = view.fields.get(item.id, ())
    return [
        Button(_label(("✓ " if option.label in picked else "") + option.label), f"ask:{ask}:s{view.at}.{number}")
        for number, option in enumerate(item.options[:_OPTIONS])
    ]


def step_hint(item: QuestionItem) -> str:
    """How a question is answered where there are no forms."""
    if not item.options:
        return "Reply to this message with your answer."
    if len(item.options) > _OPTIONS:
        return "Press a button, or reply with one of: " + ", ".join(_label(o.label) for o in item.options) + "."
    if item.multiple:
        words = "Choose as many as you like"
        return f"{words}, or reply with words of your own." if takes_words(item) else f"{words}."
    return "Choose one, or reply with words of your own." if takes_words(item) else ""


def _back(ask: str) -> Button:
    return Button("Back", f"ask:{ask}:back")


def _stop(ask: str) -> Button:
    return Button("Stop the turn", f"ask:{ask}:stop", style="danger")
