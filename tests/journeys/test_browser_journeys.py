"""A person in a real Chromium, a real beambot process, a real agent process: the whole house at once."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("playwright")
from playwright.async_api import Page, expect

pytestmark = pytest.mark.browser
expect.set_options(timeout=20_000)


@contextlib.asynccontextmanager
async def opened(
    browser: Any, house: Any, *, user: str = "", quiet: bool = True, **more: Any
) -> AsyncIterator[Page]:
    """A signed-in page. Complaints of the browser fail the test; while beambot is down, lost connections do not."""
    link = (await house.run("web", "link", "--user", user))[1].strip() if user else house.link
    context = await browser.new_context(**more)
    try:
        page = await context.new_page()
        page.set_default_timeout(20_000)
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        await page.goto(link)
        await page.wait_for_url(lambda url: "/enter" not in url)
        await expect(page.locator("#me")).to_contain_text(user or "local")
        yield page
        lost = ("ERR_CONNECTION_REFUSED", "WebSocket connection")
        assert [text for text in complaints if quiet or not any(word in text for word in lost)] == []
    finally:
        await context.close()


# Notes how long the log is after each change to it: how the answer grew, however busy the machine is.
NOTE_LENGTHS = """() => {
  const log = document.querySelector("#log");
  window.lengths = [];
  new MutationObserver(() => window.lengths.push(log.textContent.length))
    .observe(log, {childList: true, subtree: true, characterData: true});
}"""


async def say(page: Page, text: str) -> None:
    await page.fill("#text", text)
    await page.press("#text", "Enter")


async def test_prompt_streams_asks_and_writes_after_a_press(browser: Any, house: Any) -> None:
    await house.start()
    async with opened(browser, house) as page:
        await page.evaluate(NOTE_LENGTHS)
        await say(page, "words 60 then write note.txt")
        text = page.locator(".post .text").first
        await expect(text).to_contain_text("juniper60")
        assert await page.evaluate("new Set(window.lengths).size") >= 3
        card = page.locator(".card")
        await expect(card).to_contain_text("The agent wants to change a file")
        await expect(card.locator(".diff")).to_contain_text("+Written by the demo agent")
        await expect(page.locator("#state")).to_have_text("Waiting for you")
        assert not (house.project / "note.txt").exists()

        await card.get_by_role("button", name="Allow", exact=True).click()
        await expect(page.locator("#log")).to_contain_text("I wrote note.txt.")
        await expect(page.locator("#log")).to_contain_text("Allowed by ana")
        await expect(page.locator(".card .action")).to_have_count(0)
        await expect(page.locator(".said .receipt")).to_have_text("Done")
        assert (house.project / "note.txt").read_text() == "Written by the demo agent, prompt 1.\n"


async def test_a_denied_write_is_not_made_and_the_agent_knows(browser: Any, house: Any) -> None:
    await house.start()
    async with opened(browser, house) as page:
        await say(page, "write note.txt")
        await page.get_by_role("button", name="Reject").click()
        await expect(page.locator("#log")).to_contain_text("I did not write note.txt.")
        await expect(page.locator("#log")).to_contain_text("Denied by ana")
        assert not (house.project / "note.txt").exists()


async def test_a_question_and_a_plan_are_answered(browser: Any, house: Any) -> None:
    await house.start()
    async with opened(browser, house) as page:
        await say(page, "ask then plan")
        await expect(page.locator(".card")).to_contain_text("Which colour shall it be?")
        await page.locator(".card").get_by_role("button", name="Green").click()
        await expect(page.locator("#log")).to_contain_text("You chose Green.")
        await expect(page.locator(".card")).to_contain_text("The agent proposes a plan")
        await expect(page.locator(".card li")).to_have_count(3)
        await page.get_by_role("button", name="Start").click()
        await expect(page.locator(".checklist li.completed")).to_have_count(3)
        await expect(page.locator("#log")).to_contain_text("All three are done.")


async def test_the_stop_button_ends_a_streaming_turn(browser: Any, house: Any) -> None:
    await house.start()
    async with opened(browser, house) as page:
        await say(page, "words 5000")
        await expect(page.locator(".post .text").first).to_contain_text("juniper20")
        await page.click("#stop")
        await expect(page.locator(".post").first).to_contain_text("Stopped.")
        await expect(page.locator("#stop")).to_be_hidden()
        await expect(page.locator(".said .receipt").first).to_have_text("Cancelled")
        await say(page, "words 4 fast")
        await expect(page.locator(".said .receipt").last).to_have_text("Done")
        await expect(page.locator(".post .text").last).to_have_text("amber1 basin2 cedar3 delta4")


async def test_a_reload_in_mid_answer_goes_on_to_the_whole_answer(browser: Any, house: Any) -> None:
    await house.start()
    async with opened(browser, house) as page:
        await say(page, "words 150")
        await expect(page.locator(".post .text")).to_contain_text("juniper20")
        await page.reload()
        await expect(page.locator(".said .receipt")).to_have_text("Done")
        words = (await page.locator(".post .text").inner_text()).split()
        assert [int(word.lstrip("abcdefghijklmnopqrstuvwxyz")) for word in words] == list(range(1, 151))
        await expect(page.locator(".said")).to_have_count(1)
        await expect(page.locator(".post")).to_have_count(1)


async def test_two_people_share_a_thread_and_one_answer_settles_both_cards(browser: Any, house: Any) -> None:
    await house.start()
    async with opened(browser, house) as ana, opened(browser, house, user="ben") as ben:
        await say(ana, "write shared.txt")
        await expect(ana.locator(".card")).to_be_visible()
        await ben.locator("#threads button").click()
        await expect(ben.locator(".card")).to_be_visible()
        await ben.get_by_role("button", name="Allow", exact=True).click()
        for page in (ana, ben):
            await expect(page.locator(".notice.success")).to_contain_text("Allowed by ben")
            await expect(page.locator(".card .action")).to_have_count(0)
            await expect(page.locator("#log")).to_contain_text("I wrote shared.txt.")
        await expect(ben.locator(".said .receipt").first).to_have_text("local")


async def test_a_phone_of_400_pixels_shows_everything_and_can_be_used(browser: Any, house: Any) -> None:
    (house.project / "a_file_with_quite_a_long_name_that_does_not_fit_on_a_phone.txt").write_text("one\n")
    await house.start()
    fits = "document.scrollingElement.scrollWidth <= document.scrollingElement.clientWidth"
    more = {"viewport": {"width": 400, "height": 780}, "has_touch": True, "is_mobile": True}
    async with opened(browser, house, **more) as page:
        await page.locator("#text").tap()
        await page.fill("#text", "markdown, team, look, then write a/rather/long/path/of/a/file.txt fast")
        await page.locator("#send").tap()
        await expect(page.locator(".card")).to_be_visible()
        await expect(page.locator("#log")).to_contain_text("_phone.txt has 1 line")
        assert await page.evaluate(fits)
        for button in await page.locator(".card .action").all():
            box = await button.bounding_box()
            assert box is not None
            assert box["height"] >= 40
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 400
        await expect(page.locator("#text")).to_be_in_viewport()
        await page.get_by_role("button", name="Allow", exact=True).tap()
        await expect(page.locator("#log")).to_contain_text("I wrote a/rather/long/path")
        await page.locator("#menu").tap()
        await expect(page.locator("#threads button")).to_be_in_viewport()
        assert await page.evaluate(fits)


async def test_a_restart_under_an_open_page_loses_nothing(browser: Any, house: Any) -> None:
    await house.start()
    async with opened(browser, house, quiet=False) as page:
        await say(page, "words 3000")
        await expect(page.locator(".post .text")).to_contain_text("juniper20")
        await house.kill()
        await expect(page.locator("#banner")).to_contain_text("Not connected")
        await say(page, "write while-away.txt")
        await expect(page.locator(".said .receipt").last).to_have_text("Waiting for the connection")
        await house.start()
        await expect(page.locator("#banner")).to_be_hidden()
        await expect(page.locator("#log")).to_contain_text("beambot was restarted while the agent was working.")
        await page.get_by_role("button", name="Allow", exact=True).click()
        await expect(page.locator("#log")).to_contain_text("I wrote while-away.txt.")
        await expect(page.locator(".said", has_text="while-away")).to_have_count(1)
        assert house.prompts() == ["words 3000", "write while-away.txt"]
        assert len((house.project / "while-away.txt").read_text().splitlines()) == 1
