"""What it costs to show an agent's markdown, against the parser alone on the same text.

The parser is pulldown-cmark, in Rust, and gives its events to Python: everything else here is Python, and has to be
compared with that.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from pyromark import Options, events_with_range

from beambot.model.outbound import Markdown, Outgoing
from beambot.render.markdown.parse import parse
from benchmarks.figures import Figure
from platforms.discord import outbound as discord
from platforms.slack import outbound as slack
from platforms.telegram import outbound as telegram
from platforms.web import markdown as web

SECTION = """## What was wrong in part {n}

The test failed because `parse_config` in `src/config/loader.py` read the file **before** the environment was set,
so `DATABASE_URL` was always empty. In the second run the cache hid it. See [the log](https://example.com/runs/{n});
the important line is the one that names `__init__.py`.

- `load()` now takes the environment as an argument
- the cache is keyed by path *and* by time
  - old entries are dropped
  - a missing file is an error, not an empty result
- [x] tests for both

```python
def load(path: Path, env: Mapping[str, str]) -> Config:
    raw = yaml.safe_load(path.read_text())
    values = {{**raw, **overrides(env)}}
    if "database" not in values:
        raise ConfigError(f"{{path}} names no database")
    return Config(**values)
```

| file | before | after |
|------|-------:|------:|
| `loader.py` | 120 | 96 |
| `cache.py` | 44 | 61 |

> The old behaviour was documented nowhere; nothing else relied on it.

Next I will look at the other callers and then run the whole suite once more.
"""
_ALL = Options.ENABLE_TABLES | Options.ENABLE_STRIKETHROUGH | Options.ENABLE_TASKLISTS | Options.ENABLE_GFM


def measure() -> list[Figure]:
    """An answer as agents write them: a third of it code, some lists, a table, words between."""
    pages = _pages("\n".join(SECTION.format(n=number) for number in range(12)))
    size = sum(map(len, pages)) / 1000
    bare = _best(lambda: [list(events_with_range(page, options=_ALL)) for page in pages])
    figures = [_figure("markdown_parse", lambda: [parse.__wrapped__(page) for page in pages], bare, size, 9.0)]
    drawn: dict[str, tuple[Callable[[Outgoing], object], float]] = {
        "telegram": (telegram.payload, 18.0),
        "discord": (discord.payload, 18.0),
        "slack": (slack.payload, 18.0),
        "web": (lambda message: web.render(_document(message)), 14.0),
    }
    for name, (draw, budget) in drawn.items():
        messages = [Outgoing("k", (Markdown(page),)) for page in pages]
        figures.append(_figure(f"markdown_{name}", _cold(draw, messages), bare, size, budget))
    return figures


def _pages(text: str) -> list[str]:
    """Pieces of about the size of one message."""
    pieces: list[str] = [""]
    for block in text.split("\n\n"):
        if len(pieces[-1]) + len(block) > 3000 and pieces[-1].count("```") % 2 == 0:
            pieces.append("")
        pieces[-1] += block + "\n\n"
    return pieces


def _document(message: Outgoing) -> tuple[object, ...]:
    block = message.blocks[0]
    assert isinstance(block, Markdown)
    return parse(block.text)


def _cold(draw: Callable[[Outgoing], object], messages: list[Outgoing]) -> Callable[[], object]:
    """Each time as if for the first time: nothing that was drawn before is remembered."""

    def work() -> None:
        parse.cache_clear()
        for cached in (telegram.drawn, slack._drawn, discord._markdown):
            cached.cache_clear()
        for message in messages:
            draw(message)

    return work


def _figure(name: str, work: Callable[[], object], bare: float, size: float, budget: float) -> Figure:
    took = _best(work)
    note = f"parser alone {bare * 1e6 / size:.0f} µs/KB, with it {took * 1e6 / size:.0f} µs/KB"
    return Figure(name, took / bare, "x_parser", budget, note=note)


def _best(work: Callable[[], object], times: int = 12) -> float:
    best = float("inf")
    for _ in range(times):
        gc.collect()
        begun = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begun)
    return best
