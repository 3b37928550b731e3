"""The people of the twin: what they do, and what they see."""
