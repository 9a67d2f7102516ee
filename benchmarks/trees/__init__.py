"""Exact values of trees, beside the peers: `python -m benchmarks.trees`."""
