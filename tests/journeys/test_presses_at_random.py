"""Ten thousand presses, honest and not, on two chats: each ask is answered once, by the right person, as shown."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import anyio
import msgspec
import pytest
from msgspec.structs import replace

from beambot.model.bodies import (
    AskOption,
    Diff,
    LoginRequest,
    PermissionRequest,
    PlanReview,
    Question,
    QuestionItem,
    QuestionOption,
)
from beambot.model.ids import MessageRef
from beambot.model.inbound import FormIn
from beambot.model.message import Ask
from beambot.model.outbound import Outgoing
from beambot.model.ports import Answer
from beambot.model.settings import AskPolicy, AskSettings, Limits, Role
from beambot.store import MemberRow
from beambot.store.records import AskRow
from beambot.testing.clock import FakeClock
from beambot.testing.platform import FULL, Call, FakePlatform
from beambot.testing.scripted import Emit, ScriptedSession, Step, WaitFor
from beambot.testing.world import World

ROUND = 100
OPTIONS = (AskOption("y", "Allow once", "allow_once"), AskOption("n", "Deny", "reject_once"))
MODES = (AskOption("go", "Approve", "allow_once"), AskOption("no", "Keep planning", "reject_once"))
BASES = (AskOption("m", "SQLite"), AskOption("p", "Postgres"))
CHOICES = tuple(QuestionOption(option.name) for option in BASES)
# Few of them may: what they try has to come to nothing, and the rest has to be enough to answer most.
PEOPLE = ("1", "1", "2", "2", "3", "4", "9")
FORGED = ("0", "1", "7", "r0:hour", "n0:turn", "r1:always", "all:0123456789ab", "ok:0123456789ab", "send:x", "s0.1")
# What stands at the end of a longer way is pressed more often than chance would, and the end of it all less.
LIKED = {"Allow as edited": 20.0, "Edit": 6.0, "Send": 8.0, "these": 12.0, "Allow all": 6.0, "Stop": 0.2}
SAID = ("yes", "no", "no, not today", "SQLite", "allow", "words of my own")


class Asking:
    """An agent that asks whatever it is given, round after round, and never waits."""

    def __init__(self) -> None:
        self.gate = anyio.Event()
        self.round: list[Ask] = []

    def __iter__(self) -> Iterator[Step]:
        while True:
            yield WaitFor(self.gate)
            yield from [Emit(body) for body in self.round]
            self.round = []

    def ask(self, bodies: list[Ask]) -> None:
        self.round, gate, self.gate = bodies, self.gate, anyio.Event()
        gate.set()


def bodies(number: int) -> list[Ask]:
    """One of each kind, none like another."""

    def runs(ask: str, command: str) -> PermissionRequest:
        what = {"command": command, "timeout": 5}
        return PermissionRequest(
            f"{ask}{number}", command, kind="execute", name="bash", input=what, options=OPTIONS
        )

    file, text = f"notes/{number}.txt", f"note {number}\n"
    several = (
        QuestionItem("db", f"Which database, {number}?", "Database", CHOICES),
        QuestionItem("more", "And what else?", "More", CHOICES, multiple=True, free_text=True),
        QuestionItem("name", "What is it called?", "Name"),
    )
    login = LoginRequest(
        f"l{number}", f"Login {number}", f"https://example.org/{number}", wants_code=number % 2 == 0
    )
    kinds: list[Ask] = [
        Question(f"q{number}", several if number % 2 else several[:1]),
        PlanReview(f"p{number}", f"1. plan {number}", MODES),
        login,
    ]
    return [
        runs("a", f"git status src/{number}"),
        runs("b", f"git status lib/{number}"),
        runs("d", f"sudo rm -rf /srv/{number}"),
        PermissionRequest(
            f"e{number}",
            f"Write {file}",
            kind="edit",
            name="Write",
            input={"file_path": file, "content": text},
            diffs=(Diff(file, None, text),),
            options=OPTIONS,
        ),
        kinds[number % 3],
    ]


class Crowd:
    """Everybody who presses, writes and forges; and what was shown and told."""

    def __init__(self, world: World, chats: list[FakePlatform], chance: random.Random) -> None:
        self.world = world
        self.chats = chats
        self.chance = chance
        self.shown: defaultdict[str, list[str]] = defaultdict(list)
        self.buttons: list[tuple[FakePlatform, MessageRef, str]] = []
        self.forms: list[tuple[FakePlatform, MessageRef, str]] = []
        self.did: Counter[str] = Counter()
        self.live: dict[str, dict[MessageRef, Outgoing]] = {chat.name: {} for chat in chats}
        self._known: set[tuple[str, str, str]] = set()
        for chat in chats:
            chat.on_call = lambda call, chat=chat: self.note(chat, call)

    def note(self, chat: FakePlatform, call: Call) -> None:
        """What stands on a chat, and each button that ever stood there."""
        ref, live = MessageRef(call.thread, call.message), self.live[chat.name]
        if call.outgoing is None or not call.outgoing.key.startswith(("ask:", "reply:")):
            return
        if call.outgoing.buttons or call.outgoing.form or call.outgoing.wants_reply:
            live[ref] = call.outgoing
        else:
            live.pop(ref, None)
        self.shown[call.outgoing.key.removeprefix("ask:")].append(call.text)
        for data in [button.data for row in call.outgoing.buttons for button in row]:
            if (chat.name, call.message, data) not in self._known:
                self._known.add((chat.name, call.message, data))
                self.buttons.append((chat, ref, data))
        if call.outgoing.form is not None:
            self.forms.append((chat, ref, call.outgoing.form.data))

    async def act(self) -> None:
        """One of them does something."""
        chance = self.chance
        chat, who = chance.choice(self.chats), chance.choice(PEOPLE)
        messages = list(self.live[chat.name].items())[-12:]
        kind = chance.choices(
            (
                "press",
                "fill",
                "reply",
                "stale",
                "forge_id",
                "forge_choice",
                "elsewhere",
                "other_chat",
                "stale_form",
            ),
            (40, 14, 6, 14, 6, 8, 6, 5, 3),
        )[0]
        self.did[kind] += 1
        if not messages or not self.buttons:
            kind = "forge_id"
        ref, message = chance.choice(messages) if messages else (MessageRef(chat.thread(), "m1"), None)
        other, known, data = chance.choice(self.buttons[-400:]) if self.buttons else (chat, ref, "ask:x:0")
        match kind:
            case "press" if message is not None and message.buttons:
                buttons = [button for row in message.buttons for button in row]
                weights = [next((w for word, w in LIKED.items() if word in b.label), 2.0) for b in buttons]
                await chat.press_data(ref, chance.choices(buttons, weights)[0].data, who=who)
            case "fill" if message is not None and message.form is not None:
                await chat.fills(ref, self.fields(message), who=who)
            case "reply" if message is not None:
                await chat.says(chance.choice(SAID), reply_to=ref.message, who=who)
            case "stale":
                await other.press_data(known, data, who=who)
            case "forge_id":
                await chat.press_data(ref, f"ask:{chance.getrandbits(80):016x}:{chance.choice(FORGED)}", who=who)
            case "forge_choice" if message is not None:
                await chat.press_data(ref, f"{message.key}:{chance.choice(FORGED)}", who=who)
            case "elsewhere":
                await other.press_data(MessageRef(other.thread(thread="t2"), known.message), data, who=who)
            case "other_chat":
                wrong = next(one for one in self.chats if one is not other)
                await wrong.press_data(MessageRef(wrong.thread(), f"{known.message}0"), data, who=who)
            case "stale_form" if self.forms:
                chat, ref, form = chance.choice(self.forms[-60:])
                fields = {"reason": ("late",), "command": ("late",), "db": ("late",), "code": ("late",)}
                handle = f"late{self.did['stale_form']}"
                await chat.receive(FormIn(ref.message, form, fields, handle), who, ref.thread, handle)
            case _:
                await other.press_data(known, data, who=who)

    def fields(self, message: Outgoing) -> dict[str, tuple[str, ...]]:
        assert message.form is not None
        filled: dict[str, tuple[str, ...]] = {}
        for field in message.form.fields:
            words = f"{field.value.strip()} --edited{self.chance.randrange(100)}".strip()
            filled[field.id] = (self.chance.choice(field.options) if field.options else words,)
        return filled

    async def act_together(self, count: int) -> None:
        """So many of them do something at the same instant, and it is dealt with."""
        async with anyio.create_task_group() as tasks:
            for _ in range(count):
                tasks.start_soon(self.act)
        with anyio.fail_after(20):
            while await self.world.store.inbox.pending():
                await self.world.clock.advance(0.01)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("presses", "at_once"), [(3_000, 1), (7_000, 50)])
async def test_ten_thousand_presses_at_random(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, presses: int, at_once: int
) -> None:
    chance, clock, agent = random.Random(20_260_107), FakeClock(), Asking()
    able = replace(FULL, min_interval=0.0)
    east = FakePlatform(clock, name="east", capabilities=able)
    west = FakePlatform(clock, name="west", capabilities=replace(able, forms=False))
    heard: list[Answer] = []
    take = ScriptedSession.answer

    async def listen(self: ScriptedSession, answer: Answer) -> bool:
        heard.append(answer)
        return await take(self, answer)

    monkeypatch.setattr(ScriptedSession, "answer", listen)
    settings = AskSettings(dangerous=AskPolicy(people=2), remind_after_seconds=0)
    limits = Limits(queue_per_session=1)
    async with World(tmp_path, clock=clock, platforms=[east, west], asks=settings, limits=limits) as world:
        await world.until(lambda: east.running and west.running)
        world.agent.scripts = [agent]  # type: ignore[list-item]
        crowd = Crowd(world, [east, west], chance)
        asked: dict[str, Ask] = {}
        rows: dict[str, AskRow] = {}
        turns: set[str] = set()
        for number in range(presses // ROUND):
            await awake(world, crowd, number)
            role: Role = "participant" if number % 5 == 4 else "approver"
            await world.store.members.put(MemberRow("user2", role, {"east": "2", "west": "2"}, "config"))
            for rule in await world.store.rules.all(1000):
                await world.store.rules.revoke(rule.id, "user1", clock.now())
            fresh = bodies(number)
            asked |= {body.ask: body for body in fresh}
            agent.ask(fresh)
            await world.until(lambda: agent.round == [])
            await world.quiet()
            for _ in range(ROUND // at_once):
                await crowd.act_together(at_once)
            await world.quiet()
            turns |= {prompt.turn for session in world.agent.sessions for prompt in session.prompts}
            known = {row.id: row for turn in turns for row in await world.store.asks.of_turn(turn)}
            for row in known.values():
                before = rows.get(row.id)
                if row.state == "answered" and (before is None or before.state == "open"):
                    assert role == "approver" or not row.by.endswith("user2"), row
            rows = known

        assert sum(crowd.did.values()) == presses
        check_answers(heard, asked, rows, crowd)
        check_cards(rows, (east, west), crowd)
        assert all(len(data.encode()) <= 64 for _, _, data in crowd.buttons + crowd.forms)
        assert (await world.store.audit.verify()).whole
        lines = Counter(line.what for line in await world.store.audit.recent(100_000))
        assert lines["answered"] == sum(row.state == "answered" and "rule" not in row.by for row in rows.values())
        expected = {"press_refused", "answer_refused", "first_yes", "edited", "rule_made", "settled_by_rule"}
        assert expected <= lines.keys()
        kinds = {(row.kind, row.outcome) for row in rows.values() if row.state == "answered"}
        assert len(kinds) >= 6
        said = [text for chat in (east, west) for _, text in chat.acks]
        for words in ("Allowed as edited", "Allowed all", "Already settled", "does not belong here", "not for you"):
            assert any(words in text for text in said), words


async def awake(world: World, crowd: Crowd, number: int) -> None:
    """Somebody stopped the turn, or it is the first: the session is prompted, and shown on both chats."""
    east, west = crowd.chats
    if not world.agent.sessions or not world.agent.last._in_turn:
        await east.says(f"go {number}")
        await world.until(lambda: world.agent.sessions and world.agent.last._in_turn)
    if number == 0:
        await west.says(f"/resume {world.agent.last.options.session}")
        await world.until(lambda: west.shows("goes on here"))


def check_answers(heard: list[Answer], asked: dict[str, Ask], rows: dict[str, AskRow], crowd: Crowd) -> None:
    """Each ask once, from who may, and nothing that no card showed."""
    assert max(Counter(answer.ask for answer in heard).values()) == 1
    answered = {row.agent_ask: row for row in rows.values() if row.state == "answered"}
    unheard = answered.keys() - {answer.ask for answer in heard}
    assert all(answered[ask].note == "the agent did not take the answer" for ask in unheard)
    assert len(unheard) < len(heard) / 10
    for answer in heard:
        row, body = answered[answer.ask], asked[answer.ask]
        assert msgspec.json.decode(row.answer, type=Answer) == answer
        names = row.by.split(" and ")
        by_rule = row.by.startswith("rule ")
        assert by_rule or set(names) <= {"user1", "user2"}, row
        assert by_rule or row.kind != "login_request" or names == ["user1"], row
        command = (answer.input or getattr(body, "input", {})).get("command", "")
        if "sudo" in command and answer.verdict == "allow":
            assert sorted(names) == ["user1", "user2"], row
        check_content(answer, body, "\n".join(crowd.shown[row.id]), by_rule)


def check_content(answer: Answer, body: Ask, shown: str, by_rule: bool) -> None:
    match body:
        case PermissionRequest(input=wanted, options=options) if not by_rule:
            assert (wanted.get("command") or wanted["content"].strip()) in shown
            assert {"allow": "y", "deny": "n"}[answer.verdict] == answer.option
            assert {option.id for option in options} >= {answer.option}
            if answer.input is not None:
                assert answer.verdict == "allow"
                assert "As user" in shown
                changed = {key: value for key, value in answer.input.items() if wanted[key] != value}
                assert changed
                assert all(value in shown for value in changed.values())
        case Question(questions=questions):
            assert answer.verdict == "answer"
            assert answer.fields.keys() <= {item.id for item in questions}
            for item in questions:
                given = answer.fields.get(item.id, ())
                offered = {option.label for option in item.options}
                assert item.free_text or not offered or set(given) <= offered
                assert item.multiple or len(given) <= 1
        case PlanReview():
            assert {"allow": "go", "deny": "no"}[answer.verdict] == answer.option
        case LoginRequest(wants_code=wants_code):
            assert answer.verdict in (("answer", "deny") if wants_code else ("allow", "deny"))


def check_cards(rows: dict[str, AskRow], chats: tuple[FakePlatform, ...], crowd: Crowd) -> None:
    """What is settled can not be pressed, and says by whom; what waits can be."""
    count = 0
    for chat in chats:
        cards = {m.key.removeprefix("ask:"): m for _, m in chat.messages() if m.key.startswith("ask:")}
        for id, card in cards.items():
            row, count = rows[id], count + 1
            text = crowd.shown[id][-1]
            if row.state == "open":
                assert card.buttons or card.form
                continue
            assert not card.buttons, text
            assert card.form is None, text
            if row.state == "answered":
                assert row.by in text or "Settled by the new rule of user" in text, text
            else:
                assert "Withdrawn" in text, text
    assert count > len(rows)
