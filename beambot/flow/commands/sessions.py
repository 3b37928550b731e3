"""Commands about sessions: begin, stop, look, take up again, close."""

from __future__ import annotations

from msgspec.structs import replace

from beambot.errors import PlatformError
from beambot.flow.commands.elsewhere import ELSEWHERE, offer_foreign
from beambot.flow.commands.table import Command, Desk, short
from beambot.model.ids import MessageRef, ThreadRef
from beambot.model.outbound import Button, Fact, Facts, Notice, duration
from beambot.model.ports import Topical
from beambot.store.records import SENT_AGAIN, SessionRow, TurnRow


async def new(desk: Desk, args: str) -> None:
    """/new [project] [adapter]"""
    projects = {project.name: project for project in desk.threads.projects_for(desk.member)}
    adapters = set(desk.house.host.names())
    words = args.split()
    unknown = [word for word in words if word not in projects and word not in adapters]
    chosen = [word for word in words if word in projects]
    adapter = next((word for word in words if word in adapters and word not in chosen), "")
    if unknown or len(chosen) > 1 or (not chosen and len(projects) != 1):
        head = f"There is no project or adapter {unknown[0]!r} for you. " if unknown else ""
        if not projects:
            await desk.warn("There is no project that you may use. An owner can add you to one.")
            return
        buttons = tuple((Button(name, f"cmd:/new {name} {adapter}".strip()),) for name in list(projects)[:10])
        await desk.say(Notice(f"{head}Which project?", level="ask"), buttons=buttons)
        return
    project = projects[chosen[0]] if chosen else next(iter(projects.values()))
    thread = await _own_thread(desk, project.name)
    row = await desk.threads.create(thread, desk.member, project, adapter)
    begun = Notice(f"New session {row.id} in {project.name} with {row.adapter}.", level="success")
    await desk.house.say([thread], begun)
    if thread != desk.thread:
        await desk.say(f"Session {row.id} has a place of its own beside this one.")
    await desk.held(thread)


async def _own_thread(desk: Desk, title: str) -> ThreadRef:
    """A new one where each session has its own; elsewhere, and for what waits here already, this one."""
    chat = desk.house.platforms[desk.thread.platform]
    topical: object = chat
    if not isinstance(topical, Topical) or not topical.has_topics(desk.thread) or desk.holds(desk.thread):
        return desk.thread
    try:
        return await chat.open_thread(desk.thread, title)
    except PlatformError as error:
        await desk.warn(f"No new thread could be opened, so the session begins here: {error}")
        return desk.thread


async def stop(desk: Desk, args: str) -> None:
    """/stop: also drops what is queued, and says how to get it back."""
    row = await _named(desk, args) if args else await desk.session()
    if row is not None and not await stop_all(desk, row):
        await desk.say("Nothing is running here.")


async def stop_all(desk: Desk, row: SessionRow) -> bool:
    """Stop a session's turn and its queue; says what was dropped. False: there was nothing."""
    stopped, dropped = await desk.sessions.stop(row.id)
    if dropped:
        count = len(dropped)
        words = f"{count} queued prompt{'s were' if count != 1 else ' was'} dropped too."
        buttons = tuple((Button(f"Send: {short(t.text, 30)}", f"cmd:/again {t.id}"),) for t in dropped[:5])
        await desk.say(Notice(words, level="warning"), buttons=buttons)
    return stopped or bool(dropped)


async def status(desk: Desk, args: str) -> None:
    """/status"""
    row = await desk.session()
    if row is None:
        return
    facts = desk.sessions.facts(row.id)
    queued = await desk.house.store.turns.queued(row.id)
    asks = await desk.house.store.asks.open(row.id)
    shown = [
        Fact("Session", row.id, code=True),
        Fact("State", row.state),
        Fact("Project", row.project),
        Fact("Folder", row.folder, code=True),
        Fact("Agent", f"{row.adapter} {facts.version if facts else ''}".strip()),
    ]
    shown += [Fact("Model", row.model)] if row.model else []
    shown += [Fact("Mode", row.mode)] if row.mode else []
    shown += [Fact("Queued", str(len(queued)))] if queued else []
    shown += [Fact("Waiting for an answer", str(len(asks)))] if asks else []
    await desk.say(Facts(tuple(shown)))


