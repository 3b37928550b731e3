"""What one thread shows of one running turn: painted when the chat may be called, for the cost of a page."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import msgspec
from msgspec.structs import replace

from beambot.log import get_logger
from beambot.model.ids import ThreadRef
from beambot.model.outbound import AnyOutBlock, Footer, Outgoing, block_text
from beambot.model.ports import ChatPlatform, Streaming
from beambot.model.settings import Rendering
from beambot.render.clip import Paper
from beambot.render.compose import turn_buttons
from beambot.render.layout import Cursor, Pages, extent, is_overlong, lay_out
from beambot.render.split import measure
from beambot.state.turn import Part, Turn, Work
from beambot.store.records import ShownRow, content_hash

log = get_logger("delivery")

_TAKEN_BACK = "The agent said this again above, in other words."
# Without a word for so long, or with a tool that has run for so long, nothing more to read comes for a while.
_SILENCE, _TOOL_BEGUN = 0.35, 0.1
_cursor = msgspec.json.Decoder(Cursor)


class Screen:
    """The pump sets `turn`; the lane asks `next_page` and tells `confirm`."""

    def __init__(
        self,
        thread: ThreadRef,
        session: str,
        turn: Turn,
        platform: ChatPlatform,
        settings: Rendering,
        reply_to: str = "",
    ) -> None:
        self.thread = thread
        self.session = session
        self.turn = turn
        self.urgent = False
        self.tidying = False
        self.waiting_since: float | None = None
        self.last_call = float("-inf")
        self.heard_at = float("-inf")
        self.heard: Part | None = None
        capabilities = platform.capabilities
        self._reply_to = reply_to
        self._paper = paper_of(platform, _limit(platform, thread))
        self._stop_button = capabilities.buttons > 0 and not capabilities.own_stop
        self._settings = settings if capabilities.upload_bytes else replace(settings, file_above=0)
        self._pages = Pages()
        self._painted: Turn | None = None
        self._newest: dict[int, Outgoing] = {}
        self._wanted: dict[int, Outgoing] = {}
        self._messages: dict[str, str] = {}
        self._hashes: dict[int, str] = {}
        self._last = 0
        self._sent: tuple[Outgoing, int, Cursor] | None = None
        self._seen: tuple[int, Cursor] | None = None
        self._roll = False

    @property
    def overlong(self) -> bool:
        """Whether the chat shows only a part of the answer: the whole goes as a file."""
        return self._pages.overlong

    def restore(self, shown: Sequence[ShownRow]) -> None:
        """Take up what an earlier run left in the chat: the same pages, and only what differs is sent."""
        known: list[Cursor] = []
        rows = sorted(shown, key=lambda row: _number(row.key))
        for row in rows:
            self._messages[row.key] = row.message
            start = _start(self.turn, row.place)
            if start is None or _number(row.key) != len(known) or (known and not start.is_after(known[-1])):
                break
            known.append(start)
            if row.hash:
                self._hashes[len(known) - 1] = row.hash
        # Pages that stand beyond those are taken back, or used again.
        self._last = max((_number(row.key) for row in rows), default=0)
        if known:
            sealed = range(len(known) - 1)
            early = tuple(number for number in sealed if number not in self._hashes)
            overlong = is_overlong(self.turn, known[-1], self._settings)
            self._pages = Pages(tuple(known), tuple(sealed), early, overlong)

    def next_page(self, now: float) -> Outgoing | None:
        """The page to send next: the first that has something new to read, else one to tidy."""
        self._paint(now)
        fresh = [number for number in self._wanted if not self._is_only_untidy(number)]
        self.tidying = not fresh
        if not self._wanted:
            return None
        page = self._wanted[min(fresh or self._wanted)]
        if page is self._newest.get(self._last):
            self._sent = (page, self._last, extent(self.turn))
        return page

    def pending(self, now: float) -> list[tuple[Outgoing, bool]]:
        """Every page that does not stand as it should when the turn has ended, and whether it is only untidy."""
        self._paint(now)
        untidy = {number: self._is_only_untidy(number) for number in self._wanted}
        return [(self._wanted[n], untidy[n]) for n in sorted(self._wanted, key=lambda n: (untidy[n], n))]

    def newest(self) -> Outgoing | None:
        """The last page as it was painted last, whether it stands so already or not."""
        return self._newest.get(self._last)

    def _is_only_untidy(self, number: int) -> bool:
        """A page whose every word stands in the chat. One that is still a draft there stands nowhere yet."""
        return number in self._pages.early and bool(self._messages.get(_key(self.turn, number)))

    def message(self, page: Outgoing) -> str:
        """The id under which this page stands already, if it does."""
        return self._messages.get(page.key, "")

    def is_live(self, page: Outgoing) -> bool:
        """Whether this page still grows."""
        return self.turn.result is None and _number(page.key) == self._last

    def turn_page(self) -> None:
        """What comes next stands on a new page, where that can be done."""
        self._roll = True

    def confirm(self, page: Outgoing, message: str) -> None:
        """This page stands in the chat now, under this id."""
        self._messages[page.key] = message
        number = _number(page.key)
        if self._sent is not None and self._sent[0] is page:
            self._seen = self._sent[1:]
        if number < self._last:
            self._hashes[number] = content_hash(page)
        if self._wanted.get(number) == page:
            del self._wanted[number]

    def _paint(self, now: float) -> None:
        turn = self.turn
        if turn is self._painted and not self._roll:
            return
        before = self._last
        if self._painted is not None and turn.revised != self._painted.revised:
            # What stood on sealed pages may have changed: everything is laid out anew, what is alike is not sent.
            self._pages, self._seen, self._newest = Pages(), None, {}
        self._painted = turn
        seen = self._seen[1] if self._seen is not None and self._seen[0] == self._last else None
        roll, self._roll = self._roll, False
        self._pages, pages = lay_out(turn, self._pages, self._paper, self._settings, now, seen, roll=roll)
        last = self._last = len(self._pages.starts) - 1
        for number, blocks in pages:
            if not blocks:
                continue
            buttons = turn_buttons(turn, self.session, stop_button=self._stop_button) if number == last else ()
            reply_to = self._reply_to if number == 0 else ""
            place = _place(turn, self._pages.starts[number])
            page = Outgoing(_key(turn, number), blocks, buttons, reply_to=reply_to, place=place)
            if self._newest.get(number) != page:
                self._newest[number] = page
                if number in self._hashes and self._hashes[number] == content_hash(page):
                    self._wanted.pop(number, None)
                else:
                    self._wanted[number] = page
        for number in range(last + 1, before + 1):
            self._wanted[number] = Outgoing(_key(turn, number), (Footer(_TAKEN_BACK),))
        for number in [n for n in self._newest if n != last and n not in self._pages.unsettled]:
            del self._newest[number]


def paper_of(platform: ChatPlatform, limit: int = 0) -> Paper:
    """What a platform gives one message. A bug in how it measures costs the right size, and nothing else."""
    capabilities = platform.capabilities

    def size(block: AnyOutBlock) -> int:
        try:
            return platform.measure(block)
        except Exception as error:
            log.error("a platform cannot measure a block", platform=platform.name, exc_info=error)
            return measure(block_text(block), capabilities.text_unit)

    return Paper(limit or capabilities.text_limit, capabilities.text_unit, size)


def _limit(platform: ChatPlatform, thread: ThreadRef) -> int:
    """A page has to fit a stream of the chat's own, where that is shorter than a message."""
    most = platform.capabilities.text_limit
    chat: object = platform
    limits = chat.stream_limits(thread) if isinstance(chat, Streaming) else None
    return min(most, limits.text) if limits is not None and limits.text else most


def pause_at(turn: Turn, heard_at: float) -> float:
    """From when on a turn of which the last was heard then seems to wait for something: a tool, or its model."""
    if not isinstance(turn.live, Work):
        return heard_at + _SILENCE
    running = any(turn.tools[tool].state == "running" for tool in turn.live.tools)
    return heard_at + _TOOL_BEGUN if running else inf


def _place(turn: Turn, start: Cursor) -> str:
    """Where a page begins, and in which of the texts that an agent gave."""
    return f"{turn.revised} {msgspec.json.encode(start).decode()}"


def _start(turn: Turn, place: str) -> Cursor | None:
    """The same read back; None where the text was changed since."""
    revised, _, start = place.partition(" ")
    return _cursor.decode(start) if start and revised == str(turn.revised) else None


def _key(turn: Turn, number: int) -> str:
    return f"turn:{turn.id}:{number}"


def _number(key: str) -> int:
    return int(key.rpartition(":")[2])
