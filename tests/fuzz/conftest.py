"""How long the properties are tried: a moment in every run of the tests, `FUZZ_SECONDS` with `make fuzz`."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import HealthCheck, settings

_SECONDS = float(os.environ.get("FUZZ_SECONDS", "0"))
_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile("smoke", max_examples=60, derandomize=True, deadline=None, suppress_health_check=_SLOW)
settings.register_profile("fuzz", max_examples=500, deadline=None, suppress_health_check=_SLOW, print_blob=True)
settings.load_profile("fuzz" if _SECONDS else "smoke")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object:
    """With a budget, each property is tried with new examples until its share of the time is over."""
    result = yield
    if not _SECONDS or not getattr(pyfuncitem.obj, "is_hypothesis_test", False):
        return result
    count = sum(
        getattr(getattr(item, "obj", None), "is_hypothesis_test", False) for item in pyfuncitem.session.items
    )
    until = time.monotonic() + _SECONDS / max(count, 1)
    rounds = 1
    while time.monotonic() < until:
        pyfuncitem.obj()
        rounds += 1
    pyfuncitem.user_properties.append(("rounds", rounds))
    return result
