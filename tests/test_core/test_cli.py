"""The command line as a person meets it: real processes, exit codes, clear words, no secrets."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from beambot import __version__
from beambot.cli.parser import COMMANDS
from beambot.clock import SystemClock
from beambot.control.lock import StoreLock
from beambot.model.ids import ThreadRef
from beambot.store import SessionRow, Store

SECRET = "hunter2-hunter2-hunter2"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's repository, with an `adapters` folder of its own."""
    (tmp_path / "adapters").mkdir()
    (tmp_path / "adapters" / "__init__.py").write_text("raise SystemExit('imported the wrong adapters')\n")
    return tmp_path


def beambot(home: Path, *words: str, stdin: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("BEAMBOT_", "XDG_"))}
    return subprocess.run(
        [sys.executable, "-m", "beambot", *words],
        cwd=home,
        env={**kept, "HOME": str(home), "BEAMBOT_HOME": str(home / "data"), **environ},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
    )


def config(home: Path, text: str) -> str:
    file = home / "mine.yaml"
    file.write_text(text)
    return str(file)


def test_help_comes_at_once_with_examples(home: Path) -> None:
    times: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        done = beambot(home, "--help")
        times.append(time.perf_counter() - start)
    assert done.returncode == 0
    assert "examples:" in done.stdout
    assert all(name in done.stdout for name in COMMANDS)
    assert min(times) < 0.3


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_examples(home: Path, name: str) -> None:
    done = beambot(home, name, "--help")
    assert done.returncode == 0
    assert f"  beambot {name}" in done.stdout


