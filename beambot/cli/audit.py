"""`beambot audit`: who did what when, and whether that is still what was written. Also while beambot runs."""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path

import anyio
import msgspec

from beambot.cli.setting import store_path
from beambot.clock import SystemClock
from beambot.errors import BeambotError
from beambot.log import redact
from beambot.store import AuditRow, Store, Verdict


class AuditBroken(BeambotError):
    """Somebody changed what was written."""


def run(args: argparse.Namespace) -> int:
    """Exit code 1 when the chain is broken."""
    path = store_path(args.config)
    rows, verdict = anyio.run(partial(_read, path, 0 if args.verify else args.last, args.expect or ""))
    if args.json:
        document = msgspec.json.encode({"store": str(path), "verdict": verdict, "lines": rows})
        print(redact(msgspec.json.format(document, indent=2).decode()))
    elif rows:
        print(redact("\n".join(_table(rows))))
    if not verdict.whole:
        raise AuditBroken(
            f"the audit in {path} is broken{_where(verdict)}",
            fix="keep a copy of the file, compare it with your last good backup,"
            " and find out who else could write to it",
        )
    if not args.json:
        print(_good(verdict, args.expect))
    return 0


async def _read(path: Path, last: int, expect: str) -> tuple[list[AuditRow], Verdict]:
    async with await Store.open(path, SystemClock(), create=False) as store:
        rows = await store.audit.recent(last) if last else []
        return rows[::-1], await store.audit.verify(expect)


def _table(rows: list[AuditRow]) -> list[str]:
    number = max(len(str(row.id)) for row in rows)
    who = min(max(len(_plain(row.who)) for row in rows), 24)
    return [
        f"{row.id:>{number}}  {_when(row.at)}  {_plain(row.who):<{who}}  {_plain(row.in_words())}".rstrip()
        for row in rows
    ]


def _when(at: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    except (ValueError, OverflowError, OSError):
        return "at no known time   "


def _plain(text: str) -> str:
    """Names and commands are chosen by others: no control characters reach the terminal."""
    return "".join(char if char.isprintable() else " " for char in text)


def _where(verdict: Verdict) -> str:
    return f": {verdict.why}" if verdict.broken_at is None else f" at line {verdict.broken_at}: {verdict.why}"


def _good(verdict: Verdict, expect: str | None) -> str:
    if not verdict.count:
        return "verified: nothing was written yet"
    lines = "1 line" if verdict.count == 1 else f"{verdict.count} lines"
    if not verdict.newest:
        return f"{lines}, all from before there was a chain: the next one binds them"
    older = f", the first {verdict.before} as one" if verdict.before else ""
    found = ", the expected value among them" if expect else ""
    return f"verified: {lines}, unbroken{older}{found}; note the newest value: {verdict.newest}"
