"""What is risky about a call. It only ever warns: nothing is allowed because no risk was seen.

Everything is looked for by its presence: no option, dry run or comment makes a command look better, and a command
that is added takes no warning away. A call can do harm that nobody can read off it (a script of the project, a
build, a package), so the absence of a warning promises nothing. `grave` marks what cannot be taken back or reaches
beyond the project: ahead of time, only exactly that call can be allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from posixpath import join, normpath

from msgspec import Struct

from beambot.state.permission import shell, signs
from beambot.state.permission.calls import PROGRAMS, QUIET, Call, is_inside
from beambot.state.permission.shell import Part, name, subcommands
from beambot.state.permission.signs import INTERPRETERS, KINDS, PATTERNS, SHELLS, SIGNS, RiskKind, Sign, listed


class Risk(Struct, frozen=True):
    """One warning, in words for a card."""

    kind: RiskKind
    words: str
    grave: bool = False


_COMPILED = tuple((pattern, re.compile(pattern.regex, re.IGNORECASE)) for pattern in PATTERNS)
_BY_NAME: dict[str, list[Sign]] = {}
for _sign in SIGNS:
    for _command in _sign.commands:
        _BY_NAME.setdefault(_command, []).append(_sign)

_OPEN_MODE = re.compile(r"0?[0-7]?[0-7]{2}[2367]|0?[2-7][0-7]{3}|\w*[ao]?\w*[+=]\w*w\w*|\w*[+=]\w*[st]\w*")
_MAIN = re.compile(
    r"\+?(?:[^:]*:)?(?:refs/heads/)?(?:main|master|trunk|prod\w*|release|stable|live|deploy\w*)(?:/.*)?"
)
_PUBLISHED = listed("deploy publish release rollout")
_TASK = re.compile(r"(?:deploy|publish|release|rollout|ship)(?:[:_-].*)?", re.IGNORECASE)
_TASK_RUNNERS = listed(
    "make gmake just task rake npm pnpm yarn bun gradle gradlew mvn mvnw invoke nox tox mage nx turbo"
)
_NAMES_FILES = listed("echo printf mkdir touch cp mv ln chmod vi vim nano code git")
_DATA = r"(?:json|ya?ml|toml|ini|txt|csv|conf|cfg|env|xml|enc|properties)"
_SECRET_FOLDERS = listed(".ssh .aws .gnupg .kube .docker .azure .gcloud .password-store keychains secrets .secrets")
_SECRET = re.compile(
    rf"\.env(?!\.(?:example|sample|template|dist)$)(?:\.[\w.-]+)?|\.envrc|\w+\.env|[._]netrc|\.npmrc|\.pypirc"
    rf"|\.pgpass|\.htpasswd|\.git-credentials|\.dockercfg|id_(?:rsa|dsa|ecdsa|ed25519)[\w.-]*"
    rf"|.*\.(?:pem|key|p12|pfx|kdbx|jks|keystore|ppk|asc|gpg|tfstate|tfvars)|.*(?:credential|secret|token)s?\.{_DATA}"
    rf"|.*service[_-]?account.*\.json|authorized_keys|known_hosts|\.\w+_history|auth\.json|wallet\.dat",
    re.IGNORECASE,
)
_SECRET_IN_FOLDER = re.compile(r".*(?:credential|secret|token)s?|\w*_history|shadow|environ", re.IGNORECASE)
_SECRET_NAMES = (".env", ".netrc", ".npmrc", ".pypirc", ".git-credentials", "id_rsa", "id_ed25519", "credentials")
_OWN = re.compile(r"\.?beambot[\w.-]*\.(?:ya?ml|toml|json|db|sqlite3?|env|lock)", re.IGNORECASE)
_START_FILES = listed(
    ".bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .gitconfig .inputrc "
    ".vimrc .tmux.conf .envrc .mcp.json mcp.json .npmrc .yarnrc .yarnrc.yml .pypirc .curlrc .wgetrc .gitmodules "
    ".gitattributes .pre-commit-config.yaml authorized_keys sitecustomize.py usercustomize.py"
)
_HARMLESS_FOLDERS = listed(
    ". .. .venv .tox .nox .bin .cache .next .nuxt .svelte-kit .mypy_cache .pytest_cache .ruff_cache .gradle .turbo "
    ".parcel-cache .yarn .pnpm .dart_tool .build .output .storybook .changeset .hypothesis .ipynb_checkpoints"
)
_READERS = listed("cat ls head tail wc grep egrep fgrep rg file stat diff tree du pwd bat cmp cd test [ git")
_DELETING = listed("delete remove destroy drop purge erase wipe trash")
_PUBLISHING = listed("publish deploy release merge push pay purchase transfer")
_ELSEWHERE = re.compile(r"\$\{?(?:HOME|OLDPWD|TMPDIR|TMP|TEMP|XDG_\w+|USERPROFILE|APPDATA)\b|\$\{?\w+\}?/")
_ORDER = {kind: number for number, kind in enumerate(KINDS)}


def risks(call: Call) -> tuple[Risk, ...]:
    """Every warning about a call, once each, the grave ones first."""
    found: dict[RiskKind, bool] = {}
    for kind, grave in _seen(call):
        found[kind] = found.get(kind, False) or grave
    if {"deletes", "leaves"} <= found.keys():
        found["deletes"] = True
    ordered = sorted(found.items(), key=lambda one: (not one[1], _ORDER[one[0]]))
    return tuple(Risk(kind, _words(kind, grave), grave) for kind, grave in ordered)


def is_grave(call: Call) -> bool:
    """Whether any risk of a call is grave."""
    return any(risk.grave for risk in risks(call))


def _words(kind: RiskKind, grave: bool) -> str:
    return KINDS[kind].grave_words if grave else KINDS[kind].words


Seen = tuple[RiskKind, bool]


def _seen(call: Call) -> Iterator[Seen]:
    yield from _of_tool(call)
    texts = (call.command, *call.paths, *call.urls, call.tool)
    if any(shell.is_hidden(char) for text in texts for char in text.replace("\r\n", "\n")):
        yield "hidden", True
    bare = shell.without_quotes(call.command)
    for pattern, regex in _COMPILED:
        if regex.search(call.command) or regex.search(bare):
            yield pattern.kind, pattern.grave
    if len(call.command) > shell.LONGEST:
        yield "unclear", True
    words: dict[tuple[str, bool], None] = {}
    writes_any = call.writes
    for part in shell.commands_in(call.command):
        yield from _of_part(part)
        reads = name(part.words) in _READERS and ">" not in call.command
        writes_any = writes_any or not reads
        start = 1 if part.words[0].startswith(PROGRAMS) and not part.guess else 0
        words.update(((word, bool(at) and not reads), None) for at, word in enumerate(part.words[start:], start))
    for word, writes in words:
        yield from _of_word(word, call.folder, writes)
    for path in call.paths:
        yield from _of_path(path, call.folder, writes_any)


def _of_tool(call: Call) -> Iterator[Seen]:
    if call.kind == "delete":
        yield "deletes", False
    if call.kind == "mode" or call.powers:
        yield "widens", True
    if call.kind == "fetch" or call.urls:
        yield "network", False
    if not call.certain:
        yield "unclear", False
    spoken = {word.casefold() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", call.tool)}
    if spoken & _DELETING:
        yield "deletes", False
    if spoken & _PUBLISHING:
        yield "publishes", True


def _of_path(path: str, folder: str, writes: bool) -> Iterator[Seen]:
    if not is_inside(path, folder):
        yield "leaves", False
    known = _within(path, folder)
    if _is_secret(known):
        yield "secrets", True
    if writes and _is_setting(known):
        yield "config", True


def _of_part(part: Part) -> Iterator[Seen]:
    words, called, subs = part.words, name(part.words), subcommands(part.words)
    for sign in _BY_NAME.get(called, ()):
        if _applies(sign, words, subs):
            yield sign.kind, sign.grave
    if called.startswith("mkfs"):
        yield "machine", True
    if called == "chmod" and any(_OPEN_MODE.fullmatch(word) for word in words[1:]):
        yield "root", True
    if _publishes(called, words, subs):
        yield "publishes", True
    yield from _of_code(part, called)
    if called in ("cd", "pushd", "popd", "chdir") and (len(words) == 1 or words[1] == "-"):
        yield "leaves", False


def _publishes(called: str, words: tuple[str, ...], subs: frozenset[str]) -> bool:
    if called == "git" and "push" in subs:
        return any(_MAIN.fullmatch(word) for word in words[2:])
    if called in _TASK_RUNNERS:
        return any(_TASK.fullmatch(word) for word in words[1:5])
    return bool(_PUBLISHED & subs) and called not in _NAMES_FILES and called not in _READERS


def _of_code(part: Part, called: str) -> Iterator[Seen]:
    words, behind = part.words, part.words[1:]
    bare = not behind and not part.guess
    if called in SHELLS and (part.piped or bare or "-s" in behind or _is_computed(behind)):
        yield "pipe", True
    if called in ("source", ".") and (part.piped or _is_computed(behind)):
        yield "pipe", True
    if called in INTERPRETERS:
        if bare or "-" in behind or (part.piped and all(word.startswith("-") for word in behind)):
            yield "pipe", True
        if shell.runs_others(words):
            yield "unclear", False
    if not part.guess and words[0] != "[" and re.search(r"[$`*?\[{]", words[0]):
        yield "unclear", True


def _is_computed(words: tuple[str, ...]) -> bool:
    return any(sign in word for word in words for sign in ("$(", "`", "<(", "(")) or "$" in words


def _of_word(word: str, folder: str, writes: bool) -> Iterator[Seen]:
    if _ELSEWHERE.search(word):
        yield "leaves", False
    for place in shell.places(word):
        if place not in QUIET:
            whole = place if place.startswith("~") else normpath(join(folder, place))
            yield from _of_path(whole, folder, writes)
            if _is_secret(place):
                yield "secrets", True


def _within(path: str, folder: str) -> str:
    """A path as it is called inside of the folder: what the folder itself is called says nothing about it."""
    return path[len(folder) :].lstrip("/") if is_inside(path, folder) else path


def _applies(sign: Sign, words: tuple[str, ...], subs: frozenset[str]) -> bool:
    if sign.subcommands and subs.isdisjoint(sign.subcommands):
        return False
    return not sign.options or any(_is_option(word, option) for word in words[1:] for option in sign.options)


def _is_option(word: str, option: str) -> bool:
    """`-f` is also in `-uf`, `--force` also in `--force=x` and `--forc`; a star stands for any rest."""
    if option.endswith("*"):
        return word.startswith(option[:-1])
    if re.fullmatch(r"-[A-Za-z]", option):
        return bool(re.fullmatch(rf"-\w*{option[1]}\w*", word))
    given = word.split("=", 1)[0]
    return given == option or (option.startswith("--") and len(given) > 4 and option.startswith(given))


def _is_secret(path: str) -> bool:
    """Whether a path by its name alone may hold secrets, or is a pattern that matches such a name."""
    *folders, last = path.rstrip("/").split("/")
    if any(part.casefold() in _SECRET_FOLDERS for part in folders) or _SECRET.fullmatch(last):
        return True
    if last.startswith(".") and last.casefold() in _SECRET_FOLDERS:
        return True
    if folders and _SECRET_IN_FOLDER.fullmatch(last):
        return True
    return bool(re.search(r"[*?\[]", last) and re.search(r"\w", last)) and any(
        fnmatchcase(known, last) for known in _SECRET_NAMES
    )


def _is_setting(path: str) -> bool:
    """Whether a file may decide what runs or what is asked."""
    *folders, last = path.split("/")
    if last.casefold() in _START_FILES or _OWN.fullmatch(last):
        return True
    return any(part.startswith(".") and part.casefold() not in _HARMLESS_FOLDERS for part in folders if part)


def document() -> str:
    """The page about risks, `docs/risks.md`, whole."""
    rows = [f"| {kind} | {what.words or '–'} | {what.grave_words or '–'} |" for kind, what in KINDS.items()]
    parts = [_HEAD, "| kind | warning | grave warning |\n|---|---|---|\n" + "\n".join(rows)]
    for kind, what in KINDS.items():
        lines = [f"- {_spelled(sign)}{_mark(sign.grave)}" for sign in SIGNS if sign.kind == kind]
        lines += [f"- anywhere in the text: {one.what}{_mark(one.grave)}" for one in PATTERNS if one.kind == kind]
        lines += [f"- {what.looked_for}{_mark(not what.words)}"] if what.looked_for else []
        parts.append(f"## {kind}\n\n" + "\n".join(lines))
    runners = ", ".join(f"`{command}`" for command in sorted(signs.RUNNERS))
    options = ", ".join(f"`{option}`" for option in sorted(signs.RUNNING_OPTIONS))
    subs = "\n".join(
        f"- `{command}`: {', '.join(f'`{sub}`' for sub in sorted(subs))}"
        for command, subs in sorted(signs.RUNNING_SUBCOMMANDS.items())
    )
    parts += [_RUNNERS, runners + ".", "With a subcommand:", subs, f"With an option: {options}."]
    return "\n\n".join(parts) + "\n"


def _spelled(sign: Sign) -> str:
    text = ", ".join(f"`{command}`" for command in sign.commands)
    for more, joint in ((sign.subcommands, "with"), (sign.options, "and" if sign.subcommands else "with")):
        if more:
            text += f" {joint} {'one of ' * (len(more) > 1)}" + ", ".join(f"`{word}`" for word in more)
    return text


def _mark(grave: bool) -> str:
    return " (grave)" if grave else ""


_HEAD = """\
# What beambot warns of

Before a person allows something, the card says what is risky about it. This page lists everything that is looked
for. It is written by `document()` in `beambot/state/permission/risk.py`, and a test compares the two.

A warning never allows anything, and the absence of one promises nothing: what a script, a build or a package does
cannot be read off its command. Everything is looked for by its presence; no dry run and no comment takes a warning
away. Grave warnings mark what cannot be taken back or reaches beyond the project: a rule can allow such a
call only exactly as it stands, and only for a while."""
_RUNNERS = """\
## Commands that run other commands

A rule for "commands that begin with …" never allows these, because their words say too little about what will run.
An interpreter (`python`, `node`, `ruby`, …) is one of them unless a file or `-m` and a module follow at once,
and so are `git` with an option in front of its subcommand and `make` with an assignment."""
