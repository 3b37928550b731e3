"""How long reading an agent takes, as a multiple of what `json.loads` alone takes for the same lines."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from adapters.acp.schema import read_update_line
from adapters.acp.translate import Translator
from beambot.api import UnifiedMessage

RECORDINGS = Path(__file__).parent.parent / "tests" / "fixtures" / "acp"
STREAMS = ("goose-acp/text", "claude-agent-acp/text", "codex-acp/text", "opencode-acp/text")


def lines(repeat: int = 20) -> list[bytes]:
    """The updates of recorded streams, as the agents wrote them."""
    found = []
    for name in STREAMS:
        for record in (RECORDINGS / f"{name}.ndjson").read_text().splitlines():
            entry = json.loads(record)
            data = entry["data"]
            if entry["dir"] == "out" and isinstance(data, dict) and data.get("method") == "session/update":
                found.append(json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode())
    return found * repeat


def translate_all(lines: list[bytes]) -> list[UnifiedMessage]:
    """Decode and translate, as a session does."""
    translator = Translator(time.monotonic)
    translator.begin("t")
    messages: list[UnifiedMessage] = []
    for line in lines:
        messages += translator.update(read_update_line(line).params.update)
    return messages + translator.finish("success")


def best_of(work: Callable[[], object], times: int = 5) -> float:
    """The fastest run: the one with the least noise of the machine in it."""
    best = float("inf")
    for _ in range(times):
        begun = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begun)
    return best


def measure(times: int = 5) -> tuple[float, float]:
    """Seconds for `json.loads` alone, and for decode + translate."""
    data = lines()
    return best_of(lambda: [json.loads(line) for line in data], times), best_of(lambda: translate_all(data), times)


if __name__ == "__main__":
    alone, ours = measure()
    print(f"json.loads {alone * 1e3:.2f} ms, decode + translate {ours * 1e3:.2f} ms, ratio {ours / alone:.2f}")
