"""The life of the real Claude Code: found, begun, resumed, copied, killed, refused; and how it fails."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import anyio
import pytest

from adapters.claude.session import ClaudeSession
from beambot.api import AgentError, AgentLogin, AgentMissing, Answer, Prompt, SessionGone
from beambot.api import bodies as b
from beambot.testing.adapter_contract import Listener
from tests.agents.conftest import Stage
from tests.model_server.script import script

MISSING = "11111111-1111-4111-8111-111111111111"


async def begun(hears: Listener) -> b.SessionInit:
    found = (await hears.until_body(b.SessionInit)).body
    assert isinstance(found, b.SessionInit)
    return found


def kill(session: ClaudeSession) -> None:
    os.killpg(session._pipe.pid, signal.SIGKILL)  # type: ignore[attr-defined]


async def test_a_resumed_session_remembers(stage: Stage) -> None:
    adapter = stage.adapter()
    opened = await stage.open(adapter)
    first = await begun(opened[1])
    await stage.play(opened, "one", "the word is walrus")
    await opened[0].close()
    again = await stage.open(adapter, resume=first.agent_session)
    resumed = await begun(again[1])
    assert (resumed.agent_session, resumed.resumed) == (first.agent_session, True)
    await stage.play(again, "two", "yes")
    assert "walrus" in stage.model.requests[-1].text


async def test_a_session_in_which_nothing_was_said_is_resumed_all_the_same(stage: Stage) -> None:
    adapter = stage.adapter()
    session, hears = await stage.open(adapter)
    first = await begun(hears)
    await session.close()
    again = await stage.open(adapter, resume=first.agent_session)
    assert (await begun(again[1])).agent_session == first.agent_session
    assert (await stage.play(again, "one", "hi")).outcome == "success"


async def test_a_killed_agent_is_told_and_its_history_repaired(stage: Stage) -> None:
    adapter = stage.adapter()
    session, hears = await stage.open(adapter)
    first = await begun(hears)
    command = "echo $$ > on; exec tail -f /dev/null"
    await session.send(Prompt("one", script({"tools": [{"do": "bash", "command": command}]})))
    ask = (await hears.until_body(b.PermissionRequest, "one")).body
    assert isinstance(ask, b.PermissionRequest)
    await session.answer(Answer(ask=ask.ask, verdict="allow"))
    with anyio.fail_after(10):
        while not (stage.folder / "on").exists() or not (stage.folder / "on").read_text():
            await anyio.sleep(0.02)
        # It writes its history down a little later than it works.
        while not any(
            "tail -f" in path.read_text() for path in (stage.home / ".claude/projects").glob("*/*.jsonl")
        ):
            await anyio.sleep(0.02)
    kill(session)
    messages = await hears.until_end()
    assert any(isinstance(m.body, b.Failure) and not m.body.recoverable for m in messages)
    last = messages[-1].body
    assert isinstance(last, b.SessionClosed)
    assert (last.expected, last.code) == (False, -9)
    await session.close()
    left = Path("/proc") / (stage.folder / "on").read_text().strip()
    with anyio.fail_after(5):
        while left.exists() and " Z " not in (left / "stat").read_text():
            await anyio.sleep(0.02)
    again = await stage.open(adapter, resume=first.agent_session)
    assert (await stage.play(again, "two", "I go on")).outcome == "success"
    seen = stage.model.requests[-1].text
    assert command in seen
    assert "interrupted" in seen


async def test_a_copy_has_an_id_of_its_own_and_leaves_the_original_alone(stage: Stage) -> None:
    adapter = stage.adapter()
    opened = await stage.open(adapter)
    first = await begun(opened[1])
    await stage.play(opened, "one", "the word is walrus")
    copy = await stage.open(adapter, resume=first.agent_session, fork=True)
    second = await begun(copy[1])
    assert second.agent_session != first.agent_session
    await stage.play(copy, "two", "only in the copy")
    assert "walrus" in stage.model.requests[-1].text
    await stage.play(opened, "three", "the original goes on")
    assert "only in the copy" not in stage.model.requests[-1].text
    await copy[0].close()
    later = await stage.open(adapter, resume=second.agent_session)
    await stage.play(later, "four", "yes")
    assert "only in the copy" in stage.model.requests[-1].text


async def test_an_unknown_session_is_gone(stage: Stage) -> None:
    with pytest.raises(SessionGone) as gone:
        await stage.open(resume=MISSING)
    assert "start a new session" in gone.value.fix


async def test_a_session_of_another_folder_is_told_with_that_folder(stage: Stage, tmp_path: Path) -> None:
    """Newer versions find it wherever it was begun, and go on in the folder they are given."""
    adapter = stage.adapter("claude-sdk-url")
    opened = await stage.open(adapter)
    first = await begun(opened[1])
    await stage.play(opened, "one", "hi")
    await opened[0].close()
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(SessionGone, match=str(stage.folder)):
        await stage.open(adapter, resume=first.agent_session, folder=other)


async def test_a_folder_that_is_not_there_and_a_program_that_is_not_there(stage: Stage, tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="is not there"):
        await stage.open(folder=tmp_path / "nowhere")
    with pytest.raises(AgentMissing) as missing:
        await stage.open(stage.adapter(command="claude-that-is-not-there"))
    assert "install" in missing.value.fix


async def test_without_a_login_it_does_not_start(stage: Stage) -> None:
    with pytest.raises(AgentLogin) as refused:
        await stage.open(stage.adapter(env={"ANTHROPIC_API_KEY": ""}))
    assert "/login" in refused.value.fix


async def test_doctor_learns_version_and_login(stage: Stage) -> None:
    probe = await stage.adapter().probe()
    assert (probe.installed, probe.version, probe.logged_in) == (True, "2.1.326", True)
    probe = await stage.adapter(env={"ANTHROPIC_API_KEY": ""}).probe()
    assert (probe.installed, probe.version, probe.logged_in) == (True, "2.1.326", False)
    probe = await stage.adapter(command="claude-that-is-not-there").probe()
    assert not probe.installed
    assert probe.fix


async def test_sessions_begun_in_the_terminal_are_listed(stage: Stage) -> None:
    adapter = stage.adapter()
    words = [adapter._config.command, "-p", script("from the terminal")]
    done = await anyio.run_process(words, cwd=stage.folder, env=stage.env())
    assert b"from the terminal" in done.stdout
    (found,) = await adapter.list_resumable(stage.folder)
    assert found.folder == str(stage.folder)
    assert found.title.startswith("SCRIPT")
    assert found.at > 0
    opened = await stage.open(adapter, resume=found.agent_session)
    assert (await stage.play(opened, "one", "taken up")).outcome == "success"
    assert "from the terminal" in stage.model.requests[-1].text
    assert await adapter.list_resumable(stage.home) == []


async def test_no_variable_of_ours_reaches_the_agent(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEAMBOT_SECRET", "token-of-ours")
    monkeypatch.setenv("CHAT_TOKEN", "token-of-a-chat")
    monkeypatch.setenv("CLAUDECODE", "1")
    adapter = stage.adapter()
    config = adapter._config
    adapter = stage.adapter(drop_env=(*config.drop_env, "CHAT_TOKEN"))
    opened = await stage.open(adapter, mode="acceptEdits")
    show = {"tools": [{"do": "bash", "command": "env | cut -d= -f1 | sort | tr '\\n' ' '"}]}
    session, hears = opened
    await session.send(Prompt("one", script(show)))
    body = (await hears.until_body((b.PermissionRequest, b.Result), "one")).body
    if isinstance(body, b.PermissionRequest):
        await session.answer(Answer(ask=body.ask, verdict="allow"))
    await stage.result(hears, "one")
    names = hears.text("one").split()
    assert "PATH" in names
    assert not {"BEAMBOT_SECRET", "CHAT_TOKEN"} & set(names)


@pytest.mark.parametrize("status", [401, 429, 500, 529])
async def test_an_error_of_the_service_ends_the_turn_and_not_the_session(stage: Stage, status: int) -> None:
    opened = await stage.open()
    result = await stage.play(opened, "one", {"error": status, "retry_after": 0})
    assert result.outcome in ("error", "limit")
    assert result.error
    assert (await stage.play(opened, "two", "it works again")).outcome == "success"


async def test_an_error_that_passes_is_only_told(stage: Stage) -> None:
    opened = await stage.open()
    result = await stage.play(opened, "one", {"error": 529, "retry_after": 0, "times": 1, "say": "made it"})
    assert result.outcome == "success"
    assert opened[1].text("one") == "made it"
    retrying = [m for m in opened[1].messages if isinstance(m.body, b.Status) and m.body.state == "retrying"]
    assert retrying


async def test_a_cut_stream_is_survived(stage: Stage) -> None:
    opened = await stage.open()
    result = await stage.play(opened, "one", {"words": 20, "cut": True, "times": 1})
    assert result.outcome == "success"
    assert (await stage.play(opened, "two", "fine")).outcome == "success"


# ── --sdk-url ────────────────────────────────────────────────────────────────────────────────────────


async def test_the_socket_carries_the_whole_protocol(stage: Stage) -> None:
    session, hears = await stage.open(stage.adapter("claude-sdk-url", transport="sdk_url"))
    await session.send(Prompt("one", script({"tools": [{"do": "bash", "command": "touch ws"}]}, "by socket")))
    ask = (await hears.until_body(b.PermissionRequest, "one")).body
    assert isinstance(ask, b.PermissionRequest)
    await session.answer(Answer(ask=ask.ask, verdict="allow"))
    assert (await stage.result(hears, "one")).outcome == "success"
    assert (stage.folder / "ws").exists()
    assert hears.text("one") == "by socket"
    assert not any(isinstance(m.body, b.Failure) for m in hears.messages)


async def test_a_broken_connection_loses_no_prompt(stage: Stage) -> None:
    session, hears = await stage.open(stage.adapter("claude-sdk-url", transport="sdk_url"))
    await stage.play((session, hears), "one", "before")
    session._pipe._socket._writer.transport.abort()  # type: ignore[attr-defined]
    await session.send(Prompt("two", script("after")))
    assert (await stage.result(hears, "two")).outcome == "success"
    assert hears.text("two") == "after"


@pytest.mark.parametrize("transport", ["sdk_url", "auto"])
async def test_a_version_that_refuses_the_socket_is_served_over_pipes(stage: Stage, transport: str) -> None:
    adapter = stage.adapter(transport=transport)
    opened = await stage.open(adapter)
    assert (await stage.play(opened, "one", "by pipe")).outcome == "success"
    notes = [m.body for m in opened[1].messages if isinstance(m.body, b.Failure)]
    assert [note.code for note in notes] == (["sdk_url_refused"] if transport == "sdk_url" else [])
    second = await stage.open(adapter)
    assert (await stage.play(second, "one", "again")).outcome == "success"
