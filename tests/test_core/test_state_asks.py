"""The life of an ask: whatever happens in whatever order, it ends once, and never with a yes that nobody gave."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from beambot.model.settings import ROLES, AskPolicy, Role, may
from beambot.state.asks import Expired, Gone, Said, Standing, Verdict, Voter, Withdrawn, in_words, refusal, step

PEOPLE = ("ana", "ben", "cleo", "dan")
POLICIES = st.builds(
    AskPolicy,
    who=st.lists(st.sampled_from(["approvers", "prompter", *PEOPLE]), min_size=1, max_size=3, unique=True).map(
        tuple
    ),
    people=st.integers(1, 3),
)


class Life(RuleBasedStateMachine):
    """Presses, timeouts, withdrawals, restarts and changes of roles, in any order."""

    @initialize(policy=POLICIES, prompter=st.sampled_from(PEOPLE))
    def begin(self, policy: AskPolicy, prompter: str) -> None:
        self.ask = Standing(policy, prompter)
        self.roles: dict[str, Role] = dict.fromkeys(PEOPLE, "approver")
        self.members = set(PEOPLE)
        self.ends: list[Standing] = []
        self.allowed_by: set[str] = set()

    def meet(self, event: Said | Expired | Withdrawn | Gone) -> str:
        before = self.ask
        self.ask, effect = step(before, event)
        if before.state != "open":
            assert self.ask == before
            assert effect in ("late", "nothing", "refused")
        elif self.ask.state != "open":
            self.ends.append(self.ask)
            assert effect == "settled"
        return effect

    @rule(who=st.sampled_from(PEOPLE), verdict=st.sampled_from(["allow", "deny", "answer"]))
    def press(self, who: str, verdict: Verdict) -> None:
        voter = Voter(who, self.roles[who], who in self.members)
        refused = refusal(self.ask.policy, self.ask.prompter, voter)
        was_open = self.ask.state == "open"
        effect = self.meet(Said(voter, verdict))
        assert (effect == "refused") == bool(refused)
        if was_open and not refused:
            if verdict == "allow":
                self.allowed_by.add(who)
            else:
                assert self.ask.state == "answered"

    @rule(who=st.sampled_from(PEOPLE), role=st.sampled_from(ROLES))
    def change_role(self, who: str, role: Role) -> None:
        self.roles[who] = role

    @rule(who=st.sampled_from(PEOPLE))
    def leave_project(self, who: str) -> None:
        self.members.discard(who)

    @rule()
    def time_out(self) -> None:
        self.meet(Expired())
        assert self.ask.outcome != "allowed" or self.allowed_by

    @rule()
    def withdraw(self) -> None:
        self.meet(Withdrawn())

    @rule()
    def restart(self) -> None:
        self.meet(Gone())

    @invariant()
    def ends_once_and_never_with_a_yes_that_was_not_given(self) -> None:
        assert len(self.ends) <= 1
        if self.ask.outcome == "allowed":
            assert len(self.allowed_by) >= self.ask.policy.people
            assert set(self.ask.yes) <= self.allowed_by or self.ask.policy.people == 1


Life.TestCase.settings = settings(max_examples=150, stateful_step_count=25, deadline=None)
TestLife = Life.TestCase


@pytest.mark.parametrize("role", ROLES)
def test_answering_takes_an_approver(role: Role) -> None:
    assert bool(refusal(AskPolicy(), "ana", Voter("ben", role))) == (not may(role, "approver"))


def test_nobody_answers_for_a_project_they_are_not_a_member_of() -> None:
    assert "not a member" in refusal(AskPolicy(), "ana", Voter("ana", "owner", is_member=False))


@pytest.mark.parametrize(
    ("who", "name", "may_answer"),
    [
        (("prompter",), "ana", True),
        (("prompter",), "ben", False),
        (("ben",), "ben", True),
        (("ben",), "ana", False),
        (("ben", "prompter"), "ana", True),
        (("approvers",), "cleo", True),
    ],
)
def test_a_policy_names_who_may(who: tuple[str, ...], name: str, may_answer: bool) -> None:
    assert (refusal(AskPolicy(who=who), "ana", Voter(name, "approver")) == "") is may_answer


def test_one_person_is_not_two() -> None:
    ask = Standing(AskPolicy(people=2))
    ana = Said(Voter("ana", "approver"), "allow")
    ask, effect = step(ask, ana)
    assert effect == "noted"
    ask, effect = step(ask, ana)
    assert (effect, ask.state) == ("noted", "open")
    ask, effect = step(ask, Said(Voter("ben", "owner"), "allow"))
    assert (effect, ask.outcome, ask.by) == ("settled", "allowed", "ana and ben")


def test_who_may_answer_is_said_in_words() -> None:
    assert in_words(AskPolicy(), "ana") == "any approver"
    assert in_words(AskPolicy(who=("prompter", "ben")), "ana") == "ana or ben"
    assert in_words(AskPolicy(people=2), "ana") == "2 different people of: any approver"
