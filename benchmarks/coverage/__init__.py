"""How often intervals hold, and what a valid tolerance costs."""
