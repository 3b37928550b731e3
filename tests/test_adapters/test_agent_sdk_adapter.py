"""The adapter over the vendor's package: its settings, its probe, what it finds, and how a start fails."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adapters.agent_sdk import find, spec
from adapters.agent_sdk.adapter import HOOKS, AgentSdkAdapter, configure
from adapters.agent_sdk.process import errors, program
from adapters.agent_sdk.process.earlier import Memory
from adapters.agent_sdk.process.program import SdkConfig, Wanted, argv
from beambot.api import AgentError, AgentLogin, AgentMissing, HandsOff, OpenOptions, SessionGone
from tests.test_adapters.agent_sdk_world import adapter, scripted
from tests.test_adapters.conftest import World

MISSING = "11111111-1111-4111-8111-111111111111"


class Section:
    """A configuration section out of a dict."""

    def __init__(self, **found: Any) -> None:
        self._found = found
        self.problems: list[str] = []

    def __getattr__(self, kind: str) -> Any:
        empty: Any = {"texts": (), "mapping": {}, "text": ""}.get(kind)
        return lambda key, default=empty, **_: self._found.get(key, default)

    def problem(self, key: str, found: str, allowed: str, fix: str) -> None:
        self.problems.append(f"{key}: {found}")


def needs_package() -> None:
    pytest.importorskip("claude_agent_sdk", reason="the extra agent_sdk is not installed")


# ── settings ─────────────────────────────────────────────────────────────────────────────────────────


def test_an_empty_section_is_enough_and_an_unknown_hook_is_a_problem() -> None:
    assert configure(Section()) == SdkConfig()  # type: ignore[arg-type]
    section = Section(hooks=("Stop", "Stopp"))
    assert configure(section).hooks == ("Stop",)  # type: ignore[arg-type]
    assert section.problems == ["hooks: Stopp"]


def test_the_hooks_are_those_that_the_package_knows() -> None:
    needs_package()
    from typing import get_args

    from claude_agent_sdk.types import HookEvent

    known = {name for part in get_args(HookEvent) for name in (get_args(part) or (part,))}
    assert set(HOOKS) <= known


def test_the_command_line_says_which_conversation(tmp_path: Path) -> None:
    needs_package()
    config = SdkConfig(command=sys.executable, args=("--debug",))
    assert argv(config, Wanted("new"))[-3:] == ["--session-id", "new", "--debug"]
    assert argv(config, Wanted("old", "old"))[-3:-1] == ["--resume", "old"]
    assert argv(config, Wanted("new", "old", True))[-6:-1] == [
        "--resume",
        "old",
        "--fork-session",
        "--session-id",
        "new",
    ]
    with pytest.raises(AgentError, match="is not the id"):
        argv(config, Wanted("--danger", "--danger"))
    flag = "--allow-dangerously-skip-permissions"
    assert flag not in argv(config, Wanted("x"))
    assert flag in argv(SdkConfig(command=sys.executable, allow_bypass=True), Wanted("x"))


def test_the_form_of_answers_is_read_from_its_file(tmp_path: Path) -> None:
    needs_package()
    path = tmp_path / "form.json"
    config = SdkConfig(command=sys.executable, output_schema=str(path))
    for text in (None, "{", "[]"):
        if text is not None:
            path.write_text(text)
        with pytest.raises(AgentError) as wrong:
            argv(config, Wanted("x"))
        assert wrong.value.fix == "correct output_schema"
    path.write_text('{"type": "object"}')
    words = argv(config, Wanted("x"))
    assert json.loads(words[words.index("--json-schema") + 1]) == {"type": "object"}


# ── the package ──────────────────────────────────────────────────────────────────────────────────────


def test_nothing_of_the_package_loads_before_a_session_opens() -> None:
    source = "import sys, adapters.agent_sdk.adapter as a; a.configure; print('claude_agent_sdk' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


async def test_without_the_package_there_is_one_clear_error(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "find_spec", lambda _: None)
    made = adapter(world.home)
    probe = await made.probe()
    assert (probe.installed, probe.fix) == (False, "pip install 'beambot[agent_sdk]'")
    for doing in (made.open(OpenOptions(session="s", folder=world.folder)), made.list_resumable(world.folder)):
        with pytest.raises(AgentMissing, match="claude-agent-sdk is not installed") as missing:
            await doing
        assert missing.value.fix == "pip install 'beambot[agent_sdk]'"
    assert made.continue_command("x", world.folder) == ""
    assert program.bundled() is None


async def test_a_package_without_what_is_needed_is_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_package()
    monkeypatch.setitem(sys.modules, "adapters.agent_sdk.session", None)
    with pytest.raises(AgentMissing) as missing:
        await adapter(world.home).open(OpenOptions(session="s", folder=world.folder))
    assert "--upgrade" in missing.value.fix


def test_the_program_inside_the_package_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_package()
    path = program.bundled()
    if path is None:
        pytest.skip("this build of the package has no program inside")
    assert program.program(SdkConfig()) == str(path)
    (found,) = find()
    assert (found.adapter, found.settings, found.detail) == ("agent_sdk", {}, str(path))
    assert spec.name == "agent_sdk"
    monkeypatch.setattr(program, "bundled", lambda: None)
    with pytest.raises(AgentMissing, match="no program inside"):
        program.program(SdkConfig())
    assert find() == []


# ── probe, start, earlier sessions ───────────────────────────────────────────────────────────────────


async def test_doctor_learns_version_program_and_login(world: World) -> None:
    needs_package()
    made = adapter(world.home)
    probe = await made.probe()
    assert (probe.installed, probe.version, probe.logged_in) == (True, "2.1.326", True)
    assert "claude-agent-sdk" in probe.detail
    assert str(world.home / "claude") in probe.detail
    nobody = json.dumps({"tokenSource": "none", "apiProvider": "firstParty"})
    probe = await adapter(world.home, {"FAKE_ACCOUNT": nobody}).probe()
    assert (probe.installed, probe.logged_in) == (True, False)
    probe = await adapter(world.home, {"FAKE_TROUBLE": "it is broken"}).probe()
    assert (probe.installed, probe.logged_in) == (True, None)
    assert "it is broken" in probe.detail
    assert not (await adapter(world.home, command="claude-that-is-not-there").probe()).installed


@pytest.mark.parametrize(
    ("trouble", "kind", "words"),
    [
        ("Error: Session ID abc is already in use.", AgentError, "in use by another"),
        ("ENOSPC: no space left on device", AgentError, "no room left"),
        ("Invalid API key · Please run /login", AgentLogin, "not logged in"),
        ("--dangerously-skip-permissions cannot be used with root", AgentError, "root"),
        ("error: unknown option '--include-hook-events'", AgentError, "does not know --include-hook-events"),
        ("something else", AgentError, "something else"),
    ],
)
async def test_each_way_not_to_start_has_its_words(
    world: World, trouble: str, kind: type[AgentError], words: str
) -> None:
    needs_package()
    with pytest.raises(kind, match=words) as failed:
        await world.open(adapter(world.home, {"FAKE_TROUBLE": trouble}))  # type: ignore[arg-type]
    assert failed.value.fix


async def test_a_program_that_says_nothing_is_given_up(world: World) -> None:
    needs_package()
    path = world.home / "mute"
    path.write_text("#!/bin/sh\nexec sleep 60\n")
    path.chmod(0o755)
    with pytest.raises(AgentError, match=r"did not answer within 0\.5 s"):
        await world.open(adapter(world.home, command=str(path), start_timeout=0.5))  # type: ignore[arg-type]


async def test_an_unknown_session_and_a_missing_folder_are_told(world: World) -> None:
    needs_package()
    made = adapter(world.home)
    with pytest.raises(SessionGone, match="does not know the session"):
        await world.open(made, resume=MISSING)  # type: ignore[arg-type]
    with pytest.raises(AgentError, match="is not there"):
        await made.open(OpenOptions(session="s", folder=world.home / "nowhere"))
    told = errors.gone("x", Path("/a"), "/b")
    assert "/b" in told.fix


async def test_a_start_that_fails_on_standard_output_is_told(world: World) -> None:
    needs_package()
    source = 'say(type="result", is_error=True, subtype="error", errors=["No conversation found"]); sys.exit(1)'
    path = Path(scripted(world.home, ""))
    script = world.home / "scripted.py"
    script.write_text(script.read_text().replace("agree(hear())", "hear()") + source)
    with pytest.raises(SessionGone):
        await world.open(adapter(world.home, command=str(path)), resume=MISSING)  # type: ignore[arg-type]


async def test_sessions_of_a_folder_are_listed_where_the_agent_keeps_them(world: World) -> None:
    needs_package()
    made = adapter(world.home)
    assert await made.list_resumable(world.folder) == []
    kept = world.home / ".claude" / "projects" / "".join(c if c.isalnum() else "-" for c in str(world.folder))
    kept.mkdir(parents=True)
    prompt = {"type": "user", "cwd": str(world.folder), "sessionId": MISSING, "uuid": "u", "isSidechain": False}
    prompt |= {"message": {"role": "user", "content": "paint it blue " * 20}, "timestamp": "2026-11-18T00:00:00Z"}
    (kept / f"{MISSING}.jsonl").write_text(json.dumps(prompt) + "\n")
    (found,) = await made.list_resumable(world.folder)
    assert (found.agent_session, found.folder) == (MISSING, str(world.folder))
    assert found.title.startswith("paint it blue")
    assert len(found.title) <= 80
    assert found.at > 0


def test_a_session_goes_on_in_a_terminal_under_its_newest_id(world: World) -> None:
    needs_package()
    made: AgentSdkAdapter = adapter(world.home)
    assert isinstance(made, HandsOff)
    Memory(world.home / "home").moved("old", "new")
    folder = world.home / "a folder"
    line = made.continue_command("old", folder)
    assert line == f"cd '{folder}' && {shutil.which(str(world.home / 'claude'))} --resume new"


def test_memory_follows_ids_and_survives_a_restart(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.opened("a")
    assert memory.blank("a")
    memory.spoken("a")
    assert not memory.blank("a")
    memory.moved("a", "b")
    memory.moved("b", "c")
    memory.moved("c", "c")
    assert memory.blank("c")
    assert Memory(tmp_path).newest("a") == "c"
    (tmp_path / "moved.json").write_text("broken")
    assert Memory(tmp_path).newest("a") == "a"
