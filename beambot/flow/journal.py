"""The journal's writer: many sessions, one commit. A run of deltas becomes one record with its last number."""

from __future__ import annotations

from beambot.errors import StoreError
from beambot.log import get_logger
from beambot.model.bodies import Assistant, KeepAlive, TextDelta, ThinkingDelta
from beambot.model.content import Text, Thinking
from beambot.model.message import UnifiedMessage
from beambot.model.ports import Clock
from beambot.store import Store

log = get_logger("journal")

_EVERY_SECONDS = 1.0


class _Run:
    """Deltas of one kind in a row, not yet written."""

    __slots__ = ("kind", "last", "texts")

    def __init__(self, message: UnifiedMessage, kind: type[TextDelta] | type[ThinkingDelta], text: str) -> None:
        self.kind = kind
        self.last = message
        self.texts = [text]

    def goes_on(self, message: UnifiedMessage) -> bool:
        same = self.last.turn == message.turn and self.last.parent == message.parent
        return same and type(message.body) is self.kind

    def completed_by(self, message: UnifiedMessage) -> bool:
        """Whether these words stand whole in a complete message; their beginning may be written already."""
        body, kind = message.body, Text if self.kind is TextDelta else Thinking
        if not isinstance(body, Assistant) or (self.last.turn, self.last.parent) != (message.turn, message.parent):
            return False
        said = "".join(self.texts)
        return any(isinstance(block, kind) and block.text.endswith(said) for block in body.blocks)

    def message(self) -> UnifiedMessage:
        last = self.last
        body = self.kind("".join(self.texts))
        return UnifiedMessage(body, last.parent, last.turn, last.session, last.seq, last.at)


class JournalWriter:
    """`add` costs nothing; `flush` is called before anything that must not be ahead of the journal."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._pending: dict[str, list[UnifiedMessage | _Run]] = {}
        self._failing = False

    def add(self, message: UnifiedMessage) -> None:
        """Note a message. Complete words replace the run that led to them."""
        body = message.body
        pending = self._pending.get(message.session)
        if pending is None:
            pending = self._pending[message.session] = []
        last = pending[-1] if pending else None
        if isinstance(body, TextDelta | ThinkingDelta):
            if isinstance(last, _Run) and last.goes_on(message):
                last.last = message
                last.texts.append(body.text)
            else:
                pending.append(_Run(message, type(body), body.text))
            return
        if isinstance(body, KeepAlive):
            return
        if isinstance(body, Assistant) and isinstance(last, _Run) and last.completed_by(message):
            pending.pop()
        pending.append(message)

    async def flush(self) -> None:
        """Write what is pending. A database that fails keeps it pending, and is told of once."""
        if not self._pending:
            return
        taken, self._pending = self._pending, {}
        batch = [m.message() if isinstance(m, _Run) else m for messages in taken.values() for m in messages]
        try:
            await self._store.journal.append(batch)
        except StoreError as error:
            if type(error) is StoreError:
                await self._one_by_one(taken)
                return
            for session, messages in taken.items():
                self._pending[session] = messages + self._pending.get(session, [])
            if not self._failing:
                log.error("the journal cannot be written", why=str(error))
            self._failing = True
        else:
            self._failing = False

    async def _one_by_one(self, taken: dict[str, list[UnifiedMessage | _Run]]) -> None:
        """One message is to blame; the others do not suffer for it."""
        for session, messages in taken.items():
            for message in messages:
                try:
                    await self._store.journal.append([message.message() if isinstance(message, _Run) else message])
                except StoreError as error:
                    log.error("a message cannot be journalled", session=session, why=str(error))

    async def run(self) -> None:
        """For as long as beambot runs."""
        while True:
            await self._clock.sleep(_EVERY_SECONDS)
            await self.flush()
