"""The world as the JSON of the Bot API."""

from __future__ import annotations

import msgspec

from platforms.telegram.twin.world.values import (
    GENERAL,
    Chat,
    Content,
    Entity,
    Json,
    Keyboard,
    Media,
    Member,
    Message,
    User,
)

GROUP_ANONYMOUS_BOT = User(1087968824, "Group", "GroupAnonymousBot", is_bot=True)
CHANNEL_BOT = User(136817688, "Channel", "Channel_Bot", is_bot=True)


def user(one: User) -> Json:
    """A User."""
    made: Json = {"id": one.id, "is_bot": one.is_bot, "first_name": one.first_name}
    if one.last_name:
        made["last_name"] = one.last_name
    if one.username:
        made["username"] = one.username
    if not one.is_bot and one.language:
        made["language_code"] = one.language
    return made


def chat(one: Chat) -> Json:
    """A Chat."""
    made: Json = {"id": one.id, "type": one.type}
    if one.user is not None:
        made["first_name"] = one.user.first_name
        if one.user.last_name:
            made["last_name"] = one.user.last_name
    else:
        made["title"] = one.title
    if one.username:
        made["username"] = one.username
    if one.is_forum:
        made["is_forum"] = True
    return made


def entity(one: Entity, users: dict[int, User]) -> Json:
    """A MessageEntity."""
    made: Json = msgspec.to_builtins(one)
    if one.user:
        made["user"] = user(users[one.user])
    return made


def keyboard(rows: Keyboard) -> Json:
    """An InlineKeyboardMarkup."""
    return {"inline_keyboard": [[button.raw for button in row] for row in rows]}


def message(one: Message, *, depth: int = 1) -> Json:
    """A Message, with the one it answers."""
    made: Json = {"message_id": one.id, "date": int(one.at), "chat": chat(one.chat)}
    if one.topic != GENERAL:
        made["message_thread_id"] = one.topic
        made["is_topic_message"] = True
    if one.sender is not None:
        made["from"] = user(one.sender)
    if one.sender_chat is not None:
        made["sender_chat"] = chat(one.sender_chat)
    if one.edited_at:
        made["edit_date"] = int(one.edited_at)
    if one.origin is not None:
        made["forward_origin"] = origin(one.origin)
    # What answers nothing in a topic of a group answers the message that opened the topic.
    opened = one.chat.messages.get(one.topic) if one.chat.is_forum and one.topic != one.id else None
    if depth and (answered := one.reply_to or opened) is not None:
        made["reply_to_message"] = message(answered, depth=depth - 1)
    made.update(content(one.content, one.chat.world.users))
    return made


def origin(one: Message) -> Json:
    """A MessageOrigin."""
    if one.chat.type == "channel":
        return {"type": "channel", "date": int(one.at), "chat": chat(one.chat), "message_id": one.id}
    if one.sender_chat is not None:
        return {"type": "chat", "date": int(one.at), "sender_chat": chat(one.sender_chat)}
    if one.sender is None:
        return {"type": "hidden_user", "date": int(one.at), "sender_user_name": one.who}
    return {"type": "user", "date": int(one.at), "sender_user": user(one.sender)}


def content(one: Content, users: dict[int, User]) -> Json:
    """What a message shows, in the fields of a Message."""
    made: Json = {}
    if one.service is not None:
        made.update(one.service)
    if one.media is not None:
        made.update(media(one.media))
        if one.text:
            made["caption"] = one.text
        if one.entities:
            made["caption_entities"] = [entity(each, users) for each in one.entities]
    elif one.rich is not None:
        made["rich_message"] = one.rich
    elif one.text:
        made["text"] = one.text
        if one.entities:
            made["entities"] = [entity(each, users) for each in one.entities]
    if one.keyboard:
        made["reply_markup"] = keyboard(one.keyboard)
    return made


def media(one: Media) -> Json:
    """A photo, document, voice note, … with the id of its album."""
    file = one.file
    body: Json = {"file_id": file.id, "file_unique_id": file.unique, "file_size": len(file.data)}
    made: Json = {}
    if one.kind == "photo":
        small: Json = {**body, "file_unique_id": file.unique + "s", "width": 90, "height": 67}
        made["photo"] = [small, {**body, "width": 1280, "height": 960}]
    elif one.kind == "voice":
        made["voice"] = {**body, "duration": 1, "mime_type": file.mime}
    elif one.kind in ("audio", "video"):
        size: Json = {"width": 640, "height": 480} if one.kind == "video" else {}
        made[one.kind] = {**body, **size, "duration": 1, "file_name": file.name, "mime_type": file.mime}
    else:
        made["document"] = {**body, "file_name": file.name, "mime_type": file.mime}
    if one.group:
        made["media_group_id"] = one.group
    return made


def member(one: Member) -> Json:
    """A ChatMember with the rights that matter here."""
    made: Json = {"user": user(one.user), "status": one.status}
    if one.status == "creator":
        made["is_anonymous"] = False
    elif one.status == "administrator":
        made.update(_ADMIN, can_manage_topics=one.may_manage_topics)
    elif one.status == "restricted":
        made.update(_RESTRICTED, can_send_messages=one.may_write, can_manage_topics=one.may_manage_topics)
    elif one.status == "kicked":
        made["until_date"] = 0
    return made


_ADMIN: Json = {
    "can_be_edited": False,
    "is_anonymous": False,
    "can_manage_chat": True,
    "can_delete_messages": True,
    "can_manage_video_chats": True,
    "can_restrict_members": True,
    "can_promote_members": False,
    "can_change_info": True,
    "can_invite_users": True,
    "can_post_stories": False,
    "can_edit_stories": False,
    "can_delete_stories": False,
    "can_pin_messages": True,
}
_RESTRICTED: Json = {
    "is_member": True,
    "can_change_info": False,
    "can_invite_users": False,
    "can_pin_messages": False,
    "can_send_audios": False,
    "can_send_documents": False,
    "can_send_photos": False,
    "can_send_videos": False,
    "can_send_video_notes": False,
    "can_send_voice_notes": False,
    "can_send_polls": False,
    "can_send_other_messages": False,
    "can_add_web_page_previews": False,
    "can_edit_tag": False,
    "until_date": 0,
}
