"""What is said: the same bytes for the same value, exactly the same value back, and nothing unknown lost."""

from __future__ import annotations

import json
import types
import typing
from functools import cache
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beambot.model import inbound, message, outbound
from beambot.model.bodies import Status, TextDelta, ToolStarted, Unknown
from beambot.model.encoding import well_formed
from beambot.model.ids import MessageRef, ThreadRef
from beambot.model.inbound import Inbound, Sender, TextIn
from beambot.model.message import AnyBody, UnifiedMessage
from beambot.model.outbound import AnyOutBlock, Button, Form, Markdown, Notice, Outgoing, plain_text
from beambot.model.settings import ROLES, Role, may

BODIES: tuple[type, ...] = typing.get_args(AnyBody)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
floats = st.floats(allow_nan=False, allow_infinity=False)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | floats | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)

# What the design says can be said, and what was added since. A tag never leaves this list.
DESIGNED = """
session_init user_message text_delta thinking_delta assistant result
tool_started tool_progress tool_output tool_ended tool_summary diff
permission_request question plan_review ask_resolved ask_cancelled
status plan mode_changed model_changed commands_changed compact_boundary auth_status rate_limited hook_event
session_closed team_message team_task_update team_state_change task_notification
presence error keep_alive unknown
"""
ADDED = ["context_usage", "title_changed", "login_request"]


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of a type that a struct of the model may hold."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return anything
    if kind is type(None):
        return st.none()
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return structs_of(kind)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (typing.Union, types.UnionType):
        return st.one_of([values_of(argument) for argument in arguments])
    if origin is tuple:
        return st.lists(values_of(arguments[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(values_of(arguments[0]), values_of(arguments[1]), max_size=3)
    return {str: texts, int: st.integers(0, 2**63), float: floats, bool: st.booleans()}[kind]


@cache
def structs_of(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(kind)
    fields = msgspec.structs.fields(kind)
    needed = {
        field.name: st.deferred(lambda h=hints[field.name]: values_of(h)) for field in fields if field.required
    }
    spare = {
        field.name: st.deferred(lambda h=hints[field.name]: values_of(h)) for field in fields if not field.required
    }
    return st.fixed_dictionaries(needed, optional=spare).map(lambda found: kind(**found))


ENVELOPES = st.tuples(texts, texts, texts, st.integers(0, 2**62), floats)


def tag(kind: type) -> str:
    return str(kind.__struct_config__.tag)  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", BODIES, ids=tag)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_every_body_comes_back_exactly_and_gives_the_same_bytes(kind: type, data: st.DataObject) -> None:
    said = UnifiedMessage(data.draw(structs_of(kind)), *data.draw(ENVELOPES))
    written = message.encode(said)
    assert message.decode(written) == said
    assert type(message.decode(written).body) is kind
    assert message.encode(message.decode(written)) == written


@pytest.mark.parametrize("kind", typing.get_args(inbound.AnyInbound), ids=tag)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_everything_that_comes_in_comes_back_exactly(kind: type, data: st.DataObject) -> None:
    place, sender = data.draw(structs_of(ThreadRef)), data.draw(structs_of(Sender))
    came = Inbound(data.draw(texts), sender, place, data.draw(floats), data.draw(structs_of(kind)))
    written = inbound.encode(came)
    assert inbound.decode(written) == came
    assert inbound.encode(inbound.decode(written)) == written
    assert came.platform == came.thread.platform


@pytest.mark.parametrize("kind", typing.get_args(AnyOutBlock), ids=tag)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_everything_that_goes_out_comes_back_exactly(kind: type, data: st.DataObject) -> None:
    blocks = data.draw(st.lists(structs_of(kind), min_size=1, max_size=3).map(tuple))
    buttons = data.draw(st.lists(structs_of(Button), max_size=2).map(tuple))
    form = data.draw(st.none() | structs_of(Form))
    goes = Outgoing(data.draw(texts), blocks, (buttons,), form, loud=data.draw(st.booleans()))
    written = outbound.encode(goes)
    assert outbound.decode(written) == goes
    assert outbound.encode(outbound.decode(written)) == written
    plain_text(goes)


def test_the_order_in_which_a_dictionary_was_filled_changes_no_byte() -> None:
    one = UnifiedMessage(ToolStarted("t", "n", input={"a": 1, "b": {"x": 1, "y": 2}}))
    two = UnifiedMessage(ToolStarted("t", "n", input={"b": {"y": 2, "x": 1}, "a": 1}))
    assert message.encode(one) == message.encode(two)


def test_fields_with_their_default_are_left_out() -> None:
    assert message.encode(UnifiedMessage(TextDelta("x"))) == b'{"body":{"type":"text_delta","text":"x"}}'


@settings(deadline=None)
@given(
    raw=st.dictionaries(texts, anything, max_size=4), kind=texts.map("later_{}".format), seq=st.integers(0, 2**62)
)
def test_a_body_of_a_later_version_passes_through_with_its_raw_data(
    raw: dict[str, Any], kind: str, seq: int
) -> None:
    raw = {**raw, "type": kind}
    read = message.decode(
        msgspec.json.encode({"body": raw, "session": "s", "turn": "t", "parent": "p", "seq": seq})
    )
    assert read == UnifiedMessage(Unknown(kind, raw), "p", "t", "s", seq)
    assert message.decode(message.encode(read)) == read


@pytest.mark.parametrize(
    "body", [{"type": "result", "outcome": "exploded"}, {"type": "text_delta"}, {"type": 7}, {}]
)
def test_a_body_that_does_not_fit_its_type_is_kept_as_unknown(body: dict[str, Any]) -> None:
    read = message.decode(json.dumps({"body": body, "seq": 3}))
    assert read.body == Unknown(str(body.get("type", "")), body)
    assert read.seq == 3


@pytest.mark.parametrize("kind", BODIES, ids=tag)
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_fields_of_a_later_version_are_tolerated(kind: type, data: st.DataObject) -> None:
    body = data.draw(structs_of(kind))
    raw = msgspec.to_builtins(UnifiedMessage(body))
    raw["body"]["from_the_future"] = {"a": [1]}
    raw["also_new"] = True
    assert message.decode(msgspec.json.encode(raw)).body == body


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"seq":1}', b'{"body":7}', b"\xff"])
def test_what_is_no_message_at_all_is_an_error(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        message.decode(data)


def test_every_tag_is_unique_and_none_was_taken_away() -> None:
    tags = [tag(kind) for kind in BODIES]
    assert len(set(tags)) == len(tags)
    assert sorted(tags) == sorted([*DESIGNED.split(), *ADDED])


@settings(deadline=None)
@given(text=st.text(st.sampled_from("a\ud800\udc00\ud83d\ude00é\U0001f600"), max_size=12))
def test_half_a_surrogate_pair_stops_nothing(text: str) -> None:
    said = UnifiedMessage(ToolStarted("t", "n", title=text, input={text: [text, {"x": (text,)}]}))
    came = Inbound("u", Sender("1", text), ThreadRef("p", "c"), 1.0, TextIn("m", text))
    goes = Outgoing("k", (Markdown(text), Notice(text)), ((Button(text, "d"),),))
    read = message.decode(message.encode(said))
    assert isinstance(read.body, ToolStarted)
    assert read.body.title == well_formed(text)
    assert read.body.input == {well_formed(text): [well_formed(text), {"x": [well_formed(text)]}]}
    body = inbound.decode(inbound.encode(came)).body
    assert isinstance(body, TextIn)
    assert body.text == well_formed(text)
    assert outbound.decode(outbound.encode(goes)).blocks[0] == Markdown(well_formed(text))
    assert message.encode(read) == message.encode(said)


@pytest.mark.parametrize(
    ("text", "mended"),
    [("a\ud800b", "a\ufffdb"), ("\udc00", "\ufffd"), ("\ud83d\ude00", "\U0001f600"), ("déjà 👍", "déjà 👍")],
)
def test_two_halves_are_joined_and_a_lone_one_is_replaced(text: str, mended: str) -> None:
    assert well_formed(text) == mended


def test_ids_name_a_message_and_a_place() -> None:
    assert UnifiedMessage(Status("x"), session="s1", seq=7).id == "s1:7"
    assert ThreadRef("web", "room", "topic").key == "web/room/topic"
    assert ThreadRef("web", "room").key == "web/room/"
    assert len({MessageRef(ThreadRef("a", "b"), "1"), MessageRef(ThreadRef("a", "b"), "1")}) == 1


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        ("observer", {"observer"}),
        ("participant", {"observer", "participant"}),
        ("approver", {"observer", "participant", "approver"}),
        ("owner", {"observer", "participant", "approver", "owner"}),
    ],
)
def test_each_role_may_what_the_ones_before_it_may(role: Role, allowed: set[str]) -> None:
    assert {needed for needed in ROLES if may(role, needed)} == allowed


def test_plain_text_holds_every_word_of_a_message() -> None:
    blocks = (
        Markdown("words"),
        Notice("a notice"),
        outbound.Footer("a footer"),
        outbound.Tools((outbound.ToolLine("ran it", state="failed"),), hidden=4),
        outbound.Checklist((outbound.PlanEntry("step", "completed"),)),
        outbound.Change("a.py", "+new"),
        outbound.Facts((outbound.Fact("Folder", "/x"),)),
    )
    text = plain_text(Outgoing("k", blocks, form=Form("f", ())))
    for words in (
        "words",
        "a notice",
        "a footer",
        "✗ ran it",
        "… 4 more",
        "[x] step",
        "a.py",
        "+new",
        "Folder: /x",
    ):
        assert words in text
