"""Quiet news of the program: waiting, limits, tasks in the background, hooks. Pure."""

from __future__ import annotations

from typing import Any

from adapters.claude import schema
from adapters.claude.schema import system
from adapters.claude.tools.calls import Tools
from beambot.api import bodies, team

_WHY = {
    "rate_limit": "asks to slow down",
    "overloaded": "is overloaded",
    "authentication_failed": "does not accept the login",
    "server_error": "has a fault",
}
_LIMITS = {
    "five_hour": "the limit of five hours",
    "seven_day": "the limit of the week",
    "seven_day_opus": "the week's limit of the largest model",
    "overage": "the extra usage",
}


def retrying(line: system.ApiRetry) -> bodies.Status | bodies.RateLimited:
    """The model's service did not answer, and is asked again."""
    why = _WHY.get(
        line.error or "", f"answers with error {line.error_status}" if line.error_status else "is silent"
    )
    wait = max(1, round(line.retry_delay_ms / 1000))
    words = f"The model's service {why}: trying again in {wait} s"
    words += f" ({line.attempt} of {line.max_retries})" if line.max_retries else ""
    return bodies.RateLimited(words) if line.error_status == 429 else bodies.Status(words, "retrying")


def limited(info: schema.RateLimitInfo) -> list[Any]:
    """The account is at its limit, or near it. That all is well is no news."""
    which = _LIMITS.get(info.rate_limit_type or "", "a limit of the account")
    if info.status == "rejected":
        return [bodies.RateLimited(f"The account has used up {which}", info.resets_at)]
    if info.status == "allowed_warning":
        return [bodies.RateLimited(f"The account has almost used up {which}", info.resets_at)]
    return []


def task(subtype: str, line: system.TaskNews, tools: Tools, quiet: set[str]) -> list[Any]:
    """A task in the background. A command in the foreground is told as one too, and is a tool already."""
    tool = line.tool_use_id or ""
    if subtype == "task_started" and line.is_backgrounded is False:
        quiet.add(line.task_id)
    if line.task_id in quiet:
        if subtype == "task_progress" and tool in tools.open and line.description:
            return [bodies.ToolProgress(tool, text=line.description)]
        if subtype == "task_notification":
            quiet.discard(line.task_id)
        return []
    match subtype:
        case "task_started":
            status, text = "started", line.description
        case "task_progress":
            status, text = "running", line.description
        case "task_updated":
            found = (line.patch or {}).get("status")
            # That it is completed is told once more, with what it found.
            if not isinstance(found, str) or found == "completed":
                return []
            status, text = found, ""
        case _:
            status, text = line.status or "ended", line.summary
    return [team.TaskNotification(line.task_id, status, text or "", tool)]


def hook(line: system.Hook) -> bodies.HookEvent:
    """A hook of the person's own ran."""
    return bodies.HookEvent(line.hook_event or line.hook_name, line.output or line.outcome or "")


def waiting(line: system.Status) -> bodies.Status | None:
    """What the program does, where that is worth a line. That it asks the model is no news."""
    if line.status == "compacting":
        return bodies.Status("Folding the conversation to make room", "compacting")
    return None
