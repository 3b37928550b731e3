"""How updates come in: fetched or sent to us, put together, written down."""
