"""Games with known Shapley values."""
