"""Several sessions in one budget, budgets of each scope and kind, and what a refusal holds still."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from beambot.errors import RetryAfter, Unreachable
from beambot.flow.delivery.lane import Lane
from beambot.flow.delivery.meters import Meters, Target
from beambot.model.bodies import Result, TextDelta, ToolEnded, ToolStarted
from beambot.model.capabilities import Budget, CallKind, Scope
from beambot.model.ids import ThreadRef
from beambot.model.outbound import Markdown
from beambot.render.pace import Priority
from beambot.testing.clock import FakeClock
from beambot.testing.platform import FULL, FakePlatform
from beambot.testing.scripted import Emit, Hang, Pause, Step
from beambot.testing.world import World
from platforms.discord import limits as discord
from platforms.slack import limits as slack
from platforms.telegram import limits as telegram

HERE = ThreadRef("fake", "c1", "t1")
BESIDE = ThreadRef("fake", "c1", "t2")
ELSEWHERE = ThreadRef("fake", "c2")


def a_chat(clock: FakeClock, *budgets: Budget, limit: bool = True, interval: float = 0.1) -> FakePlatform:
    capabilities = replace(FULL, budgets=budgets, min_interval=interval, reactions=False)
    return FakePlatform(clock, capabilities=capabilities, limit=budgets if limit else ())


def meters(*budgets: Budget) -> Meters:
    return Meters(a_chat(FakeClock(), *budgets))


def budget(scope: Scope, calls: int = 1, seconds: float = 10.0, *kinds: CallKind) -> Budget:
    return Budget(scope=scope, calls=calls, seconds=seconds, kinds=kinds)


def edit(thread: ThreadRef = HERE, message: str = "m1") -> Target:
    return Target(thread, "edit", message)


def post(thread: ThreadRef = HERE) -> Target:
    return Target(thread, "post")


def waits(state: Meters, target: Target, now: float = 0.0) -> bool:
    return state.ready_at(target, Priority.ANSWER, now) > now


# ── scopes and kinds ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("scope", "same", "other"),
    [
        ("message", [edit()], [edit(message="m2"), edit(BESIDE, "m3")]),
        ("thread", [edit(), post()], [post(BESIDE), edit(ELSEWHERE)]),
        ("chat", [edit(), post(), post(BESIDE)], [post(ELSEWHERE)]),
        ("platform", [edit(), post(BESIDE), post(ELSEWHERE)], []),
    ],
)
def test_a_budget_counts_in_its_scope_alone(scope: Scope, same: list[Target], other: list[Target]) -> None:
    state = meters(budget(scope))
    state.spend(edit(), 0.0)
    assert all(waits(state, target) for target in same)
    assert not any(waits(state, target) for target in other)


def test_a_budget_counts_the_kinds_of_call_it_names() -> None:
    state = meters(budget("platform", 1, 10.0, "edit"), budget("chat", 1, 1.0, "post"))
    state.spend(edit(), 0.0)
    assert waits(state, edit(ELSEWHERE))
    assert not waits(state, post())
    state.spend(post(), 0.0)
    assert waits(state, post(BESIDE))
    assert not waits(state, post(ELSEWHERE))


def test_a_new_message_counts_as_the_first_call_to_itself() -> None:
    state = meters(budget("message", 2, 10.0))
    state.spend(post(), 0.0)
    state.count_post(post(), "m9", 0.0)
    assert not waits(state, edit(message="m9"))
    state.spend(edit(message="m9"), 0.0)
    assert waits(state, edit(message="m9"))
    assert not waits(state, edit(message="m8"))


async def test_a_chat_that_counts_each_message_earns_no_refusal(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = a_chat(clock, budget("message", 3, 20.0, "edit"))
    async with World(tmp_path, stream(200), clock=clock, platforms=[chat]) as world:
        await chat.says("go")
        await world.until(lambda: whole(chat, 200), seconds=20)
        assert chat.refusals == 0
        times = [call.at for call in chat.calls if call.what == "edit"]
        assert all(later - earlier >= 20 for earlier, later in zip(times, times[3:], strict=False))


@settings(max_examples=60, deadline=None)
@given(
    limits=st.lists(
        st.builds(
            Budget,
            scope=st.sampled_from(["message", "thread", "chat", "platform"]),
            calls=st.integers(1, 12),
            seconds=st.floats(0.5, 30),
            kinds=st.sampled_from([(), ("edit",), ("post",), ("post", "edit")]),
        ),
        max_size=4,
    ),
    wishes=st.lists(
        st.tuples(
            st.sampled_from([edit(), post(), edit(BESIDE, "m2"), edit(ELSEWHERE, "m3"), post(ELSEWHERE)]),
            st.sampled_from(list(Priority)),
            st.booleans(),
        ),
        min_size=1,
        max_size=80,
    ),
)
def test_whatever_is_wished_no_budget_is_overspent(
    limits: list[Budget], wishes: list[tuple[Target, Priority, bool]]
) -> None:
    state, now = meters(*limits), 0.0
    made: list[tuple[Target, float]] = []
    for target, priority, spare in wishes:
        now = state.ready_at(target, priority, now, spare=spare)
        state.spend(target, now)
        made.append((target, now))
    places: dict[Scope, Callable[[Target], object]] = {
        "message": lambda target: (target.thread, target.message),
        "thread": lambda target: target.thread,
        "chat": lambda target: target.thread.chat,
        "platform": lambda target: "",
    }
    for limit in limits:
        counted = [
            (places[limit.scope](target), at)
            for target, at in made
            if limit.counts(target.kind) and (limit.scope != "message" or target.message)
        ]
        for place in {place for place, _ in counted}:
            times = [at for where, at in counted if where == place]
            for earlier, later in zip(times, times[limit.calls :], strict=False):
                assert later >= earlier + limit.seconds - 1e-6


# ── what a platform publishes ────────────────────────────────────────────────────────────────────────


def test_a_private_chat_and_a_group_are_told_apart_by_the_id() -> None:
    assert telegram.budgets(ThreadRef("telegram", "1234")) == telegram.PRIVATE
    assert telegram.budgets(ThreadRef("telegram", "-1001234", "7")) == telegram.GROUP


@pytest.mark.parametrize("limits", [telegram, discord, slack])
def test_published_limits_are_data_that_fit_together(limits: object) -> None:
    capabilities = limits.CAPABILITIES  # type: ignore[attr-defined]
    thread = ThreadRef("any", "-1", "2")
    assert limits.budgets(thread) == capabilities.budgets  # type: ignore[attr-defined]
    assert capabilities.text_limit > 1000
    assert 0 < capabilities.min_interval <= 1
    assert any(limit.counts("edit") for limit in capabilities.budgets)


def test_each_of_the_three_counts_elsewhere() -> None:
    def slowed(budgets: Sequence[Budget], kind: CallKind) -> tuple[bool, bool]:
        state = meters(*budgets)
        for _ in range(20):
            state.spend(Target(HERE, kind, "m1"), 0.0)
        return waits(state, Target(BESIDE, kind, "m2"), 1.5), waits(state, Target(ELSEWHERE, kind, "m3"), 1.5)

    assert slowed(telegram.GROUP, "edit") == (True, False)
    assert slowed(discord.BUDGETS, "edit") == (False, False)
    assert slowed(slack.BUDGETS, "post") == (False, False)
    assert slowed([replace(limit, calls=limit.calls // 10 or 1) for limit in slack.BUDGETS], "edit") == (True, True)


# ── several sessions ─────────────────────────────────────────────────────────────────────────────────


def stream(words: int, pause: float = 0.1) -> list[Step]:
    steps: list[Step] = []
    for number in range(words):
        steps += [Emit(TextDelta(f"w{number} ")), Pause(pause)]
    return [*steps, Emit(Result())]


def whole(chat: FakePlatform, words: int, thread: ThreadRef | None = None) -> bool:
    pages = [page for _, page in chat.messages(thread) if page.key.startswith("turn:")]
    text = "".join(
        block.text[block.skip :] for page in pages for block in page.blocks if isinstance(block, Markdown)
    )
    return text.split() == [f"w{number}" for number in range(words)]


@pytest.mark.parametrize(
    ("scope", "threads"),
    [
        ("chat", [("c1", "t1"), ("c1", "t2"), ("c1", "t3")]),
        ("platform", [("c1", ""), ("c2", ""), ("c3", "")]),
    ],
)
async def test_sessions_that_share_a_budget_take_turns(
    tmp_path: Path, scope: Scope, threads: list[tuple[str, str]]
) -> None:
    clock = FakeClock()
    chat = a_chat(clock, budget(scope, 5, 5.0))
    async with World(tmp_path, stream(300), clock=clock, platforms=[chat]) as world:
        places = [chat.thread(*place) for place in threads]
        for place in places:
            await chat.says("go", thread=place)
        await world.until(lambda: all(whole(chat, 300, place) for place in places), seconds=30)
        assert chat.refusals == 0
        begun = max(next(call.at for call in chat.calls if call.thread == place) for place in places)
        during = [call for call in chat.calls if begun < call.at < begun + 25]
        counts = Counter(call.thread for call in during)
        assert len(counts) == 3
        assert max(counts.values()) - min(counts.values()) <= 1
        assert len(during) >= 20


async def test_the_long_end_of_one_session_does_not_starve_another(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = a_chat(clock, budget("chat", 20, 60.0))
    chat.capabilities = replace(chat.capabilities, text_limit=400)
    long_end: list[Step] = [Emit(TextDelta("long " * 1600)), Emit(Result())]
    async with World(tmp_path, stream(600), clock=clock, platforms=[chat]) as world:
        streams, ends = chat.thread("c1", "t1"), chat.thread("c1", "t2")
        await chat.says("go", thread=streams)
        await world.until(lambda: chat.shows("w0", streams))
        await world.until(lambda: clock.now() >= chat.calls[0].at + 10)
        world.agent.scripts = [long_end]
        await chat.says("go", thread=ends)
        began = clock.now()
        await world.until(lambda: clock.now() > began + 40, seconds=20)
        times = [began, *(call.at for call in chat.calls if call.thread == streams and call.at > began)]
        assert len([call for call in chat.calls if call.thread == ends]) >= 4
        assert max(after - before for before, after in pairwise(times)) < 10
        assert chat.refusals == 0


async def test_what_is_unseen_goes_out_before_a_tool_is_waited_for(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = a_chat(clock, budget("chat", 20, 60.0))
    script: list[Step] = [
        *[Emit(TextDelta("first ")), Pause(0.5), Emit(TextDelta("second ")), Pause(0.05)],
        *[Emit(ToolStarted("a", "Bash", title="make", kind="execute")), Pause(30), Emit(ToolEnded("a"))],
        Emit(Result()),
    ]
    async with World(tmp_path, script, clock=clock, platforms=[chat]) as world:
        await chat.says("go")
        await world.until(lambda: chat.shows("second"))
        assert chat.calls[1].at - chat.calls[0].at < 1.2
        assert chat.refusals == 0


async def test_a_stream_that_pauses_is_shown_without_waiting_for_its_even_time(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = a_chat(clock, budget("chat", 20, 60.0))
    script: list[Step] = [Emit(TextDelta("first ")), Pause(0.2), Emit(TextDelta("second ")), Hang()]
    async with World(tmp_path, script, clock=clock, platforms=[chat]) as world:
        await chat.says("go")
        await world.until(lambda: chat.shows("second"))
        assert 0.5 < chat.calls[1].at - chat.calls[0].at < 1.0


# ── refusals ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("budgets", "told", "still", "free"),
    [
        ([budget("thread", 5, 5.0), budget("platform", 50, 1.0)], None, [HERE], [BESIDE, ELSEWHERE]),
        ([budget("chat", 20, 60.0), budget("platform", 30, 1.0)], None, [HERE, BESIDE], [ELSEWHERE]),
        ([budget("thread", 5, 5.0), budget("platform", 50, 1.0)], "platform", [HERE, BESIDE, ELSEWHERE], []),
        ([budget("platform", 50, 60.0, "edit")], None, [HERE, BESIDE, ELSEWHERE], []),
        ([], None, [HERE, BESIDE], [ELSEWHERE]),
        ([], "thread", [HERE], [BESIDE, ELSEWHERE]),
    ],
)
def test_a_refusal_holds_still_what_was_hit_and_nothing_else(
    budgets: list[Budget], told: Scope | None, still: list[ThreadRef], free: list[ThreadRef]
) -> None:
    state = meters(*budgets)
    state.spend(edit(), 0.0)
    state.freeze(edit(), 30.0, 0.0, told)
    for thread in still:
        assert state.ready_at(edit(thread, "m7"), Priority.ANSWER, 1.0) == 30.0
    for thread in free:
        assert state.ready_at(edit(thread, "m7"), Priority.ANSWER, 1.0) == 1.0


def test_a_refused_edit_does_not_hold_still_what_is_counted_apart() -> None:
    state = meters(*slack.BUDGETS)
    state.freeze(edit(), 30.0, 0.0)
    assert waits(state, edit(ELSEWHERE, "m2"), 1.0)
    assert not waits(state, post(), 1.0)


def test_a_refused_title_holds_still_titles_alone_but_a_still_chat_gets_none() -> None:
    title, receipt = Target(HERE, "other", apart="title"), Target(HERE, "other", apart="receipt")
    state = meters(*discord.BUDGETS)
    state.freeze(title, 300.0, 0.0)
    assert waits(state, title, 1.0)
    assert not waits(state, receipt, 1.0)
    assert not waits(state, edit(), 1.0)
    state.freeze(edit(), 20.0, 1.0)
    assert waits(state, receipt, 2.0)


def test_what_was_asked_for_before_a_restart_still_holds() -> None:
    chat = a_chat(FakeClock(), budget("chat", 20, 60.0), budget("platform", 50, 60.0, "edit"))
    before = Meters(chat)
    names = before.freeze(edit(), 30.0, 0.0)
    names += before.freeze(edit(), 40.0, 0.0, "platform")
    assert names == ["fake/c1", "fake edit"]
    after = Meters(chat, {names[0]: 30.0, names[1]: 40.0})
    assert after.ready_at(edit(), Priority.ANSWER, 1.0) == 40.0
    assert after.ready_at(post(), Priority.ANSWER, 1.0) == 30.0
    assert after.ready_at(edit(ELSEWHERE, "m2"), Priority.ANSWER, 1.0) == 40.0
    assert after.ready_at(post(ELSEWHERE), Priority.ANSWER, 1.0) == 1.0


async def test_a_refused_thread_does_not_silence_its_neighbour_and_holds_over_a_restart(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = a_chat(clock, budget("thread", 5, 5.0), limit=False)
    refused, other = chat.thread("c1", "t1"), chat.thread("c1", "t2")
    hello: list[Step] = [Emit(TextDelta("hello")), Emit(Result())]
    async with World(tmp_path, hello, clock=clock, platforms=[chat]) as world:
        chat.faults = [RetryAfter(60)]
        await chat.says("go", thread=refused)
        await world.until(lambda: not chat.faults)
        at = clock.now()
        await chat.says("go", thread=other)
        await world.until(lambda: chat.shows("hello", other))
        assert clock.now() < at + 5
        await world.crash()
    async with World(tmp_path, hello, clock=clock, platforms=[chat]) as world:
        await world.until(lambda: chat.shows("hello", refused), seconds=20)
        assert next(call.at for call in chat.calls if call.thread == refused) >= at + 59.9


# ── when the chat is away ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("chance", "first", "last"), [(0.0, 0.25, 2.5), (0.5, 0.375, 3.75), (1.0, 0.5, 5.0)])
def test_pauses_after_failures_grow_to_an_end_and_differ_by_chance(
    chance: float, first: float, last: float
) -> None:
    clock = FakeClock()
    chat = FakePlatform(clock)

    async def nothing(*_: object) -> None:
        """Neither journalled nor told."""

    async def back_off() -> list[float]:
        lane = Lane(chat, "c1", None, clock, set(), Meters(chat), nothing, nothing, chance=lambda: chance)  # type: ignore[arg-type]
        pauses = []
        for _ in range(8):
            lane._back_off(Unreachable("away"))
            pauses.append(lane._not_before - clock.monotonic())
        return pauses

    pauses = anyio.run(back_off)
    assert pauses[0] == pytest.approx(first)
    assert pauses[-1] == pytest.approx(last)
    assert pauses == sorted(pauses)


async def test_a_minute_without_the_chat_is_made_up_for_within_ten_seconds(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = a_chat(clock, budget("chat", 3, 3.0), interval=1.0)
    async with World(tmp_path, stream(400), clock=clock, platforms=[chat]) as world:
        await chat.says("go")
        await world.until(lambda: chat.shows("w5"))
        chat.down = True
        began = clock.now()
        await world.until(lambda: clock.now() > began + 60, seconds=20)
        chat.down = False
        back = clock.now()
        await world.until(lambda: whole(chat, 400), seconds=20)
        assert clock.now() - back <= 10
        assert chat.refusals == 0
