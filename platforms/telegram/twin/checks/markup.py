"""Text with marks (parse_mode) into text with entities. The refusals count in bytes, as the real ones do."""

from __future__ import annotations

import html
import re

from platforms.telegram.twin.checks.text import check_url, units
from platforms.telegram.twin.errors import ApiError, bad
from platforms.telegram.twin.world.values import Entity

_TAGS = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "u": "underline",
    "ins": "underline",
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "tg-spoiler": "spoiler",
    "span": "spoiler",
    "code": "code",
    "pre": "pre",
    "a": "text_link",
    "blockquote": "blockquote",
    "tg-emoji": "custom_emoji",
}
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9-]*)((?:\s+[\w-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>]+))?)*)\s*/?>")
_ATTRIBUTE = re.compile(r"([\w-]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>]+)))?")
_RESERVED = set("_*[]()~`>#+-=|{}.!")
_MARKS = {"*": "bold", "_": "italic", "__": "underline", "~": "strikethrough", "||": "spoiler"}
_NAMES = {
    "bold": "Bold",
    "italic": "Italic",
    "underline": "Underline",
    "strikethrough": "Strikethrough",
    "spoiler": "Spoiler",
    "code": "Code",
    "pre": "Pre",
    "text_link": "TextUrl",
}


def parse_text(text: str, mode: str) -> tuple[str, list[Entity]]:
    """The plain text and its entities; the name of the mode may be in any case."""
    match mode.lower():
        case "html":
            return _Html(text).parse()
        case "markdownv2":
            return _Markdown(text).parse()
        case "markdown":
            return _old_markdown(text)
        case _:
            raise bad("unsupported parse_mode")


def _wrong(what: str) -> ApiError:
    return bad(f"can't parse entities: {what}")


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


class _Html:
    def __init__(self, text: str) -> None:
        self.text = text
        self.out: list[str] = []
        self.length = 0
        self.entities: list[Entity] = []
        self.open: list[tuple[str, str, dict[str, str], int]] = []

    def parse(self) -> tuple[str, list[Entity]]:
        at = 0
        while at < len(self.text):
            if self.text[at] == "<":
                match = _TAG.match(self.text, at)
                byte = _bytes(self.text[:at])
                if match is None:
                    raise _wrong(self._no_tag(at, byte))
                if match[1]:
                    self._close(match[2].lower(), byte)
                else:
                    self._start(match[2].lower(), match[3], byte)
                at = match.end()
            else:
                end = self.text.find("<", at)
                end = len(self.text) if end < 0 else end
                self._say(html.unescape(self.text[at:end]))
                at = end
        if self.open:
            raise _wrong(f'Can\'t find end tag corresponding to start tag "{self.open[-1][0]}"')
        return "".join(self.out), self.entities

    def _no_tag(self, at: int, byte: int) -> str:
        name = re.match(r"</?([^\s>]*)", self.text[at:])
        return f'Unsupported start tag "{name[1] if name else ""}" at byte offset {byte}'

    def _say(self, text: str) -> None:
        self.out.append(text)
        self.length += units(text)

    def _start(self, tag: str, attributes: str, byte: int) -> None:
        given = {
            found[1].lower(): html.unescape(found[2] or found[3] or found[4] or "")
            for found in _ATTRIBUTE.finditer(attributes)
        }
        if tag not in _TAGS:
            raise _wrong(f'Unsupported start tag "{tag}" at byte offset {byte}')
        if tag == "span" and given.get("class") != "tg-spoiler":
            raise _wrong(f'Tag "span" must have class "tg-spoiler" at byte offset {byte}')
        self.open.append((tag, _TAGS[tag], given, self.length))

    def _close(self, tag: str, byte: int) -> None:
        if not self.open:
            raise _wrong(f"Unexpected end tag at byte offset {byte}")
        wanted, kind, given, start = self.open.pop()
        if tag != wanted:
            raise _wrong(f'Unmatched end tag at byte offset {byte}, expected "</{wanted}>", found "</{tag}>"')
        length = self.length - start
        if not length:
            return
        if kind == "text_link":
            if url := given.get("href"):
                self.entities.append(Entity(kind, start, length, url=check_url(url, "entity URL")))
            return
        if kind == "custom_emoji":
            if not re.fullmatch(r"\d{1,18}", given.get("emoji-id", "")):
                raise _wrong("Invalid custom emoji identifier specified")
            self.entities.append(Entity(kind, start, length, custom_emoji_id=given["emoji-id"]))
            return
        if kind == "blockquote" and "expandable" in given:
            kind = "expandable_blockquote"
        language = ""
        if kind == "code":
            language = given.get("class", "").removeprefix("language-")
            if language and self.open and self.open[-1][1] == "pre" and self.open[-1][3] == start:
                self.open[-1][2]["language"] = language
                return
        self.entities.append(
            Entity(kind, start, length, language=given.get("language", "") if kind == "pre" else "")
        )


