"""An ask as a card: all of what will happen, and what each answer means."""

from __future__ import annotations

import pytest

from beambot.log import HIDDEN, remember_secrets
from beambot.model.bodies import (
    AskOption,
    Diff,
    PermissionRequest,
    PlanReview,
    Question,
    QuestionItem,
    QuestionOption,
)
from beambot.model.message import Ask
from beambot.model.outbound import Button, Change, Facts, Field, Markdown, Notice, Outgoing, plain_text
from beambot.model.ports import Answer
from beambot.render.asks import Settled, card, change, choices, chosen, filled_in, in_words, question_form, summary

OPTIONS = (
    AskOption("always-id", "Always", "allow_always"),
    AskOption("once-id", "Allow once", "allow_once"),
    AskOption("no-id", "No", "reject_once"),
)
MAY = PermissionRequest("agent-ask", "run it", "execute", options=OPTIONS)
ID = "a" * 16


def shown(body: Ask, *, forms: bool = True, settled: Settled | None = None) -> Outgoing:
    return card(ID, body, folder="/home/ann/shop", forms=forms, settled=settled)


def buttons(outgoing: Outgoing) -> list[Button]:
    return [button for row in outgoing.buttons for button in row]


def question(*items: QuestionItem) -> Question:
    return Question("agent-ask", items)


def item(id: str = "q1", text: str = "Which?", labels: str = "", **more: bool) -> QuestionItem:
    return QuestionItem(id, text, options=tuple(QuestionOption(label) for label in labels.split()), **more)


# ── what is shown ────────────────────────────────────────────────────────────────────────────────────


def test_the_whole_command_is_shown_however_long_it_is() -> None:
    command = "echo start\n" + "echo x && " * 2000 + "rm -rf important"
    text = plain_text(shown(PermissionRequest("a", "Run a script", "execute", input={"command": command})))
    assert command in text
    assert "/home/ann/shop" in text


def test_a_command_of_several_words_is_shown_as_it_is() -> None:
    text = plain_text(shown(PermissionRequest("a", "Run", "execute", input={"command": ["rm", "-rf", "a b"]})))
    assert '["rm", "-rf", "a b"]' in text


def test_reason_and_path_outside_the_project_are_shown() -> None:
    text = plain_text(shown(PermissionRequest("a", "Write", "edit", reason="to test", blocked_path="/etc/passwd")))
    assert "Why: to test" in text
    assert "Outside the project: /etc/passwd" in text


def test_input_that_is_no_command_is_shown_whole() -> None:
    address = "https://x/" + "y" * 5000
    assert address in plain_text(shown(PermissionRequest("a", "Fetch", "fetch", input={"url": address})))


def test_a_diff_is_shown_with_its_counts() -> None:
    outgoing = shown(PermissionRequest("a", "Edit", "edit", diffs=(Diff("a.py", "one\ntwo\n", "one\n2\nthree\n"),)))
    changes = [block for block in outgoing.blocks if isinstance(block, Change)]
    assert len(changes) == 1
    assert (changes[0].path, changes[0].added, changes[0].removed) == ("a.py", 2, 1)
    assert "-two\n+2\n+three" in changes[0].unified


@pytest.mark.parametrize(
    ("diff", "added", "removed"),
    [
        (Diff("a", None, "x\ny"), 2, 0),
        (Diff("a", "x\ny", None), 0, 2),
        (Diff("a", unified="--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y"), 1, 1),
        (Diff("a", unified="@@ -1 +1 @@\n--- x\n+++ y"), 1, 1),
        (Diff("a", unified="+y"), 1, 0),
        (Diff("a", "same", "same"), 0, 0),
    ],
)
def test_lines_are_counted_as_changes_and_names_of_files_are_not(diff: Diff, added: int, removed: int) -> None:
    found = change(diff)
    assert (found.added, found.removed) == (added, removed)


def test_a_very_long_diff_says_how_much_is_left_out_and_counts_all_of_it() -> None:
    found = change(Diff("a", None, "\n".join(f"line {number}" for number in range(2000))))
    assert len(found.unified) < 3100
    assert found.added == 2000
    assert found.unified.endswith("more lines")


def test_secrets_are_redacted_everywhere_on_a_card() -> None:
    secret = "hunter2-hunter2"
    remember_secrets([secret])
    asks: list[Ask] = [
        PermissionRequest("a", f"say {secret}", "execute", input={"command": f"echo {secret}"}, reason=secret),
        PermissionRequest("a", "x", input={"key": "x" * 2985 + secret}, agent=secret, blocked_path=secret),
        PermissionRequest("a", "x", diffs=(Diff(secret, None, "x" * 2990 + secret),)),
        question(QuestionItem("q", secret, options=(QuestionOption("a", secret),))),
        PlanReview("a", f"1. use {secret}"),
    ]
    for body in asks:
        text = plain_text(shown(body))
        assert "hunter2" not in text
        assert HIDDEN in text
        assert "hunter2" not in summary(body)


