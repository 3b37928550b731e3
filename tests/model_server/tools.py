"""Abstract tools, so that one script serves every agent: each becomes whatever tool the request offers for it.

{"do": "bash", "command": "ls"}                        also "background": true
{"do": "write", "path": "/a", "text": "…"}             a path of `$PLAN` is the plan file that the request speaks of
{"do": "edit", "path": "/a", "old": "…", "new": "…"}
{"do": "read", "path": "/a"}
{"do": "ask", "question": "…", "options": ["…"]}       also "header", "multiple"
{"do": "plan", "plan": "…"}                            the plan is ready, approve it
{"do": "task", "prompt": "…"}                          a subagent; also "name", "background", "kind"
{"tool": "exact_name", "input": {…}}                   a tool by its own name
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct

Making = Callable[[dict[str, Any]], dict[str, Any]]
_PLAN_FILE = re.compile(r"/[^\s\"'`\\]+/plans/[^\s\"'`\\]+\.md")


class Call(Struct, frozen=True):
    """A call as the agent's own tool wants it."""

    name: str
    input: dict[str, Any]


def _bash(asked: dict[str, Any]) -> dict[str, Any]:
    background = {"run_in_background": True} if asked.get("background") else {}
    return {
        "command": asked["command"],
        "description": asked.get("description", "a scripted command"),
        **background,
    }


def _ask(asked: dict[str, Any]) -> dict[str, Any]:
    options = [{"label": label, "description": f"take {label}"} for label in asked["options"]]
    question = {
        "question": asked["question"],
        "header": asked.get("header", "Choice"),
        "options": options,
        "multiSelect": asked.get("multiple", False),
    }
    return {"questions": [question]}


def _task(asked: dict[str, Any]) -> dict[str, Any]:
    made = {
        "description": asked.get("description", "a scripted task"),
        "prompt": asked["prompt"],
        "subagent_type": asked.get("kind", "general-purpose"),
    }
    if "background" in asked:
        made["run_in_background"] = asked["background"]
    return {**made, "name": asked["name"]} if "name" in asked else made


# Abstract name → the agents' own names for it, with how its input is made. The first that is offered is called.
TOOLS: dict[str, tuple[tuple[str, Making], ...]] = {
    "bash": (("Bash", _bash),),
    "write": (("Write", lambda asked: {"file_path": asked["path"], "content": asked["text"]}),),
    "edit": (
        (
            "Edit",
            lambda asked: {"file_path": asked["path"], "old_string": asked["old"], "new_string": asked["new"]},
        ),
    ),
    "read": (("Read", lambda asked: {"file_path": asked["path"]}),),
    "ask": (("AskUserQuestion", _ask),),
    "plan": (("ExitPlanMode", lambda asked: {"plan": asked["plan"]} if "plan" in asked else {}),),
    "task": (("Agent", _task), ("Task", _task)),
}


def call(asked: dict[str, Any], offered: dict[str, Any], whole: str) -> Call | str:
    """The call to make, or words about why it cannot be made."""
    if name := asked.get("tool"):
        return Call(name, asked.get("input", {}))
    kind = asked.get("do", "")
    if asked.get("path") == "$PLAN":
        found = _PLAN_FILE.findall(whole)
        if not found:
            return "The request speaks of no plan file."
        asked = {**asked, "path": found[-1]}
    known = TOOLS.get(kind, ())
    for name, make in known:
        if name in offered:
            return Call(name, make(asked))
    if known and "ToolSearch" in offered:
        # Some tools are named to the model only when it searches for them, and can be called all the same.
        name, make = known[0]
        return Call(name, make(asked))
    return f"No tool for {kind!r} is offered; there are: {', '.join(sorted(offered)) or 'none'}."
