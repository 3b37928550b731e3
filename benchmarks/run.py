"""`make bench`: every figure beside its budget, one line each: `name value unit budget ok|over`.

Each topic runs in a process of its own, so that the memory and the caches of one do not colour the next.
The same figures are written to benchmarks/results.json. The exit code is 1 when a binding figure is over its
budget or a topic failed, and 0 with --report. Name topics to run only these: `run.py reading pressing`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

from beambot import log  # noqa: E402 the line above makes it importable
from benchmarks.figures import Figure  # noqa: E402

TOPICS = (
    "turns",
    "claude_reading",
    "crowd",
    "pressing",
    "starting",
    "staleness",
    "sharing",
    "pictures",
    "rendering",
    "telegram",
)
TOPIC_SECONDS = 180


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("topics", nargs="*", metavar="topic", help=f"of {', '.join(TOPICS)}; without: all")
    parser.add_argument("--report", action="store_true", help="exit with 0 whatever was measured")
    parser.add_argument("--inside", metavar="TOPIC", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        return measure(args.inside)
    unknown = [topic for topic in args.topics if topic not in TOPICS]
    if unknown:
        parser.error(f"no such topic: {', '.join(unknown)}")
    topics = [topic for topic in TOPICS if topic in args.topics] if args.topics else list(TOPICS)
    figures, failed = collect(topics)
    write(figures, failed)
    bad = bool(failed) or any(figure.binding and figure.verdict == "over" for figure in figures)
    return 1 if bad and not args.report else 0


def collect(topics: list[str]) -> tuple[list[Figure], list[str]]:
    """Run the topics one after the other, and print each figure as soon as it is known."""
    figures: list[Figure] = []
    failed: list[str] = []
    for topic in topics:
        command = [sys.executable, __file__, "--inside", topic]
        try:
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, timeout=TOPIC_SECONDS, check=True)
            found = [Figure(*values) for values in json.loads(done.stdout)]
        except (subprocess.SubprocessError, ValueError) as error:
            sys.stderr.write(f"the benchmark {topic} failed: {error}\n")
            failed.append(topic)
            continue
        for figure in found:
            value, budget = f"{figure.value:.3f}", f"{figure.budget:g}"
            print(f"{figure.name:<28} {value:>9} {figure.unit:<9} {budget:>6} {figure.verdict}", flush=True)
        figures += found
    return figures, failed


def measure(topic: str) -> int:
    """Inside the topic's own process: measure, and hand the figures to the parent as JSON."""
    # On stderr, as `beambot up` writes them: the figures alone stand on stdout.
    log.configure(level="error")
    figures: list[Figure] = importlib.import_module(f"benchmarks.{topic}").measure()
    json.dump([list(figure) for figure in figures], sys.stdout)
    return 0


def write(figures: list[Figure], failed: list[str]) -> None:
    rows = [{**figure._asdict(), "value": round(figure.value, 4), "verdict": figure.verdict} for figure in figures]
    text = json.dumps({"figures": rows, "failed": failed}, indent=2, ensure_ascii=False)
    (ROOT / "benchmarks" / "results.json").write_text(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