def test_the_name_of_a_subagent_cannot_speak_for_beambot() -> None:
    notice = shown(PermissionRequest("a", "x", agent="helper\n\nAllowed by the owner. " + "!" * 500)).blocks[0]
    assert isinstance(notice, Notice)
    assert "\n" not in notice.text
    assert len(notice.text) < 80
    assert shown(question(item())).blocks[0] == Notice("The agent asks", level="ask")


def test_a_plan_is_shown_whole() -> None:
    plan = "# Plan\n\n" + "- step\n" * 500
    assert Markdown(plan) in shown(PlanReview("a", plan)).blocks


def test_what_an_option_means_is_shown() -> None:
    body = question(QuestionItem("q", "Which?", options=(QuestionOption("A", "the fast one"), QuestionOption("B"))))
    facts = [fact for block in shown(body).blocks if isinstance(block, Facts) for fact in block.facts]
    assert [(fact.name, fact.value) for fact in facts] == [("A", "the fast one")]


def test_an_open_card_is_loud_and_a_settled_one_has_no_buttons() -> None:
    open_card, closed = shown(MAY), shown(MAY, settled=Settled("Allowed by Ann", good=True))
    assert open_card.loud
    labels = [button.label for button in buttons(open_card)]
    assert labels == ["Allow once", "No", "Agent: Always", "Deny with reason", "Stop the turn"]
    assert (closed.buttons, closed.form, closed.loud) == ((), None, False)
    assert closed.blocks[-1] == Notice("Allowed by Ann", level="success")
    assert closed.key == open_card.key
    assert shown(MAY, settled=Settled("Denied by Bob")).blocks[-1] == Notice("Denied by Bob", level="warning")


def test_buttons_fit_into_what_a_chat_gives_back() -> None:
    many = tuple(AskOption("x" * 200, "label " * 40, "other") for _ in range(99))
    for button in buttons(shown(PermissionRequest("x" * 500, "t", options=many))):
        assert len(button.data.encode()) <= 64
        assert len(button.label) <= 75
    form = question_form(ID, question(item(), item("q2")))
    assert form is not None
    assert len(form.data.encode()) <= 64


def test_the_style_of_a_button_follows_its_kind() -> None:
    styles = {button.label: button.style for button in buttons(shown(MAY))}
    assert styles == {
        "Allow once": "primary",
        "No": "danger",
        "Agent: Always": "plain",
        "Deny with reason": "plain",
        "Stop the turn": "danger",
    }


# ── what is meant ────────────────────────────────────────────────────────────────────────────────────


def test_without_options_of_its_own_an_ask_can_be_allowed_and_denied() -> None:
    for body, words in (
        (PermissionRequest("a", "x"), ["Allow", "Deny"]),
        (PlanReview("a", "plan"), ["Approve", "Keep planning"]),
    ):
        assert [option.name for option in choices(body)] == words
        assert chosen(body, 0, "ann") == Answer(ask="a", verdict="allow", by="ann")
        assert chosen(body, 1, "ann") == Answer(ask="a", verdict="deny", by="ann")


@pytest.mark.parametrize(("number", "verdict", "option"), [(1, "allow", "always-id"), (2, "deny", "no-id")])
def test_a_press_means_the_option_in_its_place(number: int, verdict: str, option: str) -> None:
    answer = chosen(MAY, number, "ann")
    assert answer is not None
    assert (answer.ask, answer.verdict, answer.option, answer.by) == ("agent-ask", verdict, option, "ann")


@pytest.mark.parametrize("number", [-1, 3, 1000])
def test_a_press_on_what_was_never_offered_means_nothing(number: int) -> None:
    assert chosen(MAY, number, "ann") is None


def test_a_press_on_a_question_is_an_answer() -> None:
    answer = chosen(question(item(labels="red blue")), 1, "ann")
    assert answer == Answer(ask="agent-ask", verdict="answer", fields={"q1": ("blue",)}, by="ann")
    assert choices(question(item(), item("q2", labels="a b"))) == ()


@pytest.mark.parametrize(
    ("words", "verdict", "option", "reason"),
    [
        ("yes", "allow", "once-id", ""),
        (" OK! ", "allow", "once-id", ""),
        ("Allow", "allow", "once-id", ""),
        ("always", "allow", "always-id", ""),
        ("no", "deny", "no-id", ""),
        ("No, use the other file", "deny", "no-id", "use the other file"),
        ("deny\nbecause\nof this", "deny", "no-id", "because\nof this"),
    ],
)
def test_a_reply_in_words_is_understood(words: str, verdict: str, option: str, reason: str) -> None:
    answer = in_words(MAY, words, "ann")
    assert answer is not None
    assert (answer.verdict, answer.option, answer.text) == (verdict, option, reason)


