"""What the client's messages mean, piece by piece: tools and changes, asks, turns, money. Pure."""
