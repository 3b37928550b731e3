"""An ask as a card: what will happen, whole; who may answer; and how it ended."""

from __future__ import annotations

import difflib
import json
from pathlib import PurePath
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from beambot.log import redact
from beambot.model.bodies import AskOption, Diff, PermissionRequest, PlanReview, Question
from beambot.model.message import Ask
from beambot.model.outbound import (
    AnyOutBlock,
    Button,
    Change,
    Fact,
    Facts,
    Field,
    Footer,
    Form,
    Markdown,
    Notice,
    Outgoing,
)
from beambot.model.ports import Answer
from beambot.render.diff import parse_diff

_LONG = 3000
_STYLES = {"allow_once": "primary", "allow_always": "plain", "reject_once": "danger", "reject_always": "danger"}
_ORDER = ("allow_once", "allow_always", "reject_once", "reject_always")
_NAMES = {
    "allow_once": "Allow once",
    "allow_always": "Always allow",
    "reject_once": "Deny",
    "reject_always": "Always deny",
}
_ALLOW = AskOption("", "Allow", "allow_once")
_DENY = AskOption("", "Deny", "reject_once")


class Settled(Struct, frozen=True):
    """How an ask ended: the words for it, and whether it was a yes."""

    text: str
    good: bool = False


class View(Struct, frozen=True):
    """What beambot adds to an ask: warnings, who may answer, what can be decided for later, who said yes so far.

    `page` is which buttons stand under it: the answers, the rules that can be made, or how long one of them lasts.
    """

    warnings: tuple[str, ...] = ()
    who: str = ""
    until: str = ""
    yes: tuple[str, ...] = ()
    offers: tuple[str, ...] = ()
    lasting: tuple[tuple[str, str], ...] = ()
    allow: bool = True
    page: Literal["answers", "rules", "lasting", "why", "all"] = "answers"
    chosen: int = 0
    others: tuple[str, ...] = ()
    listed: str = ""
    command: str = ""


def card(
    ask: str, body: Ask, *, folder: str, forms: bool, settled: Settled | None = None, view: View | None = None
) -> Outgoing:
    """The card of an ask, open or settled."""
    view = view or View()
    blocks = (*_content(body, folder, view),)
    key = f"ask:{ask}"
    if settled is not None:
        level = "success" if settled.good else "warning"
        return Outgoing(key, (*blocks, Notice(settled.text, level=level)))  # type: ignore[arg-type]
    form = question_form(ask, body) if forms and isinstance(body, Question) else None
    if view.page == "why":
        form = Form(f"ask:{ask}:why", (Field("reason", "Why not?"),), "Deny")
    if view.page == "all":
        blocks = (Notice("All of this waits", level="ask"), Facts(_numbered(view.others)))
    blocks += _standing(view)
    return Outgoing(key, blocks, () if form else _buttons(ask, body, view), form, loud=True)


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


def choices(body: Ask) -> tuple[AskOption, ...]:
    """What can be pressed, in the order of the buttons: the smallest yes first, in words a person reads."""
    match body:
        case PermissionRequest(options=options) | PlanReview(options=options):
            named = tuple(AskOption(o.id, _in_plain_words(o), o.kind) for o in options)
            if named and all(option.kind in _ORDER for option in named):
                named = tuple(sorted(named, key=lambda option: _ORDER.index(option.kind)))
            return named or (_ALLOW, _DENY)
        case Question(questions=questions):
            if len(questions) != 1:
                return ()
            return tuple(AskOption(option.label, option.label) for option in questions[0].options)


