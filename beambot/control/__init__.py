"""What other programs on this machine can learn about a running beambot."""
