"""`beambot init`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from beambot.cli.setting import example_text
from beambot.errors import BeambotError


def run(args: argparse.Namespace) -> int:
    """Write the commented example where the user wants it."""
    path = Path(args.file).expanduser()
    text = example_text()
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if args.force else os.O_EXCL)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, flags, 0o600)
    except FileExistsError:
        fix = f"`beambot init --force {path}` replaces it; `beambot init OTHER` writes another"
        raise BeambotError(f"{path} is there already", fix=fix) from None
    except OSError as error:
        raise BeambotError(
            f"cannot write {path}: {error.strerror}", fix="name a file in a folder of yours"
        ) from None
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        os.fchmod(fd, 0o600)
        file.write(text)
    print(f"wrote {path}\nnext: edit it, then `beambot doctor --config {path}` and `beambot up --config {path}`")
    return 0
