"""One beambot a store, and what it leaves for others to see."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from beambot.control.lock import StoreLock, lock_path, owner_of
from beambot.control.state import RunState, read_state, remove_state, state_path, write_state
from beambot.errors import AlreadyRunning, StoreReadOnly

HOLDER = """
import sys, time
from pathlib import Path
from beambot.control.lock import StoreLock
StoreLock(Path(sys.argv[1]), now=1000.0).take()
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "data" / "beambot.db"


def holder(store: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(store)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_a_second_beambot_is_told_whose_the_store_is_and_how_to_stop_it(store: Path) -> None:
    process = holder(store)
    try:
        with pytest.raises(AlreadyRunning) as caught:
            StoreLock(store, now=2000.0).take()
        assert f"process {process.pid}" in str(caught.value)
        assert f"kill {process.pid}" in caught.value.fix
        assert caught.value.exit_code == 4
        owner = owner_of(store)
        assert owner is not None
        assert (owner.pid, owner.started_at) == (process.pid, 1000.0)
    finally:
        end(process)


def test_a_killed_beambot_leaves_a_stale_lock_that_is_taken_over(store: Path) -> None:
    process = holder(store)
    end(process)
    assert owner_of(store) is None
    with StoreLock(store, now=2000.0) as lock:
        assert lock.stale is not None
        assert lock.stale.pid == process.pid
        owner = owner_of(store)
        assert owner is not None
        assert owner.pid == os.getpid()


def test_a_lock_that_was_let_go_is_free_and_not_stale(store: Path) -> None:
    with StoreLock(store, now=1.0):
        pass
    assert owner_of(store) is None
    with StoreLock(store, now=2.0) as lock:
        assert lock.stale is None


def test_two_stores_in_one_folder_do_not_disturb_each_other(store: Path) -> None:
    with StoreLock(store, now=1.0), StoreLock(store.with_name("other.db"), now=1.0):
        assert owner_of(store) is not None


def test_a_lock_file_with_rubbish_in_it_is_no_obstacle(store: Path) -> None:
    store.parent.mkdir()
    lock_path(store).write_bytes(b'\xff{"pid": "x"')
    with StoreLock(store, now=1.0) as lock:
        assert lock.stale is None


def test_an_agent_started_meanwhile_does_not_keep_the_lock(store: Path) -> None:
    with StoreLock(store, now=1.0):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], close_fds=False)
    try:
        with StoreLock(store, now=2.0):
            pass
    finally:
        child.kill()
        child.wait()


def test_letting_go_twice_is_harmless(store: Path) -> None:
    lock = StoreLock(store, now=1.0)
    lock.take()
    lock.release()
    lock.release()


def test_a_folder_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreReadOnly, match=r"store\.path"):
        StoreLock(tmp_path / "file" / "beambot.db", now=1.0).take()


def test_looking_for_the_owner_never_makes_a_start_fail(store: Path) -> None:
    with StoreLock(store, now=1.0):
        pass
    looker = "import sys\nfrom pathlib import Path\nfrom beambot.control.lock import owner_of\n"
    looker += "print('looking', flush=True)\nwhile True: owner_of(Path(sys.argv[1]))"
    process = subprocess.Popen([sys.executable, "-c", looker, str(store)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        until = time.monotonic() + 0.3
        while time.monotonic() < until:
            with StoreLock(store, now=1.0):
                pass
    finally:
        end(process)


def test_the_state_file_is_whole_private_and_gone_after_a_clean_end(store: Path) -> None:
    store.parent.mkdir()
    state = RunState(pid=7, started_at=1.5, platforms=("page",), version="1")
    write_state(store, state)
    write_state(store, state)
    assert read_state(store) == state
    assert stat.S_IMODE(state_path(store).stat().st_mode) == 0o600
    assert list(store.parent.iterdir()) == [state_path(store)]
    remove_state(store)
    remove_state(store)
    assert read_state(store) is None


def test_a_state_file_that_cannot_be_read_counts_as_none(store: Path) -> None:
    store.parent.mkdir()
    state_path(store).write_text("{")
    assert read_state(store) is None
