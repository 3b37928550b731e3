"""The end of a turn: how it went, and what it cost. The wire counts since the conversation began. Pure."""

from __future__ import annotations

from adapters.claude import schema
from beambot.api import bodies

Models = dict[str, schema.ModelUsage]

# The program's words for itself; people are not shown them (claude/interrupt).
_INTERNAL = "[ede_diagnostic]"


class Spending:
    """What was spent before this turn. None: nobody knows, an earlier process spent it (claude/resume_2)."""

    def __init__(self, known: bool = True) -> None:
        self._cost: float | None = 0.0 if known else None
        self._models: Models | None = {} if known else None
        self._api_ms = 0.0 if known else -1.0

    def result(self, line: schema.Result, outcome: bodies.Outcome, lines: tuple[int, int]) -> bodies.Result:
        """The result of a turn, with its own share."""
        usage, models, api_ms = self.spent(line)
        failed = outcome in ("error", "limit", "refused")
        return bodies.Result(
            outcome,
            text=(line.result or "") if not line.is_error else "",
            error=error_of(line) if failed else "",
            usage=usage,
            duration_ms=int(line.duration_ms),
            api_ms=api_ms,
            rounds=line.num_turns,
            lines_added=lines[0],
            lines_removed=lines[1],
            models=models,
        )

    def spent(self, line: schema.Result) -> tuple[bodies.Usage, dict[str, bodies.Usage], int]:
        """Take the new sums; gives what was added to them."""
        total = line.total_cost_usd or 0.0
        cost = None if self._cost is None else round(_growth(total, self._cost), 9)
        before = self._models
        models: dict[str, bodies.Usage] = {}
        for name, now in line.model_usage.items():
            grown = None if before is None else _grown(now, before.get(name))
            if grown is not None and grown != bodies.Usage(cost_usd=0.0):
                models[name] = grown
        api_ms = 0 if self._api_ms < 0 else int(_growth(line.duration_api_ms, self._api_ms))
        self._cost, self._models, self._api_ms = total, line.model_usage, line.duration_api_ms
        told = line.usage or schema.Usage()
        usage = bodies.Usage(
            told.input_tokens or 0,
            told.output_tokens or 0,
            told.cache_read_input_tokens or 0,
            told.cache_creation_input_tokens or 0,
            cost,
        )
        if usage == bodies.Usage(cost_usd=cost):
            # A turn that was cut short is told as free (claude/interrupt): the models know better.
            usage = _sum(models, cost)
        return usage, models, api_ms


def outcome_of(line: schema.Result, interrupted: bool) -> bodies.Outcome:
    """How a turn went, in our words."""
    failed = line.is_error or line.subtype.startswith("error")
    if (line.terminal_reason or "").startswith("aborted") or (interrupted and failed):
        return "interrupted"
    if line.subtype.startswith("error_max"):
        return "limit"
    if line.stop_reason == "refusal":
        return "refused"
    return "error" if failed else "success"


def error_of(line: schema.Result) -> str:
    """Why, without the program's own diagnostics."""
    errors = [error for error in line.errors if not error.startswith(_INTERNAL)]
    if line.is_error and line.result:
        errors.insert(0, line.result)
    if not errors and line.subtype == "error_max_turns":
        return "the agent took as many steps as it may"
    if not errors and line.subtype.startswith("error_max_budget"):
        return "the turn cost as much as it may"
    return "\n".join(dict.fromkeys(errors)) or "the agent gave up without saying why"


def _growth(now: float, before: float) -> float:
    # After the conversation was cleared the sums begin at nothing again.
    return now - before if now >= before else now


def _grown(now: schema.ModelUsage, before: schema.ModelUsage | None) -> bodies.Usage:
    was = before or schema.ModelUsage()
    return bodies.Usage(
        int(_growth(now.input_tokens, was.input_tokens)),
        int(_growth(now.output_tokens, was.output_tokens)),
        int(_growth(now.cache_read_input_tokens, was.cache_read_input_tokens)),
        int(_growth(now.cache_creation_input_tokens, was.cache_creation_input_tokens)),
        round(_growth(now.cost, was.cost), 9),
    )


def _sum(models: dict[str, bodies.Usage], cost: float | None) -> bodies.Usage:
    parts = models.values()
    return bodies.Usage(
        sum(part.input_tokens for part in parts),
        sum(part.output_tokens for part in parts),
        sum(part.cache_read_tokens for part in parts),
        sum(part.cache_write_tokens for part in parts),
        cost,
    )
