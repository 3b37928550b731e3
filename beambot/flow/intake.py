"""Intake: who is it, may they, was it seen before; then a command, an answer or a prompt."""

from __future__ import annotations

import mimetypes
from collections import deque
from pathlib import Path

import anyio
import msgspec
from anyio.abc import TaskGroup

from beambot.errors import BeambotError, PlatformError, StoreError
from beambot.flow.asks import Asks
from beambot.flow.commands import Desk, parse
from beambot.flow.commands.agents import TABLE
from beambot.flow.corrections import Corrections
from beambot.flow.house import House
from beambot.flow.people import People
from beambot.flow.sessions import Sessions
from beambot.flow.threads import Threads
from beambot.flow.waiting import alone, insist
from beambot.log import follow, get_logger, unfollow
from beambot.model.ids import MessageRef, ThreadRef
from beambot.model.inbound import (
    Attachment,
    AttachmentIn,
    CommandIn,
    DeletedIn,
    EditedIn,
    FormIn,
    Inbound,
    MemberIn,
    PressIn,
    TextIn,
)
from beambot.model.outbound import Button, Notice, duration
from beambot.model.settings import may
from beambot.store.records import MemberRow, SessionRow, TurnRow

log = get_logger("intake")

_RETRY_SECONDS = 1.0
_AT_ONCE = 1000
# One message that is younger than this is simply answered.
_STALE_SECONDS = 60.0


