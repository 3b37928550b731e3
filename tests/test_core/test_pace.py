"""When a chat may be called: never more than it allows in any window, and always room for what people wait for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from beambot.model.capabilities import Budget
from beambot.render.pace import (
    Bucket,
    Priority,
    Wish,
    bucket,
    first,
    freeze,
    in_line,
    interval,
    ready_at,
    spend,
    unlimited,
)

priorities = st.sampled_from(list(Priority))
budgets = st.builds(
    Budget, scope=st.just("chat"), calls=st.integers(1, 60), seconds=st.floats(0.5, 120, allow_nan=False)
)
URGENT = [Priority.ANSWER, Priority.ASK, Priority.FINAL]
PATIENT = [Priority.NOTICE, Priority.STREAM, Priority.RECEIPT, Priority.TIDY, Priority.DIGEST]
GROUP = Budget(scope="chat", calls=20, seconds=60.0)


def greedy(state: Bucket, priority: Priority, count: int, now: float = 0.0) -> tuple[Bucket, list[float]]:
    """So many calls, each the moment it may go out."""
    times = []
    for _ in range(count):
        now = ready_at(state, priority, now)
        state = spend(state, now)
        times.append(now)
    return state, times


def keeps(budget: Budget, times: Sequence[float]) -> bool:
    """Whether no window ever holds too much. A hair's breadth is the arithmetic of floats, not a call too many."""
    return all(
        times[number + budget.calls] >= begin + budget.seconds * (1 - 1e-9) - 1e-6
        for number, begin in enumerate(times[: -budget.calls])
    )


# ── one window ───────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=200, deadline=None)
@given(
    budget=budgets,
    start=st.floats(0, 1e6),
    order=st.lists(st.tuples(priorities, st.booleans(), st.integers(1, 4)), min_size=1, max_size=6),
    pauses=st.dictionaries(st.integers(0, 60), st.floats(0, 200), max_size=4),
)
def test_no_window_holds_more_calls_than_the_chat_allows(
    budget: Budget, start: float, order: list[tuple[Priority, bool, int]], pauses: dict[int, float]
) -> None:
    state, now, times = bucket(budget), start, []
    # Greedy for several windows: each call goes out the moment it may, but for a few pauses that save up a burst.
    for number in range(3 * budget.calls + 5):
        priority, spare, sharing = order[number % len(order)]
        now += pauses.get(number, 0.0)
        now = ready_at(state, priority, now, spare=spare)
        state = spend(state, now, sharing)
        times.append(now)
    assert keeps(budget, times)


@settings(deadline=None)
@given(budget=budgets, priority=priorities)
def test_the_first_words_go_out_at_once(budget: Budget, priority: Priority) -> None:
    assert ready_at(bucket(budget), priority, 5.0) == 5.0


@settings(deadline=None)
@given(budget=budgets, priority=priorities, moments=st.lists(st.floats(0, 50), min_size=1, max_size=20))
def test_a_ready_moment_is_never_in_the_past_and_keeps_its_word(
    budget: Budget, priority: Priority, moments: list[float]
) -> None:
    state, at = bucket(budget), 0.0
    for moment in sorted(moments):
        now = max(moment, at)
        at = ready_at(state, priority, now)
        assert at >= now
        assert ready_at(state, priority, at) == pytest.approx(at)
        state = spend(state, at)


@pytest.mark.parametrize("urgent", URGENT)
@pytest.mark.parametrize("patient", PATIENT)
def test_a_greedy_stream_leaves_room_for_what_a_person_waits_for(urgent: Priority, patient: Priority) -> None:
    state, now = bucket(GROUP), 0.0
    for _ in range(100):
        now = ready_at(state, patient, now)
        state = spend(state, now)
        assert ready_at(state, urgent, now) == pytest.approx(now)
    assert ready_at(state, patient, now) > now


@settings(deadline=None)
@given(
    budget=budgets,
    spent=st.lists(st.tuples(st.floats(0, 10), priorities), max_size=40),
    refused=st.booleans(),
    urgent=st.sampled_from(URGENT),
    patient=st.sampled_from(PATIENT),
    later=st.floats(0, 100),
)
def test_what_is_urgent_never_waits_longer_than_what_is_patient(
    budget: Budget,
    spent: list[tuple[float, Priority]],
    refused: bool,
    urgent: Priority,
    patient: Priority,
    later: float,
) -> None:
    state, now = bucket(budget), 0.0
    for pause, priority in spent:
        now = ready_at(state, priority, now + pause)
        state = spend(state, now)
    if refused:
        state = freeze(state, now + 7.0, now)
    at = now + later
    assert ready_at(state, urgent, at) <= ready_at(state, patient, at, spare=True)
    assert ready_at(state, patient, at, spare=True) <= ready_at(state, patient, at)


