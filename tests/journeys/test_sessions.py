"""Sessions over time: idle, crashed, speaking unasked, shown in several places."""

from __future__ import annotations

from pathlib import Path

import anyio

from beambot.errors import PlatformError
from beambot.model.bodies import (
    AskOption,
    PermissionRequest,
    Question,
    QuestionItem,
    QuestionOption,
    Result,
    TextDelta,
    Unknown,
)
from beambot.model.ids import ThreadRef
from beambot.model.message import UnifiedMessage
from beambot.model.settings import AskSettings, Limits
from beambot.testing.clock import FakeClock
from beambot.testing.platform import FakePlatform
from beambot.testing.scripted import Die, Emit, ScriptedSession, WaitAnswer, WaitFor
from beambot.testing.world import World

HELLO = [Emit(TextDelta("hello")), Emit(Result())]
OPTIONS = (AskOption("y", "Allow", "allow_once"), AskOption("n", "Deny", "reject_once"))
ASKING = [
    Emit(PermissionRequest("a1", "make deploy", options=OPTIONS)),
    WaitAnswer("a1"),
    Emit(TextDelta("went on")),
    Emit(Result()),
]


async def test_an_idle_session_is_closed_and_resumed_on_the_next_message(tmp_path: Path) -> None:
    async with World(tmp_path, HELLO, limits=Limits(idle_close_seconds=60)) as world:
        assert isinstance(world.clock, FakeClock)
        await world.chat.says("hi")
        await world.sees("hello")
        await world.quiet()
        await world.clock.advance(61)
        await world.until(lambda: world.agent.last.closed)
        await world.chat.says("hi again")
        await world.until(lambda: len(world.agent.sessions) == 2 and world.agent.last.prompts)
        assert world.agent.last.resumed == f"agent-{world.agent.last.options.session}"


async def test_a_crashed_agent_is_reported_once_and_resumed_by_its_button(tmp_path: Path) -> None:
    async with World(tmp_path, [[Emit(TextDelta("half")), Die("out of memory")]]) as world:
        message = await world.chat.says("hi")
        await world.sees("The agent ended unexpectedly.")
        await world.quiet()
        assert sum("ended unexpectedly" in text for text in world.chat.screen()) == 1
        assert sum("out of memory" in text for text in world.chat.screen()) == 1
        assert world.chat.shows("half")
        assert world.chat.receipts[message][-1] == "failed"
        world.agent.scripts = [HELLO]
        await world.chat.presses("Resume")
        await world.sees("goes on here")
        await world.chat.says("and now?")
        await world.sees("hello")


async def test_an_agent_that_keeps_crashing_is_not_restarted_in_a_loop(tmp_path: Path) -> None:
    async with World(tmp_path, [[Die("segfault")]], limits=Limits(restarts=2)) as world:
        for number in range(5):
            await world.chat.says(f"try {number}")
        await world.sees("it ended unexpectedly 3 times")
        await world.quiet()
        assert len(world.agent.sessions) == 3


async def test_a_turn_that_nobody_prompted_is_shown_as_one_of_its_own(tmp_path: Path) -> None:
    late = anyio.Event()
    original = ScriptedSession.messages

    async def messages(self: ScriptedSession):  # type: ignore[no-untyped-def]
        async for message in original(self):
            yield message
            if isinstance(message.body, Result):
                await late.wait()
                for body in (TextDelta("The background task is done."), Unknown("odd"), Result()):
                    yield UnifiedMessage(body)

    async with World(tmp_path, HELLO) as world:
        ScriptedSession.messages = messages  # type: ignore[method-assign]
        try:
            await world.chat.says("hi")
            await world.sees("hello")
            await world.quiet()
            late.set()
            await world.sees("The background task is done.")
            await world.quiet()
        finally:
            ScriptedSession.messages = original  # type: ignore[method-assign]
        assert len(world.chat.screen()) == 2
        session = world.agent.last.options.session
        last = await world.store.turns.last(session)
        assert last is not None
        assert (last.origin, last.state) == ("agent", "done")
        numbers = [message.seq for message in await world.store.journal.read(session)]
        assert numbers == sorted(set(numbers))


async def test_one_session_in_two_chats_and_the_first_answer_closes_both_cards(tmp_path: Path) -> None:
    clock = FakeClock()
    one, two = FakePlatform(clock, name="one"), FakePlatform(clock, name="two")
    async with World(tmp_path, ASKING, clock=clock, platforms=[one, two]) as world:
        await one.says("/new")
        await world.until(lambda: one.shows("New session"))
        row = (await world.store.sessions.recent())[0]
        await two.says(f"/resume {row.id}")
        await world.until(lambda: two.shows("goes on here"))
        await one.says("ship it")
        await world.until(lambda: "Allow" in one.labels() and "Allow" in two.labels())
        await two.presses("Allow", who="2")
        await world.until(lambda: one.shows("by user2") and two.shows("by user2"))
        await world.until(lambda: one.shows("went on") and two.shows("went on"))
        assert len(world.agent.last.answers) == 1


async def test_a_hundred_presses_at_once_answer_once(tmp_path: Path) -> None:
    async with World(tmp_path, ASKING) as world:
        await world.chat.says("ship it")
        await world.sees("make deploy")
        card, outgoing = next((r, m) for r, m in world.chat.messages() if m.key.startswith("ask:"))
        data = outgoing.buttons[0][0].data
        async with anyio.create_task_group() as tasks:
            for number in range(100):
                tasks.start_soon(lambda n=number: world.chat.press_data(card, data, who=str(n % 2 + 1)))
        await world.until(lambda: len(world.chat.acks) == 100, seconds=15)
        assert len(world.agent.last.answers) == 1
        assert sum("Already settled" in text for _, text in world.chat.acks) == 99


