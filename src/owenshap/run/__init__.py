"""The loop: a plan, its blocks, and what they come to."""
