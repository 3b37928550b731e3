"""A request becomes a call: its command, its paths as the disk knows them, and digests that are exact."""

from __future__ import annotations

import os
from pathlib import Path
from posixpath import normpath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beambot.model.bodies import Diff, PermissionRequest, ToolKind
from beambot.state.permission.calls import Call, call_of, is_inside

FOLDER = "/repo"


def request(
    given: dict[str, Any] | None = None,
    kind: ToolKind = "other",
    name: str = "tool",
    title: str = "title",
    **more: Any,
) -> PermissionRequest:
    return PermissionRequest("a1", title, kind, name=name, input=given or {}, **more)


def call(given: dict[str, Any] | None = None, kind: ToolKind = "other", **more: Any) -> Call:
    return call_of(request(given, kind, **more), FOLDER, normpath)


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({"command": "git status", "description": "look"}, "git status"),
        ({"cmd": "ls"}, "ls"),
        ({"script": "a\nb"}, "a\nb"),
        ({"command": ["bash", "-lc", "touch 'a b'"]}, "bash -lc 'touch '\"'\"'a b'\"'\"''"),
        ({"command": "git", "args": ["push", "--force"]}, "git push --force"),
        ({"command": "git", "args": "push"}, "git push"),
        ({"command": "git status", "env": {"GIT_PAGER": "sh x"}}, "GIT_PAGER='sh x' git status"),
        ({"commands": ["a", "b"]}, "a\nb"),
        ({"request": {"steps": [{"command": "a"}, {"Command": "b"}]}}, "a\nb"),
        ({"command": "a", "COMMAND": "b"}, "a\nb"),
        ({"command": "a", "inner": {"cmd": "a"}}, "a"),
        ({"command": 5, "path": "x"}, ""),
    ],
)
def test_the_command_is_found_whole(given: dict[str, Any], command: str) -> None:
    assert call(given).command == command


def test_a_command_that_is_told_only_by_a_title_or_by_code_is_not_certain() -> None:
    told = call({}, "execute", title="touch hi.txt")
    assert (told.command, told.certain) == ("touch hi.txt", False)
    code = call({"code": "import os"}, "execute")
    assert (code.command, code.certain) == ("import os", False)
    assert call({"command": "ls"}, "execute").certain


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ({"file_path": "/repo/a.py"}, ("/repo/a.py",)),
        ({"filePath": "a.py"}, ("/repo/a.py",)),
        ({"notebook_path": "n/../b.ipynb"}, ("/repo/b.ipynb",)),
        ({"path": "src/../../etc"}, ("/etc",)),
        ({"paths": ["a", {"path": "b"}]}, ("/repo/a", "/repo/b")),
        ({"edits": [{"file_path": "../x", "new_string": "/not/a/path"}]}, ("/x",)),
        ({"anything": "/etc/passwd"}, ("/etc/passwd",)),
        ({"anything": "x/../../y"}, ("/y",)),
        ({"uri": "file:///etc/x"}, ("/etc/x",)),
        ({"path": "~/x"}, ("?~/x",)),
        ({"path": "C:\\x"}, ("?C:\\x",)),
        ({"to": "bob"}, ()),
        ({"to": "a/b"}, ("/repo/a/b",)),
        ({"content": "/etc/passwd", "query": "/etc"}, ()),
        ({"command": "cat a.txt /etc/passwd ../x --out=/tmp/y"}, ("/etc/passwd", "/x", "/tmp/y")),
        ({"command": "cat ../x", "cwd": "/repo/sub/dir"}, ("/repo/sub/dir", "/repo/sub/x")),
        ({"command": "/usr/bin/git status > /dev/null"}, ()),
        ({"command": "sudo /opt/x"}, ("/opt/x",)),
    ],
)
def test_paths_are_found_at_any_depth_and_resolved(given: dict[str, Any], paths: tuple[str, ...]) -> None:
    assert call(given).paths == paths


def test_paths_of_the_request_itself_count_too() -> None:
    made = call(paths=("a",), blocked_path="/b", diffs=(Diff("c", new="x"), Diff("a")))
    assert made.paths == ("/repo/a", "/b", "/repo/c")


