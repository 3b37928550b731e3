"""Words that Telegram turns into a mention, a command or a link into itself, whatever entities it is given."""

from __future__ import annotations

import re

# Where Telegram finds a mention, a command or an address of its own: TDLib, td/telegram/MessageEntity.cpp,
# match_mentions, match_bot_commands and match_tg_urls. Another address is stepped over, as what stands inside of
# it is not looked at there either.
_FOUND = re.compile(
    r"(?:(?<!\S)|(?<=\s[(\[]))https?://(?:[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*\.)+[A-Za-z]{2,24}(?![\w.-])"
    r"(?::\d{1,5})?(?:[/?#][\w/.~%?&=#+:@,;!$*-]*)?"
    r"|(?P<mention>(?<!\w)@[A-Za-z0-9_]{3,32}(?!\w))"
    r"|(?P<command>(?<![\w/<>])/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?(?![\w/<>]))"
    r"|(?P<inner>(?i:tonsite|ton|tg)://[A-Za-z0-9_-]{1,253}(?:[/?#](?:[^\s<>«»\"]*[^\s<>«»\"().,:;'?!`\]])?)?)"
)
# The rest of a path, of a glob or of a package's name is taken with it: `@types/node`, `/deploy.sh`, `**/t_*.py`.
_REST = re.compile(r"[-./*][\w./@*-]*[\w*]")
_BEFORE = re.compile(r"[\w.~/*-]*\Z")
# Names of files whose ending is also the ending of addresses: Telegram would make links of them.
_FILE = re.compile(r"(?<=\w)\.(?:py|md|rs|sh|pl|cc|so|ps|ml|tf|zip|mov|mk)(?![\w/-]|\.\w)")
_FAR = 60
# Stands between the sign and the word where no entity can be given; it has no width.
_JOINER = "\N{WORD JOINER}"


def tokens(text: str) -> list[tuple[int, int]]:
    """The places of such words, each as a whole path, in order and apart."""
    found: list[tuple[int, int]] = []
    at = 0 if "@" in text or "/" in text else len(text)
    while (match := _FOUND.search(text, at)) is not None:
        at = match.end()
        if match.lastgroup is None:
            continue
        floor = max(found[-1][1] if found else 0, match.start() - _FAR)
        before = _BEFORE.search(text, floor, match.start())
        rest = _REST.match(text, at)
        at = rest.end() if rest else at
        found.append((before.start() if before else match.start(), at))
    return _with_files(text, found) if "." in text else found


def _with_files(text: str, found: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same places and those of names of files between them."""
    files: list[tuple[int, int]] = []
    for match in _FILE.finditer(text):
        before = _BEFORE.search(text, max(0, match.start() - _FAR), match.start())
        begin = before.start() if before else match.start()
        apart = all(end <= begin or start >= match.end() for start, end in found)
        if apart and "/" not in text[begin : match.end()] and text[max(0, begin - 1) : begin] not in (":", "@"):
            files.append((begin, match.end()))
    return sorted(found + files) if files else found


def unpinged(text: str) -> str:
    """The same words with nothing that Telegram would find, for a text that goes without entities."""
    if "@" not in text and "/" not in text:
        return text
    return _FOUND.sub(lambda match: _apart(match.group()) if match.lastgroup else match.group(), text)


def found_at_end(text: str) -> int:
    """Where the mention or command begins with which a text ends, or its length."""
    last = len(text)
    for match in _FOUND.finditer(text, max(0, last - 4 * _FAR)):
        if match.lastgroup and match.end() == len(text):
            last = match.start()
    return last


def _apart(word: str) -> str:
    return word[0] + _JOINER + word[1:]
