"""A permission on Telegram: allowed, denied with words, edited, made a rule, and kept from the wrong thumb."""

from __future__ import annotations

from pathlib import Path

import pytest

from platforms.telegram.twin import Chat, Message
from tests.journeys.telegram_house import House, asking, by_bot, reaction, telegram


async def card(h: House, chat: Chat) -> Message:
    """The card, once it asks."""
    return await h.sees(chat, "The agent wants to run a command")


async def offers(h: House, message: Message, label: str) -> None:
    """Wait until a button is there."""
    await h.until(lambda: any(label in each for each in message.labels), message.chat)


async def words_wanted(h: House, chat: Chat, words: str) -> Message:
    """The message that opens the field for an answer on the phone."""
    wanted = await h.sees(chat, words)
    calls = [call for call in h.twin.called("sendMessage") if "force_reply" in call.text("reply_markup")]
    assert [words in call.text("text") for call in calls] == [True]
    return wanted


def spoken(h: House, chat: Chat) -> list[str]:
    """What the bot said, without what Telegram says of topics."""
    return [one.text for one in by_bot(h.twin, chat) if one.text]


async def test_allowed_the_agent_goes_on_and_the_card_says_who_allowed_it(tmp_path: Path) -> None:
    async with telegram(tmp_path) as h, h.beambot(asking()) as world:
        chat = h.owner.chat
        asked = await h.owner.says(None, "run the tests")
        shown = await card(h, chat)
        assert "pytest -q" in shown.text
        styles = {button.text: button.raw.get("style") for row in shown.content.keyboard for button in row}
        assert (styles["Allow"], styles["Deny"]) == ("primary", "danger")
        await h.reacts(asked, "🤔")
        press = await h.owner.presses(shown, "Allow")
        assert press.toast.startswith("Allowed by user1")
        await h.sees(chat, "That was it.")
        await h.until(lambda: "Allowed by user1" in shown.text and not shown.labels, chat)
        await h.reacts(asked, "👍")
        assert world.agent.last.answers[0].option == "yes-1"
        assert h.twin.refusals == 0


async def test_denied_with_a_reason_that_is_asked_for_by_an_open_reply_field(tmp_path: Path) -> None:
    async with telegram(tmp_path) as h, h.beambot(asking()) as world:
        chat = h.owner.chat
        await h.owner.says(None, "run the tests")
        shown = await card(h, chat)
        press = await h.owner.presses(shown, "Deny with reason")
        assert press.toast == "Reply with your reason."
        wanted = await words_wanted(h, chat, "Reply to this message with your reason")
        await h.owner.replies(wanted, "use the linter")
        await h.sees(chat, "That was it.")
        (answer,) = world.agent.last.answers
        assert (answer.verdict, answer.text) == ("deny", "use the linter")
        await h.until(lambda: "Denied by user1" in shown.text and "use the linter" in shown.text, chat)
        assert shown.labels == []
        assert len(world.agent.last.prompts) == 1


async def test_edited_before_it_is_allowed_and_the_agent_gets_what_was_shown(tmp_path: Path) -> None:
    async with telegram(tmp_path) as h, h.beambot(asking("rm -rf build")) as world:
        chat = h.owner.chat
        await h.owner.says(None, "clean up")
        shown = await card(h, chat)
        await h.owner.presses(shown, "Edit")
        wanted = await words_wanted(h, chat, "Reply to this message with")
        await h.owner.replies(wanted, "rm -rf build/cache")
        await h.until(lambda: "As user1 edited it" in shown.text, chat)
        assert "rm -rf build/cache" in shown.text
        assert world.agent.last.answers == []
        await offers(h, shown, "Allow as edited")
        await h.owner.presses(shown, "Allow as edited")
        await h.sees(chat, "That was it.")
        (answer,) = world.agent.last.answers
        assert answer.input == {"command": "rm -rf build/cache"}
        await h.until(lambda: "Allowed as edited by user1" in shown.text, chat)


