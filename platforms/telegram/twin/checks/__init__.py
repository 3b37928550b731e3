"""What the real server refuses, in its own words."""
