"""What the demo agent does for each word: small pieces of work that look like a real agent's."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from adapters.demo.script import MARKDOWN
from beambot.wire.jsonrpc import INTERNAL_ERROR, Peer, RpcError

if TYPE_CHECKING:
    from adapters.demo.agent import Session

OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "session", "name": "Allow for this session", "kind": "allow_always"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]
THOUGHT = "The person wants to see me think, so I take a moment to do so."
MOST_FILES = 5
VOCABULARY = ("amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "juniper")


class Turn:
    """One prompt's work: what steps need to talk to the client."""

    def __init__(
        self,
        peer: Peer,
        session: Session,
        client: dict[str, Any],
        pace: float,
        update: Callable[..., None],
    ) -> None:
        self.peer = peer
        self.session = session
        self.client = client
        self.pace = pace
        self.answer = ""
        self._update = update
        self._count = 0

    def update(self, what: str, /, **fields: Any) -> None:
        """One session/update."""
        self._update(self.session, what, **fields)

    async def pause(self, seconds: float | None = None) -> None:
        """Let the reader see it grow, and a cancel come through."""
        await anyio.sleep(self.pace if seconds is None else seconds)

    async def say(self, text: str) -> None:
        """A piece of the answer."""
        self.answer += text
        self.update("agent_message_chunk", content={"type": "text", "text": text})
        await self.pause()

    async def stream(self, text: str) -> None:
        """A long answer, line by line."""
        for line in text.splitlines(keepends=True):
            await self.say(line)

    def new_id(self) -> str:
        """For a tool."""
        self._count += 1
        return f"{self.session.id}-{self.session.prompts}-{self._count}"

    def tool(self, id: str, title: str, kind: str, status: str = "pending", **more: Any) -> None:
        """A tool begins."""
        self.update("tool_call", toolCallId=id, title=title, kind=kind, status=status, **more)

    def tool_update(self, id: str, status: str, text: str = "", **more: Any) -> None:
        """News of a tool."""
        if text:
            more["content"] = [{"type": "content", "content": {"type": "text", "text": text}}]
        self.update("tool_call_update", toolCallId=id, status=status, **more)

    async def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask the client."""
        params = {"sessionId": self.session.id, **params}
        return await self.peer.request(method, params, dict[str, Any] | None) or {}  # type: ignore[arg-type]

    async def choose(self, tool: dict[str, Any], options: list[dict[str, Any]]) -> str:
        """Which option a person picks; nothing when the ask was cancelled."""
        reply = await self.request("session/request_permission", toolCall=tool, options=options)
        return str((reply.get("outcome") or {}).get("optionId") or "")

    async def allowed(self, tool: dict[str, Any]) -> bool:
        """Whether a person permits it. In the mode `auto` nobody is asked."""
        if self.session.mode == "auto":
            return True
        option = await self.choose(tool, OPTIONS)
        if option == "session":
            self.session.mode = "auto"
            self.update("current_mode_update", currentModeId="auto")
        return option in ("yes", "session")


async def words(turn: Turn, count: str) -> None:
    for number in range(int(count)):
        await turn.say(f"{VOCABULARY[number % len(VOCABULARY)]}{number + 1} ")


async def markdown(turn: Turn, _: str) -> None:
    await turn.stream(MARKDOWN)


async def think(turn: Turn, _: str) -> None:
    for word in THOUGHT.split():
        turn.update("agent_thought_chunk", content={"type": "text", "text": f"{word} "})
        await turn.pause()


async def look(turn: Turn, _: str) -> None:
    found = []
    async for entry in anyio.Path(turn.session.cwd).iterdir():
        if not entry.name.startswith(".") and await entry.is_file():
            found.append(entry.name)
    said = ""
    for name in sorted(found)[:MOST_FILES]:
        id, path = turn.new_id(), str(Path(turn.session.cwd) / name)
        turn.tool(id, f"Read {name}", "read", "in_progress", locations=[{"path": path}])
        await turn.pause(turn.pace * 5)
        try:
            lines = str((await turn.request("fs/read_text_file", path=path)).get("content")).count("\n")
        except RpcError as error:
            turn.tool_update(id, "failed", error.message)
            continue
        turn.tool_update(id, "completed", f"{lines} lines")
        said += f"- `{name}` has **{lines}** {'line' if lines == 1 else 'lines'}\n"
    await turn.stream(f"I looked around:\n\n{said}\n" if said else "There is no file here that I can read.\n")


async def write(turn: Turn, name: str) -> None:
    path = Path(turn.session.cwd) / name
    if ".." in path.parts or not path.is_relative_to(turn.session.cwd):
        await turn.say(f"`{name}` is outside this project, so I leave it alone.\n")
        return
    try:
        old: str | None = str((await turn.request("fs/read_text_file", path=str(path))).get("content"))
    except RpcError:
        old = None
    new = f"{old or ''}Written by the demo agent, prompt {turn.session.prompts}.\n"
    id = turn.new_id()
    call: dict[str, Any] = {
        "rawInput": {"path": str(path), "content": new},
        "locations": [{"path": str(path)}],
        "content": [{"type": "diff", "path": str(path), "oldText": old, "newText": new}],
    }
    turn.tool(id, f"Write {name}", "edit", **call)
    if not await turn.allowed({"toolCallId": id, "title": f"Write {name}", "kind": "edit", **call}):
        turn.tool_update(id, "failed", "not permitted")
        await turn.say(f"I did not write `{name}`.\n")
        return
    try:
        await turn.request("fs/write_text_file", path=str(path), content=new)
    except RpcError as error:
        turn.tool_update(id, "failed", error.message)
        await turn.say(f"I could not write `{name}`: {error.message}\n")
        return
    turn.tool_update(id, "completed")
    await turn.say(f"I wrote `{name}`.\n")


async def run(turn: Turn, command: str) -> None:
    id = turn.new_id()
    call: dict[str, Any] = {"rawInput": {"command": command, "cwd": turn.session.cwd}}
    turn.tool(id, command, "execute", **call)
    if not await turn.allowed({"toolCallId": id, "title": command, "kind": "execute", **call}):
        turn.tool_update(id, "failed", "not permitted")
        await turn.say("I did not run it.\n")
        return
    try:
        made = await turn.request("terminal/create", command="/bin/sh", args=["-c", command])
        terminal = str(made["terminalId"])
        shown = [{"type": "terminal", "terminalId": terminal}]
        turn.tool_update(id, "in_progress", content=shown)
        try:
            ended = await turn.request("terminal/wait_for_exit", terminalId=terminal)
            output = str((await turn.request("terminal/output", terminalId=terminal)).get("output") or "")
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(2):
                await turn.request("terminal/release", terminalId=terminal)
    except RpcError as error:
        turn.tool_update(id, "failed", error.message)
        await turn.say(f"I could not run it: {error.message}\n")
        return
    code = ended.get("exitCode")
    turn.tool_update(id, "completed" if code == 0 else "failed", output or "(no output)")
    await turn.say(f"`{command}` ended with {code if code is not None else ended.get('signal')}.\n")


async def ask(turn: Turn, _: str) -> None:
    colours = ("Red", "Green", "Blue")
    if (turn.client.get("elicitation") or {}).get("form") is not None:
        field = {"type": "string", "title": "Colour", "description": "Which colour shall it be?", "enum": colours}
        form = {"type": "object", "properties": {"colour": field}, "required": ["colour"]}
        reply = await turn.request(
            "elicitation/create", mode="form", message="Which colour shall it be?", requestedSchema=form
        )
        answer = (reply.get("content") or {}).get("colour") if reply.get("action") == "accept" else None
    else:
        options = [{"optionId": colour, "name": colour, "kind": "allow_once"} for colour in colours]
        tool = {"toolCallId": turn.new_id(), "title": "Which colour shall it be?", "kind": "other"}
        answer = await turn.choose(tool, options)
    await turn.say(f"You chose **{answer}**.\n" if answer else "You did not choose, so I take none.\n")


async def login(turn: Turn, _: str) -> None:
    if (turn.client.get("elicitation") or {}).get("url") is None:
        await turn.say("Nobody can open a page for me here.\n")
        return
    reply = await turn.request(
        "elicitation/create",
        mode="url",
        message="The demo needs no account; press the button all the same.",
        url="https://example.org/device?code=DEMO-1234",
        elicitationId=turn.new_id(),
    )
    done = reply.get("action") == "accept"
    await turn.say("Thank you, I am logged in.\n" if done else "Then I go on without an account.\n")


async def plan(turn: Turn, _: str) -> None:
    todo = ("Read the code", "Write a test", "Make it pass")
    text = "\n".join(f"{number}. {entry}" for number, entry in enumerate(todo, 1))
    id = turn.new_id()
    call = {"title": "Ready to start?", "kind": "switch_mode", "rawInput": {"plan": text}}
    turn.tool(id, "Ready to start?", "switch_mode", rawInput={"plan": text})
    if turn.session.mode != "auto":
        options = [
            {"optionId": "start", "name": "Start", "kind": "allow_once"},
            {"optionId": "no", "name": "Not like this", "kind": "reject_once"},
        ]
        if await turn.choose({"toolCallId": id, **call}, options) != "start":
            turn.tool_update(id, "failed", "the plan was not approved")
            await turn.say("Then let us think of another plan.\n")
            return
    turn.tool_update(id, "completed")
    for done in range(len(todo) + 1):
        entries = [
            {
                "content": entry,
                "priority": "medium",
                "status": "completed" if i < done else "in_progress" if i == done else "pending",
            }
            for i, entry in enumerate(todo)
        ]
        turn.update("plan", entries=entries)
        await turn.pause(turn.pace * 10)
    await turn.say("All three are done.\n")


async def slow(turn: Turn, seconds: str) -> None:
    left = float(seconds)
    id = turn.new_id()
    turn.tool(id, f"Work for {seconds} s", "other", "in_progress")
    said = ""
    while left > 0:
        step = min(1.0, left)
        await turn.pause(step)
        left -= step
        said += f"{left:g} s left\n"
        turn.tool_update(id, "in_progress", said)
    turn.tool_update(id, "completed", said)
    await turn.say("That took a while.\n")


async def team(turn: Turn, _: str) -> None:
    lead = turn.new_id()
    turn.tool(lead, "Ask three helpers", "think", "in_progress")
    nested = {"_meta": {"demo": {"parentToolUseId": lead}}}
    for name, title in (("Ada", "Search the code"), ("Ben", "Read the tests"), ("Cleo", "Check the docs")):
        id = turn.new_id()
        turn.tool(id, f"{name}: {title}", "search", "in_progress", **nested)
        await turn.pause(turn.pace * 5)
        turn.update("agent_message_chunk", content={"type": "text", "text": f"{name} is done. "}, **nested)
        turn.tool_update(id, "completed", f"{name} found nothing unusual", **nested)
    turn.tool_update(lead, "completed", "three helpers reported")
    await turn.say("My helpers found **nothing unusual**, neither in the code nor in the tests nor in `docs/`.\n")


async def fail(turn: Turn, _: str) -> None:
    raise RpcError(INTERNAL_ERROR, "the demo agent was told to fail")


async def crash(turn: Turn, _: str) -> None:
    sys.stderr.write("demo agent: told to crash\n")
    sys.stderr.flush()
    os._exit(1)


STEPS: dict[str, Callable[[Turn, str], Awaitable[None]]] = {
    "words": words,
    "markdown": markdown,
    "think": think,
    "look": look,
    "write": write,
    "run": run,
    "ask": ask,
    "login": login,
    "plan": plan,
    "slow": slow,
    "team": team,
    "fail": fail,
    "crash": crash,
}