async def test_a_rule_is_picked_on_a_second_keyboard_and_answers_the_next_prompt(tmp_path: Path) -> None:
    scripts = [asking("git status"), asking("git status -s", ask="a2")]
    async with telegram(tmp_path) as h, h.beambot(scripts) as world:
        chat = h.owner.chat
        await h.owner.says(None, "look")
        shown = await card(h, chat)
        await h.owner.presses(shown, "Allow for…")
        await offers(h, shown, "Allow commands that begin with")
        assert "Back" in shown.labels
        await h.owner.presses(shown, "Allow commands that begin with")
        await offers(h, shown, "in this session")
        await h.owner.presses(shown, "in this session")
        await h.until(lambda: "Allowed by user1" in shown.text, chat)
        again = await h.owner.says(None, "look again")
        await h.reacts(again, "👍")
        assert [answer.verdict for answer in world.agent.last.answers] == ["allow", "allow"]
        assert not any("Allow" in one.labels for one in by_bot(h.twin, chat))
        await h.owner.says(None, "/rules")
        rules = await h.sees(chat, "Decided without asking")
        assert "git status -s" in rules.text


@pytest.mark.parametrize("place", ["group", "topic"])
async def test_who_may_not_answer_is_told_so_alone_and_nothing_happens(tmp_path: Path, place: str) -> None:
    async with telegram(tmp_path) as h, h.beambot(asking()) as world:
        everybody = (h.owner, h.approver, h.observer, h.stranger)
        group = h.twin.group("Work", *everybody) if place == "group" else h.twin.forum("Work", *everybody)
        topic = await h.owner.creates_topic(group, "tests") if place == "topic" else 0
        await h.owner.says(group, "@beam_twin_bot run the tests", topic=topic)
        shown = await card(h, group)
        before = (spoken(h, group), shown.labels)
        refused = [await who.presses(shown, "Allow") for who in (h.stranger, h.observer)]
        assert [press.answered for press in refused] == [True, True]
        assert refused[0].toast == "This is not for you."
        assert "may not answer" in refused[1].toast
        await h.stranger.replies(shown, "yes")
        await h.observer.presses(shown, "Stop the turn")
        assert world.agent.last.answers == []
        assert world.agent.last.calls == []
        assert (spoken(h, group), shown.labels) == before
        press = await h.approver.presses(shown, "Allow")
        assert press.toast.startswith("Allowed by user2")
        await h.until(lambda: "Allowed by user2" in shown.text, group)
        late = await h.owner.presses_button(shown, press.button)
        assert "user2" in late.toast
        assert len(world.agent.last.answers) == 1
        assert h.twin.refusals == 0


async def test_a_card_from_before_a_restart_says_so_and_its_old_button_allows_nothing(tmp_path: Path) -> None:
    async with telegram(tmp_path) as h:
        chat = h.owner.chat
        async with h.beambot(asking()) as world:
            asked = await h.owner.says(None, "run the tests")
            shown = await card(h, chat)
            await h.reacts(asked, "🤔")
            (allow,) = [b for row in shown.content.keyboard for b in row if b.text == "Allow"]
            await world.crash()
        async with h.beambot([asking(), asking()]) as world:
            await h.until(lambda: "Void" in shown.text, chat)
            late = await h.owner.presses_button(shown, allow)
            assert late.answered
            assert "Allowed" not in late.toast
            assert "Allowed" not in shown.text
            assert world.agent.sessions == []
            await offers(h, shown, "Resume and ask again")
            await h.owner.presses(shown, "Resume and ask again")
            await h.until(lambda: any("Allow" in one.labels for one in by_bot(h.twin, chat)), chat)
            again = next(one for one in by_bot(h.twin, chat) if "Allow" in one.labels)
            await h.owner.presses(again, "Allow")
            await h.sees(chat, "That was it.")


async def test_the_receipt_of_a_denied_prompt_is_not_left_waiting(tmp_path: Path) -> None:
    async with telegram(tmp_path) as h, h.beambot(asking()):
        asked = await h.owner.says(None, "run the tests")
        shown = await card(h, h.owner.chat)
        await h.owner.presses(shown, "Deny")
        await h.until(lambda: reaction(h.twin, asked) == "👍", h.owner.chat)
        await h.until(lambda: "Denied by user1" in shown.text, h.owner.chat)
