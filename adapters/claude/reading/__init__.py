"""The parts of reading the wire: tools, asks, turns, settings and money. Pure."""
