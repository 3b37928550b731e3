"""What Slack allows, as data: docs.slack.dev/apis/web-api/rate-limits.

Tiers count for each method, for the whole workspace: every session of a workspace shares them.
"""

from __future__ import annotations

from beambot.api import Budget, PlatformCapabilities, ThreadRef

BUDGETS = (
    # chat.update: tier 3.
    Budget(scope="platform", calls=50, seconds=60.0, kinds=("edit",)),
    # chat.appendStream: tier 4.
    Budget(scope="platform", calls=100, seconds=60.0, kinds=("append",)),
    # chat.postMessage: one a second in a channel, all its threads together.
    Budget(scope="chat", calls=1, seconds=1.0, kinds=("post",)),
)

CAPABILITIES = PlatformCapabilities(
    change_lines=58,
    change_text=2900,
    # Of `markdown_text` and of a markdown block.
    text_limit=12_000,
    delete=True,
    # One block of actions; a button's value has 2000 characters.
    buttons=25,
    button_bytes=2000,
    forms=True,
    threads=True,
    open_thread=True,
    reactions=True,
    private_ack=True,
    history=True,
    upload_bytes=1024 * 1024 * 1024,
    download_bytes=1024 * 1024 * 1024,
    # A stream of its own may be appended to this often; edits are slower, and their budget says so.
    min_interval=0.6,
    budgets=BUDGETS,
)


def budgets(thread: ThreadRef) -> tuple[Budget, ...]:
    """The same in every channel."""
    return BUDGETS
