"""What an agent wants to do, read as a whole: its command, its paths, its risks, and the rules that settle it."""
