"""The page that shows an answer in each chat is true: it was made from what the renderers make now."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from beambot.api import markdown as md
from beambot.api import outbound as out

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "rendering.md").read_text(encoding="utf-8")
PICTURES = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", PAGE)
AGAIN = "make it again: .venv/bin/python docs/gallery.py"


def load() -> ModuleType:
    """The script, which belongs to no package."""
    spec = importlib.util.spec_from_file_location("gallery_script", DOCS / "gallery.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    path = [*sys.path]
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = path
    return module


gallery = load()
CHATS = pytest.mark.parametrize("chat", gallery.CHATS, ids=lambda chat: chat.name)
VIEWED = pytest.mark.parametrize("chat", gallery.VIEWED, ids=lambda chat: chat.name)


@pytest.mark.parametrize("path", sorted(gallery.texts()), ids=lambda path: path.name)
def test_what_is_written_is_what_the_renderers_make(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == gallery.texts()[path], AGAIN


def test_every_picture_is_there_small_and_named_in_the_page() -> None:
    assert sorted(PICTURES) == sorted(f"gallery/{path.name}" for path in (DOCS / "gallery").glob("*.png"))
    assert len(PICTURES) == len(gallery.CHATS) + 1
    for name in PICTURES:
        picture = (DOCS / name).read_bytes()
        assert picture.startswith(b"\x89PNG\r\n\x1a\n"), name
        assert len(picture) < 150_000, name


def test_the_sample_has_every_kind_of_block() -> None:
    blocks = {type(block) for block in gallery.sample().blocks}
    assert blocks == {out.Markdown, out.Tools, out.Checklist, out.Change, out.Notice, out.Footer}


@CHATS
def test_the_whole_answer_is_in_one_message(chat: Any) -> None:
    assert gallery.taken(chat) <= chat.limit
    sent = json.dumps(gallery.sent(chat), ensure_ascii=False)
    assert "the second paragraph" in sent
    assert "14,200 tokens" in sent


@VIEWED
def test_the_viewer_shows_every_word_of_the_answer_and_no_markup(chat: Any) -> None:
    seen = re.sub(r"<[^>]+>", "", gallery.document(chat).split("<main>")[1])
    for words in ("__init__.py, 2*3*4, **/*.py, Vec&lt;String&gt;", "@everyone", "For this session", "−2"):
        assert words in seen
    for mark in ("**prices", "~~", "```", "\\", "# What", "handbook]"):
        assert mark not in seen


@VIEWED
def test_the_viewer_finds_nobody_who_is_called_and_one_notice(chat: Any) -> None:
    html = gallery.document(chat).split("<main>")[1]
    assert 'class="ping"' not in html
    assert "<a>" not in html
    assert f"{md.SIGN} Approved" not in html
    assert html.count(md.SIGN) == 1
