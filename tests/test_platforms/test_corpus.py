"""Nasty markdown, and what every chat shows of it: one reviewed file for each case and renderer.

`UPDATE_SNAPSHOTS=1 pytest tests/test_platforms/test_corpus.py` writes the files again; read the difference before
it is committed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import unicodedata
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from beambot.api import Outgoing
from beambot.api import markdown as md
from beambot.api import outbound as out
from platforms.discord import components as discord_components
from platforms.discord import outbound as discord
from platforms.slack import outbound as slack
from platforms.telegram import outbound as telegram
from platforms.telegram import rich as telegram_rich
from platforms.web import markdown as web

FIXTURES = Path(__file__).parents[1] / "fixtures"
CORPUS = FIXTURES / "markdown"
RENDERED = FIXTURES / "rendered"


def _generated() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("generated_markdown", CORPUS / "generated.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cases: dict[str, str] = module.GENERATED
    return cases


CASES = {path.stem: path.read_bytes().decode() for path in sorted(CORPUS.glob("*.md"))} | _generated()


def _words(case: str) -> out.Markdown:
    """A text whose name says that it streams is shown while it still grows."""
    return out.Markdown(CASES[case], open="stream" in case)


def _document(case: str) -> md.Document:
    block = _words(case)
    return md.parse(block.text, block.skip, block.open)


def _message(case: str) -> Outgoing:
    return Outgoing("turn:1:0", (_words(case),))


# ── how each of them is written down ─────────────────────────────────────────────────────────────


def _readable(text: str) -> str:
    """What cannot be seen by its name, a long run of one character by its length."""
    seen = "".join(
        f"⟨U+{ord(char):04X}⟩"
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn") and char != "\n"
        else char
        for char in text
    )
    return re.sub(r"(?s)(.)\1{99,}", lambda run: f"{run.group(1)}⟨×{len(run.group())}⟩", seen)


def _json(value: Any, indent: str = "") -> str:
    """What is short on one line, the rest indented."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + len(indent) <= 180 or not isinstance(value, dict | list) or not value:
        return flat
    inner = indent + "  "
    if isinstance(value, dict):
        lines = [f"{inner}{json.dumps(key)}: {_json(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + _json(item, inner) for item in value) + f"\n{indent}]"


def _spans(spans: tuple[md.Span, ...], indent: str) -> list[str]:
    bits = ((md.BOLD, "bold"), (md.ITALIC, "italic"), (md.STRIKE, "strike"), (md.CODE, "code"))
    lines = []
    for span in spans:
        style = [name for bit, name in bits if span.style & bit] + ([f"→ {span.link}"] if span.link else [])
        lines.append(f"{indent}{json.dumps(span.text, ensure_ascii=False)} {' '.join(style)}".rstrip())
    return lines


def _inside(container: md.Quote | md.Item | md.Note) -> str:
    match container:
        case md.Quote(alert=alert):
            return alert or "quote"
        case md.Note(label=label):
            return f"note {label}"
        case md.Item(number=number, done=done):
            box = {None: "", True: " [x]", False: " [ ]"}[done]
            return ("bullet" if number is None else f"number {number}") + box


def blocks(case: str) -> str:
    lines = []
    for block in _document(case):
        name = type(block).__name__.lower()
        about = "" if not isinstance(block, md.Heading) else f" {block.level}"
        about += f" {block.language}" if isinstance(block, md.Code) and block.language else ""
        inside = "".join(f" in {_inside(container)}@{container.at}" for container in block.inside)
        lines.append(f"{name}{about} {block.at}–{block.end}{inside}")
        match block:
            case md.Paragraph(spans=spans) | md.Heading(spans=spans):
                lines += _spans(spans, "    ")
            case md.Code(text=text):
                lines += [f"    ┃{line}" for line in text.split("\n")]
            case md.Table(align=align, rows=rows):
                lines.append(f"    align {' '.join(one or '-' for one in align)}")
                for row in rows:
                    lines.append("    row")
                    for cell in row:
                        lines += _spans(cell, "        ") or ["        -"]
            case md.Rule():
                pass
    return "\n".join(lines)


