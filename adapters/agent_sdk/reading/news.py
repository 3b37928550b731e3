"""Quiet news of the program (waiting, limits, tasks, hooks), and how the session stands by its changes. Pure."""

from __future__ import annotations

from typing import Any

from claude_agent_sdk import HookEventMessage, RateLimitInfo, SystemMessage

from adapters.agent_sdk.reading.tools import Tools
from beambot.api import bodies, team

MODES = (
    bodies.Choice("default", "Ask", "asks before it changes anything"),
    bodies.Choice("acceptEdits", "Accept edits", "changes files without asking"),
    bodies.Choice("plan", "Plan", "reads and plans, changes nothing"),
    bodies.Choice("bypassPermissions", "Never ask", "does everything without asking"),
)
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


def text_of(data: dict[str, Any], *keys: str) -> str:
    """The first of these fields that holds words."""
    return next((one for key in keys if isinstance(one := data.get(key), str) and one.strip()), "")


def texts_of(data: dict[str, Any], key: str) -> list[str]:
    """A field that is a list of words."""
    found = data.get(key)
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def dicts_of(data: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """A field that is a list of objects."""
    found = data.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


class Settings:
    """The mode, model and commands that were told last."""

    def __init__(self) -> None:
        self.mode = ""
        self.model = ""
        self.models: tuple[bodies.Choice, ...] = ()
        self.commands: tuple[bodies.AgentCommand, ...] = ()
        self._resolved: dict[str, str] = {}

    def opened(
        self, session: str, about: dict[str, Any], cwd: str, mode: str, model: str, resumed: bool
    ) -> bodies.SessionInit:
        """From what the client knows once it is connected, before any prompt."""
        self.mode = mode or text_of(about, "current_permission_mode")
        offered = [one for one in dicts_of(about, "models") if text_of(one, "value")]
        self.models = tuple(
            bodies.Choice(text_of(one, "value"), text_of(one, "displayName", "value"), text_of(one, "description"))
            for one in offered
        )
        self._resolved = {text_of(one, "value"): text_of(one, "resolvedModel", "value") for one in offered}
        self.model = self._resolved.get(model or "default", model)
        self.commands = _commands(about)
        return bodies.SessionInit(
            session,
            agent="Claude Code",
            version=text_of(about, "claude_code_version"),
            cwd=cwd,
            model=self.model,
            mode=self.mode,
            models=self.models,
            modes=MODES,
            commands=self.commands,
            resumed=resumed,
        )

    def init(self, data: dict[str, Any]) -> list[Any]:
        """The `init` that begins each turn: what is different."""
        known = {one.name: one for one in self.commands}
        names = texts_of(data, "slash_commands")
        listed = tuple(known.get(name) or bodies.AgentCommand(name) for name in names if name)
        return self.changed(text_of(data, "permissionMode"), text_of(data, "model")) + self._commanded(listed)

    def changed(self, mode: str = "", model: str = "") -> list[Any]:
        """What is different now."""
        news: list[Any] = []
        if mode and mode != self.mode:
            self.mode = mode
            news.append(bodies.ModeChanged(mode))
        model = self._resolved.get(model, model)
        if model and model != self.model:
            self.model = model
            news.append(bodies.ModelChanged(model))
        return news

    def listed(self, data: dict[str, Any]) -> list[Any]:
        """The commands, whole, with their descriptions."""
        return self._commanded(_commands(data))

    def _commanded(self, commands: tuple[bodies.AgentCommand, ...]) -> list[Any]:
        if not commands or {one.name for one in commands} == {one.name for one in self.commands}:
            return []
        self.commands = commands
        return [bodies.CommandsChanged(commands)]


def _commands(data: dict[str, Any]) -> tuple[bodies.AgentCommand, ...]:
    return tuple(
        bodies.AgentCommand(name, text_of(one, "description"), text_of(one, "argumentHint"))
        for one in dicts_of(data, "commands")
        if (name := text_of(one, "name"))
    )


def retrying(data: dict[str, Any]) -> bodies.Status | bodies.RateLimited:
    """The model's service did not answer, and is asked again."""
    status = data.get("error_status")
    why = _WHY.get(text_of(data, "error"), f"answers with error {status}" if status else "is silent")
    delay, tries = data.get("retry_delay_ms"), data.get("max_retries")
    wait = max(1, round(delay / 1000)) if isinstance(delay, (int, float)) else 1
    words = f"The model's service {why}: trying again in {wait} s"
    words += f" ({data.get('attempt')} of {tries})" if tries else ""
    return bodies.RateLimited(words) if status == 429 else bodies.Status(words, "retrying")


def limited(info: RateLimitInfo) -> list[Any]:
    """The account is at its limit, or near it. That all is well is no news."""
    which = _LIMITS.get(info.rate_limit_type or "", "a limit of the account")
    resets = float(info.resets_at) if isinstance(info.resets_at, (int, float)) else None
    if info.status == "rejected":
        return [bodies.RateLimited(f"The account has used up {which}", resets)]
    if info.status == "allowed_warning":
        return [bodies.RateLimited(f"The account has almost used up {which}", resets)]
    return []


def task(message: SystemMessage, tools: Tools, quiet: set[str]) -> list[Any]:
    """A task in the background. A command in the foreground is told as one too, and is a tool already."""
    data, subtype = message.data, message.subtype
    id, tool = text_of(data, "task_id"), text_of(data, "tool_use_id")
    if subtype == "task_started" and data.get("is_backgrounded") is False:
        quiet.add(id)
    if id in quiet:
        if subtype == "task_progress" and tool in tools.open and text_of(data, "description"):
            return [bodies.ToolProgress(tool, text=text_of(data, "description"))]
        if subtype == "task_notification":
            quiet.discard(id)
        return []
    match subtype:
        case "task_started":
            status, text = "started", text_of(data, "description")
        case "task_progress":
            status, text = "running", text_of(data, "description")
        case "task_updated":
            patch = data.get("patch")
            status, text = text_of(patch, "status") if isinstance(patch, dict) else "", ""
            # That it is completed is told once more, with what it found.
            if status in ("", "completed"):
                return []
        case _:
            status, text = text_of(data, "status") or "ended", text_of(data, "summary")
    return [team.TaskNotification(id, status, text, tool)]


def hook(message: HookEventMessage) -> list[Any]:
    """A hook of the person's own ran. That it begins is no news."""
    if message.subtype != "hook_response":
        return []
    return [bodies.HookEvent(message.hook_event_name, text_of(message.data, "output", "outcome"))]


def hooked(event: str, given: dict[str, Any]) -> bodies.HookEvent:
    """A hook that the configuration asked for, called in this process."""
    name = text_of(given, "tool_name")
    words = text_of(given, "message", "title", "prompt", "trigger", "reason") or name
    kept = {key: value for key, value in given.items() if key not in ("transcript_path", "session_id")}
    return bodies.HookEvent(event, words, kept)
