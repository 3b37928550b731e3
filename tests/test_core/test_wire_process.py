"""Children start clean and end surely, with all of their own children."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import anyio
import pytest

from beambot.errors import AgentError, AgentMissing
from beambot.wire.process import READ_AHEAD, Child, Tail, clean_env

ENV = dict(os.environ)


async def python(source: str, folder: Path) -> Child:
    return await Child.start([sys.executable, "-c", source], cwd=folder, env=ENV)


async def read_all(child: Child) -> bytes:
    found = b""
    while chunk := await child.read():
        found += chunk
    return found


async def test_what_is_written_is_read_and_stop_is_safe_twice(tmp_path: Path) -> None:
    child = await Child.start(["cat"], cwd=tmp_path, env=ENV)
    child.write(b"hello")
    await child.drain()
    assert await child.read() == b"hello"
    await child.stop()
    await child.stop()
    assert child.returncode == 0
    assert await child.read() == b""


async def test_a_child_that_ignores_everything_is_killed_with_its_children(tmp_path: Path) -> None:
    source = (
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "deaf = 'import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); '\n"
        "inner = subprocess.Popen([sys.executable, '-c', deaf + 'print(1, flush=True); time.sleep(99)'])\n"
        "print(inner.pid, flush=True)\n"
        "time.sleep(99)"
    )
    child = await python(source, tmp_path)
    said = b""
    while said.count(b"\n") < 2:
        said += await child.read()
    inner = max(int(line) for line in said.split())
    await child.stop(grace=0.2)
    assert child.returncode == -signal.SIGKILL
    stat = Path(f"/proc/{inner}/stat")
    with anyio.fail_after(2):
        while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "ZX":
            await anyio.sleep(0.01)


async def test_a_grandchild_that_keeps_the_pipe_open_does_not_hold_up_the_end(tmp_path: Path) -> None:
    child = await python("import subprocess; subprocess.Popen(['sleep', '30']); print('bye')", tmp_path)
    with anyio.fail_after(5):
        assert await read_all(child) == b"bye\n"
    await child.stop()


async def test_writing_to_a_dead_child_is_an_error_with_its_exit_code(tmp_path: Path) -> None:
    child = await python("raise SystemExit(3)", tmp_path)
    assert await child.wait() == 3
    child.write(b"hello")
    with pytest.raises(AgentError, match="exit code 3"):
        await child.drain()
    await child.stop()


async def test_stop_frees_a_writer_that_waits(tmp_path: Path) -> None:
    child = await Child.start(["sleep", "60"], cwd=tmp_path, env=ENV)
    child.write(b"x" * 1_000_000)
    async with anyio.create_task_group() as group:

        async def write() -> None:
            with pytest.raises(AgentError):
                await child.drain()

        group.start_soon(write)
        await anyio.wait_all_tasks_blocked()
        await child.stop()


async def test_an_unread_flood_is_held_back_and_not_lost(tmp_path: Path) -> None:
    size = READ_AHEAD * 3
    child = await python(f"import sys; sys.stdout.write('x' * {size})", tmp_path)
    await anyio.sleep(0.2)
    assert child._pipes.waiting < size
    assert len(await read_all(child)) == size
    await child.stop()


async def test_the_last_words_on_standard_error_are_kept(tmp_path: Path) -> None:
    child = await python("import sys; [print(n, file=sys.stderr) for n in range(1000)]", tmp_path)
    await read_all(child)
    await child.stop()
    assert child.stderr.text(2) == "998\n999"


def test_the_tail_is_bounded_in_lines_and_in_bytes() -> None:
    tail = Tail(lines=3, size=100)
    for number in range(50):
        tail.feed(b"line %d\n" % number)
    assert tail.text() == "line 47\nline 48\nline 49"
    tail.feed(b"y" * 100_000)
    assert len(tail.text()) <= 210
    tail.feed(b"\xff\nlast")
    assert tail.text(1) == "last"


async def test_a_program_that_is_not_there_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(AgentMissing, match="nowhere-to-be-found") as caught:
        await Child.start(["nowhere-to-be-found"], cwd=tmp_path, env=ENV)
    assert "install" in caught.value.fix


def test_the_environment_is_clean_of_beambots_own_and_keeps_the_agents_keys() -> None:
    base = {"BEAMBOT_HOME": "x", "CHAT_TOKEN": "x", "MODEL_API_KEY": "k", "PATH": "/bin"}
    env = clean_env({"EXTRA": "1", "PATH": "/usr/bin"}, ["CHAT_TOKEN"], base)
    assert env == {"MODEL_API_KEY": "k", "PATH": "/usr/bin", "EXTRA": "1"}
