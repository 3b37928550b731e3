"""Makes docs/rendering.md and docs/gallery/: one answer as each chat shows it, drawn from what is really sent.

Pictures need Chromium and the development extra: `.venv/bin/python docs/gallery.py`. With `--text` only the page
and the payloads are written. Emoji are coloured where an emoji font is installed.
"""

from __future__ import annotations

import io
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import msgspec
from msgspec import Struct
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).resolve().with_name("gallery")))

from viewers import discord as discord_viewer
from viewers import slack as slack_viewer
from viewers import telegram as telegram_viewer

from beambot.api import Inbound, Outgoing, PluginContext
from beambot.api import outbound as out
from beambot.clock import RandomIds, SystemClock
from beambot.model.bodies import PlanEntry
from beambot.render import diff, images
from beambot.render.split import Unit
from platforms.discord import components
from platforms.discord import outbound as discord
from platforms.slack import outbound as slack
from platforms.telegram import outbound as telegram
from platforms.telegram import rich
from platforms.web import Settings
from platforms.web.outbound import show
from platforms.web.platform import WebPlatform

if TYPE_CHECKING:
    from playwright.async_api import Browser

DOCS = Path(__file__).resolve().parent
FOLDER = DOCS / "gallery"
WIDTH, SCALE = 400, 2
COLOURS = 128
PROMPT = "Show prices with tax, please"
TITLE = "Prices with tax"
THOUGHT = (
    "The rate is in the settings, so nothing has to be passed around. Rounding each price first would make the sum "
    "differ from the receipt, so the sum is rounded, once. Business customers see net prices on the invoice only, "
    "and that page is another one, which stays as it is."
)
Payload = Mapping[str, Any]


class Chat(Struct, frozen=True):
    """One way to send a message: what makes its payload, and what draws that. The web page draws itself."""

    name: str
    title: str
    limit: int
    unit: Unit
    measure: Callable[[out.AnyOutBlock], int]
    payload: Callable[[Outgoing], Payload]
    counted: Callable[[dict[str, Any]], str]
    view: Callable[[dict[str, Any]], str] | None = None
    kind: str = ""


CHATS = (
    Chat(
        "telegram",
        "Telegram",
        telegram.TEXT_LIMIT,
        "utf16",
        telegram.measure,
        telegram.payload,
        lambda sent: f"{len(sent['entities'])} entities",
        telegram_viewer.view,
        "telegram",
    ),
    Chat(
        "telegram-rich",
        "Telegram, rich messages",
        rich.RICH_LIMIT,
        "characters",
        rich.rich_measure,
        rich.rich_payload,
        lambda sent: f"{len(sent['rich_message']['blocks'])} blocks",
        telegram_viewer.view,
        "telegram rich",
    ),
    Chat(
        "discord",
        "Discord",
        discord.TEXT,
        "characters",
        discord.measure,
        discord.payload,
        lambda sent: "one text in its own markdown",
        discord_viewer.view,
        "discord",
    ),
    Chat(
        "discord-layout",
        "Discord, laid out",
        components.V2_TEXT,
        "characters",
        components.v2_measure,
        components.v2_payload,
        lambda sent: f"{len(sent['components'][0]['components'])} parts of a container",
        discord_viewer.view,
        "discord",
    ),
    Chat(
        "slack",
        "Slack",
        slack.TEXT_LIMIT,
        "characters",
        slack.measure,
        slack.payload,
        lambda sent: f"{len(sent['blocks'])} blocks",
        slack_viewer.view,
        "slack",
    ),
    Chat(
        "web",
        "Web",
        WebPlatform.capabilities.text_limit,
        WebPlatform.capabilities.text_unit,
        lambda block: len(out.block_text(block)),
        lambda message: show(message).payload,
        lambda sent: f"{len(sent['blocks'])} blocks",
    ),
)
VIEWED = tuple(chat for chat in CHATS if chat.view)


# ── what is said ─────────────────────────────────────────────────────────────────────────────────


def change() -> out.Change:
    """The changed file."""
    unified = (FOLDER / "change.diff").read_text(encoding="utf-8").rstrip("\n")
    return out.Change("shop/tax.py", unified, added=4, removed=2)


def sample() -> Outgoing:
    """The message: every kind of block, and buttons."""
    lines = (
        out.ToolLine("Read shop/cart.py", "read", "done", 0.4),
        out.ToolLine("Run pytest -q", "execute", "failed", 12.3),
        out.ToolLine("Look for **/tax_*.py", "search", "done", 0.8, depth=1),
    )
    plan = (
        PlanEntry("Read the rate", "completed"),
        PlanEntry("Add it to every price", "in_progress"),
        PlanEntry("Print the price list"),
    )
    buttons = (
        out.Button("Allow", "a:1", "primary"),
        out.Button("For this session", "a:2"),
        out.Button("Deny", "a:3", "danger"),
    )
    return Outgoing(
        "turn:sample:0",
        (
            out.Markdown(THOUGHT, folded=True),
            out.Tools(lines, hidden=3),
            out.Markdown((FOLDER / "answer.md").read_text(encoding="utf-8")),
            out.Checklist(plan),
            change(),
            out.Notice("May the agent write shop/tax.py?", "ask"),
            out.Footer("2 min · 14,200 tokens"),
        ),
        buttons=(buttons,),
        loud=True,
    )


def sent(chat: Chat) -> dict[str, Any]:
    """The payload, as it goes over the wire."""
    payload: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(chat.payload(sample())))
    return payload


def plain() -> str:
    """The same without any markup: what is left when a chat refuses everything else."""
    return str(telegram.payload(replace(sample(), plain=True))["text"])