class Intake:
    """The inbox's two ends: platforms put, one task a thread takes, in order. The database is the queue."""

    def __init__(self, house: House, sessions: Sessions, threads: Threads, asks: Asks, files: Path) -> None:
        self._house = house
        self._sessions = sessions
        self._threads = threads
        self._asks = asks
        self._people = People(house)
        self._corrections = Corrections(house)
        self._files = files
        self._arrived = anyio.Event()
        self._fresh: list[tuple[int, Inbound]] = []
        self._overflow = True
        self._floor = 0
        self._held: dict[ThreadRef, list[tuple[int, Inbound]]] = {}
        self._lines: dict[ThreadRef, deque[tuple[int, Inbound]]] = {}
        # Prompts that were sent before beambot began, by thread: when each was sent.
        self._late: dict[ThreadRef, list[float]] = {}
        self._begun = 0.0
        self._tasks: TaskGroup

    async def put(self, inbound: Inbound) -> bool:
        """The port that platforms call: written down when this returns."""
        number = await self._house.store.inbox.put(inbound)
        if number is None:
            return False
        if len(self._fresh) < _AT_ONCE:
            self._fresh.append((number, inbound))
        else:
            self._overflow = True
        self._arrived.set()
        return True

    async def run(self) -> None:
        """Take what an earlier run left, then what arrives: in order in a thread, no thread waits for another."""
        self._begun = self._house.clock.now()
        async with anyio.create_task_group() as self._tasks:
            while True:
                self._arrived = anyio.Event()
                if self._overflow:
                    self._overflow = False
                    pending = await self._left_over()
                else:
                    # What the last look into the database found was taken then; it may arrive here a moment later.
                    pending = [row for row in self._fresh if row[0] > self._floor]
                    self._fresh = []
                for row in pending:
                    self._line_up(row)
                if not pending and not self._overflow:
                    await self._arrived.wait()

    def _line_up(self, row: tuple[int, Inbound]) -> None:
        thread = row[1].thread
        line = self._lines.setdefault(thread, deque())
        line.append(row)
        if len(line) == 1:
            self._tasks.start_soon(self._work_off, thread)

    async def _work_off(self, thread: ThreadRef) -> None:
        line = self._lines[thread]
        while line:
            await self._take(*line[0])
            line.popleft()
        del self._lines[thread]
        if thread in self._late:
            await alone(self._say_late, thread, self._late.pop(thread))

    async def _say_late(self, thread: ThreadRef, sent: list[float]) -> None:
        """What was sent while beambot was away is worked off in order; whoever sent it may not want it any more."""
        ago = self._house.clock.now() - min(sent)
        if len(sent) == 1 and ago < _STALE_SECONDS:
            return
        if len(sent) > 1:
            words = f"{len(sent)} messages were sent while beambot was away, the first {duration(ago)} ago."
            words += " They are worked off in order."
        else:
            words = f"A message was sent while beambot was away, {duration(ago)} ago. It is worked on now."
        buttons = (
            (Button("Drop what still waits", "cmd:/drop all", style="danger"), Button("Queue", "cmd:/queue")),
        )
        await self._house.say([thread], Notice(words), buttons=buttons)

    async def _left_over(self) -> list[tuple[int, Inbound]]:
        # Noted before the look: what ends while the database reads would else seem to be left over.
        known = {number for rows in (*self._held.values(), *self._lines.values()) for number, _ in rows}
        try:
            found = await self._house.store.inbox.pending()
        except StoreError as error:
            log.error("the inbox cannot be read", why=str(error))
            self._overflow = True
            await self._house.clock.sleep(_RETRY_SECONDS)
            return []
        self._floor = max([self._floor, *(number for number, _ in found)])
        return [row for row in found if row[0] not in known]

    async def _take(self, number: int, inbound: Inbound) -> None:
        """Handle one update; while the database does not answer, it and those behind it wait."""
        follow(f"{inbound.platform}:{inbound.update}")
        handled = False
        while True:
            try:
                if not handled and not await self._handle(number, inbound):
                    return
                handled = True
                await self._house.store.inbox.done(number)
                return
            except StoreError as error:
                log.error("the database does not answer", why=str(error))
                await self._house.clock.sleep(_RETRY_SECONDS)
            except Exception as error:
                log.error("an inbound message could not be handled", exc_info=error)
                await alone(self._failed, number, inbound, error)
                return
            finally:
                unfollow()

    async def _failed(self, number: int, inbound: Inbound, error: Exception) -> None:
        await self._house.store.inbox.done(number, note=f"failed: {error}"[:200])
        words = error.message if isinstance(error, BeambotError) else "Something went wrong inside beambot."
        fix = error.fix if isinstance(error, BeambotError) else "The log says more. Please try again."
        await self._house.say([inbound.thread], Notice(f"{words} {fix}".strip(), level="error"))

    async def _handle(self, number: int, inbound: Inbound) -> bool:
        """True when the inbox is done with it; False when it has to wait."""
        member = await self._people.known(inbound)
        if member is None:
            await self._refuse_stranger(inbound)
            return True
        row = await self._house.store.threads.ensure(inbound.thread, inbound.private)
        if row.parked:
            await self._house.delivery.unpark(inbound.thread)
        match inbound.body:
            case TextIn(message=message, text=text, reply_to=reply_to, attachments=attachments):
                command = parse(text)
                # A path is an answer too: what is no command of ours may be one, where it replies to a card.
                if command is not None and (not reply_to or TABLE.knows(command[0])):
                    return await self._command(number, inbound, member, *command)
                said = await self._asks.replied(member, inbound.thread, reply_to, text) if reply_to else None
                if said is not None:
                    await self._house.say([inbound.thread], said)
                    return True
                if command is not None:
                    return await self._command(number, inbound, member, *command)
                return await self._prompt(number, inbound, member, message, text, attachments)
            case AttachmentIn(message=message, attachments=attachments):
                return await self._prompt(number, inbound, member, message, "", attachments)
            case CommandIn(name=name, args=args):
                return await self._command(number, inbound, member, name, args)
            case PressIn():
                await self._press(number, inbound, member, inbound.body)
            case FormIn(message=message, data=data, fields=fields, handle=handle):
                said = await self._asks.filled(member, inbound.thread, message, data, fields)
                await self._ack(inbound.thread.platform, handle, said)
            case EditedIn(message=message, text=text):
                await self._corrections.edited(inbound.thread, member, message, for_agent(text))
            case DeletedIn(message=message):
                await self._corrections.deleted(inbound.thread, member, message)
            case MemberIn(change=change):
                log.info("member", change=change, who=inbound.sender.id)
        return True

    # ── prompts ──────────────────────────────────────────────────────────────────────────────────

    async def _prompt(
        self,
        number: int,
        inbound: Inbound,
        member: MemberRow,
        message: str,
        text: str,
        attachments: tuple[Attachment, ...],
    ) -> bool:
        thread = inbound.thread
        self._house.delivery.receipt(MessageRef(thread, message), "received")
        if not may(member.role, "participant"):
            await self._warn(thread, "You may read here; sending prompts takes the role participant.")
            return True
        session = await self._threads.current(thread)
        if session is None:
            projects = self._threads.projects_for(member)
            if len(projects) != 1:
                return await self._which_project(number, inbound, [project.name for project in projects])
            session = await self._threads.create(thread, member, projects[0])
        elif not self._threads.may_use(member, session):
            await self._warn(thread, "You are not a member of this session's project.")
            return True
        if session.state == "closed":
            await self._house.store.sessions.update(session.id, state="idle")
        waiting = await self._house.store.turns.queued(session.id)
        if len(waiting) >= self._house.limits.queue_per_session:
            await self._warn(thread, f"{len(waiting)} prompts wait already. This one was not taken: send it later.")
            self._house.delivery.receipt(MessageRef(thread, message), "cancelled")
            return True
        files = await self._fetch(thread, attachments) if attachments else b""
        if files is None:
            return True
        await self._enqueue(number, session, member, thread, message, for_agent(text), files)
        if inbound.at < self._begun:
            self._late.setdefault(thread, []).append(inbound.at)
        return True

    async def _enqueue(
        self,
        number: int | None,
        session: SessionRow,
        member: MemberRow,
        thread: ThreadRef,
        message: str,
        text: str,
        files: bytes = b"",
    ) -> None:
        """The prompt is a turn and the inbox is done with it, in one step: neither lost nor taken twice."""
        turn = TurnRow(
            id=self._house.ids.new(),
            session=session.id,
            text=text,
            files=files,
            member=member.name,
            thread=thread,
            message=message,
            created_at=self._house.clock.now(),
        )
        log.info("prompt", session=session.id, turn=turn.id, who=member.name)
        async with self._house.store.transaction():
            await self._house.store.turns.add(turn)
            if number is not None:
                await self._house.store.inbox.done(number)
        # It is written down: whatever fails from here on, it must not be written down again.
        await insist(self._house.clock, self._sessions.prompted, turn)

    async def _which_project(self, number: int, inbound: Inbound, names: list[str]) -> bool:
        if not names:
            await self._warn(inbound.thread, "There is no project that you may use. An owner can add you to one.")
            return True
        first = inbound.thread not in self._held
        self._held.setdefault(inbound.thread, []).append((number, inbound))
        if first:
            buttons = tuple((Button(name, f"cmd:/new {name}"[:64]),) for name in names[:10])
            words = Notice("In which project? Your message is kept until you choose.", level="ask")
            await self._house.say([inbound.thread], words, buttons=buttons)
        return False

    async def _release(self, thread: ThreadRef) -> None:
        """A session stands in this thread now: what waited for one is taken."""
        for number, inbound in self._held.pop(thread, []):
            await self._take(number, inbound)

    async def _fetch(self, thread: ThreadRef, attachments: tuple[Attachment, ...]) -> bytes | None:
        platform = self._house.platforms[thread.platform]
        fetched: list[tuple[str, str, str]] = []
        for attachment in attachments:
            limit = platform.capabilities.download_bytes
            if attachment.size > limit:
                await self._warn(thread, f"{attachment.name} is larger than the {limit // 2**20} MiB of this chat.")
                return None
            folder = self._files / self._house.ids.new()
            await anyio.Path(folder).mkdir(parents=True, mode=0o700)
            try:
                path = await platform.download(attachment, folder)
            except PlatformError as error:
                await self._warn(thread, f"{attachment.name} could not be fetched: {error}. Please send it again.")
                return None
            mime = attachment.mime or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            fetched.append((str(path), path.name, mime))
        return msgspec.json.encode(fetched)

    # ── commands and presses ─────────────────────────────────────────────────────────────────────

    async def _command(self, number: int | None, inbound: Inbound, member: MemberRow, name: str, args: str) -> bool:
        async def prompt(session: SessionRow, text: str) -> None:
            await self._enqueue(None, session, member, inbound.thread, "", text)

        desk = Desk(
            self._house,
            self._sessions,
            self._threads,
            member,
            inbound.thread,
            self._release,
            lambda thread: thread in self._held,
            prompt,
        )
        await TABLE.run(desk, name, args)
        return True

    async def _press(self, number: int, inbound: Inbound, member: MemberRow, press: PressIn) -> None:
        platform = inbound.thread.platform
        if press.data.startswith("ask:"):
            said = await self._asks.pressed(member, inbound.thread, press.message, press.data)
            await self._ack(platform, press.handle, said)
        elif press.data.startswith("cmd:") and (command := parse(press.data.removeprefix("cmd:"))) is not None:
            await self._ack(platform, press.handle, "")
            await self._command(number, inbound, member, *command)
        else:
            await self._ack(platform, press.handle, "This button is not known.")

    async def _refuse_stranger(self, inbound: Inbound) -> None:
        """Somebody unknown pressed: said to them alone where the chat can, and noted."""
        if not isinstance(inbound.body, PressIn | FormIn) or inbound.sender.bot:
            return
        where = {"thread": inbound.thread.key, "data": inbound.body.data[:80]}
        await self._house.store.audit.add("press_refused", f"{inbound.platform}/{inbound.sender.id}", where)
        chat = self._house.platforms.get(inbound.platform)
        if chat is not None and chat.capabilities.private_ack:
            await self._ack(inbound.platform, inbound.body.handle, "This is not for you.")

    async def _ack(self, platform: str, handle: str, text: str) -> None:
        """A press is answered past the lane: the presser waits. That it fails is no reason to fail."""
        chat = self._house.platforms.get(platform)
        if chat is None or not handle:
            return
        try:
            with anyio.move_on_after(5):
                await chat.ack(handle, text)
        except PlatformError as error:
            log.warning("a press was not acknowledged", why=str(error))

    async def _warn(self, thread: ThreadRef, text: str) -> None:
        await self._house.say([thread], Notice(text, level="warning"))


def for_agent(text: str) -> str:
    """`//compact` is the agent's own /compact."""
    return text[1:] if text.startswith("//") else text