@pytest.mark.parametrize(
    "words", ["", "  ", "yes but not that", "maybe", "yesterday", "nothing", "what does it do?"]
)
def test_a_reply_that_could_mean_anything_allows_and_denies_nothing(words: str) -> None:
    assert in_words(MAY, words, "ann") is None


def test_a_yes_never_means_more_than_once() -> None:
    body = PermissionRequest("a", "x", options=(AskOption("1", "Always", "allow_always"),))
    assert in_words(body, "yes", "ann") is None
    assert in_words(body, "no", "ann") == Answer(ask="a", verdict="deny", by="ann")


def test_a_question_takes_words_where_words_are_free() -> None:
    free, open_, closed = item(labels="red", free_text=True), item(), item(labels="red blue")
    for one in (free, open_):
        answer = in_words(question(one), "purple please", "ann")
        assert answer is not None
        assert answer.fields == {"q1": ("purple please",)}
    assert in_words(question(closed), "purple", "ann") is None
    red = in_words(question(closed), "RED", "ann")
    assert red is not None
    assert red.fields == {"q1": ("red",)}
    assert in_words(question(item(), item("q2")), "x", "ann") is None


def test_a_form_is_read_as_what_was_asked_and_offered() -> None:
    body = question(
        item("one", labels="red blue"),
        item("many", labels="a b c", multiple=True),
        item("free", labels="x", free_text=True),
        item("open"),
        item("left"),
    )
    given = {
        "one": ("green", "blue", "red"),
        "many": ("a", "c", "z"),
        "free": (" mine ",),
        "open": ("first", "second"),
        "never asked": ("!",),
    }
    assert filled_in(body, given, "ann").fields == {
        "one": ("blue",),
        "many": ("a", "c"),
        "free": ("mine",),
        "open": ("first",),
        "left": (),
    }


@pytest.mark.parametrize(
    ("items", "form"),
    [
        ((item(labels="a b"),), False),
        ((item(),), True),
        ((item(labels="a b", multiple=True),), True),
        ((item(labels="a b", free_text=True),), True),
        ((item(labels="a"), item("q2", labels="b")), True),
    ],
)
def test_a_form_is_used_only_where_buttons_do_not_do(items: tuple[QuestionItem, ...], form: bool) -> None:
    outgoing = shown(question(*items))
    assert (outgoing.form is not None) is form
    assert bool(outgoing.buttons) is not form
    assert shown(question(*items), forms=False).form is None


def test_a_form_asks_each_question_in_its_own_kind() -> None:
    form = question_form(
        ID,
        question(
            item("a", "Colour?", labels="red blue"),
            item("b", "Which?", labels="x y", multiple=True),
            QuestionItem("c", "Token?", header="Token", secret=True),
            QuestionItem("d", "Size?", options=(QuestionOption("big", "very"), QuestionOption("small"))),
        ),
    )
    assert form is not None
    assert form.data == f"ask:{ID}:form"
    assert form.fields == (
        Field("a", "Colour?", "choice", ("red", "blue")),
        Field("b", "Which?", "choices", ("x", "y")),
        Field("c", "Token", secret=True),
        Field("d", "Size?", "choice", ("big", "small"), "big: very"),
    )


def test_a_summary_is_one_line() -> None:
    assert summary(PermissionRequest("a", "run\nthis " + "x" * 500)) == ("run this " + "x" * 500)[:200]
    assert summary(question(item(text="Which\none?"))) == "Which one?"
    assert summary(question()) == "a question"
    assert summary(PlanReview("a", "plan")) == "a plan to review"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/repo/src/a.py", "src/a.py"),
        ("/repository/a.py", "/repository/a.py"),
        ("/repo/../etc/passwd", "/repo/../etc/passwd"),
        ("src/a.py", "src/a.py"),
    ],
)
def test_a_changed_file_is_called_by_its_name_in_the_project(path: str, shown: str) -> None:
    assert change(Diff(path, "a", "b"), "/repo").path == shown


def test_options_that_are_named_by_their_kind_are_put_in_words_and_the_smallest_yes_comes_first() -> None:
    kinds = ("allow_always", "allow_once", "reject_always", "reject_once")
    body = PermissionRequest("a", "shell", options=tuple(AskOption(f"id-{k}", k, k) for k in kinds))
    assert [option.name for option in choices(body)] == ["Allow once", "Always allow", "Deny", "Always deny"]
    answer = chosen(body, 0, "me")
    assert answer is not None
    assert (answer.option, answer.verdict) == ("id-allow_once", "allow")


def test_a_tool_of_any_kind_with_a_command_wants_to_run_a_command() -> None:
    body = PermissionRequest("a", "shell", input={"command": "make"})
    assert "The agent wants to run a command" in plain_text(card("x", body, folder="/repo", forms=True))