# ── what is written ──────────────────────────────────────────────────────────────────────────────


def texts() -> dict[Path, str]:
    """Every file that can be made without a browser."""
    files: dict[Path, str] = {}
    for chat in CHATS:
        files[FOLDER / f"{chat.name}.json"] = msgspec.json.format(msgspec.json.encode(sent(chat))).decode() + "\n"
    page = (FOLDER / "page.md").read_text(encoding="utf-8")
    for name, made in (("numbers", _numbers()), ("plain", f"```text\n{plain()}\n```")):
        page = page.replace(f"{{{{{name}}}}}", made)
    files[DOCS / "rendering.md"] = page
    return files


def taken(chat: Chat) -> int:
    """How much of one message the sample takes."""
    return sum(chat.measure(block) for block in sample().blocks)


def _numbers() -> str:
    rows = ["| | one message holds | this answer takes | sent as |", "|---|---|---|---|"]
    for chat in CHATS:
        unit = "UTF-16 units" if chat.unit == "utf16" else "characters"
        link = f"[{chat.counted(sent(chat))}](gallery/{chat.name}.json)"
        rows.append(f"| {chat.title} | {chat.limit:,} {unit} | {taken(chat):,} | {link} |")
    return "\n".join(rows)


# ── pictures ─────────────────────────────────────────────────────────────────────────────────────


def document(chat: Chat) -> str:
    """A chat on a phone, with the payload drawn as a message."""
    assert chat.view is not None
    drawn = (
        '<div class="beambot"><div class="face">b</div><div class="body">'
        f'<div class="who">beambot<small>APP</small></div>{chat.view(sent(chat))}</div></div>'
    )
    parts = {
        "style": (FOLDER / "style.css").read_text(encoding="utf-8"),
        "kind": chat.kind,
        "title": escape(TITLE),
        "under": "shop",
        "prompt": escape(PROMPT),
        "message": drawn,
    }
    frame = (FOLDER / "frame.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], frame)


async def take_pictures() -> None:
    """All of them; each with few colours, so that the page loads on a phone too."""
    from playwright.async_api import async_playwright

    (FOLDER / "diff.png").write_bytes(images.draw(diff.of_change(change())))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for chat in VIEWED:
            page = await browser.new_page(
                viewport={"width": WIDTH, "height": 200}, device_scale_factor=SCALE, color_scheme="light"
            )
            await page.set_content(document(chat))
            _save(chat.name, await page.screenshot(full_page=True))
            await page.close()
        await _picture_of_the_page(browser)
        await browser.close()


async def _picture_of_the_page(browser: Browser) -> None:
    """The real page of the web chat, made as high as its messages are."""
    async with _web() as (platform, inbox):
        context = await browser.new_context(
            viewport={"width": WIDTH, "height": 800}, device_scale_factor=SCALE, color_scheme="light"
        )
        page = await context.new_page()
        await page.goto(await platform.invitation())
        await page.wait_for_url(lambda url: "/enter" not in url)
        await page.fill("#text", PROMPT)
        await page.press("#text", "Enter")
        thread = (await inbox.receive()).thread
        await platform.rename_thread(thread, TITLE)
        await platform.post(thread, sample())
        await page.locator(".action").first.wait_for()
        more = await page.locator("#scroll").evaluate("box => box.scrollHeight - box.clientHeight")
        await page.set_viewport_size({"width": WIDTH, "height": 800 + more})
        await page.evaluate("document.activeElement.blur()")
        _save("web", await page.screenshot(animations="disabled"))
        await context.close()


class _Inbox:
    """Hands over what a page says."""

    def __init__(self) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[Inbound](8)

    async def put(self, inbound: Inbound) -> bool:
        await self._send.send(inbound)
        return True

    async def receive(self) -> Inbound:
        return await self._receive.receive()


@asynccontextmanager
async def _web() -> AsyncIterator[tuple[WebPlatform, _Inbox]]:
    with tempfile.TemporaryDirectory(prefix="beambot-") as folder:
        context = PluginContext(home=Path(folder), clock=SystemClock(), ids=RandomIds())
        platform, inbox = WebPlatform(Settings(port=0), context), _Inbox()
        ready = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(platform.run, inbox, ready.set)
            await ready.wait()
            yield platform, inbox
            group.cancel_scope.cancel()
        await platform.close()


def _save(name: str, picture: bytes) -> None:
    """With the colours that most of it has, as they are; each other colour becomes the nearest of them."""
    from PIL import Image

    image = Image.open(io.BytesIO(picture)).convert("RGB")
    raw = image.tobytes()
    pixels = list(zip(raw[0::3], raw[1::3], raw[2::3], strict=True))
    kept = [colour for colour, _ in Counter(pixels).most_common(COLOURS)]
    nearest = {
        colour: min(
            range(len(kept)), key=lambda at: sum((a - b) ** 2 for a, b in zip(colour, kept[at], strict=True))
        )
        for colour in {*pixels} - {*kept}
    } | {colour: at for at, colour in enumerate(kept)}
    small = Image.frombytes("P", image.size, bytes(nearest[pixel] for pixel in pixels))
    small.putpalette([part for colour in kept for part in colour])
    small.save(FOLDER / f"{name}.png", optimize=True)


def main(words: list[str]) -> None:
    """Write everything, or with `--text` what is text."""
    for path, text in texts().items():
        path.write_text(text, encoding="utf-8")
    if "--text" not in words:
        anyio.run(take_pictures)


if __name__ == "__main__":
    main(sys.argv[1:])
