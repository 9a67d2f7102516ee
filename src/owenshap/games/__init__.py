"""The question: what a coalition is worth."""
