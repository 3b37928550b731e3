"""What one thread shows of one running turn: painted when the chat may be called, for the cost of a page."""

from __future__ import annotations

from beambot.model.capabilities import PlatformCapabilities
from beambot.model.ids import ThreadRef
from beambot.model.outbound import Outgoing
from beambot.model.settings import Rendering
from beambot.render.compose import turn_buttons
from beambot.render.layout import Cursor, Pages, Paper, extent, lay_out
from beambot.state.turn import Turn


class Screen:
    """The pump sets `turn`; the lane asks `next_page` and tells `confirm`."""

    def __init__(
        self,
        thread: ThreadRef,
        session: str,
        turn: Turn,
        capabilities: PlatformCapabilities,
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
        self._reply_to = reply_to
        self._paper = Paper(capabilities.text_limit, capabilities.text_unit)
        self._stop_button = capabilities.buttons > 0 and not capabilities.own_stop
        self._settings = settings
        self._pages = Pages()
        self._painted: Turn | None = None
        self._newest: dict[int, Outgoing] = {}
        self._wanted: dict[int, Outgoing] = {}
        self._messages: dict[str, str] = {}
        self._last = 0
        self._sent: tuple[Outgoing, int, Cursor] | None = None
        self._seen: tuple[int, Cursor] | None = None

    def next_page(self, now: float) -> Outgoing | None:
        """The page to send next: the first that has something new to read, else one to tidy."""
        self._paint(now)
        fresh = [number for number in self._wanted if number not in self._pages.early]
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
        early = self._pages.early
        return [(self._wanted[n], n in early) for n in sorted(self._wanted, key=lambda n: (n in early, n))]

    def message(self, page: Outgoing) -> str:
        """The id under which this page stands already, if it does."""
        return self._messages.get(page.key, "")

    def confirm(self, page: Outgoing, message: str) -> None:
        """This page stands in the chat now, under this id."""
        self._messages[page.key] = message
        number = int(page.key.rpartition(":")[2])
        if self._sent is not None and self._sent[0] is page:
            self._seen = self._sent[1:]
        if self._wanted.get(number) == page:
            del self._wanted[number]

    def _paint(self, now: float) -> None:
        turn = self.turn
        if turn is self._painted:
            return
        self._painted = turn
        seen = self._seen[1] if self._seen is not None and self._seen[0] == self._last else None
        self._pages, pages = lay_out(turn, self._pages, self._paper, self._settings, now, seen)
        last = self._last = len(self._pages.starts) - 1
        for number, blocks in pages:
            if not blocks:
                continue
            buttons = turn_buttons(turn, self.session, stop_button=self._stop_button) if number == last else ()
            page = Outgoing(
                f"turn:{turn.id}:{number}", blocks, buttons, reply_to=self._reply_to if number == 0 else ""
            )
            if self._newest.get(number) != page:
                self._newest[number] = page
                self._wanted[number] = page
        for number in [n for n in self._newest if n != last and n not in self._pages.unsettled]:
            del self._newest[number]
