"""The text of a message and its entities, checked and tidied as the real server does it.

The wordings were seen in live answers of the Bot API, unless a comment says that one is from memory.
"""

from __future__ import annotations

import re

from platforms.telegram.twin.call import field, whole
from platforms.telegram.twin.errors import bad
from platforms.telegram.twin.world.values import Entity, Json, User

TEXT_LIMIT = 4096
CAPTION_LIMIT = 1024
ENTITY_LIMIT = 100
# What a bot may send; the others (mentions, addresses, …) are found by the server itself.
STYLES = {"bold", "italic", "underline", "strikethrough", "spoiler", "blockquote", "expandable_blockquote"}
CODE = {"code", "pre"}
GIVEN = STYLES | CODE | {"text_link", "text_mention", "custom_emoji"}
FOUND = {"mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "bank_card", "date_time"}
_BLANK = " \t\n\r\v\f\x00"
# Control characters are blanks to the server; a carriage return is nothing.
_CONTROLS = dict.fromkeys((*range(0x0A), 0x0B, 0x0C, *range(0x0E, 0x20)), " ")
_WIDE = re.compile("[\U00010000-\U0010ffff]")
_SEEN = re.compile(
    r"(?P<url>https?://[^\s<>\"']*[\w/=&#%+~-])"
    r"|(?P<email>[\w.+-]+@[\w-]+\.[\w.-]*\w)"
    r"|(?<![\w/<>@])(?P<bot_command>/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?)(?![\w/<>])"
    r"|(?<![\w@])(?P<mention>@[A-Za-z0-9_]{3,32})\b"
    r"|(?<!\w)(?P<hashtag>#\w*[^\W\d]\w*)"
)


def units(text: str) -> int:
    """How long a text is for Telegram: in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def read_entities(values: list[object], users: dict[int, User]) -> list[Entity]:
    """The entities as they were sent. Their kinds are checked here, their places in `fitted`."""
    found: list[Entity] = []
    for value in values[:ENTITY_LIMIT]:  # the rest is ignored, without a word
        if not isinstance(value, dict):
            raise bad("can't parse MessageEntity: expected an Object")
        found.append(_entity(value, users))
    return found


def _entity(value: Json, users: dict[int, User]) -> Entity:
    for name in ("type", "offset", "length"):
        if name not in value:
            raise bad(f"can't parse MessageEntity: Can't find field \"{name}\"")
    kind = field(value, "type")
    if kind not in GIVEN and kind not in FOUND:
        raise bad("can't parse MessageEntity: Unsupported type specified")
    made = Entity(kind, whole(value, "offset"), whole(value, "length"))
    if kind == "text_link":
        if "url" not in value:
            raise bad("can't parse MessageEntity: Can't find field \"url\"")
        return Entity(kind, made.offset, made.length, url=check_url(field(value, "url"), "entity URL"))
    if kind == "pre":
        return Entity(kind, made.offset, made.length, language=field(value, "language"))
    if kind == "custom_emoji":
        number = str(value.get("custom_emoji_id", ""))
        if not re.fullmatch(r"\d{1,18}", number):
            raise bad('can\'t parse MessageEntity: Field "custom_emoji_id" must be a valid Number')
        return Entity(kind, made.offset, made.length, custom_emoji_id=number)
    if kind == "text_mention":
        mentioned = value.get("user")
        if not isinstance(mentioned, dict):
            raise bad("can't parse MessageEntity: Can't find field \"user\"")
        if whole(mentioned, "id") not in users:
            raise bad("user not found")
        return Entity(kind, made.offset, made.length, user=whole(mentioned, "id"))
    return made


def check_url(url: str, what: str) -> str:
    """An address that the server takes; `what` says whose it is."""
    rest = re.sub(r"(?i)^(https?|tg|ton|tonsite)://", "", url)
    if re.match(r"(?i)^[a-z][a-z0-9+.-]*://", rest):
        raise bad(f"{what} '{url}' is invalid: Unsupported URL protocol")
    host = re.split(r"[/?#]", rest)[0]
    if not host:
        raise bad(f"{what} '{url}' is invalid: URL host is empty")
    known = re.match(r"(?i)^(tg|ton|tonsite)://", url)
    if not known and not re.fullmatch(
        r"(?:[^@\s]*@)?(?:[\w.-]+\.[\w-]{2,}|[\d.]{7,15}|\[[0-9a-f:]+\])(?::\d{1,5})?", host
    ):
        raise bad(f"{what} '{url}' is invalid: Wrong HTTP URL")
    return url


def fitted(text: str, entities: list[Entity], *, limit: int, empty: str) -> tuple[str, tuple[Entity, ...]]:
    """Text and entities as they are kept: bounds checked, blanks around cut off, what can be found is found."""
    text = text.replace("\r", "").translate(_CONTROLS)
    _check_bounds(text, entities)
    start = len(text) - len(text.lstrip(_BLANK))
    shift, text = units(text[:start]), text.strip(_BLANK)
    if not text:
        if limit == CAPTION_LIMIT:
            return "", ()
        raise bad(empty)
    length = units(text)
    if length > limit:
        raise bad("message caption is too long" if limit == CAPTION_LIMIT else "message is too long")
    moved = [_moved(entity, shift, length) for entity in entities]
    kept = _without_styles_in_code([one for one in moved if one.length > 0 and one.type in GIVEN])
    return text, tuple(sorted(kept + _seen(text, kept), key=lambda one: (one.offset, -one.length, one.type)))


def _check_bounds(text: str, entities: list[Entity]) -> None:
    if not entities:
        return
    end = units(text)
    # The units inside of a character that takes two, each with that character's offset in bytes.
    inside: dict[int, int] = {}
    if end != len(text):
        for pairs, match in enumerate(_WIDE.finditer(text)):
            inside[match.start() + pairs + 1] = len(text[: match.start()].encode("utf-8", "surrogatepass"))
    opened: list[Entity] = []
    for entity in sorted(entities, key=lambda one: (one.offset, -one.length)):
        if entity.offset < 0:
            raise bad(f"receive an entity with incorrect offset {entity.offset}")
        if entity.length < 0:
            raise bad(f"receive an entity with incorrect length {entity.length}")  # from memory
        if entity.length == 0:
            continue
        if entity.offset >= end:
            raise bad(f"entity begins after the end of the text at UTF-16 offset {entity.offset}")
        if entity.offset in inside:  # from memory
            raise bad(f"entity begins in a middle of a UTF-16 symbol at byte offset {inside[entity.offset]}")
        while opened and opened[-1].end <= entity.offset:
            opened.pop()
        # Entities lie in each other or apart; one that crosses another is told as too long.
        if entity.end > end or (opened and entity.end > opened[-1].end):
            raise bad(
                f"entity beginning at UTF-16 offset {entity.offset} ends after the end of the text "
                f"at UTF-16 offset {entity.end}"
            )
        if entity.end in inside:  # from memory
            raise bad(
                f"entity beginning at UTF-16 offset {entity.offset} ends in a middle of a UTF-16 symbol "
                f"at byte offset {inside[entity.end]}"
            )
        opened.append(entity)


def _moved(entity: Entity, shift: int, length: int) -> Entity:
    start = min(max(entity.offset - shift, 0), length)
    end = min(max(entity.end - shift, 0), length)
    return Entity(entity.type, start, end - start, entity.url, entity.language, entity.custom_emoji_id, entity.user)


def _without_styles_in_code(entities: list[Entity]) -> list[Entity]:
    """Code and pre hold no other entity, and lie in none but a quotation."""
    code = [one for one in entities if one.type in CODE]
    kept: list[Entity] = []
    for one in entities:
        clashes = any(other is not one and one.offset < other.end and other.offset < one.end for other in code)
        if one.type in CODE:
            before = [other for other in kept if other.type in CODE and other.offset < one.end]
            if not any(one.offset < other.end for other in before):
                kept.append(one)
        elif not clashes or one.type.endswith("blockquote"):
            kept.append(one)
    return kept


def _seen(text: str, given: list[Entity]) -> list[Entity]:
    """The commands, addresses, mentions and tags in a text, outside of code and links."""
    if not any(mark in text for mark in "/@#:"):
        return []
    taken = [one for one in given if one.type in CODE or one.type in ("text_link", "text_mention")]
    found: list[Entity] = []
    for match in _SEEN.finditer(text):
        offset = units(text[: match.start()])
        entity = Entity(match.lastgroup or "", offset, units(match.group()))
        if not any(entity.offset < one.end and one.offset < entity.end for one in taken):
            found.append(entity)
    return found