def plain(case: str) -> str:
    return md.plain(_document(case))


def telegram_text(case: str) -> str:
    payload = telegram.payload(_message(case))
    data = payload["text"].encode("utf-16-le")
    lines = [payload["text"], "────"]
    for entity in payload.get("entities", []):
        start = entity["offset"] * 2
        words = data[start : start + entity["length"] * 2].decode("utf-16-le")
        about = {key: value for key, value in entity.items() if key not in ("type", "offset", "length")}
        short = words if len(words) <= 60 else f"{words[:40]}…{words[-10:]}"
        lines.append(
            f"{entity['type']} {json.dumps(short, ensure_ascii=False)} {_json(about) if about else ''}".rstrip()
        )
    return "\n".join(lines)


def telegram_blocks(case: str) -> str:
    return _json(telegram_rich.rich_payload(_message(case))["rich_message"]["blocks"])


def discord_text(case: str) -> str:
    payload = discord.payload(_message(case))
    assert payload["allowed_mentions"]["parse"] == []
    return payload["content"]


def discord_parts(case: str) -> str:
    payload = discord_components.v2_payload(_message(case))
    assert payload["allowed_mentions"]["parse"] == []

    def said(components: list[Any]) -> list[str]:
        return [
            line
            for one in components
            for line in [f"── {one['type']}", *([one["content"]] if "content" in one else said(one["components"]))]
        ]

    return "\n".join(said(list(payload["components"])))


def slack_blocks(case: str) -> str:
    payload = slack.payload(_message(case))
    assert payload["parse"] == "none"
    return f"{_json(payload['blocks'])}\n──── notification\n{payload['text']}"


def web_html(case: str) -> str:
    return "\n".join(piece.html for piece in web.render(_document(case)).pieces)


RENDERERS: dict[str, Callable[[str], str]] = {
    "blocks": blocks,
    "plain": plain,
    "telegram": telegram_text,
    "telegram-rich": telegram_blocks,
    "discord": discord_text,
    "discord-v2": discord_parts,
    "slack": slack_blocks,
    "web": web_html,
}


# ── the tests ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("renderer", RENDERERS)
def test_a_case_is_shown_as_it_was_reviewed(renderer: str, case: str) -> None:
    shown = _readable(RENDERERS[renderer](case)) + "\n"
    path = RENDERED / renderer / f"{case}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(shown, encoding="utf-8")
    assert path.exists(), f"{path} is missing: write it with UPDATE_SNAPSHOTS=1 and read it"
    assert shown == path.read_text(encoding="utf-8")


def test_no_file_is_left_of_a_case_that_is_gone() -> None:
    expected = {f"{renderer}/{case}.txt" for renderer in RENDERERS for case in CASES}
    assert {str(path.relative_to(RENDERED)) for path in RENDERED.rglob("*.txt")} == expected


def test_the_corpus_is_large_enough_to_trust() -> None:
    assert len(CASES) >= 100
    assert len(set(CASES.values())) == len(CASES)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("renderer", [name for name in RENDERERS if name != "blocks"])
def test_nobody_is_deceived_or_called(renderer: str, case: str) -> None:
    shown = RENDERERS[renderer](case)
    assert md.SIGN not in shown
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)
    if renderer == "slack":
        assert not re.search(r"<[!@#]", shown.split("──── notification")[1])


class _Tags(HTMLParser):
    """Every tag and attribute of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen |= {tag, *(f"{tag}.{name}" for name, _ in attrs)}
        self.links += [value or "" for name, value in attrs if name == "href"]


@pytest.mark.parametrize("case", CASES)
def test_a_page_holds_only_its_own_tags(case: str) -> None:
    tags = _Tags()
    tags.feed(web_html(case))
    assert not tags.seen & {"script", "img", "button", "details", "iframe", "form", "style"}
    assert not [name for name in tags.seen if re.search(r"\.on|\.style|\.src", name)]
    assert all(re.match(r"https?://|mailto:", link) for link in tags.links)
