"""Earlier conversations are found by their folder, with a title a person recognises; moved ids lead on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from adapters.claude.resumable import Memory, begun_in, projects_folder, room_for, sessions_of, slug
from tests.test_adapters.claude_fake_world import adapter

ONE, TWO, THREE = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "123")


def transcript(projects: Path, folder: Path, id: str, *lines: dict[str, Any], at: float = 1000.0) -> Path:
    there = projects / slug(folder)
    there.mkdir(parents=True, exist_ok=True)
    path = there / f"{id}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    os.utime(path, (at, at))
    return path


def user(text: Any, folder: Path, **more: Any) -> dict[str, Any]:
    return {"type": "user", "cwd": str(folder), "message": {"role": "user", "content": text}, **more}


def test_sessions_are_listed_newest_first_with_title_folder_and_age(tmp_path: Path) -> None:
    folder, projects = tmp_path / "my.project", tmp_path / "projects"
    transcript(projects, folder, ONE, {"type": "queue-operation"}, user("Paint  it\nblue", folder), at=1000)
    blocks = [{"type": "text", "text": "<system-reminder>x"}, {"type": "text", "text": "Second"}]
    transcript(projects, folder, TWO, user(blocks, folder), at=2000)
    found = sessions_of(folder, projects)
    assert [(one.agent_session, one.title, one.folder, one.at) for one in found] == [
        (TWO, "Second", str(folder), 2000.0),
        (ONE, "Paint it blue", str(folder), 1000.0),
    ]


def test_a_title_that_was_given_counts_more_than_the_first_prompt(tmp_path: Path) -> None:
    folder, projects = tmp_path / "p", tmp_path / "projects"
    filler = [{"type": "assistant", "text": "x" * 1000}] * 300
    names = (
        {"type": "ai-title", "aiTitle": "By the model"},
        {"type": "custom-title", "customTitle": "By a person"},
    )
    transcript(projects, folder, ONE, user("first", folder), *filler, *names)
    transcript(projects, folder, TWO, user("first", folder), *filler, names[0])
    assert {one.agent_session: one.title for one in sessions_of(folder, projects)} == {
        ONE: "By a person",
        TWO: "By the model",
    }


def test_what_is_no_conversation_is_left_out(tmp_path: Path) -> None:
    folder, projects = tmp_path / "p", tmp_path / "projects"
    transcript(projects, folder, "agent-1234", user("a subagent", folder))
    transcript(projects, folder, ONE, {"type": "summary"}, user("<command-name>/clear", folder))
    transcript(projects, folder, TWO, user("meta", folder, isMeta=True), user("side", folder, isSidechain=True))
    broken = transcript(projects, folder, THREE)
    broken.write_bytes(b"\xff\xfe not json\n{}\n[1]\n")
    assert sessions_of(folder, projects) == []
    assert sessions_of(tmp_path / "never", projects) == []


def test_two_folders_whose_names_look_alike_are_kept_apart(tmp_path: Path) -> None:
    dotted, dashed, projects = tmp_path / "a.b", tmp_path / "a-b", tmp_path / "projects"
    transcript(projects, dotted, ONE, user("dotted", dotted))
    transcript(projects, dashed, TWO, user("dashed", dashed))
    assert [one.title for one in sessions_of(dotted, projects)] == ["dotted"]
    assert [one.title for one in sessions_of(dashed, projects)] == ["dashed"]


def test_a_long_title_is_cut(tmp_path: Path) -> None:
    folder, projects = tmp_path / "p", tmp_path / "projects"
    transcript(projects, folder, ONE, user("word " * 100, folder))
    (found,) = sessions_of(folder, projects)
    assert len(found.title) == 80
    assert found.title.endswith("…")


def test_where_a_session_was_begun(tmp_path: Path) -> None:
    folder, projects = tmp_path / "p", tmp_path / "projects"
    transcript(projects, folder, ONE, user("hello", folder))
    assert begun_in(ONE, projects) == str(folder)
    assert begun_in(TWO, projects) == ""
    assert begun_in("../../etc/passwd", projects) == ""


def test_the_place_follows_the_environment(tmp_path: Path) -> None:
    assert projects_folder({"CLAUDE_CONFIG_DIR": "/c"}) == Path("/c/projects")
    assert projects_folder({"HOME": "/h"}) == Path("/h/.claude/projects")
    assert projects_folder({}) == Path.home() / ".claude" / "projects"


def test_the_room_is_that_of_the_nearest_folder_that_is_there(tmp_path: Path) -> None:
    assert room_for(tmp_path / "not" / "yet") > 0
    assert room_for(tmp_path) > 0


async def test_the_adapter_lists_what_is_in_its_own_place(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    transcript(tmp_path / ".claude" / "projects", folder, ONE, user("from the terminal", folder))
    (found,) = await adapter(tmp_path).list_resumable(folder)
    assert (found.agent_session, found.title) == (ONE, "from the terminal")


def test_a_moved_id_leads_on_also_after_a_restart(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    assert memory.newest(ONE) == ONE
    memory.moved(ONE, TWO)
    memory.moved(TWO, THREE)
    memory.moved(THREE, THREE)
    assert memory.newest(ONE) == THREE
    assert memory.blank(THREE)
    memory.spoken(THREE)
    assert not memory.blank(THREE)
    assert Memory(tmp_path).newest(ONE) == THREE
    (tmp_path / "moved.json").write_text("no json")
    assert Memory(tmp_path).newest(ONE) == ONE


def test_ids_that_move_in_a_circle_end(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.moved(ONE, TWO)
    memory.moved(TWO, ONE)
    assert memory.newest(ONE) in (ONE, TWO)
