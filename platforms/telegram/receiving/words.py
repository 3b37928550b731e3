"""What a message says, in words an agent can read: quotes with whose they are, and things that are not words."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from platforms.telegram.receiving.schema import Me, Message

_LONGEST_QUOTE = 1500


def said(message: Message, me: Me) -> str:
    """The words of a message, behind what it answers and where it comes from."""
    own = message.text or message.caption or "\n".join(_things(message))
    if message.forward_origin is not None:
        who = message.forward_origin.name or "somebody"
        own = f"Forwarded from {who}:\n{_quoted(own)}" if own else f"Forwarded from {who}."
    answered = _answered(message, me)
    return "\n\n".join(words for words in (answered, own) if words)


def without_mention(message: Message, me: Me) -> Message:
    """The same message without the bot's name in front: it was only the address."""
    name = f"@{me.username}"
    text = message.text or message.caption
    if not me.username or not text.casefold().startswith(name.casefold()):
        return message
    rest = text[len(name) :]
    if rest[:1].isalnum() or rest[:1] == "_":
        return message
    rest = rest.lstrip(" ,:\n")
    return replace(message, text=rest) if message.text else replace(message, caption=rest)


def _answered(message: Message, me: Me) -> str:
    """What a reply answers. The bot knows its own words, and a person theirs: these are not said again."""
    if message.external_reply is not None:
        quote = message.quote.text if message.quote is not None else ""
        origin = message.external_reply.origin
        return f"{origin.name if origin is not None else 'Somebody'} wrote:\n{_quoted(quote)}" if quote else ""
    replied = message.reply_to_message
    if replied is None or replied.forum_topic_created is not None:
        return ""
    if message.quote is not None and message.quote.text:
        # A part that was picked by hand is what the person means, whoever wrote it.
        return _quoted(message.quote.text)
    author, reader = replied.from_, message.from_
    known = (me.id, reader.id) if reader is not None else (me.id,)
    if replied.sender_chat is None and author is not None and author.id in known:
        return ""
    words = replied.text or replied.caption or "\n".join(_things(replied))
    name = replied.sender_chat.name if replied.sender_chat is not None else author.name if author else "Somebody"
    return f"{name} wrote:\n{_quoted(words)}" if words else ""


def _quoted(text: str) -> str:
    if len(text) > _LONGEST_QUOTE:
        text = text[:_LONGEST_QUOTE].rstrip() + "…"
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _things(message: Message) -> Iterator[str]:
    """What is neither words nor a file, in a line."""
    if message.sticker is not None:
        yield message.sticker.emoji or "(a sticker)"
    if message.dice is not None:
        yield f"{message.dice.emoji} {message.dice.value}"
    if message.venue is not None:
        place = message.venue.location
        named = ", ".join(part for part in (message.venue.title, message.venue.address) if part)
        yield f"Place: {named} ({place.latitude:g}, {place.longitude:g})"
    elif message.location is not None:
        yield f"Location: {message.location.latitude:g}, {message.location.longitude:g}"
    if message.contact is not None:
        name = " ".join(part for part in (message.contact.first_name, message.contact.last_name) if part)
        yield f"Contact: {name}, {message.contact.phone_number}"
    if message.poll is not None:
        yield "\n".join([f"Poll: {message.poll.question}", *(f"- {one.text}" for one in message.poll.options)])
