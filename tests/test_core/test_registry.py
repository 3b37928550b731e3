"""Plugins are found by name, loaded when asked, and what is wrong with them is told."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from beambot import registry as registry_module
from beambot.errors import PluginError
from beambot.model.plugins import API_VERSION, AdapterSpec, Found, PlatformSpec
from beambot.registry import ADAPTERS, PLATFORMS, Registry


class Entry:
    """An entry point that counts how often it was loaded."""

    def __init__(self, name: str, load: Callable[[], Any]) -> None:
        self.name = name
        self.loads = 0
        self._load = load

    def load(self) -> Any:
        self.loads += 1
        return self._load()


def adapter(name: str, **more: Any) -> AdapterSpec:
    return AdapterSpec(name=name, summary=f"the {name}", **more)


def worker(name: str, **more: Any) -> AdapterSpec:
    return adapter(name, configure=lambda _section: None, create=lambda *_: None, **more)


def platform(name: str, **more: Any) -> PlatformSpec:
    return PlatformSpec(name=name, summary="p", configure=lambda _s: None, create=lambda *_: None, **more)


def registry(*adapters: Entry, platforms: tuple[Entry, ...] = ()) -> Registry:
    groups = {ADAPTERS: adapters, PLATFORMS: platforms}
    return Registry(discover=lambda group: groups[group])


def failing(error: Exception) -> Callable[[], Any]:
    def load() -> Any:
        raise error

    return load


def test_names_are_known_without_loading_anything() -> None:
    entry = Entry("one", lambda: worker("one"))
    plugins = registry(entry)
    assert plugins.adapter_names() == ("one",)
    assert entry.loads == 0


def test_a_plugin_is_loaded_once() -> None:
    entry = Entry("one", lambda: worker("one"))
    plugins = registry(entry)
    assert plugins.adapter("one") is plugins.adapter("one")
    assert entry.loads == 1


def test_given_specs_stand_beside_the_installed_ones() -> None:
    plugins = Registry(adapters=[worker("mine")], platforms=[platform("page")])
    assert plugins.adapter("mine").summary == "the mine"
    assert plugins.platform("page").name == "page"
    assert "acp" in plugins.adapter_names()


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (Entry("bad", failing(ModuleNotFoundError("No module named 'vendor'"))), "No module named 'vendor'"),
        (Entry("bad", failing(RuntimeError("boom"))), "did not load: RuntimeError: boom"),
        (Entry("bad", lambda: worker("good")), "calls itself 'good'"),
        (Entry("bad", lambda: worker("bad", api_version=API_VERSION + 1)), f"plugin API {API_VERSION + 1}"),
        (Entry("bad", lambda: "text"), "is a str, not a AdapterSpec"),
        (Entry("bad", lambda: platform("bad")), "is a PlatformSpec, not a AdapterSpec"),
        (Entry("bad", lambda: adapter("bad")), "cannot be configured or created"),
        (Entry("bad", lambda: adapter("bad", base="bad")), "is a preset of itself"),
    ],
)
def test_a_broken_plugin_is_noted_with_a_fix_and_harms_no_other(entry: Entry, said: str) -> None:
    plugins = registry(entry, Entry("fine", lambda: worker("fine")))
    (problem,) = plugins.problems()
    assert (problem.kind, problem.name) == ("adapter", "bad")
    assert said in problem.message
    assert problem.fix
    assert plugins.adapter("fine").name == "fine"


def test_a_plugin_that_did_not_load_is_not_loaded_again() -> None:
    entry = Entry("bad", failing(RuntimeError("boom")))
    plugins = registry(entry)
    for _ in range(3):
        with pytest.raises(PluginError, match="boom"):
            plugins.adapter("bad")
    assert entry.loads == 1


def test_two_plugins_of_one_name_are_noted_and_the_first_serves() -> None:
    plugins = registry(Entry("one", lambda: worker("one")), Entry("one", lambda: worker("one")))
    assert plugins.adapter("one").name == "one"
    assert "offered twice" in plugins.problems()[0].message


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    plugins = registry(Entry("runner", lambda: worker("runner")))
    with pytest.raises(PluginError) as caught:
        plugins.adapter("runer")
    assert "did you mean runner?" in caught.value.fix
    assert caught.value.exit_code == 5


def test_an_unknown_name_with_an_extra_is_answered_with_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry_module, "known_extras", lambda: ("pager",))
    with pytest.raises(PluginError) as caught:
        registry().platform("pager")
    assert caught.value.fix == "pip install 'beambot[pager]'"
    plugins = registry(platforms=(Entry("pager", failing(ModuleNotFoundError("vendor"))),))
    with pytest.raises(PluginError) as caught:
        plugins.platform("pager")
    assert caught.value.fix == "pip install 'beambot[pager]'"


def test_extras_are_read_from_the_distribution() -> None:
    assert {"all", "dev"} <= set(registry_module.known_extras())


def test_a_preset_leads_to_its_base_with_its_defaults_on_top() -> None:
    base = worker("base", defaults={"a": 1, "b": 1})
    middle = adapter("middle", base="base", defaults={"b": 2, "c": 2})
    top = adapter("top", base="middle", defaults={"c": 3})
    plugins = Registry(adapters=[top, middle, base], discover=lambda _group: [])
    assert plugins.resolve_adapter("top") == (base, {"a": 1, "b": 2, "c": 3})
    assert plugins.resolve_adapter("base") == (base, {"a": 1, "b": 1})


def test_a_preset_of_something_that_is_not_there_says_so() -> None:
    plugins = Registry(adapters=[adapter("top", base="gone")], discover=lambda _group: [])
    with pytest.raises(PluginError, match="no adapter 'gone'"):
        plugins.resolve_adapter("top")


def found(name: str) -> Found:
    return Found(name=name, adapter="x", settings={})


def test_agents_of_presets_come_last_and_each_comes_once() -> None:
    plugins = Registry(
        adapters=[
            adapter("toy", base="real", find=lambda: [found("toy")]),
            worker("real", find=lambda: [found("one"), found("two")]),
            worker("more", find=lambda: [found("two")]),
            worker("blind"),
        ],
        discover=lambda _group: [],
    )
    assert [agent.name for agent in plugins.find_agents()] == ["one", "two", "toy"]


def test_a_search_that_fails_is_noted_and_hides_no_other() -> None:
    plugins = Registry(
        adapters=[worker("bad", find=failing(OSError("no PATH"))), worker("good", find=lambda: [found("one")])],
        discover=lambda _group: [],
    )
    assert [agent.name for agent in plugins.find_agents()] == ["one"]
    assert "no PATH" in plugins.problems()[0].message


def test_the_ready_preset_is_one_whose_program_is_here() -> None:
    plugins = Registry(
        adapters=[
            worker("base", defaults={"command": sys.executable}),
            adapter("gone", base="base", defaults={"command": "no-such-program-anywhere"}),
            adapter("toy", base="base", defaults={"command": sys.executable}),
        ],
        discover=lambda _group: [],
    )
    preset = plugins.ready_preset()
    assert preset is not None
    assert preset.name == "toy"


def test_commands_of_plugins_are_listed_and_found() -> None:
    plugins = Registry(
        adapters=[worker("quiet"), worker("loud", command=lambda words, _home: len(words))],
        discover=lambda _group: [],
    )
    command = plugins.command("loud")
    assert command is not None
    assert plugins.commands() == {"loud": "the loud"}
    assert plugins.command("quiet") is None
    assert plugins.command("unheard") is None


def test_every_installed_plugin_loads() -> None:
    plugins = Registry()
    assert plugins.problems() == ()
    assert plugins.adapter_names()
    assert plugins.platform_names()
