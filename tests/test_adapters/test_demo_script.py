"""The words of a prompt, in any order, become steps in that order."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.demo.history import History
from adapters.demo.script import WORDS, Step, explain, is_fast, parse
from adapters.demo.steps import STEPS


@pytest.mark.parametrize(
    ("prompt", "steps"),
    [
        ("hello", []),
        ("words 40", [Step("words", "40")]),
        ("in other words, swords 3", []),
        (
            "write a.txt, run ls -l | wc then plan",
            [Step("write", "a.txt"), Step("run", "ls -l | wc"), Step("plan")],
        ),
        ("run echo ask\nmarkdown", [Step("run", "echo ask"), Step("markdown")]),
        ("Slow 2.5 FAIL", [Step("slow", "2.5"), Step("fail")]),
        ("slow please", [Step("slow", "5")]),
        ("think team ask crash", [Step("think"), Step("team"), Step("ask"), Step("crash")]),
        ("a task, fail-safe", []),
    ],
)
def test_a_prompt_becomes_steps(prompt: str, steps: list[Step]) -> None:
    assert parse(prompt) == steps


def test_every_word_is_explained_and_done() -> None:
    named = {word.split()[0] for word in WORDS} - {"fast"}
    assert named == set(STEPS)
    assert all(word in explain() for word in named)
    assert is_fast("words 3 fast")
    assert not is_fast("breakfast")


def test_a_history_cut_short_by_a_kill_is_read_to_its_last_whole_line(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.create("abcdefgh", "/repo")
    history.append("abcdefgh", "user", "hi")
    with (tmp_path / "abcdefgh.jsonl").open("ab") as file:
        file.write(b'{"role": "agent", "te')
    assert history.read("abcdefgh") == [{"role": "user", "text": "hi"}]
    assert history.read("../../etc/passwd") is None
    assert history.known("/elsewhere") == []
