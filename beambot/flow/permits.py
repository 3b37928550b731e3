"""Before a person is asked: what is wanted, how risky it is, who may answer, and whether a rule has settled it."""

from __future__ import annotations

import os

import anyio
import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from beambot.flow.house import House
from beambot.model.bodies import LoginRequest, PermissionRequest, Question
from beambot.model.encoding import encode
from beambot.model.message import Ask
from beambot.model.settings import OWNERS, AskPolicy
from beambot.state.permission import rules
from beambot.state.permission.calls import Call, call_of
from beambot.state.permission.risk import Risk, risks
from beambot.state.permission.rules import Lasting, Offer, Rule
from beambot.store.records import RuleRow, SessionRow, content_digest

_rule_fields = tuple(Rule.__struct_fields__)


class Wanted(Struct, frozen=True):
    """What an ask is about, as beambot sees it."""

    digest: str
    policy: AskPolicy
    call: Call | None = None
    risks: tuple[Risk, ...] = ()
    rule: Rule | None = None

    @property
    def grave(self) -> bool:
        """Whether it could do lasting harm."""
        return any(risk.grave for risk in self.risks)


class Permits:
    """Rules are beambot's own: "always" means the same with every agent."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def look_at(self, session: SessionRow, turn: str, body: Ask) -> Wanted:
        """Read the disk and the rules as they are now."""
        normal, dangerous = self._policies(session.project)
        if not isinstance(body, PermissionRequest):
            policy = AskPolicy(who=(OWNERS,)) if isinstance(body, LoginRequest) else normal
            if isinstance(body, Question):
                policy = replace(policy, people=1)
            # The same again has another id.
            return Wanted(content_digest(encode(replace(body, ask=""))), policy)
        call = await anyio.to_thread.run_sync(call_of, body, session.folder, os.path.realpath)
        warnings = risks(call)
        grave = any(risk.grave for risk in warnings)
        rule = await self._rule(session, turn, call)
        return Wanted(call.digest, dangerous if grave else normal, call, warnings, rule)

    def _policies(self, name: str) -> tuple[AskPolicy, AskPolicy]:
        """Who may answer in this project: as it says itself, else as everywhere."""
        project, everywhere = self._house.projects.get(name), self._house.asks
        if project is None:
            return everywhere.normal, everywhere.dangerous
        return project.normal or everywhere.normal, project.dangerous or everywhere.dangerous

    async def _rule(self, session: SessionRow, turn: str, call: Call) -> Rule | None:
        now = self._house.clock.now()
        known = [rule_of(row) for row in await self._house.store.rules.live(session.project, session.id, now)]
        return rules.decide(known, call, project=session.project, session=session.id, turn=turn, now=now)

    async def make(
        self, session: SessionRow, turn: str, offer: Offer, lasting: Lasting, allow: bool, by: str
    ) -> Rule:
        """From now on. Raises `ValueError` for what was not offered."""
        rule = rules.make(
            offer,
            lasting,
            allow,
            id=self._house.ids.new(8),
            project=session.project,
            session=session.id,
            turn=turn,
            by=by,
            now=self._house.clock.now(),
        )
        await self._house.store.rules.add(RuleRow(**asdict(rule)))
        detail = {
            "rule": rule.id,
            "allow": allow,
            "what": rule.words,
            "lasting": lasting,
            "project": session.project,
        }
        await self._house.store.audit.add("rule_made", by, detail)
        return rule


def rule_of(row: RuleRow) -> Rule:
    """A stored rule as the rules read it."""
    return Rule(**{name: getattr(row, name) for name in _rule_fields})


def risks_of(text: str) -> tuple[Risk, ...]:
    """The warnings that were noted with an ask."""
    return msgspec.json.decode(text, type=tuple[Risk, ...]) if text else ()
