"""What an agent wants to do, as rules and warnings see it.

Every agent words its requests differently. Here they become one value: the command as one text, every path resolved
(`..` and symlinks followed, as the disk is at this moment), every address. What cannot be resolved is inside of
nothing. A request that tells what will happen only in a title is not `certain`: a title may be cut or kind.

Two digests: `digest` stands for the whole request, so that an answer goes to exactly what was asked. `act` leaves
out the agent's remark on its own command, which it words anew each time: that is what a rule for "exactly this"
remembers. It is empty where not even the title says what will happen.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from hashlib import blake2b
from itertools import islice
from posixpath import join, normpath
from typing import Any

from msgspec import Struct

from beambot.model.bodies import PermissionRequest, ToolKind
from beambot.model.encoding import encode
from beambot.state.permission import shell
from beambot.state.permission.signs import listed

_COMMANDS = listed("command cmd script commandline shellcommand commands")
_ARGUMENTS = listed("args arguments argv params")
_FOLDERS = listed("cwd workdir workingdirectory workingdir")
_PATHS = _FOLDERS | listed(
    "path paths file files filename filepath filepaths notebookpath directory directories dir folder absolutepath "
    "relativepath relativeworkspacepath oldpath newpath sourcepath targetpath destinationpath outputpath inputpath "
    "targetfile targetdirectory rootpath planfilepath blockedpath"
)
# Words that are a path in one tool and a person or a branch in another: they count when they look like a path.
_MAYBE_PATHS = listed("source src target destination dest from to root output input include pattern glob")
# What is written into files.
_WRITTEN = listed(
    "content contents filetext newstring oldstring newstr oldstr newtext oldtext newsource diff patch edits"
)
_NEW = listed("content contents filetext newstring newstr newtext newsource")
# Texts in which a path or an address is only mentioned.
_TEXTS = _WRITTEN | listed("description prompt query reason message explanation justification text title plan")
_REMARKS = listed("description justification explanation reason")
_POWERS = re.compile(
    r"dangerous|escalat|sandbox|bypass|elevat|privileg|unsafe|skippermission|additionalpermission", re.IGNORECASE
)
_HARMLESS = (None, False, "", "false", "none", "use_default", "default", "never", "read-only", "workspace-write")
_URL = re.compile(r"\b(?:https?|ftps?|wss?|ssh|git|sftp|s3|gs)://[^\s'\"<>|;`)]+|\bgit@[\w.-]+:\S+", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]|\\\\")
QUIET = listed("/dev/null /dev/stdin /dev/stdout /dev/stderr")
PROGRAMS = tuple(f"{folder}/" for folder in ("/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"))
_MOST = 2000
_LONGEST_PATH = 4096


class Call(Struct, frozen=True):
    """One thing that an agent wants to do. `powers`: what of its input asks for more rights than it has."""

    tool: str
    kind: ToolKind = "other"
    command: str = ""
    paths: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    folder: str = ""
    digest: str = ""
    act: str = ""
    powers: tuple[str, ...] = ()
    certain: bool = True
    writes: bool = False


def call_of(body: PermissionRequest, folder: str, resolve: Callable[[str], str]) -> Call:
    """The call behind a request. `resolve` follows the symlinks of an absolute path, which may not exist."""
    folder = _resolved(folder, "", resolve)
    nodes = _nodes(body.input)
    texts = [(key, item) for key, item in nodes if isinstance(item, str)]
    command, told = _command(body, nodes)
    paths = _paths(body, texts, folder, resolve)
    certain = bool(body.input or body.diffs) and (told or body.kind != "execute") and len(nodes) <= _MOST
    if command:
        around = next((text for key, text in texts if key in _FOLDERS), "")
        in_words, all_seen = _paths_in(command, _resolved(around, folder, resolve), resolve)
        paths += in_words
        certain = certain and all_seen
    paths = list(dict.fromkeys(paths))
    diffs = [(_resolved(diff.path, folder, resolve), diff.old, diff.new, diff.unified) for diff in body.diffs]
    title = "" if body.input else body.title
    said = (title, folder, paths, diffs)
    spoken = [command, title, *(text for key, text in texts if key not in _TEXTS)]
    return Call(
        tool=body.name or body.kind,
        kind=body.kind,
        command=command,
        paths=tuple(paths),
        urls=tuple(dict.fromkeys(url for text in spoken for url in _URL.findall(text))),
        folder=folder,
        digest=_digest(body.name, body.kind, body.input, said),
        act=_digest(body.name, body.kind, _without_remarks(body.input, command), said) if _tells(body) else "",
        powers=tuple(_powers(nodes)),
        certain=certain,
        writes=body.kind in ("edit", "delete", "move") or any(key in _WRITTEN for key, _ in nodes),
    )


def is_command(name: str) -> bool:
    """Whether a text of an input is a command, by the name it has there."""
    return _key(name) in _COMMANDS


def is_new_text(name: str) -> bool:
    """Whether a text of an input is to stand in a file, by the name it has there."""
    return _key(name) in _NEW


def own_folder(body: PermissionRequest) -> str:
    """The folder that a request names for itself, as it stands there."""
    return next((text for key, text in body.input.items() if _key(key) in _FOLDERS and isinstance(text, str)), "")


def is_inside(path: str, folder: str) -> bool:
    """Whether a resolved path is this folder or in it. Nothing is inside of what is not absolute."""
    if not path.startswith("/") or not folder.startswith("/"):
        return False
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _digest(*values: Any) -> str:
    return blake2b(encode(values), digest_size=20).hexdigest()


def _tells(body: PermissionRequest) -> bool:
    """Whether a request says what will happen, at the least in a title that is not cut."""
    if body.input or body.diffs:
        return True
    return (
        body.kind in ("execute", "fetch", "read", "search")
        and bool(body.title)
        and not re.search(r"…|\.\.\.", body.title)
    )


def _without_remarks(given: dict[str, Any], command: str) -> dict[str, Any]:
    return {key: value for key, value in given.items() if _key(key) not in _REMARKS} if command else given


# ── what stands in an input ──────────────────────────────────────────────────────────────────────────


def _key(key: str) -> str:
    return re.sub(r"[\W_]", "", str(key)).casefold()


def _nodes(given: dict[str, Any]) -> list[tuple[str, Any]]:
    """Every value in an input with the name it stands under, outermost first; one more than is sensible at most."""
    nodes: list[tuple[str, Any]] = [("", given)]
    for key, item in nodes:
        if isinstance(item, dict):
            nodes += islice(((_key(name), inner) for name, inner in item.items()), _MOST + 1 - len(nodes))
        elif isinstance(item, list | tuple):
            nodes += islice(((key, inner) for inner in item), _MOST + 1 - len(nodes))
    return nodes


def _powers(nodes: list[tuple[str, Any]]) -> Iterator[str]:
    for key, value in nodes:
        if _POWERS.search(key) and value not in _HARMLESS:
            yield key


def _command(body: PermissionRequest, nodes: list[tuple[str, Any]]) -> tuple[str, bool]:
    """The command as one text, and whether the agent said it as such."""
    found = [line for _, item in nodes if isinstance(item, dict) for line in _lines(item) if line.strip()]
    if found:
        return "\n".join(dict.fromkeys(found)), True
    if body.kind != "execute":
        return "", False
    return "\n".join(item for key, item in nodes if key == "code" and isinstance(item, str)) or body.title, False


def _lines(given: dict[str, Any]) -> Iterator[str]:
    """The command lines in a mapping, each with the arguments and the environment that stand beside it."""
    named = [(_key(key), value) for key, value in given.items()]
    behind = "".join(f" {_joined(value)}" for key, value in named if key in _ARGUMENTS)
    around = [value for key, value in named if key in ("env", "environment") and isinstance(value, dict)]
    before = "".join(f"{key}={shlex.quote(_text(to))} " for changed in around for key, to in changed.items())
    for key, value in named:
        if key == "commands" and isinstance(value, list | tuple):
            yield from (before + _joined(item) for item in value if not isinstance(item, dict))
        elif key in _COMMANDS and isinstance(value, str | list | tuple):
            yield before + _joined(value) + behind


def _joined(value: Any) -> str:
    """A text as it is, a list as the words of a command."""
    return shlex.join(map(_text, value)) if isinstance(value, list | tuple) else _text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else encode(value).decode()


# ── paths ────────────────────────────────────────────────────────────────────────────────────────────


def _resolved(path: str, folder: str, resolve: Callable[[str], str]) -> str:
    """A path as the disk knows it. With a `?` in front: what cannot be known for certain, such as `~`."""
    whole = join(folder, path)
    if path.startswith(("~", "?")) or _DRIVE.match(path) or not whole.startswith("/"):
        return f"?{path}"
    try:
        real = resolve(whole)
    except (OSError, ValueError, RuntimeError):
        return f"?{path}"
    return normpath(real) if real.startswith("/") else f"?{path}"


def _paths(
    body: PermissionRequest, texts: list[tuple[str, str]], folder: str, resolve: Callable[[str], str]
) -> list[str]:
    given = [*body.paths, body.blocked_path, *(diff.path for diff in body.diffs)]
    for key, text in texts:
        if key in _TEXTS or key in _COMMANDS or key in _ARGUMENTS or "\n" in text or len(text) > _LONGEST_PATH:
            continue
        if text.casefold().startswith("file://"):
            given.append(text[7:])
        elif "://" in text:
            continue
        elif key in _PATHS or _is_far(text) or (key in _MAYBE_PATHS and ("/" in text or body.kind == "move")):
            given.append(text)
    return [_resolved(path, folder, resolve) for path in dict.fromkeys(given) if path]


def _is_far(text: str) -> bool:
    return text.startswith(("/", "~/", "../")) or text in ("~", "..") or "/../" in text or bool(_DRIVE.match(text))


def _paths_in(command: str, folder: str, resolve: Callable[[str], str]) -> tuple[list[str], bool]:
    """The paths among the words of a command: what looks like one, and what the disk says leads elsewhere."""
    found: dict[str, None] = {}
    words: dict[str, None] = {}
    for part in shell.commands_in(command):
        starts = 1 if part.words[0].startswith(PROGRAMS) and not part.guess else 0
        words.update(dict.fromkeys(part.words[starts:]))
    tried = dict.fromkeys(place for word in words for place in shell.places(word))
    for place in islice(tried, _MOST):
        if place in QUIET or len(place) > _LONGEST_PATH:
            continue
        real = _resolved(place, folder, resolve)
        if "/" in place or place.startswith((".", "~")) or real != normpath(join(folder, place)):
            found[real] = None
    return list(found), len(tried) <= _MOST
