"""Files on Telegram, both ways: albums, documents, voice, and prompts that were changed after they were sent."""

from __future__ import annotations

from pathlib import Path

import anyio

from beambot.model.bodies import Result, TextDelta
from beambot.testing.scripted import Emit, WaitFor
from tests.journeys.telegram_house import answering, by_bot, telegram


async def test_a_photo_album_is_one_prompt_with_its_pictures_and_its_words(tmp_path: Path) -> None:
    async with telegram(tmp_path) as h, h.beambot(answering("three pictures")) as world:
        pictures = [(f"{number}.jpg", b"\xff\xd8picture %d" % number) for number in range(3)]
        sent = await h.owner.uploads(None, *pictures, kind="photo", caption="what is this?")
        await h.sees(h.owner.chat, "three pictures")
        (prompt,) = world.agent.last.prompts
        assert prompt.text.startswith("what is this?")
        assert [Path(file.path).read_bytes() for file in prompt.files] == [data for _, data in pictures]
        assert [file.mime for file in prompt.files] == ["image/jpeg"] * 3
        await h.reacts(sent[0], "👍")
        assert len(by_bot(h.twin, h.owner.chat)) == 1


async def test_a_document_goes_in_with_its_name_and_out_with_file(tmp_path: Path) -> None:
    async with telegram(tmp_path) as h, h.beambot(answering("read it")) as world:
        await h.owner.uploads(None, ("../notes 1.txt", b"remember the milk"), caption="keep this")
        await h.sees(h.owner.chat, "read it")
        (file,) = world.agent.last.prompts[0].files
        assert (Path(file.path).name, Path(file.path).read_bytes()) == ("notes 1.txt", b"remember the milk")
        (tmp_path / "project" / "report.md").write_text("# All is well\n")
        (tmp_path / "project" / ".env").write_text("KEY=1\n")
        await h.owner.says(None, "/file report.md")
        await h.until(lambda: any(one.content.media for one in by_bot(h.twin, h.owner.chat)), h.owner.chat)
        (sent,) = [one.content.media for one in by_bot(h.twin, h.owner.chat) if one.content.media]
        assert (sent.kind, sent.file.name, sent.file.data) == ("document", "report.md", b"# All is well\n")
        await h.owner.says(None, "/file .env")
        await h.sees(h.owner.chat, ".env may hold secrets")


async def test_a_voice_note_reaches_the_agent_as_a_file(tmp_path: Path) -> None:
    async with telegram(tmp_path) as h, h.beambot(answering("heard")) as world:
        (spoken,) = await h.owner.uploads(None, ("voice.ogg", b"OggS..."), kind="voice")
        await h.sees(h.owner.chat, "heard")
        (prompt,) = world.agent.last.prompts
        (file,) = prompt.files
        path = Path(file.path)
        assert (file.mime, path.suffix, path.read_bytes()) == ("audio/ogg", ".ogg", b"OggS...")
        await h.reacts(spoken, "👍")


async def test_a_file_that_telegram_does_not_give_is_refused_in_words(tmp_path: Path) -> None:
    async with telegram(tmp_path, download_bytes=1000) as h, h.beambot(answering("x")) as world:
        await h.owner.uploads(None, ("large.bin", b"x" * 2000), caption="look")
        await h.sees(h.owner.chat, "20 MB")
        assert world.agent.sessions == [] or world.agent.last.prompts == []


async def test_a_reply_and_a_forwarded_message_say_whose_words_they_are(tmp_path: Path) -> None:
    async with telegram(tmp_path) as h, h.beambot(answering("ok")) as world:
        group = h.twin.group("Work", h.owner, h.stranger)
        words = await h.stranger.says(group, "the build is red")
        asked = await h.owner.says(group, "@beam_twin_bot why?", reply_to=words)
        await h.reacts(asked, "👍")
        assert world.agent.last.prompts[0].text == "Eve wrote:\n> the build is red\n\nwhy?"
        passed = await h.owner.forwards(words)
        await h.reacts(passed, "👍")
        assert world.agent.last.prompts[0].text == "Forwarded from Eve:\n> the build is red"


async def test_editing_a_queued_prompt_changes_it(tmp_path: Path) -> None:
    go = anyio.Event()
    first = [Emit(TextDelta("working")), WaitFor(go), Emit(Result())]
    async with telegram(tmp_path) as h, h.beambot([first, answering("second answer")]) as world:
        chat = h.owner.chat
        await h.owner.says(None, "one")
        await h.sees(chat, "working")
        queued = await h.owner.says(None, "tow")
        await h.reacts(queued, "🫡")
        await h.owner.edits(queued, "two")
        await h.sees(chat, "The queued prompt was changed.")
        go.set()
        await h.sees(chat, "second answer")
        assert [prompt.text for prompt in world.agent.last.prompts] == ["one", "two"]


async def test_editing_a_running_prompt_offers_the_correction_which_is_sent_once(tmp_path: Path) -> None:
    go = anyio.Event()
    script = [[Emit(TextDelta("working")), WaitFor(go), Emit(Result())], answering("corrected")]
    async with telegram(tmp_path) as h, h.beambot(script) as world:
        chat = h.owner.chat
        asked = await h.owner.says(None, "delete the tests")
        await h.sees(chat, "working")
        await h.owner.edits(asked, "do not delete the tests")
        offer = await h.sees(chat, "That prompt is running already.")
        assert offer.labels == ["Send the correction"]
        assert [prompt.text for prompt in world.agent.last.prompts] == ["delete the tests"]
        for _ in range(2):
            press = await h.owner.presses(offer, "Send the correction")
            assert press.answered
        go.set()
        await h.sees(chat, "corrected")
        await h.reacts(asked, "👍")
        assert [prompt.text for prompt in world.agent.last.prompts][1:] == ["do not delete the tests"]
