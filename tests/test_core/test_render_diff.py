"""A diff is read as it was meant, and any text at all is read as something."""

from __future__ import annotations

import difflib
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from beambot.model.outbound import Change
from beambot.render.diff import (
    FileDiff,
    Row,
    as_text,
    changed_words,
    of_change,
    parse_diff,
    summary,
    text_summary,
)

CODE = [
    "",
    "a = 1",
    "b = f(a, 2)",
    "-- a comment",
    "++ i",
    "@@ decorator @@",
    "diff --git a/x b/x",
    "--- old",
    " x ",
]
PIECES = [
    "--- a/x", "+++ b/x", "@@ -1,2 +1 @@ f()", "@@", "@@@ -1 -1 +1 @@@", "diff --git a/x b/y", "rename from x", "+",
    "-", " ", "\\ No newline at end of file", "Binary files a/x and b/x differ", "GIT binary patch",
    "index 12..34 100644", "Index: x", "=" * 67, "… 7 more lines", "commit 0123456789",
    "-- ", "\r", "\x1b[31m", "\u2028", '--- "a\\303x"',
]  # fmt: skip
anything = st.text(max_size=80) | st.lists(st.sampled_from(PIECES) | st.text(max_size=9), max_size=20).map(
    "\n".join
)
code = st.lists(st.sampled_from(CODE) | st.text("ab -+@", max_size=6), max_size=25)


