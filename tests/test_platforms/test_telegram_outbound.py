"""Messages become the arguments of sendMessage, whatever is in them."""

from __future__ import annotations

import msgspec
import pytest

from beambot.api import Outgoing, bodies
from beambot.api import markdown as md
from beambot.api import outbound as out
from platforms.telegram.outbound import drawn, measure, payload


def sent(*blocks: out.AnyOutBlock, buttons: tuple[out.Button, ...] = (), plain: bool = False) -> dict[str, object]:
    return payload(Outgoing(key="k", blocks=blocks, buttons=(buttons,) if buttons else (), plain=plain))


def marked(block: out.AnyOutBlock) -> list[tuple[str, str]]:
    formatted = drawn(block)
    data = formatted.text.encode("utf-16-le")
    return [
        (one.type, data[2 * one.offset : 2 * (one.offset + one.length)].decode("utf-16-le"))
        for one in formatted.entities
    ]


def test_message_says_its_blocks_with_a_line_between() -> None:
    arguments = sent(out.Markdown("😀 **a**"), out.Markdown(""), out.Notice("ready", "success"), out.Footer("3 s"))
    assert arguments["text"] == f"😀 a\n\n{md.SIGN} ✅ ready\n\n3 s"
    assert arguments["entities"] == [
        {"type": "bold", "offset": 3, "length": 1},
        {"type": "italic", "offset": 17, "length": 3},
    ]
    assert arguments["link_preview_options"] == {"is_disabled": True}
    assert "reply_markup" not in arguments
    assert msgspec.json.encode(arguments)


def test_only_loud_messages_ring() -> None:
    assert sent(out.Footer("x"))["disable_notification"] is True
    assert payload(Outgoing(key="k", blocks=(out.Footer("x"),), loud=True))["disable_notification"] is False


def test_buttons_carry_their_style_and_data() -> None:
    rows = ((out.Button("Yes", "y", "primary"), out.Button("No\n now", "n", "danger")), (out.Button("Later", "l"),))
    arguments = payload(Outgoing(key="k", blocks=(out.Notice("May I?", "ask"),), buttons=rows))
    assert arguments["reply_markup"] == {
        "inline_keyboard": [
            [
                {"text": "Yes", "callback_data": "y", "style": "primary"},
                {"text": "No now", "callback_data": "n", "style": "danger"},
            ],
            [{"text": "Later", "callback_data": "l"}],
        ]
    }


def test_buttons_telegram_would_refuse_do_not_cost_the_message() -> None:
    long = tuple(out.Button("x", data) for data in ("é" * 33, "", "a" * 64))
    assert sent(out.Footer("x"), buttons=long)["reply_markup"] == {
        "inline_keyboard": [[{"text": "x", "callback_data": "a" * 64}]]
    }
    many = sent(out.Footer("x"), buttons=tuple(out.Button("x", str(at)) for at in range(130)))["reply_markup"]
    assert isinstance(many, dict)
    assert [len(row) for row in many["inline_keyboard"]] == [8] * 12 + [4]


def test_tools_are_one_line_each() -> None:
    lines = (
        out.ToolLine("Read\nsrc/a.py", state="done", seconds=1.26),
        out.ToolLine("make test", depth=1),
        out.ToolLine("rm x", state="denied", seconds=100),
    )
    assert drawn(out.Tools(lines, hidden=4)).text == (
        "… 4 more\n✓ Read src/a.py · 1.3 s\n    ⏳ make test\n⊘ rm x · 2 min"
    )


def test_plan_shows_what_is_done_and_what_goes_on() -> None:
    entries = (
        bodies.PlanEntry("read", "completed"),
        bodies.PlanEntry("write", "in_progress"),
        bodies.PlanEntry("test"),
    )
    assert drawn(out.Checklist(entries)).text == "☑ read\n◉ write\n☐ test"
    assert marked(out.Checklist(entries)) == [("bold", "write")]


def test_change_shows_its_diff_without_headers() -> None:
    change = out.Change("src/a.py", "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x\n+ ``` y\n", 1, 1)
    assert drawn(change).text == "src/a.py +1 −1\n@@ -1 +1 @@\n-x\n+ ``` y"
    assert marked(change) == [("bold", "src/a.py"), ("pre", "@@ -1 +1 @@\n-x\n+ ``` y")]
    assert drawn(change).entities[1].language == "diff"


def test_long_change_says_how_much_is_left_out() -> None:
    lines = "\n".join(f"+line {at}" for at in range(100))
    assert drawn(out.Change("a", "@@ -0,0 +1,100 @@\n" + lines)).text.endswith("+line 38\n… 61 more lines")
    wide = drawn(out.Change("a", "\n".join(["+" + "x" * 5000] * 30))).text
    assert len(wide) < 2100
    assert wide.endswith("more lines")


