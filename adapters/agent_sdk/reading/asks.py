"""What a call of `can_use_tool` asks of a person, and a person's answer as the client takes it. Pure."""

from __future__ import annotations

from typing import Any, Literal

from claude_agent_sdk import PermissionResult, PermissionResultAllow, PermissionResultDeny, PermissionUpdate
from msgspec import Struct

from adapters.agent_sdk.reading import changes, titles
from beambot.api import Answer, bodies

QUESTION, PLAN = "AskUserQuestion", "ExitPlanMode"
ALLOW, DENY, ACCEPT_EDITS = "allow", "deny", "accept_edits"
_NO_PLAN = "The agent wants to leave its planning mode, and has written no plan down."
_WHERE = {
    "session": "for this session",
    "localSettings": "in this project",
    "projectSettings": "in this project, for everyone",
    "userSettings": "everywhere",
}
_MODES = {
    "acceptEdits": "accept all edits from now on",
    "bypassPermissions": "never ask again",
    "plan": "plan first from now on",
    "default": "ask each time from now on",
}
_PLANS = (
    bodies.AskOption(ALLOW, "Approve", "allow_once"),
    bodies.AskOption(ACCEPT_EDITS, "Approve and accept edits", "allow_always"),
    bodies.AskOption(DENY, "Keep planning", "reject_once"),
)


class Asked(Struct, frozen=True):
    """One call of `can_use_tool`, without the client's own types. `request` is our id of the call."""

    request: str
    name: str
    input: dict[str, Any] = {}
    tool: str = ""
    agent: str = ""
    description: str = ""
    reason: str = ""
    blocked_path: str = ""
    suggestions: tuple[dict[str, Any], ...] = ()


class OpenAsk(Struct, frozen=True):
    """An ask that waits. One that is asked once more has another id: its old card must not answer it."""

    id: str
    asked: Asked
    parent: str = ""
    agent: str = ""


def body(ask: OpenAsk, folder: str) -> bodies.PermissionRequest | bodies.Question | bodies.PlanReview:
    """An ask as people see it."""
    asked = ask.asked
    given = asked.input
    if asked.name == QUESTION and (items := questions(given)):
        return bodies.Question(ask.id, items, agent=ask.agent)
    if asked.name == PLAN:
        plan = given.get("plan")
        return bodies.PlanReview(ask.id, plan if isinstance(plan, str) and plan else _NO_PLAN, _PLANS, ask.agent)
    suggestions = offered(asked)
    blocked = asked.blocked_path
    command = given.get("command")
    whole = command if asked.name == "Bash" and isinstance(command, str) and command.strip() else ""
    return bodies.PermissionRequest(
        ask.id,
        whole or titles.title(asked.name, given, folder),
        titles.kind_of(asked.name),
        asked.tool,
        asked.name,
        given,
        reason=_reason(asked),
        options=_options(suggestions),
        suggestions=suggestions,
        # The program names the path also where it is inside the folder; people are told of one outside.
        blocked_path=blocked if blocked and titles.within(blocked, folder) == blocked else "",
        paths=titles.paths(given),
        diffs=changes.planned(asked.name, given, asked.tool),
        agent=ask.agent,
    )


def decide(ask: OpenAsk, said: Answer) -> tuple[PermissionResult, Literal["allowed", "denied", "answered"]]:
    """A person's answer as the client takes it, and how the ask ended."""
    asked = ask.asked
    if said.verdict == "deny":
        words = "The user wants to keep planning." if asked.name == PLAN else "The user said no."
        return PermissionResultDeny(message=said.text or words, interrupt=said.interrupt), "denied"
    if asked.name == QUESTION and questions(asked.input):
        return PermissionResultAllow(
            updated_input={**asked.input, "answers": chosen(asked.input, said)}
        ), "answered"
    granted: list[PermissionUpdate] = []
    if asked.name == PLAN:
        if said.option == ACCEPT_EDITS:
            granted = [PermissionUpdate("setMode", mode="acceptEdits", destination="session")]
    else:
        granted = [PermissionUpdate.from_dict(one) for one in _granted(asked, said)]
    given = asked.input if said.input is None else said.input
    return PermissionResultAllow(updated_input=given, updated_permissions=granted or None), "allowed"


