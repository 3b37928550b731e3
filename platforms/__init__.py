"""One folder a chat."""
