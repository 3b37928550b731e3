"""What a benchmark gives back: one measured number beside its budget."""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    """`binding` is false for a figure that is shown but does not fail the run; `note` says why, or how."""

    name: str
    value: float
    unit: str
    budget: float
    binding: bool = True
    note: str = ""

    @property
    def verdict(self) -> str:
        """Within its budget, or not."""
        return "ok" if self.value <= self.budget else "over"


def percentile(values: list[float], share: float) -> float:
    """The value that this share of all values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
