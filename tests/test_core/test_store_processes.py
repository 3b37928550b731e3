"""Several processes on one store, processes that die, and many writers at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import textwrap
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beambot.model.ids import ThreadRef
from beambot.model.inbound import Inbound, Sender, TextIn
from beambot.model.outbound import Notice, Outgoing
from beambot.store import Store, content_hash

HERE = ThreadRef("chat", "room")
PRELUDE = """
import asyncio, sys, time
from pathlib import Path
from beambot.model.bodies import TextDelta
from beambot.model.ids import ThreadRef
from beambot.model.inbound import Inbound, Sender, TextIn
from beambot.model.message import UnifiedMessage
from beambot.model.outbound import Notice, Outgoing
from beambot.store import SessionRow, Store

class Clock:
    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(asyncio.sleep)

HERE = ThreadRef("chat", "room")

def said(update):
    return Inbound(update, Sender("7"), HERE, 5.0, TextIn("m" + update, "hello"))
"""


class Clock:
    def now(self) -> float:
        return 1000.0

    def monotonic(self) -> float:
        return 1000.0

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("the store does not sleep by the clock")


def said(update: str) -> Inbound:
    return Inbound(update, Sender("7"), HERE, 5.0, TextIn(f"m{update}", "hello"))


async def start(script: str, *args: str | Path) -> asyncio.subprocess.Process:
    source = PRELUDE + textwrap.dedent(script) + "\nasyncio.run(main())\n"
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", source, *map(str, args), stdout=asyncio.subprocess.PIPE
    )


async def finish(process: asyncio.subprocess.Process) -> list[str]:
    with anyio.fail_after(30):
        out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode().split()


WRITE_UNTIL_KILLED = """
async def main():
    store = await Store.open(Path(sys.argv[1]), Clock())
    await store.sessions.add(SessionRow(id="s", project="p", adapter="x", folder="/"))
    seq = 0

    async def write(lane):
        nonlocal seq
        number = 0
        while True:
            number += 1
            name = f"{lane}.{number}"
            if lane == "tx":
                async with store.transaction():
                    seq += 1
                    await store.journal.append([UnifiedMessage(TextDelta(name), session="s", seq=seq)])
                    await store.inbox.put(said(name))
            elif lane == "out":
                await store.outbox.put(HERE, Outgoing(name, (Notice(name),)), 1)
            else:
                await store.inbox.put(said(name))
            print(name, flush=True)

    await asyncio.gather(*(write(lane) for lane in ("a", "b", "c", "out", "tx")))