def unified(old: list[str], new: list[str], name: str = "x.py", context: int = 3) -> str:
    return "\n".join(difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", lineterm="", n=context))


def only(text: str) -> FileDiff:
    (file,) = parse_diff(text)
    return file


def kinds(file: FileDiff) -> str:
    signs = {"context": " ", "added": "+", "removed": "-", "gap": "⋯"}
    return "".join(signs[row.kind] for row in file.rows)


def marked(row: Row) -> list[str]:
    return [row.text[start:end] for start, end in row.marks]


def test_heads_are_dropped_and_give_the_path() -> None:
    file = only(
        "diff --git a/src/x.py b/src/x.py\nindex 12ab..34cd 100644\n--- a/src/x.py\n+++ b/src/x.py\n"
        "@@ -1,2 +1,2 @@\n same\n-old\n+new\n"
    )
    assert (file.path, kinds(file), file.added, file.removed) == ("src/x.py", " -+", 1, 1)
    assert [row.text for row in file.rows] == ["same", "old", "new"]


def test_a_gap_stands_between_hunks_and_says_where_it_is() -> None:
    file = only("@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@ def f():\n-c\n+d")
    assert kinds(file) == "-+⋯-+"
    assert file.rows[2].text == "def f():"


def test_lines_that_look_like_heads_are_lines_where_the_counts_say_so() -> None:
    file = only(
        "--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n x\n--- old comment\n+++ new comment\n@@ -9 +9 @@\n-a\n+b"
    )
    assert (file.path, kinds(file)) == ("q.sql", " -+⋯-+")
    assert file.rows[1].text == "-- old comment"


def test_wrong_counts_lose_no_line_and_no_file() -> None:
    files = parse_diff("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-c\n+d\n+e\n f")
    assert [(file.path, kinds(file)) for file in files] == [("x", "-+"), ("y", "-++ ")]


def test_a_diff_without_hunks_is_read_line_by_line() -> None:
    file = only("-old\n+new\nno sign at all\n\n same")
    assert (file.path, kinds(file)) == ("", "-+   ")
    assert file.rows[2].text == "no sign at all"


def test_line_ends_of_every_kind_and_the_missing_one() -> None:
    file = only("@@ -1 +1 @@\r\n-a\r\n\\ No newline at end of file\r\n+b\r\n\\ No newline at end of file\r\n")
    assert [row.text for row in file.rows] == ["a", "b"]


def test_nothing_in_a_line_makes_another_line_or_hides_a_part() -> None:
    file = only("@@ -1 +1,2 @@\n-good()\rnothing\n+a\u2028+b\u2029-c\n+x\u200b\u202ey\x1b[8mz\x1b]0;gone")
    assert kinds(file) == "-++"
    assert [row.text for row in file.rows] == ["good()�nothing", "a�+b�-c", "x�yz�]0;gone"]


def test_colours_of_a_terminal_are_gone() -> None:
    file = only(
        "\x1b[1m--- a/x\x1b[m\n\x1b[1m+++ b/x\x1b[m\n\x1b[36m@@ -1 +1 @@\x1b[m\n\x1b[31m-a\x1b[m\n\x1b[32m+b\x1b[m"
    )
    assert (file.path, kinds(file)) == ("x", "-+")


@pytest.mark.parametrize(
    ("head", "path", "note"),
    [
        ("diff --git a/o b/n\nsimilarity index 100%\nrename from o\nrename to n", "n", "renamed from o"),
        ("diff --git a/i.png b/i.png\nindex 1..2\nBinary files a/i.png and b/i.png differ", "i.png", "binary file"),
        ("diff --git a/i b/i\nGIT binary patch\nliteral 12\nzcmXyz-+\n", "i", "binary file"),
        ("Binary files a/i.png and /dev/null differ", "i.png", "binary file"),
        ("diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x", "n", "new file"),
        ("diff --git a/n b/n\ndeleted file mode 100644\n--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-x", "n", "deleted"),
        ("diff --git a/run b/run\nold mode 100644\nnew mode 100755", "run", "mode 100755"),
        ("--- a/b/x\n+++ a/b/x\n@@ -1 +1 @@\n-a\n+b", "a/b/x", ""),
        ('--- "a/sp\\303\\244t\\n.md"\n+++ "b/sp\\303\\244t\\n.md"\n@@ -1 +1 @@\n-a\n+b', "spät .md", ""),
        ("--- x.c\t2026-01-01 10:00\n+++ x.c\t2026-01-02 10:00\n@@ -1 +1 @@\n-a\n+b", "x.c", ""),
        ("+++ b/x\n@@ -1 +1 @@\n-a\n+b", "x", ""),
        (f"Index: src/x.c\n{'=' * 67}\n--- src/x.c\n+++ src/x.c\n@@ -1 +1 @@\n-a\n+b", "src/x.c", ""),
    ],
)  # fmt: skip
def test_what_a_head_says_of_a_file(head: str, path: str, note: str) -> None:
    file = only(head)
    assert (file.path, file.note) == (path, note)


def test_several_files_and_the_words_of_a_mail_around_them() -> None:
    files = parse_diff(
        "From 0123456789abcdef Mon Sep 17\nSubject: two\n- a list\n\n"
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
        "diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1,2 @@\n c\n+d\n-- \n2.47\n"
    )
    assert [(file.path, kinds(file)) for file in files] == [("x", "-+"), ("y", " +")]


def test_a_merge_has_a_sign_for_each_parent() -> None:
    file = only("diff --cc x\n--- a/x\n+++ b/x\n@@@ -1,2 -1,2 +1,3 @@@\n  a\n- b\n -c\n++d\n")
    assert [(row.kind, row.text) for row in file.rows[-3:]] == [("removed", "b"), ("removed", "c"), ("added", "d")]


def test_a_text_that_was_shortened_says_how_much_is_missing() -> None:
    file = only("@@ -1,99 +1,99 @@\n a\n-b\n… 190 more lines")
    assert (kinds(file), file.hidden, file.lines) == (" -", 190, 192)
    assert as_text(file, 10).endswith("\n… 190 more lines")
    assert only("@@ -1 +1 @@\n-aaa\n… 90 more characters").rows[-1] == Row("gap", "90 more characters")


@settings(max_examples=300, deadline=None)
@given(text=anything)
@example(text="… 1 more lines")
@example(text="--- \n+++ ")
@example(text="\ud800")
def test_no_text_raises_and_every_count_is_that_of_the_rows(text: str) -> None:
    for file in parse_diff(text, "given"):
        assert file.path
        assert file.added == kinds(file).count("+")
        assert file.removed == kinds(file).count("-")
        assert not any("\n" in row.text or "\r" in row.text for row in file.rows)
        for row in file.rows:
            ends = [place for mark in row.marks for place in mark]
            assert ends == sorted(set(ends))
            assert all(0 <= place <= len(row.text) for place in ends)
        shown = as_text(file, 5).split("\n")
        assert len(shown) <= 5
    assert text_summary(parse_diff(text))


@settings(max_examples=300, deadline=None)
@given(old=code, new=code, context=st.integers(0, 4))
def test_a_diff_made_by_difflib_gives_back_both_sides(old: list[str], new: list[str], context: int) -> None:
    text = unified(old, new, context=max(len(old), len(new)) if context == 4 else context)
    body = text.split("\n")[2:]
    files = parse_diff(text)
    if old == new:
        assert files == ()
        return
    (file,) = files
    hunks = sum(line.startswith("@@ -") for line in body)
    assert file.path == "x.py"
    assert len(file.rows) == len(body) - 1
    assert kinds(file).count("⋯") == hunks - 1
    matcher = difflib.SequenceMatcher(None, old, new).get_opcodes()
    assert file.removed == sum(b - a for tag, a, b, _, _ in matcher if tag != "equal")
    assert file.added == sum(b - a for tag, _, _, a, b in matcher if tag != "equal")
    if context == 4:
        assert [row.text for row in file.rows if row.kind != "added"] == old
        assert [row.text for row in file.rows if row.kind != "removed"] == new


def test_the_words_that_changed_are_marked_on_both_sides() -> None:
    gone, come = only("@@ -1 +1 @@\n-total = price * count\n+total = cost * amount").rows
    assert marked(gone) == ["price", "count"]
    assert marked(come) == ["cost", "amount"]


def test_lines_are_paired_in_order_only_where_there_are_as_many_on_each_side() -> None:
    first, second, third, fourth = only("-f(a, 1)\n-g(b, 1)\n+f(a, 2)\n+g(b, 3)").rows
    assert [marked(row) for row in (first, second, third, fourth)] == [["1"], ["1"], ["2"], ["3"]]
    assert all(row.marks == () for row in only("-f(a, 1)\n+f(a, 2)\n+g(b, 3)").rows)


def test_lines_with_little_in_common_are_not_marked() -> None:
    assert changed_words("return None", "for item in found:") == ((), ())


def test_words_are_looked_for_in_lines_and_diffs_of_a_sensible_length_only() -> None:
    assert changed_words("a " * 300 + "b", "a " * 300 + "c") == ((), ())
    pairs = only("\n".join(f"-line {n} is old\n+line {n} is new" for n in range(5_000))).rows
    assert marked(pairs[0]) == ["old"]
    assert pairs[-1].marks == ()


def test_signs_without_spaces_between_them_are_compared_one_by_one() -> None:
    gone, come = only("-这个项目是机器人\n+这个项目是桥梁").rows
    assert (marked(gone), marked(come)) == (["机器人"], ["桥梁"])


@settings(max_examples=200, deadline=None)
@given(old=st.text("ab ._", max_size=40), new=st.text("ab ._", max_size=40))
def test_what_is_not_marked_is_the_same_on_both_sides(old: str, new: str) -> None:
    gone, come = changed_words(old, new)
    if gone or come:
        assert unmarked(old, gone) == unmarked(new, come)


def unmarked(text: str, marks: tuple[tuple[int, int], ...]) -> str:
    for start, end in reversed(marks):
        text = text[:start] + text[end:]
    return "".join(text.split())


@pytest.mark.parametrize(
    "text",
    [
        "-" + "a b " * 25_000 + "\n+" + "a c " * 25_000,
        "\n".join(["-" + ".," * 240] * 500 + ["+" + ",;." * 160] * 500),
        "\n".join(f"-line {n} old\n+line {n} new" for n in range(10_000)),
        "Binary files " + " and " * 20_000 + "\n@@ " + "-1,1 " * 20_000 + "\n" + "@" * 100_000,
    ],
    ids=["one long line", "many tokens", "many pairs", "heads"],
)
def test_no_text_takes_long(text: str) -> None:
    begun = time.process_time()
    parse_diff(text)
    assert time.process_time() - begun < 2.0


def test_a_block_keeps_its_own_path_and_its_counts_where_its_text_was_shortened() -> None:
    change = Change("src/x.py", "--- a/elsewhere\n+++ b/elsewhere\n@@ -1 +1 @@\n-a\n+b\n… 9 more lines", 7, 5)
    (file,) = of_change(change)
    assert (file.path, file.added, file.removed, file.hidden) == ("src/x.py", 7, 5, 9)
    (whole,) = of_change(Change("src/x.py", "--- a/x\n+++ b/x\n-a\n+b", 2, 2))
    assert (whole.added, whole.removed) == (1, 1)
    assert of_change(Change("a\nb\u202e.py", "")) == (FileDiff("a b�.py"),)


def test_a_text_for_a_block_of_code_ends_with_what_it_leaves_out() -> None:
    file = only("@@ -1,3 +1,3 @@ f()\n a\n-b\n+c\n d")
    assert as_text(file, 9) == "⋯ f()\n a\n-b\n+c\n d"
    assert as_text(file, 5) == as_text(file, 9)
    assert as_text(file, 4) == "⋯ f()\n a\n-b\n… 2 more lines"
    assert as_text(file, 0) == "… 4 more lines"


def test_a_summary_in_numbers_and_in_words() -> None:
    files = (FileDiff("a.py", added=6, removed=4), FileDiff("b.py", added=2))
    assert summary(files) == [("a.py", 6, 4), ("b.py", 2, 0)]
    assert text_summary(files) == "2 files, +8 −4: a.py +6 −4, b.py +2 −0"
    assert text_summary(files[:1]) == "a.py +6 −4"
    assert text_summary(()) == "no changes"
    assert text_summary(files * 10).endswith(" and 12 more")
