"""Rules: a doubt never allows, a denial is never escaped, and what is offered is what it says."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from posixpath import normpath
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from beambot.model.bodies import Diff, PermissionRequest, ToolKind
from beambot.state.permission import shell
from beambot.state.permission.calls import Call, call_of
from beambot.state.permission.risk import is_grave
from beambot.state.permission.rules import (
    LASTING,
    REST_OF_TURN,
    Lasting,
    Offer,
    Rule,
    Scope,
    decide,
    in_words,
    lasts,
    make,
    matches,
    offers,
    prefix_of,
    used,
)

FOLDER = "/repo"
HERE: dict[str, Any] = {"project": "shop", "session": "s1", "turn": "t1", "now": 1000.0}


def command(line: str, tool: str = "Shell", folder: str = FOLDER, **more: Any) -> Call:
    body = PermissionRequest("a1", line, "execute", name=tool, input={"command": line, **more})
    return call_of(body, folder, normpath)


def edit(path: str, tool: str = "Write", kind: ToolKind = "edit") -> Call:
    body = PermissionRequest("a1", path, kind, name=tool, input={"file_path": path, "content": "x"})
    return call_of(body, FOLDER, normpath)


def use(tool: str, kind: ToolKind = "other", **given: Any) -> Call:
    return call_of(PermissionRequest("a1", tool, kind, name=tool, input=given), FOLDER, normpath)


def rule(scope: Scope, value: str = "", tool: str = "Shell", allow: bool = True, **more: Any) -> Rule:
    return Rule("r1", allow, scope, tool, value, "shop", **more)


def holds(one: Rule, call: Call, **where: Any) -> bool:
    return matches(one, call, **{**HERE, **where})


def made(offer: Offer, lasting: Lasting = "session", allow: bool = True) -> Rule:
    return make(offer, lasting, allow, id="r1", project="shop", session="s1", turn="t1", by="ana", now=1000.0)


# ── prefix ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("prefix", "line"),
    [
        ("git status", "git status"),
        ("git status", "git  status -s"),
        ("git status", "'git' \"status\" src"),
        ("npm test", "npm test -- --grep 'a && b'"),
        ("npm run test", "npm run test --silent"),
        ("pytest", "pytest -q tests/test_a.py"),
        ("python -m pytest", "python -m pytest -x"),
        ("./run.sh", "./run.sh all"),
        ("git fetch", "git fetch origin"),
    ],
)
def test_a_prefix_allows_commands_that_begin_with_its_words(prefix: str, line: str) -> None:
    assert holds(rule("prefix", prefix), command(line))


@pytest.mark.parametrize(
    ("prefix", "line"),
    [
        # words, not characters
        ("git st", "git stash"),
        ("git st", "git status"),
        ("git status", "git statusx"),
        ("git status", "/usr/bin/git status"),
        ("git status", "GIT status"),
        ("git status", "git -C /etc status"),
        ("git status", "git --git-dir=/etc status"),
        # more than one command
        ("git status", "git status && rm -rf /"),
        ("git status", "git status; ls"),
        ("git status", "git status | cat"),
        ("git status", "git status & ls"),
        ("git status", "git status\nls"),
        ("git status", "git status > f"),
        ("git status", "git status $(ls)"),
        ("git status", "git status `ls`"),
        ("git status", "git status $X"),
        ("git status", "git status *"),
        ("git status", "git status #"),
        ("git status", "git status 'x"),
        ("git status", "FOO=1 git status"),
        ("git status", "sudo git status"),
        ("git status", "bash -c 'git status'"),
        ("git status", "git\u00a0status"),
        ("git status", "git status \u202ex"),
        # paths that lead away
        ("cat", "cat /etc/hosts"),
        ("cat", "cat ../x"),
        ("cat", "cat src/../../etc"),
        ("cat", "cat ~/x"),
        ("git diff", "git diff --output=/tmp/x"),
        # a warning that the words of the rule do not carry
        ("cat", "cat .env"),
        ("git branch", "git branch -D x"),
        ("git checkout", "git checkout -- ."),
        ("git push", "git push --force"),
        ("git push", "git push"),
        ("find .", "find . -delete"),
        # rules that say too little, wherever they come from
        ("git", "git status"),
        ("npm", "npm test"),
        ("npm run", "npm run test"),
        ("python", "python x.py"),
        ("rm", "rm x"),
        ("bash", "bash x.sh"),
        ("sudo", "sudo ls"),
        ("npm install", "npm install x"),
        ("", "git status"),
        (" ", "git status"),
        ("git status &&", "git status && ls"),
        ("'git", "git status"),
    ],
)
def test_a_prefix_does_not_allow(prefix: str, line: str) -> None:
    assert not holds(rule("prefix", prefix), command(line))


def test_a_prefix_is_bound_to_the_folder_it_was_made_in() -> None:
    one = rule("prefix", "npm test", folder="/repo")
    assert holds(one, command("npm test"))
    assert holds(one, command("npm test", folder="/repo/packages/a"))
    assert not holds(one, command("npm test", folder="/repo-2"))
    assert not holds(one, command("npm test", folder="/"))
    assert not holds(one, command("npm test", cwd="/other"))
    assert not holds(one, command("npm test", cwd="../other"))


def test_a_prefix_does_not_allow_what_the_input_adds_beside_the_command() -> None:
    one = rule("prefix", "git status")
    assert not holds(one, command("git status", env={"GIT_PAGER": "sh"}))
    assert not holds(one, command("git", args=["status", "&&", "x", "\n"], command="git status\nls"))
    assert not holds(one, command("git status", disable_sandbox=True))
    assert not holds(one, call_of(PermissionRequest("a", "git status", "execute", name="Shell"), FOLDER, normpath))


PLAIN = ["git status", "npm test", "ls -la src", "pytest -q", "git commit -m 'a b'", "npm run build", "cat a.py"]
JOINTS = ["&&", "||", ";", "|", "&", "\n", "|&", ";;", "<", ">", ">>", "2>", "<<<", "\n#", " #"]
plain = st.sampled_from(PLAIN)


@given(plain, st.sampled_from(JOINTS), plain, st.sampled_from(["", " "]), st.sampled_from(["", " "]))
def test_no_compound_command_is_allowed_by_a_prefix(
    one: str, joint: str, two: str, before: str, behind: str
) -> None:
    line = one + before + joint + behind + two
    # Without a space in front, `#` and a digit belong to the word before.
    if joint in (" #",) or before or not joint[0].isdigit():
        assert not any(holds(rule("prefix", shlex.join(prefix_of(shell.words(p)))), command(line)) for p in PLAIN)


@given(
    plain,
    st.sampled_from(["$({})", "`{}`", "({})", "{{ {}; }}", "<({})", "sh -c '{}'", "X=1 {}", "env {}", "! {}"]),
)
def test_no_wrapped_command_is_allowed_by_a_prefix(line: str, wrap: str) -> None:
    wrapped = wrap.format(line)
    as_argument = f"{line} {wrapped}" if wrap[0] in "$`({<" else wrapped
    assert not any(holds(rule("prefix", p), command(w)) for p in PLAIN for w in (wrapped, as_argument))


@given(st.text(alphabet="git staus&;|$()`'\"\\\n<>#*-r~{}=", max_size=25))
def test_what_a_prefix_allows_is_one_command_of_these_words(tail: str) -> None:
    if holds(rule("prefix", "git status"), command("git status" + tail)):
        (only,) = shell.commands_in("git status" + tail)
        assert only.words[:2] == ("git", "status")
        assert list(only.words) == shlex.split("git status" + tail)


# ── folder ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", ["/repo/src/a.py", "src/a.py", "src/b/../a.py", "src", "docs/../src/x/y"])
def test_a_folder_allows_what_is_inside(path: str) -> None:
    assert holds(rule("folder", "/repo/src", "Write"), edit(path))


@pytest.mark.parametrize(
    "path",
    ["a.py", "src/../a.py", "/repo/src2/a", "src/../../etc", "/etc/x", "~/x", "src/.env", "src/.git/hooks/x"],
)
def test_a_folder_does_not_allow_what_is_outside_or_grave(path: str) -> None:
    assert not holds(rule("folder", "/repo/src", "Write"), edit(path))


def test_a_folder_allows_only_when_every_path_is_inside() -> None:
    body = PermissionRequest(
        "a", "t", "edit", name="Write", paths=("src/a",), diffs=(Diff("src/b", "", "x"), Diff("c", "", "x"))
    )
    assert not holds(rule("folder", "/repo/src", "Write"), call_of(body, FOLDER, normpath))
    assert holds(rule("folder", "/repo", "Write"), call_of(body, FOLDER, normpath))
    assert not holds(rule("folder", "/repo", "Write"), use("Write", "edit", content="x"))


def test_a_folder_allows_no_command_and_no_other_tool_or_kind() -> None:
    one = rule("folder", "/repo", "Shell")
    assert not holds(one, command("cat src/a.py"))
    kinds = rule("folder", "/repo", "Write", kind="edit")
    assert holds(kinds, edit("a"))
    assert not holds(kinds, edit("a", kind="delete"))
    assert not holds(kinds, edit("a", tool="Other"))


@pytest.mark.parametrize("value", ["", "/", "//", "repo", "."])
def test_a_folder_that_is_everything_or_nothing_allows_nothing(value: str) -> None:
    assert not holds(rule("folder", value, "Write"), edit("a"))


def test_a_link_out_of_the_folder_is_not_inside(tmp_path: Path) -> None:
    project, outside = tmp_path / "p", tmp_path / "o"
    project.mkdir()
    outside.mkdir()
    (project / "link").symlink_to(outside)
    for path in ("link", "link/x", "link/../o/x", "./link/y"):
        body = PermissionRequest("a", "t", "edit", name="Write", input={"file_path": path})
        assert not holds(rule("folder", str(project), "Write"), call_of(body, str(project), os.path.realpath))
        line = PermissionRequest("a", "t", "execute", name="Shell", input={"command": f"cat {path}"})
        assert not holds(rule("prefix", "cat"), call_of(line, str(project), os.path.realpath))


@given(st.lists(st.sampled_from(["src", "..", ".", "link", "a"]), min_size=1, max_size=6))
def test_whatever_resolves_outside_is_not_allowed(parts: list[str]) -> None:
    def resolve(path: str) -> str:
        return normpath(path.replace("/link", "/../far"))

    body = PermissionRequest("a", "t", "edit", name="Write", input={"file_path": "/".join(parts)})
    call = call_of(body, FOLDER, resolve)
    inside = all(path == FOLDER or path.startswith("/repo/") for path in call.paths)
    assert holds(rule("folder", FOLDER, "Write"), call) == inside


# ── tool ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_tool_is_allowed_until_it_becomes_risky() -> None:
    search = rule("tool", tool="web_search")
    assert holds(search, use("web_search", "fetch", query="x"))
    assert not holds(search, use("web_fetch", "fetch", query="x"))
    assert not holds(search, use("web_search", "mode", query="x"))
    assert not holds(rule("tool", tool="Read"), use("Read", "read", file_path="/etc/x"))
    assert not holds(rule("tool", tool="Read"), use("Read", "read", file_path=".env"))
    assert not holds(rule("tool", tool="delete_it"), use("delete_it", id=1))
    shells = rule("tool", tool="Shell")
    assert holds(shells, command("make test && git status"))
    assert not holds(shells, command("curl https://x.example"))
    assert not holds(shells, command("rm x"))
    assert not holds(shells, command("python -c 1"))
    assert not holds(shells, command("cat /etc/hosts"))


def test_a_rule_for_every_tool_holds_in_one_turn_only() -> None:
    rest = made(REST_OF_TURN, "turn")
    assert holds(rest, edit("a"))
    assert holds(rest, command("npm test"))
    assert not holds(rest, command("rm -rf x"))
    assert not holds(rest, edit("a"), turn="t2")
    assert not holds(replace(rest, turn=""), edit("a"))


# ── exactly this call ────────────────────────────────────────────────────────────────────────────────


def test_exactly_this_call_is_allowed_even_if_it_is_grave() -> None:
    call = command("rm -rf build", description="clean")
    one = rule("call", call.act)
    assert is_grave(call)
    assert holds(one, call)
    assert holds(one, command("rm -rf build", description="clean up"))
    for other in ("rm -rf build ", "rm -rf  build", "rm -rf build/", "rm -rf build; ls"):
        assert not holds(one, command(other))
    assert not holds(one, command("rm -rf build", folder="/other"))
    assert not holds(one, command("rm -rf build", tool="Other"))
    assert not holds(rule("call", ""), replace(call, act=""))


# ── where and how long ───────────────────────────────────────────────────────────────────────────────

places = st.fixed_dictionaries({key: st.sampled_from(["", "a", "b"]) for key in ("project", "session", "turn")})


@given(places, places, st.booleans())
def test_a_rule_never_holds_in_another_project_session_or_turn(
    own: dict[str, str], here: dict[str, str], yes: bool
) -> None:
    one = Rule("r", yes, "prefix", "Shell", "git status", **own)
    if matches(one, command("git status"), **here, now=0.0):
        assert all(not own[key] or own[key] == here[key] for key in own)
        assert own["project"] or own == {"project": "", "session": "", "turn": ""}


def test_a_rule_ends_to_the_second_and_a_clock_set_back_does_not_prolong_it() -> None:
    hour = made(offers(command("git status"))[0], "hour")
    call = command("git status")
    assert holds(hour, call, now=1000.0)
    assert holds(hour, call, now=4599.9)
    assert not holds(hour, call, now=4600.0)
    assert not holds(hour, call, now=900.0)
    assert not holds(replace(hour, allow=False), call, now=4600.0)


@pytest.mark.parametrize("lasting", get_args(Lasting))
def test_how_long_a_rule_lasts_is_what_was_chosen(lasting: Lasting) -> None:
    offer = offers(command("git status"))[1]
    one = made(offer, lasting)
    assert lasts(one) == lasting
    call = command("git status")
    assert holds(one, call)
    assert holds(one, call, turn="t2") == (lasting != "turn")
    assert holds(one, call, session="s2") == (lasting in ("project", "always"))
    assert holds(one, call, session="s2", project="other") == (lasting == "always")
    assert in_words(one) == f"Allow commands that begin with `git status` {LASTING[lasting]}"


def test_a_rule_that_would_be_bound_to_nothing_is_not_made() -> None:
    offer = offers(command("git status"))[1]
    there = {"id": "r", "project": "shop", "session": "s", "turn": "t", "by": "ana", "now": 0.0}
    for lasting, missing in (
        ("turn", "turn"),
        ("turn", "session"),
        ("session", "session"),
        ("hour", "session"),
        ("project", "project"),
    ):
        with pytest.raises(ValueError):
            make(offer, lasting, True, **{**there, missing: ""})  # type: ignore[arg-type]


# ── denials ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "line",
    [
        "git push",
        "git push origin x",
        "git  push",
        "/usr/bin/git push",
        "git -C sub push",
        "git -c a=b --no-pager push -f",
        "ls && git push",
        "ls; (git push)",
        "$(git push)",
        "sudo git push",
        "bash -lc 'cd x; git push'",
        "X=1 git push",
        "g'i't push",
        "ls # git push",
        "echo 'x; git push",
    ],
)
def test_a_denied_prefix_cannot_be_escaped(line: str) -> None:
    deny = rule("prefix", "git push", allow=False)
    assert holds(deny, command(line))
    assert holds(deny, command(line, tool="AnotherShell"))


@pytest.mark.parametrize(
    "line", ["git status", "git commit -m push", "git stash push", "echo 'git push'", "npm push"]
)
def test_a_denied_prefix_leaves_the_rest_alone(line: str) -> None:
    assert not holds(rule("prefix", "git push", allow=False), command(line))


def test_a_denied_folder_cannot_be_escaped() -> None:
    deny = rule("folder", "/repo/Prod", "Write", allow=False, kind="edit")
    assert holds(deny, edit("Prod/a"))
    assert holds(deny, edit("prod/a"))
    assert holds(deny, edit("src/../Prod/a", tool="Other"))
    body = PermissionRequest("a", "t", "edit", name="Write", paths=("src/a", "Prod/b"))
    assert holds(deny, call_of(body, FOLDER, normpath))
    assert not holds(deny, edit("src/a"))


def test_a_denied_tool_and_call_need_no_more_than_themselves() -> None:
    assert holds(rule("tool", allow=False), command("rm -rf /"))
    assert holds(rule("tool", tool="shell", allow=False), command("ls"))
    call = command("ls")
    assert holds(rule("call", call.act, allow=False), call)


# ── deciding ─────────────────────────────────────────────────────────────────────────────────────────

CALLS = [
    command("git status -s"),
    command("git status && ls"),
    command("rm -rf x"),
    command("npm test", tool="Other"),
    edit("src/a.py"),
    edit("/etc/x"),
    edit("src/a.py", kind="delete"),
    use("web_search", "fetch", query="x"),
    use("mcp__x__y", id=1),
]
some_call = st.sampled_from(CALLS)
some_rule = st.builds(
    Rule,
    id=st.sampled_from("abcdef"),
    allow=st.booleans(),
    scope=st.sampled_from(get_args(Scope)),
    tool=st.sampled_from(["Shell", "Write", "Other", "web_search", ""]),
    value=st.sampled_from(["", "git status", "npm test", "/repo", "/repo/src", *(call.act for call in CALLS)]),
    project=st.sampled_from(["shop", "other", ""]),
    session=st.sampled_from(["", "s1", "s2"]),
    turn=st.sampled_from(["", "t1", "t2"]),
    until=st.sampled_from([None, 500.0, 2000.0]),
    made_at=st.sampled_from([0.0, 900.0]),
)


@given(st.lists(some_rule, max_size=8), some_call, st.randoms())
def test_the_order_of_rules_means_nothing_and_a_denial_always_wins(
    rules: list[Rule], call: Call, random: Any
) -> None:
    found = decide(rules, call, **HERE)
    shuffled = rules.copy()
    random.shuffle(shuffled)
    again = decide(shuffled, call, **HERE)
    holding = [one for one in rules if matches(one, call, **HERE)]
    assert (found is None) == (not holding)
    if found is not None and again is not None:
        assert found in holding
        assert found.allow == all(one.allow for one in holding)
        assert (found.allow, found.scope, found.made_at, found.id) == (
            again.allow,
            again.scope,
            again.made_at,
            again.id,
        )


def test_the_narrowest_rule_is_named_as_the_reason() -> None:
    call = command("git status")
    wide, narrow = rule("tool"), replace(rule("prefix", "git status"), id="r2", made_at=5.0)
    assert decide([wide, narrow], call, **HERE) == narrow
    deny = replace(rule("tool", allow=False), id="r3")
    assert decide([narrow, wide, deny], call, **HERE) == deny
    assert decide([], call, **HERE) is None
    assert used(narrow, call, 1001.0).used_for == "git status"


# ── offers ───────────────────────────────────────────────────────────────────────────────────────────


def shown(call: Call, allow: bool = True) -> list[str]:
    return [offer.words for offer in offers(call, allow=allow)]


@pytest.mark.parametrize(
    ("line", "prefix"),
    [
        ("git status -s", "git status"),
        ("npm run test", "npm run test"),
        ("npm run test -- -x", "npm run test"),
        ("npm test", "npm test"),
        ("yarn build", "yarn build"),
        ("bun run test", "bun run test"),
        ("python -m pytest -q", "python -m pytest"),
        ("python manage.py test app", "python manage.py test"),
        ("python tools/x.py --flag", "python tools/x.py"),
        ("pytest -q", "pytest"),
        (".venv/bin/pytest -q", ".venv/bin/pytest"),
        ("./gradlew test", "./gradlew"),
        ("make test", "make test"),
        ("cargo test -p x", "cargo test"),
        ("go test ./...", "go test"),
        ("gh pr view 5", "gh pr view"),
        ("ls -la", "ls"),
        ("touch a.txt", "touch a.txt"),
        *((line, "") for line in (
            "git", "npm", "python", "python x.py > f", "bash x.sh", "sudo ls", "rm x", "mv a b", "cp a b",
            "sed -i s/a/b/ x", "curl http://localhost", "npm install", "npm i x", "pip install x",
            "python -m pip install x", "uv run pytest", "npx jest", "make", "make -j4",
            "git -C x status", "git push", "git status && ls", "psql db", "gh pr",
            "sqlite3 db", "cat ../x", "node -e 1", "find . -delete", "git reset --hard", "git config a b", "cd src",
        )),
    ],
)  # fmt: skip
def test_a_prefix_that_is_offered_says_enough(line: str, prefix: str) -> None:
    found = [offer.value for offer in offers(command(line)) if offer.scope == "prefix"]
    assert found == ([prefix] if prefix else [])


def test_offers_read_well_on_a_phone() -> None:
    assert shown(command("npm run test")) == [
        "this exact command",
        "commands that begin with `npm run test`",
        "every command that `Shell` runs, if it carries no warning",
    ]
    assert shown(edit("src/app/a.py")) == [
        "this exact change",
        "edits inside `src/app/`",
        "edits anywhere in the project",
        "every use of `Write`",
    ]
    assert shown(use("web_search", "fetch", query="x")) == ["this exact call", "every use of `web_search`"]
    assert shown(edit("a`b/c", kind="read"))[1] == "reading inside `a'b/`"
    nameless = call_of(
        PermissionRequest("a", "t", "edit", paths=("a",), diffs=(Diff("a", "", "x"),)), FOLDER, normpath
    )
    assert shown(nameless) == ["this exact change", "edits anywhere in the project"]
    assert shown(command("rm -rf x"), allow=False) == [
        "this exact command",
        "commands that begin with `rm`",
        "every command that `Shell` runs",
    ]


@pytest.mark.parametrize(
    "call",
    [
        command("rm -rf build"),
        command("git push --force"),
        command("curl x | sh"),
        command("cat .env"),
        command("sudo ls"),
        edit(".git/hooks/x"),
        use("switch", "mode", mode="x"),
        command("ls", disable_sandbox=True),
    ],
)
def test_for_a_grave_call_only_itself_is_offered_and_not_for_ever(call: Call) -> None:
    (only,) = offers(call)
    assert (only.scope, only.value) == ("call", call.act)
    assert "project" not in only.lasting
    assert "always" not in only.lasting
    with pytest.raises(ValueError):
        made(only, "project")


def test_what_does_not_say_what_it_will_do_is_offered_nothing() -> None:
    assert offers(call_of(PermissionRequest("a", "Run…", "execute"), FOLDER, normpath)) == ()
    titled = call_of(PermissionRequest("a", "git status", "execute"), FOLDER, normpath)
    assert [offer.scope for offer in offers(titled)] == ["call"]


@given(some_call, some_call, st.sampled_from(get_args(Lasting)))
def test_every_offer_settles_its_own_call_and_none_of_another_tool(
    call: Call, other: Call, lasting: Lasting
) -> None:
    for offer in offers(call):
        if lasting not in offer.lasting:
            continue
        one = made(offer, lasting)
        assert holds(one, call)
        assert not is_grave(call) or offer.scope == "call"
        assert other.tool == call.tool or not holds(one, other)
    for offer in offers(call, allow=False):
        if lasting in offer.lasting:
            assert holds(made(offer, lasting, allow=False), call)


@given(st.text(alphabet="git npmtesrunah -./'\"$;&|_x0", min_size=1, max_size=25), st.text(max_size=8))
def test_what_is_offered_for_any_command_matches_it_and_no_other_tool(line: str, tool: str) -> None:
    call = command(line, tool=tool or "Shell")
    scopes = [offer.scope for offer in offers(call)]
    assert scopes == sorted(scopes, key=get_args(Scope).index)
    for offer in offers(call):
        one = made(offer, "session")
        assert holds(one, call)
        assert not holds(one, command(line, tool=call.tool + "x"))
        assert offer.scope != "prefix" or offer.value not in ("git", "npm", "python", "bash", "sudo", "rm")
