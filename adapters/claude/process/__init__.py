"""The program as a process: how it is started, spoken to over either transport, and what its failures mean."""
