"""From a model and rows to an explanation."""
