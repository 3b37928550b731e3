"""How updates reach the bot: one queue, read by polling or pushed to a webhook."""
