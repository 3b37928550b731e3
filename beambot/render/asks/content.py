"""What an ask says: what will happen, whole; where; why; and what is risky about it."""

from __future__ import annotations

import difflib
import json
from pathlib import PurePath
from urllib.parse import urlsplit

from beambot.log import redact
from beambot.model.bodies import Diff, LoginRequest, PermissionRequest, PlanReview, Question
from beambot.model.message import Ask
from beambot.model.outbound import AnyOutBlock, Change, Fact, Facts, Footer, Markdown, Notice
from beambot.render.asks.answers import shown_values
from beambot.render.asks.controls import step_hint
from beambot.render.asks.view import View
from beambot.render.diff import parse_diff
from beambot.state.permission.calls import own_folder

_LONG = 3000
_SHORT = 80
_VERBS = {
    "execute": "run a command",
    "edit": "change a file",
    "delete": "delete something",
    "move": "move something",
    "fetch": "use the network",
    "mode": "change its mode",
    "read": "read something",
}


def content(body: Ask, folder: str, view: View) -> list[AnyOutBlock]:
    """The blocks of an ask, without what can be pressed."""
    match body:
        case PermissionRequest():
            return _permission(body, folder, view)
        case Question():
            return _question(body, view)
        case PlanReview(plan=plan, agent=agent):
            return [Notice(f"{_name(agent)} proposes a plan", level="ask"), Markdown(redact(plan))]
        case LoginRequest():
            return _login(body)


def _permission(body: PermissionRequest, folder: str, view: View) -> list[AnyOutBlock]:
    verb = _VERBS.get("execute" if "command" in body.input else body.kind, "use a tool")
    edited = view.page == "confirm"
    words = f"As {view.draft_by} edited it" if edited and view.draft_by else f"{_name(body.agent)} wants to {verb}"
    blocks: list[AnyOutBlock] = [Notice(words, level="ask")]
    if view.warnings:
        warnings = "; ".join(dict.fromkeys(redact(warning) for warning in view.warnings))
        blocks.append(Notice(f"Careful: {warnings}.", level="warning"))
    facts = [Fact("What", redact(body.title), code=body.kind == "execute")]
    shown = {one.name for one in view.editable} if edited else set()
    facts += [Fact(one.label, one.text, code=True) for one in view.editable if edited and one.text != body.title]
    command = body.input.get("command")
    if command is not None and "command" not in shown:
        text = command if isinstance(command, str) else json.dumps(command, ensure_ascii=False)
        if text != body.title:
            facts.append(Fact("Command", redact(text), code=True))
    if rest := {key: value for key, value in rest_of(body, drawn=not edited).items() if key not in shown}:
        short = json.dumps(rest, ensure_ascii=False)
        text = short if len(short) <= _SHORT else json.dumps(rest, ensure_ascii=False, indent=1)
        facts.append(Fact("Input", redact(text), code=True))
    facts.append(Fact("Folder", own_folder(body) or folder, code=True))
    if body.blocked_path:
        facts.append(Fact("Outside the project", redact(body.blocked_path), code=True))
    if body.reason:
        facts.append(Fact("Why", redact(body.reason)))
    blocks.append(Facts(tuple(facts)))
    if not edited:
        blocks += [change(diff, folder, whole=True) for diff in body.diffs]
    return blocks


def rest_of(body: PermissionRequest, *, drawn: bool) -> dict[str, object]:
    """What of an input stands nowhere else on the card: nothing of it is hidden from whoever decides."""
    diffs = body.diffs if drawn else ()
    told = {body.title, body.reason, body.blocked_path, *(diff.path for diff in diffs)}
    texts = [text for diff in diffs for text in (diff.old, diff.new) if text is not None]
    rest: dict[str, object] = {}
    for key, value in body.input.items():
        if key == "command" or value in (None, False, "", [], {}):
            continue
        if isinstance(value, str) and (value in told or (value.strip() and any(value in text for text in texts))):
            continue
        rest[key] = value
    return rest


def _question(body: Question, view: View) -> list[AnyOutBlock]:
    several = len(body.questions) > 1
    if view.page != "steps":
        asked, title = body.questions, ""
    elif view.at < len(body.questions):
        asked, title = body.questions[view.at : view.at + 1], f" ({view.at + 1} of {len(body.questions)})"
    else:
        said = [
            Fact(redact(item.header or item.text), shown_values(item, view.fields.get(item.id, ())) or "—")
            for item in body.questions
        ]
        return [Notice("Your answers", level="ask"), Facts(tuple(said))]
    blocks: list[AnyOutBlock] = [Notice(f"{_name(body.agent)} asks{title if several else ''}", level="ask")]
    for item in asked:
        blocks.append(Markdown(redact(item.text)))
        hints = [Fact(redact(o.label), redact(o.description)) for o in item.options if o.description]
        if hints:
            blocks.append(Facts(tuple(hints)))
    if view.page == "steps":
        item = asked[0]
        own = [value for value in view.fields.get(item.id, ()) if value not in {o.label for o in item.options}]
        if own:
            blocks.append(Facts((Fact("Your words", shown_values(item, tuple(own))),)))
        if hint := step_hint(item):
            blocks.append(Footer(hint))
    return blocks


def _login(body: LoginRequest) -> list[AnyOutBlock]:
    """The address is the agent's word: only one that a browser may open is shown as such."""
    blocks: list[AnyOutBlock] = [Notice(f"{_name(body.agent)} has to be logged in", level="ask")]
    if body.text:
        blocks.append(Markdown(redact(body.text)))
    facts: list[Fact] = []
    if urlsplit(body.url).scheme in ("https", "http"):
        blocks.append(Markdown(f"Open {''.join(body.url.split())}"))
    elif body.url:
        facts.append(Fact("Address", body.url, code=True))
    if body.code:
        facts.append(Fact("Enter this code there", body.code, code=True))
    return [*blocks, Facts(tuple(facts))] if facts else blocks


def change(diff: Diff, folder: str = "", *, whole: bool = False) -> Change:
    """A changed file as a unified diff, with its counts; a long one is cut unless the `whole` is wanted."""
    unified = diff.unified
    if not unified:
        lines = list(
            difflib.unified_diff((diff.old or "").splitlines(), (diff.new or "").splitlines(), lineterm="", n=3)
        )[2:]
        unified = "\n".join(lines)
        if not unified and (diff.old or "") != (diff.new or ""):
            unified = " only the ends of lines change"
    files = parse_diff(unified, diff.path)
    added, removed = sum(file.added for file in files), sum(file.removed for file in files)
    shown = redact(unified)
    return Change(redact(_within(diff.path, folder)), shown if whole else cut(shown, _LONG), added, removed)


def cut(text: str, room: int, where: str = "") -> str:
    """The beginning of a text, ending with a whole line where it can, and how much is left out."""
    if len(text) <= room:
        return text
    line = text.rfind("\n", room // 2, room)
    kept = text[: line if line > 0 else room]
    more = text.count("\n") - kept.count("\n")
    left = f"{more} more lines" if more else f"{len(text) - len(kept)} more characters"
    return f"{kept}\n… {left}{where}"


def _within(path: str, folder: str) -> str:
    """A path as it is called inside the project; one that leads outside stays whole."""
    if not folder or ".." in PurePath(path).parts:
        return path
    return str(PurePath(path).relative_to(folder)) if PurePath(path).is_relative_to(folder) else path


def _name(agent: str) -> str:
    """A subagent's name stands in beambot's own voice: one short line, so that it can say nothing else."""
    return redact(" ".join(agent.split()))[:40] or "The agent"
