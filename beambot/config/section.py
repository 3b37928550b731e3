"""A part of the configuration as its reader sees it: getters that note problems and go on."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from beambot.config.secrets import Unusable, from_file, from_variable
from beambot.config.source import HIDDEN, Source, join, kind, looks_secret, suggest
from beambot.log import remember_secrets

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)")
_SECRET_FORMS = ("", "_env", "_file")


class Section:
    """Implements `ConfigSection` over a YAML mapping, with a preset's defaults underneath."""

    def __init__(self, source: Source, node: yaml.Node | None, path: str, at: yaml.Node | None = None) -> None:
        self.source = source
        self.path = path
        self._defaults: dict[str, Any] = {}
        self._asked: list[str] = []
        self._literal: set[str] = set()
        self._at = node if node is not None else at
        self._entries: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        if isinstance(node, yaml.MappingNode):
            self._entries = source.entries(node, path)
        elif node is not None and not _is_null(node):
            source.note(
                node, path or "(file)", source.show(node, path), "a mapping", "write `key: value` lines here"
            )

    # ── what plugins use ─────────────────────────────────────────────────────────────────────────────

    def text(self, key: str, default: str = "", *, required: bool = False) -> str:
        node = self._take(key)
        if node is None:
            value = self._defaults.get(key, default)
            if required and not value:
                self._missing(key, "text")
            return str(value)
        value = self._scalar(node)
        if isinstance(value, str) and (value or not required):
            return value
        self._wrong(key, node, "text", "put the value in quotes")
        return default

    def integer(self, key: str, default: int, *, minimum: int = 0, maximum: int | None = None) -> int:
        value = self._number(key, default, minimum, maximum, whole=True)
        return int(value)

    def number(self, key: str, default: float, *, minimum: float = 0.0, maximum: float | None = None) -> float:
        return float(self._number(key, default, minimum, maximum, whole=False))

    def flag(self, key: str, default: bool) -> bool:
        node = self._take(key)
        if node is None:
            return bool(self._defaults.get(key, default))
        value = self._scalar(node)
        if isinstance(value, bool):
            return value
        self._wrong(key, node, "true or false", "write true or false, without quotes")
        return default

    def choice(self, key: str, allowed: Sequence[str], default: str) -> str:
        node = self._take(key)
        if node is None:
            return str(self._defaults.get(key, default))
        # As it was written: YAML reads a bare `off` as false.
        value = str(node.value) if isinstance(node, yaml.ScalarNode) else ""
        if value in allowed:
            return value
        self._wrong(key, node, ", ".join(allowed), suggest(value, allowed, f"write {allowed[0]!r}"))
        return default

    def texts(self, key: str) -> tuple[str, ...]:
        node = self._take(key)
        if node is None:
            return tuple(str(one) for one in self._defaults.get(key, ()))
        if not isinstance(node, yaml.SequenceNode):
            self._wrong(key, node, "a list of text", "write it as a list: [one, two]")
            return ()
        return tuple(self._items(key, node))

    def mapping(self, key: str) -> dict[str, str]:
        found = {str(name): str(value) for name, value in dict(self._defaults.get(key, {})).items()}
        node = self._take(key)
        if node is None:
            return found
        if not isinstance(node, yaml.MappingNode):
            self._wrong(key, node, "a mapping of text", "write `NAME: value` lines under it")
            return found
        path = join(self.path, key)
        for name, (_, value) in self.source.entries(node, path).items():
            if isinstance(value, yaml.ScalarNode):
                # As it was written: an environment has only text, so 8080 and yes stay what they are.
                found[name] = "" if _is_null(value) else str(value.value)
            else:
                self.source.note(value, join(path, name), kind(value), "text", "write a single value")
        return found

    def secret(self, key: str, *, required: bool = False) -> str:
        literal, variable, file = (self._take(key + form) for form in _SECRET_FORMS)
        self._literal.add(key)
        by = f"{key}_env (a variable's name) or {key}_file (a file with mode 600)"
        if literal is not None:
            if isinstance(literal, yaml.ScalarNode):
                remember_secrets([str(literal.value)])
            fix = f"move it into a variable or a file, write {key}_env or {key}_file, and replace the token"
            self.source.note(literal, join(self.path, key), HIDDEN, by, fix)
            return ""
        if variable is not None and file is not None:
            fix = "remove one of the two"
            self.source.note(file, join(self.path, key), f"{key}_env and {key}_file", "one of them", fix)
            return ""
        form, node = ("_env", variable) if variable is not None else ("_file", file)
        if node is None:
            if required:
                self._missing(f"{key}_env", by)
            return ""
        return self._read_secret(key + form, node, from_env=form == "_env")

    def problem(self, key: str, found: str, allowed: str, fix: str) -> None:
        node = self._entries[key][1] if key in self._entries else self._at
        path = join(self.path, key) if key else self.path
        self.source.note(node, path, HIDDEN if looks_secret(key) else found, allowed, fix)

    # ── what the core's own sections use as well ─────────────────────────────────────────────────────

    def beneath(self, defaults: Mapping[str, Any]) -> None:
        """What holds where nothing was written."""
        self._defaults = dict(defaults)

    def has(self, key: str) -> bool:
        """Whether something was written for this key."""
        return key in self._entries and not _is_null(self._entries[key][1])

    def names(self) -> tuple[str, ...]:
        """The keys as they were written."""
        return tuple(self._entries)

    def seconds(self, key: str, default: float) -> float:
        """A duration: 90, "90s", "15m", "2h", "1d"."""
        node = self._take(key)
        if node is None:
            return default
        match = _DURATION.fullmatch(node.value.strip()) if isinstance(node, yaml.ScalarNode) else None
        if match is None:
            self._wrong(key, node, 'seconds, or "90s", "15m", "2h"', "write a number and its unit")
            return default
        return float(match[1]) * _UNITS[match[2]]

    def path_to(self, key: str, default: Path | None = None) -> Path | None:
        """A path; `~` is the home folder, what is relative starts at the configuration's folder."""
        text = self.text(key)
        return resolve(self.source, text) if text else default

    def section(self, key: str) -> Section:
        """The mapping under a key; empty when nothing was written."""
        at = self._entries[key][0] if key in self._entries else self._at
        return Section(self.source, self._take(key), join(self.path, key), at)

    def sections(self, key: str) -> Iterator[Section]:
        """The mappings of the list under a key."""
        node = self._take(key)
        if node is None:
            return
        if not isinstance(node, yaml.SequenceNode):
            self._wrong(key, node, "a list", "begin each entry with a dash")
            return
        for index, item in enumerate(node.value):
            yield Section(self.source, item, f"{join(self.path, key)}[{index}]")

    def identity(self, key: str) -> str:
        """Text or a whole number, as platforms name people."""
        node = self._take(key)
        value = self._scalar(node) if node is not None else None
        if node is not None and isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return str(node.value)
        if node is not None:
            self._wrong(key, node, "the person's id there", "put the id in quotes")
        return ""

    def finish(self) -> None:
        """Report what no getter asked for."""
        known = sorted(set(self._asked) - self._literal)
        for key, (node, _) in self._entries.items():
            if key not in self._asked:
                allowed = ", ".join(known) or "no key"
                fix = suggest(key, known, "remove it")
                self.source.note(node, join(self.path, key), "an unknown key", allowed, fix)

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────

    def _take(self, key: str) -> yaml.Node | None:
        self._asked.append(key)
        node = self._entries[key][1] if key in self._entries else None
        return None if node is None or _is_null(node) else node

    def _scalar(self, node: yaml.Node) -> Any:
        if not isinstance(node, yaml.ScalarNode):
            return None
        try:
            return self.source.scalar(node)
        except ValueError:
            return None

    def _number(self, key: str, default: float, low: float, high: float | None, *, whole: bool) -> float:
        node = self._take(key)
        if node is None:
            return float(self._defaults.get(key, default)) if not whole else int(self._defaults.get(key, default))
        value = self._scalar(node)
        right = isinstance(value, int) or (isinstance(value, float) and not whole)
        if right and not isinstance(value, bool) and low <= value and (high is None or value <= high):
            number: float = value
            return number
        noun = "a whole number" if whole else "a number"
        span = f"from {low:g}" + (f" to {high:g}" if high is not None else "")
        self._wrong(key, node, f"{noun} {span}", f"write for example {default:g}")
        return default

    def _items(self, key: str, node: yaml.SequenceNode) -> Iterator[str]:
        for index, item in enumerate(node.value):
            if isinstance(item, yaml.ScalarNode) and not _is_null(item):
                yield str(item.value)
            else:
                at = f"{join(self.path, key)}[{index}]"
                self.source.note(item, at, self.source.show(item, at), "text", "write a single value")

    def _read_secret(self, key: str, node: yaml.Node, *, from_env: bool) -> str:
        text = str(node.value) if isinstance(node, yaml.ScalarNode) else ""
        try:
            value = from_variable(text, self.source.environ) if from_env else from_file(resolve(self.source, text))
        except Unusable as why:
            self.source.note(node, join(self.path, key), why.found, why.allowed, why.fix)
            return ""
        remember_secrets([value])
        if from_env:
            self.source.secret_variables.append(text)
        return value

    def _wrong(self, key: str, node: yaml.Node, allowed: str, fix: str) -> None:
        path = join(self.path, key)
        self.source.note(node, path, self.source.show(node, path), allowed, fix)

    def _missing(self, key: str, allowed: str) -> None:
        self.source.note(self._at, join(self.path, key), "nothing", allowed, f"add `{key}: …`")


def resolve(source: Source, text: str) -> Path:
    """Where a path of this configuration leads."""
    if text == "~" or text.startswith("~/"):
        home = source.environ.get("HOME")
        text = (home if home else str(Path.home())) + text[1:]
    return Path(os.path.abspath(source.folder / text))


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"
