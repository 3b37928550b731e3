"""What an agent asks of a person, and what a person's answer is on the wire. Pure."""

from __future__ import annotations

from typing import Any, get_args

from msgspec import Struct

from adapters.acp import schema
from adapters.acp.tools import Tool, diffs_of, text_of
from beambot.api import Answer, bodies
from beambot.wire.jsonrpc import Request

_KINDS = frozenset(get_args(bodies.OptionKind))
_YES = ("yes", "true", "1", "on")


class OpenAsk(Struct):
    """An ask that waits: the request to answer, and what may be answered."""

    request: Request
    options: list[schema.PermissionOption] = []
    fields: dict[str, Any] | None = None
    tool: str = ""


def permission(ask: str, asked: schema.Permission, tool: Tool) -> bodies.PermissionRequest | bodies.PlanReview:
    """A permission, or a plan that waits for a word: an agent leaves its planning mode by showing the plan."""
    options = tuple(_option(option) for option in asked.options)
    words = text_of(asked.tool_call.content)
    if tool.kind == "mode" and (plan := tool.input.get("plan") or words):
        return bodies.PlanReview(ask, str(plan), options, tool.parent)
    return bodies.PermissionRequest(
        ask,
        tool.title or tool.name or "use a tool",
        tool.kind,
        tool.id,
        tool.name,
        tool.input,
        reason=words,
        options=options,
        paths=tool.paths,
        diffs=diffs_of(asked.tool_call.content, tool.id) or tool.diffs,
        agent=tool.parent,
    )


def choose(options: list[schema.PermissionOption], answer: Answer) -> schema.PermissionOption | None:
    """The option a person means: by its id, else by its kind, the narrowest first. None: cancel."""
    for option in options:
        if answer.option and option.option_id == answer.option:
            return option
    if answer.option or answer.verdict == "answer":
        return None
    wanted = "allow" if answer.verdict == "allow" else "reject"
    for kind in (f"{wanted}_once", f"{wanted}_always"):
        for option in options:
            if option.kind == kind:
                return option
    return None


def chosen(option: schema.PermissionOption | None) -> dict[str, Any]:
    """The reply to session/request_permission."""
    if option is None:
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": "selected", "optionId": option.option_id}}


def resolved(ask: str, option: schema.PermissionOption | None, answer: Answer) -> bodies.AskResolved:
    """How a permission was settled."""
    outcome: Any = "denied" if option is None or option.kind.startswith("reject") else "answered"
    if option is not None and option.kind.startswith("allow"):
        outcome = "allowed"
    return bodies.AskResolved(ask, outcome, answer.by, option.option_id if option else "", answer.text)


def question(ask: str, asked: schema.Elicitation) -> bodies.Question:
    """A form as questions, one a field."""
    fields = form_fields(asked)
    items = tuple(_item(key, field, asked.message) for key, field in fields.items())
    return bodies.Question(ask, items, title=asked.message)


def page(ask: str, asked: schema.Elicitation) -> bodies.LoginRequest:
    """A page that somebody has to open before the agent can go on."""
    return bodies.LoginRequest(ask, asked.message, asked.url)


def form_fields(asked: schema.Elicitation) -> dict[str, Any]:
    """The fields of a form, by name."""
    found = asked.requested_schema.get("properties")
    if not isinstance(found, dict):
        return {}
    return {str(key): field for key, field in found.items() if isinstance(field, dict)}


def filled(fields: dict[str, Any], answer: Answer) -> dict[str, Any]:
    """The reply to elicitation/create."""
    if answer.verdict == "deny":
        return {"action": "decline"}
    if not fields:
        return {"action": "accept"}
    given = dict(answer.fields)
    if not given and len(fields) == 1 and (answer.option or answer.text):
        given = {next(iter(fields)): (answer.option or answer.text,)}
    content = {key: _value(fields[key], values) for key, values in given.items() if key in fields and values}
    return {"action": "accept", "content": content}


def _option(option: schema.PermissionOption) -> bodies.AskOption:
    kind: Any = option.kind if option.kind in _KINDS else "other"
    return bodies.AskOption(option.option_id, option.name or option.option_id, kind)


def _choices(field: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Value, label and description of each choice of a field."""
    items = field.get("items")
    source = items if isinstance(items, dict) else field
    if field.get("type") == "boolean":
        return [("true", "Yes", ""), ("false", "No", "")]
    for key in ("oneOf", "anyOf"):
        if isinstance(named := source.get(key), list):
            return [
                (
                    str(n.get("const", "")),
                    str(n.get("title") or n.get("const", "")),
                    str(n.get("description") or ""),
                )
                for n in named
                if isinstance(n, dict)
            ]
    plain = source.get("enum")
    return [(str(value), str(value), "") for value in plain] if isinstance(plain, list) else []


def _item(key: str, field: dict[str, Any], message: str) -> bodies.QuestionItem:
    options = tuple(bodies.QuestionOption(label, about) for _, label, about in _choices(field))
    title = str(field.get("title") or "")
    return bodies.QuestionItem(
        key,
        str(field.get("description") or title or message or key),
        header=title,
        options=options,
        multiple=field.get("type") == "array",
        free_text=not options,
        secret=field.get("format") == "password",
    )


def _value(field: dict[str, Any], given: tuple[str, ...]) -> Any:
    by_label = {label: value for value, label, _ in _choices(field)}
    values = [by_label.get(one, one) for one in given]
    kind = field.get("type")
    if kind == "array":
        return values
    if kind == "boolean":
        return values[0].lower() in _YES
    try:
        if kind == "integer":
            return int(values[0])
        if kind == "number":
            return float(values[0])
    except ValueError:
        pass
    return values[0]
