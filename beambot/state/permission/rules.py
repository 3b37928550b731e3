"""Rules: what people have allowed or denied ahead of time. A doubt never allows.

An allow rule and a deny rule are read in opposite ways. An allow rule matches only what its maker must have meant;
a deny rule matches whatever could be what its maker meant. A deny rule beats every allow rule.

When a rule holds
- Only in its project, and where it names a session or a turn only in these. A rule of no project holds in every one
  ("always"), and then names neither session nor turn.
- Only until it ends; a clock that was set back does not make it last longer.

What an allow rule lets through
- `call`: exactly the call it was made for, by digest: tool, input, resolved paths, changes, the session's folder.
  It is the only rule that lets a grave call through, and for a grave call it lasts for a session at the most.
- `prefix`: simple commands only (`shell.is_simple`) whose words begin with the words of the rule, word by word, and
  have no option behind them that makes a command run or write something else (`_STEERS`: `-f`, `--plugin`, …).
  Never a rule whose words say too little (`git`, `npm`, `python`, `rm`): `prefix_of` knows how many words a command
  needs. Never with a path outside of the session's folder or the folder the rule was made in, and never with a
  warning other than "uses the network".
- `folder`: calls of this tool and kind that run no command, have at least one path, and whose every path, resolved,
  is inside of the folder. Never with a warning other than "deletes".
- `tool`: calls of this tool and kind, inside of the session's folder. A call that runs a command only without any
  warning, and not beyond the session; others never with a warning other than "uses the network". With no tool it
  means every tool, and then holds in one turn only ("stop asking for the rest of this turn").
- Everything but `call` needs a call that is told by its input. A title alone is not enough.

What a deny rule stops
- `prefix`: every command that could run in the line, in any tool: behind `&&`, in a substitution, behind `sudo`, by
  its full path, with options in between (`git -C x push`).
- `folder`: every call of the tool, or of the same kind, with any path in the folder, whatever its capitals.
- `call`, `tool`: as above, warnings or not.

What no rule can see: a program that was changed since (a script, a package, a symlink between the question and the
act). Rules are matched at the moment of the question, on paths as the disk shows them then.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from posixpath import commonpath, dirname
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from beambot.model.bodies import ToolKind
from beambot.state.permission import shell
from beambot.state.permission.calls import Call, is_inside
from beambot.state.permission.risk import risks
from beambot.state.permission.signs import INTERPRETERS, RiskKind, listed

Scope = Literal["call", "prefix", "folder", "tool"]
Lasting = Literal["hour", "turn", "session", "project", "always"]

LASTING: dict[Lasting, str] = {
    "hour": "for an hour",
    "turn": "until this turn ends",
    "session": "in this session",
    "project": "in this project",
    "always": "always, in every project",
}
_HOUR = 3600.0
_CLOCK_DRIFT = 60.0
_SCOPES: tuple[Scope, ...] = ("call", "prefix", "folder", "tool")
_FOR_A_WHILE: tuple[Lasting, ...] = ("hour", "turn", "session")
_HERE: tuple[Lasting, ...] = (*_FOR_A_WHILE, "project")
_EVER: tuple[Lasting, ...] = (*_HERE, "always")
_LET_THROUGH: dict[Scope, frozenset[RiskKind]] = {
    "prefix": frozenset({"network"}),
    "folder": frozenset({"deletes"}),
    "tool": frozenset({"network"}),
}

# How many words make a command known: these are known by their name, those by their name and two more words; of the
# commands in neither list a second word is needed that looks like a subcommand.
_ONE = listed(
    "ls cat head tail wc grep egrep fgrep rg pwd which file stat du df tree diff cmp uniq cut date echo printf "
    "whoami uname basename dirname realpath jq pytest mypy pyright ruff black isort flake8 pylint eslint prettier "
    "tsc jest vitest mocha phpunit rspec rubocop ctest gofmt golangci-lint shellcheck stylelint biome"
)
_THREE = listed("gh glab aws gcloud az")
_NEVER = listed(
    "rm rmdir mv cp ln chmod chown chgrp dd kill tee truncate shred install sed curl wget nc scp sftp rsync ftp "
    "telnet cd pushd export set unset read psql mysql mariadb sqlite mongo mongosh redis-cli"
)
_PACKAGERS = listed("npm pnpm yarn bun pip uv poetry pipenv pdm gem cargo go bundle composer brew apt")
_BRINGS_CODE = listed("install i add update upgrade link get create init require global up pip")
# Options that make a harmless command run, read or write something else: with one of them it is asked again.
_STEERS = re.compile(
    r"-[ofcer]\S*|--(?:plugin|rulesdir|rule-dir|resolve-plugins|config|conf|file|makefile|output|out|hostname-bin|pre"
    r"|python-executable|exec|require|import|loader|no-verify|ext-diff|textconv|upload-pack|receive-pack|root|rootdir"
    r"|override-ini|ignore-path|parser|formatter|env-file|settings|cov-config|basetemp)\b\S*"
)
_SUBCOMMAND = re.compile(r"[A-Za-z][\w:.-]*")
_VERBS: dict[ToolKind, str] = {
    "read": "reading",
    "edit": "edits",
    "delete": "deletions",
    "move": "moves",
    "search": "searches",
}


class Rule(Struct, frozen=True):
    """What may or may not happen without a question. `value`: a digest, the words of a prefix, or a folder."""

    id: str
    allow: bool
    scope: Scope
    tool: str
    value: str
    project: str
    session: str = ""
    turn: str = ""
    until: float | None = None
    made_by: str = ""
    made_at: float = 0.0
    used_at: float | None = None
    used_for: str = ""
    kind: ToolKind | Literal[""] = ""
    folder: str = ""
    words: str = ""


class Offer(Struct, frozen=True):
    """A rule that could be made for a call, in words for a button, and how long it may last."""

    scope: Scope
    value: str
    words: str
    tool: str = ""
    kind: ToolKind | Literal[""] = ""
    folder: str = ""
    lasting: tuple[Lasting, ...] = _EVER


REST_OF_TURN = Offer("tool", "", "everything in this turn that carries no warning", lasting=("turn",))

_risks = lru_cache(maxsize=256)(risks)
_words = lru_cache(maxsize=1024)(shell.words)


# ── matching ─────────────────────────────────────────────────────────────────────────────────────────


def decide(rules: Iterable[Rule], call: Call, *, project: str, session: str, turn: str, now: float) -> Rule | None:
    """The rule that settles a call: a denial if there is one, else the narrowest that allows it."""
    found = [rule for rule in rules if matches(rule, call, project=project, session=session, turn=turn, now=now)]
    return min(found, key=lambda rule: (rule.allow, _SCOPES.index(rule.scope), rule.made_at, rule.id), default=None)


def matches(rule: Rule, call: Call, *, project: str, session: str, turn: str, now: float) -> bool:
    """Whether a rule holds here and now, and settles this call."""
    if rule.until is not None and not rule.made_at - _CLOCK_DRIFT <= now < rule.until:
        return False
    if rule.project:
        holds = rule.project == project and rule.session in ("", session) and rule.turn in ("", turn)
    else:
        holds = not rule.session and not rule.turn
    return holds and (_allows(rule, call) if rule.allow else _denies(rule, call))


def _allows(rule: Rule, call: Call) -> bool:
    if rule.tool != call.tool and not _is_for_the_turn(rule):
        return False
    if rule.scope == "call":
        return bool(call.act) and rule.value == call.act
    if not call.certain or (rule.kind and rule.kind != call.kind):
        return False
    if rule.folder and not all(is_inside(path, rule.folder) for path in (call.folder, *call.paths)):
        return False
    if rule.scope == "prefix":
        wanted, words = _words(rule.value), _words(call.command)
        fits = _is_telling(wanted) and words[: len(wanted)] == wanted
        fits = fits and not any(map(_STEERS.fullmatch, words[len(wanted) :]))
    elif rule.scope == "folder":
        fits = not call.command and _is_folder(rule.value) and bool(call.paths)
        fits = fits and all(is_inside(path, rule.value) for path in call.paths)
    else:
        fits = rule.value == ""
    if not fits:
        return False
    bearable = frozenset() if rule.scope == "tool" and call.command else _LET_THROUGH[rule.scope]
    return all(not risk.grave and risk.kind in bearable for risk in _risks(call))


def _is_for_the_turn(rule: Rule) -> bool:
    return rule.scope == "tool" and not rule.tool and bool(rule.turn)


def _is_folder(path: str) -> bool:
    return path.startswith("/") and path.strip("/") != ""


def _denies(rule: Rule, call: Call) -> bool:
    same_tool = rule.tool.casefold() == call.tool.casefold() or _is_for_the_turn(rule)
    if rule.scope == "call":
        return bool(call.act) and rule.value == call.act
    if rule.scope == "prefix":
        wanted = _split(rule.value)
        return bool(wanted) and any(_begins(part.words, wanted) for part in shell.commands_in(call.command))
    if rule.scope == "folder":
        alike = same_tool or (rule.kind == call.kind and rule.kind in _VERBS)
        return alike and any(is_inside(_folded(path), _folded(rule.value)) for path in call.paths)
    return same_tool


def _split(value: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(value))
    except ValueError:
        return tuple(value.split())


def _begins(words: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    """Whether a command begins with the words of a denial, also with options and their values in between."""
    if shell.name(words) != shell.name(wanted):
        return False
    left, at = list(wanted[1:]), 1
    while left and at < len(words):
        if words[at] == left[0]:
            left.pop(0)
        elif not words[at].startswith("-") and not words[at - 1].startswith("-"):
            return False
        at += 1
    return not left


def _folded(path: str) -> str:
    return unicodedata.normalize("NFKC", path).casefold()


# ── what can be offered ──────────────────────────────────────────────────────────────────────────────


def offers(call: Call, *, allow: bool = True) -> tuple[Offer, ...]:
    """The rules that can be made for a call, the narrowest first. For a grave call: nothing but itself."""
    settles = _allows if allow else _denies
    return tuple(offer for offer in _candidates(call, allow) if settles(_filled(_DRAFT, offer), call))


def _candidates(call: Call, allow: bool) -> Iterator[Offer]:
    grave = allow and any(risk.grave for risk in _risks(call))
    what = "command" if call.command else "change" if call.kind == "edit" else "call"
    yield _offer(call, "call", call.act, f"this exact {what}", _FOR_A_WHILE if grave else _HERE)
    if grave:
        return
    words = _words(call.command)
    known = prefix_of(words) or (() if allow else words[:1])
    if known and _words(value := shlex.join(known)) == known:
        yield _offer(call, "prefix", value, f"commands that begin with {_code(value)}", _EVER)
    if not call.command and (call.tool != call.kind or call.kind in _VERBS):
        for folder in _folders(call):
            inside = "anywhere in the project" if folder == call.folder else f"inside {_code(_short(folder, call))}"
            yield _offer(call, "folder", folder, f"{_verb(call)} {inside}", _HERE)
    if call.command:
        runs = f"every command that {_code(call.tool)} runs" if call.tool != call.kind else "every command"
        words_for_all = f"{runs}, if it carries no warning" if allow else runs
        yield _offer(call, "tool", "", words_for_all, _FOR_A_WHILE if allow else _EVER)
    elif call.tool != call.kind:
        yield _offer(call, "tool", "", f"every use of {_code(call.tool)}", _EVER)
    elif call.kind in ("read", "search"):
        yield _offer(call, "tool", "", f"all {_VERBS[call.kind]} in the project", _EVER)


def _offer(call: Call, scope: Scope, value: str, words: str, lasting: tuple[Lasting, ...]) -> Offer:
    kind: ToolKind | Literal[""] = call.kind if scope in ("folder", "tool") else ""
    return Offer(scope, value, words, call.tool, kind, call.folder, lasting)


def prefix_of(words: tuple[str, ...]) -> tuple[str, ...]:
    """As few words of a simple command as say what it does; none where only the whole command would."""
    if not words:
        return ()
    called = shell.name(words)
    if called in _NEVER or shell.runs_others(words):
        return ()
    if called in INTERPRETERS - {"bun", "deno"}:
        if words[1:2] == ("-m",):
            return () if words[2:3] == ("pip",) else words[:3]
        return words[: 3 if words[2:] and _SUBCOMMAND.fullmatch(words[2]) else 2]
    if called in _ONE or words[0].startswith("./"):
        return words[:1]
    if called in _PACKAGERS and _BRINGS_CODE.intersection(words[1:3]):
        return ()
    needed = 3 if called in _THREE or words[1:2] in (("run",), ("run-script",)) else 2
    known = words[:needed]
    return known if len(known) == needed and all(map(_SUBCOMMAND.fullmatch, known[1:])) else ()


def _is_telling(prefix: tuple[str, ...]) -> bool:
    needed = prefix_of(prefix)
    return bool(needed) and len(prefix) >= len(needed)


def _folders(call: Call) -> list[str]:
    """The folder in which all of a call's paths are, and the whole project; none if it leaves the project."""
    if not call.paths or not all(is_inside(path, call.folder) for path in call.paths):
        return []
    parents = [path if call.kind == "search" or path == call.folder else dirname(path) for path in call.paths]
    return [folder for folder in dict.fromkeys((commonpath(parents), call.folder)) if _is_folder(folder)]


