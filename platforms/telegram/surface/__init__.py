"""What the bot has beyond messages: menus, topics, drafts, files that go out."""
