"""Inline keyboards: read and checked."""

from __future__ import annotations

from platforms.telegram.twin.call import field
from platforms.telegram.twin.checks.text import check_url
from platforms.telegram.twin.errors import bad
from platforms.telegram.twin.world.values import Button, Json, Keyboard

DATA_BYTES = 64
BUTTONS = 100
IN_A_ROW = 8
COPY_LIMIT = 256
STYLES = {"primary", "success", "danger"}
_FIELDS = (
    "text",
    "url",
    "callback_data",
    "style",
    "icon_custom_emoji_id",
    "copy_text",
    "web_app",
    "login_url",
    "switch_inline_query",
    "switch_inline_query_current_chat",
    "disabled",
)


def read_markup(markup: Json) -> Keyboard:
    """The rows of an inline keyboard. Other kinds of markup are taken and not shown."""
    if "inline_keyboard" not in markup:
        for name in ("force_reply", "remove_keyboard"):
            if name in markup and not isinstance(markup[name], bool):
                raise bad(f'field "{name}" must be of type Boolean')
        return ()
    rows = markup["inline_keyboard"]
    if not isinstance(rows, list):
        raise bad('field "inline_keyboard" must be of type Array')
    made: list[tuple[Button, ...]] = []
    for row in rows:
        if not isinstance(row, list):
            raise bad("can't parse inline keyboard: expected an Array of Array")  # from memory
        # Empty rows disappear, without a word.
        if buttons := tuple(_button(button) for button in row):
            made.append(buttons)
    # The server's own limits are not published; these refusals are from memory.
    if sum(map(len, made)) > BUTTONS:
        raise bad("REPLY_MARKUP_TOO_LONG")
    if any(len(row) > IN_A_ROW for row in made):
        raise bad("REPLY_MARKUP_TOO_LONG")
    return tuple(made)


def _button(value: object) -> Button:
    if not isinstance(value, dict):
        raise bad("can't parse inline keyboard button: expected an Object")  # from memory
    text = field(value, "text")
    if "text" not in value:
        raise bad("can't parse inline keyboard button: Can't find field \"text\"")
    if not text.strip():
        raise bad("inline keyboard button text must be non-empty")  # from memory
    raw: Json = {name: value[name] for name in _FIELDS if value.get(name) not in (None, "", False)}
    if (style := field(value, "style")) and style not in STYLES:
        raise bad("can't parse inline keyboard button: invalid button style specified")  # from memory
    if data := field(value, "callback_data"):
        if len(data.encode()) > DATA_BYTES:
            raise bad("BUTTON_DATA_INVALID")
        return Button(text, data, raw)
    if "url" in raw:
        check_url(field(value, "url"), "inline keyboard button URL")
        return Button(text, "", raw)
    if isinstance(copy := value.get("copy_text"), dict):
        if not 1 <= len(field(copy, "text")) <= COPY_LIMIT:
            raise bad("BUTTON_COPY_TEXT_INVALID")
        return Button(text, "", raw)
    if isinstance(app := value.get("web_app"), dict):
        url = field(app, "url")
        if not url.lower().startswith("https://"):
            raise bad(f"inline keyboard button Web App URL '{url}' is invalid: Only HTTPS links are allowed")
        return Button(text, "", raw)
    if any(name in value for name in ("login_url", "switch_inline_query", "switch_inline_query_current_chat")):
        return Button(text, "", raw)
    if value.get("pay"):
        raise bad("BUTTON_TYPE_INVALID")
    raise bad("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
