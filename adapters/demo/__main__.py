"""`python -P -m adapters.demo`: the demo agent on standard input and output."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from adapters.demo.script import explain


def main(args: Sequence[str] | None = None) -> int:
    """Run the agent, or explain its words."""
    parser = argparse.ArgumentParser(prog="demo", description="An agent for demonstrations. It needs no key.")
    parser.add_argument("--list", action="store_true", help="explain the words it obeys")
    parser.add_argument("--pace", type=float, default=0.02, metavar="SECONDS", help="between two pieces of text")
    parser.add_argument("--state", type=Path, default=None, metavar="DIR", help="where sessions are kept")
    parser.add_argument("--steer", action="store_true", help="take messages while it works")
    options = parser.parse_args(args)
    if options.list:
        sys.stdout.write(f"The demo agent obeys these words in a prompt, in any order:\n\n{explain()}\n")
        return 0
    import anyio

    anyio.run(_serve, options.state, options.pace, options.steer)
    return 0


async def _serve(state: Path | None, pace: float, steer: bool) -> None:
    import anyio

    from adapters.demo.agent import DemoAgent
    from adapters.demo.history import History, default_folder
    from beambot.wire.jsonrpc import Peer
    from beambot.wire.stdio import Stdio

    stdio = await Stdio.open()
    agent = DemoAgent(History(state or default_folder()), pace, steer)
    agent.peer = Peer(stdio, agent)
    async with anyio.create_task_group() as group:
        agent.group = group
        await agent.peer.run()
        group.cancel_scope.cancel()
    stdio.close()


if __name__ == "__main__":
    raise SystemExit(main())
