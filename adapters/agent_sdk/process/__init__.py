"""The program as a process: which one it is, how it is started and spoken to, and what its failures mean."""