async def test_a_question_is_answered_by_its_form_and_by_a_reply(tmp_path: Path) -> None:
    questions = (
        QuestionItem("q1", "Which colour?", options=(QuestionOption("Blue"), QuestionOption("Red"))),
        QuestionItem("q2", "Why?", free_text=True),
    )
    script = [Emit(Question("a1", questions)), WaitAnswer("a1"), *HELLO]
    async with World(tmp_path, script) as world:
        await world.chat.says("paint it")
        await world.sees("Which colour?")
        card = next(r for r, m in world.chat.messages() if m.form is not None)
        await world.chat.fills(card, {"q1": ("Blue", "Red"), "q2": ("because",), "q9": ("forged",)})
        await world.sees(". Blue; because")
        assert world.agent.last.answers[0].fields == {"q1": ("Blue",), "q2": ("because",)}


async def test_words_answer_a_card_only_as_a_direct_reply(tmp_path: Path) -> None:
    async with World(tmp_path, ASKING) as world:
        await world.chat.says("ship it")
        await world.sees("make deploy")
        card = next(r for r, m in world.chat.messages() if m.key.startswith("ask:"))
        await world.chat.says("yes")
        await world.chat.says("maybe", reply_to=card.message)
        await world.sees("That is not one of the answers.")
        assert world.agent.last.answers == []
        await world.chat.says("no because it is Friday", reply_to=card.message)
        await world.sees(". because it is Friday")
        assert world.agent.last.answers[0].text == "because it is Friday"


async def test_an_ask_that_times_out_is_denied_never_allowed(tmp_path: Path) -> None:
    asks = AskSettings(on_timeout="deny", timeout_seconds=120, remind_after_seconds=30)
    async with World(tmp_path, ASKING, asks=asks) as world:
        assert isinstance(world.clock, FakeClock)
        await world.chat.says("ship it")
        await world.sees("make deploy")
        await world.clock.advance(40)
        await world.sees("Still waiting for an answer: make deploy")
        await world.clock.advance(90)
        await world.sees("Denied by beambot at ")
        assert [answer.verdict for answer in world.agent.last.answers] == ["deny"]


async def test_only_so_many_agents_run_at_once_and_the_idle_one_makes_room(tmp_path: Path) -> None:
    gate = anyio.Event()
    scripts = [[WaitFor(gate), *HELLO]]
    async with World(tmp_path, scripts, limits=Limits(sessions=1)) as world:
        first, second = world.chat.thread("c1"), ThreadRef("fake", "c2")
        await world.chat.says("one", thread=first)
        await world.until(lambda: world.agent.sessions and world.agent.last.prompts)
        await world.chat.says("two", thread=second)
        await world.until(lambda: world.chat.shows("as many agents as are allowed at once (1)", second))
        gate.set()
        await world.until(lambda: world.chat.shows("hello", first))
        await world.quiet()
        await world.chat.presses("Try again", thread=second)
        await world.until(lambda: world.chat.shows("hello", second))
        assert world.agent.sessions[0].closed


class Forum(FakePlatform):
    """A chat in which each session has a topic of its own."""

    refuses = False

    def has_topics(self, thread: ThreadRef) -> bool:
        return thread.chat == "forum"

    async def open_thread(self, chat: ThreadRef, title: str) -> ThreadRef:
        if self.refuses:
            raise PlatformError("the bot may not open topics")
        return await super().open_thread(chat, title)


async def test_a_new_session_gets_a_topic_of_its_own_where_there_are_topics(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = Forum(clock)
    async with World(tmp_path, [Emit(TextDelta("hello")), Emit(Result())], clock=clock, platforms=[chat]) as world:
        main = chat.thread("forum")
        await chat.says("/new", thread=main)
        await world.until(lambda: chat.shows("has a place of its own beside this one", main))
        (topic,) = [ref for ref in {ref.thread for ref in chat._messages} if ref.thread]
        assert chat.shows("New session", topic)
        await chat.says("go", thread=topic)
        await world.until(lambda: chat.shows("hello", topic))
        await world.until(lambda: chat.titles[topic.key] == "go")
        await chat.says("/close", thread=topic)
        await world.until(lambda: "closed" in chat.states.get(topic.key, []))
        await chat.says("/new", thread=chat.thread("plain"))
        await world.until(lambda: chat.shows("New session", chat.thread("plain")))
        chat.refuses = True
        await chat.says("/new", thread=main)
        await world.until(lambda: chat.shows("No new thread could be opened, so the session begins here", main))
        await world.until(lambda: chat.shows("New session", main))


async def test_a_chat_says_that_the_agent_works_while_there_is_nothing_new(tmp_path: Path) -> None:
    gate = anyio.Event()
    async with World(tmp_path, [Emit(TextDelta("hello")), WaitFor(gate), Emit(Result())]) as world:
        await world.chat.says("go")
        await world.sees("hello")
        assert isinstance(world.clock, FakeClock)
        await world.clock.advance(10)
        await world.until(lambda: sum(call.what == "typing" for call in world.chat.calls) >= 2)
        gate.set()
        await world.until(lambda: not world.rooms.sessions.running(world.rooms.sessions.alive()[0]))
        await world.quiet()
        typed = sum(call.what == "typing" for call in world.chat.calls)
        await world.clock.advance(30)
        await world.quiet()
        assert sum(call.what == "typing" for call in world.chat.calls) == typed
