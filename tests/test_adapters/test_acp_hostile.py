"""Agents that misbehave: each is told in one clear way, and nothing is left behind."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from beambot.api import AgentError, AgentLogin, AgentMissing, Answer, OpenOptions, Prompt, bodies
from beambot.testing.clock import FakeClock

# A scripted agent: `on` answers requests; PROMPT is what it does with a prompt.
AGENT = """
import json, os, sys, time
out = sys.stdout.buffer
def say(**message):
    out.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\\n"); out.flush()
def update(**fields):
    say(method="session/update", params={"sessionId": "s", "update": fields})
def text(words):
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": words})
def ask(method, **params):
    say(id="q", method=method, params={"sessionId": "s", **params})
    while True:
        found = json.loads(sys.stdin.readline())
        if found.get("id") == "q":
            return found
def prompt(words):
    pass
INIT = {"protocolVersion": 1}
NEW = {"sessionId": "s"}
#BODY
for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "initialize":
            say(id=message["id"], result=INIT)
        case "session/new":
            say(id=message["id"], **({"error": NEW} if "code" in NEW else {"result": NEW}))
        case "session/prompt":
            stop = prompt(message["params"]["prompt"][0]["text"]) or "end_turn"
            say(id=message["id"], result={"stopReason": stop})
"""


def agent(body: str) -> str:
    return AGENT.replace("#BODY", body)


async def test_a_missing_program_says_what_to_install(world):
    with pytest.raises(AgentMissing, match="no-such-agent") as caught:
        await world.open(world.adapter("no-such-agent"))
    assert "install" in caught.value.fix


async def test_a_file_that_may_not_run_says_so(world):
    script = world.home / "agent.sh"
    script.write_text("#!/bin/sh\n")
    with pytest.raises(AgentMissing, match="may not be run"):
        await world.open(world.adapter(str(script)))


async def test_a_missing_folder_is_told_as_such(world):
    adapter = world.demo()
    with pytest.raises(AgentError, match="is not there"):
        await adapter.open(OpenOptions(session="s", folder=world.home / "nowhere"))


async def test_an_agent_that_never_answers_is_given_up_on(world):
    source = "import sys, time; sys.stderr.write('still thinking'); sys.stderr.flush(); time.sleep(60)"
    with pytest.raises(AgentError, match=r"did not answer within 0\.3 s: still thinking"):
        await world.open(world.python(source, start_timeout=0.3))


async def test_an_agent_that_ends_at_once_is_told_with_its_last_words(world):
    with pytest.raises(AgentError, match=r"exit code 3.*no licence"):
        await world.open(world.python("import sys; sys.stderr.write('no licence'); sys.exit(3)"))


async def test_an_agent_that_wants_a_login_says_how(world):
    body = """
INIT = {"protocolVersion": 1, "authMethods": [{"id": "k", "name": "API key", "description": "set KEY"}]}
NEW = {"code": -32000, "message": "Authentication required"}
"""
    with pytest.raises(AgentLogin) as caught:
        await world.open(world.python(agent(body)))
    assert "API key (set KEY)" in caught.value.fix


async def test_garbage_is_passed_on_as_unknown_and_breaks_nothing(world):
    body = """
def prompt(words):
    out.write(b"Loading model...\\n\\n[1, 2]\\n{\\"half\\": \\n\\xff\\xfe\\n")
    say(method="_vendor/news", params={"a": 1})
    update(sessionUpdate="from_the_future", x=1)
    update(sessionUpdate="tool_call", title=7)
    text("still here")
"""
    session, hears = await world.open(world.python(agent(body)))
    await session.send(Prompt("t", "go"))
    assert (await hears.until_body(bodies.Result)).body.outcome == "success"
    unknown = [m.body for m in hears.messages if isinstance(m.body, bodies.Unknown)]
    assert [one.kind for one in unknown] == [
        "garbage",
        "garbage",
        "garbage",
        "garbage",
        "_vendor/news",
        "session/update:from_the_future",
        "session/update:tool_call",
    ]
    assert unknown[0].raw == "Loading model..."
    assert unknown[5].raw == {"sessionUpdate": "from_the_future", "x": 1}
    assert hears.text("t") == "still here"


async def test_invalid_utf8_inside_a_message_is_mended_not_lost(world):
    body = """
