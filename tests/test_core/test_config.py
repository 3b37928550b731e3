"""What a configuration file means."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from beambot.config import Config, data_home, default_config, find, load, load_store
from beambot.errors import ConfigError, PluginError
from beambot.log import redact
from beambot.model.plugins import AdapterSpec, ConfigSection, Found, PlatformSpec
from beambot.registry import Registry

ROOT = Path(__file__).resolve().parents[2]


def read_agent(section: ConfigSection) -> dict[str, Any]:
    return {
        "command": section.text("command", required=True),
        "args": section.texts("args"),
        "env": section.mapping("env"),
        "retries": section.integer("retries", 2, maximum=9),
        "eager": section.flag("eager", False),
        "pace": section.number("pace", 0.5),
    }


def read_chat(section: ConfigSection) -> dict[str, Any]:
    return {"token": section.secret("token", required=True), "url": section.text("base_url", "https://x")}


def never(*_: Any) -> Any:
    raise AssertionError("reading a configuration creates nothing")


def registry() -> Registry:
    return Registry(
        adapters=[
            AdapterSpec(name="stdio", summary="s", configure=read_agent, create=never),
            AdapterSpec(
                name="toy",
                summary="s",
                base="stdio",
                defaults={"command": "sh", "args": ["-c"], "env": {"A": "1", "B": "2"}, "retries": 5},
            ),
        ],
        platforms=[
            PlatformSpec(name="page", summary="s", configure=lambda s: s.integer("port", 80), create=never),
            PlatformSpec(name="chat", summary="s", configure=read_chat, create=never),
        ],
        discover=lambda _group: [],
    )


GOOD = """
store: {path: data/b.db}
projects:
  - {name: shop, path: ., adapter: toy, model: big, env: {PORT: 8080, DEBUG: yes}, members: [me]}
adapters:
  toy: {}
platforms:
  page: {port: 8765}
members:
  - {name: me, role: owner, page: local, chat: 11111}
