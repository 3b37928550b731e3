"""A child process in a group of its own: started clean, read and written as bytes, and surely ended."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

import anyio

from beambot.errors import AgentError, AgentMissing

STDERR_LINES = 200
STDERR_BYTES = 64 * 1024
READ_AHEAD = 4 * 1024 * 1024
# A grandchild may keep the pipe open after its parent died; what was written before arrives within this.
AFTER_EXIT = 0.5


def clean_env(
    extra: Mapping[str, str] | None = None,
    drop: Iterable[str] = (),
    base: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """This process's environment without beambot's own variables and those named in `drop`.

    An agent's own keys pass: it needs them.
    """
    unwanted = set(drop)
    source = os.environ if base is None else base
    env = {k: v for k, v in source.items() if k not in unwanted and not k.startswith("BEAMBOT_")}
    return {**env, **(extra or {})}


class Tail:
    """The last lines of what a process prints, bounded in lines and in bytes."""

    def __init__(self, lines: int = STDERR_LINES, size: int = STDERR_BYTES) -> None:
        self._lines: deque[bytes] = deque()
        self._most = lines
        self._limit = size
        self._size = 0
        self._part = b""

    def feed(self, chunk: bytes) -> None:
        """More output."""
        *whole, part = (self._part + chunk[-self._limit :]).split(b"\n")
        self._part = part[-self._limit :]
        for line in whole:
            self._lines.append(line)
            self._size += len(line) + 1
        while self._lines and (len(self._lines) > self._most or self._size > self._limit):
            self._size -= len(self._lines.popleft()) + 1

    def text(self, lines: int = STDERR_LINES) -> str:
        """The newest of it, as text."""
        last = [*self._lines, *([self._part] if self._part else [])][-lines:]
        return b"\n".join(last).decode("utf-8", "replace").strip()


class _Pipes(asyncio.SubprocessProtocol):
    """Collects what the child's pipes deliver and tells one reader."""

    def __init__(self, tail: Tail) -> None:
        self.chunks: list[bytes] = []
        self.waiting = 0
        self.news = asyncio.Event()
        self.eof = False
        self.exited = asyncio.Event()
        self.writable = asyncio.Event()
        self.writable.set()
        self.stdin_lost = False
        self.paused = False
        self._tail = tail
        self._transport: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != 1:
            self._tail.feed(data)
            return
        if self.eof:
            return
        self.chunks.append(data)
        self.waiting += len(data)
        self.news.set()
        if self.waiting > READ_AHEAD and not self.paused:
            self.paused = True
            self._stdout().pause_reading()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 0:
            self.stdin_lost = True
            self.writable.set()
        elif fd == 1:
            self.end()

    def process_exited(self) -> None:
        self.exited.set()
        asyncio.get_running_loop().call_later(AFTER_EXIT, self.end)

    def end(self) -> None:
        self.eof = True
        self.news.set()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def take(self) -> bytes:
        data = b"".join(self.chunks)
        self.chunks.clear()
        self.waiting = 0
        if not self.eof:
            self.news.clear()
        if self.paused:
            self.paused = False
            self._stdout().resume_reading()
        return data

    def _stdout(self) -> asyncio.ReadTransport:
        assert self._transport is not None
        return cast("asyncio.ReadTransport", self._transport.get_pipe_transport(1))


class Child:
    """A running program. One reader; `stop` always leaves nothing behind."""

    def __init__(self, transport: asyncio.SubprocessTransport, pipes: _Pipes, tail: Tail) -> None:
        self._transport = transport
        self._pipes = pipes
        self.stderr = tail
        self.pid = transport.get_pid()
        self._stopped = False

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        merge_stderr: bool = False,
        stdin: bool = True,
    ) -> Child:
        """Start a program in its own process group. Raises `AgentMissing` with the fix."""
        tail = Tail()
        pipes = _Pipes(tail)
        try:
            transport, _ = await asyncio.get_running_loop().subprocess_exec(
                lambda: pipes,
                *argv,
                stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT if merge_stderr else asyncio.subprocess.PIPE,
                cwd=cwd,
                env=dict(env),
                start_new_session=True,
            )
        except OSError as error:
            raise _missing(argv[0], cwd, error) from error
        return cls(transport, pipes, tail)

    @property
    def returncode(self) -> int | None:
        """How it ended; negative for a signal, None while it runs."""
        return self._transport.get_returncode()

    async def read(self) -> bytes:
        """What it printed, at least one byte; nothing once it is over."""
        await self._pipes.news.wait()
        return self._pipes.take()

    def write(self, data: bytes) -> None:
        """Hand bytes to its standard input, without waiting."""
        stdin = cast("asyncio.WriteTransport | None", self._transport.get_pipe_transport(0))
        if stdin is not None and not self._pipes.stdin_lost and not stdin.is_closing():
            stdin.write(data)

    async def drain(self) -> None:
        """Wait until it takes what was written."""
        await self._pipes.writable.wait()
        if self._pipes.stdin_lost or self._stopped or self._pipes.exited.is_set():
            raise AgentError(f"the program has ended{self._how()}", fix="open the session again")

    async def wait(self) -> int:
        """Until it has exited."""
        await self._pipes.exited.wait()
        return self.returncode or 0

    def signal(self, number: signal.Signals) -> None:
        """To the whole group: an agent may have relaunched itself as its own child."""
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return

    async def stop(self, grace: float = 3.0) -> None:
        """Close its input, ask, then insist: all of its group is gone within about `grace` seconds."""
        if self._stopped:
            await self._pipes.exited.wait()
            return
        self._stopped = True
        self._pipes.writable.set()
        with anyio.CancelScope(shield=True):
            if self.returncode is None and self._close_stdin():
                await self._exits_within(min(0.3, grace / 4))
            if self.returncode is None:
                self.signal(signal.SIGTERM)
                await self._exits_within(grace)
            # Also when it has gone by itself: its children may not have.
            self.signal(signal.SIGKILL)
            await self._exits_within(5.0)
            self._transport.close()
            self._pipes.end()

    def _close_stdin(self) -> bool:
        stdin = self._transport.get_pipe_transport(0)
        if stdin is not None:
            stdin.close()
        return stdin is not None

    async def _exits_within(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._pipes.exited.wait()

    def _how(self) -> str:
        code = self.returncode
        if code is None:
            return ""
        return f" (signal {-code})" if code < 0 else f" (exit code {code})"


def _missing(program: str, cwd: Path, error: OSError) -> AgentError:
    if not cwd.is_dir():
        return AgentError(f"the folder {cwd} is not there", fix="make it, or correct the project's path")
    if isinstance(error, FileNotFoundError):
        return AgentMissing(
            f"the program {program!r} was not found",
            fix=f"install {program}, or set its full path as `command`",
        )
    if isinstance(error, PermissionError):
        return AgentMissing(
            f"the program {program!r} may not be run", fix=f"make it executable: chmod +x {program}"
        )
    return AgentMissing(
        f"the program {program!r} could not be started: {error.strerror or error}",
        fix="check `command` and `args`",
    )
