"""Markdown of an agent: parsed once, in the core; each platform draws the blocks in its own way."""

from __future__ import annotations

from beambot.render.markdown.clean import SIGN, clean, terminal_text
from beambot.render.markdown.model import (
    BOLD,
    CODE,
    ITALIC,
    STRIKE,
    AnyBlock,
    Code,
    Document,
    Heading,
    Item,
    Note,
    Paragraph,
    Quote,
    Rule,
    Span,
    Table,
    shared,
    words,
)
from beambot.render.markdown.parse import parse
from beambot.render.markdown.plain import columns, is_apart, leads, plain, plain_block, plain_spans, width

__all__ = [
    "BOLD",
    "CODE",
    "ITALIC",
    "SIGN",
    "STRIKE",
    "AnyBlock",
    "Code",
    "Document",
    "Heading",
    "Item",
    "Note",
    "Paragraph",
    "Quote",
    "Rule",
    "Span",
    "Table",
    "clean",
    "columns",
    "is_apart",
    "leads",
    "parse",
    "plain",
    "plain_block",
    "plain_spans",
    "shared",
    "terminal_text",
    "width",
    "words",
]
