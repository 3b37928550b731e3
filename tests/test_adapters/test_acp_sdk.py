"""The other end of the wire is written with the protocol's official SDK: it knows nothing of our reading of it."""

from __future__ import annotations

from beambot.api import Answer, Prompt, bodies

AGENT = """
import asyncio
from acp import run_agent, schema
from acp.helpers import plan_entry, start_tool_call, text_block, tool_diff_content, update_agent_message_text
from acp.helpers import update_agent_thought_text, update_current_mode, update_plan, update_tool_call


class Agent:
    def on_connect(self, client):
        self.client = client

    async def initialize(self, protocol_version, client_capabilities=None, client_info=None, **rest):
        self.capabilities = client_capabilities
        return schema.InitializeResponse(
            protocolVersion=protocol_version,
            agentInfo=schema.Implementation(name="sdk", title="SDK agent", version="9"),
            agentCapabilities=schema.AgentCapabilities(loadSession=True),
        )

    async def new_session(self, cwd, **rest):
        self.cwd = cwd
        return schema.NewSessionResponse(sessionId="one")

    async def load_session(self, cwd, session_id, **rest):
        self.cwd = cwd
        await self.client.session_update(session_id, update_agent_message_text("something from long ago"))
        return None

    async def cancel(self, session_id, **rest):
        self.stopped.set()

    async def prompt(self, session_id, prompt, **rest):
        self.stopped = asyncio.Event()
        say = lambda update: self.client.session_update(session_id, update)
        word = prompt[0].text
        if word == "caps":
            caps = self.capabilities
            form = caps.elicitation.form is not None
            await say(update_agent_message_text(f"{caps.fs.read_text_file} {caps.terminal} {form}"))
        elif word == "edit":
            path = self.cwd + "/a.txt"
            await say(update_agent_thought_text("hm"))
            await say(update_plan([plan_entry("edit it", status="in_progress")]))
            await say(start_tool_call("t1", "Edit a.txt", kind="edit", status="pending"))
            reply = await self.client.request_permission(
                session_id,
                schema.ToolCallUpdate(toolCallId="t1", content=[tool_diff_content(path, "new\\n", "old\\n")]),
                [
                    schema.PermissionOption(optionId="7", name="Sure", kind="allow_once"),
                    schema.PermissionOption(optionId="8", name="Never", kind="reject_once"),
                ],
            )
            picked = getattr(reply.outcome, "option_id", "")
            await say(update_agent_message_text(f"{reply.outcome.outcome} {picked}"))
            old = await self.client.read_text_file(session_id=session_id, path=path)
            await self.client.write_text_file(session_id=session_id, path=path, content=old.content + "more\\n")
            await say(update_tool_call("t1", status="completed"))
            await say(update_current_mode("careful"))
        elif word == "run":
            made = await self.client.create_terminal(session_id=session_id, command="echo", args=["hello"])
            ended = await self.client.wait_for_terminal_exit(session_id=session_id, terminal_id=made.terminal_id)
            output = await self.client.terminal_output(session_id=session_id, terminal_id=made.terminal_id)
            await self.client.release_terminal(session_id=session_id, terminal_id=made.terminal_id)
            await say(update_agent_message_text(f"{ended.exit_code} {output.output}"))
        elif word == "wait":
            await say(update_agent_message_text("waiting"))
            await self.stopped.wait()
            return schema.PromptResponse(stopReason="cancelled")
        return schema.PromptResponse(
            stopReason="end_turn", usage=schema.Usage(inputTokens=3, outputTokens=4, totalTokens=7)
        )


asyncio.run(run_agent(Agent()))
"""


async def test_it_learns_what_the_client_offers(world):
    session, hears = await world.open(world.python(AGENT))
    init = (await hears.until_body(bodies.SessionInit)).body
    assert (init.agent, init.version, init.agent_session) == ("SDK agent", "9", "one")
    await session.send(Prompt("t", "caps"))
    result = (await hears.until_body(bodies.Result)).body
    assert hears.text("t") == "True True True"
    assert (result.usage.input_tokens, result.usage.output_tokens) == (3, 4)


async def test_permission_files_plan_and_mode_pass_between_them(world):
    (world.folder / "a.txt").write_text("old\n")
    session, hears = await world.open(world.python(AGENT))
    await session.send(Prompt("t", "edit"))
    asked = (await hears.until_body(bodies.PermissionRequest)).body
    assert asked.title == "Edit a.txt"
    assert (asked.diffs[0].old, asked.diffs[0].new) == ("old\n", "new\n")
    assert await session.answer(Answer(ask=asked.ask, verdict="allow"))
    await hears.until_body(bodies.Result)
    assert hears.text("t") == "selected 7"
    assert (world.folder / "a.txt").read_text() == "old\nmore\n"
    kinds = [type(message.body) for message in hears.messages]
    assert kinds.index(bodies.ThinkingDelta) < kinds.index(bodies.Plan) < kinds.index(bodies.ToolStarted)
    assert next(m.body.mode for m in hears.messages if isinstance(m.body, bodies.ModeChanged)) == "careful"


async def test_a_terminal_runs_for_it(world):
    session, hears = await world.open(world.python(AGENT))
    await session.send(Prompt("t", "run"))
    await hears.until_body(bodies.Result)
    assert hears.text("t") == "0 hello\n"


async def test_a_cancel_reaches_it(world):
    session, hears = await world.open(world.python(AGENT))
    await session.send(Prompt("t", "wait"))
    await hears.until_body(bodies.TextDelta)
    await session.interrupt()
    assert (await hears.until_body(bodies.Result)).body.outcome == "interrupted"


async def test_a_loaded_session_does_not_repeat_what_was_said_and_may_answer_null(world):
    session, hears = await world.open(world.python(AGENT), resume="earlier")
    init = (await hears.until_body(bodies.SessionInit)).body
    assert (init.agent_session, init.resumed) == ("earlier", True)
    await session.send(Prompt("t", "caps"))
    await hears.until_body(bodies.Result)
    assert not any("long ago" in str(message.body) for message in hears.messages)
