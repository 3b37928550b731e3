"""What Telegram answers when it does not do something, as the errors that the core knows. Pure."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from beambot.api import MessageGone, PlatformError, Refused, RetryAfter, ThreadGone, Unreachable

Scope = Literal["message", "thread", "chat", "platform"]
RIGHTS = "make the bot an administrator of the group that may manage topics"
TOKEN_FIX = "ask @BotFather for the token (/mybots), and put it where `token_env` or `token_file` says"  # noqa: S105


class Conflicting(Unreachable):
    """Another program receives with the same token, or a webhook does."""


class TokenRejected(PlatformError):
    """Telegram does not know the token."""


class Failure(Struct, frozen=True):
    """An answer that is not ok."""

    code: int
    description: str = ""
    retry_after: float = 0.0
    migrate_to: int = 0

    def says(self, *signs: str) -> bool:
        """Whether its words contain one of these."""
        words = self.description.casefold()
        return any(sign.casefold() in words for sign in signs)


UNCHANGED = ("message is not modified", "TOPIC_NOT_MODIFIED")
# The person who pressed has long gone: nobody is left to be answered.
TOO_OLD = ("query is too old", "query id is invalid", "QUERY_ID_INVALID")
NO_REACTION = ("REACTION", "message to react not found", "MESSAGE_ID_INVALID")
NO_RIGHTS = ("not enough rights", "CHAT_ADMIN_REQUIRED", "need administrator rights", "RIGHT_FORBIDDEN")
NO_TOPICS = ("chat is not a forum", "CHANNEL_FORUM_MISSING", "method is available only", "PRIVATE_FORUM_DISABLED")
_MESSAGE_GONE = (
    "message to edit not found",
    "message to delete not found",
    "message can't be edited",
    "MESSAGE_ID_INVALID",
    "message identifier is not specified",
    "message not found",
    "MESSAGE_EDIT_TIME_EXPIRED",
)
# Each with what a person can understand.
_THREAD_GONE = (
    ("blocked by the user", "the person has blocked the bot"),
    ("user is deactivated", "that account does not exist any more"),
    ("can't initiate conversation", "the person has not started the bot yet"),
    ("can't send messages to bots", "bots cannot write to each other"),
    ("was kicked", "the bot was removed from the group"),
    ("is not a member", "the bot is not in the group any more"),
    ("group chat was deleted", "the group was deleted"),
    ("group chat was deactivated", "the group is not used any more"),
    ("chat not found", "there is no such chat, or the bot has never been in it"),
    ("PEER_ID_INVALID", "there is no such chat"),
    ("CHANNEL_PRIVATE", "the bot is not in the group any more"),
    ("message thread not found", "the topic was deleted"),
    ("TOPIC_DELETED", "the topic was deleted"),
    ("TOPIC_ID_INVALID", "the topic was deleted"),
    ("TOPIC_CLOSED", "the topic is closed, and the bot may not write in closed topics"),
    ("not enough rights to send", "the bot may not write in the group"),
    ("have no rights to send", "the bot may not write in the group"),
    ("CHAT_WRITE_FORBIDDEN", "the bot may not write in the group"),
    ("CHAT_RESTRICTED", "the group is restricted"),
    ("CHAT_SEND_PLAIN_FORBIDDEN", "the group does not allow the bot to write"),
    ("USER_IS_BLOCKED", "the person has blocked the bot"),
    ("INPUT_USER_DEACTIVATED", "that account does not exist any more"),
)


def as_error(failure: Failure, scope: Scope | None = None) -> PlatformError:
    """The error that makes the core do the right thing."""
    said = failure.description or f"HTTP {failure.code}"
    if failure.code == 429 or failure.retry_after:
        return RetryAfter(failure.retry_after or 5.0, scope=scope)
    if failure.code in (401, 404):
        # Only calls that every server knows are made without looking at the answer, so 404 is the token too.
        return TokenRejected("Telegram does not know this bot's token", fix=TOKEN_FIX)
    if failure.code >= 500:
        # Some of these come from a gateway behind which the call went through.
        return Unreachable(f"Telegram is not well: {said}", maybe_done=True)
    for sign, words in _THREAD_GONE:
        if failure.says(sign):
            return ThreadGone(words)
    if failure.code == 403:
        return ThreadGone(f"Telegram does not let the bot in: {said}")
    if failure.says(*_MESSAGE_GONE):
        return MessageGone(f"Telegram does not have that message any more: {said}")
    if failure.says(*NO_RIGHTS):
        return PlatformError(f"the bot may not do that here: {said}", fix=RIGHTS)
    if failure.says("file is too big"):
        return PlatformError(
            "Telegram gives bots files of up to 20 MB only. Send a smaller one, or put it into the project's folder"
        )
    if failure.says("wrong file_id", "file is temporarily unavailable", "invalid file"):
        return PlatformError("Telegram does not have that file any more")
    if failure.code == 409:
        return Conflicting(said)
    return Refused(f"Telegram did not accept it: {said}")
