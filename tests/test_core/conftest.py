"""No test hears the secrets of another."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from beambot import log


@pytest.fixture(autouse=True)
def _no_secrets_of_others() -> Iterator[None]:
    before = list(log._known)
    yield
    log._known[:] = before
