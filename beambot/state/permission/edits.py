"""Edit before approve: what of a request a person may change, and the request as they changed it.

Pure. Only texts at the top of an input can be changed: the command, or what is written into a file. What a person
sees for confirmation is what the agent gets, so a text that cannot be shown as it is cannot be changed here: one
that holds a secret, or characters that nobody sees.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from beambot.model.bodies import Diff, PermissionRequest
from beambot.state.permission.calls import is_command, is_new_text

_LABELS = {True: "Command", False: "New text"}


class Editable(Struct, frozen=True):
    """One text of a request that can be changed: its name in the input, and what it is called on a card."""

    name: str
    label: str
    text: str


def editable(body: PermissionRequest) -> tuple[Editable, ...]:
    """What can be changed, the command first. Nothing where the input holds no such text."""
    found = [
        Editable(name, _LABELS[is_command(name)], text)
        for name, text in body.input.items()
        if isinstance(text, str) and (is_command(name) or is_new_text(name))
    ]
    return tuple(sorted(found, key=lambda one: one.label))


def edited(body: PermissionRequest, texts: Mapping[str, str]) -> PermissionRequest | None:
    """The request with these texts in it; None where nothing was changed, or what cannot be changed."""
    before = {one.name: one.text for one in editable(body)}
    changed = {name: text for name, text in texts.items() if before.get(name) != text}
    if not changed or not changed.keys() <= before.keys():
        return None
    title = body.title
    for name, text in changed.items():
        if title == before[name]:
            title = text
    diffs = tuple(_redrawn(diff, before, changed) for diff in body.diffs)
    known = tuple(diff for diff in diffs if diff is not None)
    return replace(
        body, input={**body.input, **changed}, title=title, diffs=known if len(known) == len(diffs) else ()
    )


def _redrawn(diff: Diff, before: Mapping[str, str], changed: Mapping[str, str]) -> Diff | None:
    """The change that a new text makes of a file; None where it cannot be told where in it the text stands."""
    if diff.new is None:
        return None
    new = diff.new
    for name, text in changed.items():
        was = before[name]
        if new == was:
            new = text
        elif was and new.count(was) == 1:
            new = new.replace(was, text)
        else:
            return None
    return diff if new == diff.new else replace(diff, new=new, unified="", added=0, removed=0)
