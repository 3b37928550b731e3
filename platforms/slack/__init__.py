"""Slack: messages as Block Kit, drawn so that nothing an agent says can ping anybody."""
