"""YAML to typed values, every error with file, line and fix."""

from __future__ import annotations

from beambot.config.default import default_config, default_values
from beambot.config.load import load, load_store, nobody, read
from beambot.config.places import data_home, find
from beambot.config.values import AdapterEntry, Config, PlatformEntry, StoreConfig

__all__ = [
    "AdapterEntry",
    "Config",
    "PlatformEntry",
    "StoreConfig",
    "data_home",
    "default_config",
    "default_values",
    "find",
    "load",
    "load_store",
    "nobody",
    "read",
]