async def sessions(desk: Desk, args: str) -> None:
    """/sessions: those of the member's projects, newest first."""
    recent = await desk.house.store.sessions.recent(20, include_closed=True)
    rows = [r for r in recent if desk.threads.may_use(desk.member, r)]
    if not rows:
        await desk.say("There are no sessions yet. Write what you want done, or /new.")
        return
    now = desk.house.clock.now()
    facts = tuple(
        Fact(r.id, f"{r.title or 'untitled'} · {r.project} · {r.state} · {duration(now - r.used_at)} ago")
        for r in rows[:10]
    )
    buttons = tuple((Button(f"Open {short(r.title or r.id, 40)}", f"cmd:/resume {r.id}"),) for r in rows[:5])
    await desk.say(Notice("Sessions, newest first"), Facts(facts), buttons=buttons)


async def resume(desk: Desk, args: str) -> None:
    """/resume [session]: show it here and start its agent again."""
    if not args:
        here = await desk.threads.current(desk.thread)
        if here is None:
            await sessions(desk, "")
            await offer_foreign(desk)
            return
        row: SessionRow | None = here
    else:
        row = await _named(desk, args)
    if row is None:
        return
    current = await desk.threads.current(desk.thread)
    if current is None or current.id != row.id:
        await desk.threads.show(desk.thread, row)
    await desk.sessions.resume(row.id)
    await desk.say(Notice(f"Session {row.id} goes on here: {row.title or row.project}.", level="success"))
    await desk.held(desk.thread)


async def carry_on(desk: Desk, args: str) -> None:
    """/continue [session [turn]]: resume, and have the agent take up what was cut off, once."""
    name, _, cut = args.partition(" ")
    row = await _named(desk, name) if name else await desk.session()
    if row is None:
        return
    if desk.sessions.running(row.id) or await desk.house.store.turns.queued(row.id):
        await desk.say("It is working already.")
        return
    turn = await desk.house.store.turns.get(cut) if cut else None
    if turn is not None and not await _take_up(desk, turn):
        return
    await desk.prompt(
        row,
        "You were cut off before you could finish: the program between us was restarted. "
        "Go on where you stopped, and ask again for what you still need permission for.",
    )


async def _take_up(desk: Desk, turn: TurnRow) -> bool:
    """Claim a turn that is over, so that it is taken up once however often its buttons are pressed."""
    state = "cancelled" if turn.state == "unsure" else turn.state
    async with desk.house.store.transaction():
        newest = await desk.house.store.turns.get(turn.id)
        free = newest is not None and newest.state == turn.state and newest.note != SENT_AGAIN
        if free:
            await desk.house.store.turns.update(turn.id, state=state, note=SENT_AGAIN)
    if not free:
        await desk.say("It was taken up already.")
        return False
    threads = await desk.house.store.shown.standing_in(f"cut:{turn.id}")
    if threads:
        words = Notice(f"{desk.member.name} took up what was cut off here.")
        await desk.house.say(threads, words, key=f"cut:{turn.id}")
    return True


async def queue(desk: Desk, args: str) -> None:
    """/queue: what waits, each with a button to take it back."""
    row = await desk.session()
    if row is None:
        return
    waiting = await desk.house.store.turns.queued(row.id)
    if not waiting:
        await desk.say("Nothing is queued.")
        return
    facts = tuple(Fact(f"{number}.", short(turn.text, 100)) for number, turn in enumerate(waiting, 1))
    buttons = tuple(
        (Button(f"Drop {number}", f"cmd:/drop {turn.id}", style="danger"),)
        for number, turn in enumerate(waiting[:10], 1)
    )
    await desk.say(Facts(facts), buttons=buttons)


async def drop(desk: Desk, args: str) -> None:
    """/drop TURN: it will not be sent; /drop all: nothing that waits will."""
    if args == "all":
        row = await desk.session()
        waiting = await desk.house.store.turns.queued(row.id) if row is not None else []
        gone = [turn for turn in waiting if await _drop(desk, turn)]
        await desk.say(f"Dropped {len(gone)} of what was queued." if gone else "Nothing is queued.")
        return
    turn = await _turn(desk, args)
    if turn is None:
        return
    if await _drop(desk, turn):
        await desk.say(f"Dropped: {short(turn.text, 100)}")
    else:
        await desk.say(f"It is {turn.state} already.")


