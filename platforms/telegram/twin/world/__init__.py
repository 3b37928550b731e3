"""The state: people, chats, messages, files."""
