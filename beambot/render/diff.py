"""A unified diff as rows to show, whoever wrote it: wrong counts, missing heads and odd characters included."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from beambot.model.outbound import Change
from beambot.render.markdown.clean import clean

Kind = Literal["context", "added", "removed", "gap"]
Ranges = tuple[tuple[int, int], ...]

# Beyond these, the words that changed inside a line are not looked for.
_LONGEST_LINE = 500
_MOST_TOKENS = 2_500
_MOST_CHARACTERS = 60_000
_FILES_NAMED = 8

# A colour is the one escape that may go. Any other could hide a part of the change, so it stays to be seen.
_COLOUR = re.compile(r"\x1b\[[0-9;:]*[mK]")
_ONE_LINE = str.maketrans("\r\u2028\u2029", "\N{REPLACEMENT CHARACTER}" * 3)
_HUNK = re.compile(r"(@@+) (?:-\d+(?:,(\d+))? )+\+\d+(?:,(\d+))? \1 ?(.*)")
_HEAD = re.compile(
    r"(index |old mode |new mode |deleted file mode |new file mode |copy from |copy to |rename from |rename to |"
    r"similarity index |dissimilarity index |={60,}$|--- |\+\+\+ )"
)
_GIT = re.compile(r"diff (?:--(?:git|cc|combined) |-)")
_BINARY, _DIFFER = "Binary files ", " differ"
_COMMIT = re.compile(r"(?:commit|From) [0-9a-f]{7,64}\b")
_CUT = re.compile(r"… (\d{1,9}) more (lines|characters)")
_NOWHERE = "/dev/null"
# Scripts that are written without spaces are compared sign by sign.
_TOKEN = re.compile(r"[^\W\u2e80-\ud7ff\uf900-\ufaff]+|\s+|.")
_ESCAPED = re.compile(rb'\\([0-7]{3}|[abfnrtv"\\])')
_LETTERS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


class Row(Struct, frozen=True, omit_defaults=True):
    """One line. `text` is the old one on a removed row, the new one on an added row, and on a gap where it is.

    `marks` are the places in the text that differ from the row it was paired with.
    """

    kind: Kind
    text: str = ""
    marks: Ranges = ()


class FileDiff(Struct, frozen=True, omit_defaults=True):
    """What changed in one file; `hidden` lines were left out before it came here."""

    path: str
    rows: tuple[Row, ...] = ()
    added: int = 0
    removed: int = 0
    note: str = ""
    hidden: int = 0

    @property
    def lines(self) -> int:
        """How many lines there are to see, without the gaps between them."""
        return sum(row.kind != "gap" for row in self.rows) + self.hidden


def parse_diff(unified: str, path: str = "") -> tuple[FileDiff, ...]:
    """The files of a diff; `path` names a file that the text does not name."""
    text = _COLOUR.sub("", unified).replace("\r\n", "\n").translate(_ONE_LINE)
    lines = clean(text).split("\n")
    if lines[-1] == "":
        lines.pop()
    cut = _CUT.fullmatch(lines[-1]) if lines else None
    if cut:
        lines.pop()
    reader = _Reader()
    for at, line in enumerate(lines):
        reader.read(line, lines[at + 1 : at + 3])
    if cut:
        reader.cut(int(cut[1]), cut[2])
    return _with_marks([file.finished(path) for file in reader.files])


def of_change(change: Change) -> tuple[FileDiff, ...]:
    """The same of a block, under the block's path; its counts are taken where its text was shortened."""
    path = _one_line(change.path)
    files = parse_diff(change.unified, path) or (FileDiff(path),)
    if len(files) > 1:
        return files
    file = replace(files[0], path=path)
    return (replace(file, added=change.added, removed=change.removed) if file.hidden else file,)


def summary(diffs: Sequence[FileDiff]) -> list[tuple[str, int, int]]:
    """Each file with the lines added and removed."""
    return [(diff.path, diff.added, diff.removed) for diff in diffs]


def text_summary(diffs: Sequence[FileDiff]) -> str:
    """The same in words: for a caption, and for those who hear a picture instead of seeing it."""
    counts = [f"{path or 'a file'} +{added} −{removed}" for path, added, removed in summary(diffs)]
    if not counts:
        return "no changes"
    if len(counts) == 1:
        return counts[0]
    added, removed = sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs)
    more = f" and {len(counts) - _FILES_NAMED} more" if len(counts) > _FILES_NAMED else ""
    return f"{len(counts)} files, +{added} −{removed}: {', '.join(counts[:_FILES_NAMED])}{more}"