async def again(desk: Desk, args: str) -> None:
    """/again TURN: send a prompt once more, because a person says so."""
    turn = await _turn(desk, args)
    if turn is None:
        return
    if turn.state in ("queued", "handed", "running"):
        await desk.say(f"It is {turn.state} already.")
        return
    row = await desk.house.store.sessions.get(turn.session)
    if row is None:
        return
    if not await _take_up(desk, turn):
        return
    now = desk.house.clock.now()
    fresh = replace(
        turn, id=desk.house.ids.new(), state="queued", note="", created_at=now, started_at=None, ended_at=None
    )
    await desk.house.store.turns.add(fresh)
    if row.state in ("failed", "closed"):
        await desk.house.store.sessions.update(row.id, state="idle")
    await desk.sessions.prompted(fresh)


async def title(desk: Desk, args: str) -> None:
    """/title WORDS"""
    row = await desk.session()
    if row is None:
        return
    name = " ".join(args.split())[:80]
    if not name:
        await desk.warn("Write the title behind the command: /title fix the login")
        return
    await desk.house.store.sessions.update(row.id, title=name)
    for thread in await desk.house.threads_of(row.id):
        desk.house.delivery.rename(thread, name)
    await desk.say(f"This session is now called {name}.")


async def close(desk: Desk, args: str) -> None:
    """/close: end the agent; /resume takes it up again."""
    row = await desk.session()
    if row is None:
        return
    await stop_all(desk, row)
    await desk.sessions.close(row.id)
    buttons = ((Button("Open again", f"cmd:/resume {row.id}"),),)
    await desk.say(Notice("Closed. Nothing is lost: it can be opened again."), buttons=buttons)
    for thread in await desk.house.threads_of(row.id):
        desk.house.delivery.end_thread(thread)


async def _named(desk: Desk, prefix: str) -> SessionRow | None:
    every = await desk.house.store.sessions.starting_with(prefix.split()[0])
    found = [r for r in every if desk.threads.may_use(desk.member, r)]
    if len(found) == 1:
        return found[0]
    if not found:
        await desk.warn(f"There is no session {prefix[:40]!r} for you. /sessions lists them.")
        return None
    buttons = tuple((Button(f"{r.id} {short(r.title, 30)}", f"cmd:/resume {r.id}"),) for r in found[:8])
    await desk.say(Notice("Which one?", level="ask"), buttons=buttons)
    return None


async def _turn(desk: Desk, args: str) -> TurnRow | None:
    turn = await desk.house.store.turns.get(args.split()[0]) if args else None
    row = await desk.house.store.sessions.get(turn.session) if turn is not None else None
    if turn is None or row is None or not desk.threads.may_use(desk.member, row):
        await desk.warn("There is no such prompt. /queue lists what waits.")
        return None
    return turn


async def _drop(desk: Desk, turn: TurnRow) -> bool:
    now = desk.house.clock.now()
    dropped = await desk.house.store.turns.update(
        turn.id, expect=("queued", "unsure"), state="cancelled", ended_at=now
    )
    if dropped and turn.thread is not None and turn.message:
        desk.house.delivery.receipt(MessageRef(turn.thread, turn.message), "cancelled")
    return dropped


COMMANDS = (
    Command("new", "participant", "begin a new session here", new, "[project] [adapter]"),
    Command("stop", "participant", "stop what is running", stop),
    Command("status", "observer", "how this session stands", status),
    Command("sessions", "observer", "list sessions", sessions),
    Command("resume", "participant", "take up a session", resume, "[session]"),
    Command("queue", "observer", "what waits to be sent", queue),
    Command("title", "participant", "name this session", title, "words"),
    Command("close", "participant", "end the agent of this session", close),
    *ELSEWHERE,
    Command("drop", "participant", "take a queued prompt back", drop, "turn", hidden=True),
    Command("again", "participant", "send a prompt once more", again, "turn", hidden=True),
    Command("continue", "participant", "go on after a cut", carry_on, "session turn", hidden=True),
)
