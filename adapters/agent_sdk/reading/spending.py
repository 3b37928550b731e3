"""The end of a turn: how it went, and what it cost. The client counts since the conversation began. Pure."""

from __future__ import annotations

from typing import Any

import msgspec
from claude_agent_sdk import ResultMessage
from msgspec import Struct, field

from beambot.api import bodies

# The program's words for itself; people are not shown them.
_INTERNAL = "[ede_diagnostic]"


class _Tokens(Struct):
    """Tokens of one turn."""

    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0
    cache_creation_input_tokens: int | None = 0


class _Model(Struct, rename="camel"):
    """Tokens and money of one model since the conversation began."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cost: float = field(default=0.0, name="costUSD")


class Spending:
    """What was spent before this turn. Not `known`: an earlier process spent it."""

    def __init__(self, known: bool = True) -> None:
        self._cost: float | None = 0.0 if known else None
        self._models: dict[str, _Model] | None = {} if known else None
        self._api_ms = 0.0 if known else -1.0

    def result(self, told: ResultMessage, outcome: bodies.Outcome, lines: tuple[int, int]) -> bodies.Result:
        """The result of a turn, with its own share."""
        usage, models, api_ms = self.spent(told)
        text = structured(told) or told.result or ""
        return bodies.Result(
            outcome,
            text="" if told.is_error else text,
            error=error_of(told) if outcome in ("error", "limit", "refused") else "",
            usage=usage,
            duration_ms=int(told.duration_ms),
            api_ms=api_ms,
            rounds=told.num_turns,
            lines_added=lines[0],
            lines_removed=lines[1],
            models=models,
        )

    def spent(self, told: ResultMessage) -> tuple[bodies.Usage, dict[str, bodies.Usage], int]:
        """Take the new sums; gives what was added to them."""
        total = told.total_cost_usd or 0.0
        cost = None if self._cost is None else round(_growth(total, self._cost), 9)
        now = _read(told.model_usage, dict[str, _Model], {})
        models: dict[str, bodies.Usage] = {}
        for name, sums in now.items() if self._models is not None else ():
            grown = _grown(sums, (self._models or {}).get(name, _Model()))
            if grown != bodies.Usage(cost_usd=0.0):
                models[name] = grown
        api_ms = 0 if self._api_ms < 0 else int(_growth(told.duration_api_ms, self._api_ms))
        self._cost, self._models, self._api_ms = total, now, told.duration_api_ms
        tokens = _read(told.usage, _Tokens, _Tokens())
        usage = bodies.Usage(
            tokens.input_tokens or 0,
            tokens.output_tokens or 0,
            tokens.cache_read_input_tokens or 0,
            tokens.cache_creation_input_tokens or 0,
            cost,
        )
        # A turn that was cut short is told as free: the models know better.
        return (_sum(models, cost) if usage == bodies.Usage(cost_usd=cost) else usage), models, api_ms


def outcome_of(told: ResultMessage, interrupted: bool) -> bodies.Outcome:
    """How a turn went, in our words. `is_error` counts, whatever the subtype says."""
    failed = told.is_error or told.subtype.startswith("error")
    if (told.terminal_reason or "").startswith("aborted") or (interrupted and failed):
        return "interrupted"
    if told.subtype.startswith("error_max"):
        return "limit"
    if told.stop_reason == "refusal":
        return "refused"
    return "error" if failed else "success"


def error_of(told: ResultMessage) -> str:
    """Why, without the program's own diagnostics."""
    found = told.errors if isinstance(told.errors, list) else []
    errors = [one for one in found if isinstance(one, str) and not one.startswith(_INTERNAL)]
    if told.is_error and told.result:
        errors.insert(0, told.result)
    if not errors and told.subtype == "error_max_turns":
        return "the agent took as many steps as it may"
    if not errors and told.subtype.startswith("error_max_budget"):
        return "the turn cost as much as it may"
    return "\n".join(dict.fromkeys(errors)) or "the agent gave up without saying why"


def structured(told: ResultMessage) -> str:
    """An answer in the form that was asked for, as JSON; nothing where none was."""
    found = told.structured_output
    return "" if found is None else msgspec.json.format(msgspec.json.encode(found), indent=2).decode()


def _read(found: Any, kind: Any, default: Any) -> Any:
    try:
        return default if found is None else msgspec.convert(found, kind)
    except msgspec.ValidationError:
        return default


def _growth(now: float, before: float) -> float:
    # After the conversation was cleared the sums begin at nothing again.
    return now - before if now >= before else now


def _grown(now: _Model, was: _Model) -> bodies.Usage:
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
