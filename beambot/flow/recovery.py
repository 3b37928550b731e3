"""After a start: what was running when beambot ended is looked up, closed honestly, and said in each thread."""

from __future__ import annotations

from msgspec.structs import replace

from beambot.flow.asks import Asks
from beambot.flow.delivery.screens import Screen
from beambot.flow.house import House
from beambot.flow.sessions import Sessions
from beambot.flow.sessions.ending import last_words
from beambot.flow.waiting import alone
from beambot.log import get_logger
from beambot.model.bodies import Result
from beambot.model.ids import MessageRef, ThreadRef
from beambot.model.message import UnifiedMessage
from beambot.model.outbound import Button, Notice, Outgoing, duration
from beambot.render.compose import after_cut
from beambot.state.turn import Turn, reduce
from beambot.store.records import TurnRow

log = get_logger("recovery")

_CUT = "beambot was restarted while the agent was working."


async def recover(house: House, sessions: Sessions, asks: Asks) -> None:
    """Once, before anything new is taken."""
    await alone(asks.redraw)
    for ask in await house.store.asks.open():
        await asks.void(ask, "Void: beambot was restarted, and the agent that asked is gone.")
    unfinished = await house.store.turns.unfinished()
    for turn in unfinished:
        # One turn that cannot be put together again must not keep beambot from starting.
        if turn.state == "running":
            await alone(_cut_off, house, asks, turn)
        elif turn.state == "handed":
            await alone(_unsure, house, turn)
    for row in await house.store.sessions.recent(10_000):
        if row.state in ("starting", "working", "waiting"):
            await house.store.sessions.update(row.id, state="idle")
            for thread in await house.threads_of(row.id):
                house.delivery.mark(thread, "idle")
    for session in dict.fromkeys(turn.session for turn in unfinished if turn.state == "queued"):
        known = await house.store.sessions.get(session)
        if known is not None and known.state != "closed":
            log.info("queued prompts go on", session=session)
            await sessions.wake(session)


async def _cut_off(house: House, asks: Asks, row: TurnRow) -> None:
    """What the agent said before the cut is shown whole; what it would have said is not pretended."""
    session = await house.store.sessions.get(row.session)
    agent = session.adapter if session is not None else ""
    turn = Turn(row.id, started_at=row.started_at or row.created_at, agent=agent)
    for message in await house.store.journal.turn(row.session, row.id):
        turn = reduce(turn, message)
    now = house.clock.now()
    finished = turn.result is not None
    if not finished:
        tools = {
            key: replace(tool, state="cancelled", ended_at=now) if tool.state == "running" else tool
            for key, tool in turn.tools.items()
        }
        result = Result(outcome="interrupted", error=_CUT)
        turn = replace(reduce(replace(turn, tools=tools), UnifiedMessage(result)), ended_at=now)
    for ask in await house.store.asks.of_turn(row.id):
        if ask.state == "answered" and not ask.note:
            await asks.unsure(ask)
    threads = await house.threads_of(row.session)
    screens: list[Screen] = []
    for thread in threads:
        reply_to = row.message if row.thread == thread else ""
        screen = Screen(thread, row.session, turn, house.platforms[thread.platform], house.rendering, reply_to)
        screen.restore(await house.store.shown.of_turn(thread, row.id))
        screens.append(screen)
    state = "done" if finished else "interrupted"

    async def ended() -> None:
        await house.store.turns.update(row.id, state=state, ended_at=now, note=_CUT if not finished else "")

    async def end() -> list[tuple[ThreadRef, Outgoing]]:
        return await last_words(house, screens, turn, row)

    await house.delivery.finish(screens, ended, end)
    if row.thread is not None and row.message:
        house.delivery.receipt(MessageRef(row.thread, row.message), "done" if finished else "cancelled")
    if finished:
        return
    ago = duration(now - (row.started_at or row.created_at))
    words = f"{_CUT} The prompt from {ago} ago was cut off; the session is kept."
    buttons = after_cut(row.session, row.id, prompted=row.origin != "agent")
    await house.say(threads, Notice(words, level="warning"), buttons=buttons, key=f"cut:{row.id}", loud=True)


async def _unsure(house: House, row: TurnRow) -> None:
    """It may have reached the agent, or not: a person decides, nothing is repeated silently."""
    await house.store.turns.update(row.id, expect="handed", state="unsure")
    if row.thread is not None and row.message:
        house.delivery.receipt(MessageRef(row.thread, row.message), "waiting")
    words = (
        "beambot was restarted just as this prompt was handed to the agent. "
        f"It is not known whether the agent took it:\n{row.text[:500]}"
    )
    buttons = (
        (
            Button("Send again", f"cmd:/again {row.id}", style="primary"),
            Button("Drop", f"cmd:/drop {row.id}"),
        ),
    )
    threads = await house.threads_of(row.session)
    await house.say(threads, Notice(words, level="warning"), buttons=buttons, key=f"cut:{row.id}", loud=True)
