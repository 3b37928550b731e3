"""More on demand: what a turn did, what it changed, a file, the last answer, and a word when a long turn ends."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from beambot.flow.commands import show
from beambot.model.bodies import Diff, Result, TextDelta, ToolEnded, ToolOutput, ToolStarted
from beambot.model.outbound import AnyOutBlock, Change, Markdown, Notice, Outgoing, Tools, block_text
from beambot.model.settings import Rendering
from beambot.testing.clock import FakeClock
from beambot.testing.platform import FULL, FakePlatform
from beambot.testing.scripted import Emit, Pause
from beambot.testing.world import World

UNIFIED = "@@ -1,2 +1,2 @@\n-old line\n+new line\n same"
WORK = [
    Emit(TextDelta("I look first. ")),
    Emit(ToolStarted("t1", "bash", title="pytest -q", kind="execute", input={"command": "pytest -q"})),
    Emit(ToolOutput("t1", "\x1b[32m3 passed\x1b[0m in 0.1s\n")),
    Emit(ToolEnded("t1")),
    Emit(ToolStarted("t2", "edit", title="edit app.py", kind="edit")),
    Emit(Diff("app.py", unified=UNIFIED, tool="t2", added=1, removed=1)),
    Emit(ToolEnded("t2")),
    Emit(TextDelta("All **done** now.")),
    Emit(Result()),
]


def world_of(tmp_path: Path, script: list[object], **changes: object) -> World:
    clock = FakeClock()
    chat = FakePlatform(clock, capabilities=replace(FULL, **changes))
    return World(tmp_path, script, clock=clock, platforms=[chat])


async def done(world: World) -> None:
    await world.chat.says("go")
    await world.until(lambda: "Details" in world.chat.labels())
    await world.quiet()


def uploads(chat: FakePlatform) -> list[str]:
    return [call.text for call in chat.calls if call.what == "upload"]


def newest(chat: FakePlatform) -> Outgoing:
    return chat.messages()[-1][1]


async def test_details_show_each_tool_with_what_it_said_in_clean_text(tmp_path: Path) -> None:
    async with World(tmp_path, WORK) as world:
        await done(world)
        await world.chat.presses("Details")
        await world.sees("3 passed in 0.1s")
        assert world.chat.shows("`pytest -q`")
        assert not world.chat.shows("\x1b")
        assert uploads(world.chat) == []


async def test_long_details_are_shortened_and_the_whole_is_a_file(tmp_path: Path) -> None:
    lines = "".join(f"line {number}\n" for number in range(400))
    script = [
        Emit(ToolStarted("t", "bash", title="make")),
        Emit(ToolOutput("t", lines)),
        Emit(ToolEnded("t")),
        Emit(Result()),
    ]
    async with World(tmp_path, script) as world:
        await done(world)
        await world.chat.says("/details")
        await world.until(lambda: uploads(world.chat) == ["details.md"])
        assert world.chat.shows("388 more lines")
        assert world.chat.shows("line 399")
        sent = world.chat.sent_files["details.md"].decode()
        assert all(f"line {number}\n" in sent for number in range(400))


def many_tools(count: int) -> list[object]:
    tools = [
        step
        for number in range(count)
        for step in (
            Emit(ToolStarted(f"t{number}", "bash", title=f"command {number}")),
            Emit(ToolEnded(f"t{number}", text="a line of its output\n" * 10)),
        )
    ]
    return [*tools, Emit(Result())]


async def test_of_many_tools_only_what_is_shown_is_laid_out_and_nothing_is_told_in_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out: list[int] = []
    threads: set[threading.Thread] = set()
    paginate, told = show.paginate, show.told

    def noting_pages(text: str, *args: object, **more: object) -> object:
        laid_out.append(len(text))
        return paginate(text, *args, **more)

    def noting_threads(*args: object, **more: object) -> str:
        threads.add(threading.current_thread())
        return told(*args, **more)

    monkeypatch.setattr(show, "paginate", noting_pages)
    monkeypatch.setattr(show, "told", noting_threads)
    async with World(tmp_path, many_tools(500)) as world:
        await done(world)
        before = len(world.chat.messages())
        await world.chat.says("/details")
        await world.until(lambda: uploads(world.chat) == ["details.md"])
        assert max(laid_out) <= 8 * FULL.text_limit
        assert threads
        assert threading.main_thread() not in threads
        assert len(world.chat.messages()) == before + 3
        assert world.chat.screen()[-1].endswith("The whole is in details.md.")
        assert b"command 499" in world.chat.sent_files["details.md"]


async def test_a_file_is_never_larger_than_the_chat_takes(tmp_path: Path) -> None:
    async with world_of(tmp_path, many_tools(100), upload_bytes=5000) as world:
        await done(world)
        await world.chat.says("/details")
        await world.until(lambda: uploads(world.chat) == ["details.md"])
        sent = world.chat.sent_files["details.md"]
        assert 4000 < len(sent) <= 5000
        assert b"cut here" in sent.splitlines()[-1]


async def test_a_chat_without_files_is_not_flooded_with_details(tmp_path: Path) -> None:
    async with world_of(tmp_path, many_tools(500), upload_bytes=0) as world:
        await done(world)
        before = len(world.chat.messages())
        await world.chat.says("/details")
        await world.sees("There is more than is shown here.", seconds=20)
        assert len(world.chat.messages()) == before + 12


async def test_diff_is_coloured_text_where_the_chat_has_it(tmp_path: Path) -> None:
    async with world_of(tmp_path, WORK, coloured_diff=True) as world:
        await done(world)
        await world.chat.presses("Changes")
        await world.sees("app.py +1 −1")
        (change,) = [block for block in newest(world.chat).blocks if isinstance(block, Change)]
        assert change.unified == UNIFIED
        assert uploads(world.chat) == []


async def test_diff_is_a_picture_with_a_summary_where_the_chat_has_no_colours(tmp_path: Path) -> None:
    async with World(tmp_path, WORK) as world:
        await done(world)
        await world.chat.says("/diff app.py")
        await world.until(lambda: uploads(world.chat) == ["changes.png"])
        assert world.chat.sent_files["changes.png"].startswith(b"\x89PNG")
        assert "app.py +1 −1" in world.chat.captions["changes.png"]


async def test_a_large_change_is_summed_up_and_goes_as_a_file_too(tmp_path: Path) -> None:
    old, new = ("\n".join(f"{word} {n}" for n in range(200)) for word in ("old", "new"))
    script = [
        Emit(ToolStarted("t", "edit", title="edit")),
        Emit(Diff("big.txt", old=old, new=new, tool="t", added=200, removed=200)),
        Emit(ToolEnded("t")),
        Emit(Result()),
    ]
    async with World(tmp_path, script) as world:
        await done(world)
        await world.chat.says("/diff")
        await world.until(lambda: uploads(world.chat) == ["changes.png", "changes.diff"])
        assert world.chat.sent_files["changes.diff"].count(b"\n+new ") == 200


def added(count: int, width: int = 40) -> str:
    return f"@@ -0,0 +1,{count} @@\n" + "\n".join(f"+{f'row {n} ':x<{width}}" for n in range(count))


def edits(*changes: Diff) -> list[object]:
    start = Emit(ToolStarted("t", "edit", title="edit"))
    return [start, *map(Emit, changes), Emit(ToolEnded("t")), Emit(Result())]


def sizes(chat: FakePlatform, first: int) -> list[int]:
    return [sum(chat.measure(block) + 2 for block in m.blocks) for _, m in chat.messages()[first:]]


async def test_three_thousand_changed_files_are_a_few_short_messages_and_a_file(tmp_path: Path) -> None:
    script = edits(*(Diff(f"a/long/path/to/file{n}.bin", unified="") for n in range(3000)))
    async with world_of(tmp_path, script, coloured_diff=True) as world:
        await done(world)
        before = len(world.chat.messages())
        await world.chat.says("/diff")
        await world.until(lambda: uploads(world.chat) == ["changes.diff"])
        assert len(world.chat.messages()) == before + 3
        assert max(sizes(world.chat, before)) <= FULL.text_limit
        assert "3000 files" in world.chat.screen()[-1]
        assert world.chat.screen()[-1].endswith("The whole is in changes.diff.")
        assert world.chat.sent_files["changes.diff"].count(b"+++ ") == 3000


async def test_changes_that_fit_several_messages_are_all_shown_and_need_no_file(tmp_path: Path) -> None:
    script = edits(*(Diff(f"f{n}.py", unified=added(10)) for n in range(12)))
    async with world_of(tmp_path, script, coloured_diff=True, text_limit=3000) as world:
        await done(world)
        before = len(world.chat.messages())
        await world.chat.says("/diff")
        await world.sees("12 files, +120 −0")
        await world.quiet()
        shown = [b for _, m in world.chat.messages()[before:] for b in m.blocks if isinstance(b, Change)]
        assert [block.path for block in shown] == [f"f{n}.py" for n in range(12)]
        assert max(sizes(world.chat, before)) <= 3000
        assert uploads(world.chat) == []


@pytest.mark.parametrize("unified", [added(59, 100), added(3, 5000), added(400)])
async def test_a_change_that_does_not_fit_whole_is_shown_in_part_and_comes_as_a_file(
    tmp_path: Path, unified: str
) -> None:
    async with world_of(tmp_path, edits(Diff("a.py", unified=unified)), coloured_diff=True) as world:
        await done(world)
        before = len(world.chat.messages())
        await world.chat.says("/diff")
        await world.until(lambda: uploads(world.chat) == ["changes.diff"])
        assert world.chat.shows("row 0")
        assert max(sizes(world.chat, before)) <= FULL.text_limit
        assert unified.encode() in world.chat.sent_files["changes.diff"]


class Shortening(FakePlatform):
    """A chat that shows thirty rows of a change, each up to eighty characters, and says so."""

    def measure(self, block: AnyOutBlock) -> int:
        if isinstance(block, Change):
            rows = [row[:80] for row in block.unified.split("\n")]
            more = [f"… {len(rows) - 30} more lines"] if len(rows) > 30 else []
            block = replace(block, unified="\n".join(rows[:30] + more))
        return len(block_text(block))


@pytest.mark.parametrize(
    ("unified", "files"),
    [
        (added(50), ["changes.diff"]),
        (added(29) + "\n+", ["changes.diff"]),
        (added(3, 81), ["changes.diff"]),
        (added(20, 60), []),
    ],
)
async def test_a_chat_that_shortens_a_change_by_itself_gets_the_whole_as_a_file(
    tmp_path: Path, unified: str, files: list[str]
) -> None:
    clock = FakeClock()
    chat = Shortening(clock, capabilities=replace(FULL, coloured_diff=True))
    async with World(tmp_path, edits(Diff("a.py", unified=unified)), clock=clock, platforms=[chat]) as world:
        await done(world)
        before = len(chat.messages())
        await chat.says("/diff")
        await world.until(lambda: len(chat.messages()) > before and uploads(chat) == files)
        await world.quiet()
        assert uploads(chat) == files


@pytest.mark.parametrize(
    ("unified", "files"),
    [(added(20, 50), ["changes.png"]), (added(20, 300), ["changes.png", "changes.diff"])],
)
async def test_a_picture_that_cannot_hold_all_of_a_change_comes_with_a_file(
    tmp_path: Path, unified: str, files: list[str]
) -> None:
    async with World(tmp_path, edits(Diff("a.py", unified=unified))) as world:
        await done(world)
        await world.chat.says("/diff .")
        await world.until(lambda: uploads(world.chat) == files)
        await world.quiet()
        assert uploads(world.chat) == files


async def test_a_chat_without_files_gets_text(tmp_path: Path) -> None:
    async with world_of(tmp_path, WORK, upload_bytes=0) as world:
        await done(world)
        await world.chat.says("/diff")
        await world.sees("+new line")
        await world.chat.says("/file app.py")
        await world.sees("takes no files")


@pytest.mark.parametrize(
    ("command", "seen"),
    [
        ("/details", "There is no session"),
        ("/diff", "There is no session"),
        ("/last", "There is no session"),
        ("/file x", "There is no session"),
    ],
)
async def test_without_a_session_there_is_nothing_to_show(tmp_path: Path, command: str, seen: str) -> None:
    async with World(tmp_path, WORK) as world:
        await world.chat.says(command)
        await world.sees(seen)


async def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    async with World(tmp_path, [Emit(TextDelta("only words")), Emit(Result())]) as world:
        await world.chat.says("go")
        await world.sees("only words")
        await world.quiet()
        await world.chat.says("/details")
        await world.sees("used no tools")
        await world.chat.says("/diff")
        await world.sees("Nothing was changed yet.")
        await world.chat.says("/details nonsense")
        await world.sees("There is no such turn")


async def test_a_diff_of_a_file_that_was_not_changed_names_those_that_were(tmp_path: Path) -> None:
    async with World(tmp_path, WORK) as world:
        await done(world)
        await world.chat.says("/diff other.py")
        await world.sees("Changed: app.py")


async def test_last_repeats_the_answer_and_not_the_way_to_it(tmp_path: Path) -> None:
    async with World(tmp_path, WORK) as world:
        await done(world)
        before = len(world.chat.messages())
        await world.chat.says("/last")
        await world.until(lambda: len(world.chat.messages()) > before)
        await world.quiet()
        (block,) = newest(world.chat).blocks
        assert block == Markdown("All **done** now.")


async def test_a_file_of_the_project_is_sent_and_noted(tmp_path: Path) -> None:
    async with World(tmp_path, WORK) as world:
        await done(world)
        (tmp_path / "project" / "src").mkdir()
        (tmp_path / "project" / "src" / "app.py").write_text("print(1)\n")
        await world.chat.says("/file src/app.py")
        await world.until(lambda: uploads(world.chat) == ["app.py"])
        assert world.chat.sent_files["app.py"] == b"print(1)\n"
        assert "file_sent" in [line.what for line in await world.store.audit.recent(5)]
        await world.until(lambda: not list((tmp_path / "files" / "out").iterdir()))


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("", "Write the path behind the command"),
        ("nowhere.py", "There is no file"),
        ("../secret.txt", "out of the project"),
        ("/etc/passwd", "out of the project"),
        ("link.txt", "out of the project"),
        (".env", "may hold secrets"),
        (".env.local", "may hold secrets"),
        ("id_rsa", "may hold secrets"),
        ("server.pem", "may hold secrets"),
        (".git/config", "may hold secrets"),
        ("innocent.txt", "may hold secrets"),
        ("token.txt", "looks like a key or a token"),
        ("src", "is a folder. In it: app.py"),
        ("big.bin", "larger than"),
        ("x\0y", "There is no file"),
    ],
)
async def test_a_file_that_must_stay_at_home_stays(tmp_path: Path, path: str, seen: str) -> None:
    async with world_of(tmp_path, WORK, upload_bytes=1000) as world:
        await done(world)
        project = tmp_path / "project"
        (tmp_path / "secret.txt").write_text("x")
        (project / "src").mkdir()
        (project / ".git").mkdir()
        for name in ("src/app.py", ".env", ".env.local", "id_rsa", "server.pem", ".git/config"):
            (project / name).write_text("x")
        (project / "link.txt").symlink_to(tmp_path / "secret.txt")
        (project / "innocent.txt").symlink_to(project / ".env")
        (project / "token.txt").write_text("key = sk-" + "a" * 40)
        (project / "big.bin").write_bytes(b"x" * 2000)
        await world.chat.says(f"/file {path}")
        await world.sees(seen)
        assert uploads(world.chat) == []


async def test_a_picture_that_is_too_large_for_the_chat_is_text_instead(tmp_path: Path) -> None:
    async with world_of(tmp_path, WORK, upload_bytes=1000) as world:
        await done(world)
        await world.chat.says("/diff")
        await world.sees("+new line")
        await world.quiet()
        assert uploads(world.chat) == []


async def test_a_strange_path_makes_no_strange_name_and_no_strange_caption(tmp_path: Path) -> None:
    async with World(tmp_path, WORK) as world:
        await done(world)
        (tmp_path / "project" / "src").mkdir()
        (tmp_path / "project" / "src" / "a\n◈ \u202eb.txt").write_text("x")
        await world.chat.says("/file src/../src/a\n◈ \u202eb.txt")
        await world.until(lambda: uploads(world.chat) == ["a ◇ \ufffdb.txt"])
        assert world.chat.captions == {"a ◇ \ufffdb.txt": "src/../src/a ◇ \ufffdb.txt"}


async def test_observers_get_no_files(tmp_path: Path) -> None:
    async with World(tmp_path, WORK) as world:
        await done(world)
        (tmp_path / "project" / "app.py").write_text("x")
        await world.chat.says("/file app.py", who="4")
        await world.sees("takes the role participant")
        assert uploads(world.chat) == []


async def test_a_file_that_waits_survives_a_restart(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = FakePlatform(clock)
    async with World(tmp_path, WORK, clock=clock, platforms=[chat]) as first:
        await done(first)
        (tmp_path / "project" / "app.py").write_text("print(1)\n")
        chat.down = True
        await chat.says("/file app.py")
        await first.until(lambda: any((tmp_path / "files").glob("out/*")))
        await first.until(lambda: any(lane.rows for lane in first.rooms.house.delivery.lanes))
        await first.crash()
    chat.down = False
    async with World(tmp_path, WORK, clock=clock, platforms=[chat]) as second:
        await second.until(lambda: uploads(chat) == ["app.py"])


async def test_a_start_sweeps_files_that_nothing_waits_for(tmp_path: Path) -> None:
    clock = FakeClock()
    chat = FakePlatform(clock)
    out = tmp_path / "files" / "out"
    async with World(tmp_path, WORK, clock=clock, platforms=[chat]) as first:
        await done(first)
        (tmp_path / "project" / "app.py").write_text("print(1)\n")
        chat.down = True
        await chat.says("/file app.py")
        await first.until(lambda: any(lane.rows for lane in first.rooms.house.delivery.lanes))
        await first.crash()
    (waiting,) = out.iterdir()
    (out / "left").write_text("x")
    for path in (waiting, out / "left"):
        os.utime(path, (0, 0))
    async with World(tmp_path, WORK, clock=clock, platforms=[chat]) as second:
        assert [*out.iterdir()] == [waiting]
        chat.down = False
        await second.until(lambda: uploads(chat) == ["app.py"])


# ── the end of a long turn ───────────────────────────────────────────────────────────────────────────

LONG = [
    Emit(TextDelta("Working on it. ")),
    *(
        step
        for n in range(6)
        for step in (Emit(ToolStarted(f"t{n}", "run", title=f"step {n}")), Emit(ToolEnded(f"t{n}")))
    ),
    Pause(90),
    Emit(TextDelta("The answer is 42.")),
    Emit(Result()),
]


def loud(chat: FakePlatform) -> list[Outgoing]:
    return [message for _, message in chat.messages() if message.loud]


async def test_the_end_of_a_long_turn_is_a_new_loud_message_and_the_work_folds(tmp_path: Path) -> None:
    async with World(tmp_path, LONG) as world:
        message = await world.chat.says("go")
        await world.until(lambda: bool(loud(world.chat)), seconds=20)
        await world.quiet()
        (end,) = loud(world.chat)
        assert end is newest(world.chat)
        assert isinstance(end.blocks[0], Notice)
        assert end.blocks[0].text == "Done after 2 min."
        assert end.blocks[1] == Markdown("The answer is 42.")
        assert end.reply_to == ""
        assert message
        (work,) = [block for block in world.chat.messages()[0][1].blocks if isinstance(block, Tools)]
        assert [line.title for line in work.lines] == ["6 steps"]
        assert world.chat.shows("Working on it.")
        assert world.chat.shows("The answer is 42.")


@pytest.mark.parametrize(("how", "reply", "mention"), [("reply", True, ""), ("mention", True, "1")])
async def test_each_person_chooses_how_they_are_told(tmp_path: Path, how: str, reply: bool, mention: str) -> None:
    async with World(tmp_path, LONG) as world:
        await world.chat.says(f"/notify {how}")
        await world.sees("is told like this")
        message = await world.chat.says("go")
        await world.until(lambda: bool(loud(world.chat)), seconds=20)
        (end,) = loud(world.chat)
        assert end.reply_to == (message if reply else "")
        assert end.mention == mention


async def test_who_wants_to_hear_nothing_hears_nothing(tmp_path: Path) -> None:
    async with World(tmp_path, LONG) as world:
        await world.chat.says("/notify loudly")
        await world.sees("There is no way 'loudly'")
        await world.chat.presses("not at all")
        await world.sees("told like this: not at all")
        await world.chat.says("go")
        await world.until(lambda: world.chat.shows("The answer is 42."), seconds=20)
        await world.quiet()
        assert loud(world.chat) == []


async def test_a_short_turn_makes_no_sound(tmp_path: Path) -> None:
    async with World(tmp_path, WORK) as world:
        await done(world)
        assert loud(world.chat) == []


# ── very long answers ────────────────────────────────────────────────────────────────────────────────


async def test_an_answer_beyond_all_measure_ends_as_a_file_beside_its_beginning_and_end(tmp_path: Path) -> None:
    words = [f"w{number} " for number in range(3000)]
    script = [*(Emit(TextDelta("".join(words[n : n + 100]))) for n in range(0, 3000, 100)), Emit(Result())]
    clock = FakeClock()
    chat = FakePlatform(clock, capabilities=replace(FULL, text_limit=1000))
    rendering = Rendering(file_above=5000)
    async with World(tmp_path, script, clock=clock, platforms=[chat], rendering=rendering) as world:
        await chat.says("go")
        await world.until(lambda: uploads(chat) == ["answer.md"], seconds=20)
        await world.quiet()
        assert len(chat.messages()) <= 12
        assert chat.shows("w0 ")
        assert chat.shows("w2999")
        assert chat.shows("characters are left out here. The whole answer comes as a file.")
        assert chat.sent_files["answer.md"].decode() == "".join(words).strip("\n")
        assert all(len(page) <= 1000 for page in chat.screen())