def test_a_stream_goes_on_at_the_pace_the_chat_allows() -> None:
    _, times = greedy(bucket(GROUP), Priority.STREAM, 185)
    assert times[-1] < 600
    assert all(2.9 < after - before < 3.3 for before, after in pairwise(times))


def test_after_a_burst_a_stream_goes_on_without_a_long_silence() -> None:
    state, _ = greedy(bucket(GROUP), Priority.ANSWER, 8)
    _, times = greedy(state, Priority.STREAM, 30)
    gaps = [after - before for before, after in pairwise(times)]
    assert max(gaps) < 1.8 * 60 / 19
    assert keeps(GROUP, [0.0] * 8 + times)


def test_a_spare_call_does_not_spoil_the_pace_of_those_after_it() -> None:
    state, now = bucket(GROUP), 0.0
    for _ in range(200):
        now = ready_at(state, Priority.STREAM, now, spare=True)
        state = spend(state, now)
        assert interval(state, now) <= 1.1 * state.even + 1e-6
    full, times = greedy(bucket(GROUP), Priority.STREAM, 60)
    assert ready_at(full, Priority.STREAM, times[-1], spare=True) > times[-1] + 2


def test_the_more_share_a_window_the_less_of_it_goes_out_before_its_time() -> None:
    def early(sharing: int) -> float:
        state = spend(bucket(GROUP), 0.0, sharing)
        return ready_at(state, Priority.STREAM, 0.0, spare=True)

    assert early(1) < early(2) < early(5) < 60 / 19


# ── after a refusal ──────────────────────────────────────────────────────────────────────────────────


@settings(deadline=None)
@given(
    budget=budgets,
    priority=priorities,
    spent=st.integers(0, 5),
    until=st.floats(0, 500),
    looks=st.lists(st.floats(0, 600), max_size=5),
)
def test_a_freeze_is_obeyed_to_the_second(
    budget: Budget, priority: Priority, spent: int, until: float, looks: list[float]
) -> None:
    state = bucket(budget)
    for number in range(spent):
        state = spend(state, -1.0 - 1e-3 * (spent - number))
    state = freeze(state, until, 0.0)
    for now in looks:
        assert ready_at(state, priority, now) >= until
        assert ready_at(state, priority, now, spare=True) >= until
    for urgent in URGENT:
        assert ready_at(state, urgent, 0.0) == until


def test_after_a_freeze_there_is_one_call_and_no_burst() -> None:
    state = freeze(bucket(GROUP), 30.0, 0.0)
    state = spend(state, 30.0)
    assert ready_at(state, Priority.ANSWER, 30.0) > 32.0


def test_the_longer_of_two_freezes_counts() -> None:
    state = freeze(freeze(bucket(Budget(scope="chat", calls=5, seconds=1.0)), 90.0, 0.0), 10.0, 1.0)
    assert ready_at(state, Priority.ANSWER, 11.0) == 90.0


def test_a_refusal_doubles_the_interval_which_narrows_again_step_by_step() -> None:
    state = bucket(GROUP)
    even = state.even
    state = freeze(state, 10.0, 0.0)
    assert interval(state, 11.0) == pytest.approx(2 * even)
    state = freeze(state, 30.0, 20.0)
    assert interval(state, 31.0) == pytest.approx(10.0)
    assert interval(state, 89.0) == pytest.approx(10.0)
    assert interval(state, 91.0) == pytest.approx(5.0)
    assert interval(state, 151.0) == pytest.approx(even)


def test_the_doubled_interval_is_kept_by_what_can_wait() -> None:
    state = freeze(bucket(Budget(scope="chat", calls=3, seconds=3.0)), 10.0, 0.0)
    _, times = greedy(state, Priority.STREAM, 10)
    assert times[0] == 10.0
    assert all(after - before == pytest.approx(2.02) for before, after in pairwise(times))


def test_calls_that_were_refused_together_double_the_interval_once() -> None:
    state = bucket(GROUP)
    for _ in range(3):
        state = freeze(state, 10.0, 5.0)
    assert interval(state, 11.0) == pytest.approx(2 * state.even)


