"""What Slack would take for a mention or a link of its own, made harmless; and addresses that it can read."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote, urlsplit

# Stands between two characters that must not be read as one sign; it has no width.
JOINER = "\u2060"
_LONGEST = 3000

_EVERYONE = re.compile(r"@(?=(?:here|channel|everyone)\b)", re.IGNORECASE)
_TOKEN = re.compile(
    r"<(?=!(?:here|channel|everyone|group|subteam|date)|@[A-Z0-9]|#[A-Z0-9]|(?:https?://|mailto:)[^\s|>]*\|)",
    re.IGNORECASE,
)
_ODD = re.compile(r"[\s<>|\"'\\^`{}()\[\]*]")
_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)*\.?")
# What ends an address: blanks, quotes, punctuation of Chinese and Japanese; and a bracket without its other half.
_END = r"\s<>\"'`\u2018-\u201f\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_PAIR = rf"\([^(){_END}]*\)|\[[^\[\]{_END}]*\]"
_BARE = re.compile(rf"https?://\w(?:(?:{_PAIR}|[^()\[\]{_END}])*(?:{_PAIR}|[\w/=&#%+~-]))?")
_MAIL = re.compile(r"mailto:[^\s@<>|]+@[\w.-]+(?:\?\S*)?", re.IGNORECASE)


def entities(text: str) -> str:
    """Escaped as Slack wants it: after this no text opens a mention or a link."""
    if "&" in text:
        text = text.replace("&", "&amp;")
    if "<" in text or ">" in text:
        text = text.replace("<", "&lt;").replace(">", "&gt;")
    return text


def names(text: str) -> str:
    """Words that call everybody, written so that they call nobody."""
    return _EVERYONE.sub("@" + JOINER, text) if "@" in text else text


def tokens(code: str) -> str:
    """Slack's own signs inside of code, where entities would be shown as they stand."""
    return names(_TOKEN.sub("<" + JOINER, code) if "<" in code else code)


@lru_cache(maxsize=512)
def address(link: str) -> str:
    """The same place in characters that end no link early, or nothing where Slack would refuse it."""
    link = _ODD.sub(lambda odd: quote(odd.group(), safe=""), link)
    if len(link) > _LONGEST:
        return ""
    if link[:7].lower() == "mailto:":
        return link if _MAIL.fullmatch(link) else ""
    try:
        parts = urlsplit(link)
        is_place = parts.scheme in ("http", "https") and parts.port != 0
    except ValueError:
        return ""
    return link if is_place and _HOST.fullmatch(parts.hostname or "") else ""


def addresses(text: str) -> list[tuple[str, bool]]:
    """Plain words in pieces, each with whether it is an address."""
    if "://" not in text:
        return [(text, False)]
    found: list[tuple[str, bool]] = []
    at = 0
    for match in _BARE.finditer(text):
        found += [(text[at : match.start()], False), (match.group(), True)]
        at = match.end()
    return [piece for piece in (*found, (text[at:], False)) if piece[0]]
