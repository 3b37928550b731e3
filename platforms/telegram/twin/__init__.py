"""A Telegram on this machine: a Bot API server with people in it, for tests and for a try without a token.

async with Twin(clock=clock) as twin:
    ada = twin.person("Ada", id=11)
    …start the bot with twin.token, twin.base_url and twin.base_file_url…
    await ada.says(None, "hello")
    card = await ada.chat.sees("May it?")
    press = await ada.presses(card, "Allow")
    assert press.toast == "Allowed once"
    print(twin.transcript(ada.chat))
"""

from __future__ import annotations

from platforms.telegram.twin.errors import ApiError
from platforms.telegram.twin.faults import Fault
from platforms.telegram.twin.limits import UNLIMITED, Limits, Rate
from platforms.telegram.twin.people.person import Person, Press
from platforms.telegram.twin.settings import TOKEN, Settings
from platforms.telegram.twin.twin import Twin
from platforms.telegram.twin.world.values import GENERAL, Button, Chat, Content, Entity, Message, Topic, User

__all__ = [
    "GENERAL",
    "TOKEN",
    "UNLIMITED",
    "ApiError",
    "Button",
    "Chat",
    "Content",
    "Entity",
    "Fault",
    "Limits",
    "Message",
    "Person",
    "Press",
    "Rate",
    "Settings",
    "Topic",
    "Twin",
    "User",
]
