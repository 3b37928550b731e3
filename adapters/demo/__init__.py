"""The demo agent: an ACP agent that needs no key, so that a newcomer can see every feature."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from beambot.api import AdapterSpec


def _command(args: Sequence[str], home: Path) -> int:
    from adapters.demo.__main__ import main

    return main(args or ["--list"])


# -P: the agent runs in the user's repository, which may have an `adapters` folder of its own.
spec = AdapterSpec(
    name="demo",
    summary="a small agent that needs no key and obeys words in the prompt",
    base="acp",
    defaults={"command": sys.executable, "args": ["-P", "-m", "adapters.demo"]},
    command=_command,
)
