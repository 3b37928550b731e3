"""Logs: for people on a terminal, for machines elsewhere, for nobody's secrets anywhere."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from beambot import log
from beambot.errors import BeambotError

SECRET = "open-sesame-4711"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def quiet_afterwards(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    monkeypatch.setattr(log, "_known", [])
    log.remember_secrets([SECRET])
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    root.handlers[:] = handlers
    root.setLevel(level)


def machine(**more: Any) -> io.StringIO:
    out = io.StringIO()
    log.configure(stream=out, **more)
    return out


def lines(out: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_terminal_gets_lines_for_people() -> None:
    out = Terminal()
    log.configure(stream=out)
    log.get_logger("flow").info("session opened", session="abc")
    assert "session opened" in out.getvalue()
    with pytest.raises(ValueError):
        json.loads(out.getvalue())


def test_a_terminal_shows_an_exception_with_its_trace_and_without_a_warning() -> None:
    out = Terminal()
    log.configure(stream=out)
    try:
        raise ValueError(f"bad {SECRET}")
    except ValueError:
        log.get_logger("flow").exception("it failed")
    assert "ValueError" in out.getvalue()
    assert "Traceback" in out.getvalue()
    assert SECRET not in out.getvalue()


def test_elsewhere_each_line_is_json() -> None:
    out = machine()
    log.get_logger("flow").info("session opened", session="abc", count=2, nothing=None, yes=True)
    (line,) = lines(out)
    assert line["event"] == "session opened"
    assert (line["session"], line["count"], line["nothing"], line["yes"]) == ("abc", 2, None, True)
    assert (line["level"], line["part"]) == ("info", "flow")
    assert line["timestamp"].endswith("Z")


def test_json_can_be_asked_for_on_a_terminal() -> None:
    out = Terminal()
    log.configure(stream=out, json=True)
    log.get_logger("flow").info("hello")
    assert json.loads(out.getvalue())["event"] == "hello"


def test_what_is_below_the_level_is_not_written() -> None:
    out = machine(level="warning")
    logger = log.get_logger("flow")
    logger.info("small")
    logger.warning("large")
    assert [line["event"] for line in lines(out)] == ["large"]


def test_the_inbound_id_follows_until_the_message_has_been_handled() -> None:
    out = machine()
    logger = log.get_logger("flow")
    log.follow("in-1", thread="t")
    logger.info("first")
    logging.getLogger("library").warning("second")
    log.unfollow()
    logger.info("third")
    first, second, third = lines(out)
    assert (first["inbound"], first["thread"], second["inbound"]) == ("in-1", "t", "in-1")
    assert "inbound" not in third


def test_what_was_bound_for_one_message_does_not_stick_to_the_next() -> None:
    out = machine()
    log.follow("in-1", thread="t")
    log.unfollow()
    log.get_logger("flow").info("idle")
    log.follow("in-2")
    log.get_logger("flow").info("next")
    idle, following = lines(out)
    assert "thread" not in idle
    assert following["inbound"] == "in-2"
    assert "thread" not in following


class Talkative:
    def __repr__(self) -> str:
        return f"<client {SECRET}>"


@pytest.mark.parametrize(
    "value",
    [
        SECRET,
        f"https://api.example/bot{SECRET}/send",
        SECRET.encode(),
        {"headers": {"auth": f"x {SECRET}"}},
        {SECRET: "as a key"},
        [{"deep": (SECRET, [SECRET])}],
        {SECRET},
        frozenset({SECRET}),
        ValueError(f"refused {SECRET}"),
        Talkative(),
        [Talkative()],
    ],
)
@pytest.mark.parametrize("terminal", [False, True])
def test_a_secret_is_hidden_wherever_it_stands(value: Any, terminal: bool) -> None:
    out: io.StringIO = Terminal() if terminal else io.StringIO()
    log.configure(stream=out)
    log.get_logger("flow").info("call", detail=value)
    assert SECRET not in out.getvalue()
    assert log.HIDDEN in out.getvalue()


def test_a_secret_is_hidden_in_the_event_itself_and_in_a_key() -> None:
    out = machine()
    log.get_logger("flow").info(f"called with {SECRET}", **{f"k{SECRET}": 1})
    assert SECRET not in out.getvalue()


def test_a_secret_is_hidden_in_what_is_bound() -> None:
    out = machine()
    log.follow(f"in-{SECRET}")
    log.get_logger(SECRET).bind(more=SECRET).info("x")
    assert SECRET not in out.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
def test_a_secret_is_hidden_in_an_exception_and_its_cause(terminal: bool) -> None:
    out: io.StringIO = Terminal() if terminal else io.StringIO()
    log.configure(stream=out)
    try:
        try:
            raise OSError(f"cannot reach {SECRET}")
        except OSError as cause:
            raise BeambotError(f"failed at {SECRET}", fix=f"replace {SECRET}") from cause
    except BeambotError:
        log.get_logger("flow").exception("it failed")
        logging.getLogger("library").exception("it failed there too")
    assert SECRET not in out.getvalue()
    assert "cannot reach" in out.getvalue()


def test_the_logs_of_libraries_pass_the_same_redactor() -> None:
    out = machine()
    library = logging.getLogger("http.client.of.somebody")
    library.warning("HTTP Request: POST %s %r", f"https://api.example/bot{SECRET}/send", {"t": SECRET})
    (line,) = lines(out)
    assert "HTTP Request: POST https://api.example/bot" in line["event"]
    assert SECRET not in out.getvalue()


def test_libraries_are_not_heard_below_their_warnings() -> None:
    out = machine(level="debug")
    logging.getLogger("http").info("GET /everything")
    assert out.getvalue() == ""


def test_a_message_that_cannot_be_formatted_does_not_break_the_program() -> None:
    class Broken:
        def __str__(self) -> str:
            raise RuntimeError("no text")

        __repr__ = __str__

    out = machine()
    log.get_logger("flow").info("call", detail=Broken())
    assert lines(out)[0]["event"] == "call"


@pytest.mark.parametrize(
    "token",
    [
        "1234567890:" + "A" * 35,
        "xoxb-" + "1" * 12 + "-abcdef",
        "xapp-1-A0123-" + "4" * 12,
        "sk-" + "a1" * 16,
        "ghp_" + "a" * 36,
        "github_pat_" + "a" * 40,
        "AKIA" + "A1" * 8,
        "AIza" + "b" * 35,
        "Bearer " + "c" * 24,
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIE, cut off",
    ],
)
def test_the_shape_of_a_token_is_enough(token: str) -> None:
    shown = log.redact(f"before {token} after") if "cut off" not in token else log.redact(f"before {token}")
    assert token not in shown
    assert shown.startswith("before " + log.HIDDEN)


@given(st.from_regex(log._SHAPES, fullmatch=True), st.text(max_size=20), st.text(max_size=20))
def test_the_quick_look_overlooks_nothing_that_a_shape_would_find(token: str, before: str, after: str) -> None:
    text = f"{before} {token} {after}"
    assert log._may_hold_one(text) or not log._SHAPES.search(text)


@pytest.mark.parametrize("text", ["12:30:45", "version 1.2.3", "sk-learn", "a bearer of news", "x" * 300])
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert log.redact(text) == text


def test_a_secret_inside_a_longer_one_does_not_uncover_the_rest() -> None:
    log.remember_secrets(["abcdefgh", "abcdefgh-and-the-rest"])
    for _ in range(20):
        assert log.redact("x abcdefgh-and-the-rest y") == f"x {log.HIDDEN} y"


def test_very_short_words_are_not_taken_for_secrets() -> None:
    log.remember_secrets(["", "a", "12345"])
    assert log.redact("a banana costs 12345") == "a banana costs 12345"


def test_the_text_of_an_error_is_clean_after_the_redactor() -> None:
    assert SECRET not in log.redact(str(BeambotError(f"no {SECRET}", fix=f"change {SECRET}")))
