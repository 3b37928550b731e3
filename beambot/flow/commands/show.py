"""Commands that show more: what a turn did, what it changed, a file, the last answer again."""

from __future__ import annotations

from pathlib import Path, PurePath

from beambot.errors import FileRefused
from beambot.flow.commands.table import Command, Desk
from beambot.flow.outfiles import from_project
from beambot.log import redact
from beambot.model.bodies import Diff
from beambot.model.message import UnifiedMessage
from beambot.model.outbound import AnyOutBlock, Change, Footer, Outgoing
from beambot.model.settings import Rendering
from beambot.render import diff as diffs
from beambot.render.asks import change
from beambot.render.clip import Paper
from beambot.render.details import details as told
from beambot.render.details import stories
from beambot.render.images import drawn, pictures_available
from beambot.render.layout import paginate
from beambot.state.turn import Turn, Words, Work, reduce
from beambot.store.records import SessionRow, TurnRow

# More pages than this are a file.
_PAGES = 3
# A change of more rows than this is summed up, and the whole is a file.
_ROWS = 60


async def details(desk: Desk, args: str) -> None:
    """/details [turn]: each tool with what it was given and what it said."""
    found = await _messages(desk, args)
    if found is None:
        return
    tools = stories(found[1])
    if not tools:
        await desk.say("The last turn used no tools." if not args else "That turn used no tools.")
        return
    await _show(desk, told(tools, whole=False), "details.md", told(tools, whole=True))


async def last(desk: Desk, args: str) -> None:
    """/last: the last answer once more."""
    found = await _messages(desk, args)
    if found is None:
        return
    text = answer(found[1])
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
    changes = _changes(messages, session.folder)
    wanted = [c for c in changes if not args or PurePath(c.path).match(args) or c.path.endswith(args)]
    if not wanted:
        names = ", ".join(c.path for c in changes[:10])
        await desk.say(f"No file like {args!r} was changed. Changed: {names}" if names else "Nothing was changed.")
        return
    await _show_changes(desk, wanted)


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
        detail = {"path": args[:500], "why": str(refusal)}
        await desk.house.store.audit.add("file_refused", desk.member.name, detail)
        await desk.warn(str(refusal))
        return
    await desk.house.store.audit.add("file_sent", desk.member.name, {"path": args[:500], "session": session.id})
    await _send(desk, PurePath(args.strip()).name, data, Footer(redact(args.strip())))


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
    """In colours where the chat has them, as a picture where it has not; a large one also as a file."""
    capabilities = desk.house.platforms[desk.thread.platform].capabilities
    files = [file for c in changes for file in diffs.parse_diff(c.unified, c.path)]
    rows = sum(len(file.rows) for file in files)
    summary = Footer(diffs.text_summary(files))
    if capabilities.coloured_diff and rows <= _ROWS:
        await desk.say(*changes, summary)
        return
    if capabilities.upload_bytes and not capabilities.coloured_diff and pictures_available():
        await _send(desk, "changes.png", await drawn(files, _ROWS), summary)
    else:
        shown = [Change(c.path, _few(c), c.added, c.removed) for c in changes[:10]]
        await desk.say(*shown, summary)
    if rows > _ROWS and capabilities.upload_bytes:
        whole = "".join(f"--- {c.path}\n+++ {c.path}\n{c.unified.rstrip()}\n" for c in changes)
        await _send(desk, "changes.diff", whole.encode())


def _few(change: Change) -> str:
    lines = change.unified.split("\n")
    more = [f"… {len(lines) - _ROWS} more lines"] if len(lines) > _ROWS else []
    return "\n".join(lines[:_ROWS] + more)


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


async def _show(desk: Desk, text: str, name: str, whole: str) -> None:
    """As messages; what would be too many of them also goes as a file."""
    platform = desk.house.platforms[desk.thread.platform]
    capabilities = platform.capabilities
    paper = Paper(capabilities.text_limit, capabilities.text_unit, platform.measure)
    pages = paginate(redact(text), paper, Rendering(file_above=0))
    id = desk.house.ids.new()
    as_file = len(pages) > _PAGES or whole != text
    if as_file and capabilities.upload_bytes:
        rest: tuple[AnyOutBlock, ...] = (Footer(f"The whole is in {name}."),) if len(pages) > _PAGES else ()
        pages = [*pages[: _PAGES - 1], *(page + rest for page in pages[_PAGES - 1 : _PAGES])]
    for number, blocks in enumerate(pages):
        await desk.house.delivery.put([desk.thread], Outgoing(f"note:{id}:{number}", blocks))
    if as_file and capabilities.upload_bytes:
        await _send(desk, name, redact(whole).encode())


async def _send(desk: Desk, name: str, data: bytes, *caption: AnyOutBlock) -> None:
    await desk.house.send_file(desk.thread, name, data, f"file:{desk.house.ids.new()}", *caption)


COMMANDS = (
    Command("last", "observer", "the last answer once more", last, "[turn]"),
    Command("details", "observer", "what the last turn did, tool by tool", details, "[turn]"),
    Command("diff", "observer", "what the last turn changed", diff, "[file]"),
    Command("file", "participant", "send a file of the project", file, "path"),
)
