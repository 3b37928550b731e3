"""Structured logs: readable on a terminal, JSON otherwise, secrets redacted by one processor."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

import structlog
from structlog.contextvars import bind_contextvars, clear_contextvars, merge_contextvars

if TYPE_CHECKING:
    from structlog.typing import EventDict, FilteringBoundLogger, WrappedLogger

HIDDEN = "[redacted]"

# Shapes of tokens of well-known services, so that one which was never registered is caught as well.
# Each begins with its first character, which is quicker to look for than a word boundary in front of it.
_SHAPES = re.compile(
    r"[0-9](?<!\w.)[0-9]{7,9}:[A-Za-z0-9_-]{35}\b"
    r"|x(?<!\w.)(?:ox[abeoprs]-[A-Za-z0-9-]{10,}|app-[A-Za-z0-9-]{10,})"
    r"|[MNO](?<!\w.)[A-Za-z\d_-]{23,25}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,}"
    r"|s(?<!\w.)k-[A-Za-z0-9_-]{20,}"
    r"|g(?<!\w.)(?:h[oprsu]_[A-Za-z0-9]{30,}|ithub_pat_[A-Za-z0-9_]{30,})"
    r"|A(?<!\w.)(?:KIA[0-9A-Z]{16}\b|Iza[0-9A-Za-z_-]{35}\b)"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?i:b(?<!\w.)earer)\s+[A-Za-z0-9._~+/-]{16,}=*"
)
# What a text must hold for one of the shapes to be in it: a quick look, for nearly every text has none.
_SIGNS = (
    "xox",
    "xapp-",
    "sk-",
    "ghp_",
    "gho_",
    "ghr_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "AKIA",
    "AIza",
    "-----BEGIN ",
)
_PARTED = (
    re.compile(r":(?<=[0-9]{8}:)[A-Za-z0-9_-]{35}"),
    re.compile(r"\.(?<=[A-Za-z\d_-]{24}\.)[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27}"),
)
_known: list[str] = []


def remember_secrets(secrets: Iterable[str]) -> None:
    """From now on these never appear in a log, an error, an export or a card."""
    known = {secret for secret in secrets if len(secret) >= 6}.union(_known)
    # The longest first: a secret that begins like another must not leave its end behind.
    _known[:] = sorted(known, key=len, reverse=True)


def redact(text: str) -> str:
    """The one redactor."""
    for secret in _known:
        if secret in text:
            text = text.replace(secret, HIDDEN)
    return _SHAPES.sub(HIDDEN, text) if _may_hold_one(text) else text


def _may_hold_one(text: str) -> bool:
    return (
        any(sign in text for sign in _SIGNS)
        or "bearer" in text.lower()
        or any(shape.search(text) for shape in _PARTED)
    )


def _redact_value(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, bytes):
        return redact(value.decode("utf-8", "replace"))
    if isinstance(value, dict):
        return {_redact_value(key): _redact_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_redact_value(item) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    try:
        return redact(str(value))
    except Exception:
        return f"[{type(value).__name__} without text]"


def redact_event(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """The structlog processor: the last one before the line is written."""
    return {redact(key): _redact_value(value) for key, value in event.items()}


def configure(*, level: str = "info", stream: TextIO | None = None, json: bool | None = None) -> None:
    """Called once by the command line. Libraries' own logs pass the same redactor."""
    out = stream if stream is not None else sys.stderr
    as_json = (not out.isatty()) if json is None else json
    number = logging.getLevelNamesMapping()[level.upper()]
    shared: list[Any] = [
        merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        redact_event,
    ]
    last: Any = (
        structlog.processors.JSONRenderer(sort_keys=True)
        if as_json
        else structlog.dev.ConsoleRenderer(colors=out.isatty(), exception_formatter=structlog.dev.plain_traceback)
    )
    structlog.configure(
        processors=[*shared, last],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(file=out),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, redact_event, last],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # HTTP clients write whole URLs, tokens included, at their info level.
    root.setLevel(max(number, logging.WARNING))


def get_logger(name: str) -> FilteringBoundLogger:
    """A logger that carries the ids bound by `following`."""
    logger: FilteringBoundLogger = structlog.get_logger(part=name)
    return logger


def follow(inbound: str, **more: str) -> None:
    """Bind the id of the inbound message that is being handled, to follow it through the house."""
    clear_contextvars()
    bind_contextvars(inbound=inbound, **more)


def unfollow() -> None:
    """The message has been handled."""
    clear_contextvars()