def _in_plain_words(option: AskOption) -> str:
    """Some agents name an option by nothing but its kind."""
    return _NAMES.get(option.name, option.name)


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
    if isinstance(body, Question):
        if len(body.questions) == 1 and (body.questions[0].free_text or not body.questions[0].options):
            return Answer(ask=body.ask, verdict="answer", fields={body.questions[0].id: (words,)}, by=by)
        return None
    first, *more = words.split(maxsplit=1)
    first, rest = first.strip(",.!").casefold(), " ".join(more)
    if first in ("yes", "y", "ok", "allow", "approve") and not rest:
        option_id = next((o.id for o in choices(body) if o.kind == "allow_once"), None)
        return None if option_id is None else Answer(ask=body.ask, verdict="allow", option=option_id, by=by)
    if first in ("no", "n", "deny", "reject"):
        option_id = next((o.id for o in choices(body) if o.kind == "reject_once"), "")
        return Answer(ask=body.ask, verdict="deny", option=option_id, text=rest, by=by)
    return None


def filled_in(body: Question, fields: dict[str, tuple[str, ...]], by: str) -> Answer:
    """The answer that a form means: only what was asked, and only what was offered unless words are free."""
    answers: dict[str, tuple[str, ...]] = {}
    for item in body.questions:
        given = tuple(value.strip() for value in fields.get(item.id, ()) if value.strip())
        offered = {option.label for option in item.options}
        if offered and not item.free_text:
            given = tuple(value for value in given if value in offered)
        answers[item.id] = given if item.multiple else given[:1]
    return Answer(ask=body.ask, verdict="answer", fields=answers, by=by)


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
    return Form(f"ask:{ask}:form", tuple(fields))


def summary(body: Ask) -> str:
    """One line for lists, logs and notices."""
    match body:
        case PermissionRequest(title=title):
            return redact(" ".join(title.split()))[:200]
        case Question(questions=questions):
            return redact(" ".join(questions[0].text.split()))[:200] if questions else "a question"
        case PlanReview():
            return "a plan to review"


def _content(body: Ask, folder: str, view: View) -> list[AnyOutBlock]:
    match body:
        case PermissionRequest():
            return _permission(body, folder, view)
        case Question(questions=questions, agent=agent):
            blocks: list[AnyOutBlock] = [Notice(f"{_name(agent)} asks", level="ask")]
            for item in questions:
                blocks.append(Markdown(redact(item.text)))
                hints = [Fact(o.label, redact(o.description)) for o in item.options if o.description]
                if hints:
                    blocks.append(Facts(tuple(hints)))
            return blocks
        case PlanReview(plan=plan):
            return [Notice("The agent proposes a plan", level="ask"), Markdown(redact(plan))]


def _permission(body: PermissionRequest, folder: str, view: View) -> list[AnyOutBlock]:
    verb = {
        "execute": "run a command",
        "edit": "change a file",
        "delete": "delete something",
        "move": "move something",
        "fetch": "use the network",
        "mode": "change its mode",
        "read": "read something",
    }.get("execute" if "command" in body.input else body.kind, "use a tool")
    blocks: list[AnyOutBlock] = [Notice(f"{_name(body.agent)} wants to {verb}", level="ask")]
    if view.warnings:
        words = "; ".join(dict.fromkeys(redact(warning) for warning in view.warnings))
        blocks.append(Notice(f"Careful: {words}.", level="warning"))
    facts = [Fact("What", redact(body.title), code=body.kind == "execute")]
    command = view.command or body.input.get("command")
    if command is not None:
        text = command if isinstance(command, str) else json.dumps(command, ensure_ascii=False)
        if text != body.title:
            facts.append(Fact("Command", redact(text), code=True))
    elif body.input and not body.diffs:
        facts.append(Fact("Input", _short(redact(json.dumps(body.input, ensure_ascii=False, indent=1))), code=True))
    facts.append(Fact("Folder", folder, code=True))
    if body.blocked_path:
        facts.append(Fact("Outside the project", redact(body.blocked_path), code=True))
    if body.reason:
        facts.append(Fact("Why", redact(body.reason)))
    blocks.append(Facts(tuple(facts)))
    blocks += [change(diff, folder) for diff in body.diffs]
    return blocks


