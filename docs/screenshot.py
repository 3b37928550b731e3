"""Makes docs/web.png: the real page, a real beambot, the demo agent in the middle of its work.

Needs Chromium and the development extra: `.venv/bin/python docs/screenshot.py [FILE]`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

PROMPT = "Have a look around, then write CHANGES.md for the release"
CONFIG = """
projects: [{{name: shop, path: {project}, adapter: demo}}]
adapters: {{demo: {{args: [-P, -m, adapters.demo, --state, {state}]}}}}
platforms: {{web: {{port: 0}}}}
members: [{{name: ana, role: owner, web: local}}]
"""
CHANGES = "- The cart shows prices with tax.\n"


def main(target: Path) -> None:
    """Start beambot in a folder of its own, talk to it, and take the picture."""
    with tempfile.TemporaryDirectory(prefix="beambot-") as name:
        folder = Path(name)
        project = folder / "shop"
        project.mkdir()
        (project / "CHANGES.md").write_text(CHANGES)
        (project / "cart.py").write_text("pass\n" * 37)
        (folder / "beambot.yaml").write_text(CONFIG.format(project=project, state=folder / "state"))
        words = [sys.executable, "-m", "beambot", "up", "--config", str(folder / "beambot.yaml")]
        env = {**os.environ, "BEAMBOT_HOME": str(folder / "home")}
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env) as beambot:
            try:
                assert beambot.stdout is not None
                link = next(found[1] for line in beambot.stdout if (found := re.search(r"ready: (\S+)", line)))
                shoot(link, target)
            finally:
                beambot.terminate()
                beambot.wait(20)


def shoot(link: str, target: Path) -> None:
    """What stands in the picture: a prompt, folded work, an answer, and a card that waits."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1180, "height": 820}, color_scheme="light")
        page.goto(link)
        page.wait_for_url(lambda url: "/enter" not in url)
        for words in ("markdown for the price list, fast", "Why is the cart empty? Let your team look, fast"):
            say(page, words)
            page.locator(".said .receipt.done").wait_for()
            page.click("#new")
        say(page, PROMPT)
        page.locator(".card .diff").wait_for()
        page.evaluate("document.documentElement.style.fontSize = '15px'")  # so that all of it fits
        page.mouse.move(0, 0)
        page.screenshot(path=target, animations="disabled")
        chromium.close()


def say(page: Page, text: str) -> None:
    """Type it and send it."""
    page.fill("#text", text)
    page.press("#text", "Enter")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("web.png"))
