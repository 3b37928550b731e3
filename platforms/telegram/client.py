"""The vendor's library: one `Bot`, whose failures are the core's errors and never show the token."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import httpx
import msgspec
from telegram import Bot
from telegram.error import NetworkError, TelegramError, TimedOut
from telegram.request import HTTPXRequest

from beambot.api import PlatformError, Unreachable
from platforms.telegram import Settings
from platforms.telegram.calling.failures import Failure, Scope, as_error
from platforms.telegram.calling.quiet import hide, keep_quiet, secrets
from platforms.telegram.places import Places
from platforms.telegram.receiving.schema import Me

BASE_URL = "https://api.telegram.org/bot"
BASE_FILE_URL = "https://api.telegram.org/file/bot"
POLL_SECONDS = 50
T = TypeVar("T")
Json = dict[str, Any]


class Answered(TelegramError):
    """Telegram answered, and the answer is no. The library's own errors leave out half of what it says."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.description or f"HTTP {failure.code}")
        self.failure = failure


class _Request(HTTPXRequest):
    """HTTP as the library does it, with answers that are not ok told whole."""

    async def do_request(self, *args: Any, **kwargs: Any) -> tuple[int, bytes]:
        code, payload = await super().do_request(*args, **kwargs)
        if 200 <= code <= 299:
            return code, payload
        raise Answered(_failure(code, payload))

    @staticmethod
    def parse_json_payload(payload: bytes) -> Json:
        try:
            decoded: Json = msgspec.json.decode(payload)
        except msgspec.DecodeError:
            raise TelegramError("the answer is not JSON") from None
        return decoded


class _UpdatesRequest(_Request):
    """Hands updates through as they came: one of a kind that the library does not know would fail all of them."""

    @staticmethod
    def parse_json_payload(payload: bytes) -> Json:
        answer = _Request.parse_json_payload(payload)
        answer["result"] = [{"update_id": one["update_id"], "raw": one} for one in answer.get("result", [])]
        return answer


def _failure(code: int, payload: bytes) -> Failure:
    try:
        answer = msgspec.json.decode(payload)
        more = answer.get("parameters") or {}
        return Failure(
            int(answer.get("error_code") or code),
            str(answer.get("description") or ""),
            float(more.get("retry_after") or 0.0),
            int(more.get("migrate_to_chat_id") or 0),
        )
    except (msgspec.DecodeError, AttributeError, TypeError, ValueError):
        return Failure(code)


class Client:
    """Calls of the Bot API. `places` knows where a group is found that has moved; who calls no chat needs none."""

    def __init__(self, settings: Settings, places: Places | None = None) -> None:
        keep_quiet(settings.token)
        self._secrets = secrets(settings.token)
        self._places = places
        self._requests = (
            _UpdatesRequest(connection_pool_size=2, connect_timeout=10.0, read_timeout=10.0, pool_timeout=5.0),
            _Request(
                connection_pool_size=64,
                connect_timeout=10.0,
                read_timeout=20.0,
                write_timeout=20.0,
                pool_timeout=10.0,
                media_write_timeout=120.0,
            ),
        )
        self.bot = Bot(
            settings.token,
            base_url=settings.base_url or BASE_URL,
            base_file_url=settings.base_file_url or BASE_FILE_URL,
            get_updates_request=self._requests[0],
            request=self._requests[1],
            local_mode=settings.local,
        )

    async def close(self) -> None:
        """Let go of connections."""
        for request in self._requests:
            await request.shutdown()

    async def me(self) -> Me:
        """Who the bot is."""
        return msgspec.convert((await self.call(self.bot.get_me)).to_dict(), Me, strict=False)

    async def updates(self, offset: int | None, allowed: Sequence[str], seconds: int = POLL_SECONDS) -> list[Json]:
        """Wait for updates from `offset` on; asking for it confirms all before. They come as Telegram sent them."""
        found = await self.call(
            lambda: self.bot.get_updates(offset=offset, timeout=seconds, allowed_updates=allowed, read_timeout=10)
        )
        return [update.api_kwargs["raw"] for update in found]

    async def call(self, call: Callable[[], Awaitable[T]], scope: Scope | None = "platform") -> T:
        """One call that belongs to no chat."""
        try:
            return await self._told(call)
        except Answered as answer:
            raise self.error(answer.failure, scope) from None

    async def in_chat(self, chat: str, call: Callable[[int], Awaitable[T]], scope: Scope | None = "chat") -> T:
        """One call in a chat, wherever that chat is found now."""
        try:
            return await self.ask(chat, call)
        except Answered as answer:
            raise self.error(answer.failure, scope) from None

    async def ask(self, chat: str, call: Callable[[int], Awaitable[T]]) -> T:
        """As `in_chat`, for those who want to see the answer itself (`Answered`)."""
        try:
            return await self._told(lambda: call(self._newest(chat)))
        except Answered as answer:
            if not answer.failure.migrate_to or self._places is None:
                raise
            await self._places.move(chat, str(answer.failure.migrate_to))
            return await self._told(lambda: call(self._newest(chat)))

    def _newest(self, chat: str) -> int:
        return self._places.newest_id(chat) if self._places is not None else int(chat)

    def error(self, failure: Failure, scope: Scope | None = None) -> PlatformError:
        """A failure as the core knows it."""
        clean = msgspec.structs.replace(failure, description=hide(failure.description, self._secrets))
        return as_error(clean, scope)

    async def fetch(self, file: str, target: Path) -> None:
        """A file that somebody sent."""
        found = await self.call(lambda: self.bot.get_file(file), None)
        try:
            await self._told(lambda: found.download_to_drive(target, read_timeout=60))
        except Answered as answer:
            if answer.failure.code == 404:
                raise PlatformError("Telegram does not have that file any more") from None
            raise self.error(answer.failure) from None
        except (RuntimeError, OSError) as error:
            raise PlatformError(hide(f"the file could not be written down: {error}", self._secrets)) from None

    async def _told(self, call: Callable[[], Awaitable[T]]) -> T:
        try:
            return await call()
        except Answered:
            raise
        except TelegramError as error:
            raise self._unreachable(error) from None

    def _unreachable(self, error: TelegramError) -> Unreachable:
        """No answer. What never left this machine, or found nobody, was surely not done."""
        cause = error.__cause__
        surely_not = isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
        if isinstance(error, TimedOut):
            why = f"no answer in time ({type(cause).__name__})"
        elif isinstance(error, NetworkError):
            why = str(error)
        else:
            why = f"an answer that cannot be read: {error}"
        return Unreachable(hide(f"Telegram is not reached: {why}", self._secrets), maybe_done=not surely_not)
