"""The client's side of terminal/*: commands that start in the project's folder and end with the session."""

from __future__ import annotations

import codecs
import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from adapters.acp import schema
from adapters.acp.client.files import confine
from beambot.api import AgentError
from beambot.wire.jsonrpc import INVALID_PARAMS, RpcError
from beambot.wire.process import Child, clean_env

OUTPUT_LIMIT = 1024 * 1024
MOST_TERMINALS = 32


class Terminal:
    """One command and the end of its output."""

    def __init__(self, child: Child, limit: int) -> None:
        self.child = child
        self.limit = limit
        self.output = bytearray()
        self.truncated = False
        self.done = anyio.Event()

    async def collect(self, print_out: Callable[[str], None]) -> None:
        """Read it to its end."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while chunk := await self.child.read():
            self.output += chunk
            if len(self.output) > self.limit:
                self.truncated = True
                del self.output[: len(self.output) - self.limit]
            if text := decoder.decode(chunk):
                print_out(text)
        await self.child.wait()
        self.done.set()

    def text(self) -> str:
        """What it printed. A character cut in half by the limit is left out."""
        cut = 0
        while self.truncated and cut < min(4, len(self.output)) and self.output[cut] & 0xC0 == 0x80:
            cut += 1
        return self.output[cut:].decode("utf-8", "replace")

    def status(self) -> dict[str, Any]:
        """How it ended."""
        code = self.child.returncode or 0
        if code >= 0:
            return {"exitCode": code, "signal": None}
        return {"exitCode": None, "signal": signal.Signals(-code).name}


class Terminals:
    """All commands an agent runs through us. None outlives the session."""

    def __init__(self, root: Path, env: dict[str, str], printed: Callable[[str, str], None]) -> None:
        self._root = root
        self._env = env
        self._printed = printed
        self._open: dict[str, Terminal] = {}
        self._count = 0

    async def create(self, asked: schema.CreateTerminal) -> tuple[str, Terminal]:
        """terminal/create; the caller lets `collect` run."""
        if len(self._open) >= MOST_TERMINALS:
            raise RpcError(INVALID_PARAMS, f"{MOST_TERMINALS} terminals are open; release one first")
        cwd = confine(self._root, asked.cwd or ".")
        argv = [asked.command, *(asked.args or ())]
        if not asked.args and len(shlex.split(asked.command, posix=False)) > 1:
            argv = ["/bin/sh", "-c", asked.command]
        extra = {v.get("name", ""): v.get("value", "") for v in asked.env or () if v.get("name")}
        try:
            env = clean_env(extra, base=self._env)
            child = await Child.start(argv, cwd=cwd, env=env, merge_stderr=True, stdin=False)
        except (AgentError, ValueError) as error:
            raise RpcError(INVALID_PARAMS, getattr(error, "message", str(error))) from error
        self._count += 1
        id = f"term-{self._count}"
        limit = OUTPUT_LIMIT if asked.output_byte_limit is None else asked.output_byte_limit
        self._open[id] = Terminal(child, max(0, min(limit, 8 * OUTPUT_LIMIT)))
        return id, self._open[id]

    async def collect(self, id: str, terminal: Terminal) -> None:
        """Read a terminal to its end, telling what it prints."""
        await terminal.collect(lambda text: self._printed(id, text))

    async def request(self, method: str, asked: schema.TerminalRef) -> Any:
        """terminal/output, wait_for_exit, kill, release"""
        terminal = self._open.get(asked.terminal_id)
        if terminal is None:
            raise RpcError(INVALID_PARAMS, f"there is no terminal {asked.terminal_id}")
        match method:
            case "terminal/output":
                over = terminal.done.is_set()
                return {
                    "output": terminal.text(),
                    "truncated": terminal.truncated,
                    "exitStatus": terminal.status() if over else None,
                }
            case "terminal/wait_for_exit":
                await terminal.done.wait()
                return terminal.status()
            case "terminal/release":
                del self._open[asked.terminal_id]
        await terminal.child.stop(1.0)
        return {}

    async def stop(self) -> None:
        """End them all."""
        open_now, self._open = list(self._open.values()), {}
        async with anyio.create_task_group() as group:
            for terminal in open_now:
                group.start_soon(terminal.child.stop, 1.0)