def as_text(diff: FileDiff, rows_limit: int) -> str:
    """For a block of code, in at most so many lines; the last one counts those that are not shown."""
    whole = len(diff.rows) <= rows_limit and not diff.hidden
    shown = diff.rows if whole else diff.rows[: max(rows_limit - 1, 0)]
    lines = [f"⋯ {row.text}".rstrip() if row.kind == "gap" else _SIGNS[row.kind] + row.text for row in shown]
    left = diff.lines - sum(row.kind != "gap" for row in shown)
    if left:
        lines.append(f"… {left} more line{'s' if left > 1 else ''}")
    return "\n".join(lines)


_SIGNS: dict[Kind, str] = {"context": " ", "added": "+", "removed": "-", "gap": "⋯"}


def changed_words(old: str, new: str) -> tuple[Ranges, Ranges]:
    """Where two lines differ; nothing when they have too little in common, or are too long to compare."""
    if max(len(old), len(new)) > _LONGEST_LINE or old == new:
        return (), ()
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    head, most = 0, min(len(before), len(after))
    while head < most and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < most - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    left, right = before[head : len(before) - tail], after[head : len(after) - tail]
    same: list[tuple[int, int, int]] = []
    if len(left) * len(right) <= _MOST_TOKENS:
        same = list(SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks())
    blocks = [(0, 0, head), *((a + head, b + head, size) for a, b, size in same if size)]
    blocks.append((len(before) - tail, len(after) - tail, tail))
    kept = sum(len(token.strip()) for at, _, size in blocks for token in before[at : at + size])
    if kept * 3 < max(len(old.strip()), len(new.strip())):
        return (), ()
    gone = _between([(a, size) for a, _, size in blocks], before, old)
    come = _between([(b, size) for _, b, size in blocks], after, new)
    return gone, come


def _between(same: list[tuple[int, int]], tokens: list[str], text: str) -> Ranges:
    """The characters outside of what is the same; a single space between two changed words is changed as well."""
    places = [0]
    for token in tokens:
        places.append(places[-1] + len(token))
    found: list[tuple[int, int]] = []
    end = 0
    for at, size in same:
        if at > end:
            start = places[end]
            if found and text[found[-1][1] : start].isspace():
                start = found.pop()[0]
            found.append((start, places[at]))
        end = max(end, at + size)
    return tuple(found)


def _with_marks(files: list[FileDiff]) -> tuple[FileDiff, ...]:
    """A run of removed rows and as many added ones behind it are the same lines, rewritten."""
    room = _MOST_CHARACTERS
    made = []
    for file in files:
        rows = list(file.rows)
        at = 0
        while at < len(rows) and room > 0:
            middle = _run(rows, at, "removed")
            end = _run(rows, middle, "added")
            if middle > at and end - middle == middle - at:
                for old, new in zip(range(at, middle), range(middle, end), strict=True):
                    room -= len(rows[old].text) + len(rows[new].text)
                    if room < 0:
                        break
                    gone, come = changed_words(rows[old].text, rows[new].text)
                    rows[old] = replace(rows[old], marks=gone)
                    rows[new] = replace(rows[new], marks=come)
            at = max(end, at + 1)
        made.append(replace(file, rows=tuple(rows)))
    return tuple(made)


def _run(rows: list[Row], at: int, kind: Kind) -> int:
    while at < len(rows) and rows[at].kind == kind:
        at += 1
    return at


class _File(msgspec.Struct):
    """A file while its diff is being read."""

    old: str = ""
    new: str = ""
    titled: str = ""
    notes: list[str] = []
    rows: list[Row] = []
    named: bool = False
    hidden: int = 0

    def finished(self, path: str) -> FileDiff:
        added = sum(row.kind == "added" for row in self.rows)
        removed = sum(row.kind == "removed" for row in self.rows)
        note = ", ".join(dict.fromkeys(self.notes))
        return FileDiff(self._path() or path, tuple(self.rows), added, removed, note, self.hidden)

    def _path(self) -> str:
        old, new = _plain_path(self.old), _plain_path(self.new)
        prefixed = [name for name in (old, new) if re.match(r"[abciow]/", name)]
        others = {old, new} - {*prefixed, _NOWHERE, ""}
        if prefixed and not others and (len(prefixed) == 1 or old[0] != new[0]):
            old, new = (name if name == _NOWHERE else name[2:] for name in (old, new))
        return (new if new != _NOWHERE else old) or _plain_path(self.titled)


