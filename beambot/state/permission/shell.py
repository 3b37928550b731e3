"""A careful reader of command lines, for rules and for warnings.

It is not a shell. It answers two questions, each with its own kind of caution:

- `is_simple`: is this one plain command, whose words are certain? Whenever there is a doubt the answer is no. So
  anything that a shell would expand, join, redirect or take apart makes a line not simple, and so does every
  command that runs another one (`RUNNERS`, `RUNNING_SUBCOMMANDS`, `RUNNING_OPTIONS`, code for an interpreter).
- `commands_in`: which commands could run here? Whenever there is a doubt it lists one too many. It is for warnings
  only. What stands inside substitutions, quoted scripts, comments and here-documents counts as commands too.
"""

from __future__ import annotations

import re
import unicodedata

from msgspec import Struct

from beambot.state.permission.signs import (
    INTERPRETERS,
    RUNNERS,
    RUNNING_LETTERS,
    RUNNING_OPTIONS,
    RUNNING_SUBCOMMANDS,
    listed,
)

LONGEST = 50_000
_WINDOW = 64
_DEPTH = 5


class Part(Struct, frozen=True):
    """A command inside a line. `piped`: it reads from another. `guess`: found by looking very closely."""

    words: tuple[str, ...]
    piped: bool = False
    guess: bool = False


_RESERVED = listed("{ } ! if then else elif fi do done while until for case esac in select function [[ time")
# Letters, marks and a sign that show nothing.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {chr(c) for c in range(0xE0100, 0xE01F0)}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=(.*)", re.DOTALL)
_PLAIN = re.compile(r"[^\\'\"$`;&|\n()<>{}#*?\[~! \t]+")
_IN_QUOTES = re.compile(r"[^\\\"$`]+")
_HERE = re.compile(r"<<-?\s*(['\"\\]?)([\w.-]+)\1[^\n]*\n(.*?)(?:\n\s*\2[ \t]*(?=\n|$)|$)", re.DOTALL)
_VERSION = re.compile(r"(?<=\D)[\d.]+$")
# What keeps a line from being read for certain even by `commands_in`, which then reads it once more without quotes.
_DOUBT = frozenset({"unbalanced", "substitution", "braces"})


def why_not_simple(command: str) -> str:
    """What keeps a line from being one plain command, in a word; nothing when it is one."""
    if len(command) > LONGEST:
        return "too long"
    if any(map(is_hidden, command)):
        return "hidden characters"
    if "\n" in command:
        return "newline"
    parts, why, _ = _scan(command)
    if why:
        return min(why)
    if len(parts) != 1 or not parts[0].words[0]:
        return "empty"
    first = parts[0].words[0]
    if first in _RESERVED or first.startswith(("=", "-")):
        return "reserved word"
    if _ASSIGNMENT.match(first):
        return "assignment"
    return "runs another command" if runs_others(parts[0].words) else ""


def is_simple(command: str) -> bool:
    """Whether a line is exactly one command with certain words that runs nothing but itself."""
    return not why_not_simple(command)


def words(command: str) -> tuple[str, ...]:
    """The words of a simple command with quotes resolved; none for any other line."""
    return _scan(command)[0][0].words if is_simple(command) else ()


def commands_in(command: str) -> tuple[Part, ...]:
    """Every command that a line could run, rather one too many than one too few."""
    found: dict[Part, None] = {}
    _collect(command[:LONGEST], found, 0)
    return tuple(found)


def is_hidden(char: str) -> bool:
    """Whether a character cannot be seen or only pretends to be a space; tabs and line ends are neither."""
    if char.isascii():
        return not char.isprintable() and char not in "\t\n"
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Zs") or char in _BLANK


def name(words: tuple[str, ...]) -> str:
    """What a command is called, without its folder, its version and its capitals."""
    last = words[0].replace("\\", "/").rsplit("/", 1)[-1] if words else ""
    plain = last.casefold().removesuffix(".exe")
    return _VERSION.sub("", plain) or plain


def subcommands(words: tuple[str, ...]) -> frozenset[str]:
    """What the first words behind the name could mean: `push`, `stash drop`. Options' values may come before."""
    plain = [word for word in words[1:_WINDOW] if not word.startswith("-")]
    starts = range(len(plain) if words[1:] and words[1].startswith("-") else 1)
    return frozenset(
        " ".join(plain[at : at + length]) for at in starts for length in (1, 2) if plain[at : at + length]
    )


