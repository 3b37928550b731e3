"""How long reading Claude Code takes, as a multiple of what `json.loads` alone takes for the same lines."""

from __future__ import annotations

import json
import time
from pathlib import Path

from adapters.claude.translate import Translator
from beambot.model.bodies import Result
from beambot.state.turn import Turn, reduce
from benchmarks.figures import Figure
from benchmarks.reading import best_of

RECORDINGS = Path(__file__).parent.parent / "tests" / "fixtures" / "claude"
# Long answers per token, and the longest recording: many short turns with a tool and an ask in each.
STREAMS = ("2.1.326/markdown", "2.1.326/steer_text", "2.1.326/subagent", "2.1.48/sdk_url")


def lines(repeat: int = 10) -> list[bytes]:
    """What the program wrote in recorded sessions."""
    found = []
    for name in STREAMS:
        for record in (RECORDINGS / f"{name}.ndjson").read_text().splitlines():
            entry = json.loads(record)
            if entry["dir"] == "out" and isinstance(entry["data"], dict):
                found.append(json.dumps(entry["data"], separators=(",", ":"), ensure_ascii=False).encode())
    return found * repeat


def read_all(lines: list[bytes]) -> int:
    """Decode, translate and reduce, as a session and its pump do; gives the number of turns."""
    translator = Translator(time.monotonic, "/repo")
    turns, turn = 0, Turn("t0")
    translator.prompted(turn.id, turn.id)
    for line in lines:
        for message in translator.read(line):
            turn = reduce(turn, message)
            if type(message.body) is Result:
                turns += 1
                turn = Turn(f"t{turns}")
        if translator.control:
            translator.control.clear()
        if not translator.turn:
            translator.prompted(turn.id, turn.id)
    return turns


def measure(times: int = 9) -> list[Figure]:
    """A ratio within this run, so that the machine's speed does not matter."""
    data = lines()
    alone = best_of(lambda: [json.loads(line) for line in data], times)
    ours = best_of(lambda: read_all(data), times)
    note = "decode + translate + reduce ÷ json.loads, recorded stream-json"
    return [Figure("claude_reading", ours / alone, "x_json", 2.0, note=note)]


if __name__ == "__main__":
    for figure in measure():
        print(f"{figure.name} {figure.value:.2f} {figure.unit}")
