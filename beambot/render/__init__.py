"""What is shown: pure functions; the clock is an argument."""
