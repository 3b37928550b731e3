"""Shipped for those who write adapters and platforms: fakes, a clock, and the suites every plugin passes."""
