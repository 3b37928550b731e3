"""What can be chosen about the bot and the server it talks to."""

from __future__ import annotations

from msgspec import Struct

TOKEN = "123456789:AAtwin-of-the-bot-api-on-this-machine"  # noqa: S105 - opens nothing but the twin


class Settings(Struct, frozen=True):
    """One bot on one server. Of the Bot API, 10.1 brought rich messages and 10.3 the stop button of drafts."""

    token: str = TOKEN
    username: str = "beam_twin_bot"
    name: str = "Beambot"
    api: tuple[int, int] = (10, 3)
    # Topics in private chats; in BotFather both are off at first, too.
    has_topics_enabled: bool = False
    allows_users_to_create_topics: bool = False
    can_read_all_group_messages: bool = True
    # How long a press can be answered. The real time is not published; the app itself gives up after about this.
    press_seconds: float = 60.0
    draft_seconds: float = 30.0
    upload_bytes: int = 50 * 1024 * 1024
    photo_bytes: int = 10 * 1024 * 1024
    download_bytes: int = 20 * 1024 * 1024
