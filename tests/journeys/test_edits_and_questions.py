"""Answers that take more than a thumb: edits before approval, several questions, plans, logins, long requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    Result,
    TextDelta,
)
from beambot.model.ids import MessageRef
from beambot.model.outbound import Outgoing
from beambot.model.settings import AskPolicy, AskSettings, Project
from beambot.testing.clock import FakeClock
from beambot.testing.platform import FULL, FakePlatform
from beambot.testing.scripted import Emit, WaitAnswer
from beambot.testing.world import World

OPTIONS = (AskOption("y", "Allow once", "allow_once"), AskOption("n", "Deny", "reject_once"))


def wants(command: str, **more: Any) -> PermissionRequest:
    return PermissionRequest(
        "a", command, kind="execute", name="bash", input={"command": command, "timeout": 5}, options=OPTIONS, **more
    )


def asks(body: Any) -> list[Any]:
    return [Emit(body), WaitAnswer("a"), Emit(TextDelta("all done")), Emit(Result())]


def without_forms(folder: Path, script: list[Any], **settings: Any) -> World:
    clock = FakeClock()
    chat = FakePlatform(clock, capabilities=replace(FULL, forms=False))
    return World(folder, script, clock=clock, platforms=[chat], **settings)


async def card(world: World) -> tuple[MessageRef, Outgoing]:
    await world.until(lambda: any(m.key.startswith("ask:") for _, m in world.chat.messages()), what="a card")
    return next((ref, m) for ref, m in world.chat.messages() if m.key.startswith("ask:"))


async def press(world: World, label: str, who: str = "1") -> None:
    await world.until(lambda: label in world.chat.labels(), what=label)
    await world.chat.presses(label, who=who)


async def fill(world: World, fields: dict[str, tuple[str, ...]], who: str = "1") -> None:
    await world.until(lambda: any(m.form is not None for _, m in world.chat.messages()), what="a form")
    ref = next(ref for ref, m in world.chat.messages() if m.form is not None)
    await world.chat.fills(ref, fields, who=who)


async def reply(world: World, text: str, who: str = "1") -> None:
    await world.until(lambda: any(m.wants_reply for _, m in world.chat.messages()), what="a request for words")
    ref = [ref for ref, m in world.chat.messages() if m.wants_reply][-1]
    await world.chat.says(text, reply_to=ref.message, who=who)


async def told(world: World, words: str) -> None:
    await world.until(lambda: any(words in text for _, text in world.chat.acks), what=f"{words}: {world.chat.acks}")


# ── edit before approve ──────────────────────────────────────────────────────────────────────────────


async def test_an_edited_command_is_shown_again_and_goes_to_the_agent_exactly_as_shown(tmp_path: Path) -> None:
    async with World(tmp_path, asks(wants("rm -rf build"))) as world:
        await world.chat.says("go")
        await press(world, "Edit")
        await world.until(lambda: any(m.form is not None for _, m in world.chat.messages()))
        form = next(m.form for _, m in world.chat.messages() if m.form is not None)
        assert [(field.id, field.value) for field in form.fields] == [("command", "rm -rf build")]
        await fill(world, {"command": ("rm -rf build/cache",)})
        await world.sees("As user1 edited it")
        assert world.chat.shows("rm -rf build/cache")
        assert world.agent.last.answers == []
        await press(world, "Allow as edited")
        await world.sees("all done")
        (answer,) = world.agent.last.answers
        assert (answer.verdict, answer.option) == ("allow", "y")
        assert answer.input == {"command": "rm -rf build/cache", "timeout": 5}
        await world.sees("Allowed as edited by user1 at ")
        _, shown = await card(world)
        assert "rm -rf build/cache" in str(shown.blocks)


async def test_where_there_are_no_forms_the_edit_comes_as_a_reply(tmp_path: Path) -> None:
    async with without_forms(tmp_path, asks(wants("git push"))) as world:
        await world.chat.says("go")
        await press(world, "Edit")
        await reply(world, "git push --dry-run")
        await world.sees("As user1 edited it")
        await press(world, "Allow as edited")
        await world.sees("all done")
        assert world.agent.last.answers[0].input == {"command": "git push --dry-run", "timeout": 5}


async def test_what_somebody_edited_again_is_not_allowed_by_the_older_button(tmp_path: Path) -> None:
    async with World(tmp_path, asks(wants("ls"))) as world:
        await world.chat.says("go")
        await press(world, "Edit")
        await fill(world, {"command": ("ls -l",)})
        await world.sees("As user1 edited it")
        ref, shown = await card(world)
        older = next(b.data for row in shown.buttons for b in row if b.label == "Allow as edited")
        await press(world, "Edit again", who="2")
        await fill(world, {"command": ("ls -la",)}, who="2")
        await world.sees("As user2 edited it")
        await world.chat.press_data(ref, older)
        await told(world, "has edited it again")
        assert world.agent.last.answers == []
        await press(world, "Allow as edited")
        await world.sees("all done")
        assert world.agent.last.answers[0].input == {"command": "ls -la", "timeout": 5}


async def test_an_edit_that_makes_it_dangerous_takes_the_people_that_danger_takes(tmp_path: Path) -> None:
    settings = AskSettings(dangerous=AskPolicy(people=2))
    async with World(tmp_path, asks(wants("ls")), asks=settings) as world:
        await world.chat.says("go")
        await press(world, "Edit")
        await fill(world, {"command": ("sudo rm -rf /",)})
        await world.sees("Careful")
        await press(world, "Allow as edited")
        await told(world, "It takes one more person")
        await press(world, "Allow as edited")
        await world.quiet()
        assert world.agent.last.answers == []
        await press(world, "Allow as edited", who="2")
        await world.sees("all done")
        assert world.agent.last.answers[0].input == {"command": "sudo rm -rf /", "timeout": 5}
        await world.sees("by user1 and user2")


async def test_a_yes_to_the_request_and_a_yes_to_the_edit_are_not_two_for_the_same(tmp_path: Path) -> None:
    settings = AskSettings(normal=AskPolicy(people=2), dangerous=AskPolicy(people=2))
    async with World(tmp_path, asks(wants("ls")), asks=settings) as world:
        await world.chat.says("go")
        await press(world, "Allow once")
        await told(world, "It takes one more person")
        await press(world, "Edit", who="2")
        await fill(world, {"command": ("ls -l",)}, who="2")
        await press(world, "Allow as edited", who="2")
        await world.until(
            lambda: [text for _, text in world.chat.acks].count("Your yes is noted. It takes one more person.") == 2
        )
        assert world.agent.last.answers == []
        await press(world, "Allow as edited")
        await world.sees("all done")
        assert world.agent.last.answers[0].input == {"command": "ls -l", "timeout": 5}


async def test_what_cannot_be_shown_as_it_is_cannot_be_edited(tmp_path: Path) -> None:
    secret = "sk-" + "a1" * 16
    async with World(tmp_path, asks(wants(f"curl -H {secret}"))) as world:
        await world.chat.says("go")
        await card(world)
        assert "Edit" not in world.chat.labels()
    async with World(tmp_path / "2", asks(wants("ls"))) as world:
        await world.chat.says("go")
        await press(world, "Edit")
        for bad, words in (
            (f"ls {secret}", "could not be shown"),
            ("ls \u202e", "could not be shown"),
            ("  ", "is empty"),
            ("ls", "Nothing was changed"),
        ):
            await fill(world, {"command": (bad,)})
            await told(world, words)
        await press(world, "Back")
        await press(world, "Allow once")
        await world.sees("all done")
        assert world.agent.last.answers[0].input is None


async def test_a_new_file_can_be_edited_before_it_is_written(tmp_path: Path) -> None:
    body = PermissionRequest(
        "a",
        "Write notes.txt",
        kind="edit",
        name="Write",
        input={"file_path": "notes.txt", "content": "one\ntwo\n"},
        diffs=(Diff("notes.txt", None, "one\ntwo\n"),),
        options=OPTIONS,
    )
    async with World(tmp_path, asks(body)) as world:
        await world.chat.says("go")
        await press(world, "Edit")
        await fill(world, {"content": ("one\r\n2\n",)})
        await world.sees("New text: one\n2\n")
        await press(world, "Allow as edited")
        await world.sees("all done")
        assert world.agent.last.answers[0].input == {"file_path": "notes.txt", "content": "one\n2\n"}


async def test_an_agent_that_takes_no_edits_is_not_offered_one(tmp_path: Path) -> None:
    world = World(tmp_path, asks(wants("ls")))
    world.agent.capabilities = replace(world.agent.capabilities, edited_input=False)
    async with world:
        await world.chat.says("go")
        ref, _ = await card(world)
        assert "Edit" not in world.chat.labels()
        ask = (await world.store.asks.open())[0]
        await world.chat.press_data(ref, f"ask:{ask.id}:edit")
        await told(world, "This cannot be edited here")


async def test_nobody_edits_what_they_may_not_answer(tmp_path: Path) -> None:
    async with World(tmp_path, asks(wants("ls"))) as world:
        await world.chat.says("go")
        await press(world, "Edit", who="3")
        await told(world, "You may not answer this")
        await press(world, "Edit")
        await fill(world, {"command": ("ls -l",)}, who="3")
        await world.until(lambda: sum("You may not answer" in text for _, text in world.chat.acks) == 2)
        assert await world.store.drafts.get((await world.store.asks.open())[0].id) is None


async def test_a_draft_outlives_the_process(tmp_path: Path) -> None:
    async with World(tmp_path, asks(wants("ls"))) as world:
        await world.chat.says("go")
        await press(world, "Edit")
        await fill(world, {"command": ("ls -l",)})
        await world.sees("As user1 edited it")
        ask = (await world.store.asks.open())[0].id
        kept = await world.store.drafts.get(ask)
        await world.crash()
    async with World(tmp_path, asks(wants("ls"))) as world:
        assert await world.store.drafts.get(ask) == kept


# ── several questions ────────────────────────────────────────────────────────────────────────────────

QUESTIONS = Question(
    "a",
    (
        QuestionItem("db", "Which database?", "Database", (QuestionOption("SQLite"), QuestionOption("Postgres"))),
        QuestionItem(
            "parts",
            "Which parts?",
            "Parts",
            (QuestionOption("API"), QuestionOption("UI"), QuestionOption("Docs")),
            multiple=True,
        ),
        QuestionItem("name", "What is it called?", "Name"),
    ),
)


async def test_several_questions_are_asked_one_by_one_where_there_are_no_forms(tmp_path: Path) -> None:
    async with without_forms(tmp_path, asks(QUESTIONS)) as world:
        await world.chat.says("go")
        await world.sees("The agent asks (1 of 3)")
        await press(world, "Postgres")
        await world.sees("The agent asks (2 of 3)")
        await press(world, "API")
        await press(world, "Docs")
        await world.until(lambda: {"✓ API", "✓ Docs"} <= set(world.chat.labels()))
        await press(world, "✓ API")
        await world.until(lambda: "API" in world.chat.labels())
        await press(world, "Next")
        await world.sees("The agent asks (3 of 3)")
        ref, _ = await card(world)
        await world.chat.says("Shop", reply_to=ref.message)
        await world.sees("Your answers")
        assert world.chat.shows("Database: Postgres\nParts: Docs\nName: Shop")
        await press(world, "Send")
        await world.sees("all done")
        assert world.agent.last.answers[0].fields == {"db": ("Postgres",), "parts": ("Docs",), "name": ("Shop",)}


async def test_the_way_back_changes_an_answer_and_an_older_send_button_sends_nothing(tmp_path: Path) -> None:
    async with without_forms(tmp_path, asks(QUESTIONS)) as world:
        await world.chat.says("go")
        await press(world, "SQLite")
        await press(world, "UI")
        await press(world, "Next")
        ref, _ = await card(world)
        await world.until(lambda: world.chat.shows("(3 of 3)"))
        await world.chat.says("Shop", reply_to=ref.message)
        await world.sees("Your answers")
        _, shown = await card(world)
        older = next(b.data for row in shown.buttons for b in row if b.label == "Send")
        for place in ("(3 of 3)", "(2 of 3)", "(1 of 3)"):
            await press(world, "Back")
            await world.sees(place)
        await press(world, "Postgres")
        await world.sees("(2 of 3)")
        await world.chat.press_data(ref, older)
        await told(world, "The answers have changed")
        assert world.agent.last.answers == []
        await press(world, "Send")
        await world.sees("all done")
        assert world.agent.last.answers[0].fields["db"] == ("Postgres",)


async def test_a_form_takes_words_of_ones_own_beside_the_choices(tmp_path: Path) -> None:
    item = QuestionItem("q", "Which?", options=(QuestionOption("A"), QuestionOption("B")), free_text=True)
    async with World(tmp_path, asks(Question("a", (item,)))) as world:
        await world.chat.says("go")
        await fill(world, {"q": ("A",), "q.own": ("neither, do C",)})
        await world.sees("all done")
        assert world.agent.last.answers[0].fields == {"q": ("neither, do C",)}


async def test_what_was_asked_for_in_secret_is_not_shown_to_everybody(tmp_path: Path) -> None:
    item = QuestionItem("pin", "The PIN?", secret=True)
    async with World(tmp_path, asks(Question("a", (item,)))) as world:
        await world.chat.says("go")
        await fill(world, {"pin": ("4711-0815",)})
        await world.sees(". ••••")
        assert not world.chat.shows("4711-0815")
        assert all("4711" not in str(line.detail) for line in await world.store.audit.recent(50))
        assert world.agent.last.answers[0].fields == {"pin": ("4711-0815",)}


# ── plans and logins ─────────────────────────────────────────────────────────────────────────────────


async def test_a_plan_is_approved_with_a_mode_or_sent_back_with_a_comment(tmp_path: Path) -> None:
    options = (
        AskOption("default", "Approve", "allow_once"),
        AskOption("acceptEdits", "Approve and accept edits", "allow_always"),
        AskOption("plan", "Keep planning", "reject_once"),
    )
    async with World(tmp_path, asks(PlanReview("a", "1. look\n2. leap", options))) as world:
        await world.chat.says("go")
        await press(world, "Approve and accept edits")
        await world.sees("Allowed (Approve and accept edits) by user1")
        assert world.agent.last.answers[0].option == "acceptEdits"
    for folder, make in ((tmp_path / "2", World), (tmp_path / "3", without_forms)):
        async with make(folder, asks(PlanReview("a", "1. leap", options))) as world:
            await world.chat.says("go")
            await press(world, "Say what to change")
            if make is World:
                await fill(world, {"reason": ("look first",)})
            else:
                await reply(world, "look first")
            await world.sees("all done")
            (answer,) = world.agent.last.answers
            assert (answer.verdict, answer.option, answer.text) == ("deny", "plan", "look first")


async def test_a_login_shows_where_and_with_which_code_and_only_an_owner_settles_it(tmp_path: Path) -> None:
    body = LoginRequest("a", "Your subscription is asked for.", "https://example.org/device", "ABCD-1234")
    async with World(tmp_path, asks(body)) as world:
        await world.chat.says("go")
        await world.sees("https://example.org/device")
        assert world.chat.shows("ABCD-1234")
        assert world.chat.shows("May answer: any owner")
        await press(world, "I have logged in", who="2")
        await told(world, "You may not answer this")
        await press(world, "I have logged in")
        await world.sees("all done")
        assert world.agent.last.answers[0].verdict == "allow"


async def test_the_code_that_a_login_page_gives_goes_back_to_the_agent_and_nowhere_else(tmp_path: Path) -> None:
    body = LoginRequest("a", url="https://example.org/login", wants_code=True)
    async with World(tmp_path, asks(body)) as world:
        await world.chat.says("go")
        await fill(world, {"code": ("zx81-code",)})
        await world.sees("all done")
        assert world.agent.last.answers[0].fields == {"code": ("zx81-code",)}
        assert not world.chat.shows("zx81")
        assert all("zx81" not in str(line.detail) for line in await world.store.audit.recent(50))
    async with without_forms(tmp_path / "2", asks(body)) as world:
        await world.chat.says("go")
        ref, _ = await card(world)
        await world.chat.says("zx81-code", reply_to=ref.message)
        await world.sees("all done")
        assert world.agent.last.answers[0].fields == {"code": ("zx81-code",)}


# ── the whole of it, and whose it is ─────────────────────────────────────────────────────────────────


async def test_a_request_too_long_for_a_card_comes_whole_as_a_file(tmp_path: Path) -> None:
    command = "\n".join(f"echo line {number}" for number in range(2000))
    async with World(tmp_path, asks(wants(command))) as world:
        await world.chat.says("go")
        await world.until(lambda: "request.txt" in world.chat.sent_files)
        assert command in world.chat.sent_files["request.txt"].decode()
        _, shown = await card(world)
        assert world.chat.shows("more lines, in the file")
        assert len(str(shown.blocks)) < 5000
        await press(world, "Allow for…")
        await press(world, "Back")
        await press(world, "Allow once")
        await world.sees("all done")
        assert [call.text for call in world.chat.calls if call.what == "upload"] == ["request.txt"]


async def test_a_project_says_itself_who_may_answer(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    project = Project(
        name="shop", path=tmp_path / "project", adapter="scripted", dangerous=AskPolicy(who=("user2",))
    )
    async with World(tmp_path, asks(wants("sudo rm -rf /")), projects=[project]) as world:
        await world.chat.says("go")
        await world.sees("May answer: user2")
        await press(world, "Allow once")
        await told(world, "Only user2 may answer this")
        await press(world, "Allow once", who="2")
        await world.sees("all done")


async def test_a_settled_card_still_says_what_was_risky(tmp_path: Path) -> None:
    async with World(tmp_path, asks(wants("sudo rm -rf /"))) as world:
        await world.chat.says("go")
        await press(world, "Allow once")
        await world.sees("Allowed by user1")
        _, shown = await card(world)
        assert "Careful" in str(shown.blocks)
        assert not shown.buttons


async def test_a_stranger_who_presses_is_told_alone_and_noted(tmp_path: Path) -> None:
    async with World(tmp_path, asks(wants("ls"))) as world:
        await world.chat.says("go")
        await press(world, "Allow once", who="999")
        await told(world, "This is not for you")
        lines = [line for line in await world.store.audit.recent(20) if line.what == "press_refused"]
        assert [line.who for line in lines] == ["fake/999"]
        assert world.agent.last.answers == []
