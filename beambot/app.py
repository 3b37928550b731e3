"""The composition root: configuration → store → plugins → one task group."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio

from beambot import __version__
from beambot.clock import RandomIds, SystemClock, chance
from beambot.config import Config
from beambot.control.lock import StoreLock
from beambot.control.state import RunState, remove_state, write_state
from beambot.errors import BeambotError, PluginError
from beambot.flow.asks import Asks
from beambot.flow.commands.agents import TABLE
from beambot.flow.delivery import Delivery
from beambot.flow.house import House
from beambot.flow.intake import Intake
from beambot.flow.journal import JournalWriter
from beambot.flow.outfiles import sweep
from beambot.flow.recovery import recover
from beambot.flow.sessions import Sessions
from beambot.flow.sessions.host import EmbeddedHost
from beambot.flow.threads import Threads
from beambot.flow.waiting import alone
from beambot.log import get_logger
from beambot.model.plugins import CommandInfo, PluginContext
from beambot.model.ports import BackendAdapter, ChatPlatform, Clock, IdSource
from beambot.model.settings import AskSettings, Limits, Project, Rendering
from beambot.registry import Registry
from beambot.store import MemberRow, Store

log = get_logger("app")

_STOP_SECONDS = 8.0
_DRAIN_SECONDS = 2.0
_OVERLAP_SECONDS = 60.0
_RECONNECT = (1.0, 2.0, 5.0, 15.0, 60.0)


@dataclass(frozen=True)
class Rooms:
    """The flow, put together."""

    house: House
    sessions: Sessions
    threads: Threads
    asks: Asks
    intake: Intake


def build(
    store: Store,
    *,
    clock: Clock,
    ids: IdSource,
    chance: Callable[[], float] = chance,
    adapters: Mapping[str, BackendAdapter],
    platforms: Mapping[str, ChatPlatform],
    projects: tuple[Project, ...],
    files: Path,
    rendering: Rendering | None = None,
    asks: AskSettings | None = None,
    limits: Limits | None = None,
) -> Rooms:
    """Every part of the flow with what it needs; nothing runs yet."""
    journal = JournalWriter(store, clock)
    house = House(
        store=store,
        clock=clock,
        ids=ids,
        host=EmbeddedHost(adapters),
        platforms=platforms,
        delivery=Delivery(store, platforms, clock, journal.flush, chance),
        journal=journal,
        projects={project.name: project for project in projects},
        rendering=rendering or Rendering(),
        asks=asks or AskSettings(),
        limits=limits or Limits(),
        files=files,
    )
    sessions = Sessions(house)
    threads = Threads(house, sessions)
    desk = Asks(house, sessions)
    return Rooms(house, sessions, threads, desk, Intake(house, sessions, threads, desk, files))


async def serve(
    rooms: Rooms, stop: anyio.Event, *, ready: Callable[[ChatPlatform], None] = lambda platform: None
) -> None:
    """Run until told to stop; then end agents, write state, send the last edits."""
    house = rooms.house
    async with anyio.create_task_group() as outer:
        await house.delivery.start(outer)
        await sweep(
            house.files, [r.outgoing.file.path for r in await house.store.outbox.pending() if r.outgoing.file]
        )
        outer.start_soon(house.journal.run)
        for platform in house.platforms.values():
            outer.start_soon(_keep, platform, rooms, ready)
        async with anyio.create_task_group() as inner:
            rooms.sessions.start(inner, rooms.asks)
            await recover(house, rooms.sessions, rooms.asks)
            inner.start_soon(rooms.asks.run)
            inner.start_soon(rooms.sessions.show_typing)
            inner.start_soon(rooms.intake.run)
            await stop.wait()
            with anyio.move_on_after(_STOP_SECONDS - _DRAIN_SECONDS):
                await rooms.sessions.shutdown()
            inner.cancel_scope.cancel()
        await house.journal.flush()
        if not await house.delivery.drain(_DRAIN_SECONDS):
            log.info("some messages wait in the outbox for the next start")
        outer.cancel_scope.cancel()


async def _keep(platform: ChatPlatform, rooms: Rooms, ready: Callable[[ChatPlatform], None]) -> None:
    """A platform that fails is started again; one that never came up ends the start with its error."""
    was_ready = False
    failures = 0

    def came_up() -> None:
        nonlocal was_ready, failures
        was_ready, failures = True, 0
        ready(platform)
        if platform.capabilities.history:
            tasks.start_soon(_catch_up, platform, rooms)

    async with anyio.create_task_group() as tasks:
        while True:
            try:
                await platform.run(rooms.intake, came_up)
                log.error("a platform stopped by itself", platform=platform.name)
            except BeambotError:
                if not was_ready:
                    raise
                log.error("a platform stopped", platform=platform.name, exc_info=True)
            except Exception as error:
                log.error("a platform broke", platform=platform.name, exc_info=error)
            pause = _RECONNECT[min(failures, len(_RECONNECT) - 1)]
            failures += 1
            await rooms.house.clock.sleep(pause)


async def _catch_up(platform: ChatPlatform, rooms: Rooms) -> None:
    """What was said in the threads we know while beambot was away."""
    for row in await rooms.house.store.threads.all():
        if row.ref.platform != platform.name or not row.session or row.parked:
            continue
        try:
            # A little earlier than the last that came: what was seen before is recognised.
            since = await rooms.house.store.inbox.last_at(row.ref) - _OVERLAP_SECONDS
            for inbound in await platform.history(row.ref, since):
                await rooms.intake.put(inbound)
        except Exception as error:
            log.warning("history could not be read", thread=row.ref.key, why=str(error))


async def run(config: Config, registry: Registry, *, announce: Callable[[str], None]) -> None:
    """`beambot up`: until a signal. Raises a `BeambotError` that says what to do."""
    for name in config.secret_variables:
        # Read already; whatever is started from here on, an agent first of all, does not inherit them.
        os.environ.pop(name, None)
    clock, ids = SystemClock(), RandomIds()
    lock = StoreLock(config.store.path, now=clock.now())
    lock.take()
    try:
        if lock.stale is not None:
            log.info("an earlier run ended without letting go", pid=lock.stale.pid)
        async with await Store.open(config.store.path, clock) as store:
            await store.members.sync(
                [MemberRow(member.name, member.role, member.identities) for member in config.members]
            )
            await store.projects.sync([(project.name, project.path) for project in config.projects])
            rooms = _furnish(config, registry, store, clock, ids)
            await _until_signal(config, rooms, announce)
    finally:
        remove_state(config.store.path)
        lock.release()


def _furnish(config: Config, registry: Registry, store: Store, clock: Clock, ids: IdSource) -> Rooms:
    commands = tuple(CommandInfo(c.name, c.help, c.args) for c in TABLE.listed())

    def context(kind: str, name: str) -> PluginContext:
        home = config.home / kind / name
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        return PluginContext(home=home, clock=clock, ids=ids, commands=commands)

    adapters: dict[str, BackendAdapter] = {}
    for entry in config.adapters.values():
        spec, _ = registry.resolve_adapter(entry.type)
        if spec.create is None:
            raise PluginError(f"the adapter {entry.type!r} cannot be created")
        adapters[entry.name] = spec.create(entry.name, entry.settings, context("adapters", entry.name))
    platforms: dict[str, ChatPlatform] = {
        entry.name: registry.platform(entry.name).create(entry.settings, context("platforms", entry.name))
        for entry in config.platforms.values()
        if entry.enabled
    }
    return build(
        store,
        clock=clock,
        ids=ids,
        adapters=adapters,
        platforms=platforms,
        projects=config.projects,
        files=config.home / "files",
        rendering=config.rendering,
        asks=config.asks,
        limits=config.limits,
    )


async def _until_signal(config: Config, rooms: Rooms, announce: Callable[[str], None]) -> None:
    stop = anyio.Event()
    names = tuple(rooms.house.platforms)
    state = RunState(pid=os.getpid(), started_at=rooms.house.clock.now(), platforms=names, version=__version__)
    write_state(config.store.path, state)
    async with anyio.create_task_group() as tasks:

        def ready(platform: ChatPlatform) -> None:
            tasks.start_soon(alone, _invite, platform, announce)

        async def watch() -> None:
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                async for _ in signals:
                    if stop.is_set():
                        announce("stopping now")
                        os._exit(1)
                    announce("stopping: agents are ended, the last words are sent (again to stop at once)")
                    stop.set()

        tasks.start_soon(watch)
        try:
            await serve(rooms, stop, ready=ready)
        finally:
            tasks.cancel_scope.cancel()
            with anyio.move_on_after(1, shield=True):
                async with anyio.create_task_group() as closing:
                    for platform in rooms.house.platforms.values():
                        closing.start_soon(alone, platform.close)


async def _invite(platform: ChatPlatform, announce: Callable[[str], None]) -> None:
    link = await platform.invitation()
    announce(f"{platform.name} is ready" + (f": {link}" if link else ""))
