"""The world as the page shows it to one person."""

from __future__ import annotations

from platforms.telegram.twin import wire
from platforms.telegram.twin.people.person import Person
from platforms.telegram.twin.people.transcript import describe
from platforms.telegram.twin.twin import Twin
from platforms.telegram.twin.world.values import GENERAL, Button, Chat, Content, Draft, Json, Message

SHOWN = 200
TYPING_SECONDS = 5.0


def state(twin: Twin, person: Person, chat_id: int, topic: int) -> Json:
    """The chats of a person, and what stands in one of them."""
    chats = [chat for chat in twin.world.chats.values() if _is_in(chat, person) and not chat.migrated_to]
    chosen = next((chat for chat in chats if chat.id == chat_id), chats[0] if chats else None)
    made: Json = {
        "bot": twin.bot.name,
        "person": person.id,
        "people": [{"id": one.id, "name": one.name} for one in twin.people],
        "commands": twin.commands.get("default|", []),
        "refusals": twin.refusals,
        "chats": [_chat(twin, chat) for chat in chats],
    }
    if chosen is not None:
        thread = topic if topic in chosen.topics else GENERAL
        shown = [message for message in chosen.standing if message.topic == thread]
        made["chat"], made["topic"] = chosen.id, thread
        made["messages"] = [_message(twin, message) for message in shown[-SHOWN:]]
        made["drafts"] = [_draft(twin, draft) for draft in twin.drafts(chosen) if draft.topic == thread]
        made["typing"] = _typing(twin, chosen, thread)
    return made


def _is_in(chat: Chat, person: Person) -> bool:
    if chat.type == "private":
        return chat.user is person.user
    member = chat.members.get(person.id)
    return member is not None and member.is_in


def _chat(twin: Twin, chat: Chat) -> Json:
    has_topics = twin.settings.has_topics_enabled if chat.type == "private" else chat.is_forum
    last = chat.standing[-1:] if chat.messages else []
    return {
        "id": chat.id,
        "name": twin.bot.name if chat.type == "private" else chat.title,
        "type": chat.type,
        "has_topics": has_topics,
        "topics": [{"id": one.id, "name": one.name, "closed": one.closed} for one in chat.topics.values()],
        "last": describe(last[0].content).splitlines()[0][:80] if last else "",
        "started": chat.started,
    }


def _message(twin: Twin, message: Message) -> Json:
    made: Json = {
        "id": message.id,
        "who": message.who,
        "sender": message.sender.id if message.sender else 0,
        "bot": message.sender is twin.bot,
        "at": message.at,
        "edited": bool(message.edited_at),
        "reactions": ["".join(emoji) for emoji in message.reactions.values()],
        **_content(twin, message.content),
    }
    if message.reply_to is not None and not message.reply_to.deleted:
        made["reply"] = {"who": message.reply_to.who, "text": message.reply_to.text[:120]}
    return made


def _content(twin: Twin, content: Content) -> Json:
    made: Json = {
        "text": content.text,
        "entities": [wire.entity(one, twin.world.users) for one in content.entities],
        "keyboard": [[_button(button) for button in row] for row in content.keyboard],
    }
    if content.rich is not None:
        made["rich"] = content.rich
    if content.service is not None:
        made["service"] = describe(content)
    if content.media is not None:
        file = content.media.file
        made["file"] = {"kind": content.media.kind, "name": file.name, "size": len(file.data), "id": file.id}
    return made


def _button(button: Button) -> Json:
    copied = button.raw.get("copy_text")
    return {
        "text": button.text,
        "data": bool(button.data),
        "style": button.raw.get("style", ""),
        "url": button.raw.get("url", ""),
        "copy": copied.get("text", "") if isinstance(copied, dict) else "",
    }


def _draft(twin: Twin, draft: Draft) -> Json:
    return {"id": draft.id, "can_stop": draft.can_stop, **_content(twin, draft.content)}


def _typing(twin: Twin, chat: Chat, topic: int) -> bool:
    for step in reversed(chat.steps):
        if step.topic == topic and step.who == twin.bot.name:
            return step.what == "typing" and twin.clock.now() - step.at < TYPING_SECONDS
    return False