@settings(deadline=None)
@given(
    budget=budgets,
    refusals=st.lists(st.tuples(st.integers(0, 20), st.floats(0.1, 50)), max_size=5),
    order=st.lists(priorities, min_size=1, max_size=5),
)
def test_between_two_refusals_no_window_holds_more_than_is_allowed_and_no_call_comes_too_early(
    budget: Budget, refusals: list[tuple[int, float]], order: list[Priority]
) -> None:
    state, now = bucket(budget), 0.0
    for count, seconds in [*refusals, (budget.calls + 5, 0.1)]:
        times = []
        for number in range(count):
            now = ready_at(state, order[number % len(order)], now)
            state = spend(state, now)
            times.append(now)
        assert keeps(budget, times)
        state = freeze(state, now + seconds, now)
        assert all(ready_at(state, priority, now) >= now + seconds for priority in Priority)


# ── who goes first ───────────────────────────────────────────────────────────────────────────────────


@settings(deadline=None)
@given(
    wishes=st.lists(
        st.builds(Wish, at=st.floats(0, 20), priority=priorities, since=st.floats(-20, 10)), min_size=1, max_size=12
    )
)
def test_of_those_that_are_ready_the_most_urgent_goes_first_then_who_waits_longest(wishes: list[Wish]) -> None:
    now = 10.0
    chosen = first(wishes, now)
    assert chosen is not None
    ready = [wish for wish in wishes if wish.at <= now]
    if not ready:
        assert chosen.at == min(wish.at for wish in wishes)
        return
    assert chosen in ready
    urgent = [wish.priority for wish in ready if wish.priority in URGENT]
    assert not urgent or chosen.priority == min(urgent)
    alike = [wish.since for wish in ready if wish.priority == chosen.priority]
    assert chosen.since == min(alike)


def test_a_stream_goes_before_a_digest_but_nothing_waits_for_ever() -> None:
    stream, digest = Wish(0.0, Priority.STREAM, 100.0), Wish(0.0, Priority.DIGEST, 90.0)
    assert first([digest, stream], 101.0) is stream
    assert first([digest, stream], 121.0) is digest


@settings(max_examples=60, deadline=None)
@given(budget=budgets, sessions=st.integers(2, 6), pace=st.floats(0.01, 0.3))
def test_of_equal_sessions_none_gets_more_than_one_call_ahead(budget: Budget, sessions: int, pace: float) -> None:
    state, now = bucket(budget), 0.0
    since = [0.0] * sessions
    served: list[int] = []
    for _ in range(8 * sessions):
        at = ready_at(state, Priority.STREAM, now)
        wishes = [Wish(max(at, heard), Priority.STREAM, heard, number) for number, heard in enumerate(since)]
        chosen = first(wishes, now)
        assert chosen is not None
        now = max(now, chosen.at)
        state = spend(state, now, sessions)
        served.append(chosen.order)
        since[chosen.order] = now + pace
    for begin in range(len(served)):
        for end in range(begin + 1, len(served) + 1):
            counts = [served[begin:end].count(number) for number in range(sessions)]
            assert max(counts) - min(counts) <= 1


def test_who_shares_a_window_with_better_wishes_comes_after_them() -> None:
    state = spend(bucket(GROUP), 0.0)
    mine = Wish(0.0, Priority.STREAM, 5.0)
    older, newer = Wish(0.0, Priority.STREAM, 1.0), Wish(0.0, Priority.STREAM, 6.0)
    asks, busy = Wish(0.0, Priority.ASK, 9.0), Wish(90.0, Priority.STREAM, 1.0)
    alone = in_line(state, mine, [newer, busy], 10.0)
    assert alone == 10.0
    assert in_line(state, mine, [older, asks, newer], 10.0) == pytest.approx(10.0 + 2 * state.even)
    assert in_line(state, asks, [older, newer], 10.0) == 10.0


@given(
    budget=budgets,
    open_=st.booleans(),
    still=st.floats(0, 30),
    spent=st.lists(st.tuples(st.floats(0, 10), priorities), max_size=20),
    urgent=st.sampled_from(URGENT),
    patient=st.sampled_from(PATIENT),
    later=st.floats(0, 60),
)
def test_after_a_restart_into_a_freeze_what_is_patient_is_never_before_what_is_urgent(
    budget: Budget,
    open_: bool,
    still: float,
    spent: list[tuple[float, Priority]],
    urgent: Priority,
    patient: Priority,
    later: float,
) -> None:
    fresh = unlimited(3.0) if open_ else bucket(budget)
    state, now = replace(fresh, frozen_until=still), 0.0
    for pause, priority in spent:
        now = ready_at(state, priority, now + pause)
        state = spend(state, now)
    at = now + later
    assert ready_at(state, urgent, at) <= ready_at(state, patient, at, spare=True)
    assert ready_at(state, patient, at, spare=True) <= ready_at(state, patient, at)
