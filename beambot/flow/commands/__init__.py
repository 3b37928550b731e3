"""Commands: one table that every platform uses."""

from beambot.flow.commands.table import Commands, Desk, parse

__all__ = ["Commands", "Desk", "parse"]
