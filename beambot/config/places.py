"""Where things are looked for and kept when nobody says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def data_home(environ: Mapping[str, str]) -> Path:
    """The folder of the store: `BEAMBOT_HOME`, or the user's data folder."""
    if own := environ.get("BEAMBOT_HOME"):
        return Path(own).expanduser().absolute()
    if shared := environ.get("XDG_DATA_HOME"):
        return Path(shared) / "beambot"
    return _home(environ) / ".local" / "share" / "beambot"


def find(given: str | None, environ: Mapping[str, str], cwd: Path) -> Path | None:
    """The configuration to use. One that was named is used even if it is not there, so that it is missed."""
    named = given or environ.get("BEAMBOT_CONFIG")
    if named:
        return cwd / Path(named).expanduser()
    usual = (cwd / "beambot.yaml", _home(environ) / ".config" / "beambot" / "config.yaml")
    return next((path for path in usual if path.is_file()), None)


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ["HOME"]) if environ.get("HOME") else Path.home()
