"""What a browser sends becomes an Inbound, or a clear refusal."""

from __future__ import annotations

import json

import pytest

from beambot.api import Attachment
from beambot.api import inbound as into
from platforms.web.inbound import BadFrame, Fill, Press, Say, decode, filled, pressed, said

ID, THREAD = "client-0001", "thread0001"


def test_words_become_a_text_with_an_id_of_that_person_and_thread() -> None:
    frame = decode(json.dumps({"t": "say", "id": ID, "thread": THREAD, "text": "/status"}))
    assert isinstance(frame, Say)
    inbound = said(frame, "ana", "ana", "7", 5.0)
    assert inbound.update == f"ana/{THREAD}/{ID}"
    assert inbound.body == into.TextIn("7", "/status")
    assert inbound.thread.key == f"web/{THREAD}/"
    assert said(frame, "bo", "bo", "7", 5.0).update != inbound.update


def test_files_without_words_become_attachments() -> None:
    file = Attachment("handle01", "a.txt", "text/plain", 3)
    frame = Say(ID, THREAD, " ", ("handle01",))
    assert said(frame, "ana", "ana", "7", 5.0, (file,)).body == into.AttachmentIn("7", (file,))


def test_press_and_form_carry_their_data_and_a_handle() -> None:
    press = pressed(Press(ID, THREAD, "7", "a:1"), "ana", "ana", 5.0)
    assert press.body == into.PressIn("7", "a:1", f"ana/{THREAD}/{ID}")
    form = filled(Fill(ID, THREAD, "7", "f:1", {"db": ("SQLite",)}), "ana", "ana", 5.0)
    assert form.body == into.FormIn("7", "f:1", {"db": ("SQLite",)}, f"ana/{THREAD}/{ID}")


@pytest.mark.parametrize(
    "data",
    [
        "",
        "[]",
        "null",
        "{}",
        '{"t":"nonsense"}',
        '{"t":"say"}',
        json.dumps({"t": "say", "id": "x", "thread": THREAD, "text": "a"}),
        json.dumps({"t": "say", "id": ID, "thread": "../../etc", "text": "a"}),
        json.dumps({"t": "say", "id": ID, "thread": THREAD, "text": "a" * 30_001}),
        json.dumps({"t": "say", "id": ID, "thread": THREAD, "files": ["handle01"] * 11}),
        json.dumps({"t": "press", "id": ID, "thread": THREAD, "message": "-1", "data": "a"}),
        json.dumps({"t": "press", "id": ID, "thread": THREAD, "message": "1", "data": "a" * 257}),
        json.dumps({"t": "open", "thread": THREAD, "since": -1}),
        "[" * 100_000,
        '{"t":"say","id":"\ud800"}',
    ],
)
def test_anything_else_is_refused(data: str) -> None:
    with pytest.raises(BadFrame):
        decode(data)
