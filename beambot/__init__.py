"""beambot puts a coding agent into a chat thread."""

__version__ = "0.1.0"
