"""What knows nothing of games: arrays, checks, optional imports, executors, progress."""