def prompt(words):
    line = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update":
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "caf@"}}}})
    out.write(line.encode().replace(b"@", b"\\xe9") + b"\\n"); out.flush()
"""
    session, hears = await world.open(world.python(agent(body)))
    await session.send(Prompt("t", "go"))
    await hears.until_body(bodies.Result)
    assert hears.text("t") == "caf\N{REPLACEMENT CHARACTER}"


async def test_a_line_of_64_mebibytes_is_skipped_and_said_once(world):
    body = """
def prompt(words):
    for _ in range(64):
        out.write(b"x" * 1048576)
    out.write(b"\\n"); out.flush()
    text("after")
"""
    session, hears = await world.open(world.python(agent(body)))
    await session.send(Prompt("t", "go"))
    await hears.until_body(bodies.Result)
    failures = [m.body for m in hears.messages if isinstance(m.body, bodies.Failure)]
    assert [(f.recoverable, f.code) for f in failures] == [(True, "line_too_long")]
    assert hears.text("t") == "after"


async def test_an_unknown_request_gets_method_not_found(world):
    body = """
def prompt(words):
    text(str(ask("craft/drainMidTurnQueue")["error"]["code"]))
"""
    session, hears = await world.open(world.python(agent(body)))
    await session.send(Prompt("t", "go"))
    await hears.until_body(bodies.Result)
    assert hears.text("t") == "-32601"


async def test_files_outside_the_project_are_refused_with_a_clear_text(world):
    secret = world.home / "secret.txt"
    secret.write_text("hidden")
    (world.folder / "link").symlink_to(world.home)
    (world.folder / "here.txt").write_text("one\ntwo\nthree\n")
    body = """
def prompt(words):
    for path in words.split():
        found = ask("fs/read_text_file", path=path)
        text(found.get("result", {}).get("content") or found["error"]["message"])
        text("|")
    found = ask("fs/write_text_file", path=words.split()[1], content="overwritten")
    text(found["error"]["message"] if "error" in found else "WRITTEN")
    text("|" + ask("fs/read_text_file", path=words.split()[0], line=2, limit=1)["result"]["content"])
"""
    session, hears = await world.open(world.python(agent(body)))
    paths = [world.folder / "here.txt", world.folder / "link" / "secret.txt", world.folder / ".." / "secret.txt"]
    await session.send(Prompt("t", " ".join([*map(str, paths), str(world.folder), "missing.txt"])))
    await hears.until_body(bodies.Result)
    said = hears.text("t").split("|")
    assert said[0] == "one\ntwo\nthree\n"
    assert "outside the project folder" in said[1]
    assert "outside the project folder" in said[2]
    assert "is not a file" in said[3] or "cannot be read" in said[3]
    assert "is not there" in said[4]
    assert "outside the project folder" in said[5]
    assert said[6] == "two\n"
    assert secret.read_text() == "hidden"


async def test_a_terminal_keeps_the_end_of_its_output_and_tells_how_it_ended(world):
    body = """
def prompt(words):
    made = ask("terminal/create", command="printf 'abcdefghij'; exit 4", outputByteLimit=4)
    id = made["result"]["terminalId"]
    text(json.dumps(ask("terminal/wait_for_exit", terminalId=id)["result"]) + "|")
    text(json.dumps(ask("terminal/output", terminalId=id)["result"]) + "|")
    ask("terminal/release", terminalId=id)
    text(ask("terminal/output", terminalId=id)["error"]["message"] + "|")
    text(ask("terminal/create", command="ls", cwd="/")["error"]["message"] + "|")
    text(ask("terminal/create", command="no-such-command")["error"]["message"] + "|")
    made = ask("terminal/create", command="sleep", args=["60"])
    ask("terminal/kill", terminalId=made["result"]["terminalId"])
    text(ask("terminal/wait_for_exit", terminalId=made["result"]["terminalId"])["result"]["signal"])
