"""The door for plugins: what it offers is what it promises."""

from __future__ import annotations

import types

from beambot import api
from beambot.model.plugins import AdapterSpec, PlatformSpec


def test_the_promise_is_exactly_what_the_door_offers() -> None:
    offered = {
        name
        for name, value in vars(api).items()
        if not name.startswith("_")
        and name != "annotations"
        and not (isinstance(value, types.ModuleType) and not value.__name__.startswith("beambot."))
    }
    assert offered == set(api.__all__)


def test_the_promise_is_sorted_and_names_nothing_twice() -> None:
    assert list(api.__all__) == sorted(set(api.__all__))


def test_a_spec_carries_the_version_of_the_door() -> None:
    platform = PlatformSpec(name="p", summary="", configure=lambda _s: None, create=lambda *_: None)
    assert AdapterSpec(name="a", summary="").api_version == api.API_VERSION
    assert platform.api_version == api.API_VERSION
    assert api.API_VERSION == 1
