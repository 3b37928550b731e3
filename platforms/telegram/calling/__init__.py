"""What a call comes back with when it fails, and what nobody may read of it."""
