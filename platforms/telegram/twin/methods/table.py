"""How a method of the Bot API is described."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from platforms.telegram.twin.call import Call

if TYPE_CHECKING:
    from platforms.telegram.twin.twin import Twin

Handler = Callable[["Twin", Call], object]


class Method(Struct, frozen=True):
    """A name, what answers it, and since which Bot API there is such a method."""

    name: str
    answer: Handler
    since: tuple[int, int] = (1, 0)
