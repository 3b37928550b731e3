"""Rich messages: their form and their limits, as programs that probed the live server report them."""

from __future__ import annotations

from platforms.telegram.twin.call import Call, field
from platforms.telegram.twin.errors import bad
from platforms.telegram.twin.world.values import Json
from platforms.telegram.twin.world.words import plain

TEXT_LIMIT = 32_768
BLOCK_LIMIT = 500
COLUMN_LIMIT = 20
DEPTH_LIMIT = 16
_FORMS = ("markdown", "html", "blocks")
_KINDS = {
    "paragraph",
    "heading",
    "pre",
    "footer",
    "divider",
    "list",
    "table",
    "details",
    "blockquote",
    "pullquote",
    "thinking",
    "anchor",
    "math",
    "photo",
    "video",
    "audio",
    "animation",
    "document",
    "voice_note",
    "buttons",
    "map",
    "collage",
    "slideshow",
}
_STYLES = {
    "bold",
    "italic",
    "underline",
    "strikethrough",
    "spoiler",
    "code",
    "url",
    "subscript",
    "superscript",
    "marked",
    "custom_emoji",
    "text_mention",
    "math",
    "anchor",
    "anchor_link",
    "date_time",
}


def read_rich(call: Call, *, blocks: bool, draft: bool = False) -> Json:
    """The rich message of a call. A server without `blocks` (before 10.2) does not see them."""
    rich = call.mapping("rich_message")
    given = [name for name in _FORMS if rich.get(name) is not None and (blocks or name != "blocks")]
    if not given:
        raise bad("rich message must be non-empty")
    # The documentation asks for exactly one; the live server is said to take one and drop the others silently.
    if len(given) > 1:
        raise bad("exactly one of the fields blocks, markdown and html must be specified in the rich message")
    if given == ["blocks"]:
        _check_blocks(rich["blocks"], draft=draft)
    else:
        text = field(rich, given[0])
        if not text.strip():
            raise bad("RICH_MESSAGE_EMPTY")
        if len(text) > TEXT_LIMIT:
            raise bad("RICH_MESSAGE_TEXT_TOO_LONG")
    return rich


def _check_blocks(value: object, *, draft: bool) -> None:
    if not isinstance(value, list):
        raise bad('can\'t parse InputRichMessage: Field "blocks" must be of type Array')
    if not value:
        raise bad("rich message must be non-empty")
    if len(value) > BLOCK_LIMIT:
        raise bad("RICH_MESSAGE_BLOCKS_TOO_MANY")
    length = sum(_block(block, 1, draft=draft) for block in value)
    if length > TEXT_LIMIT:
        raise bad("RICH_MESSAGE_TEXT_TOO_LONG")
    if not length and not any(_stands_alone(block) for block in value):
        raise bad("RICH_MESSAGE_EMPTY")


def _stands_alone(block: object) -> bool:
    return isinstance(block, dict) and field(block, "type") not in ("paragraph", "heading", "pre", "footer", "list")


def _block(block: object, depth: int, *, draft: bool) -> int:
    """How many characters one block has; its form is checked on the way."""
    if not isinstance(block, dict):
        raise bad("can't parse InputRichBlock: expected an Object")
    if "type" not in block:
        raise bad("can't parse InputRichBlock: Can't find field \"type\"")
    kind = field(block, "type")
    if kind not in _KINDS or (kind == "thinking" and not draft):
        raise bad(f'can\'t parse InputRichBlock: type "{kind}" is unsupported')
    if depth > DEPTH_LIMIT:
        raise bad("RICH_MESSAGE_TOO_DEEP")  # from memory
    if kind == "heading" and block.get("size") not in range(1, 7):
        raise bad('can\'t parse InputRichBlock: Field "size" must be between 1 and 6')  # from memory
    length = 0
    for name in ("text", "summary"):
        if name in block:
            _text(block[name])
            length += len(plain(block[name]))
    for inner in _array(block, "blocks"):
        length += _block(inner, depth + 1, draft=draft)
    for item in _array(block, "items"):
        if not isinstance(item, dict):
            raise bad("can't parse InputRichBlock: expected an Object")
        length += sum(_block(inner, depth + 2, draft=draft) for inner in _array(item, "blocks"))
    for row in _array(block, "cells"):
        if not isinstance(row, list):
            raise bad("can't parse InputRichBlock: expected an Array of Array")
        if len(row) > COLUMN_LIMIT:
            raise bad("RICH_MESSAGE_TABLE_TOO_WIDE")  # from memory
        for cell in row:
            if isinstance(cell, dict) and "text" in cell:
                _text(cell["text"])
                length += len(plain(cell["text"]))
    return length


def _array(block: Json, name: str) -> list[object]:
    value = block.get(name, [])
    if not isinstance(value, list):
        raise bad(f'can\'t parse InputRichBlock: Field "{name}" must be of type Array')
    return value


def _text(value: object) -> None:
    if isinstance(value, str):
        return
    if isinstance(value, list):
        for one in value:
            _text(one)
        return
    if not isinstance(value, dict) or "type" not in value:
        raise bad("can't parse InputRichBlock: Can't find field \"type\"")
    if field(value, "type") not in _STYLES:
        raise bad(f'can\'t parse RichText: type "{field(value, "type")}" is unsupported')  # from memory
    if "text" in value:
        _text(value["text"])
