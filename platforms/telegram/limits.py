"""What Telegram allows, as data: the published numbers, and what its server's authors say about them.

core.telegram.org/bots/faq: one message a second in a chat with short bursts, 20 a minute in a group, about 30 a
second for the whole bot. Edits count as messages do, and all topics of a group together (tdlib/td#2592, #3034).
"""

from __future__ import annotations

from beambot.api import Budget, PlatformCapabilities, ThreadRef

WHOLE_BOT = Budget(scope="platform", calls=30, seconds=1.0)
# "One a second, bursts pass" as a window: three in any three seconds.
PRIVATE = (Budget(scope="chat", calls=3, seconds=3.0), WHOLE_BOT)
GROUP = (Budget(scope="chat", calls=20, seconds=60.0), WHOLE_BOT)

CAPABILITIES = PlatformCapabilities(
    # 4096 units after entities are parsed; counted in UTF-16 to be safe.
    text_limit=4096,
    text_unit="utf16",
    delete=True,
    # At most 100 buttons, eight in a row; their data has 64 bytes.
    buttons=100,
    button_bytes=64,
    change_lines=38,
    change_text=1900,
    threads=True,
    open_thread=True,
    reactions=True,
    typing=True,
    private_ack=True,
    commands=True,
    # The Bot API's own server; a local one takes more.
    upload_bytes=50 * 1024 * 1024,
    download_bytes=20 * 1024 * 1024,
    min_interval=1.0,
    # What holds in any chat; `budgets` knows the private ones.
    budgets=GROUP,
)


def budgets(thread: ThreadRef) -> tuple[Budget, ...]:
    """A private chat has the positive id of its person; the ids of groups are negative."""
    return GROUP if thread.chat.startswith("-") else PRIVATE