def _short(folder: str, call: Call) -> str:
    return folder[len(call.folder) :].strip("/") + "/"


def _verb(call: Call) -> str:
    return _VERBS.get(call.kind) or f"uses of {_code(call.tool)}"


def _code(text: str) -> str:
    return "`" + " ".join(text.replace("`", "'").split()) + "`"


# ── making and telling ───────────────────────────────────────────────────────────────────────────────

_DRAFT = Rule(id="", allow=True, scope="call", tool="", value="", project="")


def make(
    offer: Offer,
    lasting: Lasting,
    allow: bool,
    *,
    id: str,
    project: str,
    session: str,
    turn: str,
    by: str,
    now: float,
) -> Rule:
    """The rule of an offer. Raises `ValueError` for a time that was not offered, or with nothing to bind it to."""
    bound = {"hour": session, "turn": session and turn, "session": session}.get(lasting, project)
    if lasting not in offer.lasting or not project or not bound:
        raise ValueError(f"{offer.words} cannot be decided {LASTING[lasting]}")
    drafted = Rule(id, allow, offer.scope, offer.tool, offer.value, project, made_by=by, made_at=now)
    drafted = _filled(drafted, offer)
    if lasting == "always":
        return replace(drafted, project="", folder="")
    if lasting == "project":
        return drafted
    until = now + _HOUR if lasting == "hour" else None
    return replace(drafted, session=session, turn=turn if lasting == "turn" else "", until=until)


def _filled(rule: Rule, offer: Offer) -> Rule:
    folder = offer.folder if offer.scope in ("prefix", "tool") else ""
    return replace(
        rule,
        scope=offer.scope,
        tool=offer.tool,
        value=offer.value,
        kind=offer.kind,
        folder=folder,
        words=offer.words,
    )


def lasts(rule: Rule) -> Lasting:
    """How long a rule was made to last."""
    if rule.until is not None:
        return "hour"
    if rule.turn:
        return "turn"
    return "session" if rule.session else "project" if rule.project else "always"


def in_words(rule: Rule) -> str:
    """A rule as a line of a list."""
    return f"{'Allow' if rule.allow else 'Deny'} {rule.words or rule.scope} {LASTING[lasts(rule)]}"


def used(rule: Rule, call: Call, now: float) -> Rule:
    """The rule with a note of what it last settled."""
    what = call.command or ", ".join((*call.paths, *call.urls)) or call.tool
    return replace(rule, used_at=now, used_for=" ".join(what.split())[:200])
