"""What a person sees, as text: the chat as it stands, and the way it came to be."""

from __future__ import annotations

from platforms.telegram.twin.world.values import Chat, Content, Step

# What leaves no trace in a chat.
_UNSEEN = {"typing"}


def describe(content: Content) -> str:
    """A content in words: its text, the file with it, and the labels of its buttons, row by row."""
    parts: list[str] = []
    if content.service is not None:
        parts.append(
            " ".join(f"({name.replace('_', ' ')}{_detail(value)})" for name, value in content.service.items())
        )
    if content.media is not None:
        parts.append(f"<{content.media.kind} {content.media.file.name}>")
    if content.shown:
        parts.append(content.shown)
    text = " ".join(parts)
    rows = [" ".join(f"[{button.text}]" for button in row) for row in content.keyboard]
    return "\n".join([text, *rows])


def _detail(value: object) -> str:
    if isinstance(value, dict) and isinstance(name := value.get("name"), str):
        return f": {name}"
    return f": {value}" if isinstance(value, str | int) and not isinstance(value, bool) else ""


def screen(chat: Chat, topic: int | None = None) -> str:
    """What stands in a chat, one message after the other."""
    lines: list[str] = []
    for message in chat.standing:
        if topic is not None and message.topic != topic:
            continue
        head = f"{message.who}: {describe(message.content)}"
        if message.reactions:
            head += " {" + " ".join("".join(emoji) for emoji in message.reactions.values()) + "}"
        lines.append(head)
    return "\n".join(lines)


def transcript(chat: Chat, *, topic: int | None = None, times: bool = True) -> str:
    """Every step with its time since the start, who did it, and what it looked like after it."""
    lines: list[str] = []
    for step in chat.steps:
        if step.what in _UNSEEN or (topic is not None and step.topic != topic):
            continue
        head = f"+{step.at - chat.world.started:.1f} " if times else ""
        lines.append(head + _line(step))
    return "\n".join(lines)


def _line(step: Step) -> str:
    number = f" #{step.message}" if step.message else ""
    said = describe(step.content) if step.content is not None else step.note
    return f"{step.who} {step.what}{number}" + (f": {said}" if said else "")
