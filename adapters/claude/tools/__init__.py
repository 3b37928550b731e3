"""What the tools of the program do, and how that is told to people. Pure."""
