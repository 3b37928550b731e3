"""The webhook: only Telegram is heard, and it is told yes only when a message is kept."""

from __future__ import annotations

import io
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec

from beambot.api import BeambotError, Inbound
from beambot.api import inbound as into
from platforms.telegram.receiving.webhook import HEADER, LARGEST

Stage = Callable[..., Any]
SECRET = "a-secret-of-this-test"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@asynccontextmanager
async def hooked(telegram: Stage, **more: Any) -> AsyncIterator[tuple[Any, str]]:
    port = free_port()
    url = f"http://127.0.0.1:{port}/telegram/hook"
    settings = {"receive": "webhook", "webhook_url": url, "webhook_port": port, "webhook_secret": SECRET, **more}
    async with telegram(**settings) as t:
        yield t, url


def update(number: int, text: str = "hi") -> dict[str, Any]:
    person = {"id": 11, "is_bot": False, "first_name": "Ana"}
    chat = {"id": 11, "type": "private"}
    return {
        "update_id": number,
        "message": {"message_id": number, "date": 1, "chat": chat, "from": person, "text": text},
    }


async def post(url: str, body: Any, **headers: str) -> int:
    data = io.BytesIO(msgspec.json.encode(body))
    async with aiohttp.ClientSession() as session, session.post(url, data=data, headers=headers) as answer:
        return answer.status


async def test_messages_arrive_in_their_order(telegram: Stage) -> None:
    async with hooked(telegram) as (t, _):
        for number in range(5):
            await t.ana.says(None, f"message {number}")
        await t.confirmed()
        assert [one.body.text for one in t.inbox.items] == [f"message {number}" for number in range(5)]


async def test_only_who_knows_the_secret_is_heard(telegram: Stage) -> None:
    async with hooked(telegram) as (t, url):
        assert await post(url, update(1)) == 403
        assert await post(url, update(1), **{HEADER: "wrong"}) == 403
        assert await post(url, update(1), **{HEADER: SECRET + "x"}) == 403
        assert t.inbox.puts == []
        assert await post(url, update(1), **{HEADER: SECRET}) == 200
        assert len(t.inbox.items) == 1


async def test_what_is_not_an_update_is_refused(telegram: Stage) -> None:
    async with hooked(telegram) as (t, url):
        assert await post(url, ["no"], **{HEADER: SECRET}) == 400
        assert await post(url, {"no": 1}, **{HEADER: SECRET}) == 400
        assert await post(url, update(1, "x" * LARGEST), **{HEADER: SECRET}) == 413
        assert await post(url + "/elsewhere", update(1), **{HEADER: SECRET}) == 404
        assert t.inbox.puts == []


async def test_yes_is_said_only_when_the_message_is_kept(telegram: Stage) -> None:
    async with hooked(telegram) as (t, url):
        put = t.inbox.put

        async def failing(inbound: Inbound) -> bool:
            raise BeambotError("the disk is full")

        t.inbox.put = failing
        assert await post(url, update(1), **{HEADER: SECRET}) == 503
        t.inbox.put = put
        assert await post(url, update(1), **{HEADER: SECRET}) == 200
        assert await post(url, update(1), **{HEADER: SECRET}) == 200
        assert len(t.inbox.items) == 1


async def test_album_is_put_together(telegram: Stage) -> None:
    async with hooked(telegram) as (t, _):
        await t.ana.uploads(None, ("a", b"a"), ("b", b"b"), caption="both")
        inbound = await t.inbox.wait_for_puts(1)
        assert isinstance(inbound.body, into.TextIn)
        assert [file.name for file in inbound.body.attachments] == ["a", "b"]


async def test_secret_is_made_where_none_is_given_and_stays_the_same(telegram: Stage) -> None:
    async with hooked(telegram, webhook_secret="") as (t, _):
        (first,) = [call.text("secret_token") for call in t.twin.called("setWebhook")]
        await t.stop()
        await t.start(t.tasks)
        assert [call.text("secret_token") for call in t.twin.called("setWebhook")] == [first, first]
        assert len(first) >= 32
        await t.ana.says(None, "hello")
        await t.confirmed()
        assert len(t.inbox.items) == 1


async def test_port_that_is_taken_is_told(telegram: Stage) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        settings = {"receive": "webhook", "webhook_url": f"http://127.0.0.1:{port}/", "webhook_port": port}
        async with telegram(**settings) as t:
            assert isinstance(t.error, BeambotError)
            assert "another program" in t.error.message
            assert "webhook_port" in t.error.fix
