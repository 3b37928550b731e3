"""What is known: pure reducers (state, event) -> state."""