def test_facts_show_code_as_written() -> None:
    facts = out.Facts(
        (
            out.Fact("Command", "rm -rf /tmp", code=True),
            out.Fact("Script", "  if x:\n    y", code=True),
            out.Fact("Why", "asked by @alice"),
        )
    )
    assert drawn(facts).text == "Command: rm -rf /tmp\nScript:\n  if x:\n    y\nWhy: asked by @alice"
    assert marked(facts) == [
        ("bold", "Command"),
        ("code", "rm -rf /tmp"),
        ("bold", "Script"),
        ("pre", "  if x:\n    y"),
        ("bold", "Why"),
        ("code", "@alice"),
    ]


@pytest.mark.parametrize(
    "block",
    [
        out.Tools((out.ToolLine(f"{md.SIGN} ok\u202e @alice /start"),)),
        out.Checklist((bodies.PlanEntry(f"{md.SIGN} ok\u202e @alice /start"),)),
        out.Change(f"{md.SIGN} ok\u202e @alice /start", f"{md.SIGN}\u202e"),
        out.Facts((out.Fact(f"{md.SIGN} @alice", f"\u202e\n{md.SIGN} ok /start"),)),
        out.Markdown(f"{md.SIGN} ok\u202e @alice /start", under=f"{md.SIGN} @alice /start"),
        out.Footer(f"{md.SIGN}\u202e @alice /start"),
    ],
)
def test_nobody_else_speaks_as_beambot_or_calls_somebody(block: out.AnyOutBlock) -> None:
    text = drawn(block).text
    assert md.SIGN not in text
    assert "\u202e" not in text
    code = [part for kind, part in marked(block) if kind == "code"]
    assert code.count("@alice") == text.count("@alice")
    assert code.count("/start") == text.count("/start")
    plain = str(sent(block, plain=True)["text"])
    assert "@alice" not in plain
    assert "/start" not in plain


def test_notice_bears_the_sign_once() -> None:
    assert drawn(out.Notice(f"{md.SIGN} x", "error")).text == f"{md.SIGN} ❌ ◇ x"


def test_plain_message_has_words_and_addresses_only() -> None:
    words = out.Markdown("**a** [b](https://e.org)\n\n> q", under="Task")
    arguments = sent(words, out.Facts((out.Fact("x", "y", code=True),)), plain=True)
    assert arguments["text"] == "Task:\na b (https://e.org)\n\n> q\n\nx: y"
    assert "entities" not in arguments


def test_plain_message_without_room_leaves_the_addresses_out() -> None:
    link = f"[b](https://e.org/{'x' * 1900}) "
    arguments = sent(out.Markdown(link * 3 + "end"), plain=True)
    assert arguments["text"] == "b b b end"


@pytest.mark.parametrize("plain", [False, True])
def test_message_that_is_too_long_is_cut_and_never_refused(plain: bool) -> None:
    text = str(sent(out.Markdown("a" + "😀" * 5000), plain=plain)["text"])
    assert len(text.encode("utf-16-le")) // 2 == 4096
    assert text.endswith("😀…")
    entities = sent(out.Markdown("**" + "b" * 5000 + "**"))["entities"]
    assert entities == [{"type": "bold", "offset": 0, "length": 4095}]


def test_cut_makes_no_command_of_half_a_path() -> None:
    text = "x" * 4089 + " /home/user/project"
    for plain in (False, True):
        assert sent(out.Markdown(text), plain=plain)["text"] == "x" * 4089 + "…"
    cut_mention = sent(out.Markdown("x" * 4089 + " @somebody"))
    assert cut_mention["text"] == "x" * 4089 + " @some…"
    assert cut_mention["entities"] == [{"type": "code", "offset": 4090, "length": 5}]


def test_too_many_entities_end_the_message_before_they_are_ignored() -> None:
    arguments = sent(out.Markdown("@alice " * 300))
    assert isinstance(arguments["entities"], list)
    assert len(arguments["entities"]) == 100
    assert arguments["text"] == " ".join(["@alice"] * 100) + "…"


def test_message_of_nothing_says_something() -> None:
    assert sent()["text"] == "…"
    assert sent(out.Markdown("```\n"))["text"] == "…"


def test_blocks_that_measure_within_the_room_are_sent_whole() -> None:
    block = out.Markdown("**a** b")
    assert measure(block) == 41
    count = 4096 // (41 + 2)
    arguments = sent(*[block] * count)
    assert arguments["text"] == "\n\n".join(["a b"] * count)
    assert measure(out.Markdown("😀" * 100)) == 200