def change(diff: Diff, folder: str = "", *, whole: bool = False) -> Change:
    """A changed file as a unified diff, with its counts; a long one is cut unless the `whole` is wanted."""
    unified = diff.unified
    if not unified:
        lines = list(
            difflib.unified_diff((diff.old or "").splitlines(), (diff.new or "").splitlines(), lineterm="", n=3)
        )[2:]
        unified = "\n".join(lines)
    files = parse_diff(unified, diff.path)
    added, removed = sum(file.added for file in files), sum(file.removed for file in files)
    shown = redact(unified)
    return Change(redact(_within(diff.path, folder)), shown if whole else _short(shown), added, removed)


def _within(path: str, folder: str) -> str:
    """A path as it is called inside the project; one that leads outside stays whole."""
    if not folder or ".." in PurePath(path).parts:
        return path
    return str(PurePath(path).relative_to(folder)) if PurePath(path).is_relative_to(folder) else path


def _short(text: str) -> str:
    if len(text) <= _LONG:
        return text
    line = text.rfind("\n", _LONG // 2, _LONG)
    kept = text[: line if line > 0 else _LONG]
    more = text.count("\n") - kept.count("\n")
    return f"{kept}\n… {more} more lines" if more else f"{kept}\n… {len(text) - len(kept)} more characters"


def _name(agent: str) -> str:
    """A subagent's name stands in beambot's own voice: one short line, so that it can say nothing else."""
    return redact(" ".join(agent.split()))[:40] or "The agent"


def _buttons(ask: str, body: Ask, view: View) -> tuple[tuple[Button, ...], ...]:
    if view.page == "rules":
        return _rule_buttons(ask, view)
    if view.page == "lasting":
        return _lasting_buttons(ask, view)
    if view.page == "all":
        yes = Button(f"Allow these {len(view.others)}", f"ask:{ask}:all:{view.listed}", style="primary")
        return ((yes, Button("Back", f"ask:{ask}:back")),)
    answers = [
        Button(option.name[:60], f"ask:{ask}:{number}", style=_STYLES.get(option.kind, "plain"))  # type: ignore[arg-type]
        for number, option in enumerate(choices(body))
    ]
    if not isinstance(body, PermissionRequest):
        return tuple(tuple(answers[at : at + 2]) for at in range(0, len(answers), 2))
    # The plain yes and the plain no stand together; what the agent itself offers for later stands apart.
    plain = {"primary", "danger"}
    first = [button for button in answers if button.style in plain] or answers
    rows = [tuple(first[:3])]
    rows += [
        (replace(button, label=f"Agent: {button.label}"[:60]),) for button in answers if button not in first[:3]
    ]
    more = [Button("Allow for…", f"ask:{ask}:rules")] if view.offers else []
    rows.append((*more, Button("Deny with reason", f"ask:{ask}:why")))
    if view.others:
        rows.append((Button(f"Allow all {len(view.others) + 1} that wait…", f"ask:{ask}:all"),))
    rows.append((Button("Stop the turn", f"ask:{ask}:stop", style="danger"),))
    return tuple(rows)


def _rule_buttons(ask: str, view: View) -> tuple[tuple[Button, ...], ...]:
    verb, mark, other = ("Allow", "r", "Never allow…") if view.allow else ("Never", "n", "Allow for…")
    rows = [(Button(f"{verb} {words}"[:60], f"ask:{ask}:{mark}{at}"),) for at, words in enumerate(view.offers[:8])]
    switch = Button(other, f"ask:{ask}:{'norules' if view.allow else 'rules'}")
    return (*rows, (switch, Button("Back", f"ask:{ask}:back")))


def _lasting_buttons(ask: str, view: View) -> tuple[tuple[Button, ...], ...]:
    mark = "r" if view.allow else "n"
    rows = [(Button(words[:60], f"ask:{ask}:{mark}{view.chosen}:{name}"),) for name, words in view.lasting]
    return (*rows, (Button("Back", f"ask:{ask}:{'rules' if view.allow else 'norules'}"),))
