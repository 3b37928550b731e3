"""The page of the simulated Telegram: its server, and in a real Chromium what a person sees."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, MessageEntity

from beambot.api import BeambotError
from platforms.telegram.twin import UNLIMITED, Settings, Twin
from platforms.telegram.twin.simulate import command, run_command
from platforms.telegram.twin.simulate.web import Web

SETTINGS = Settings(has_topics_enabled=True, allows_users_to_create_topics=True)
HOSTILE = '<img src=x onerror="alert(1)"><script>alert(2)</script>'
KEYBOARD = InlineKeyboardMarkup(
    [
        [
            InlineKeyboardButton("Allow", callback_data="a:1", api_kwargs={"style": "success"}),
            InlineKeyboardButton("Deny", callback_data="a:2", api_kwargs={"style": "danger"}),
        ]
    ]
)


@pytest.fixture
async def twin() -> AsyncIterator[Twin]:
    async with Twin(settings=SETTINGS, limits=UNLIMITED) as twin:
        for name, number in (("Ada", 11), ("Bob", 12)):
            twin.world.private(twin.person(name, number).user)
        twin.forum("Team", *twin.people)
        yield twin


@pytest.fixture
async def web(twin: Twin) -> AsyncIterator[Web]:
    async with Web(twin) as page:
        yield page


@pytest.fixture
async def client(web: Web) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(web.url, headers={"Origin": web.url.rstrip("/")}) as client:
        yield client


@pytest.fixture
async def bot(twin: Twin) -> AsyncIterator[Bot]:
    async with Bot(twin.token, base_url=twin.base_url) as bot:
        yield bot


async def test_person_says_and_sees(twin: Twin, client: aiohttp.ClientSession, bot: Bot) -> None:
    async with client.post("/act/say", json={"person": 11, "chat": 11, "text": "hello"}) as answer:
        assert answer.status == 200
    assert (await bot.get_updates(timeout=0))[0].message.text == "hello"
    await bot.send_message(11, "hi", reply_markup=KEYBOARD)
    async with client.get("/state", params={"person": 11, "chat": 11}) as answer:
        state = await answer.json()
    assert [one["text"] for one in state["messages"]] == ["hello", "hi"]
    assert [one["text"] for one in state["messages"][1]["keyboard"][0]] == ["Allow", "Deny"]
    assert [one["name"] for one in state["chats"]] == ["Beambot", "Team"]
    async with client.get("/transcript", params={"chat": 11}) as answer:
        assert "Beambot posted #2: hi\n[Allow] [Deny]" in await answer.text()


async def test_press_tells_what_the_bot_answers(twin: Twin, client: aiohttp.ClientSession, bot: Bot) -> None:
    await twin.people[0].starts()
    sent = await bot.send_message(11, "May it?", reply_markup=KEYBOARD)
    offset = twin.updates.waiting[-1].id + 1

    async def answer() -> None:
        query = (await bot.get_updates(offset=offset, timeout=20))[0].callback_query
        await bot.answer_callback_query(query.id, f"{query.data} by {query.from_user.first_name}")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(answer)
        pressed = {"person": 11, "chat": 11, "message": sent.message_id, "row": 0, "column": 1}
        async with client.post("/act/press", json=pressed) as response:
            assert await response.json() == {"answered": True, "toast": "a:2 by Ada", "alert": False}
    async with client.post("/act/press", json={**pressed, "row": 7}) as response:
        assert await response.json() == {"error": "the button is gone"}


async def test_topics_files_edits_and_deletions(twin: Twin, client: aiohttp.ClientSession, bot: Bot) -> None:
    forum = next(chat for chat in twin.world.chats.values() if chat.type == "supergroup")
    async with client.post("/act/topic", json={"person": 12, "chat": forum.id, "text": "Ideas"}) as answer:
        topic = (await answer.json())["topic"]
    said = {"person": 12, "chat": forum.id, "topic": topic, "text": "first"}
    async with client.post("/act/say", json=said) as answer:
        number = (await answer.json())["message"]
    async with client.post("/act/edit", json={**said, "message": number, "text": "second"}) as answer:
        assert await answer.json() == {}
    form = aiohttp.FormData()
    form.add_field("file", b"abc", filename="notes.txt")
    where = {"person": 12, "chat": forum.id, "topic": topic, "caption": "look"}
    async with client.post("/upload", params=where, data=form) as answer:
        assert await answer.json() == {}
    media = forum.last.content.media
    assert media is not None
    async with client.get(f"/files/{media.file.id}") as answer:
        assert await answer.read() == b"abc"
        assert answer.headers["Content-Disposition"] == "attachment"
    async with client.post("/act/react", json={**said, "message": number, "emoji": "👍"}):
        pass
    assert forum.screen().endswith("Bob: second {👍}\nBob: <document notes.txt> look")
    async with client.post("/act/delete", json={**said, "message": number}):
        pass
    async with client.post("/act/delete", json={**said, "message": number}) as answer:
        assert await answer.json() == {"error": "the message is gone"}
    async with client.post("/act/say", json={**said, "text": " "}) as answer:
        assert await answer.json() == {"error": "Bad Request: text must be non-empty"}


async def test_events_tell_of_changes(twin: Twin, client: aiohttp.ClientSession) -> None:
    async with client.get("/events") as stream:
        first = await stream.content.readline()
        await stream.content.readline()
        await twin.people[0].says(None, "x")
        second = await stream.content.readline()
        assert int(second.split()[1]) > int(first.split()[1])


async def test_other_sites_may_neither_act_nor_read(web: Web) -> None:
    act = {"person": 11, "chat": 11, "text": "x"}
    async with aiohttp.ClientSession(web.url) as client:
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {}):
            async with client.post("/act/say", json=act, headers=headers) as answer:
                assert answer.status == 403
        async with client.get("/state", headers={"Host": "evil.example"}) as answer:
            assert answer.status == 403
        async with client.get("/") as answer:
            assert answer.status == 200
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        for path in ("/page/..%2f__init__.py", "/page/nothing.js", "/act/say", "/files/x", "/state?person=99"):
            async with client.get(path) as answer:
                assert answer.status in (404, 405)


async def test_command_prints_where_to_go(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["--port", "0", "--web-port", "0", "--person", "Eve:7", "--api", "10.0", "--no-topics"]
    options = command._parser().parse_args(args)
    async with anyio.create_task_group() as tasks:
        started = anyio.Event()

        async def serve() -> None:
            await command.serve(options, started=started)

        tasks.start_soon(serve)
        with anyio.fail_after(5):
            await started.wait()
        said = capsys.readouterr().out
        base = said.partition('base_url: "')[2].partition('"')[0]
        token = said.partition("TELEGRAM_BOT_TOKEN=")[2].partition("\n")[0]
        assert "{name: eve, role: owner, telegram: 7}" in said
        async with Bot(token, base_url=base) as bot:
            assert not (await bot.get_me()).has_topics_enabled
        tasks.cancel_scope.cancel()


def test_command_refuses_what_it_cannot_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for args in (["--port", "70000"], ["--token", "x"], ["--api", "new"], ["--person", "Ada"]):
        with pytest.raises(SystemExit):
            run_command(args, tmp_path)
    assert "such as Ada:11" in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(BeambotError, match="cannot listen"):
            run_command(["--port", "0", "--web-port", str(taken.getsockname()[1])], tmp_path)


# ── in a browser ─────────────────────────────────────────────────────────────────────────────────────


@contextlib.asynccontextmanager
async def opened(browser: Any, web: Web, **more: Any) -> AsyncIterator[Any]:
    """The page; anything it complains about fails the test."""
    context = await browser.new_context(**more)
    try:
        page = await context.new_page()
        page.set_default_timeout(10_000)
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}"))
        await page.goto(web.url)
        yield page
        assert complaints == []
    finally:
        await context.close()


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_person_talks_to_the_bot_on_a_phone(
    browser: Any, twin: Twin, web: Web, bot: Bot, scheme: str, tmp_path: Path
) -> None:
    pytest.importorskip("playwright")
    from playwright.async_api import expect

    async with opened(browser, web, viewport={"width": 400, "height": 800}, color_scheme=scheme) as page:
        await page.fill("#text", "hello")
        await page.press("#text", "Enter")
        await expect(page.locator(".mine .text")).to_have_text("hello")
        offset = (await bot.get_updates(timeout=5))[-1].update_id + 1
        text = f"Bold and code, {HOSTILE}\nx = 1\nsaid so"
        at = len("Bold and code, ") + len(HOSTILE) + 1
        entities = [
            MessageEntity("bold", 0, 4),
            MessageEntity("code", 9, 4),
            MessageEntity("pre", at, 5, language="python"),
            MessageEntity("blockquote", at + 6, 7),
        ]
        sent = await bot.send_message(11, text, entities=entities, reply_markup=KEYBOARD)
        bubble = page.locator(".message").nth(1)
        await expect(bubble.locator("strong")).to_have_text("Bold")
        await expect(bubble.locator("code")).to_have_text("code")
        await expect(bubble.locator("pre")).to_have_attribute("data-language", "python")
        await expect(bubble.locator("blockquote")).to_have_text("said so")
        await expect(bubble.locator(".text")).to_contain_text("<script>alert(2)</script>")
        assert await page.locator("main img, main script").count() == 0
        blocks = [
            {"type": "heading", "text": HOSTILE, "size": 2},
            {"type": "list", "items": [{"blocks": [{"type": "paragraph", "text": "step"}], "has_checkbox": True}]},
            {"type": "table", "cells": [[{"text": "wide " * 30}, {"text": "b"}]]},
        ]
        await bot.do_api_request("sendRichMessage", {"chat_id": 11, "rich_message": {"blocks": blocks}})
        await expect(page.locator(".rich h2")).to_have_text(HOSTILE)
        box = await page.get_by_role("button", name="Allow").bounding_box()
        assert box["height"] >= 44

        async with anyio.create_task_group() as tasks:

            async def answer() -> None:
                query = (await bot.get_updates(offset=offset, timeout=20))[0].callback_query
                await bot.answer_callback_query(query.id, "Allowed once")
                await bot.edit_message_text("Allowed by Ada", 11, sent.message_id)

            tasks.start_soon(answer)
            await page.get_by_role("button", name="Allow").click()
        await expect(page.locator(".toast")).to_have_text("Allowed once")
        await expect(bubble.locator(".text")).to_have_text("Allowed by Ada")
        await expect(page.locator(".key")).to_have_count(0)
        assert await page.evaluate("document.documentElement.scrollWidth") == 400
        await page.click("#menu")
        await expect(page.get_by_role("button", name="Team")).to_be_in_viewport()
        await page.get_by_role("button", name="Team").click()
        await expect(page.locator("#name")).to_have_text("Team")
        await expect(page.locator(".message")).to_have_count(0)


@pytest.mark.browser
async def test_two_people_share_a_group_and_a_draft_is_stopped(
    browser: Any, twin: Twin, web: Web, bot: Bot
) -> None:
    pytest.importorskip("playwright")
    from playwright.async_api import expect

    async with opened(browser, web, viewport={"width": 1100, "height": 700}) as page:
        await page.get_by_role("button", name="Team").click()
        await page.fill("#text", "from Ada")
        await page.click("#send")
        await expect(page.locator(".mine .text")).to_have_text("from Ada")
        await page.select_option("#person", label="Bob")
        await page.get_by_role("button", name="Team").click()
        await expect(page.locator(".message:not(.mine) .author")).to_have_text("Ada")
        await page.get_by_role("button", name="Reply", exact=True).click()
        await page.fill("#text", "to Ada")
        await page.press("#text", "Enter")
        await expect(page.locator(".mine .quoted")).to_have_text("Ada from Ada")
        await page.get_by_role("button", name="Beambot").click()
        await twin.people[1].starts()
        draft = {"chat_id": 12, "draft_id": 3, "rich_message": {"markdown": "growing"}, "can_stop": True}
        await bot.do_api_request("sendRichMessageDraft", draft)
        await expect(page.locator(".draft .text")).to_have_text("growing")
        await page.get_by_role("button", name="Stop").click()
        await expect(page.locator(".draft")).to_have_count(0)
        assert twin.updates.waiting[-1].kind == "stopped_message_generation"