class _Markdown:
    """MarkdownV2."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.out: list[str] = []
        self.length = 0
        self.entities: list[Entity] = []
        self.open: list[tuple[str, int, int]] = []

    def parse(self) -> tuple[str, list[Entity]]:
        while self.at < len(self.text):
            self._next()
        if self.open:
            mark, _, byte = self.open[-1]
            kind = (
                "text_link" if mark == "[" else "code" if mark == "`" else "pre" if mark == "```" else _MARKS[mark]
            )
            raise _wrong(f"Can't find end of {_NAMES[kind]} entity at byte offset {byte}")
        return "".join(self.out), self.entities

    def _next(self) -> None:
        text, at = self.text, self.at
        character = text[at]
        if character == "\\" and at + 1 < len(text) and 1 <= ord(text[at + 1]) <= 126:
            self._say(text[at + 1], 2)
        elif self.open and self.open[-1][0] in ("`", "```"):
            mark = self.open[-1][0]
            if text.startswith(mark, at):
                self._code_ends(mark)
            else:
                self._say(character, 1)
        elif text.startswith("```", at):
            self._opens("```")
            language = re.match(r"([^\s`]*)\n", text[self.at :])
            if language:
                self.language = language[1]
                self.at += language.end()
        elif character == "`":
            self._opens("`")
        elif character == ">" and (at == 0 or text[at - 1] == "\n"):
            self._quote()
        elif (sign := self._mark()) is not None:
            if self.open and self.open[-1][0] == sign:
                _, start, _ = self.open.pop()
                self.at += len(sign)
                self._add(_MARKS[sign], start)
            else:
                self._opens(sign)
        elif character == "[":
            self._opens("[")
        elif character == "]" and any(mark == "[" for mark, _, _ in self.open):
            self._link_ends()
        elif character in _RESERVED:
            raise _wrong(f"Character '{character}' is reserved and must be escaped with the preceding '\\'")
        else:
            self._say(character, 1)

    language = ""

    def _mark(self) -> str | None:
        for mark in ("__", "||", "*", "_", "~"):
            if self.text.startswith(mark, self.at):
                return mark
        return None

    def _say(self, text: str, taken: int) -> None:
        self.out.append(text)
        self.length += units(text)
        self.at += taken

    def _opens(self, mark: str) -> None:
        self.open.append((mark, self.length, _bytes(self.text[: self.at])))
        self.at += len(mark)

    def _add(self, kind: str, start: int, url: str = "", language: str = "") -> None:
        if self.length > start:
            self.entities.append(Entity(kind, start, self.length - start, url=url, language=language))

    def _code_ends(self, mark: str) -> None:
        _, start, _ = self.open.pop()
        self.at += len(mark)
        self._add("pre" if mark == "```" else "code", start, language=self.language if mark == "```" else "")
        self.language = ""

    def _link_ends(self) -> None:
        mark, start, byte = self.open.pop()
        if mark != "[":
            raise _wrong(f"Can't find end of {_NAMES[_MARKS[mark]]} entity at byte offset {byte}")
        target = re.match(r"\]\(((?:\\.|[^)\\])*)\)", self.text[self.at :])
        if target is None:
            raise _wrong(f"Can't find end of a URL at byte offset {_bytes(self.text[: self.at])}")
        self.at += target.end()
        url = re.sub(r"\\(.)", r"\1", target[1])
        self._add("text_link", start, url=check_url(url, "entity URL"))

    def _quote(self) -> None:
        """The lines that begin with `>`; a last line that ends in `||` folds them."""
        start = self.length
        lines: list[str] = []
        while self.at < len(self.text) and self.text[self.at] == ">":
            end = self.text.find("\n", self.at)
            end = len(self.text) if end < 0 else end
            lines.append(self.text[self.at + 1 : end])
            self.at = min(end + 1, len(self.text))
        folded = lines[-1].endswith("||")
        if folded:
            lines[-1] = lines[-1][:-2]
        inner = _Markdown("\n".join(lines))
        said, entities = inner.parse()
        for one in entities:
            self.entities.append(Entity(one.type, one.offset + start, one.length, one.url, one.language))
        self._say(said, 0)
        self._add("expandable_blockquote" if folded else "blockquote", start)
        if self.at < len(self.text) or self.text.endswith("\n"):
            self._say("\n", 0)


def _old_markdown(text: str) -> tuple[str, list[Entity]]:
    """The older Markdown: bold, italic, code, pre and links, none in another."""
    out: list[str] = []
    entities: list[Entity] = []
    at = length = 0
    while at < len(text):
        character = text[at]
        if character == "\\" and at + 1 < len(text) and text[at + 1] in "_*`[":
            out.append(text[at + 1])
            at, length = at + 2, length + 1
            continue
        if character not in "_*`[":
            out.append(character)
            at, length = at + 1, length + units(character)
            continue
        mark = "```" if text.startswith("```", at) else character
        end = text.find("]" if mark == "[" else mark, at + len(mark))
        if end < 0:
            raise _wrong(f"Can't find end of the entity starting at byte offset {_bytes(text[:at])}")
        inner, after = text[at + len(mark) : end], end + len(mark)
        kind, url, language = {"*": "bold", "_": "italic", "`": "code", "```": "pre", "[": ""}[mark], "", ""
        if mark == "[" and (target := re.match(r"\(([^)]*)\)", text[after:])):
            kind, url, after = "text_link", target[1], after + target.end()
        if mark == "```" and (named := re.match(r"([^\s`]+)\n", inner)):
            language, inner = named[1], inner[named.end() :]
        if inner and kind:
            entities.append(Entity(kind, length, units(inner), url=url, language=language))
        out.append(inner)
        at, length = after, length + units(inner)
    return "".join(out), entities
