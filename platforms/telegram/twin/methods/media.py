"""Files in messages: up to the server, and down from it."""

from __future__ import annotations

import mimetypes
from typing import TYPE_CHECKING

from platforms.telegram.twin import wire
from platforms.telegram.twin.call import Call, Upload, field
from platforms.telegram.twin.checks.keyboard import read_markup
from platforms.telegram.twin.checks.text import CAPTION_LIMIT
from platforms.telegram.twin.errors import ApiError, bad
from platforms.telegram.twin.methods.messages import posted, words_of
from platforms.telegram.twin.methods.places import chat_of, may_write, topic_of
from platforms.telegram.twin.methods.table import Handler, Method
from platforms.telegram.twin.world.values import Content, Json, Media, StoredFile

if TYPE_CHECKING:
    from platforms.telegram.twin.twin import Twin

ALBUM = range(2, 11)
_ALBUM_KINDS = {"photo", "video", "document", "audio"}


def _stored(twin: Twin, kind: str, call: Call, value: object) -> StoredFile:
    """The file that a call names: uploaded with it, or known by its id."""
    name = value.removeprefix("attach://") if isinstance(value, str) else ""
    upload = call.files.get(name)
    if upload is None:
        if name in twin.world.files:
            return twin.world.files[name]
        if name.startswith(("http://", "https://")):
            raise bad("failed to get HTTP URL content")
        if not name:
            raise bad(f"there is no {kind} in the request")
        raise bad("wrong file identifier/HTTP URL specified")
    return _kept(twin, kind, upload)


def _kept(twin: Twin, kind: str, upload: Upload) -> StoredFile:
    size = len(upload.data)
    if size > twin.settings.upload_bytes:
        raise ApiError(413, "Request Entity Too Large")
    if not size:
        raise bad("file must be non-empty")
    if kind == "photo":
        if size > twin.settings.photo_bytes:
            raise bad(
                f'file "{upload.name}" of size {size} bytes is too big for a photo; '
                f"the maximum size is {twin.settings.photo_bytes} bytes"
            )
        if not _is_picture(upload.data):
            raise bad("IMAGE_PROCESS_FAILED")
    mime = mimetypes.guess_type(upload.name)[0] or upload.mime or "application/octet-stream"
    return twin.world.keep(kind, upload.name, mime, upload.data)


def _is_picture(data: bytes) -> bool:
    webp = data[:4] == b"RIFF" and data[8:12] == b"WEBP"
    return webp or data.startswith((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8"))


def _sender(kind: str) -> Handler:
    def send(twin: Twin, call: Call) -> object:
        chat = chat_of(twin, call)
        may_write(twin, chat)
        topic = topic_of(twin, chat, call)
        text, entities = words_of(twin, call, name="caption", entities="caption_entities", limit=CAPTION_LIMIT)
        keyboard = read_markup(call.mapping("reply_markup"))
        value = call.arguments.get(kind, f"attach://{kind}")
        content = Content(text, entities, keyboard, Media(kind, _stored(twin, kind, call, value)))
        return wire.message(posted(twin, call, chat, content, topic))

    return send


def send_album(twin: Twin, call: Call) -> object:
    """sendMediaGroup: each of its files counts as a message."""
    chat = chat_of(twin, call)
    may_write(twin, chat)
    topic = topic_of(twin, chat, call)
    media = call.array("media")
    if len(media) not in ALBUM:
        raise bad(
            "media must contain from 2 to 10 items" if media else "there are no messages to send"
        )  # from memory
    contents = [_item(twin, call, item) for item in media]
    kinds = {content.media.kind for content in contents if content.media}
    if len(kinds) > 1 and kinds & {"document", "audio"}:
        raise bad("can't mix documents and audio with other media in an album")  # from memory
    twin.meter.spend(chat, count=len(contents) - 1)
    group = str(10**16 + len(twin.world.files))
    sent = []
    for content in contents:
        assert content.media is not None
        grouped = Media(content.media.kind, content.media.file, group)
        sent.append(Content(content.text, content.entities, (), grouped))
    first = posted(twin, call, chat, sent[0], topic)
    others = [
        twin.world.post(chat, content, sender=first.sender, topic=first.topic, reply_to=first.reply_to)
        for content in sent[1:]
    ]
    return [wire.message(message) for message in (first, *others)]


def _item(twin: Twin, call: Call, value: object) -> Content:
    if not isinstance(value, dict):
        raise bad("can't parse InputMedia: expected an Object")
    kind = field(value, "type")
    if kind not in _ALBUM_KINDS:
        raise bad(f'can\'t parse InputMedia: type "{kind}" is unsupported')  # from memory
    words = Call(
        call.method, {name: value[name] for name in value if name.startswith("caption") or name == "parse_mode"}
    )
    text, entities = words_of(twin, words, name="caption", entities="caption_entities", limit=CAPTION_LIMIT)
    return Content(text, entities, (), Media(kind, _stored(twin, kind, call, value.get("media"))))


def get_file(twin: Twin, call: Call) -> object:
    """getFile: where a file can be fetched, if it is not too big."""
    number = call.text("file_id")
    if not number:
        raise bad("file_id not specified")
    file = twin.world.files.get(number)
    if file is None:
        raise bad("invalid file_id")
    if len(file.data) > twin.settings.download_bytes:
        raise bad("file is too big")
    made: Json = {"file_id": file.id, "file_unique_id": file.unique, "file_size": len(file.data)}
    made["file_path"] = file.path
    return made


METHODS = (
    *(
        Method(f"send{kind.capitalize()}", _sender(kind))
        for kind in ("document", "photo", "voice", "audio", "video")
    ),
    Method("sendMediaGroup", send_album),
    Method("getFile", get_file),
)
