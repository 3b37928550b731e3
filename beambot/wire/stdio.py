"""This process's own standard input and output as a byte stream, for a program that is itself an agent."""

from __future__ import annotations

import asyncio
import os
import sys

from beambot.errors import AgentError


class Stdio:
    """Reads what the client writes. Output is small and goes out at once; a full pipe is waited for."""

    def __init__(self, reader: asyncio.StreamReader, transport: asyncio.ReadTransport, out: int) -> None:
        self._reader = reader
        self._transport = transport
        self._out = out
        self._lost = False

    @classmethod
    async def open(cls) -> Stdio:
        """Take the standard streams. What else prints goes to standard error from now on."""
        out = os.dup(sys.stdout.fileno())
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=1024 * 1024)
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        return cls(reader, transport, out)

    async def read(self) -> bytes:
        """What has arrived; nothing at the end."""
        return await self._reader.read(256 * 1024)

    def write(self, data: bytes) -> None:
        """Write it all."""
        view = memoryview(data)
        while view and not self._lost:
            try:
                view = view[os.write(self._out, view) :]
            except OSError:
                self._lost = True

    async def drain(self) -> None:
        """Nothing waits here; says when the client is gone."""
        if self._lost:
            raise AgentError("the client has closed the connection")

    def close(self) -> None:
        """Let go of the pipes."""
        self._transport.close()
        os.close(self._out)
