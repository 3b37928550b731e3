"""One session shown on two chats: whoever answers first answers for both, and nobody else ever does."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from beambot.flow.asks.board import Board
from beambot.model.bodies import (
    AskCancelled,
    AskOption,
    PermissionRequest,
    Question,
    QuestionItem,
    Result,
    TextDelta,
)
from beambot.model.ids import MessageRef
from beambot.model.inbound import FormIn, PressIn
from beambot.model.outbound import Outgoing
from beambot.model.settings import AskPolicy, AskSettings
from beambot.store import MemberRow
from beambot.testing.clock import FakeClock
from beambot.testing.platform import FakePlatform
from beambot.testing.scripted import Emit, Hang, ScriptedSession, WaitAnswer, WaitFor
from beambot.testing.world import World

OPTIONS = (AskOption("y", "Allow once", "allow_once"), AskOption("n", "Deny", "reject_once"))
DONE = (Emit(TextDelta("all done")), Emit(Result()))


def wants(ask: str, command: str = "git status") -> PermissionRequest:
    return PermissionRequest(ask, command, kind="execute", name="bash", input={"command": command}, options=OPTIONS)


class Chats:
    """A beambot with two chats, and a session that both of them show once `both` has opened it."""

    def __init__(self, folder: Path, script: Sequence[Any], **settings: Any) -> None:
        self.clock = FakeClock()
        self.east = FakePlatform(self.clock, name="east")
        self.west = FakePlatform(self.clock, name="west")
        self.world = World(folder, script, clock=self.clock, platforms=[self.east, self.west], **settings)

    def again(self, script: Sequence[Any]) -> World:
        """The same folder and chats, a new beambot."""
        self.world = World(self.world.folder, script, clock=self.clock, platforms=[self.east, self.west])
        return self.world

    async def up(self) -> None:
        await self.world.until(lambda: self.east.running and self.west.running)

    async def both(self, *, cards: int = 1) -> None:
        """Somebody prompts in the east and shows the session in the west as well."""
        await self.up()
        await self.east.says("go")
        await self.world.until(lambda: self.world.agent.sessions and self.world.agent.last.prompts)
        await self.west.says(f"/resume {self.world.agent.last.options.session}")
        for chat in (self.east, self.west):
            await self.stands(chat, cards)
        await self.world.quiet()

    async def stands(self, chat: FakePlatform, cards: int = 1) -> None:
        await self.world.until(lambda: len(open_cards(chat)) == cards, what=f"{cards} in {chat.screen()}")

    async def told(self, chat: FakePlatform, words: str, times: int = 1) -> None:
        await self.world.until(lambda: sum(words in text for _, text in chat.acks) >= times, what=str(chat.acks))

    async def settled(self, words: str, count: int = 1) -> None:
        """Both chats show how it ended, and nothing can be pressed any more."""
        for chat in (self.east, self.west):
            shown = lambda chat=chat: [m for _, m in cards_in(chat) if words in str(m.blocks) and not m.buttons]  # noqa: E731
            await self.world.until(lambda shown=shown: len(shown()) == count, what=f"{words} in {chat.screen()}")

    @property
    def answers(self) -> list[tuple[str, str, str]]:
        return [(a.ask, a.verdict, a.by) for session in self.world.agent.sessions for a in session.answers]


def cards_in(chat: FakePlatform, thread: str = "") -> list[tuple[MessageRef, Outgoing]]:
    return [(ref, m) for ref, m in chat.messages(chat.thread(thread=thread)) if m.key.startswith("ask:")]


def open_cards(chat: FakePlatform) -> list[tuple[MessageRef, Outgoing]]:
    return [(ref, card) for ref, card in cards_in(chat) if card.buttons or card.form]


def button(card: Outgoing, label: str) -> str:
    return next(one.data for row in card.buttons for one in row if one.label == label)


@contextlib.asynccontextmanager
async def asked(folder: Path, *script: Any, cards: int = 1, **settings: Any) -> AsyncIterator[Chats]:
    chats = Chats(folder, script or (Emit(wants("a")), WaitAnswer("a"), *DONE), **settings)
    async with chats.world:
        await chats.both(cards=cards)
        yield chats


# ── at the same instant ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("first", "second"), [("Allow once", "Allow once"), ("Allow once", "Deny")])
@pytest.mark.parametrize("turned", [False, True])
async def test_two_presses_at_the_same_instant_are_one_answer(
    tmp_path: Path, first: str, second: str, turned: bool
) -> None:
    async with asked(tmp_path) as chats:
        presses = [(chats.east, first, "1"), (chats.west, second, "2")]
        async with anyio.create_task_group() as tasks:
            for chat, label, who in reversed(presses) if turned else presses:
                ref, card = open_cards(chat)[0]
                data = button(card, label)
                tasks.start_soon(lambda c=chat, r=ref, d=data, w=who: c.press_data(r, d, who=w))
        await chats.world.sees("all done")
        ((_, verdict, by),) = chats.answers
        await chats.settled(f"{'Allowed' if verdict == 'allow' else 'Denied'} by {by} at ")
        loser = chats.west if by == "user1" else chats.east
        await chats.told(loser, f"by {by}")
        lines = [line for line in await chats.world.store.audit.recent(50) if line.what == "answered"]
        assert [line.who for line in lines] == [by]


async def test_forty_presses_at_the_same_instant_on_both_chats_are_one_answer(tmp_path: Path) -> None:
    async with asked(tmp_path) as chats:
        async with anyio.create_task_group() as tasks:
            for number in range(40):
                chat = (chats.east, chats.west)[number % 2]
                ref, card = open_cards(chat)[0]
                data = button(card, ("Allow once", "Deny")[number // 2 % 2])
                tasks.start_soon(lambda c=chat, r=ref, d=data, n=number: c.press_data(r, d, who="12"[n % 2]))
        await chats.world.sees("all done")
        await chats.world.until(lambda: len(chats.east.acks) + len(chats.west.acks) == 40)
        assert len(chats.answers) == 1
        said = [text for chat in (chats.east, chats.west) for _, text in chat.acks]
        assert sum(text.startswith("Already settled: ") for text in said) == 39


async def test_two_who_say_yes_at_the_same_instant_are_two_people_and_one_answer(tmp_path: Path) -> None:
    two = AskSettings(normal=AskPolicy(people=2), dangerous=AskPolicy(people=2))
    async with asked(tmp_path, asks=two) as chats:
        async with anyio.create_task_group() as tasks:
            for chat, who in ((chats.east, "1"), (chats.west, "2")):
                ref, card = open_cards(chat)[0]
                data = button(card, "Allow once")
                tasks.start_soon(lambda c=chat, r=ref, d=data, w=who: c.press_data(r, d, who=w))
        await chats.world.sees("all done")
        ((_, verdict, _),) = chats.answers
        assert verdict == "allow"
        (row,) = await chats.world.store.asks.of_turn(chats.world.agent.last.prompts[0].turn)
        assert sorted(row.by.split(" and ")) == ["user1", "user2"]


async def test_the_same_update_twice_is_one_press(tmp_path: Path) -> None:
    two = AskSettings(normal=AskPolicy(people=2), dangerous=AskPolicy(people=2))
    async with asked(tmp_path, asks=two) as chats:
        ref, card = open_cards(chats.east)[0]
        press = PressIn(ref.message, button(card, "Allow once"), "h1")
        taken = [await chats.east.receive(press, "1", ref.thread, "update-7") for _ in range(3)]
        assert taken == [True, False, False]
        await chats.told(chats.east, "It takes one more person")
        await chats.world.quiet()
        assert len(chats.east.acks) == 1
        assert [line.what for line in await chats.world.store.audit.recent(50)].count("first_yes") == 1
        assert chats.answers == []


# ── not from here, not from you ──────────────────────────────────────────────────────────────────────


async def test_a_button_works_only_on_its_own_message_in_its_own_thread(tmp_path: Path) -> None:
    async with asked(tmp_path) as chats:
        await chats.east.says("go", thread=chats.east.thread(thread="other"))
        await chats.world.until(lambda: cards_in(chats.east, "other"))
        (east, card), (west, _), (other, _) = (
            *cards_in(chats.east),
            *cards_in(chats.west),
            *cards_in(chats.east, "other"),
        )
        data = button(card, "Allow once")
        foreign = [
            (chats.east, other),  # the card of another session in another thread
            (chats.east, MessageRef(other.thread, east.message)),  # the message's id, in another thread
            (chats.east, MessageRef(east.thread, "m999")),
            (chats.west, MessageRef(west.thread, f"{east.message}x")),
        ]
        for chat, ref in foreign:
            before = len(chat.acks)
            await chat.press_data(ref, data)
            await chats.world.until(lambda chat=chat, before=before: len(chat.acks) > before)
            assert chat.acks[-1][1] == "This button does not belong here."
            await chat.receive(
                FormIn(ref.message, f"{card.key}:why", {"reason": ("x",)}, "f"), "1", ref.thread, ref.message
            )
            await chats.world.until(lambda chat=chat, before=before: len(chat.acks) > before + 1)
            assert chat.acks[-1][1] == "This form does not belong here."
        assert chats.answers == []
        whats = [line.what for line in await chats.world.store.audit.recent(50)]
        assert whats.count("press_refused") == 2 * len(foreign)


async def test_a_reply_on_one_chat_closes_the_card_on_the_other(tmp_path: Path) -> None:
    async with asked(tmp_path) as chats:
        (ref, _) = cards_in(chats.west)[0]
        await chats.west.says("no use make instead", reply_to=ref.message, who="2")
        await chats.world.sees("all done")
        assert chats.world.agent.last.answers[0].text == "use make instead"
        await chats.settled("Denied by user2 at ")
        assert chats.east.shows("use make instead")


async def test_who_lost_the_role_since_the_card_was_posted_answers_nothing(tmp_path: Path) -> None:
    async with asked(tmp_path) as chats:
        names = {"east": "2", "west": "2"}
        await chats.world.store.members.put(MemberRow("user2", "participant", names, "config"))
        for chat in (chats.east, chats.west):
            await chat.presses("Allow once", who="2")
            await chats.told(chat, "You may not answer this")
            await chat.presses("Deny with reason", who="2")
            await chats.told(chat, "You may not answer this", 2)
        await chats.world.store.members.remove("user2")
        await chats.east.presses("Allow once", who="2")
        await chats.told(chats.east, "This is not for you")
        assert chats.answers == []
        await chats.east.presses("Allow once")
        await chats.world.sees("all done")
        await chats.settled("Allowed by user1 at ")


async def test_a_yes_of_who_lost_the_role_since_does_not_count(tmp_path: Path) -> None:
    two = AskSettings(normal=AskPolicy(people=2), dangerous=AskPolicy(people=2))
    async with asked(tmp_path, asks=two) as chats:
        await chats.east.presses("Allow once", who="2")
        await chats.told(chats.east, "It takes one more person")
        await chats.world.store.members.put(MemberRow("user2", "observer", {"east": "2", "west": "2"}, "config"))
        await chats.west.presses("Allow once")
        await chats.world.until(lambda: chats.west.acks)
        await chats.world.quiet()
        assert chats.answers == []


async def test_the_same_asked_twice_is_one_card_on_each_chat_and_lives_on_when_one_is_taken_back(
    tmp_path: Path,
) -> None:
    gate = anyio.Event()
    first, second = Emit(wants("a")), Emit(wants("b"))
    taken_back = Emit(AskCancelled("a", why="not needed"))
    async with asked(tmp_path, first, second, WaitFor(gate), taken_back, WaitAnswer("b"), *DONE) as chats:
        assert [len(cards_in(chat)) for chat in (chats.east, chats.west)] == [1, 1]
        gate.set()
        await chats.world.until(lambda: chats.west.shows("Withdrawn"))
        await chats.world.until(lambda: "Allow once" in chats.west.labels(), what=str(chats.west.screen()))
        await chats.west.presses("Allow once", who="2")
        await chats.world.sees("all done")
        assert chats.answers == [("b", "allow", "user2")]
        await chats.settled("Allowed by user2 at ")


# ── the agent goes away ──────────────────────────────────────────────────────────────────────────────


async def test_when_the_agent_has_died_both_cards_say_so_and_an_old_button_does_nothing(tmp_path: Path) -> None:
    async with asked(tmp_path) as chats:
        (east, card), (west, _) = cards_in(chats.east)[0], cards_in(chats.west)[0]
        chats.world.agent.last.die()
        for chat in (chats.east, chats.west):
            await chats.world.until(lambda chat=chat: chat.shows("Withdrawn"), what=str(chat.screen()))
            await chats.world.until(lambda chat=chat: not cards_in(chat)[0][1].buttons)
        for chat, ref in ((chats.east, east), (chats.west, west)):
            await chat.press_data(ref, button(card, "Allow once"))
            await chats.told(chat, "This is void since")
        await chats.world.quiet()
        assert chats.answers == []
        assert not any(chat.shows("Allowed") for chat in (chats.east, chats.west))


async def test_an_answer_that_the_agent_does_not_take_is_not_called_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def deaf(self: ScriptedSession, answer: object) -> bool:
        return False

    async with asked(tmp_path) as chats:
        monkeypatch.setattr(ScriptedSession, "answer", deaf)
        await chats.west.presses("Allow once", who="2")
        await chats.told(chats.west, "does not wait for this any more")
        await chats.settled("user2 answered, but the agent does not wait for it any more")


async def test_what_the_agent_takes_back_is_closed_on_both_chats(tmp_path: Path) -> None:
    gate = anyio.Event()
    script = (Emit(wants("a")), WaitFor(gate), Emit(AskCancelled("a", why="found another way")), Hang())
    async with asked(tmp_path, *script) as chats:
        gate.set()
        await chats.settled("Withdrawn: found another way")


# ── killed with three asks open on two chats ─────────────────────────────────────────────────────────

QUESTION = Question("c", (QuestionItem("db", "Which database?"),))
THREE = (Emit(wants("a")), Emit(wants("b", "make deploy")), Emit(QUESTION))
WAITS = tuple(WaitAnswer(ask) for ask in "abc")


async def test_killed_with_three_asks_open_each_card_is_void_on_both_chats_and_can_be_asked_again(
    tmp_path: Path,
) -> None:
    chats = Chats(tmp_path, (*THREE, *WAITS, *DONE))
    async with chats.world as first:
        await chats.both(cards=3)
        old = [(chat, ref, card) for chat in (chats.east, chats.west) for ref, card in open_cards(chat)]
        await first.crash()
    async with chats.again((*THREE, *WAITS, *DONE)) as second:
        await chats.up()
        for chat in (chats.east, chats.west):
            labels = lambda chat=chat: [b.label for _, m in cards_in(chat) for row in m.buttons for b in row]  # noqa: E731
            await second.until(
                lambda labels=labels: labels() == ["Resume and ask again"] * 3, what=str(chat.screen())
            )
            assert sum("Void: beambot was restarted" in text for text in chat.screen()) == 3
        for chat, ref, card in old[:3]:
            if card.form is not None:
                await chat.receive(FormIn(ref.message, card.form.data, {"db": ("x",)}, "f"), "1", ref.thread, "f1")
            else:
                await chat.press_data(ref, button(card, "Allow once"))
        await chats.told(chats.east, "This is void since", 3)
        assert second.agent.sessions == []

        await chats.west.presses("Resume and ask again", who="2")
        await chats.east.presses("Resume and ask again")
        for chat in (chats.east, chats.west):
            fresh = lambda chat=chat: [r for r, m in cards_in(chat) if "Void" not in str(m.blocks)]  # noqa: E731
            await second.until(lambda fresh=fresh: len(fresh()) == 3, what=str(chat.screen()))
        assert len(second.agent.last.prompts) == 1
        for command, chat in (("git status", chats.east), ("make deploy", chats.west)):
            ref, card = next(
                (r, m)
                for r, m in open_cards(chat)
                if command in str(m.blocks) and m.key not in {c.key for _, _, c in old}
            )
            await chat.press_data(ref, button(card, "Allow once"))
        ref = next(ref for ref, m in cards_in(chats.west) if m.form is not None)
        await chats.west.fills(ref, {"db": ("SQLite",)})
        await second.sees("all done")
        assert sorted(ask for ask, _, _ in chats.answers) == ["a", "b", "c"]


async def test_killed_while_answers_were_on_their_way_the_same_asks_get_them_and_another_is_asked_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answered on the way down: `a` and the question; `b` comes back as something else."""
    chats = Chats(tmp_path, (*THREE, *WAITS, *DONE))
    async with chats.world as first:
        await chats.both(cards=3)
        with monkeypatch.context() as patch:
            patch.setattr(ScriptedSession, "answer", lambda *_: anyio.sleep_forever())
            ref, card = next((r, m) for r, m in open_cards(chats.east) if "git status" in str(m.blocks))
            await chats.east.press_data(ref, button(card, "Allow once"))
            ref, card = next((r, m) for r, m in open_cards(chats.west) if "make deploy" in str(m.blocks))
            await chats.west.press_data(ref, button(card, "Deny"), who="2")
            with anyio.fail_after(5):
                while len(await first.store.asks.open()) != 1:
                    await chats.clock.advance(0.1)
            await first.crash()
    changed = (Emit(wants("a2")), Emit(wants("b2", "make deploy --now")), Emit(replace(QUESTION, ask="c2")))
    async with chats.again((*changed, *(WaitAnswer(f"{ask}2") for ask in "abc"), *DONE)) as second:
        await chats.up()
        for chat in (chats.east, chats.west):
            await second.until(lambda chat=chat: sum("may not have heard it" in t for t in chat.screen()) == 2)
            await second.until(lambda chat=chat: sum("Void:" in t for t in chat.screen()) == 1)
        await chats.east.presses("Resume and ask again")
        await second.sees("Allowed by user1 before the restart; the agent has heard it now")
        await second.until(lambda: "Allow once" in chats.west.labels(), what=str(chats.west.screen()))
        assert chats.answers == [("a2", "allow", "user1")]
        await chats.west.presses("Allow once", who="2")
        await second.until(lambda: any(m.form is not None for _, m in cards_in(chats.east)))
        ref = next(ref for ref, m in cards_in(chats.east) if m.form is not None)
        await chats.east.fills(ref, {"db": ("SQLite",)})
        await second.sees("all done")
        assert sorted(chats.answers) == [
            ("a2", "allow", "user1"),
            ("b2", "allow", "user2"),
            ("c2", "answer", "user1"),
        ]
        assert (await second.store.audit.verify()).whole


async def test_a_page_drawn_while_somebody_answers_does_not_replace_the_settled_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing, go_on, real = anyio.Event(), anyio.Event(), Board._view

    async def slow(self: Board, row: Any, body: Any, session: Any, page: Any, draft: Any) -> Any:
        view = await real(self, row, body, session, page, draft)
        if page.page == "rules":
            drawing.set()
            await go_on.wait()
        return view

    monkeypatch.setattr(Board, "_view", slow)
    async with asked(tmp_path) as chats:
        await chats.west.presses("Allow for…", who="2")
        await drawing.wait()
        await chats.east.presses("Allow once")
        await chats.world.until(lambda: bool(chats.world.agent.last.answers))
        go_on.set()
        await chats.settled("Allowed by user1 at ")
        await chats.world.quiet()
        assert not open_cards(chats.west)
        assert not open_cards(chats.east)
