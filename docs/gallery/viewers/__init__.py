"""Small readers of payloads: each draws what a chat's own client would show of one, as HTML."""