"""
    session, hears = await world.open(world.python(agent(body)))
    await session.send(Prompt("t", "go"))
    await hears.until_body(bodies.Result)
    said = hears.text("t").split("|")
    assert said[0] == '{"exitCode": 4, "signal": null}'
    assert said[1].startswith('{"output": "ghij", "truncated": true, "exitStatus": {"exitCode": 4')
    assert "no terminal" in said[2]
    assert "outside the project folder" in said[3]
    assert "no-such-command" in said[4]
    assert said[5] == "SIGTERM"


async def test_an_agent_does_not_see_beambots_own_variables(world, monkeypatch):
    monkeypatch.setenv("BEAMBOT_HOME", "/somewhere")
    monkeypatch.setenv("CHAT_TOKEN", "hidden")
    monkeypatch.setenv("MODEL_API_KEY", "needed")
    body = """
def prompt(words):
    text(",".join(f"{name}={os.environ.get(name)}" for name in words.split()))
"""
    adapter = world.python(agent(body), drop_env=("CHAT_TOKEN",), env={"FROM_CONFIG": "1"})
    session, hears = await world.open(adapter, env={"FROM_PROJECT": "2"})
    await session.send(Prompt("t", "BEAMBOT_HOME CHAT_TOKEN MODEL_API_KEY FROM_CONFIG FROM_PROJECT"))
    await hears.until_body(bodies.Result)
    assert hears.text("t") == "BEAMBOT_HOME=None,CHAT_TOKEN=None,MODEL_API_KEY=needed,FROM_CONFIG=1,FROM_PROJECT=2"


async def test_a_permission_with_nothing_but_a_tool_id_is_told_with_what_is_known(world):
    body = """
def prompt(words):
    update(sessionUpdate="tool_call", toolCallId="a", title="touch x", kind="execute",
           rawInput={"command": "touch x"})
    found = ask("session/request_permission", toolCall={"toolCallId": "a"},
                options=[{"optionId": "y", "name": "Yes", "kind": "allow_once"}])
    text(json.dumps(found["result"]["outcome"]))
"""
    session, hears = await world.open(world.python(agent(body)))
    await session.send(Prompt("t", "go"))
    asked = (await hears.until_body(bodies.PermissionRequest)).body
    assert (asked.title, asked.kind, asked.input) == ("touch x", "execute", {"command": "touch x"})
    assert await session.answer(Answer(ask=asked.ask, verdict="deny"))
    await hears.until_body(bodies.Result)
    assert hears.text("t") == '{"outcome": "cancelled"}'


async def test_a_turn_that_ends_over_an_open_ask_cancels_it_first(world):
    body = """
def prompt(words):
    say(id="q", method="session/request_permission", params={"sessionId": "s", "toolCall": {"toolCallId": "a"}})
    return "refusal"
"""
    session, hears = await world.open(world.python(agent(body)))
    await session.send(Prompt("t", "go"))
    assert (await hears.until_body(bodies.Result)).body.outcome == "refused"
    assert any(isinstance(m.body, bodies.AskCancelled) for m in hears.messages)


async def test_pictures_go_as_images_only_where_the_agent_takes_them_and_files_as_links(world, tmp_path):
    from beambot.api import File

    body = """
INIT = {"protocolVersion": 1, "agentCapabilities": {"promptCapabilities": {"image": IMAGE}}}
import builtins
real = json.loads
def loads(line):
    message = real(line)
    if message.get("method") == "session/prompt":
        text(json.dumps([part["type"] for part in message["params"]["prompt"]]))
    return message
