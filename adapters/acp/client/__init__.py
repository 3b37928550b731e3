"""What a client offers an agent: a person to ask, files and terminals."""
