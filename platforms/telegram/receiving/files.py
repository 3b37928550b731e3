"""Files that come with a message, under names that are safe anywhere. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from beambot.api import Attachment
from beambot.api import markdown as md
from platforms.telegram.receiving.schema import Media, Message

_LONGEST = 120
_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')
# What has no name of its own: the word for it, its ending, its type where Telegram does not say.
_NAMELESS = {
    "voice": (".ogg", "audio/ogg"),
    "audio": (".mp3", "audio/mpeg"),
    "video": (".mp4", "video/mp4"),
    "video_note": (".mp4", "video/mp4"),
    "animation": (".mp4", "video/mp4"),
    "document": ("", ""),
}


def attachments(message: Message) -> tuple[Attachment, ...]:
    """What `ChatPlatform.download` can fetch; of a photo the largest size."""
    return tuple(_found(message))


def _found(message: Message) -> Iterator[Attachment]:
    if message.photo:
        best = max(message.photo, key=lambda size: (size.width * size.height, size.file_size))
        yield Attachment(best.file_id, f"photo_{message.message_id}.jpg", "image/jpeg", best.file_size)
    for kind, (ending, mime) in _NAMELESS.items():
        media = getattr(message, kind)
        # An animation is told a second time as a document.
        if isinstance(media, Media) and not (kind == "document" and message.animation is not None):
            name = safe_name(media.file_name) or f"{kind}_{message.message_id}{ending}"
            yield Attachment(media.file_id, name, media.mime_type or mime, media.file_size)


def safe_name(name: str) -> str:
    """A name without a folder, without what deceives, not hidden, and short enough for any disk."""
    last = md.clean(name).replace("\\", "/").rpartition("/")[2]
    safe = _UNSAFE.sub("_", last).strip(" .")
    if len(safe.encode()) <= _LONGEST:
        return safe
    stem, dot, ending = safe.rpartition(".")
    ending = dot + ending if dot and len(ending.encode()) <= 16 else ""
    room = _LONGEST - len(ending.encode())
    return (stem if ending else safe).encode()[:room].decode(errors="ignore").rstrip(" .") + ending
