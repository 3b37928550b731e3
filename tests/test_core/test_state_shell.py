"""The reader of command lines: it never takes a doubtful line for simple, and never overlooks a command."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beambot.state.permission import shell

SIMPLE = {
    "git status": ("git", "status"),
    "git  status": ("git", "status"),
    "\tgit\tstatus  ": ("git", "status"),
    "git commit -m 'a; b && c'": ("git", "commit", "-m", "a; b && c"),
    'git commit -m "say \\"hi\\""': ("git", "commit", "-m", 'say "hi"'),
    "git log 'it'\\''s'": ("git", "log", "it's"),
    "grep -E 'a|sudo' src": ("grep", "-E", "a|sudo", "src"),
    "grep 'x > y $(z)' f": ("grep", "x > y $(z)", "f"),
    "touch a\\ b ''": ("touch", "a b", ""),
    'echo "größe 😀"': ("echo", "größe 😀"),
    "git show HEAD~1": ("git", "show", "HEAD~1"),
    "npm test -- --grep=x#1": ("npm", "test", "--", "--grep=x#1"),
    "python -m pytest -q": ("python", "-m", "pytest", "-q"),
    "python3 tools/x.py --c": ("python3", "tools/x.py", "--c"),
    "\\ls": ("ls",),
    "g'i't stat\"us\"": ("git", "status"),
}

NOT_SIMPLE = {
    "operator": [
        "git status && rm -rf /",
        "a || b",
        "a ; b",
        "a;b",
        "a & b",
        "a&",
        "a | b",
        "a |& b",
        "rm -rf ./x; echo",
    ],
    "newline": ["git status\nrm -rf /", "git commit -m 'a\nb'", "git \\\n status", "\ngit status"],
    "redirection": ["echo hi > f", "echo hi>f", "echo >> f", "cat < f", "make 2> err", "make 2>&1", "make &> f"],
    "here-document": ["cat << EOF", "cat <<< word"],
    "substitution": [
        "$(rm -rf /)",
        "echo `id`",
        'echo "$(id)"',
        'echo "`id`"',
        "cat <(id)",
        "echo ${X}",
        "echo $'a'",
        'grep "x$" f',
    ],
    "variable": ["echo $X", 'echo "$X"', "$X status", "echo $5", "echo $@", "git$IFS"],
    "pattern": ["ls *", "ls ?.py", "ls [ab]", "[[ a", "a[1]=2 x"],
    "braces": ["{rm,-rf,/}", "echo a{b,c}", "{ ls"],
    "comment": ["git status # rm", "git status #", "# hi"],
    "unbalanced": ["echo 'a", 'echo "a', "echo a\\", "git status '"],
    "group": ["(git status)", "f() x", "git status )"],
    "tilde": ["ls ~", "ls ~/x", "make X=~/y", "~/bin/x"],
    "history": ["! git status", "!!", "echo !x"],
    "assignment": ["FOO=1 git status", "FOO= git status", "PATH+=:/x git status", "X=1"],
    "reserved word": ["if true", "while x", "for x in y", "case x in", "time x", "-x", "=ls"],
    "empty": ["", " ", "\t", "'' x", '""'],
    "hidden characters": [
        "git status\r",
        "git\u00a0status",
        "git st\u200batus",
        "git status \u202ex",
        "git\u3000status",
        "a\x00b",
        "a\x1b[2Kb",
        "a\u2028b",
        "a\ud800b",
        "a\u3164b",
    ],
    "runs another command": [
        *(f"{runner} x" for runner in sorted(shell.RUNNERS - {"time"})),
        "sh -c 'git status'",
        "/bin/bash -lc 'git status'",
        "SUDO ls",
        "/usr/bin/sudo ls",
        "python -c 'print(1)'",
        "python3.12 -c 'print(1)'",
        "python -Ic 'print(1)'",
        "python",
        "python -",
        "python -m pdb x.py",
        "node -e 1",
        "node --eval=1",
        "perl -ne 1 f",
        "find . -exec rm x +",
        "find . -ok rm x +",
        "ssh host ls",
        "npx jest",
        "npm exec jest",
        "npm --prefix x exec jest",
        "uv run pytest",
        "docker run x",
        "docker exec x ls",
        "kubectl -n x exec y",
        "git -C /etc status",
        "git -c alias.x=y x",
        "git --git-dir=/x status",
        "git bisect run x",
        "git submodule foreach x",
        "git fetch --upload-pack=x",
        "git fetch --upload-pa x",
        "git clone ext::sh",
        "git grep -Oless x",
        "git grep --open-files-in-pager=less x",
        "tar xf a --checkpoint-action=exec=x",
        "rsync -e ssh a b",
        "rg --pre x y",
        "make SHELL=x test",
        "go test -exec x",
        "cargo test --config x",
        "awk 1 f",
        "vim x",
    ],
    "too long": ["x" * (shell.LONGEST + 1)],
}


@pytest.mark.parametrize("line", SIMPLE, ids=repr)
def test_a_plain_command_is_simple_and_its_words_are_those_of_a_shell(line: str) -> None:
    assert shell.why_not_simple(line) == ""
    assert shell.words(line) == SIMPLE[line] == tuple(shlex.split(line))


@pytest.mark.parametrize(
    ("why", "line"), [(why, line) for why, lines in NOT_SIMPLE.items() for line in lines], ids=repr
)
def test_whatever_is_more_or_less_than_one_plain_command_is_not_simple(why: str, line: str) -> None:
    assert not shell.is_simple(line)
    assert shell.words(line) == ()
    # A line can have several reasons; this one must be among those that are found when the others are away.
    assert why == shell.why_not_simple(line) or why in shell._scan(line)[1]


@given(st.lists(st.text(min_size=1), min_size=1, max_size=5))
def test_quoted_words_come_back_as_they_were_or_the_line_is_not_simple(words: list[str]) -> None:
    line = shlex.join(words)
    assert shell.words(line) in ((), tuple(words))


@given(st.text(alphabet="ab'\"\\ $`;&|<>(){}#*?~!=\n-/", max_size=40))
def test_the_words_of_a_simple_line_are_those_of_the_standard_reader(line: str) -> None:
    if shell.is_simple(line):
        assert shell.words(line) == tuple(shlex.split(line))
        assert found(line) == {shell.words(line)}


@pytest.mark.skipif(shutil.which("sh") is None, reason="there is no shell here")
def test_a_real_shell_reads_the_same_words_and_does_nothing_else(tmp_path: Path) -> None:
    random = Random(7)
    lines: list[str] = []
    while len(lines) < 500:
        line = "a " + "".join(random.choices("ab  '\"\\$`;&|<>(){}#*?~!=\n-/[]^%@+,:.é", k=random.randint(1, 10)))
        lines += [line] if shell.is_simple(line) else []
    script = "a() { printf '%s\\0' a \"$@\"; printf '\\1'; }\n" + "\n".join(lines) + "\n"
    done = subprocess.run(["sh"], input=script.encode(), capture_output=True, cwd=tmp_path, check=True)
    read = [tuple(word.decode() for word in one.split(b"\0")[:-1]) for one in done.stdout.split(b"\1")[:-1]]
    assert read == [shell.words(line) for line in lines]
    assert list(tmp_path.iterdir()) == []


def found(line: str) -> set[tuple[str, ...]]:
    return {part.words for part in shell.commands_in(line)}


@pytest.mark.parametrize(
    "line",
    [
        "rm -rf /",
        "ls && rm -rf /",
        "ls; rm -rf /",
        "ls | rm -rf /",
        "ls & rm -rf /",
        "ls\nrm -rf /",
        "ls || (rm -rf /)",
        "{ rm -rf /; }",
        "if true; then rm -rf /; fi",
        "f() { rm -rf /; }; f",
        "! rm -rf /",
        "FOO=1 BAR='x y' rm -rf /",
        "X='rm -rf /' make",
        "$(rm -rf /)",
        "echo `rm -rf /`",
        'echo "$(rm -rf /)"',
        'echo "a $(echo "b $(rm -rf /)")"',
        "cat <(rm -rf /)",
        "echo ${X:-$(rm -rf /)}",
        "sh -c 'rm -rf /'",
        'sudo bash -lc "cd x && rm -rf /"',
        "sudo -u x rm -rf /",
        "env A=1 nice -n 5 rm -rf /",
        "xargs rm -rf /",
        "find . -exec rm -rf / ';'",
        "ssh host rm -rf /",
        "ssh host 'cd x; rm -rf /'",
        "eval rm -rf /",
        'eval "rm -rf /"',
        "ls # rm -rf /",
        "{rm,-rf,/}",
        "r'm' -rf /",
        "r\\m -rf /",
        "rm \\\n-rf /",
        "echo 'x; rm -rf /",
        'echo "x; rm -rf /',
        "bash <<EOF\nrm -rf /\nEOF",
        "cat <<'EOF' | sh\nx\nrm -rf /\nEOF\nls",
        "docker run --rm x rm -rf /",
        "uv run rm -rf /",
        "time rm -rf /",
    ],
)
def test_a_command_is_found_wherever_it_hides(line: str) -> None:
    assert any(words[:3] == ("rm", "-rf", "/") for words in found(line)), found(line)


@pytest.mark.parametrize("line", ["git commit -m 'rm -rf /'", "echo 'a; rm -rf /' && ls", "grep -E 'x|rm' f"])
def test_a_command_that_is_only_mentioned_in_quotes_is_not_one(line: str) -> None:
    assert not any(words[0] == "rm" for words in found(line))


@pytest.mark.parametrize(
    ("line", "name"), [("curl x | sh", "sh"), ("curl x |\n sh", "sh"), ("curl x | (sh)", "sh"), ("sh < f", "sh")]
)
def test_a_command_knows_that_it_reads_from_another(line: str, name: str) -> None:
    assert [part.piped for part in shell.commands_in(line) if part.words[0] == name] == [True]


def test_a_line_of_any_depth_ends() -> None:
    deep = "bash -c " + shlex.quote("bash -c " + shlex.quote("$(" * 400))
    assert any("$" in part.words[0] for part in shell.commands_in(deep))


def test_paths_are_seen_inside_of_words() -> None:
    assert shell.places("--file=/etc/x") == ("/etc/x",)
    assert shell.places("-I/usr/include") == ("/usr/include",)
    assert shell.places("@/etc/x") == ("@/etc/x", "/etc/x")
    assert shell.places("host:/etc/x") == ("host:/etc/x", "/etc/x")
    assert shell.places("https://host/etc/x") == ()
    assert shell.places("file:///etc/x") == ("/etc/x",)
