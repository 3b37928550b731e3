"""The command that shows owners who decided what."""

from __future__ import annotations

from beambot.flow.commands.table import Desk
from beambot.log import redact
from beambot.model.outbound import Fact, Facts, Notice, duration
from beambot.store.records import AuditRow, Verdict

_LINES = 15
_LONGEST = 110  # together they fit the shortest messages of any chat


async def audit(desk: Desk, args: str) -> None:
    """/audit: the last lines, and whether the chain that binds them all is whole."""
    book = desk.house.store.audit
    rows = await book.recent(_LINES)
    verdict = await book.verify()
    if not rows and verdict.whole:
        await desk.say("Nothing was decided yet.")
        return
    now = desk.house.clock.now()
    facts = tuple(Fact(f"{duration(now - row.at)} ago", _told(row)) for row in rows)
    await desk.say(_chain(verdict), Facts(facts))


def _told(row: AuditRow) -> str:
    # Redacted when it was written; a secret that became known since is hidden now.
    words = redact(f"{row.who or 'beambot'}: {row.in_words()}")
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"


def _chain(verdict: Verdict) -> Notice:
    if not verdict.whole:
        where = "" if verdict.broken_at is None else f" at line {verdict.broken_at}"
        words = f"The audit is broken{where}: {verdict.why}. Run beambot audit on its machine."
        return Notice(words, level="error")
    lines = "1 line" if verdict.count == 1 else f"{verdict.count} lines"
    if not verdict.newest:
        return Notice(f"{lines}, from before there was a chain. The newest first:")
    return Notice(f"The chain of {lines} is whole. The newest first:", level="success")
