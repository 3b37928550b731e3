"""The page in a real Chromium: what a person does and sees."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from beambot.api import MessageRef
from beambot.api import outbound as out

pytest.importorskip("playwright")
from playwright.async_api import Page, expect

pytestmark = pytest.mark.browser
ALLOW = (out.Button("Allow", "a:1", "primary"), out.Button("Deny", "a:2", "danger"))


@contextlib.asynccontextmanager
async def opened(browser: Any, stage: Any, *, quiet: bool = True, **more: Any) -> AsyncIterator[Page]:
    """A signed-in page; anything it complains about fails the test, unless the server goes away in it."""
    context = await browser.new_context(**more)
    try:
        page = await context.new_page()
        page.set_default_timeout(10_000)
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}"))
        await page.goto(await stage.platform.invitation())
        await page.wait_for_url(lambda url: "/enter" not in url)
        await expect(page.locator("#me")).to_contain_text("local")
        yield page
        if quiet:
            assert complaints == []
    finally:
        await context.close()


async def say(page: Page, text: str) -> None:
    await page.fill("#text", text)
    await page.press("#text", "Enter")


async def test_message_is_sent_and_its_receipts_follow(browser: Any, stage: Any) -> None:
    async with opened(browser, stage) as page:
        await expect(page.locator("#welcome")).to_be_visible()
        await page.fill("#text", "first line")
        await page.press("#text", "Shift+Enter")
        await page.keyboard.type("second line")
        await page.press("#text", "Enter")
        inbound = await stage.inbox.wait()
        assert inbound.body.text == "first line\nsecond line"
        await expect(page.locator(".said .receipt")).to_have_text("Received")
        await expect(page.locator("#text")).to_have_value("")
        await expect(page.locator("#threads button")).to_have_text("first line")
        for receipt, words in (("queued", "Queued"), ("working", "Working"), ("done", "Done")):
            await stage.platform.react(MessageRef(inbound.thread, inbound.body.message), receipt)
            await expect(page.locator(".said .receipt")).to_have_text(words)
        await expect(page.locator(".said")).to_have_count(1)


async def test_answer_grows_in_one_message_and_the_reader_stays_at_its_end(browser: Any, stage: Any) -> None:
    thread = await stage.thread()
    async with opened(browser, stage) as page:
        ref = await stage.post(thread, out.Markdown("Paragraph 0", open=True))
        text = "Paragraph 0"
        for number in range(1, 60):
            text += f"\n\nParagraph {number} with \N{ROCKET} **bold**"
            await stage.edit(ref, out.Markdown(text, open=True), out.Tools((out.ToolLine("ls", "execute"),)))
        await stage.edit(ref, out.Markdown(text), out.Tools((out.ToolLine("ls", "execute", "done", 1.0),)))
        await expect(page.locator(".text .piece")).to_have_count(60)
        await expect(page.locator(".text.open")).to_have_count(0)
        await expect(page.locator(".text .piece").last).to_have_text("Paragraph 59 with \N{ROCKET} bold")
        await expect(page.locator(".message")).to_have_count(1)
        await expect(page.locator(".tools")).not_to_have_attribute("open", "")
        await expect(page.locator("#jump")).to_be_hidden()
        await expect(page.locator(".text .piece").last).to_be_in_viewport()
        await page.evaluate("document.getElementById('scroll').scrollTop = 0")
        await expect(page.locator("#jump")).to_be_visible()
        await stage.edit(ref, out.Markdown(text + "\n\nThe end"))
        await expect(page.locator(".text .piece")).to_have_count(61)
        assert await page.evaluate("document.getElementById('scroll').scrollTop") == 0
        await page.click("#jump")
        await expect(page.locator("text=The end")).to_be_in_viewport()


@pytest.mark.parametrize(("label", "data"), [("Allow", "a:1"), ("Deny", "a:2")])
async def test_ask_is_answered_with_a_thumb_sized_button(browser: Any, stage: Any, label: str, data: str) -> None:
    thread = await stage.thread()
    ask = (out.Notice("May the agent run this?", "ask"), out.Facts((out.Fact("Command", "make", True),)))
    ref = await stage.post(thread, *ask, buttons=(ALLOW,))
    async with opened(browser, stage, viewport={"width": 400, "height": 800}) as page:
        button = page.get_by_role("button", name=label)
        box = await button.bounding_box()
        assert box is not None
        assert box["height"] >= 44
        await button.click()
        inbound = await stage.inbox.wait()
        assert (inbound.body.data, inbound.body.message) == (data, ref.message)
        await expect(button).to_be_disabled()
        await stage.platform.ack(inbound.body.handle, "Noted")
        await expect(page.locator(".toast")).to_have_text("Noted")
        await stage.edit(ref, out.Notice("Answered by ana", "success"))
        await expect(page.locator(".action")).to_have_count(0)
        await expect(page.locator(".card")).to_have_count(0)
        await expect(page.locator(".notice.success")).to_have_text("Answered by ana")


async def test_form_is_filled_in_and_its_secret_is_not_kept(browser: Any, stage: Any) -> None:
    thread = await stage.thread()
    fields = (
        out.Field("db", "Which database?", "choice", ("SQLite", "PostgreSQL")),
        out.Field("more", "Extras?", "choices", ("metrics", "tracing")),
        out.Field("why", "Why?"),
        out.Field("key", "Key", secret=True),
    )
    await stage.post(thread, out.Notice("A question", "ask"), form=out.Form("f:1", fields, "Answer"))
    async with opened(browser, stage) as page:
        await page.get_by_label("PostgreSQL").check()
        await page.get_by_label("metrics").check()
        await page.get_by_label("tracing").check()
        await page.get_by_label("Why?").fill("because")
        await page.get_by_label("Key").fill("hush")
        assert await page.get_by_label("Key").get_attribute("type") == "password"
        await page.get_by_role("button", name="Answer").click()
        inbound = await stage.inbox.wait()
        assert inbound.body.fields == {
            "db": ("PostgreSQL",),
            "more": ("metrics", "tracing"),
            "why": ("because",),
            "key": ("hush",),
        }
        assert "hush" not in await page.evaluate("JSON.stringify(localStorage)")


async def test_stop_is_there_while_it_works_and_says_stop(browser: Any, stage: Any) -> None:
    thread = await stage.thread("Busy")
    async with opened(browser, stage) as page:
        await expect(page.locator("#stop")).to_be_hidden()
        await stage.platform.mark_thread(thread, "working")
        await expect(page).to_have_title("Working · Busy · beambot")
        await page.click("#stop")
        assert (await stage.inbox.wait()).body.text == "/stop"
        await stage.platform.mark_thread(thread, "idle")
        await expect(page.locator("#stop")).to_be_hidden()


async def test_reload_in_the_middle_of_an_answer_goes_on_where_it_was(browser: Any, stage: Any) -> None:
    thread = await stage.thread()
    await stage.thread("A newer one")
    ref = await stage.post(thread, out.Markdown("one", open=True))
    async with opened(browser, stage) as page:
        await page.locator(f"[data-thread='{thread.chat}']").click()
        await expect(page.locator(".text")).to_have_text("one")
        await page.reload()
        await stage.edit(ref, out.Markdown("one two", open=True))
        await expect(page.locator(".text")).to_have_text("one two")
        await stage.edit(ref, out.Markdown("one two three"))
        await expect(page.locator(".text")).to_have_text("one two three")
        await expect(page.locator(".message")).to_have_count(1)


async def test_two_browsers_see_the_same_thread(browser: Any, stage: Any) -> None:
    thread = await stage.thread()
    async with opened(browser, stage) as one, opened(browser, stage) as two:
        await say(one, "hello from one")
        await expect(two.locator(".said .bubble")).to_have_text("hello from one")
        ref = await stage.post(thread, out.Notice("May it?", "ask"), buttons=(ALLOW,))
        await two.get_by_role("button", name="Allow").click()
        await stage.inbox.wait(2)
        await stage.edit(ref, out.Notice("Allowed by local", "success"))
        for page in (one, two):
            await expect(page.locator(".notice.success")).to_have_text("Allowed by local")
            await expect(page.locator(".action")).to_have_count(0)


WIDE = "x" * 300
EVERYTHING = (
    out.Markdown(
        f"# {WIDE}\n\n{WIDE} `{WIDE}`\n\n```\n{WIDE}\n```\n\n| a | b |\n|--|--|\n| {WIDE} | {WIDE} |\n\n- {WIDE}"
    ),
    out.Markdown(WIDE, folded=True),
    out.Tools((out.ToolLine(WIDE, "execute", "running"), out.ToolLine(WIDE, "read", "done", 100.0, 3)), hidden=3),
    out.Change(WIDE, f"@@ -1 +1 @@\n-{WIDE}\n+{WIDE}", 1, 1),
    out.Facts((out.Fact(WIDE, WIDE, True), out.Fact("a", WIDE))),
    out.Notice(WIDE, "ask"),
    out.Footer(WIDE),
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_nothing_is_wider_than_a_phone(browser: Any, stage: Any, scheme: Any) -> None:
    thread = await stage.thread(WIDE)
    form = out.Form("f", (out.Field("a", WIDE, "choice", (WIDE,)), out.Field("b", WIDE, help=WIDE)), WIDE)
    await stage.post(thread, *EVERYTHING, buttons=((out.Button(WIDE, "a"), out.Button("Deny", "b")),), form=form)
    async with opened(browser, stage, viewport={"width": 400, "height": 800}, color_scheme=scheme) as page:
        await say(page, WIDE)
        await expect(page.locator(".said .receipt")).to_have_text("Received")
        await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        wide = await page.evaluate(
            """() => [document.documentElement, document.body, document.getElementById('scroll'),
                      ...document.querySelectorAll('.message')]
                .filter((one) => one.scrollWidth > one.clientWidth + 1)
                .map((one) => one.className || one.tagName)"""
        )
        assert wide == []
        await page.click("#menu")
        await expect(page.locator("#threads button")).to_be_in_viewport()
        await page.keyboard.press("Escape")
        await expect(page.locator("#threads button")).to_be_hidden()


HOSTILE = "<img src=x onerror=\"alert(1)\"><script>alert(2)</script><div class='notice error'>forged</div>"


async def test_lists_tables_and_the_words_of_subagents_have_their_place(browser: Any, stage: Any) -> None:
    thread = await stage.thread()
    table = "\n\n| a | b |\n|--|--|\n| " + "wide words " * 20 + "| " + "more of them " * 20 + "|"
    words = "1. a\n   - [x] b\n   - c\n2. d\n\n> [!WARNING]\n> Careful." + table + "\n\n```\n" + "x" * 300 + "\n```"
    ref = await stage.post(thread, out.Markdown("What", open=True, under="Task: look"))
    async with opened(browser, stage, viewport={"width": 400, "height": 800}) as page:
        await expect(page.locator(".under .text")).to_have_text("What")
        await stage.edit(ref, out.Markdown("What it **says**", under="Task: look"), out.Markdown(words))
        await expect(page.locator(".under .title")).to_have_text("Task: look")
        await expect(page.locator(".under .text strong")).to_have_text("says")
        await expect(page.locator(".text ol > li > ul > li")).to_have_count(2)
        await expect(page.get_by_role("img", name="done")).to_be_visible()
        await expect(page.locator(".alert .title")).to_have_text("Warning")
        for scrolled in (".text .table", ".text pre"):
            assert await page.locator(scrolled).evaluate("box => box.scrollWidth > box.clientWidth")
        assert await page.evaluate("document.documentElement.scrollWidth") == 400


async def test_hostile_text_does_nothing_anywhere(browser: Any, stage: Any) -> None:
    thread = await stage.thread(HOSTILE)
    tools = out.Tools((out.ToolLine(HOSTILE, "execute", "done"),))
    facts = out.Facts((out.Fact(HOSTILE, HOSTILE, True),))
    change = out.Change(HOSTILE, f"+{HOSTILE}", 1, 0)
    link = out.Markdown(f"{HOSTILE} [click](javascript:alert(3)) ![x](https://example.invalid/x.png)")
    form = out.Form(HOSTILE, (out.Field(HOSTILE, HOSTILE, "choice", (HOSTILE,), help=HOSTILE),), HOSTILE)
    buttons = ((out.Button(HOSTILE, "x"),),)
    await stage.post(thread, link, tools, facts, change, out.Footer(HOSTILE), form=form, buttons=buttons)
    stage.platform.commands = [(HOSTILE, HOSTILE)]
    async with opened(browser, stage) as page:
        await say(page, HOSTILE)
        await stage.inbox.wait()
        await page.fill("#text", "/")
        await expect(page.locator("#hints li")).to_have_count(1)
        await expect(page.locator(".said .bubble")).to_have_text(HOSTILE)
        assert await page.locator("#app img, #app script, #app .notice, a[href^='javascript']").count() == 0


async def test_commands_are_suggested(browser: Any, stage: Any) -> None:
    stage.platform.commands = [("status", "what is going on"), ("stop", "stop it"), ("new", "a new session")]
    await stage.thread()
    async with opened(browser, stage) as page:
        await page.locator("#text").press_sequentially("/st")
        await expect(page.locator("#hints li")).to_have_count(2)
        await page.press("#text", "ArrowDown")
        await page.press("#text", "Enter")
        await expect(page.locator("#text")).to_have_value("/stop ")
        await page.press("#text", "Enter")
        assert (await stage.inbox.wait()).body.text == "/stop"


async def test_what_was_written_while_beambot_was_away_arrives_exactly_once(browser: Any, stage: Any) -> None:
    await stage.thread()
    async with opened(browser, stage, quiet=False) as page:
        await stage.stop()
        await expect(page.locator("#banner")).to_contain_text("Not connected")
        await say(page, "while you were away")
        await expect(page.locator(".said .receipt")).to_have_text("Waiting for the connection")
        await stage.start()
        await stage.inbox.wait()
        await expect(page.locator("#banner")).to_be_hidden()
        await expect(page.locator(".said .receipt")).to_have_text("Received")
        await expect(page.locator(".said")).to_have_count(1)
        assert await page.evaluate("localStorage.getItem('beambot.unsent')") == "[]"
        await page.reload()
        await expect(page.locator(".said")).to_have_count(1)
        assert [item.body.text for item in stage.inbox.items] == ["while you were away"]


async def test_many_messages_written_while_away_arrive_in_their_order(browser: Any, stage: Any) -> None:
    await stage.thread()
    async with opened(browser, stage, quiet=False) as page:
        await stage.stop()
        for number in range(15):
            await say(page, f"message {number}")
        await stage.start()
        await stage.inbox.wait(15)
        assert [item.body.text for item in stage.inbox.items] == [f"message {number}" for number in range(15)]
        await expect(page.locator(".said.pending")).to_have_count(0)
        await expect(page.locator(".said")).to_have_count(15)


async def test_message_whose_receipt_was_lost_is_not_run_twice(browser: Any, stage: Any) -> None:
    await stage.thread()
    async with opened(browser, stage, quiet=False) as page:

        async def die(_: Any) -> None:
            stage.inbox.on_put = None
            stage._task.cancel()

        stage.inbox.on_put = die
        await say(page, "only once")
        await stage.inbox.wait()
        await stage.stop()
        await stage.start()
        await expect(page.locator(".said .receipt")).to_have_text("Received")
        await expect(page.locator(".said")).to_have_count(1)
        assert len(stage.inbox.items) == 1


async def test_signed_out_browser_is_told_how_to_come_back(browser: Any, stage: Any) -> None:
    async with opened(browser, stage, quiet=False) as page:
        await stage.stop()
        stage.clock.time += 31 * 86400
        await stage.start()
        await expect(page.locator("#banner")).to_contain_text("beambot web link")


async def test_file_is_attached_and_shown(browser: Any, stage: Any) -> None:
    await stage.thread()
    async with opened(browser, stage) as page:
        await page.set_input_files("#file", {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"abc"})
        await expect(page.locator("#chips .name")).to_have_text("notes.txt")
        await page.click("#send")
        inbound = await stage.inbox.wait()
        assert inbound.body.attachments[0].name == "notes.txt"
        await expect(page.locator(".said .chip")).to_have_text("notes.txt")
