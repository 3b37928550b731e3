"""`beambot audit` as an owner meets it: readable lines, one word about the chain, clear exit codes."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from beambot import cli
from beambot.clock import SystemClock
from beambot.store import Store
from beambot.testing.clock import FakeClock

SECRET = "sk-abcdefghijklmnopqrstuvwx"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("BEAMBOT_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BEAMBOT_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "data" / "beambot.db"


@pytest.fixture
async def filled(path: Path) -> Path:
    """A store with four lines."""
    async with await Store.open(path, FakeClock()) as store:
        await store.audit.add("answered", "Ann", {"ask": "a1", "outcome": "allowed", "what": f"push {SECRET}"})
        await store.audit.add("press_refused", "Eve\x1b[2J\n9  forged", {"data": "ask:x:0"})
        await store.audit.add("member paired", "command line", {"member": "Bob"})
        await store.audit.add("answered", "Bob", {"outcome": "denied", "what": "rm -rf build"})
    return path


class Said:
    """What the command printed, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err
        self.lines = out.splitlines()


@pytest.fixture
def audit(capsys: pytest.CaptureFixture[str]) -> Asking:
    return Asking(capsys)


class Asking:
    """Runs the command in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str) -> Said:
        code = cli.main(["audit", *words])
        return Said(code, *self._capsys.readouterr())


@contextmanager
def tampering(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("DROP TRIGGER audit_keeps_rows")
        connection.execute("DROP TRIGGER audit_keeps_words")
        yield connection
    finally:
        connection.close()


def test_lines_are_readable_the_newest_last_and_verified(filled: Path, audit: Asking) -> None:
    said = audit()
    assert said.code == 0, said.err
    assert [line.split()[0] for line in said.lines] == ["1", "2", "3", "4", "verified:"]
    assert "Ann" in said.lines[0]
    assert "answered · allowed · push [redacted] · ask a1" in said.lines[0]
    assert "Bob" in said.lines[3]
    assert "answered · denied · rm -rf build" in said.lines[3]
    assert "4 lines, unbroken" in said.lines[4]
    assert "\x1b" not in said.out
    assert SECRET not in said.out


def test_the_last_few_lines_can_be_asked_for_and_all_are_verified(filled: Path, audit: Asking) -> None:
    said = audit("--last", "1")
    assert len(said.lines) == 2
    assert said.lines[0].startswith("4  ")
    assert "4 lines" in said.lines[1]


def test_only_verifying_prints_one_line(filled: Path, audit: Asking) -> None:
    said = audit("--verify")
    assert said.code == 0
    assert len(said.lines) == 1


def test_json_holds_the_lines_and_the_verdict(filled: Path, audit: Asking) -> None:
    said = audit("--json")
    assert said.code == 0
    found = json.loads(said.out)
    assert found["verdict"]["whole"] is True
    assert found["verdict"]["newest"] == found["lines"][-1]["chain"]
    assert [line["id"] for line in found["lines"]] == [1, 2, 3, 4]
    assert found["lines"][3]["detail"] == {"outcome": "denied", "what": "rm -rf build"}
    assert SECRET not in said.out


@pytest.mark.parametrize("words", [(), ("--verify",), ("--json",), ("--last", "1")])
def test_a_changed_line_ends_with_1_its_number_and_what_to_do(
    filled: Path, audit: Asking, words: tuple[str, ...]
) -> None:
    with tampering(filled) as connection:
        connection.execute("UPDATE audit SET who = 'Eve' WHERE id = 1")
    said = audit(*words)
    assert said.code == 1
    assert "broken at line 1: it is not what was written" in said.err
    assert "fix:" in said.err
    assert "backup" in said.err
    assert "verified" not in said.out
    if words == ("--json",):
        assert json.loads(said.out)["verdict"]["broken_at"] == 1


def test_lines_that_were_damaged_beyond_reading_are_reported_and_not_a_crash(filled: Path, audit: Asking) -> None:
    with tampering(filled) as connection:
        connection.execute("UPDATE audit SET detail = X'FF', who = CAST(X'FF' AS TEXT), at = 9e99 WHERE id = 2")
    for words in ((), ("--json",)):
        said = audit(*words)
        assert said.code == 1
        assert "broken at line 2" in said.err
        assert "unexpected" not in said.err


def test_a_noted_value_must_still_be_in_the_chain(filled: Path, audit: Asking) -> None:
    noted = audit("--verify").lines[0].rsplit(" ", 1)[1]
    assert len(noted) == 64
    for value in (noted, noted.upper(), f" {noted} ", noted[:16]):
        said = audit("--verify", "--expect", value)
        assert said.code == 0
        assert "the expected value among them" in said.out
    with tampering(filled) as connection:
        connection.execute("DELETE FROM audit WHERE id = 4")
        connection.execute("UPDATE sqlite_sequence SET seq = 3 WHERE name = 'audit'")
    assert audit("--verify").code == 0
    said = audit("--verify", "--expect", noted)
    assert said.code == 1
    assert "the expected value is not in the chain" in said.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--last", "0"), "whole number"),
        (("--last", "-3"), "whole number"),
        (("--last", "many"), "whole number"),
        (("--last", "9" * 5000), "whole number"),
        (("--expect", "abc"), "16 to 64 digits"),
        (("--expect", "z" * 64), "16 to 64 digits"),
        (("--expect", "a" * 65), "16 to 64 digits"),
        (("surplus",), "unrecognized arguments"),
    ],
)
def test_wrong_words_end_with_2(path: Path, audit: Asking, words: tuple[str, ...], said: str) -> None:
    done = audit(*words)
    assert done.code == 2
    assert said in done.err


def test_no_store_is_said_clearly_and_none_is_made(path: Path, audit: Asking) -> None:
    said = audit()
    assert said.code == 3
    assert "there is no database" in said.err
    assert "beambot up" in said.err
    assert not path.exists()


async def test_an_empty_audit_is_verified(path: Path, tmp_path: Path) -> None:
    async with await Store.open(path, FakeClock()):
        pass
    done = started(tmp_path)
    assert done.returncode == 0
    assert done.stdout == "verified: nothing was written yet\n"


async def test_lines_from_before_the_chain_are_told_as_such(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    dump = Path(__file__).parents[1] / "fixtures" / "store" / "v2.sql"
    connection = sqlite3.connect(path)
    connection.executescript(dump.read_text(encoding="utf-8"))
    connection.close()
    done = started(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "session opened · session sess1" in done.stdout
    assert "1 line, all from before there was a chain" in done.stdout
    async with await Store.open(path, FakeClock()) as store:
        await store.audit.add("answered", "Ann", {})
    assert "2 lines, unbroken, the first 1 as one" in started(tmp_path).stdout


async def test_it_reads_beside_a_running_process_that_writes(path: Path, tmp_path: Path) -> None:
    async with await Store.open(path, SystemClock()) as store:
        await store.audit.add("answered", "Ann", {})
        done = started(tmp_path)
        assert "1 line, unbroken" in done.stdout
        await store.audit.add("answered", "Ann", {})
        assert "2 lines, unbroken" in started(tmp_path).stdout


def test_a_store_that_is_locked_or_unreadable_is_one_clear_text(
    filled: Path, audit: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Store.open
    monkeypatch.setattr(Store, "open", lambda path, clock, **more: real(path, clock, busy_ms=50, **more))
    other = sqlite3.connect(filled, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        said = audit()
        assert said.code == 3
        assert "another program holds the database" in said.err
    finally:
        other.close()
    filled.write_bytes(b"not a database at all, but long enough to look like one")
    said = audit()
    assert said.code == 3
    assert "not an SQLite database" in said.err


def started(home: Path) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "beambot", "audit"],
        cwd=home,
        env={**os.environ, "HOME": str(home), "BEAMBOT_HOME": str(home / "data")},
        capture_output=True,
        text=True,
        timeout=60,
    )