def runs_others(words: tuple[str, ...]) -> bool:
    """Whether a command runs another one, or code that stands in its words."""
    called = name(words)
    if called in RUNNERS or called in _RESERVED:
        return True
    if called in INTERPRETERS and _runs_code(called, words):
        return True
    behind = words[1:]
    if called == "git" and ("".join(behind[:1]).startswith("-") or any("ext::" in word for word in behind)):
        return True
    if called in ("make", "gmake", "just", "ninja") and any("=" in word for word in behind):
        return True
    first = behind if behind and behind[0].startswith("-") else behind[:2]
    if RUNNING_SUBCOMMANDS.get(called, frozenset()).intersection(first):
        return True
    letters = RUNNING_LETTERS.get(called, ())
    return any(_is_running(word) or word.startswith(letters) for word in behind if word.startswith("-"))


def _runs_code(called: str, words: tuple[str, ...]) -> bool:
    """An interpreter that is given anything but a file, or a module by name, right behind it."""
    if len(words) < 2 or words[1] == "-":
        return True
    if called in ("python", "pypy") and words[1] == "-m" and len(words) > 2:
        return words[2].startswith("-") or words[2] in (
            "code",
            "pdb",
            "timeit",
            "trace",
            "runpy",
            "cProfile",
            "profile",
        )
    return words[1].startswith("-")


def _is_running(word: str) -> bool:
    """Options can be cut as long as they stay clear: `--upload-pa=…` is `--upload-pack=…`."""
    option = word.split("=", 1)[0]
    if option in RUNNING_OPTIONS:
        return True
    return (
        len(option) > 3 and option.startswith("--") and any(known.startswith(option) for known in RUNNING_OPTIONS)
    )


def places(word: str) -> tuple[str, ...]:
    """What in a word could be a path: the word, and what stands behind `=`, `:`, `,`, `@` or an option's letter."""
    if "://" in word:
        return tuple(re.findall(r"file://([^\s,;]*)", word, re.IGNORECASE))
    found = [] if word.startswith("-") else [word]
    found += [piece for piece in re.split(r"[=:,@]", word)[1:] if piece]
    if re.match(r"-\w[/~.]", word):
        found.append(word[2:])
    return tuple(dict.fromkeys(found))


def _collect(text: str, found: dict[Part, None], depth: int, guess: bool = False) -> None:
    if depth > _DEPTH:
        found[Part(("$",))] = None
        return
    parts, why, inner = _scan(text)
    if "here-document" in why and (here := _HERE.search(text)):
        # What is handed to a command may be a program or a text: look through it, without taking it for certain.
        _collect(here[3], found, depth + 1, guess=True)
        text = text[: here.start(3)] + text[here.end(3) :]
        parts, why, inner = _scan(text)
    if why & _DOUBT:
        parts += _scan(without_quotes(text))[0]
    if "braces" in why:
        parts += _scan(re.sub(r"[{},]", " ", without_quotes(text)))[0]
    for part in parts:
        inner += _expand(part, found, guess)
    for nested in inner:
        _collect(nested, found, depth + 1, guess)


def _expand(part: Part, found: dict[Part, None], guess: bool) -> list[str]:
    """Note a command and what it runs; gives the texts inside of it that are command lines themselves."""
    words, nested = part.words, []
    while words and (words[0] in _RESERVED or _ASSIGNMENT.match(words[0])):
        assigned = _ASSIGNMENT.match(words[0])
        nested += [assigned[1]] if assigned else []
        words = words[1:]
    if not words:
        return nested
    found[Part(words, part.piped, guess)] = None
    if not runs_others(words):
        return nested
    for at in range(1, len(words)):
        if not words[at].startswith("-"):
            found[Part(words[at : at + _WINDOW], part.piped, guess=True)] = None
        if re.search(r"[\s;|&]", words[at]):
            nested.append(words[at])
    return [*nested, " ".join(words[1:])] if name(words) == "eval" else nested


def without_quotes(text: str) -> str:
    """A text as if no quote and no backslash stood in it."""
    return re.sub(r"['\"\\]", "", text.replace("\\\n", "")).replace("`", ";")


