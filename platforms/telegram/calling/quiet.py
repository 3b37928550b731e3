"""Keeps the bot's token out of logs: HTTP clients write whole addresses, and the token is part of them."""

from __future__ import annotations

import logging

HIDDEN = "[redacted]"
# A filter holds only for the logger it hangs on, and not for those below.
_LOGGERS = (
    "httpx",
    "httpcore",
    "httpcore.connection",
    "httpcore.http11",
    "httpcore.http2",
    "httpcore.proxy",
    "httpcore.socks",
    "telegram",
    "telegram.Bot",
    "telegram.request",
    "telegram.request.BaseRequest",
    "telegram.request.HTTPXRequest",
    "asyncio",
)
# These say nothing at their lower levels but which address was called.
_WARNINGS_ONLY = ("httpx", "httpcore", "telegram")


class WithoutToken(logging.Filter):
    """Takes the token out of what is logged, at once: the library changes what it has logged later on."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._secrets = secrets(token)

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = hide(record.getMessage(), self._secrets), None
        return True


def secrets(token: str) -> tuple[str, ...]:
    """The token in every form in which an address may have it."""
    secret = token.partition(":")[2]
    return tuple(form for form in (token, token.replace(":", "%3A"), secret) if len(form) >= 6)


def hide(text: str, forms: tuple[str, ...]) -> str:
    """The same text without the token."""
    for form in forms:
        text = text.replace(form, HIDDEN)
    return text


def keep_quiet(token: str) -> None:
    """Once for each token, before the library is used with it."""
    for name in _WARNINGS_ONLY:
        logger = logging.getLogger(name)
        if logger.level < logging.WARNING:
            logger.setLevel(logging.WARNING)
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(one, WithoutToken) and token in one._secrets for one in logger.filters):
            logger.addFilter(WithoutToken(token))
