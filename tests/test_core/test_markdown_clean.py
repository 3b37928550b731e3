"""Characters that deceive do not reach a chat; characters people need do."""

from __future__ import annotations

import pytest

from beambot.api import markdown as md


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\u202eb\u2066c\u200ed", "a\ufffdb\ufffdc\ufffdd"),
        ("ze\u200bro, so\u00adft, jo\u2060in, bo\ufeffm, ha\u3164ngul", "zero, soft, join, bom, hangul"),
        ("smuggled \U000e0061\U000e0062", "smuggled "),
        ("🏴\U000e0061\U000e0062\U000e007f", "🏴"),
        ("bell\x07 esc\x1b c1\x9b del\x7f nul\x00", "bell\ufffd esc\ufffd c1\ufffd del\ufffd nul\ufffd"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("◈ Approved ⟐ 🞛", "◇ Approved ◇ ◇"),
        ("half \ud83d", "half \ufffd"),
    ],
)
def test_what_deceives_is_removed_or_shown(text: str, seen: str) -> None:
    assert md.clean(text) == seen


@pytest.mark.parametrize(
    "text",
    [
        "👨\u200d👩\u200d👧\u200d👦 👍🏽 🏳️\u200d🌈 🇩🇪 1️⃣ ❤️",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f England",
        "🏴\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f Wales",
        "نیم\u200cفاصله क्\u200dष שלום e\u0301",
        "tab\there\nand a line",
    ],
)
def test_what_scripts_and_emoji_need_stays(text: str) -> None:
    assert md.clean(text) == text


@pytest.mark.parametrize(
    ("output", "seen"),
    [
        ("\x1b[1;31mred\x1b[0m \x1b[38;5;12mblue\x1b[m", "red blue"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;https://e.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;never ended\nnext line", "\nnext line"),
        ("\x1b]0;cut by \x1b[1manother", "another"),
        ("\x1bPdcs\x1b\\a\x1b(Bb\x1b=c\x1b7d", "abcd"),
        ("cut off \x1b[31", "cut off "),
        ("cut off \x1b", "cut off "),
        ("10%\r50%\r100%\ndone", "100%\ndone"),
        ("a long line\rshort\x1b[K", "short"),
        ("a long line\x1b[2K\rnew", "new"),
        ("a long line\rshort", "shortg line"),
        ("ab\b\bxy", "xy"),
        ("N\bNA\bAM\bME\bE", "NAME"),
        ("wait |\b/\b-\b\\", "wait \\"),
        ("unix\r\nwindows\r\n", "unix\nwindows\n"),
        ("⠋ spin\r⠙ spin\r✔ done", "✔ done"),
        ("\x9b31mc1\x9d0;t\x9c!", "c1!"),
        ("\b\b\r", ""),
    ],
)
def test_a_terminal_is_read_as_a_person_would_see_it(output: str, seen: str) -> None:
    assert md.terminal_text(output) == seen


def test_a_long_bar_of_progress_is_one_line() -> None:
    output = "".join(f"\r{'#' * n}{'.' * (200 - n)} {n}" for n in range(2000))
    assert len(md.terminal_text(output)) < 2100