class _Reader:
    """The words and commands of one line while it is read, why it is not simple, and its substitutions."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.why: set[str] = set()
        self.inner: list[str] = []
        self._words: list[str] = []
        self._word: list[str] | None = None
        self.piped = False

    @property
    def inside_word(self) -> bool:
        return self._word is not None

    def add(self, text: str) -> None:
        self._word = [] if self._word is None else self._word
        self._word.append(text)

    def end_word(self) -> None:
        if self._word is not None:
            self._words.append("".join(self._word))
            self._word = None

    def end_part(self, operator: str) -> None:
        self.end_word()
        if self._words:
            self.parts.append(Part(tuple(self._words), self.piped))
            self._words, self.piped = [], False
        # A pipe may be followed by line ends and brackets before its command.
        self.piped = operator in ("|", "|&") or (self.piped and operator in ("\n", "("))


def _scan(text: str) -> tuple[list[Part], set[str], list[str]]:
    """Words and commands as a shell would see them, what makes the line not simple, and texts in substitutions."""
    reader, at = _Reader(), 0
    while at < len(text):
        if plain := _PLAIN.match(text, at):
            reader.add(plain[0])
            at = plain.end()
        else:
            at = _special(reader, text, at)
    reader.end_part("")
    return reader.parts, reader.why, reader.inner


def _special(reader: _Reader, text: str, at: int) -> int:
    """Take in the one character that means something to a shell, with what belongs to it."""
    char, follows = text[at], text[at + 1 : at + 2]
    if char in " \t":
        reader.end_word()
    elif char == "\\":
        reader.why.update({"": {"unbalanced"}, "\n": {"newline"}}.get(follows, ()))
        if follows.strip("\n"):
            reader.add(follows)
        return at + 2
    elif char == "'":
        end = text.find("'", at + 1)
        if end < 0:
            reader.why.add("unbalanced")
        reader.add(text[at + 1 : end if end >= 0 else len(text)])
        return end + 1 if end >= 0 else len(text)
    elif char == '"':
        return _double_quotes(reader, text, at + 1)
    elif char in "$`":
        return _expansion(reader, text, at)
    elif char in ";&|\n()":
        pair = text[at : at + 2]
        operator = pair if pair in ("||", "&&", "|&", ";;") else char
        reader.why.add({"\n": "newline", "(": "group", ")": "group"}.get(char, "operator"))
        reader.end_part(operator)
        return at + len(operator)
    elif char in "<>":
        reader.why.add("here-document" if char == follows == "<" else "redirection")
        reader.end_word()
        reader.piped = reader.piped or char == "<"
        if follows == "(":
            return _substitution(reader, text, at + 1)
    elif char == "#" and not reader.inside_word:
        reader.why.add("comment")
        reader.end_part("#")
    else:
        reader.why.update(_expanded(char, text[at - 1] if at and reader.inside_word else ""))
        reader.add(char)
    return at + 1


def _expanded(char: str, before: str) -> set[str]:
    """What a shell makes of a character, with the one before it in the same word."""
    if char in "*?[":
        return {"pattern"}
    if char in "{}":
        return {"braces"}
    if char == "~":
        return {"tilde"} if not before or before in "=:" else set()
    return {"history"} if char == "!" and not before else set()


def _double_quotes(reader: _Reader, text: str, at: int) -> int:
    reader.add("")
    while at < len(text):
        if plain := _IN_QUOTES.match(text, at):
            reader.add(plain[0])
            at = plain.end()
        elif text[at] == '"':
            return at + 1
        elif text[at] == "\\":
            follows = text[at + 1 : at + 2]
            reader.add(follows if follows in ("$", "`", '"', "\\") else "" if follows == "\n" else "\\" + follows)
            at += 2
        else:
            at = _expansion(reader, text, at)
    reader.why.add("unbalanced")
    return at


def _expansion(reader: _Reader, text: str, at: int) -> int:
    follows = text[at + 1 : at + 2]
    if text[at] == "`":
        end = text.find("`", at + 1)
        reader.why.update({"substitution"} if end >= 0 else {"substitution", "unbalanced"})
        end = end if end >= 0 else len(text)
        reader.inner.append(text[at + 1 : end].replace("\\", ""))
        reader.add(text[at : end + 1])
        return end + 1
    if follows == "(":
        reader.add("$")
        return _substitution(reader, text, at + 1)
    reader.why.add("substitution" if follows in ("'", '"', "{") else "variable")
    reader.add("$")
    return at + 1


def _substitution(reader: _Reader, text: str, at: int) -> int:
    """`$(…)`, `<(…)`: its text belongs to the word, and is a line of its own. `at` is the opening bracket."""
    reader.why.add("substitution")
    depth, end, quote = 0, at, ""
    while end < len(text):
        char = text[end]
        if char == "\\" and quote != "'":
            end += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "()":
            depth += 1 if char == "(" else -1
            if depth == 0:
                break
        end += 1
    if end >= len(text):
        reader.why.add("unbalanced")
    reader.inner.append(text[at + 1 : end])
    reader.add(text[at : end + 1])
    return end + 1
