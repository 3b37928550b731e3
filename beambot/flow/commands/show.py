"""Commands that show more: what a turn did, what it changed, a file, the last answer again."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path, PurePath

import anyio.to_thread

from beambot.errors import FileRefused
from beambot.flow.commands.table import Command, Desk
from beambot.flow.outfiles import from_project, one_line, safe, within
from beambot.model.bodies import Diff
from beambot.model.message import UnifiedMessage
from beambot.model.outbound import AnyOutBlock, Change, Footer, Outgoing
from beambot.model.settings import Rendering
from beambot.render import diff as diffs
from beambot.render.asks import change
from beambot.render.clip import JOINT, Paper
from beambot.render.details import details as told
from beambot.render.details import stories
from beambot.render.images import drawn, layout, pictures_available
from beambot.render.layout import paginate
from beambot.render.markdown import clean
from beambot.render.split import measure
from beambot.state.turn import Turn, Words, Work, reduce
from beambot.store.records import SessionRow, TurnRow

# More pages than this are a file; where the chat takes no files, more than these are left out.
_PAGES, _PAGES_WITHOUT_FILES = 3, 12
# Of a change so many rows are shown, so wide, and so many changes in a message; the whole is a file.
_ROWS, _WIDTH, _CHANGES = 60, 160, 5
_HUNK = re.compile(r"^@@", re.MULTILINE)


async def details(desk: Desk, args: str) -> None:
    """/details [turn]: each tool with what it was given and what it said."""
    found = await _messages(desk, args)
    if found is None:
        return
    tools = await anyio.to_thread.run_sync(stories, found[1])
    if not tools:
        await desk.say("The last turn used no tools." if not args else "That turn used no tools.")
        return
    most = _most_characters(desk)
    short, whole = await anyio.to_thread.run_sync(
        lambda: (told(tools, whole=False, most=most), told(tools, whole=True))
    )
    await _show(desk, short, "details.md", whole)


async def last(desk: Desk, args: str) -> None:
    """/last: the last answer once more."""
    found = await _messages(desk, args)
    if found is None:
        return
    text = await anyio.to_thread.run_sync(answer, found[1])
    if not text:
        await desk.say("The last turn said nothing.")
        return
    await _show(desk, text, "answer.md", text)


async def diff(desk: Desk, args: str) -> None:
    """/diff [file]: what the last turn changed. Buttons name the turn."""
    named, _, turn = args.partition(" ")
    by_button = named == "turn" and turn
    found = await _messages(desk, turn if by_button else "", changed=True)
    args = "" if by_button else args
    if found is None:
        return
    session, messages = found
    changes = await anyio.to_thread.run_sync(_changes, messages, session.folder)
    wanted = [c for c in changes if _is_called(c.path, args)]
    if not wanted:
        names = ", ".join(one_line(c.path) for c in changes[:10])
        words = f"No file like {one_line(args)!r} was changed. Changed: {names}"
        await desk.say(words if names else "Nothing was changed.")
        return
    await _show_changes(desk, wanted)


def _is_called(path: str, name: str) -> bool:
    return name in ("", ".") or path.endswith(name) or (PurePath(name).name != "" and PurePath(path).match(name))


async def file(desk: Desk, args: str) -> None:
    """/file PATH: a file of the project, never a secret."""
    session = await desk.session()
    if session is None:
        return
    platform = desk.house.platforms[desk.thread.platform]
    if not platform.capabilities.upload_bytes:
        await desk.warn("This chat takes no files from beambot.")
        return
    try:
        data = await from_project(Path(session.folder), args, platform.capabilities.upload_bytes)
    except FileRefused as refusal:
        detail = {"path": clean(args[:500]), "why": str(refusal)}
        await desk.house.store.audit.add("file_refused", desk.member.name, detail)
        await desk.warn(str(refusal))
        return
    await desk.house.store.audit.add("file_sent", desk.member.name, {"path": args[:500], "session": session.id})
    await _send(desk, args.strip(), data, Footer(one_line(args)))


def answer(messages: list[UnifiedMessage]) -> str:
    """What a turn said after its last tool, or the last that it said at all."""
    turn = Turn("")
    for message in messages:
        turn = reduce(turn, message)
    said = ""
    ended = False
    for part in reversed(turn.every_part):
        if isinstance(part, Words) and not part.thinking and not part.parent and not (ended and said):
            said = part.text.whole() + ("\n\n" + said if said else "")
        ended = ended or isinstance(part, Work)
    return said.strip()


async def _show_changes(desk: Desk, changes: list[Change]) -> None:
    """In colours where the chat has them, as a picture where it has not; what is not shown whole also as a file."""
    capabilities = desk.house.platforms[desk.thread.platform].capabilities
    takes_files = capabilities.upload_bytes > 0
    files = await anyio.to_thread.run_sync(_parsed, changes)
    summary = one_line(diffs.text_summary(files), min(600, capabilities.text_limit // 4))
    drawable = (
        takes_files and not capabilities.coloured_diff and pictures_available() and any(f.rows for f in files)
    )
    picture = await drawn(files, _ROWS) if drawable else b""
    if 0 < len(picture) <= capabilities.upload_bytes:
        whole = _fits_picture(files)
        await _send(desk, "changes.png", picture, Footer(summary))
    else:
        more = Footer(f"{summary}\n" + _where("changes.diff", takes_files))
        pages, whole = _change_pages(changes, _paper(desk), _most_pages(desk), more)
        pages[-1].append(Footer(summary) if whole else more)
        await _post(desk, pages)
    if not whole and takes_files:
        data = await anyio.to_thread.run_sync(_as_file, changes)
        await _send(desk, "changes.diff", within(data, capabilities.upload_bytes))


def _parsed(changes: list[Change]) -> list[diffs.FileDiff]:
    return [file for change in changes for file in diffs.of_change(change)]


def _as_file(changes: list[Change]) -> bytes:
    heads = ((" ".join(clean(c.path).split()), c) for c in changes)
    return "".join(f"--- {path}\n+++ {path}\n{c.unified.rstrip()}\n" for path, c in heads).encode(errors="replace")


def _fits_picture(files: list[diffs.FileDiff]) -> bool:
    """Whether a picture shows every row to its end."""
    rows = [row for file in files for row in file.rows]
    if len(rows) + len(files) > _ROWS or any(len(row.text) > _WIDTH for row in rows):
        return False
    return len(layout(files, 10 * _ROWS)) <= _ROWS and not any(file.hidden for file in files)


def _change_pages(
    changes: list[Change], paper: Paper, most: int, under: Footer
) -> tuple[list[list[AnyOutBlock]], bool]:
    """A few messages with a few changes each, and whether everything stands in them."""
    page_room = room = max(paper.limit - paper.size(under) - 2 * JOINT, paper.limit // 2)
    pages: list[list[AnyOutBlock]] = [[]]
    whole = True
    for one in changes:
        block = _few(one, page_room, paper)
        whole = whole and block is one and _stands_whole(one, paper)
        size = paper.size(block) + JOINT
        if pages[-1] and (size > room or len(pages[-1]) == _CHANGES):
            if len(pages) == most:
                return pages, False
            pages.append([])
            room = page_room
        pages[-1].append(block)
        room -= size
    return pages, whole


def _few(change: Change, room: int, paper: Paper) -> Change:
    """The change itself where it fits, else as many of its rows as do."""
    if len(change.unified) <= room and paper.size(change) <= room:
        return change
    lines = change.unified.split("\n")
    rows = min(len(lines), _ROWS)
    while True:
        kept = [line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…" for line in lines[:rows]]
        more = [f"… {len(lines) - rows} more lines"] if len(lines) > rows else []
        shown = Change(one_line(change.path), "\n".join(kept + more), change.added, change.removed)
        if not rows or paper.size(shown) <= room:
            return shown
        rows = rows * 3 // 4


def _stands_whole(change: Change, paper: Paper) -> bool:
    """Whether the chat shows every row: where it shortens a change by itself, what it shows is too small.

    It is asked with one more row, which is longer than any words that would say how much was left out.
    """
    text = clean(change.unified).strip("\n")
    first = _HUNK.search(text)
    rows = text[first.start() if first else 0 :]

    def around(unified: str) -> int:
        shown = Change(change.path, unified, change.added, change.removed)
        return paper.size(shown) - measure(unified, paper.unit)

    row = "+" + "x" * 39
    return not rows or around(f"{rows}\n{row}") >= around("\n".join([row] * 6))


def _changes(messages: list[UnifiedMessage], folder: str) -> list[Change]:
    """Every change of a turn, those of one file after one another."""
    found = [change(message.body, folder, whole=True) for message in messages if isinstance(message.body, Diff)]
    by_path: dict[str, list[Change]] = {}
    for one in found:
        by_path.setdefault(one.path, []).append(one)
    return [
        Change(path, "\n".join(c.unified for c in same), sum(c.added for c in same), sum(c.removed for c in same))
        for path, same in by_path.items()
    ]


async def _messages(
    desk: Desk, args: str, *, changed: bool = False
) -> tuple[SessionRow, list[UnifiedMessage]] | None:
    """What was said in the turn that is meant: the named one, else the newest that has something to show."""
    session = await desk.session()
    if session is None:
        return None
    await desk.house.journal.flush()
    journal = desk.house.store.journal
    if args:
        turn = await desk.house.store.turns.get(args.split()[0])
        if turn is None or turn.session != session.id:
            await desk.warn("There is no such turn in this session.")
            return None
        return session, await journal.turn(session.id, turn.id)
    for turn in await _played(desk, session):
        messages = await journal.turn(session.id, turn.id)
        if any(isinstance(m.body, Diff) for m in messages) if changed else messages:
            return session, messages
    await desk.say("Nothing was changed yet." if changed else "Nothing was done here yet.")
    return None


async def _played(desk: Desk, session: SessionRow) -> list[TurnRow]:
    return [turn for turn in await desk.house.store.turns.recent(session.id, 20) if turn.started_at is not None]


def _paper(desk: Desk) -> Paper:
    platform = desk.house.platforms[desk.thread.platform]
    return Paper(platform.capabilities.text_limit, platform.capabilities.text_unit, platform.measure)


def _most_pages(desk: Desk) -> int:
    takes_files = desk.house.platforms[desk.thread.platform].capabilities.upload_bytes > 0
    return _PAGES if takes_files else _PAGES_WITHOUT_FILES


def _most_characters(desk: Desk) -> int:
    """More than this is on no page that is shown: markup is not counted, yet it is less than what is."""
    return (_most_pages(desk) + 1) * _paper(desk).limit * 2


async def _show(desk: Desk, text: str, name: str, whole: str) -> None:
    """As messages; what would be too many of them also goes as a file."""
    upload_bytes = desk.house.platforms[desk.thread.platform].capabilities.upload_bytes
    takes_files = upload_bytes > 0
    most, begin = _most_pages(desk), _most_characters(desk)
    shown = await anyio.to_thread.run_sync(safe, text)
    pages = paginate(shown[:begin], _paper(desk), Rendering(file_above=0))
    more = len(pages) > most or len(shown) > begin
    if more:
        pages = pages[:most]
        pages[-1] = (*pages[-1], Footer(_where(name, takes_files)))
    await _post(desk, pages)
    if takes_files and (more or whole != text):
        data = await anyio.to_thread.run_sync(lambda: safe(whole).encode(errors="replace"))
        await _send(desk, name, within(data, upload_bytes))


def _where(name: str, takes_files: bool) -> str:
    return f"The whole is in {name}." if takes_files else "There is more than is shown here."


async def _post(desk: Desk, pages: Iterable[Iterable[AnyOutBlock]]) -> None:
    id = desk.house.ids.new()
    for number, blocks in enumerate(pages):
        await desk.house.delivery.put([desk.thread], Outgoing(f"note:{id}:{number}", tuple(blocks)))


async def _send(desk: Desk, name: str, data: bytes, *caption: AnyOutBlock) -> None:
    await desk.house.send_file(desk.thread, name, data, f"file:{desk.house.ids.new()}", *caption)


COMMANDS = (
    Command("last", "observer", "the last answer once more", last, "[turn]"),
    Command("details", "observer", "what the last turn did, tool by tool", details, "[turn]"),
    Command("diff", "observer", "what the last turn changed", diff, "[file]"),
    Command("file", "participant", "send a file of the project", file, "path"),
)