def test_help_loads_nothing_heavy(home: Path) -> None:
    script = (
        "import sys; from beambot.cli import main; main(['--help'])\n"
        "heavy = {'structlog', 'msgspec', 'yaml', 'anyio', 'aiohttp', 'asyncio', 'adapters', 'platforms'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=home, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_version_is_told(home: Path) -> None:
    assert beambot(home, "--version").stdout == f"beambot {__version__}\n"


def test_no_words_show_the_help(home: Path) -> None:
    done = beambot(home)
    assert done.returncode == 0
    assert "usage: beambot" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("dcotor",), "did you mean doctor?"),
        (("xyzzy",), "there are: up, init"),
        (("pair", "--minutes", "11", "--role", "owner"), "whole number from 1 to 10"),
        (("pair", "--role", "king"), "invalid choice"),
        (("pair",), "add --role"),
        (("pair", "--no-wait"), "add --role"),
        (("backup",), "FILE"),
        (("up", "--config", "missing.yaml"), "missing.yaml:1: (file): found no such file"),
    ],
)
def test_wrong_words_end_with_2_and_say_what_is_right(home: Path, words: tuple[str, ...], said: str) -> None:
    done = beambot(home, *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_init_writes_a_private_file_and_replaces_none(home: Path) -> None:
    assert beambot(home, "init").returncode == 0
    file = home / "beambot.yaml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text("mine")
    refused = beambot(home, "init")
    assert refused.returncode == 1
    assert "--force" in refused.stderr
    assert file.read_text() == "mine"
    file.chmod(0o644)
    assert beambot(home, "init", "--force").returncode == 0
    assert "projects:" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_broken_configuration_ends_with_2_and_all_problems(home: Path) -> None:
    done = beambot(home, "up", "--config", config(home, "projetcs: []\nmembers: 5\n"))
    assert done.returncode == 2
    assert "mine.yaml:1: projetcs: found an unknown key" in done.stderr
    assert "mine.yaml:2: members" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_token_is_never_printed_by_any_command(home: Path) -> None:
    file = config(home, f"platforms:\n  web: {{port: x, token: {SECRET}, api_key: {SECRET}}}\nstore: [{SECRET}]\n")
    for words in (
        ("up",),
        ("doctor",),
        ("doctor", "--json"),
        ("ps",),
        ("backup", "x"),
        ("pair", "--role", "owner"),
    ):
        for debug in ("0", "1"):
            done = beambot(home, *words, "--config", file, BEAMBOT_DEBUG=debug)
            assert done.returncode != 0
            assert SECRET not in done.stdout + done.stderr, words


def test_debug_shows_where_an_error_came_from(home: Path) -> None:
    done = beambot(home, "up", "--config", "missing.yaml", BEAMBOT_DEBUG="1")
    assert "Traceback" in done.stderr
    assert "ConfigError" in done.stderr


def test_doctor_is_not_misled_by_a_folder_of_the_same_name(home: Path) -> None:
    done = beambot(home, "doctor")
    assert "wrong adapters" not in done.stdout + done.stderr
    assert "not from beside beambot" not in done.stdout


def test_doctor_tells_of_a_package_that_is_not_ours(home: Path) -> None:
    elsewhere = home / "elsewhere"
    (elsewhere / "adapters").mkdir(parents=True)
    (elsewhere / "adapters" / "__init__.py").touch()
    done = beambot(home, "doctor", PYTHONPATH=str(elsewhere))
    assert done.returncode == 1
    assert "'adapters' comes from" in done.stdout
    assert "PYTHONPATH" in done.stdout


def test_doctor_names_every_problem_with_its_fix(home: Path) -> None:
    done = beambot(home, "doctor", "--json", "--config", config(home, "projetcs: []\n"))
    assert done.returncode == 1
    findings = json.loads(done.stdout)
    errors = [finding for finding in findings if finding["level"] == "error"]
    assert errors
    assert all(finding["fix"] for finding in errors)


async def test_ps_lists_sessions_without_needing_a_token_or_a_plugin(home: Path) -> None:
    path = home / "data" / "s.db"
    async with await Store.open(path, SystemClock()) as store:
        row = SessionRow(
            id="abc",
            project="shop",
            adapter="toy",
            folder="/x",
            title="fix\x1b[31m it",
            state="working",
            used_at=1.0,
        )
        await store.sessions.add(row)
        ref = ThreadRef(platform="page", chat="c")
        await store.threads.ensure(ref, private=True)
        await store.threads.bind(ref, "abc")
    file = config(home, f"store: {{path: {path}}}\nplatforms: {{strange: {{token_env: NOT_SET}}}}\n")
    shown = beambot(home, "ps", "--config", file)
    assert shown.returncode == 0, shown.stderr
    assert "is not running" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert [word for word in ("abc", "working", "shop", "toy", "page") if word not in shown.stdout] == []
    with StoreLock(path, now=0.0):
        found = json.loads(beambot(home, "ps", "--json", "--config", file).stdout)
    assert found["running"]["pid"] == os.getpid()
    assert [(one["id"], one["state"], one["platforms"]) for one in found["sessions"]] == [
        ("abc", "working", ["page"])
    ]


def test_ps_before_the_first_start_says_so(home: Path) -> None:
    done = beambot(home, "ps")
    assert done.returncode == 0
    assert "no sessions" in done.stdout


async def test_backup_copies_the_store_and_replaces_nothing(home: Path) -> None:
    async with await Store.open(home / "data" / "beambot.db", SystemClock()):
        done = beambot(home, "backup", "copy.db")
    assert done.returncode == 0, done.stderr
    assert (home / "copy.db").read_bytes().startswith(b"SQLite format 3")
    again = beambot(home, "backup", "copy.db")
    assert again.returncode == 3
    assert "exists already" in again.stderr


def test_backup_of_nothing_says_how_to_begin(home: Path) -> None:
    done = beambot(home, "backup", "copy.db")
    assert done.returncode == 3
    assert "beambot up" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_leaves_early_is_no_error_text(home: Path) -> None:
    command = f"{sys.executable} -m beambot --help | true"
    done = subprocess.run(["bash", "-c", command], cwd=home, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""


async def test_an_interrupted_pairing_leaves_no_code_that_works(home: Path) -> None:
    environ = {**os.environ, "HOME": str(home), "BEAMBOT_HOME": str(home / "data")}
    process = subprocess.Popen(
        [sys.executable, "-m", "beambot", "pair", "--role", "owner"],
        cwd=home,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("code: ")
    async with await Store.open(home / "data" / "beambot.db", SystemClock()) as store:
        assert await store.pairings.live()
        # The two lines after the code are printed before it waits, so the signal meets it waiting.
        process.stdout.readline()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert process.returncode == 130
        assert "Traceback" not in errors
        assert not await store.pairings.live()
