"""`python -m beambot`."""

from __future__ import annotations

import sys

from beambot.cli import main

if __name__ == "__main__":
    sys.exit(main())
