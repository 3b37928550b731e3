"""The web chat is a chat server: what was posted stays, and a page that was away learns what it missed."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest

from beambot.api import Attachment, BeambotError, MessageRef, Outgoing, PlatformError, Refused, ThreadRef
from beambot.api import outbound as out
from platforms.web.chat import MIGRATIONS, Chat
from platforms.web.client import QUEUE_FRAMES, Browser, Hub


class Page:
    """A page without a screen."""

    def __init__(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        self.ws = ws

    async def until(self, kind: str) -> dict[str, Any]:
        while True:
            frame: dict[str, Any] = (await self.ws.receive(timeout=5)).json()
            if frame["t"] == kind:
                return frame

    async def open(self, thread: ThreadRef, since: int = 0) -> dict[str, Any]:
        await self.ws.send_json({"t": "open", "thread": thread.chat, "since": since})
        return await self.until("changes" if since else "snapshot")


@contextlib.asynccontextmanager
async def page(stage: Any) -> AsyncIterator[Page]:
    async with stage.client() as session, session.ws_connect("/ws") as ws:
        yield Page(ws)


async def test_posts_edits_and_receipts_survive_a_restart(stage: Any) -> None:
    thread = await stage.thread("Kept")
    ref = await stage.post(thread, out.Markdown("first"))
    await stage.edit(ref, out.Markdown("second"), buttons=((out.Button("Go", "g"),),))
    await stage.platform.mark_thread(thread, "waiting")
    await stage.stop()
    await stage.start()
    async with page(stage) as one:
        (row,) = (await one.until("hello"))["threads"]
        assert (row["title"], row["state"]) == ("Kept", "waiting")
        (message,) = (await one.open(thread))["messages"]
        assert message["blocks"][0]["html"] == ["<p>second</p>"]
        assert message["buttons"][0][0]["data"] == "g"
        await stage.edit(ref, out.Markdown("second and third"))
        edit = await one.until("edit")
        assert edit["base"] == message["seq"]
        assert edit["patch"]["grown"] == [[0, False, 1, [[0, 9, " and third</p>"]]]]


async def test_page_that_was_away_gets_what_changed_and_nothing_else(stage: Any) -> None:
    thread = await stage.thread()
    refs = [await stage.post(thread, out.Markdown(f"m{n}"), key=f"k{n}") for n in range(3)]
    async with page(stage) as one:
        seen = (await one.open(thread))["seq"]
    await stage.edit(refs[1], out.Markdown("changed"), key="k1")
    await stage.platform.delete(refs[2])
    async with page(stage) as one:
        changes = await one.open(thread, seen)
        assert [message["id"] for message in changes["messages"]] == [int(refs[1].message)]
        assert changes["gone"] == [int(refs[2].message)]


async def test_page_that_was_away_over_a_restart_misses_nothing(stage: Any) -> None:
    thread = await stage.thread()
    ref = await stage.post(thread, out.Markdown("one"))
    for _ in range(5):
        await stage.platform.post(thread, Outgoing("k", (out.Markdown("one"),)))
    async with page(stage) as one:
        seen = (await one.open(thread))["seq"]
    await stage.stop()
    await stage.start()
    await stage.edit(ref, out.Markdown("two"))
    async with page(stage) as one:
        (message,) = (await one.open(thread, seen))["messages"]
        assert message["blocks"][0]["html"] == ["<p>two</p>"]


async def test_page_that_was_away_too_long_gets_a_snapshot_with_more_above(stage: Any) -> None:
    thread = await stage.thread()
    first = await stage.post(thread, out.Markdown("first"), key="first")
    async with page(stage) as one:
        since = (await one.open(thread))["seq"]
    for number in range(70):
        await stage.post(thread, out.Markdown(f"m{number}"), key=f"k{number}")
    async with page(stage) as one:
        await one.ws.send_json({"t": "open", "thread": thread.chat, "since": since})
        snapshot = await one.until("snapshot")
        assert snapshot["more"]
        assert len(snapshot["messages"]) == 60
        before = str(snapshot["messages"][0]["id"])
        await one.ws.send_json({"t": "earlier", "thread": thread.chat, "before": before})
        earlier = await one.until("earlier")
        assert earlier["messages"][0]["id"] == int(first.message)
        assert not earlier["more"]


async def test_message_of_a_person_is_shown_to_others_only_when_beambot_has_it(stage: Any) -> None:
    thread = await stage.thread()
    during: list[int] = []

    async def look(_: Any) -> None:
        async with page(stage) as other:
            during.append(len((await other.open(thread))["messages"]))

    stage.inbox.on_put = look
    async with page(stage) as one:
        await one.open(thread)
        await one.ws.send_json({"t": "say", "id": "client-0001", "thread": thread.chat, "text": "hello"})
        message = (await one.until("post"))["message"]
        assert (message["text"], message["receipt"], message["client"]) == ("hello", "received", "client-0001")
        await one.until("ok")
        await stage.platform.react(MessageRef(thread, str(message["id"])), "working")
        assert (await one.until("receipt"))["receipt"] == "working"
    assert during == [0]


async def test_answer_to_a_press_reaches_the_presser_alone(stage: Any) -> None:
    thread = await stage.thread()
    ref = await stage.post(thread, out.Notice("May it?", "ask"), buttons=((out.Button("Allow", "a"),),))
    async with page(stage) as one:
        frame = {"t": "press", "id": "client-0001", "thread": thread.chat, "message": ref.message, "data": "a"}
        await one.ws.send_json(frame)
        inbound = await stage.inbox.wait()
        await stage.platform.ack("somebody/else/client-0002", "not for you")
        await stage.platform.ack(inbound.body.handle, "Allowed")
        ack = await one.until("ack")
        assert (ack["id"], ack["text"]) == ("client-0001", "Allowed")


async def test_file_goes_up_into_a_message_and_comes_down_again(stage: Any, tmp_path: Path) -> None:
    thread = await stage.thread()
    async with stage.client() as session:
        async with session.post("/upload?name=..%2F.env", data=b"abc") as answer:
            file = await answer.json()
        async with session.ws_connect("/ws") as ws:
            frame = {"t": "say", "id": "client-0001", "thread": thread.chat, "files": [file["handle"]]}
            await ws.send_json(frame)
            inbound = await stage.inbox.wait()
    (attachment,) = inbound.body.attachments
    path = await stage.platform.download(attachment, tmp_path)
    assert path.parent == tmp_path
    assert path.name == "env"
    assert path.read_bytes() == b"abc"
    with pytest.raises(PlatformError):
        await stage.platform.download(Attachment("nosuchhandle"), tmp_path)


async def test_file_of_beambot_is_offered_and_cannot_run_in_the_page(stage: Any, tmp_path: Path) -> None:
    thread = await stage.thread()
    (tmp_path / "a.html").write_text("<script>alert(1)</script>")
    await stage.platform.upload(thread, tmp_path / "a.html", "a.html", "look")
    with (tmp_path / "big").open("wb") as big:
        big.truncate(10 * 1024 * 1024 + 1)
    with pytest.raises(Refused):
        await stage.platform.upload(thread, tmp_path / "big", "big")
    async with stage.client() as session, session.ws_connect("/ws") as ws:
        (message,) = (await Page(ws).open(thread))["messages"]
        async with session.get(f"/files/{message['files'][0]['handle']}") as answer:
            assert answer.headers["Content-Disposition"] == "attachment"
            assert answer.content_type == "application/octet-stream"
            assert "sandbox" in answer.headers["Content-Security-Policy"]


async def test_slow_browser_is_told_the_newest_state_and_slows_no_one() -> None:
    hub, slow = Hub(), Browser("local", "c")
    hub.add(slow)
    slow.show("t", 0)
    sent: list[str] = []
    caught_up: list[int] = []
    may_go_on = anyio.Event()

    async def send(text: str) -> None:
        sent.append(text)
        await may_go_on.wait()

    async def catch_up(_: str, since: int) -> tuple[int, str]:
        caught_up.append(since)
        return (5, "old") if since == 0 else (5000, "newest")

    async def allowed() -> bool:
        return True

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(slow.write, send, catch_up, allowed)
        await anyio.wait_all_tasks_blocked()
        for seq in range(6, 5001):
            hub.to_thread("t", seq, f"event {seq}")
        assert len(slow._queue) <= QUEUE_FRAMES
        may_go_on.set()
        await anyio.wait_all_tasks_blocked()
        assert caught_up == [0, 5]
        assert sent == ["old", "newest"]
        hub.to_thread("t", 5001, "event 5001")
        await anyio.wait_all_tasks_blocked()
        assert sent[-1] == "event 5001"
        tasks.cancel_scope.cancel()


async def test_browser_that_takes_no_answers_has_to_connect_again() -> None:
    stuck = Browser("local", "c")

    async def send(text: str) -> None:
        raise AssertionError(text)

    async def catch_up(_: str, since: int) -> tuple[int, str]:
        raise AssertionError(since)

    async def allowed() -> bool:
        return True

    for number in range(QUEUE_FRAMES + 1):
        stuck.offer(0, f"answer {number}")
    with anyio.fail_after(1):
        await stuck.write(send, catch_up, allowed)


async def test_what_is_on_the_disk_is_what_is_shown(stage: Any) -> None:
    """An edit may be cut off after it was written and before it was told to the pages."""
    thread = await stage.thread()
    ref = await stage.post(thread, out.Markdown("before"))
    chat = await stage.platform.chat()
    await chat.rewrite(int(ref.message), out.encode(Outgoing("k", (out.Markdown("after"),))))
    async with page(stage) as one:
        (message,) = (await one.open(thread))["messages"]
        assert message["blocks"][0]["html"] == ["<p>after</p>"]


async def test_newer_and_broken_databases_are_refused_clearly(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "web.db")
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.close()
    with pytest.raises(BeambotError, match="newer beambot"):
        await Chat.open(tmp_path)
    (tmp_path / "web.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(BeambotError, match="cannot be used"):
        await Chat.open(tmp_path)
