"""The model server plays the script that a prompt carries, and shows what reached it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.model_server.script import MARKDOWN, next_step, read_script, script
from tests.model_server.server import ModelServer

TOOLS = [{"name": name, "input_schema": {}} for name in ("Bash", "Write", "AskUserQuestion", "Agent")]


class Agent:
    """A tiny agent: it keeps the conversation and reads the stream."""

    def __init__(self, model: ModelServer, http: aiohttp.ClientSession) -> None:
        self.model = model
        self.http = http
        self.messages: list[dict[str, Any]] = []

    async def ask(self, content: Any, **more: Any) -> list[dict[str, Any]]:
        self.messages.append({"role": "user", "content": content})
        body = {"model": "m", "stream": True, "messages": self.messages, "tools": TOOLS, **more}
        async with self.http.post(f"{self.model.url}/v1/messages?beta=true", json=body) as response:
            assert response.status == 200
            text = await response.text()
        events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
        self.messages.append({"role": "assistant", "content": "…"})
        return events


@pytest.fixture
async def agent() -> AsyncIterator[Agent]:
    async with ModelServer() as model, aiohttp.ClientSession() as http:
        yield Agent(model, http)


def words(events: list[dict[str, Any]]) -> str:
    return "".join(event["delta"].get("text", "") for event in events if event["type"] == "content_block_delta")


def calls(events: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    text: dict[int, str] = {}
    for event in events:
        if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
            found.append((event["content_block"]["name"], event["index"]))
        if event["type"] == "content_block_delta" and event["delta"]["type"] == "input_json_delta":
            text[event["index"]] = text.get(event["index"], "") + event["delta"]["partial_json"]
    return [(name, json.loads(text[index])) for name, index in found]


def ending(events: list[dict[str, Any]]) -> str:
    (found,) = [event["delta"]["stop_reason"] for event in events if event["type"] == "message_delta"]
    return str(found)


async def test_each_answer_is_the_next_step_and_then_the_tool_result_is_said_again(agent: Agent) -> None:
    prompt = script("Hello there.", {"words": 3}, {"tools": [{"do": "bash", "command": "ls"}]})
    assert words(await agent.ask(prompt)) == "Hello there."
    assert words(await agent.ask("go on")) == "amber1 birch2 cedar3 "
    events = await agent.ask("go on")
    assert calls(events) == [("Bash", {"command": "ls", "description": "a scripted command"})]
    assert ending(events) == "tool_use"
    result = [{"type": "tool_result", "tool_use_id": "x", "content": [{"type": "text", "text": "a.txt"}]}]
    last = await agent.ask(result)
    assert words(last) == "The tool said: a.txt"
    assert ending(last) == "end_turn"


async def test_a_newer_script_takes_over(agent: Agent) -> None:
    await agent.ask(script("one", "two"))
    assert words(await agent.ask(script("three"))) == "three"
    assert words(await agent.ask("and now?")) == "Done."


async def test_without_a_script_it_says_what_the_person_said(agent: Agent) -> None:
    assert words(await agent.ask("plain words")) == "You said: plain words"


async def test_thinking_markdown_and_several_tools_come_in_one_answer(agent: Agent) -> None:
    tools = [
        {"do": "write", "path": "/a", "text": "b"},
        {"do": "ask", "question": "Which?", "options": ["Red", "Blue"]},
        {"do": "task", "prompt": "look", "background": False},
        {"tool": "Other", "input": {"x": 1}},
    ]
    events = await agent.ask(script({"think": 2, "markdown": True, "tools": tools}))
    assert words(events) == MARKDOWN
    kinds = [event["content_block"]["type"] for event in events if event["type"] == "content_block_start"]
    assert kinds == ["thinking", "text", "tool_use", "tool_use", "tool_use", "tool_use"]
    assert [name for name, _ in calls(events)] == ["Write", "AskUserQuestion", "Agent", "Other"]
    assert calls(events)[0][1] == {"file_path": "/a", "content": "b"}


async def test_a_tool_that_is_not_offered_is_told_in_words(agent: Agent) -> None:
    events = await agent.ask(script({"tools": [{"do": "read", "path": "/a"}]}))
    assert "No tool for 'read' is offered" in words(events)
    assert ending(events) == "end_turn"


async def test_the_plan_file_is_found_in_the_request(agent: Agent) -> None:
    prompt = script({"tools": [{"do": "write", "path": "$PLAN", "text": "1. do it"}]})
    events = await agent.ask(prompt, system="Write it to /home/x/.config/plans/quiet-fox.md first.")
    assert calls(events)[0][1]["file_path"] == "/home/x/.config/plans/quiet-fox.md"


async def test_an_error_carries_its_headers_and_is_over_after_so_many_times(agent: Agent) -> None:
    prompt = script({"error": 429, "retry_after": 2, "times": 1, "message": "slow down", "say": "fine"})
    body = {"stream": True, "messages": [{"role": "user", "content": prompt}]}
    async with agent.http.post(f"{agent.model.url}/v1/messages", json=body) as response:
        assert (response.status, response.headers["retry-after"]) == (429, "2")
        found = await response.json()
        assert found["error"] == {"type": "rate_limit_error", "message": "slow down"}
    assert words(await agent.ask(prompt)) == "fine"


async def test_a_cut_stream_ends_without_its_end(agent: Agent) -> None:
    with pytest.raises(aiohttp.ClientPayloadError):
        await agent.ask(script({"words": 3, "cut": True}))


async def test_a_hanging_answer_lasts_until_somebody_hangs_up(agent: Agent) -> None:
    body = {"stream": True, "messages": [{"role": "user", "content": script({"words": 2, "hang": True})}]}
    async with agent.http.post(f"{agent.model.url}/v1/messages", json=body) as response:
        text = b""
        while b"birch2" not in text:
            text += await response.content.readany()
    assert b"message_stop" not in text


async def test_requests_can_be_looked_at(agent: Agent) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    await agent.ask([{"type": "text", "text": script("seen")}, picture], system="be brief")
    seen = await agent.model.until(lambda one: "image/png" in one.text)
    assert seen.path == "/v1/messages"
    assert seen.body["system"] == "be brief"
    assert seen.headers["content-type"] == "application/json"


async def test_an_answer_can_be_had_in_one_piece_and_tokens_are_counted(agent: Agent) -> None:
    body = {
        "messages": [
            {"role": "user", "content": script({"say": "whole", "tools": [{"do": "bash", "command": "w"}]})}
        ]
    }
    async with agent.http.post(f"{agent.model.url}/v1/messages", json={**body, "tools": TOOLS}) as response:
        found = await response.json()
    assert [block["type"] for block in found["content"]] == ["text", "tool_use"]
    async with agent.http.post(f"{agent.model.url}/v1/messages/count_tokens", json=body) as response:
        assert (await response.json())["input_tokens"] > 0


def test_a_script_with_an_unknown_word_is_refused_where_it_is_written() -> None:
    with pytest.raises(ValueError, match="sya"):
        script({"sya": "x"})
    assert read_script("no script here") is None
    broken = read_script("SCRIPT [{]")
    assert broken is not None
    assert "cannot be read" in broken[0].say


def test_a_script_is_found_behind_other_words() -> None:
    from tests.model_server.script import Conversation, Said

    said = (Said("person", f"<reminder>x</reminder>\n{script('a', 'b')} and more"), Said("model", "a"))
    step, _ = next_step(Conversation(said, {}))
    assert step.say == "b"
