"""Which coalitions: sets, chains, stars, pairs, and the levels they are drawn at."""
