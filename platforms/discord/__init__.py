"""Discord: threads of a server as sessions."""
