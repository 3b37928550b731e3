"""What one thread shows of one turn: page by page, each sent once, the newest state and nothing twice."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from beambot.flow.delivery.screens import Screen
from beambot.model.bodies import Result, TextDelta, ToolEnded, ToolStarted
from beambot.model.capabilities import PlatformCapabilities
from beambot.model.ids import ThreadRef
from beambot.model.message import AnyBody, UnifiedMessage
from beambot.model.outbound import Outgoing, plain_text
from beambot.model.settings import Rendering
from beambot.state.turn import Turn, reduce
from beambot.testing.clock import FakeClock
from beambot.testing.platform import FakePlatform

CHAT = PlatformCapabilities(text_limit=400, buttons=5)
WIDE = PlatformCapabilities(text_limit=4000, buttons=5)


def a_screen(capabilities: PlatformCapabilities = CHAT) -> Screen:
    chat = FakePlatform(FakeClock(), capabilities=capabilities)
    return Screen(ThreadRef("p", "c"), "s1", Turn("t1"), chat, Rendering(footer="off"), reply_to="m7")


def hear(screen: Screen, *bodies: AnyBody) -> None:
    for body in bodies:
        screen.turn = reduce(screen.turn, UnifiedMessage(body, turn="t1", at=1.0))


def sent(screen: Screen) -> list[Outgoing]:
    """Everything a chat would be sent until it shows the turn as it stands."""
    pages: list[Outgoing] = []
    while (page := screen.next_page(1.0)) is not None:
        screen.confirm(page, f"m-{page.key}")
        pages.append(page)
        assert len(pages) < 50
    return pages


def test_an_identical_page_is_never_sent_again() -> None:
    screen = a_screen()
    hear(screen, TextDelta("hello"))
    assert [plain_text(page) for page in sent(screen)] == ["hello"]
    assert sent(screen) == []
    hear(screen, TextDelta(""))
    assert sent(screen) == []


def test_the_newest_state_is_what_goes_out_when_many_came_between() -> None:
    screen = a_screen()
    for word in ("one", "two", "three", "four"):
        hear(screen, TextDelta(word + " "))
    assert [plain_text(page) for page in sent(screen)] == ["one two three four "]


def test_a_page_that_changed_while_it_was_sent_is_sent_again() -> None:
    screen = a_screen()
    hear(screen, TextDelta("hello"))
    page = screen.next_page(1.0)
    assert page is not None
    hear(screen, TextDelta(" again"))
    newer = screen.next_page(1.0)
    screen.confirm(page, "m1")
    assert newer is not None
    assert plain_text(newer) == "hello again"
    assert screen.message(newer) == "m1"
    assert screen.next_page(1.0) == newer


def test_pages_have_names_of_their_own_and_only_the_first_answers_somebody() -> None:
    screen = a_screen()
    hear(screen, TextDelta("word " * 200))
    pages = sent(screen)
    assert [page.key for page in pages] == [f"turn:t1:{number}" for number in range(len(pages))]
    assert [page.reply_to for page in pages] == ["m7"] + [""] * (len(pages) - 1)
    assert "".join(plain_text(page) for page in pages) == "word " * 200


def test_the_stop_button_stands_on_the_newest_page_alone() -> None:
    screen = a_screen()
    hear(screen, TextDelta("x"))
    assert [b.label for row in sent(screen)[0].buttons for b in row] == ["Stop"]
    hear(screen, TextDelta("word " * 100))
    shown = {page.key: page for page in sent(screen)}
    assert not shown["turn:t1:0"].buttons
    assert list(shown.values())[-1].buttons
    hear(screen, Result())
    assert [page.buttons for page in sent(screen)] == [()]


def test_a_chat_with_a_stop_of_its_own_gets_no_button() -> None:
    screen = a_screen(PlatformCapabilities(buttons=5, own_stop=True))
    hear(screen, TextDelta("x"))
    assert sent(screen)[0].buttons == ()


def test_a_tool_that_ends_on_an_earlier_page_costs_one_edit_there() -> None:
    screen = a_screen()
    hear(screen, ToolStarted("a", "run"), TextDelta("word " * 150))
    sent(screen)
    hear(screen, ToolEnded("a"))
    pages = sent(screen)
    assert [page.key for page in pages] == ["turn:t1:0"]
    assert "✓ run" in plain_text(pages[0])


def test_what_is_left_at_the_end_is_everything_that_does_not_stand_yet() -> None:
    screen = a_screen()
    hear(screen, TextDelta("word " * 150))
    first = screen.next_page(1.0)
    assert first is not None
    screen.confirm(first, "m1")
    hear(screen, Result())
    left = [page for page, _ in screen.pending(1.0)]
    assert first.key not in [page.key for page in left]
    assert "".join(plain_text(page) for page in [first, *left]) == "word " * 150


WORDS = st.lists(
    st.sampled_from(["word ", "a longer piece of text ", "line\n", "\n\n", "x" * 30, "é🙂 "]), max_size=12
)


@settings(max_examples=150, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=60))
def test_one_call_shows_all_that_is_new_and_nothing_is_lost_or_said_twice_in_the_end(said: list[list[str]]) -> None:
    screen = a_screen(WIDE)
    chat: dict[str, str] = {}
    whole = ""
    for number, words in enumerate(said):
        piece = "".join(words) * 3 + f"<{number}>"
        whole += piece
        hear(screen, TextDelta(piece))
        page = screen.next_page(1.0)
        assert page is not None
        chat[page.key] = plain_text(page)
        screen.confirm(page, page.key)
        assert any(f"<{number}>" in text for text in chat.values())
    hear(screen, Result())
    for page, _ in screen.pending(1.0):
        chat[page.key] = plain_text(page)
    assert all(len(text) <= WIDE.text_limit for text in chat.values())
    assert "".join(chat[key] for key in sorted(chat, key=lambda key: int(key.rpartition(":")[2]))) == whole


def test_a_page_that_is_sealed_where_it_stands_is_tidied_last() -> None:
    screen = a_screen(WIDE)
    for number in range(4):
        hear(screen, TextDelta(f"{number} " + "word " * 300))
        page = screen.next_page(1.0)
        assert page is not None
        screen.confirm(page, page.key)
    hear(screen, TextDelta("the end"), Result())
    left = screen.pending(1.0)
    assert [untidy for _, untidy in left] == sorted(untidy for _, untidy in left)
    assert "the end" in plain_text(left[0][0])
