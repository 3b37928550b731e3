"""When a chat may be called: never more than it allows in any window, and always room for what people wait for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beambot.model.capabilities import Budget
from beambot.render.pace import Priority, bucket, freeze, ready_at, spend

priorities = st.sampled_from(list(Priority))
budgets = st.builds(
    Budget, scope=st.just("chat"), calls=st.integers(1, 60), seconds=st.floats(0.5, 120, allow_nan=False)
)
URGENT = [Priority.ANSWER, Priority.ASK, Priority.FINAL]
PATIENT = [Priority.NOTICE, Priority.STREAM, Priority.RECEIPT, Priority.TIDY]


@settings(max_examples=200, deadline=None)
@given(
    budget=budgets,
    start=st.floats(0, 1e6),
    order=st.lists(priorities, min_size=1, max_size=6),
    pauses=st.dictionaries(st.integers(0, 60), st.floats(0, 200), max_size=4),
)
def test_no_window_holds_more_calls_than_the_chat_allows(
    budget: Budget, start: float, order: list[Priority], pauses: dict[int, float]
) -> None:
    state, now, times = bucket(budget, start), start, []
    # Greedy for several windows: each call goes out the moment it may, but for a few pauses that save up a burst.
    for number in range(3 * budget.calls + 5):
        now += pauses.get(number, 0.0)
        now = ready_at(state, order[number % len(order)], now)
        state = spend(state, now)
        times.append(now)
    for first, begin in enumerate(times[: -budget.calls]):
        # A call that comes a hair before the window ends is the arithmetic of floats, not a call too many.
        assert times[first + budget.calls] >= begin + budget.seconds * (1 - 1e-9) - 1e-6


@settings(deadline=None)
@given(budget=budgets, priority=priorities)
def test_the_first_words_go_out_at_once(budget: Budget, priority: Priority) -> None:
    assert ready_at(bucket(budget, 5.0), priority, 5.0) == 5.0


@settings(deadline=None)
@given(budget=budgets, priority=priorities, moments=st.lists(st.floats(0, 50), min_size=1, max_size=20))
def test_a_ready_moment_is_never_in_the_past_and_keeps_its_word(
    budget: Budget, priority: Priority, moments: list[float]
) -> None:
    state, at = bucket(budget, 0.0), 0.0
    for moment in sorted(moments):
        now = max(moment, at)
        at = ready_at(state, priority, now)
        assert at >= now
        assert ready_at(state, priority, at) == pytest.approx(at)
        state = spend(state, at)


@pytest.mark.parametrize("urgent", URGENT)
@pytest.mark.parametrize("patient", PATIENT)
def test_a_greedy_stream_leaves_room_for_what_a_person_waits_for(urgent: Priority, patient: Priority) -> None:
    state, now = bucket(Budget(scope="chat", calls=20, seconds=60.0), 0.0), 0.0
    for _ in range(100):
        now = ready_at(state, patient, now)
        state = spend(state, now)
        assert ready_at(state, urgent, now) == pytest.approx(now)
    assert ready_at(state, patient, now) > now


def test_a_stream_goes_on_at_the_pace_the_chat_allows() -> None:
    state, now, count = bucket(Budget(scope="chat", calls=20, seconds=60.0), 0.0), 0.0, 0
    while (now := ready_at(state, Priority.STREAM, now)) < 600:
        state = spend(state, now)
        count += 1
    assert 185 <= count <= 200


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
    state = bucket(budget, 0.0)
    for _ in range(spent):
        state = spend(state, 0.0)
    state = freeze(state, until)
    for now in looks:
        assert ready_at(state, priority, now) >= until
    for urgent in URGENT:
        assert ready_at(state, urgent, 0.0) == until


def test_after_a_freeze_there_is_one_call_and_no_burst() -> None:
    state = freeze(bucket(Budget(scope="chat", calls=20, seconds=60.0), 0.0), 30.0)
    state = spend(state, 30.0)
    assert ready_at(state, Priority.ANSWER, 30.0) > 32.0


def test_the_longer_of_two_freezes_counts() -> None:
    state = freeze(freeze(bucket(Budget(scope="chat", calls=5, seconds=1.0), 0.0), 90.0), 10.0)
    assert ready_at(state, Priority.ANSWER, 11.0) == 90.0
