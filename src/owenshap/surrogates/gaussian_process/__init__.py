"""A Gaussian process on the odd part of a game."""
