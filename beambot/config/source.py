"""The text of a configuration and every problem found in it, each with its line and its fix."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from beambot.errors import ConfigError
from beambot.log import redact

HIDDEN = "a value that is not shown"
MAX_BYTES = 1 << 20
_SECRET = re.compile(r"token|secret|passw|key|credential", re.IGNORECASE)


def looks_secret(path: str) -> bool:
    """Whether a key, or one that it stands under, names something that must not be shown."""
    return bool(_SECRET.search(path))


class Source:
    """One YAML text: its nodes, the folder it stands in, and the problems found so far."""

    def __init__(self, text: str, name: str, folder: Path, environ: Mapping[str, str]) -> None:
        self.name = name
        self.folder = folder
        self.environ = environ
        self.problems: list[str] = []
        self.secret_variables: list[str] = []
        self._text = text
        self._loader: Any = None

    def root(self) -> yaml.Node | None:
        """The document's node; none when it is empty or is not YAML."""
        try:
            self._loader = yaml.SafeLoader(self._text)
            node: yaml.Node | None = self._loader.get_single_node()
        except yaml.MarkedYAMLError as error:
            self._syntax(error)
            return None
        except (yaml.YAMLError, RecursionError):
            self.note(None, "(file)", "text that is not YAML", "a YAML mapping", "save the file as plain UTF-8")
            return None
        return node

    def note(self, node: yaml.Node | int | None, key: str, found: str, allowed: str, fix: str) -> None:
        """Write a problem down. The order of the file is the order they are shown in."""
        line = node if isinstance(node, int) else _line(node)
        self.problems.append(redact(f"{self.name}:{line}: {key}: found {found}; allowed {allowed}; fix: {fix}"))

    def scalar(self, node: yaml.Node) -> Any:
        """The value of a scalar by the rules of safe YAML. Raises ValueError for what these do not know."""
        try:
            return self._loader.construct_object(node, deep=True)
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            raise ValueError(node.tag) from error

    def entries(self, node: yaml.MappingNode, path: str) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """The keys of a mapping with their nodes; doubled keys and keys that are no text are problems."""
        seen: dict[str, int] = {}
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                if key.value in seen:
                    at = join(path, key.value)
                    self.note(
                        key, at, f"a second {key.value!r}", f"one, as in line {seen[key.value]}", "remove one"
                    )
                seen.setdefault(key.value, _line(key))
        try:
            self._loader.flatten_mapping(node)
        except yaml.MarkedYAMLError:
            self.note(node, path or "(file)", "a merge (<<) of something else", "<< of a mapping", "correct it")
        found: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                found[str(key.value)] = (key, value)
            else:
                self.note(key, path or "(file)", f"{kind(key)} as a key", "text", "write a name before the colon")
        return found

    def show(self, node: yaml.Node, path: str) -> str:
        """What was found, as a problem may say it."""
        if not isinstance(node, yaml.ScalarNode):
            return kind(node)
        if looks_secret(path):
            return HIDDEN
        text = node.value if len(node.value) <= 60 else node.value[:57] + "…"
        return repr(text) if text else "nothing"

    def check(self) -> None:
        """Raise what was found, all at once."""
        if self.problems:
            raise ConfigError(sorted(self.problems, key=self._order))

    def _order(self, problem: str) -> int:
        number = problem[len(self.name) + 1 :].split(":", 1)[0]
        return int(number) if number.isdigit() else 0

    def _syntax(self, error: yaml.MarkedYAMLError) -> None:
        marks = [mark for mark in (error.context_mark, error.problem_mark) if mark is not None]
        line = marks[-1].line + 1 if marks else 1
        lines = self._text.splitlines()
        # What the parser says quotes the text; around a secret that would show it.
        near = lines[max(0, line - 2) : line + 1] + [lines[m.line] for m in marks if m.line < len(lines)]
        says = HIDDEN if any(looks_secret(one) for one in near) else (error.problem or "text that is not YAML")
        fix = "check the indentation, the quotes and the colons around this line"
        self.note(line, "(syntax)", says, "YAML", fix)


def join(path: str, key: str) -> str:
    """The name of a key as people read it: `platforms.NAME.port`."""
    return f"{path}.{key}" if path else key


def kind(node: yaml.Node) -> str:
    """A node in one word."""
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    return "a list" if isinstance(node, yaml.SequenceNode) else "a single value"


def suggest(name: str, known: Iterable[str], otherwise: str) -> str:
    """A fix for a name that is not known."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"write {close[0]!r}" if close else otherwise


def _line(node: yaml.Node | None) -> int:
    return node.start_mark.line + 1 if node is not None else 1
