"""How processes talk: offered to adapters. Bytes in batches, never an exception for what an agent prints."""