def chosen(given: dict[str, Any], said: Answer) -> dict[str, str]:
    """The answers by the text of their questions. Several answers to one question are joined by commas."""
    items = questions(given)
    fields = dict(said.fields)
    if not fields and len(items) == 1 and (said.option or said.text):
        fields = {items[0].id: (said.option or said.text,)}
    answers: dict[str, str] = {}
    for item in items:
        if values := [value for value in fields.get(item.id, ()) if value]:
            answers[item.text] = ", ".join(values if item.multiple else values[:1])
    return answers


def _granted(asked: Asked, said: Answer) -> list[dict[str, Any]]:
    """The suggestions that were chosen, and no others: one by its option, several as rules."""
    suggestions = offered(asked)
    wanted = [one for number, one in enumerate(suggestions) if said.option == f"suggestion-{number}"]
    return wanted + [one for one in suggestions if one in said.rules and one not in wanted]


def offered(asked: Asked) -> tuple[dict[str, Any], ...]:
    """The suggestions that can be put in words; what nobody understands is not offered."""
    return tuple(one for one in asked.suggestions if words(one))


def _options(suggestions: tuple[dict[str, Any], ...]) -> tuple[bodies.AskOption, ...]:
    """A plain yes and no, and each suggestion on its own: together they would all apply."""
    more = (
        bodies.AskOption(f"suggestion-{number}", words(one), "allow_always")
        for number, one in enumerate(suggestions)
    )
    first, last = bodies.AskOption(ALLOW, "Allow once", "allow_once"), bodies.AskOption(DENY, "Deny", "reject_once")
    return (first, *more, last)


def words(suggestion: dict[str, Any]) -> str:
    """What a suggestion would change, in plain words; nothing where it is not understood."""
    where = _WHERE.get(str(suggestion.get("destination")), "")
    match suggestion.get("type"):
        case "addRules":
            rules = suggestion.get("rules")
            named = [_rule(rule) for rule in rules] if isinstance(rules, list) else []
            if suggestion.get("behavior") != "allow" or not named or not all(named):
                return ""
            return f"Always allow {' and '.join(named)} {where}".strip()
        case "addDirectories":
            places = suggestion.get("directories")
            if not isinstance(places, list) or not places or not all(isinstance(one, str) for one in places):
                return ""
            return f"Allow, also all else in {' and '.join(places)} {where}".strip()
        case "setMode":
            mode = suggestion.get("mode")
            return f"Allow, and {_MODES[mode]}" if isinstance(mode, str) and mode in _MODES else ""
    return ""


def questions(given: dict[str, Any]) -> tuple[bodies.QuestionItem, ...]:
    """The questions of a form. Their places are their ids; a person may always say something else."""
    found = given.get("questions")
    items = []
    for number, one in enumerate(found if isinstance(found, list) else ()):
        if not isinstance(one, dict) or not (text := _str(one.get("question"))):
            return ()
        choices = one.get("options")
        labels = [c for c in choices if isinstance(c, dict)] if isinstance(choices, list) else []
        options = tuple(
            bodies.QuestionOption(label, _str(c.get("description")))
            for c in labels
            if (label := _str(c.get("label")))
        )
        many = one.get("multiSelect") is True
        items.append(
            bodies.QuestionItem(f"q{number}", text, _str(one.get("header")), options, multiple=many, free_text=True)
        )
    return tuple(items)


def _rule(rule: Any) -> str:
    name = _str(rule.get("toolName")) if isinstance(rule, dict) else ""
    if not name:
        return ""
    if what := _str(rule.get("ruleContent")):
        return titles.short(what if name == "Bash" else f"{name}({what})", 80)
    return titles.verb_of(name) if name.startswith("mcp__") else name


def _reason(asked: Asked) -> str:
    """Why, as the agent says it; the bare name of the file is no reason."""
    known = {path.rpartition("/")[2] for path in titles.paths(asked.input)} | set(titles.paths(asked.input))
    said = (asked.description, asked.reason)
    return "\n".join(dict.fromkeys(one for one in said if one and one not in known))


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""
