"""Markdown of an agent to harmless HTML, one piece per top-level block, so that growth costs what is new."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from msgspec import Struct

# Characters that reorder a line or hide in it. Joiners (U+200C, U+200D) stay: scripts and emoji need them.
_DIRECTION = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_HIDDEN = [
    0x00AD,
    0x180E,
    0x200B,
    *range(0x2060, 0x2065),
    *range(0x206A, 0x2070),
    0xFEFF,
    *range(0xE0000, 0xE0080),
]
_CONTROL = [*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000)]
_CLEAN = (
    dict.fromkeys(_DIRECTION, "\N{REPLACEMENT CHARACTER}")
    | dict.fromkeys(_HIDDEN, "")
    | dict.fromkeys(_CONTROL, "\N{REPLACEMENT CHARACTER}")
)

_SAFE_LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_DUNDER = re.compile(r"__[a-z0-9]+(?:_+[a-z0-9]+)*__(?!_)")
_STARS = re.compile(r"\*+")


class Piece(Struct, frozen=True):
    """One top-level block: where it starts in the text, and its HTML."""

    start: int
    html: str


class Rendered(Struct, frozen=True):
    """A text and its pieces: what the next rendering of a longer text goes on from."""

    text: str
    pieces: tuple[Piece, ...]

    @property
    def html(self) -> list[str]:
        """The pieces' HTML."""
        return [piece.html for piece in self.pieces]


def clean(text: str) -> str:
    """The same text without characters that reorder it or cannot be seen."""
    return text.translate(_CLEAN)


def render(text: str, before: Rendered | None = None) -> Rendered:
    """HTML of `text`. When it goes on from `before`, only the last two blocks are read again.

    Two, because the last line of a growing text may turn out to belong to the block above it.
    """
    text = clean(text.replace("\r\n", "\n").replace("\r", "\n"))
    if before is None or not text.startswith(before.text) or len(before.pieces) < 3:
        return Rendered(text, _pieces(text, 0))
    if text == before.text:
        return before
    kept = before.pieces[:-2]
    return Rendered(text, kept + _pieces(text, before.pieces[-2].start))


def _pieces(text: str, start: int) -> tuple[Piece, ...]:
    md = _parser()
    part = text[start:]
    tokens = md.parse(part)
    offsets = [0]
    for line in part.split("\n"):
        offsets.append(offsets[-1] + len(line) + 1)
    pieces: list[Piece] = []
    first = 0
    for index, token in enumerate(tokens):
        if token.level == 0 and token.nesting != 1:
            line_map = tokens[first].map
            at = offsets[line_map[0]] if line_map else 0
            html = md.renderer.render(tokens[first : index + 1], md.options, {})
            pieces.append(Piece(start + at, html))
            first = index + 1
    return tuple(pieces)


@cache
def _parser() -> MarkdownIt:
    md = MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": True})
    md.enable(["table", "strikethrough"])
    # A reference may be defined far below its use: without it every top-level block stands for itself.
    md.disable(["reference", "html_block", "html_inline"])
    md.validateLink = _is_safe_link  # type: ignore[method-assign]
    md.inline.ruler.before("emphasis", "identifier", _identifier)
    md.add_render_rule("link_open", _link_open)
    md.add_render_rule("image", _image)
    md.add_render_rule("table_open", lambda *_: '<div class="table"><table>')
    md.add_render_rule("table_close", lambda *_: "</table></div>")
    for cell in ("th_open", "td_open"):
        md.add_render_rule(cell, _cell)
    return md


def _is_safe_link(url: str) -> bool:
    return _SAFE_LINK.match(url.strip()) is not None


def _identifier(state: StateInline, silent: bool) -> bool:
    """`__init__`, `2*3*4` and `**/*.py` are names and not emphasis."""
    source, pos = state.src, state.pos
    end = pos
    if source[pos] == "_":
        found = _DUNDER.match(source, pos)
        end = found.end() if found else pos
    elif source[pos] == "*":
        run = _STARS.match(source, pos)
        assert run is not None
        before = source[pos - 1] if pos else " "
        after = source[run.end()] if run.end() < len(source) else " "
        glob = (before in "/ \n([" and after in "/.") or (before == "/" and (after in "/." or after.isspace()))
        product = run.end() == pos + 1 and _is_ascii_word(before) and _is_ascii_word(after)
        end = run.end() if glob or product else pos
    if end == pos:
        return False
    if not silent:
        state.pending += source[pos:end]
    state.pos = end
    return True


def _is_ascii_word(char: str) -> bool:
    return char.isascii() and char.isalnum()


def _link_open(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    href = escapeHtml(str(tokens[index].attrs.get("href", "")))
    return f'<a href="{href}" target="_blank" rel="noopener noreferrer nofollow" title="{href}">'


def _image(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    """A picture from elsewhere is not loaded: that would tell elsewhere who reads."""
    token = tokens[index]
    href = escapeHtml(str(token.attrs.get("src", "")))
    label = escapeHtml(token.content) or href
    depth = sum((t.type == "link_open") - (t.type == "link_close") for t in tokens[:index])
    if depth > 0:
        return label
    return f'<a href="{href}" target="_blank" rel="noopener noreferrer nofollow" title="{href}">{label}</a>'


def _cell(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    """Alignment as a class: the page allows no style attributes."""
    token = tokens[index]
    align = re.search(r"text-align:(left|center|right)", str(token.attrs.get("style", "")))
    return f'<{token.tag} class="{align.group(1)}">' if align else f"<{token.tag}>"
