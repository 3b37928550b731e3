"""What Discord allows, as data. It tells its limits in headers only; these are what the headers were seen to say.

The bucket of messages belongs to a channel, and each thread is a channel: threads do not slow each other.
"""

from __future__ import annotations

from beambot.api import Budget, PlatformCapabilities, ThreadRef

BUDGETS = (
    # Five calls in five seconds (discord-api-docs#20, #4413).
    Budget(scope="thread", calls=5, seconds=5.0),
    # docs.discord.com/developers/topics/rate-limits: 50 requests a second for the whole bot.
    Budget(scope="platform", calls=50, seconds=1.0),
)

CAPABILITIES = PlatformCapabilities(
    # Of `content`; the text displays of a layout hold 4000 together.
    text_limit=2000,
    delete=True,
    # Five rows of five; a custom id has 100 characters.
    buttons=25,
    button_bytes=100,
    forms=True,
    threads=True,
    open_thread=True,
    reactions=True,
    typing=True,
    private_ack=True,
    coloured_diff=True,
    commands=True,
    history=True,
    # Without boosts of the server.
    upload_bytes=10 * 1024 * 1024,
    download_bytes=10 * 1024 * 1024,
    min_interval=1.0,
    budgets=BUDGETS,
)


def budgets(thread: ThreadRef) -> tuple[Budget, ...]:
    """The same in every channel."""
    return BUDGETS
