"""What commands start from: the registry and the configuration that applies here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from beambot.config import Config, data_home, default_config, find, load, load_store
from beambot.model.plugins import Found
from beambot.registry import Registry


def configuration(given: str | None, registry: Registry, *, need_members: bool = False) -> Config:
    """The configuration that was named, or found, or the built-in one."""
    path = find(given, os.environ, Path.cwd())
    if path is not None:
        return load(path, registry, os.environ, need_members=need_members)
    return built_in(registry, registry.find_agents())


def store_path(given: str | None) -> Path:
    """Where the store is, without asking any plugin or reading any token."""
    return load_store(find(given, os.environ, Path.cwd()), os.environ).path


def built_in(registry: Registry, found: Sequence[Found]) -> Config:
    """The configuration of somebody who has none."""
    return default_config(data_home(os.environ), Path.cwd(), found, registry, os.environ)


def example_text() -> str:
    """The commented example: of a checkout, else the one that was installed with the program."""
    from importlib import metadata

    from beambot.errors import BeambotError

    name = "config.example.yaml"
    root = Path(__file__).resolve().parents[2]
    candidates = [root / name] if (root / "pyproject.toml").is_file() else []
    # `pip install --target` records a path that leads nowhere; the file itself stands here.
    candidates.append(root / "share" / "beambot" / name)
    try:
        files = metadata.files("beambot") or []
    except metadata.PackageNotFoundError:
        files = []
    candidates += [Path(str(file.locate())) for file in files if file.name == name]
    for candidate in candidates:
        if candidate.is_file():
            return candidate.read_text(encoding="utf-8")
    raise BeambotError("the example configuration is missing", fix="install beambot again")
