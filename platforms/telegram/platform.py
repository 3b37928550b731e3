"""The port: a Telegram bot. Each call does one thing in one chat, wherever that chat is found now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
from msgspec.structs import replace

from beambot.api import (
    Attachment,
    BeambotError,
    Budget,
    Check,
    Inbound,
    Inbox,
    MessageGone,
    MessageRef,
    Outgoing,
    PlatformCapabilities,
    PlatformError,
    PluginContext,
    Receipt,
    Refused,
    ThreadRef,
    ThreadState,
    Unreachable,
    get_logger,
)
from beambot.api import outbound as out
from platforms.telegram import Settings, limits
from platforms.telegram.calling.failures import NO_REACTION, TOO_OLD, UNCHANGED, TokenRejected
from platforms.telegram.calling.quiet import hide, secrets
from platforms.telegram.client import Answered, Client
from platforms.telegram.inbound import PLATFORM, is_private, root_of, topic_of
from platforms.telegram.outbound import Called, Json, measure, payload
from platforms.telegram.places import Places
from platforms.telegram.receiving import start
from platforms.telegram.receiving.files import safe_name
from platforms.telegram.receiving.polling import Pauses
from platforms.telegram.receiving.schema import Me
from platforms.telegram.rich import fits, rich_payload
from platforms.telegram.surface.media import caption_of, form_of, name_of
from platforms.telegram.surface.menu import REACTIONS, findings, webhook_findings
from platforms.telegram.surface.topics import Topics

ACK_TEXT = 200
_LOCAL_UPLOAD = 2000 * 1024 * 1024
_log = get_logger("telegram")


class TelegramPlatform:
    """A bot in private chats, groups and topics."""

    name = PLATFORM
    capabilities = limits.CAPABILITIES

    def __init__(self, settings: Settings, context: PluginContext) -> None:
        self.settings = settings
        self.context = context
        self.me: Me | None = None
        if settings.local:
            # A Bot API server of one's own takes more.
            self.capabilities = self._with(upload_bytes=_LOCAL_UPLOAD, download_bytes=_LOCAL_UPLOAD)
        self._rich = settings.rich == "auto"
        self._opening = anyio.Lock()
        self._places: Places | None = None
        self._client: Client | None = None
        self._topics: Topics | None = None

    def _with(self, **changes: object) -> PlatformCapabilities:
        return replace(self.capabilities, **changes)

    def budgets(self, thread: ThreadRef) -> tuple[Budget, ...]:
        """One message a second in a private chat, twenty a minute in a group."""
        return limits.budgets(thread)

    # ── the connection ───────────────────────────────────────────────────────────────────────────────

    async def run(self, inbox: Inbox, ready: Callable[[], None]) -> None:
        """Say hello until somebody answers, then receive until cancelled. A token that is wrong ends it."""
        await self._greet()
        async with anyio.create_task_group() as tasks:
            await start.receive(self, inbox, ready, tasks)

    async def _greet(self) -> None:
        client = await self.client()
        pauses = Pauses(self.context.clock, self.context.ids)
        while self.me is None:
            try:
                self.me = await client.me()
            except TokenRejected:
                raise
            except PlatformError as error:
                if not pauses.failures:
                    _log.warning("Telegram is not reached yet", why=error.message)
                await pauses.wait(at_least=getattr(error, "seconds", 0.0))

    async def check(self) -> Sequence[Check]:
        """For `doctor`: with a connection of its own, and nothing received."""
        client = Client(self.settings)
        try:
            me = await client.me()
            hook = await client.call(client.bot.get_webhook_info)
        finally:
            await client.close()
        trouble = hide(hook.last_error_message or "", secrets(self.settings.token))
        return [*findings(me), *webhook_findings(hook.url, trouble, self.settings.receive)]

    async def client(self) -> Client:
        """The vendor's library, made when it is first needed: what is to be sent does not wait for `run`."""
        async with self._opening:
            if self._client is None:
                self._places = self._places or await Places.open(self.context.home)
                self._client = Client(self.settings, self._places)
                self._topics = Topics(self._client, self._places, icons=self.settings.icons)
            return self._client

    @property
    def places(self) -> Places:
        """Which message belongs to which thread."""
        if self._places is None:
            raise BeambotError("the Telegram platform is not open")
        return self._places

    @property
    def topics(self) -> Topics:
        """Threads that are topics."""
        if self._topics is None:
            raise BeambotError("the Telegram platform is not open")
        return self._topics

    async def close(self) -> None:
        """Let go of connections and of the database."""
        async with self._opening:
            client, self._client = self._client, None
            places, self._places = self._places, None
            self._topics = None
            if client is not None:
                await client.close()
            if places is not None:
                await places.close()

    # ── messages ─────────────────────────────────────────────────────────────────────────────────────

    def measure(self, block: out.AnyOutBlock) -> int:
        return measure(block)

    async def post(self, thread: ThreadRef, message: Outgoing) -> MessageRef:
        """A new message. In a chain it answers the chain's first one, so that people see where it belongs."""
        client = await self.client()

        def target() -> Json:
            # Looked up for each try: the group may have moved by the second one.
            return self._target(thread, message.reply_to)

        if self._is_rich(message):
            try:
                arguments = rich_payload(message)
                sent = await client.ask(
                    thread.chat,
                    lambda chat: client.bot.do_api_request(
                        "sendRichMessage", api_kwargs={"chat_id": chat, **arguments, **target()}
                    ),
                )
                return await self._noted(thread, int(sent["message_id"]))
            except Answered as answer:
                self._rich_refused(client, answer)
        arguments = payload(message, self._called(message))
        text = str(arguments.pop("text"))
        made = await client.in_chat(
            thread.chat, lambda chat: client.bot.send_message(chat, text, api_kwargs={**arguments, **target()})
        )
        return await self._noted(thread, made.message_id)

    async def edit(self, ref: MessageRef, message: Outgoing) -> None:
        """The same message. One that makes no sound, and cannot open a field for an answer."""
        client = await self.client()
        quiet = replace(message, wants_reply="")
        try:
            if self._is_rich(message):
                try:
                    return await self._edit(client, ref, None, rich_payload(quiet))
                except Answered as answer:
                    if answer.failure.says(*UNCHANGED):
                        return None
                    self._rich_refused(client, answer)
            arguments = payload(quiet, self._called(message))
            text = str(arguments.pop("text"))
            await self._edit(client, ref, text, arguments)
        except Answered as answer:
            if not answer.failure.says(*UNCHANGED):
                raise client.error(answer.failure, "chat") from None

    async def _edit(self, client: Client, ref: MessageRef, text: str | None, more: Json) -> None:
        more.pop("disable_notification", None)
        # Without a text it is the rich form: the library does not know it yet, and leaves out what is None.
        words: str = text  # type: ignore[assignment]
        await client.ask(
            ref.thread.chat,
            lambda chat: client.bot.edit_message_text(words, chat, self._number(ref), api_kwargs=dict(more)),
        )

    def _is_rich(self, message: Outgoing) -> bool:
        return self._rich and not message.plain and not message.mention and fits(message)

    def _rich_refused(self, client: Client, answer: Answered) -> None:
        """What is wrong with the chat is told; anything else means that this server takes no rich messages."""
        error = client.error(answer.failure, "chat")
        if not isinstance(error, Refused | TokenRejected):
            raise error from None
        self._rich = False
        _log.warning("rich messages are off for this run: the server refused one", why=str(error))

    def _called(self, message: Outgoing) -> Called | None:
        if not message.mention.isdigit():
            return None
        return Called(int(message.mention), self.places.name(message.mention) or "You")

    def _target(self, thread: ThreadRef, reply_to: str = "") -> Json:
        """Where a new message goes, and what it answers."""
        target: Json = {}
        if topic := topic_of(thread):
            target["message_thread_id"] = topic
        counted = int(reply_to) if reply_to.isdigit() else root_of(thread)
        if answered := self.places.number(thread.chat, counted):
            target["reply_parameters"] = {"message_id": answered, "allow_sending_without_reply": True}
        return target

    async def _noted(self, thread: ThreadRef, number: int) -> MessageRef:
        """It stands: that it could not be noted must not make it stand twice."""
        number = self.places.counted(str(self.places.newest_id(thread.chat)), number)
        if thread.thread:
            try:
                await self.places.note(thread.chat, number, thread.thread)
                await self.places.join(thread.chat, thread.thread)
            except Unreachable as error:
                _log.warning("a message is not noted: replies to it begin a new thread", why=error.message)
        return MessageRef(thread, str(number))

    async def delete(self, ref: MessageRef) -> None:
        """Telegram lets a bot take back what is younger than two days."""
        client = await self.client()
        await client.in_chat(ref.thread.chat, lambda chat: client.bot.delete_message(chat, self._number(ref)))

    async def react(self, ref: MessageRef, receipt: Receipt) -> None:
        """One emoji at somebody's message. A chat that allows none, or a message that is gone, shows none."""
        client = await self.client()
        try:
            await client.ask(
                ref.thread.chat,
                lambda chat: client.bot.set_message_reaction(chat, self._number(ref), REACTIONS[receipt]),
            )
        except MessageGone as gone:
            _log.debug("no reaction", chat=ref.thread.chat, why=gone.message)
        except Answered as answer:
            if not answer.failure.says(*NO_REACTION):
                raise client.error(answer.failure) from None
            _log.debug("no reaction", chat=ref.thread.chat, why=answer.failure.description)

    async def typing(self, thread: ThreadRef) -> None:
        """For five seconds, or until something is said."""
        client, topic = await self.client(), topic_of(thread) or None
        await client.in_chat(
            thread.chat, lambda chat: client.bot.send_chat_action(chat, "typing", message_thread_id=topic), None
        )

    async def ack(self, handle: str, text: str = "", *, alert: bool = False) -> None:
        """A line over the chat, for the presser alone. Who waits no longer is not told."""
        client = await self.client()
        words = text if len(text) <= ACK_TEXT else text[: ACK_TEXT - 1] + "…"
        try:
            await client.ask(
                "0", lambda _: client.bot.answer_callback_query(handle, words or None, show_alert=alert)
            )
        except Answered as answer:
            if not answer.failure.says(*TOO_OLD):
                raise client.error(answer.failure, "platform") from None

    # ── files ────────────────────────────────────────────────────────────────────────────────────────

    async def upload(self, thread: ThreadRef, path: Path, name: str, caption: str = "") -> MessageRef:
        """A picture that can be read on a phone, or a document."""
        client = await self.client()
        size = (await anyio.Path(path).stat()).st_size
        if size > self.capabilities.upload_bytes:
            raise Refused(
                f"{name} is larger than the {self.capabilities.upload_bytes // 1024**2} MB Telegram takes"
            )
        form = await anyio.to_thread.run_sync(form_of, path)
        data = await anyio.Path(path).read_bytes()
        words, called = caption_of(caption) or None, name_of(name)
        send = client.bot.send_photo if form == "photo" else client.bot.send_document
        made = await client.in_chat(
            thread.chat,
            # A file comes beside a message that rings, where one should.
            lambda chat: send(
                chat,
                data,
                words,
                filename=called,
                api_kwargs={**self._target(thread), "disable_notification": True},
            ),
        )
        return await self._noted(thread, made.message_id)

    async def download(self, attachment: Attachment, into: Path) -> Path:
        """Up to 20 MB from Telegram's own server."""
        if attachment.size > self.capabilities.download_bytes:
            most = self.capabilities.download_bytes // 1024**2
            raise PlatformError(f"Telegram gives bots files of up to {most} MB only, and this one is larger")
        target = into / (safe_name(attachment.name) or "file")
        await (await self.client()).fetch(attachment.handle, target)
        return target

    # ── threads ──────────────────────────────────────────────────────────────────────────────────────

    def has_topics(self, thread: ThreadRef) -> bool:
        """A private chat has them when the bot's owner switched them on, a group when it is a forum."""
        if is_private(thread.chat):
            return self.me is not None and self.me.has_topics_enabled
        return self._topics is not None and self._topics.is_forum(thread.chat)

    async def open_thread(self, chat: ThreadRef, title: str) -> ThreadRef:
        """A topic where there are topics; elsewhere a message on which a new chain hangs."""
        await self.client()
        topics = self.me is not None and self.me.has_topics_enabled if is_private(chat.chat) else None
        return await self.topics.open(chat.chat, title, topics)

    async def rename_thread(self, thread: ThreadRef, title: str) -> None:
        """The name of a topic; a chain and a whole chat have none that is ours."""
        await self.client()
        await self.topics.rename(thread, title)

    async def close_thread(self, thread: ThreadRef) -> None:
        """A topic of a group is closed until the session is taken up again."""
        await self.client()
        await self.topics.close(thread)

    async def mark_thread(self, thread: ThreadRef, state: ThreadState) -> None:
        """The icon of a topic."""
        await self.client()
        await self.topics.mark(thread, state)

    async def history(self, thread: ThreadRef, since: float) -> Sequence[Inbound]:
        """Nothing: what was said meanwhile waits at Telegram for a day, and comes by itself."""
        return ()

    async def invitation(self) -> str:
        """Where a person finds the bot."""
        return f"https://t.me/{self.me.username}" if self.me is not None and self.me.username else ""

    def _number(self, ref: MessageRef) -> int:
        """What Telegram calls a message now. Of a group that moved, the old numbers are those of other messages."""
        number = self.places.number(ref.thread.chat, int(ref.message)) if ref.message.isdigit() else 0
        if not number:
            raise MessageGone(f"Telegram has no message {ref.message!r}")
        return number
