"""The configuration of somebody who has none: the current folder, a chat that needs no account, one owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from beambot.config.load import read
from beambot.config.section import Section
from beambot.config.source import Source
from beambot.config.values import Config
from beambot.errors import PluginError
from beambot.model.plugins import Found
from beambot.registry import Registry

NAME = "(built-in default)"


def default_config(
    home: Path, cwd: Path, found: Sequence[Found], registry: Registry, environ: Mapping[str, str]
) -> Config:
    """Read like a file, so that it passes the same checks."""
    text = yaml.safe_dump(default_values(home, cwd, found, registry), sort_keys=False)
    return read(text, NAME, cwd, registry, environ)


def default_values(home: Path, cwd: Path, found: Sequence[Found], registry: Registry) -> dict[str, Any]:
    """The same as plain data."""
    adapters: dict[str, Any] = {one.name: {"type": one.adapter, **one.settings} for one in found}
    preset = registry.ready_preset()
    if preset is not None:
        adapters.setdefault(preset.name, {})
    if not adapters:
        raise PluginError(
            "no agent was found on this machine", fix="install one, or name it under adapters (beambot init)"
        )
    chats = [name for name in registry.platform_names() if _needs_nothing(name, registry)]
    return {
        "store": {"path": str(home / "beambot.db")},
        "projects": [{"name": _typeable(cwd.name), "path": str(cwd), "adapter": next(iter(adapters))}],
        "adapters": adapters,
        "platforms": {name: {} for name in chats},
        "members": [{"name": "me", "role": "owner", **dict.fromkeys(chats, "local")}],
    }


def _needs_nothing(name: str, registry: Registry) -> bool:
    """Whether a platform works without a token or any other setting."""
    source = Source("", NAME, Path(), {})
    try:
        registry.platform(name).configure(Section(source, None, ""))
    except Exception:
        return False
    return not source.problems


def _typeable(name: str) -> str:
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "-" for char in name)
    return kept.lstrip("._-")[:64] or "here"