"""


@pytest.mark.parametrize("acknowledgements", [1, 60, 400])
async def test_everything_acknowledged_survives_kill_nine(tmp_path: Path, acknowledgements: int) -> None:
    path = tmp_path / "beambot.db"
    process = await start(WRITE_UNTIL_KILLED, path)
    assert process.stdout is not None
    with anyio.fail_after(30):
        heard = [await process.stdout.readline() for _ in range(acknowledgements)]
        os.kill(process.pid, signal.SIGKILL)
        heard += (await process.stdout.read()).splitlines(keepends=True)
        await process.wait()
    acknowledged = {line.decode().strip() for line in heard if line.endswith(b"\n")}
    assert len(acknowledged) >= acknowledgements
    async with await Store.open(path, Clock()) as store:
        came = {item.update for _, item in await store.inbox.pending()}
        there = came | {row.key for row in await store.outbox.pending()}
        assert acknowledged <= there
        # A transaction is there whole or not at all.
        journal = await store.journal.read("s", limit=100_000)
        assert {message.body.text for message in journal} == {name for name in came if name.startswith("tx.")}  # type: ignore[union-attr]


async def test_second_program_reads_and_writes_while_the_first_one_runs(tmp_path: Path) -> None:
    path = tmp_path / "beambot.db"
    async with await Store.open(path, Clock()) as store, anyio.create_task_group() as tasks:
        await store.inbox.put(said("first"))

        async def keep_writing() -> None:
            number = 0
            while True:
                number += 1
                await store.freezes.put("scope", float(number))

        tasks.start_soon(keep_writing)
        second = await start(
            """
            async def main():
                async with await Store.open(Path(sys.argv[1]), Clock(), create=False) as store:
                    print(*[item.update for _, item in await store.inbox.pending()])
                    for number in range(30):
                        await store.inbox.put(said(f"second{number}"))
            """,
            path,
        )
        assert await finish(second) == ["first"]
        assert len(await store.inbox.pending()) == 31
        tasks.cancel_scope.cancel()


async def test_four_programs_that_make_the_same_store_at_once_all_succeed(tmp_path: Path) -> None:
    path = tmp_path / "home" / "beambot.db"
    script = """
    async def main():
        async with await Store.open(Path(sys.argv[1]), Clock()) as store:
            for number in range(10):
                await store.inbox.put(said(f"{sys.argv[2]}.{number}"))
            print(await store.inbox.put(said("same")) is not None)
    """
    processes = [await start(script, path, str(number)) for number in range(4)]
    said_new = [await finish(process) for process in processes]
    assert sorted(said_new) == [["False"]] * 3 + [["True"]]
    async with await Store.open(path, Clock()) as store:
        assert len(await store.inbox.pending()) == 41


async def test_store_that_nobody_closed_does_not_keep_the_process_alive(tmp_path: Path) -> None:
    script = """
    async def main():
        global store
        store = await Store.open(Path(sys.argv[1]), Clock())
        await store.inbox.put(said("1"))
        import os, warnings
        warnings.simplefilter("ignore")
    """
    await finish(await start(script, tmp_path / "beambot.db"))
    async with await Store.open(tmp_path / "beambot.db", Clock()) as store:
        assert len(await store.inbox.pending()) == 1


# ── races ────────────────────────────────────────────────────────────────────────────────────────────


async def test_same_update_from_fifty_tasks_is_taken_once(tmp_path: Path) -> None:
    taken: list[int | None] = []

    async def put() -> None:
        taken.append(await store.inbox.put(said("1")))

    async with await Store.open(tmp_path / "beambot.db", Clock()) as store:
        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(put)
        assert sum(number is not None for number in taken) == 1


async def test_sender_and_writer_of_one_message_never_lose_the_last_content(tmp_path: Path) -> None:
    delivered: list[str] = []

    async def send() -> None:
        while delivered[-1:] != ["end"]:
            for row in await store.outbox.pending(HERE):
                block = row.outgoing.blocks[0]
                assert isinstance(block, Notice)
                await anyio.sleep(0)
                delivered.append(block.text)
                await store.outbox.done(row.id, row.hash)

    async def write() -> None:
        for number in range(200):
            await store.outbox.put(HERE, Outgoing("k", (Notice(str(number)),)), 1)
        await store.outbox.put(HERE, Outgoing("k", (Notice("end"),)), 1)

    async with await Store.open(tmp_path / "beambot.db", Clock()) as store:
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(send)
                tasks.start_soon(write)
        assert await store.outbox.count() == 0
    numbers = [int(text) for text in delivered[:-1]]
    assert numbers == sorted(numbers)


keys = st.sampled_from(["a", "b", "c"])
words = st.sampled_from(["one", "two", "three"])
steps = st.one_of(
    st.tuples(st.just("put"), keys, words),
    st.tuples(st.just("done"), keys, words),
    st.tuples(st.just("drop"), keys, words),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(steps, max_size=25))
def test_outbox_behaves_like_an_ordered_table_of_newest_contents(script: list[tuple[str, str, str]]) -> None:
    async def play(folder: Path) -> None:
        expected: dict[str, tuple[int, str]] = {}
        highest = 0
        async with await Store.open(folder / "beambot.db", Clock()) as store:
            for action, key, word in script:
                outgoing = Outgoing(key, (Notice(word),))
                if action == "put":
                    number, _ = await store.outbox.put(HERE, outgoing, 1)
                    assert number == expected[key][0] if key in expected else number > highest
                    expected[key] = (number, word)
                    highest = max(highest, number)
                elif key in expected:
                    number, now = expected[key]
                    wanted = content_hash(outgoing) if action == "done" else None
                    left = await store.outbox.done(number, wanted)
                    assert left == (action == "drop" or now == word)
                    if left:
                        del expected[key]
                rows = await store.outbox.pending()
                assert [(row.id, row.outgoing) for row in rows] == sorted(
                    (number, Outgoing(name, (Notice(text),))) for name, (number, text) in expected.items()
                )

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder)))
