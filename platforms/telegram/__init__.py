"""Telegram. Messages as text with entities, or as rich blocks where the Bot API takes them."""
