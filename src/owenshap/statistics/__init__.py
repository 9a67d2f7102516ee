"""Replicates in, numbers out."""