json.loads = loads
"""
    picture = tmp_path / "a.png"
    picture.write_bytes(b"\x89PNG")
    files = (File(picture, "a.png", "image/png"), File(picture, "b.bin", "application/octet-stream"))
    for image, kinds in (
        ("True", '["text", "image", "resource_link"]'),
        ("False", '["text", "resource_link", "resource_link"]'),
    ):
        session, hears = await world.open(world.python(agent(body.replace("IMAGE", image))))
        await session.send(Prompt("t", "look", files))
        await hears.until_body(bodies.Result)
        assert hears.text("t") == kinds


async def test_work_that_nobody_prompted_is_a_turn_of_its_own(world):
    body = """
def prompt(words):
    import threading
    def later():
        time.sleep(0.1); text("a late thought")
    threading.Thread(target=later).start()
"""
    session, hears = await world.open(world.python(agent(body)))
    await session.send(Prompt("one", "go"))
    await hears.until_body(bodies.Result, "one")
    late = await hears.until_body(bodies.TextDelta)
    assert late.turn == ""
    await session.send(Prompt("two", "go"))
    results = [m.turn for m in hears.messages if isinstance(m.body, bodies.Result)]
    await hears.until_body(bodies.Result, "two")
    assert [m.turn for m in hears.messages if isinstance(m.body, bodies.Result)] == ["one", "", "two"], results


async def test_work_that_nobody_prompted_ends_when_it_has_been_quiet_for_a_while(world):
    world.clock = FakeClock()
    body = """
def prompt(words):
    import threading
    def later():
        time.sleep(0.05); text("a late thought")
    threading.Thread(target=later).start()
"""
    session, hears = await world.open(world.python(agent(body)))
    await session.send(Prompt("one", "go"))
    await hears.until_body(bodies.TextDelta)
    await world.clock.advance(4)
    assert not any(isinstance(m.body, bodies.Result) and not m.turn for m in hears.messages)
    await world.clock.advance(7)
    assert (await hears.until_body(bodies.Result, "")).body.outcome == "success"


async def test_a_slow_reader_stops_the_agent_and_loses_nothing(world):
    body = """
def prompt(words):
    for number in range(60000):
        text(f"{number} ")
"""
    adapter = world.python(agent(body))
    session = await adapter.open(OpenOptions(session="s", folder=world.folder))
    await session.send(Prompt("t", "go"))
    with anyio.fail_after(20):
        while len(session._in._queue) <= 10_000:
            await anyio.sleep(0.01)
        await anyio.sleep(0.1)
        held = len(session._in._queue)
        numbers = []
        async for message in session.messages():
            if isinstance(message.body, bodies.TextDelta):
                numbers.append(int(message.body.text))
            if isinstance(message.body, bodies.Result):
                break
    await session.close()
    assert held < 60000
    assert numbers == list(range(60000))


async def test_an_agents_children_end_with_it(world):
    body = """
import subprocess
child = subprocess.Popen(["sleep", "300"])
def prompt(words):
    text(str(child.pid))
"""
    session, hears = await world.open(world.python(agent(body)))
    await session.send(Prompt("t", "go"))
    await hears.until_body(bodies.Result)
    await session.close()
    await world.gone(int(hears.text("t")))


async def test_stopping_while_it_starts_leaves_no_process(world):
    source = "import os, sys, time; open(sys.argv[0] + '.pid', 'w').write(str(os.getpid())); time.sleep(60)"
    pid_file = world.home / "agent.py.pid"
    with anyio.move_on_after(5) as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(world.open, world.python(source))
            while not pid_file.exists() or not pid_file.read_text():
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()
    assert not scope.cancelled_caught
    assert not Path(f"/proc/{pid_file.read_text()}").exists()


def test_known_agents_are_found_on_the_path(tmp_path, monkeypatch):
    from adapters.acp import spec

    program = tmp_path / "goose"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert spec.find is not None
    found = spec.find()
    assert [(one.name, one.adapter, one.settings) for one in found] == [
        ("goose", "acp", {"command": "goose", "args": ["acp"]})
    ]