"""


def loaded(folder: Path, text: str, environ: dict[str, str] | None = None, **more: Any) -> Config:
    file = folder / "beambot.yaml"
    file.write_text(text, encoding="utf-8")
    return load(file, registry(), environ or {"HOME": str(folder)}, **more)


def problems(folder: Path, text: str, environ: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        loaded(folder, text, environ)
    prefix = f"{folder / 'beambot.yaml'}:"
    assert all(problem.startswith(prefix) for problem in caught.value.problems)
    return [problem.removeprefix(prefix) for problem in caught.value.problems]


def test_a_whole_file_becomes_typed_values(tmp_path: Path) -> None:
    config = loaded(tmp_path, GOOD)
    project = config.projects[0]
    assert config.store.path == tmp_path / "data" / "b.db"
    assert config.home == tmp_path / "data"
    assert (project.name, project.path, project.adapter, project.model) == ("shop", tmp_path, "toy", "big")
    assert project.env == {"PORT": "8080", "DEBUG": "yes"}
    assert project.members == ("me",)
    assert config.platforms["page"].settings == 8765
    assert config.members[0].identities == {"page": "local", "chat": "11111"}
    assert config.limits.queue_per_session == 20
    assert config.source == tmp_path / "beambot.yaml"


def test_a_preset_puts_its_defaults_underneath_what_was_written(tmp_path: Path) -> None:
    text = GOOD.replace("toy: {}", "toy: {env: {B: mine}, retries: 1}")
    assert loaded(tmp_path, text).adapters["toy"].settings == {
        "command": "sh",
        "args": ("-c",),
        "env": {"A": "1", "B": "mine"},
        "retries": 1,
        "eager": False,
        "pace": 0.5,
    }


def test_an_adapter_may_have_a_name_of_its_own_and_a_type(tmp_path: Path) -> None:
    text = GOOD.replace("toy: {}", "toy: {}\n  fast: {type: stdio, command: run-fast, args: [one, 2]}")
    entry = loaded(tmp_path, text).adapters["fast"]
    assert (entry.name, entry.type) == ("fast", "stdio")
    assert entry.settings["args"] == ("one", "2")


def test_a_project_may_name_an_installed_adapter_that_needs_no_settings(tmp_path: Path) -> None:
    config = loaded(tmp_path, GOOD.replace("adapters:\n  toy: {}\n", ""))
    assert config.adapters["toy"].settings["command"] == "sh"


def test_a_project_takes_the_only_adapter_there_is(tmp_path: Path) -> None:
    assert loaded(tmp_path, GOOD.replace(" adapter: toy,", "")).projects[0].adapter == "toy"


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("90", 90.0), ('"90s"', 90.0), ("15m", 900.0), ("2h", 7200.0), ("1.5h", 5400.0), ("1d", 86400.0)],
)
def test_durations_have_units(tmp_path: Path, written: str, seconds: float) -> None:
    config = loaded(tmp_path, GOOD + f"limits: {{idle_close: {written}}}\nasks: {{timeout: {written}}}\n")
    assert config.limits.idle_close_seconds == seconds
    assert config.asks.timeout_seconds == seconds


def test_off_is_a_word_where_a_word_is_asked_for(tmp_path: Path) -> None:
    assert loaded(tmp_path, GOOD + "rendering: {footer: off}\n").rendering.footer == "off"


def test_home_and_relative_paths_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "src" / "shop").mkdir(parents=True)
    (tmp_path / "etc").mkdir()
    text = GOOD.replace("path: .,", "path: ~/src/shop,").replace("data/b.db", "../b.db")
    (tmp_path / "etc" / "beambot.yaml").write_text(text)
    config = load(tmp_path / "etc" / "beambot.yaml", registry(), {"HOME": str(tmp_path)})
    assert config.projects[0].path == tmp_path / "src" / "shop"
    assert config.store.path == tmp_path / "b.db"


def test_a_null_is_the_same_as_nothing(tmp_path: Path) -> None:
    environ = {"CHAT_TOKEN": "abcdefgh"}
    text = GOOD.replace("port: 8765}", "port: null}\n  chat: {token_env: CHAT_TOKEN, base_url: null}")
    config = loaded(tmp_path, text, environ)
    assert config.platforms["page"].settings == 80
    assert config.platforms["chat"].settings["url"] == "https://x"


def test_merge_keys_work_as_in_any_yaml(tmp_path: Path) -> None:
    text = GOOD.replace("toy: {}", "toy: &t {retries: 7}\n  other: {<<: *t, type: toy, eager: true}")
    settings = loaded(tmp_path, text).adapters["other"].settings
    assert (settings["retries"], settings["eager"]) == (7, True)


def test_a_disabled_platform_is_not_read_and_needs_no_token(tmp_path: Path) -> None:
    text = GOOD.replace("port: 8765}", "port: 8765}\n  chat: {enabled: false, token_env: NOT_SET}")
    entry = loaded(tmp_path, text).platforms["chat"]
    assert (entry.enabled, entry.settings) == (False, None)


def test_a_token_comes_from_a_variable_and_is_never_shown_again(tmp_path: Path) -> None:
    text = GOOD.replace("port: 8765}", "port: 8765}\n  chat: {token_env: CHAT_TOKEN}")
    config = loaded(tmp_path, text, {"CHAT_TOKEN": "sesame-4711-variable"})
    assert config.platforms["chat"].settings["token"] == "sesame-4711-variable"
    assert "sesame" not in redact("the token is sesame-4711-variable")
    assert config.secret_variables == ("CHAT_TOKEN",)


def test_a_token_comes_from_a_private_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("sesame-4711-file\n")
    file.chmod(0o600)
    text = GOOD.replace("port: 8765}", "port: 8765}\n  chat: {token_file: token}")
    assert loaded(tmp_path, text).platforms["chat"].settings["token"] == "sesame-4711-file"
    assert "sesame" not in redact("sesame-4711-file")


def test_without_members_it_does_not_start_and_says_how_to_pair(tmp_path: Path) -> None:
    text = GOOD[: GOOD.index("members:\n  -")]
    (problem,) = problems(tmp_path, text)
    assert "members: found nobody" in problem
    assert "beambot pair" in problem
    assert loaded(tmp_path, text, need_members=False).members == ()
    assert "beambot pair" in problems(tmp_path, text + "members: []\n")[0]


def test_commands_that_need_only_the_store_ask_no_plugin_and_no_token(tmp_path: Path) -> None:
    file = tmp_path / "beambot.yaml"
    file.write_text("store: {path: s.db}\nplatforms: {chat: {token_env: NOT_SET}, strange: {}}\n")
    assert load_store(file, {}).path == tmp_path / "s.db"
    assert load_store(None, {"BEAMBOT_HOME": "/srv/b"}).path == Path("/srv/b/beambot.db")


def test_the_search_goes_from_the_named_file_to_the_users_own(tmp_path: Path) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    own = home / ".config" / "beambot" / "config.yaml"
    own.parent.mkdir(parents=True)
    here.mkdir()
    environ = {"HOME": str(home)}
    assert find(None, environ, here) is None
    own.write_text("")
    assert find(None, environ, here) == own
    (here / "beambot.yaml").write_text("")
    assert find(None, environ, here) == here / "beambot.yaml"
    assert find(None, {**environ, "BEAMBOT_CONFIG": "/else.yaml"}, here) == Path("/else.yaml")
    assert find("mine.yaml", {**environ, "BEAMBOT_CONFIG": "/else.yaml"}, here) == here / "mine.yaml"


def test_the_store_is_kept_where_the_environment_says() -> None:
    assert data_home({"BEAMBOT_HOME": "/srv/b", "XDG_DATA_HOME": "/data"}) == Path("/srv/b")
    assert data_home({"XDG_DATA_HOME": "/data", "HOME": "/home/u"}) == Path("/data/beambot")
    assert data_home({"HOME": "/home/u"}) == Path("/home/u/.local/share/beambot")


def test_without_a_file_the_folder_is_the_project_and_the_found_agent_serves(tmp_path: Path) -> None:
    folder = tmp_path / "my shop!"
    folder.mkdir()
    found = [Found(name="runner", adapter="stdio", settings={"command": "run-it"}, detail="1.2")]
    config = default_config(tmp_path / "home", folder, found, registry(), {})
    assert (config.projects[0].name, config.projects[0].path) == ("my-shop-", folder)
    assert config.projects[0].adapter == "runner"
    assert set(config.adapters) == {"runner", "toy"}
    assert config.store.path == tmp_path / "home" / "beambot.db"
    assert list(config.platforms) == ["page"], "the chat wants a token"
    assert config.members[0].role == "owner"
    assert config.members[0].identities == {"page": "local"}


def test_without_a_file_and_an_agent_the_ready_preset_serves(tmp_path: Path) -> None:
    assert default_config(tmp_path, tmp_path, [], registry(), {}).projects[0].adapter == "toy"


def test_without_a_file_an_agent_and_a_preset_it_says_what_to_do(tmp_path: Path) -> None:
    empty = Registry(discover=lambda _group: [])
    with pytest.raises(PluginError, match="install one"):
        default_config(tmp_path, tmp_path, [], empty, {})


def test_the_example_is_a_working_configuration(tmp_path: Path) -> None:
    file = tmp_path / "beambot.yaml"
    file.write_text((ROOT / "config.example.yaml").read_text())
    config = load(file, Registry(), os.environ)
    assert config.projects[0].path == tmp_path
    assert any(entry.enabled for entry in config.platforms.values())
    assert config.members[0].role == "owner"


def test_the_example_shows_the_defaults(tmp_path: Path) -> None:
    text = (ROOT / "config.example.yaml").read_text()
    tail = text[text.index("\nrendering:") :]
    shown, plain = loaded(tmp_path, GOOD + tail), loaded(tmp_path, GOOD)
    assert (shown.rendering, shown.asks, shown.limits) == (plain.rendering, plain.asks, plain.limits)


def test_the_example_contains_no_token_and_the_file_is_private_when_written(tmp_path: Path) -> None:
    from beambot.cli import main

    target = tmp_path / "new" / "beambot.yaml"
    assert main(["init", str(target)]) == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert redact(target.read_text()) == target.read_text()
