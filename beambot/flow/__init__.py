"""What happens: the only async orchestration."""
