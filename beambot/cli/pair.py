"""`beambot pair`: a one-time code, who used it, and the role they get."""

from __future__ import annotations

import argparse
import secrets
import sys
from functools import partial
from pathlib import Path
from typing import cast

import anyio
import anyio.to_thread

from beambot.cli.setting import store_path
from beambot.clock import SystemClock
from beambot.control.lock import owner_of
from beambot.errors import BeambotError
from beambot.log import redact
from beambot.model.ports import Clock
from beambot.model.settings import CODE_ALPHABET, CODE_LENGTH, ROLES, Role
from beambot.store import MemberRow, PairingRow, Store

# Without the letters and digits that are taken for one another.
POLL_SECONDS = 0.5


class NoRole(BeambotError):
    """Nobody can be asked for it here."""

    exit_code = 2


def run(args: argparse.Namespace) -> int:
    """Exit code 1 when nobody came, or whoever came was refused."""
    asking = sys.stdin.isatty() and not args.no_wait
    if args.role is None and not asking:
        raise NoRole("which role?", fix=f"add --role ({', '.join(ROLES)})")
    path = store_path(args.config)
    return anyio.run(partial(_pair, path, args.role, args.minutes, wait=not args.no_wait))


def new_code() -> str:
    """Short enough to type on a phone; five tries and a few minutes make it enough."""
    return "".join(secrets.choice(CODE_ALPHABET) for _ in range(CODE_LENGTH))


async def _pair(path: Path, role: Role | None, minutes: int, *, wait: bool) -> int:
    clock = SystemClock()
    async with await Store.open(path, clock) as store:
        code = new_code()
        number = await store.pairings.create(code, role=role, expires_at=clock.now() + minutes * 60)
        _say(f"code: {code}\nSend it to the bot within {minutes} min; it works once.")
        if owner_of(path) is None:
            _say("beambot is not running: start it with `beambot up` in another terminal.")
        if not wait:
            return 0
        try:
            return await _see_through(store, number, role, clock)
        finally:
            with anyio.CancelScope(shield=True):
                await store.pairings.settle(number, None)


async def _see_through(store: Store, number: int, role: Role | None, clock: Clock) -> int:
    row = await wait_until_used(store, number, clock)
    if row is None or row.state in ("open", "void"):
        raise BeambotError("nobody sent the code in time, or too many wrong ones came", fix="run it again")
    who = redact(f"{_plain(row.name) or 'somebody'} ({row.platform} id {_plain(row.identity)})")
    if row.state == "claimed":
        _say(f"it was sent by {who}")
        role = role or await _ask_role()
        if role is None:
            await store.pairings.settle(number, None)
    elif row.state == "granted":
        role = cast(Role, row.role)
    if role is None or row.state == "refused":
        _say("refused; they know nothing more than before")
        return 1
    member = await admit(store, row, role)
    _say(f"{member} is {_article(role)} now")
    return 0


async def wait_until_used(store: Store, number: int, clock: Clock) -> PairingRow | None:
    """The invitation as soon as it is not open any more, or when its time is over."""
    while True:
        row = await store.pairings.get(number)
        if row is None or row.state != "open" or clock.now() >= row.expires_at:
            return row
        await clock.sleep(POLL_SECONDS)


async def admit(store: Store, row: PairingRow, role: Role) -> str:
    """Make the person a member. A name that somebody else has is never taken over."""
    async with store.transaction():
        known = await store.members.find(row.platform, row.identity)
        if known is not None:
            member = MemberRow(known.name, role, known.identities, known.source, known.added_at)
        else:
            name = await _free_name(store, _plain(row.name) or _plain(row.identity))
            member = MemberRow(name, role, {row.platform: row.identity}, "paired")
        await store.members.put(member)
        await store.pairings.settle(row.id, role)
        detail = {"member": member.name, "role": role, "platform": row.platform, "identity": row.identity}
        await store.audit.add("member paired", "command line", detail)
    return member.name


async def _free_name(store: Store, wanted: str) -> str:
    name, number = wanted, 1
    while await store.members.by_name(name) is not None:
        number += 1
        name = f"{wanted} {number}"
    return name


async def _ask_role() -> Role | None:
    question = f"role ({', '.join(ROLES)}; empty refuses): "
    while True:
        answer = await anyio.to_thread.run_sync(input, question, abandon_on_cancel=True)
        word = answer.strip().lower()
        if not word:
            return None
        if word in ROLES:
            return word


def _plain(text: str) -> str:
    """Names are chosen by strangers: no control characters reach the terminal."""
    return "".join(char for char in text if char.isprintable())[:64].strip()


def _article(role: str) -> str:
    return f"an {role}" if role[0] in "aeiou" else f"a {role}"


def _say(text: str) -> None:
    print(text, flush=True)
