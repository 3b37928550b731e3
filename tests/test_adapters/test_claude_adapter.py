"""The Claude Code adapter: the contract of every adapter, its settings, its probe, and how a start fails."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from adapters.claude import find, spec
from adapters.claude.adapter import ClaudeAdapter, configure
from adapters.claude.process import errors
from adapters.claude.process.spawn import ClaudeConfig, Quirks, Wanted, argv, environment
from beambot.api import AgentError, AgentLogin, AgentMissing, OpenOptions, PluginContext, Prompt, SessionGone
from beambot.api import bodies as b
from beambot.testing.adapter_contract import AdapterContract
from tests.test_adapters.claude_fake_world import adapter, config
from tests.test_adapters.conftest import World

MISSING = "11111111-1111-4111-8111-111111111111"


class TestContract(AdapterContract):
    """With recordings of the real program."""

    text_prompt = "play text"
    long_prompt = "play interrupt"
    permission_prompt = "play perm_bash_allow|perm_bash_deny|perm_interrupt"
    crash_prompt = "crash"

    def make_adapter(self, context: PluginContext) -> ClaudeAdapter:
        return ClaudeAdapter("claude", config(context.home), context)


# ── how it is started ────────────────────────────────────────────────────────────────────────────────


def test_the_command_line_says_which_conversation() -> None:
    line = argv(ClaudeConfig(args=("--debug",)), Wanted("new"), Quirks())
    assert line[0] == "claude"
    assert line[-3:] == ["--session-id", "new", "--debug"]
    assert "--replay-user-messages" in line
    assert argv(ClaudeConfig(), Wanted("old", "old"), Quirks())[-2:] == ["--resume", "old"]
    copied = argv(ClaudeConfig(), Wanted("new", "old", True), Quirks())
    assert copied[-5:] == ["--resume", "old", "--fork-session", "--session-id", "new"]


def test_skipping_permissions_is_offered_only_where_it_is_allowed() -> None:
    flag = "--allow-dangerously-skip-permissions"
    assert flag not in argv(ClaudeConfig(), Wanted("x"), Quirks())
    assert flag in argv(ClaudeConfig(allow_bypass=True), Wanted("x"), Quirks())


def test_the_environment_holds_nothing_of_ours_or_of_a_program_around_us(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BEAMBOT_HOME", "CLAUDECODE", "CHAT_TOKEN"):
        monkeypatch.setenv(name, "x")
    found = environment(ClaudeConfig(env={"A": "1"}, drop_env=("CHAT_TOKEN",)), {"B": "2"})
    assert not {"BEAMBOT_HOME", "CLAUDECODE", "CHAT_TOKEN"} & set(found)
    assert (found["A"], found["B"], found["PATH"]) == ("1", "2", os.environ["PATH"])


async def test_an_option_that_this_version_does_not_have_is_left_out(world: World) -> None:
    made = adapter(world.home, {"FAKE_UNKNOWN": "--forward-subagent-text"})
    _, hears = await world.open(made)
    await hears.until_body(b.SessionInit)
    assert made._quirks.unknown == {"--forward-subagent-text"}


@pytest.mark.parametrize(("transport", "notes"), [("sdk_url", 1), ("auto", 0)])
async def test_a_version_that_refuses_the_socket_gets_pipes(world: World, transport: str, notes: int) -> None:
    made = adapter(world.home, transport=transport)
    for expected in (notes, 0):
        session, hears = await world.open(made)
        await hears.until_body(b.SessionInit)
        await session.close()
        told = [m.body for m in await hears.until_end() if isinstance(m.body, b.Failure)]
        assert [one.code for one in told] == ["sdk_url_refused"] * expected


# ── how a start fails ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("trouble", "kind", "said", "fix"),
    [
        (
            "Error: ENOSPC: no space left on device, write",
            AgentError,
            "no room left on the disk",
            "free some space",
        ),
        ("Invalid API key · Please run /login", AgentLogin, "not logged in", "/login"),
        ("Error: Session ID abc is already in use.", AgentError, "in use by another", "end that one"),
        ("--dangerously-skip-permissions cannot be used with root/sudo", AgentError, "root", "allow_bypass: false"),
        ("Error: EACCES: permission denied, mkdir '/x'", AgentError, "may not read or write", "who owns"),
        ("Segmentation fault", AgentError, "ended (exit code 1) before it was ready: Segm", "in a terminal"),
    ],
)
async def test_a_trouble_at_the_start_is_one_clear_error(
    world: World, trouble: str, kind: type[AgentError], said: str, fix: str
) -> None:
    with pytest.raises(kind) as raised:
        await world.open(adapter(world.home, {"FAKE_TROUBLE": trouble}))
    assert said in raised.value.message
    assert fix in raised.value.fix


async def test_a_full_disk_is_told_before_anything_is_lost(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    session, hears = await world.open(adapter(world.home))
    await hears.until_body(b.SessionInit)
    monkeypatch.setattr("adapters.claude.session.room_for", lambda _projects: 1000)
    with pytest.raises(AgentError, match="no room left on the disk") as raised:
        await world.open(adapter(world.home))
    assert "free some space" in raised.value.fix
    with pytest.raises(AgentError, match="no room left on the disk"):
        await session.send(Prompt("one", "play text"))


async def test_a_start_that_is_called_off_leaves_nothing_behind(world: World) -> None:
    silent = world.home / "silent"
    silent.write_text(f"#!/bin/sh\necho $$ > {world.home}/pid\nexec sleep 60\n")
    silent.chmod(0o755)
    with anyio.move_on_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(world.open, adapter(world.home, command=str(silent)))
            while not (world.home / "pid").exists() or not (world.home / "pid").read_text():
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()
    await world.gone(int((world.home / "pid").read_text()))


async def test_nobody_logged_in_is_told_before_the_first_prompt(world: World) -> None:
    account = '{"tokenSource": "none", "apiProvider": "firstParty"}'
    with pytest.raises(AgentLogin) as raised:
        await world.open(adapter(world.home, {"FAKE_ACCOUNT": account}))
    assert "/login" in raised.value.fix
    _, hears = await world.open(adapter(world.home, {"FAKE_ACCOUNT": '{"apiProvider": "bedrock"}'}))
    await hears.until_body(b.SessionInit)


async def test_an_unknown_session_is_gone(world: World) -> None:
    with pytest.raises(SessionGone, match="does not know the session"):
        await world.open(adapter(world.home), resume=MISSING)


async def test_a_session_that_was_begun_elsewhere_is_told_with_its_folder(world: World) -> None:
    there = world.home / ".claude" / "projects" / "-srv-shop"
    there.mkdir(parents=True)
    (there / f"{MISSING}.jsonl").write_text(
        '{"type":"user","cwd":"/srv/shop","message":{"role":"user","content":"paint it blue"}}\n'
    )
    with pytest.raises(SessionGone, match="was begun in /srv/shop") as raised:
        await world.open(adapter(world.home), resume=MISSING)
    assert "/srv/shop" in raised.value.fix


async def test_a_program_or_a_folder_that_is_not_there(world: World) -> None:
    with pytest.raises(AgentMissing):
        await world.open(adapter(world.home, command="/nowhere/claude"))
    made = adapter(world.home)
    with pytest.raises(AgentError, match="is not there"):
        await made.open(OpenOptions(session="s", folder=world.home / "nowhere"))


async def test_a_program_that_says_nothing_is_too_slow(world: World) -> None:
    silent = world.home / "silent"
    silent.write_text("#!/bin/sh\necho thinking >&2\nexec sleep 60\n")
    silent.chmod(0o755)
    with pytest.raises(AgentError, match=r"did not answer within 0.3 s: thinking"):
        await world.open(adapter(world.home, command=str(silent), start_timeout=0.3))


def test_how_it_ended_while_at_work_has_its_own_fix() -> None:
    assert errors.ended("write ENOSPC")[0] == "there is no room left on the disk"
    assert "log in again" in errors.ended("OAuth token has expired")[1]
    assert errors.ended("boom") == ("boom", "send a message to resume the session")


# ── settings, doctor, discovery ──────────────────────────────────────────────────────────────────────


def test_an_empty_section_is_enough() -> None:
    assert configure(_Section({})) == ClaudeConfig()


def test_every_setting_is_read() -> None:
    values = {
        "command": "/opt/claude",
        "transport": "auto",
        "args": ("--debug",),
        "env": {"A": "1"},
        "drop_env": ("B",),
        "allow_bypass": True,
        "start_timeout": 5.0,
        "reconnect_grace": 1.0,
    }
    assert configure(_Section(values)) == ClaudeConfig(**values)


class _Section:
    """A section whose getters give what is there."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def __getattr__(self, _kind: str) -> Any:
        def get(key: str, *rest: Any, **_more: Any) -> Any:
            empty: Any = {"args": (), "drop_env": (), "env": {}}.get(key)
            return self._values.get(key, rest[-1] if rest else empty)

        return get


async def test_doctor_learns_version_and_login(tmp_path: Path) -> None:
    probe = await adapter(tmp_path).probe()
    assert (probe.installed, probe.version, probe.logged_in) == (True, "2.1.326", True)
    account = '{"tokenSource": "none", "apiProvider": "firstParty"}'
    probe = await adapter(tmp_path, {"FAKE_ACCOUNT": account}).probe()
    assert (probe.installed, probe.logged_in) == (True, False)
    assert "/login" in probe.fix
    probe = await adapter(tmp_path, {"FAKE_TROUBLE": "boom"}).probe()
    assert (probe.installed, probe.logged_in) == (True, None)
    assert "boom" in probe.detail
    probe = await adapter(tmp_path, command="claude-that-is-not-there").probe()
    assert not probe.installed


def test_the_program_on_path_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find() == []
    (tmp_path / "claude").write_text("#!/bin/sh\n")
    (tmp_path / "claude").chmod(0o755)
    (found,) = find()
    assert (found.name, found.adapter, found.detail) == ("claude", "claude", str(tmp_path / "claude"))
    assert spec.find is find
