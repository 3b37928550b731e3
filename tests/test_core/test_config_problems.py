"""What is said about a configuration that is wrong: where, what, what instead, and never a secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from beambot.config import load
from beambot.errors import ConfigError
from beambot.model.plugins import AdapterSpec, ConfigSection, PlatformSpec
from beambot.model.settings import AskPolicy
from beambot.registry import Registry

SECRET = "hunter2-hunter2-hunter2"


def read_agent(section: ConfigSection) -> Any:
    if section.text("command", required=True) == "burst":
        raise RuntimeError(f"cannot cope with {section.text('password')}")
    return (section.integer("retries", 2, maximum=9), section.flag("eager", False), section.texts("args"))


def read_chat(section: ConfigSection) -> Any:
    token = section.secret("token", required=True)
    if token == "known-to-be-old":
        section.problem("token_env", token, "a token of this year", "ask for a new one")
    return token


def never(*_: Any) -> Any:
    raise AssertionError("reading a configuration creates nothing")


def registry() -> Registry:
    return Registry(
        adapters=[AdapterSpec(name="stdio", summary="s", configure=read_agent, create=never)],
        platforms=[
            PlatformSpec(name="page", summary="s", configure=lambda s: s.integer("port", 80), create=never),
            PlatformSpec(name="chat", summary="s", configure=read_chat, create=never),
        ],
        discover=lambda _group: [],
    )


GOOD = """\
projects:
  - {name: shop, path: ., adapter: a}
adapters:
  a: {type: stdio, command: run}
platforms:
  page: {port: 8765}
members:
  - {name: me, role: owner, page: local}