class _Reader:
    """Reads line by line. The counts in a hunk's head tell `--- x` in a file from the head of the next file."""

    def __init__(self) -> None:
        self.files: list[_File] = []
        self.heading = False
        self.skipping = False
        self.counted = False
        self.old = self.new = 0
        self.columns = 1

    def read(self, line: str, following: list[str]) -> None:
        inside = self.counted and (self.old > 0 or self.new > 0)
        if _GIT.match(line) or (line.startswith("Index: ") and "".join(following[:1]).startswith("=" * 60)):
            self._begin().titled = line.rpartition(" b/")[2] if " b/" in line else line.split(" ")[-1]
        elif self._names_file(line, following, inside):
            self._name(line)
        elif line.startswith("@@"):
            self._hunk(line)
        elif not inside and _is_binary(line):
            self._binary(line)
        elif self.heading and not inside and _HEAD.match(line):
            self._note(line)
        elif not inside and self._is_mail(line):
            self.skipping, self.heading = True, False
        elif not self.skipping:
            self._row(line, inside)

    def cut(self, count: int, what: str) -> None:
        """The text was shortened on its way; what it lacks belongs to its last file."""
        file = self._file()
        if what == "lines":
            file.hidden = count
        else:
            file.rows.append(Row("gap", f"{count} more characters"))

    def _names_file(self, line: str, following: list[str], inside: bool) -> bool:
        if not line.startswith(("--- ", "+++ ")):
            return False
        first, second = (*following, "", "")[:2]
        pair = line.startswith("--- ") and first.startswith("+++ ")
        if inside:
            return pair and second.startswith("@@") and (self.old, self.new) != (1, 1)
        return pair or self.heading or first.startswith("@@")

    def _is_mail(self, line: str) -> bool:
        """The words of a commit around its diff: its message, and the mail's signature behind it."""
        return (self.counted and line == "-- ") or (
            (self.counted or not self.files) and _COMMIT.match(line) is not None
        )

    def _name(self, line: str) -> None:
        fresh = self.heading and self.files and not self.files[-1].rows
        old = line.startswith("--- ")
        if not fresh or (self.files[-1].old if old else self.files[-1].new):
            self._begin()
        file = self.files[-1]
        if old:
            file.old = line[4:]
        else:
            file.new = line[4:]

    def _begin(self) -> _File:
        self.heading, self.skipping, self.counted, self.columns = True, False, False, 1
        self.files.append(_File())
        return self.files[-1]

    def _file(self) -> _File:
        return self.files[-1] if self.files else self._begin()

    def _hunk(self, line: str) -> None:
        file = self._file()
        found = _HUNK.fullmatch(line)
        about = found[4].strip() if found else line.strip("@ ")
        if file.rows or about:
            file.rows.append(Row("gap", about))
        self.heading = self.skipping = False
        self.columns = len(found[1]) - 1 if found else 1
        self.counted = found is not None and self.columns == 1
        if found and self.counted:
            self.old, self.new = (int(count) if count else 1 for count in (found[2], found[3]))

    def _binary(self, line: str) -> None:
        file = self.files[-1] if self.heading else self._begin()
        if line.startswith(_BINARY):
            file.old, _, file.new = line.removeprefix(_BINARY).removesuffix(_DIFFER).partition(" and ")
        file.notes.append("binary file")
        self.skipping = self.heading = True

    def _note(self, line: str) -> None:
        file = self.files[-1]
        words, _, name = line.partition(" from ")
        if words in ("rename", "copy"):
            file.notes.append(f"{'renamed' if words == 'rename' else 'copied'} from {_plain_path(name)}")
        elif line.startswith(("rename to ", "copy to ")):
            file.titled = line.partition(" to ")[2]
        elif line.startswith("new file mode "):
            file.notes.append("new file")
        elif line.startswith("deleted file mode "):
            file.notes.append("deleted")
        elif line.startswith("new mode "):
            file.notes.append(f"mode {line[9:].strip()}")

    def _row(self, line: str, inside: bool) -> None:
        if line.startswith("\\ ") or (not line and self.counted and not inside):
            return
        file = self._file()
        self.heading = False
        prefix = line[: self.columns]
        kind: Kind = "added" if "+" in prefix else "removed" if "-" in prefix else "context"
        text = line[self.columns :] if not prefix.strip("+- ") else line
        file.rows.append(Row(kind, text))
        self.old -= kind != "added"
        self.new -= kind != "removed"


def _is_binary(line: str) -> bool:
    return line == "GIT binary patch" or (line.startswith(_BINARY) and line.endswith(_DIFFER))


def _plain_path(name: str) -> str:
    """A path without the time behind it, and without the quotes around one with unusual characters."""
    name = name.split("\t")[0].strip()
    if len(name) < 2 or name[0] != '"' or name[-1] != '"':
        return name
    raw = _ESCAPED.sub(lambda found: _byte(found[1]), name[1:-1].encode(errors="replace"))
    return _one_line(raw.decode(errors="replace"))


def _byte(escape: bytes) -> bytes:
    return bytes([int(escape, 8) & 255]) if escape.isdigit() else _LETTERS.get(escape, escape)


def _one_line(path: str) -> str:
    return " ".join(clean(path).split())
