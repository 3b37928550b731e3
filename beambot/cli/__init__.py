"""The command line: what a person types, and one clear text when it does not work."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

BUG = 70  # EX_SOFTWARE
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """The console script. Gives the exit code."""
    leave_working_folder()
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return _dispatch(words)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has left; Python would complain once more while it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except Exception as error:
        return _explain(error)


def leave_working_folder() -> None:
    """A user's repository may have an `adapters` folder of its own: it must not be imported as ours."""
    ours = Path(__file__).resolve().parents[2]
    here = Path.cwd()
    kept: list[str] = []
    for entry in sys.path:
        if entry not in ("", ".") and not _same(Path(entry), here):
            kept.append(entry)
        elif _same(here, ours):
            kept.append(str(ours))
    sys.path[:] = kept


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _dispatch(words: list[str]) -> int:
    from beambot.cli.parser import COMMANDS, build, command

    if words and not words[0].startswith("-") and words[0] not in COMMANDS:
        from beambot.cli.plugin import run_plugin

        return run_plugin(words[0], words[1:])
    parser = build()
    try:
        args = parser.parse_args(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 2
    if args.command is None:
        parser.print_help()
        return 0
    return command(args.command)(args)


def _explain(error: Exception) -> int:
    from beambot.errors import BeambotError
    from beambot.log import redact

    if os.environ.get("BEAMBOT_DEBUG") == "1":
        import traceback

        print(redact("".join(traceback.format_exception(error))), file=sys.stderr, end="")
    causes = _leaves(error)
    known = [cause for cause in causes if isinstance(cause, BeambotError)]
    for cause in known:
        print(redact(f"beambot: {cause}"), file=sys.stderr)
    strange = [cause for cause in causes if not isinstance(cause, BeambotError)]
    for other in strange:
        print(redact(f"beambot: unexpected {type(other).__name__}: {other}"), file=sys.stderr)
    if strange:
        print("  fix: this is a defect; BEAMBOT_DEBUG=1 shows where, please report it", file=sys.stderr)
        return BUG
    return known[0].exit_code if known else BUG


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]