"""


def problems(folder: Path, text: str, **environ: str) -> list[str]:
    file = folder / "beambot.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(file, registry(), environ)
    assert SECRET not in str(caught.value)
    return [problem.removeprefix(f"{file}:") for problem in caught.value.problems]


def one(folder: Path, old: str, new: str, **environ: str) -> str:
    """The only problem that a change of the good file makes."""
    assert old in GOOD
    found = problems(folder, GOOD.replace(old, new), **environ)
    assert len(found) == 1, found
    return found[0]


def test_every_problem_is_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = (
        "projetcs: []\nadapters: {a: {type: stdio}}\nplatforms: {page: {port: x}}\n"
        "members: 5\nlimits: {sessions: 0}\n"
    )
    found = problems(tmp_path, text)
    lines = [int(problem.split(":")[0]) for problem in found]
    assert lines == sorted(lines)
    keys = {problem.split(": ")[1] for problem in found}
    assert keys == {
        "projetcs",
        "projects",
        "adapters.a.command",
        "platforms.page.port",
        "members",
        "limits.sessions",
    }
    assert all("; allowed " in problem and "; fix: " in problem for problem in found)


def test_a_problem_names_file_line_key_found_allowed_and_fix(tmp_path: Path) -> None:
    assert one(tmp_path, "port: 8765", "port: many") == (
        "6: platforms.page.port: found 'many'; allowed a whole number from 0; fix: write for example 80"
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("port: 8765", "prot: 8765", "found an unknown key; allowed enabled, port; fix: write 'port'"),
        ("command: run", "command: run, comand: x", "fix: write 'command'"),
        ("command: run", "command: 5", "allowed text; fix: put the value in quotes"),
        ("command: run", "command: run, retries: 10", "allowed a whole number from 0 to 9"),
        ("command: run", "command: run, retries: true", "allowed a whole number"),
        ("command: run", "command: run, retries: 1.5", "allowed a whole number"),
        ("command: run", "command: run, eager: 1", "allowed true or false"),
        ("command: run", "command: run, args: one", "allowed a list of text"),
        ("command: run", "command: run, args: [{a: b}]", "a.args[0]: found a mapping; allowed text"),
        ("type: stdio", "type: stdoi", "did you mean stdio?"),
        ("adapter: a", "adapter: stdoi", "[0].adapter: found 'stdoi'; allowed a, stdio; fix: write 'stdio'"),
        ("adapter: a", "adapter: stdio", "found 'stdio' without settings"),
        ("path: .", "path: ./missing", "which is not there; allowed an existing folder"),
        ("path: .", "path: beambot.yaml", "which is no folder"),
        ("name: shop", "name: my shop", "allowed a name that can be typed in a chat"),
        ("name: shop", "nam: shop", "nam: found an unknown key"),
        ("role: owner", "role: onwer", "allowed observer, participant, approver, owner; fix: write 'owner'"),
        ("page: local", "pgae: local", "allowed name, role, page, chat; fix: write 'page'"),
        ("page: local", "page: true", "allowed the person's id there"),
        ("page: {port: 8765}", "page: {enabled: false}", "found no enabled platform"),
        ("page: {port: 8765}", "pgae: {}", "did you mean page?"),
        ("page: {port: 8765}", "page: 5", "platforms.page: found '5'; allowed a mapping"),
        ("page: {port: 8765}", "page: {port: 8765, port: 1}", "found a second 'port'; allowed one, as in line 6"),
        ("members:\n", "limits: {idle_close: soon}\nmembers:\n", "limits.idle_close: found 'soon'"),
        ("members:\n", "store: {path: .}\nmembers:\n", "which is a folder"),
        ("members:\n", "[1, 2]: x\nmembers:\n", "found a list as a key"),
        ("members:\n", "asks: {who: [mee]}\nmembers:\n", "found 'mee'; allowed approvers, owners, prompter"),
        ("members:\n", "asks: {who: []}\nmembers:\n", "found an empty list"),
        ("members:\n", "asks: {who: [me, me], people: 2}\nmembers:\n", "people: found 2; allowed at most 1"),
        (
            "members:\n",
            "asks: {who: [eve]}\nmembers:\n  - {name: eve, role: observer, page: eve}\n",
            "found 'eve', who is observer; allowed approvers and owners; fix: make eve an approver",
        ),
        (
            "path: .,",
            "path: ., members: [you], asks: {who: [me]},",
            "found 'me', who may not use this project; allowed members of the project",
        ),
    ],
)
def test_a_mistake_is_answered_with_what_is_right(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = GOOD.replace(old, new)
    assert old in GOOD
    assert any(said in problem for problem in problems(tmp_path, text)), problems(tmp_path, text)


def test_names_and_identities_belong_to_one(tmp_path: Path) -> None:
    text = GOOD + "  - {name: me, role: owner}\n  - {name: you, role: observer, page: local}\n"
    text = text.replace("adapter: a}\n", "adapter: a}\n  - {name: shop, path: ., adapter: a}\n")
    found = problems(tmp_path, text)
    assert [problem.split(": ", 1)[1] for problem in found] == [
        "projects[1].name: found 'shop' again; allowed a name of its own; fix: rename one of them",
        "members[1].name: found 'me' again; allowed a name of its own; fix: rename one of them",
        "members[2].page: found the identity of 'me'; allowed one person an identity; fix: remove one",
    ]


@pytest.mark.parametrize("text", ["", "# nothing\n", "null\n", "{}\n"])
def test_an_empty_file_lacks_everything(tmp_path: Path, text: str) -> None:
    keys = {problem.split(": ")[1] for problem in problems(tmp_path, text)}
    assert keys == {"projects", "platforms", "members"}


@pytest.mark.parametrize("projects", ["[]", "null", "{}"])
def test_a_list_of_no_projects_is_one_problem(tmp_path: Path, projects: str) -> None:
    text = GOOD.replace("projects:\n  - {name: shop, path: ., adapter: a}\n", f"projects: {projects}\n")
    assert [problem.split(": ")[1] for problem in problems(tmp_path, text)] == ["projects"]


@pytest.mark.parametrize("text", ["- a\n", "just words\n", "42\n"])
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    assert any("allowed a mapping" in problem for problem in problems(tmp_path, text))


@pytest.mark.parametrize(
    "text",
    [
        "a: [1\n",
        "a: b: c\n",
        "\tx: 1\n",
        "a: *nowhere\n",
        "a: 'open\n",
        "a: !!python/object:os.system x\n",
        "\x00",
        "a: 1\n---\nb: 2\n",
    ],
)
def test_what_is_not_safe_yaml_is_a_problem_with_a_line(tmp_path: Path, text: str) -> None:
    for problem in problems(tmp_path, text):
        assert problem.split(":")[0].isdigit()


def test_deep_nesting_is_a_problem_and_not_a_crash(tmp_path: Path) -> None:
    assert problems(tmp_path, "[" * 50_000)


def test_a_file_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    assert "found" in str(_refused(tmp_path / "missing.yaml"))
    assert "directory" in str(_refused(tmp_path))
    (tmp_path / "latin.yaml").write_bytes(b"a: 1\nb: \xe9\n")
    assert "latin.yaml:2: (file)" in str(_refused(tmp_path / "latin.yaml"))
    (tmp_path / "big.yaml").write_bytes(b"#" * (2 << 20))
    assert "1 MiB" in str(_refused(tmp_path / "big.yaml"))


def _refused(path: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(path, registry(), {})
    return caught.value


CHAT = "page: {port: 8765}\n  chat: "


def chat(folder: Path, section: str, **environ: str) -> str:
    return one(folder, "page: {port: 8765}", CHAT + section, **environ)


def test_a_token_in_the_file_is_refused_without_showing_it(tmp_path: Path) -> None:
    said = chat(tmp_path, f"{{token: {SECRET}}}")
    assert said.startswith("7: platforms.chat.token: found a value that is not shown")
    assert "token_env" in said
    assert "token_file" in said


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("{}", "platforms.chat.token_env: found nothing"),
        ("{token_env: CHAT_TOKEN}", "found CHAT_TOKEN, which is not set"),
        ("{token_env: EMPTY}", "found EMPTY, which is empty"),
        (f"{{token_env: {SECRET}}}", "found something that is no variable's name"),
        (f"{{token_file: {SECRET}}}", "found a file that is not there"),
        ("{token_file: .}", "which is no file"),
        ("{token_env: GOOD, token_file: x}", "allowed one of them"),
        ("{token_env: [a]}", "found something that is no variable's name"),
    ],
)
def test_a_token_that_cannot_be_read_is_explained_without_showing_it(
    tmp_path: Path, section: str, said: str
) -> None:
    assert said in chat(tmp_path, section, EMPTY="", GOOD="abcdefgh")


def test_a_token_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(SECRET)
    file.chmod(0o644)
    said = chat(tmp_path, "{token_file: token}")
    assert "with mode 644; allowed mode 600 or stricter" in said
    assert f"chmod 600 {file}" in said


def test_an_empty_or_binary_token_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.touch(mode=0o600)
    assert "which is empty" in chat(tmp_path, "{token_file: token}")
    file.write_bytes(b"\xff\xfe\xfa")
    assert "cannot be read" in chat(tmp_path, "{token_file: token}")


def test_a_plugin_that_complains_about_a_token_does_not_show_it(tmp_path: Path) -> None:
    said = chat(tmp_path, "{token_env: OLD}", OLD="known-to-be-old")
    assert "known-to-be-old" not in said
    assert "ask for a new one" in said


def test_values_of_keys_that_look_secret_are_not_shown(tmp_path: Path) -> None:
    text = GOOD.replace("port: 8765", f"port: 8765, api_key: {SECRET}, password: [{SECRET}]")
    assert len(problems(tmp_path, text)) == 2
    text = GOOD.replace("adapter: a", f"adapter: a, env: {{MY_SECRET: [{SECRET}]}}")
    assert "MY_SECRET: found a list" in problems(tmp_path, text)[0]


@pytest.mark.parametrize(
    "broken", [f"token: *{SECRET}", f'token: "{SECRET}', f"token: {SECRET}: x", f"token: @{SECRET}"]
)
def test_broken_yaml_around_a_token_does_not_show_it(tmp_path: Path, broken: str) -> None:
    assert problems(tmp_path, f"platforms:\n  chat:\n    {broken}\n")


def test_a_plugin_that_fails_is_a_problem_of_its_section(tmp_path: Path) -> None:
    said = one(tmp_path, "command: run", "command: burst, password: p")
    assert said.startswith("4: adapters.a: found what its plugin fails on (RuntimeError")


def test_a_project_says_who_may_answer_and_keeps_what_is_asked_of_the_dangerous(tmp_path: Path) -> None:
    file = tmp_path / "beambot.yaml"
    everywhere = "asks: {dangerous: {who: [owners], people: 2}}\n"
    file.write_text(everywhere + GOOD.replace("path: .,", "path: ., asks: {who: [prompter]},"), encoding="utf-8")
    (project,) = load(file, registry(), {}).projects
    assert project.normal == AskPolicy(who=("prompter",))
    assert project.dangerous == AskPolicy(who=("owners",), people=2)
    file.write_text(GOOD.replace("path: .,", "path: ., asks: {who: [prompter]},"), encoding="utf-8")
    (project,) = load(file, registry(), {}).projects
    assert project.dangerous == AskPolicy(who=("prompter",))
    file.write_text(GOOD, encoding="utf-8")
    (project,) = load(file, registry(), {}).projects
    assert (project.normal, project.dangerous) == (None, None)