def test_symlinks_are_followed_on_the_disk(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    (project / "src").mkdir(parents=True)
    outside.mkdir()
    (project / "link").symlink_to(outside)
    made = call_of(request({"file_path": "link/x"}), str(project), os.path.realpath)
    assert made.paths == (str(outside / "x"),)
    # A word of a command that is a symlink counts although it does not look like a path.
    made = call_of(request({"command": "cat link"}), str(project), os.path.realpath)
    assert made.paths == (str(outside),)
    # `..` behind a symlink leads to the parent of where it points.
    made = call_of(request({"path": "link/../project/src"}), str(project), os.path.realpath)
    assert made.paths == (str(project / "src"),)
    (tmp_path / "door").symlink_to(project)
    assert call_of(request({"path": "a"}), str(tmp_path / "door"), os.path.realpath).folder == str(project)


def test_what_cannot_be_resolved_is_inside_of_nothing() -> None:
    def broken(path: str) -> str:
        raise OSError(path)

    made = call_of(request({"path": "a"}), FOLDER, broken)
    assert not any(is_inside(path, folder) for path in made.paths for folder in (FOLDER, "/", made.folder))
    assert call_of(request({"path": "a\0b"}), FOLDER, os.path.realpath).paths == ("?a\0b",)
    assert not is_inside("/x", call_of(request(), "", normpath).folder)


@pytest.mark.parametrize(
    ("path", "folder", "inside"),
    [
        ("/repo", "/repo", True),
        ("/repo/a", "/repo", True),
        ("/repo/a", "/repo/", True),
        ("/repo-b/a", "/repo", False),
        ("/", "/repo", False),
        ("repo/a", "repo", False),
        ("", "", False),
        ("/a", "/", True),
    ],
)
def test_inside_is_by_whole_names(path: str, folder: str, inside: bool) -> None:
    assert is_inside(path, folder) is inside


def test_addresses_are_found_but_not_in_what_is_only_written() -> None:
    assert call({"url": "https://a.example/x?y=1"}).urls == ("https://a.example/x?y=1",)
    assert call({"command": "curl 'http://b.example'; git clone git@h:x/y"}).urls == (
        "http://b.example",
        "git@h:x/y",
    )
    assert call({"content": "see https://a.example"}).urls == ()


@pytest.mark.parametrize(
    ("given", "asks"),
    [
        ({"command": "ls", "dangerouslyDisableSandbox": True}, True),
        ({"command": "ls", "dangerouslyDisableSandbox": False}, False),
        ({"command": "ls", "sandbox_permissions": "require_escalated"}, True),
        ({"command": "ls", "with_escalated_permissions": True}, True),
        ({"command": "ls", "sandbox_permissions": "use_default"}, False),
    ],
)
def test_input_that_asks_for_more_rights_is_noted(given: dict[str, Any], asks: bool) -> None:
    assert bool(call(given).powers) is asks


BASE = request({"command": "ls", "n": 1}, "execute", "Bash", paths=("a",), diffs=(Diff("a", "x", "y", tool="t1"),))


@pytest.mark.parametrize(
    "other",
    [
        request({"command": "ls ", "n": 1}, "execute", "Bash", paths=("a",), diffs=(Diff("a", "x", "y"),)),
        request({"command": "ls", "n": 2}, "execute", "Bash", paths=("a",), diffs=(Diff("a", "x", "y"),)),
        request({"command": "ls", "n": 1}, "other", "Bash", paths=("a",), diffs=(Diff("a", "x", "y"),)),
        request({"command": "ls", "n": 1}, "execute", "bash", paths=("a",), diffs=(Diff("a", "x", "y"),)),
        request({"command": "ls", "n": 1}, "execute", "Bash", paths=("b",), diffs=(Diff("a", "x", "y"),)),
        request({"command": "ls", "n": 1}, "execute", "Bash", paths=("a",), diffs=(Diff("a", "x", "z"),)),
        request({"command": "ls", "n": 1}, "execute", "Bash", paths=("a",)),
    ],
)
def test_any_difference_gives_another_digest(other: PermissionRequest) -> None:
    one, two = call_of(BASE, FOLDER, normpath), call_of(other, FOLDER, normpath)
    assert one.digest != two.digest
    assert one.act != two.act
    assert call_of(BASE, "/elsewhere", normpath).act != one.act


def test_ids_order_and_wording_of_the_agent_change_nothing() -> None:
    again = request(
        {"n": 1, "command": "ls"},
        "execute",
        "Bash",
        "another title",
        paths=("a",),
        diffs=(Diff("a", "x", "y", tool="t2"),),
    )
    assert call_of(BASE, FOLDER, normpath) == call_of(again, FOLDER, normpath)


def test_a_remark_on_a_command_changes_the_request_but_not_the_act() -> None:
    one, two = call({"command": "ls", "description": "a"}), call({"command": "ls", "description": "b"})
    assert one.digest != two.digest
    assert one.act == two.act
    assert call({"description": "a"}).act != call({"description": "b"}).act


def test_without_input_the_title_tells_calls_apart_unless_it_is_cut() -> None:
    one, two = call(None, "execute", title="touch a"), call(None, "execute", title="touch b")
    assert one.act != two.act
    assert call(None, "execute", title="touch aaaa…").act == ""
    assert call(None, "execute", title="touch aaa...").act == ""
    assert call(None, "execute", title="").act == ""
    # What will be written is not in the title.
    assert call(None, "edit", title="Writing to a").act == ""
    assert call(None, "edit", title="Writing to a", diffs=(Diff("a", None, "x"),)).act != ""


def test_an_endless_input_is_read_in_part_and_not_certain() -> None:
    made = call({"list": [{"path": f"/x/{number}"} for number in range(10_000)]})
    assert not made.certain


json = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["command", "path", "args", "env", "x", "cwd"]), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(["command", "path", "args", "env", "url", "commands"]), json, max_size=4))
def test_any_input_becomes_a_call_and_the_same_one_each_time(given_input: dict[str, Any]) -> None:
    assert call(given_input) == call(given_input)
