"""`beambot simulate telegram`: the twin with a page to try the bot in, without a token."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def run_command(args: Sequence[str], home: Path) -> int:
    """Start the twin and its page, and run until it is interrupted; `home` is the platform's own folder."""
    from platforms.telegram.twin.simulate.command import run

    return run(args, home)
