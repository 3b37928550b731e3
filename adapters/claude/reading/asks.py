"""What the program asks of a person: a permission, a question, a plan; and which asks are open. Pure."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from adapters.claude import requests
from adapters.claude.tools import changes, titles
from beambot.api import bodies

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


class OpenAsk(Struct, frozen=True):
    """An ask that waits: the request to answer, what it was about, and who asks."""

    id: str
    request: str
    asked: requests.CanUseTool
    parent: str = ""
    agent: str = ""


class Asks:
    """The asks that are open, by our id; and the answers that were given, for a request that is repeated."""

    def __init__(self) -> None:
        self.open: dict[str, OpenAsk] = {}
        self._used: dict[str, int] = {}
        self._given: dict[str, bytes] = {}

    def given(self, request: str) -> bytes | None:
        """The answer that this request had."""
        return self._given.get(request)

    def waiting(self, request: str) -> OpenAsk | None:
        """The open ask of a request."""
        return next((ask for ask in self.open.values() if ask.request == request), None)

    def add(self, request: str, asked: requests.CanUseTool, parent: str, agent: str) -> OpenAsk:
        """A new ask. One that is asked once more has another id: its old card must not answer it."""
        times = self._used[request] = self._used.get(request, 0) + 1
        ask = OpenAsk(request if times == 1 else f"{request}~{times}", request, asked, parent, agent)
        self.open[ask.id] = ask
        while len(self._used) > 1000:
            del self._used[next(iter(self._used))]
        return ask

    def settle(self, ask: OpenAsk, line: bytes) -> None:
        """It was answered with this line."""
        del self.open[ask.id]
        self._given[ask.request] = line
        while len(self._given) > 100:
            del self._given[next(iter(self._given))]

    def drop(self, ask: OpenAsk) -> None:
        """It is void."""
        del self.open[ask.id]


def body(ask: OpenAsk, folder: str) -> bodies.PermissionRequest | bodies.Question | bodies.PlanReview:
    """An ask as people see it."""
    asked = ask.asked
    given = asked.input if isinstance(asked.input, dict) else {}
    if asked.tool_name == QUESTION and (items := questions(given)):
        return bodies.Question(ask.id, items, agent=ask.agent)
    if asked.tool_name == PLAN:
        plan = given.get("plan")
        return bodies.PlanReview(ask.id, plan if isinstance(plan, str) and plan else _NO_PLAN, _PLANS, ask.agent)
    suggestions = offered(asked)
    blocked = asked.blocked_path or ""
    return bodies.PermissionRequest(
        ask.id,
        _title(asked, given, folder),
        titles.named(asked.tool_name).kind,
        asked.tool_use_id or "",
        asked.tool_name,
        given,
        reason=_reason(asked, given),
        options=options(suggestions),
        suggestions=suggestions,
        # The program names the path also where it is inside the folder; people are told of one outside.
        blocked_path=blocked if blocked and titles.within(blocked, folder) == blocked else "",
        paths=titles.paths(given),
        diffs=changes.planned(asked.tool_name, given, asked.tool_use_id or ""),
        agent=ask.agent,
    )


def offered(asked: requests.CanUseTool) -> tuple[dict[str, Any], ...]:
    """The suggestions that can be put in words; what nobody understands is not offered."""
    found = asked.permission_suggestions
    return tuple(one for one in found if isinstance(one, dict) and words(one)) if isinstance(found, list) else ()


def options(suggestions: tuple[dict[str, Any], ...]) -> tuple[bodies.AskOption, ...]:
    """A plain yes and no, and each suggestion on its own: together they would all apply."""
    more = (
        bodies.AskOption(f"suggestion-{number}", words(one), "allow_always")
        for number, one in enumerate(suggestions)
    )
    return (
        bodies.AskOption(ALLOW, "Allow once", "allow_once"),
        *more,
        bodies.AskOption(DENY, "Deny", "reject_once"),
    )


_PLANS = (
    bodies.AskOption(ALLOW, "Approve", "allow_once"),
    bodies.AskOption(ACCEPT_EDITS, "Approve and accept edits", "allow_always"),
    bodies.AskOption(DENY, "Keep planning", "reject_once"),
)


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
        if not isinstance(one, dict) or not isinstance(text := one.get("question"), str) or not text:
            return ()
        choices = one.get("options")
        labels = [c for c in choices if isinstance(c, dict)] if isinstance(choices, list) else []
        items.append(
            bodies.QuestionItem(
                f"q{number}",
                text,
                header=_str(one.get("header")),
                options=tuple(
                    bodies.QuestionOption(_str(c.get("label")), _str(c.get("description")))
                    for c in labels
                    if _str(c.get("label"))
                ),
                multiple=one.get("multiSelect") is True,
                free_text=True,
            )
        )
    return tuple(items)


def _rule(rule: Any) -> str:
    if not isinstance(rule, dict) or not isinstance(name := rule.get("toolName"), str) or not name:
        return ""
    what = rule.get("ruleContent")
    if isinstance(what, str) and what:
        return titles.short(what if name == "Bash" else f"{name}({what})", 80)
    return titles.named(name).verb if name.startswith("mcp__") else name


def _title(asked: requests.CanUseTool, given: dict[str, Any], folder: str) -> str:
    command = given.get("command")
    if asked.tool_name == "Bash" and isinstance(command, str) and command.strip():
        return command
    return titles.title(asked.tool_name, given, folder)


def _reason(asked: requests.CanUseTool, given: dict[str, Any]) -> str:
    """Why, as the agent says it; the bare name of the file is no reason (claude/perm_write_updated)."""
    said = [asked.description or "", asked.decision_reason or ""]
    known = {path.rpartition("/")[2] for path in titles.paths(given)} | set(titles.paths(given))
    return "\n".join(dict.fromkeys(one for one in said if one and one not in known))


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""
